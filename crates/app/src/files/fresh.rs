//! Files that a command has made before it was sure that it can be carried out.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that were made. They are gone again with this, unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct Fresh(Vec<PathBuf>);

impl Fresh {
    /// One more, which was not there before.
    pub(crate) fn add(&mut self, path: &Path) {
        self.0.push(path.to_owned());
    }

    /// The command goes on, and its files stay.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path); // somebody may have been faster
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_gone_again_unless_it_is_kept() {
        let path = std::env::temp_dir().join(format!("dpe-fresh-{}", std::process::id()));
        let make = || {
            fs::write(&path, b"made").expect("a file");
            let mut fresh = Fresh::default();
            fresh.add(&path);
            fresh
        };
        drop(make());
        assert!(!path.exists());
        make().keep();
        assert!(path.exists());
        fs::remove_file(&path).expect("it is ours");
    }
}
