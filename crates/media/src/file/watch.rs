//! What became of the file while it was in use. Who deletes it or cuts it short does not ask us, and I/O goes on for a while.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Looks at a file when it is dropped, and says in the log if what was written there is lost.
#[derive(Debug)]
pub(super) struct Watch {
    path: PathBuf,
    bytes: u64,
    file: File,
}

impl Watch {
    /// Of a file that had so many bytes; only regular ones can be cut or deleted.
    pub(super) fn new(file: &File, path: &Path, bytes: u64) -> Option<Self> {
        let found = file.metadata().ok()?;
        Some(Self {
            path: path.to_owned(),
            bytes,
            file: file.try_clone().ok().filter(|_| found.is_file())?,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Ok(found) = self.file.metadata() else {
            return;
        };
        if let Some(loss) = loss(&found, self.bytes) {
            tracing::warn!("{}: {loss}", self.path.display());
        }
    }
}

/// What is lost of a file that had so many bytes.
fn loss(found: &Metadata, bytes: u64) -> Option<String> {
    if found.nlink() == 0 {
        return Some(
            "the file has no name any more, somebody has deleted it; what was written is gone when this process ends"
                .to_owned(),
        );
    }
    let len = found.len();
    (len < bytes).then(|| {
        format!(
            "wanted {bytes} bytes, found {len}: somebody has made the file shorter; what was written behind is lost"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_was_cut_or_deleted_is_a_loss_and_one_that_was_moved_is_none() {
        let folder = std::env::temp_dir().join(format!("dpe-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("disk.img");
        fs::write(&path, [1; 8192]).expect("a file");
        let file = File::open(&path).expect("it opens");
        let found = || loss(&file.metadata().expect("it is open"), 8192);
        assert_eq!(found(), None);
        fs::rename(&path, folder.join("moved.img")).expect("it moves");
        assert_eq!(found(), None);
        let writable = fs::OpenOptions::new()
            .write(true)
            .open(folder.join("moved.img"))
            .expect("it opens");
        writable.set_len(4096).expect("it is cut");
        assert!(found().is_some_and(|words| words.contains("found 4096")));
        fs::remove_file(folder.join("moved.img")).expect("it goes");
        assert!(found().is_some_and(|words| words.contains("no name any more")));
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
