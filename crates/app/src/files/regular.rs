//! Texts from files that a user named. A pipe that nobody writes to would hold us up without a word.

use core::fmt;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::anyhow;
use rustix::fs::OFlags;

use crate::failure::Failure;

/// Why a file gave no text.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is no regular file but this.
    Kind(&'static str),
    /// The system's answer.
    System(io::Error),
    /// It has more bytes than this.
    Long(u64),
    /// On this line, the first being 1, stands what is no UTF-8.
    NoText(usize),
}

impl Unreadable {
    /// The sentence that follows a file's name, `what` being what it was to hold.
    pub(crate) fn sentence(&self, what: &str) -> String {
        match self {
            Self::Kind(found) => {
                format!("wanted a regular file, found {found}; name a file that holds {what}")
            }
            Self::System(error) => format!("wanted {what}, found: {error}"),
            Self::Long(most) => {
                format!("wanted {what}, found: it is longer than {most} bytes")
            }
            Self::NoText(line) => {
                format!("line {line}: wanted {what}, a text in UTF-8; found a byte that is none")
            }
        }
    }

    /// The end of a command that wanted `what` from a file.
    pub(crate) fn failure(&self, path: &Path, what: &str) -> Failure {
        let words = anyhow!("{}: {}", path.display(), self.sentence(what));
        match self {
            Self::Kind(_) | Self::System(_) => Failure::Environment(words),
            Self::Long(_) | Self::NoText(_) => Failure::Usage(words),
        }
    }
}

/// The text of a file of at most so many bytes.
pub(crate) fn text(path: &Path, most: u64) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    let mut file = open(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut bytes).map_err(Unreadable::System)?;
    if bytes.len() as u64 > most {
        return Err(Unreadable::Long(most));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(good);
        Unreadable::NoText(before.filter(|&&byte| byte == b'\n').count() + 1)
    })
}

/// Refuses what is there and is no regular file, for those who open it themselves and more than once.
pub(crate) fn require(path: &Path) -> Result<(), Unreadable> {
    match fs::metadata(path) {
        // The system has words of its own for a directory.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(Unreadable::Kind(kind(found.file_type())))
        }
        _ => Ok(()),
    }
}

fn open(path: &Path) -> Result<File, Unreadable> {
    if is_descriptor(path) {
        return File::open(path).map_err(Unreadable::System);
    }
    require(path)?;
    // It may have become a pipe by now.
    let careful = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new()
        .read(true)
        .custom_flags(careful)
        .open(path)
        .map_err(Unreadable::System)
}

/// Whether our caller has opened it already: at the other end of such a pipe is somebody.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// What a file is that is no regular one.
pub(crate) fn kind(found: FileType) -> &'static str {
    if found.is_dir() {
        "a directory"
    } else if found.is_fifo() {
        "a FIFO"
    } else if found.is_socket() {
        "a socket"
    } else if found.is_char_device() {
        "a character device"
    } else if found.is_block_device() {
        "a block device"
    } else {
        "something else"
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence("a file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_none_says_on_which_line() {
        let path = std::env::temp_dir().join(format!("dpe-no-text-{}", std::process::id()));
        fs::write(&path, b"one\ntwo\nth\xffree\n").expect("a file");
        let found = text(&path, 100);
        assert!(matches!(found, Err(Unreadable::NoText(3))), "{found:?}");
        assert!(matches!(text(&path, 3), Err(Unreadable::Long(3))));
        assert!(matches!(text(&path, 0), Err(Unreadable::Long(0))));
        fs::remove_file(&path).expect("it is ours");
        assert!(matches!(text(&path, 3), Err(Unreadable::System(_))));
    }

    #[test]
    fn what_is_no_regular_file_is_named() {
        for (path, words) in [
            ("/", "directory"),
            (
                "/dev/null",
                "wanted a regular file, found a character device",
            ),
        ] {
            let refused = text(Path::new(path), 10).expect_err(path).to_string();
            assert!(refused.contains(words), "{path}: {refused}");
        }
    }
}
