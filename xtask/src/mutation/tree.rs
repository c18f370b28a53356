//! The copy of the tree in which bugs are planted, so that a stopped run leaves none behind in the checkout.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workshop::Workshop;

/// A copy of everything that git tracks or would track.
#[derive(Debug)]
pub(super) struct Copy {
    /// Where it is.
    pub(super) root: PathBuf,
}

impl Copy {
    /// Makes the copy, or makes it equal to the tree again. Files that are equal already keep their time of change,
    /// so that cargo does not build them again.
    pub(super) fn refresh(workshop: &Workshop) -> Result<Self> {
        let copy = Self {
            root: workshop.target.join("mutants/tree"),
        };
        let wanted: BTreeSet<String> = workshop.files()?.into_iter().collect();
        fs::create_dir_all(&copy.root)?;
        copy.remove_all_but(&wanted, &copy.root)?;
        for file in &wanted {
            let text = fs::read(workshop.root.join(file)).with_context(|| file.clone())?;
            let path = copy.root.join(file);
            if fs::read(&path).is_ok_and(|old| old == text) {
                continue;
            }
            fs::create_dir_all(path.parent().unwrap_or(&copy.root))?;
            fs::write(&path, text)?;
        }
        Ok(copy)
    }

    fn remove_all_but(&self, wanted: &BTreeSet<String>, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                self.remove_all_but(wanted, &path)?;
            } else if !wanted.contains(&self.relative(&path)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// The text of one of its files.
    pub(super) fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.root.join(file)).with_context(|| format!("cannot read {file}"))
    }

    /// Replaces one of its files.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        fs::write(self.root.join(file), text).with_context(|| format!("cannot write {file}"))
    }
}
