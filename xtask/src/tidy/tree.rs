//! The checkout as the rules see it: text files, and packages as cargo describes them.

use anyhow::Result;
use std::fs;

use super::source::{self, Line};
use crate::workshop::{Package, Workshop};

/// Larger files are data.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Everything that the rules look at.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Every text file that git tracks or would track, sorted by path.
    pub(crate) files: Vec<File>,
    /// The packages of the workspace and of the fuzz crate.
    pub(super) packages: Vec<Package>,
}

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root, with `/` between folders.
    pub(super) path: String,
    /// What is in it.
    pub(super) text: String,
    /// For Rust: its lines, code apart from comments. Empty for other files.
    pub(super) rust: Vec<Line>,
}

impl Tree {
    /// Reads the checkout.
    ///
    /// # Errors
    /// When git, cargo or a file refuses.
    pub(crate) fn read(workshop: &Workshop) -> Result<Self> {
        let mut packages = workshop.packages("Cargo.toml")?;
        if workshop.has_fuzz() {
            packages.extend(workshop.packages("fuzz/Cargo.toml")?);
        }
        let mut files = Vec::new();
        for path in workshop.files()? {
            let bytes = fs::read(workshop.root.join(&path))?;
            let is_data = path.starts_with("fuzz/corpus/") || bytes.len() > TEXT_BYTES_MAX;
            if let Some(text) = String::from_utf8(bytes).ok().filter(|_| !is_data) {
                files.push(File::new(&path, text));
            }
        }
        Ok(Self { files, packages })
    }

    /// The file at a path.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// All Rust files.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File::new(path, (*text).to_owned()))
            .collect();
        Self {
            files,
            packages: Vec::new(),
        }
    }
}

impl File {
    fn new(path: &str, text: String) -> Self {
        let rust = if path.ends_with(".rs") {
            source::lines(&text)
        } else {
            Vec::new()
        };
        Self {
            path: path.to_owned(),
            text,
            rust,
        }
    }

    /// True when the name ends in `.extension`.
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.path
            .strip_suffix(extension)
            .is_some_and(|rest| rest.ends_with('.'))
    }

    /// Program text, as opposed to documents and data.
    pub(super) fn is_program(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        ["rs", "py", "sh", "toml"]
            .iter()
            .any(|extension| self.has_extension(extension))
            || !name.contains('.') && name != "LICENSE"
    }
}
