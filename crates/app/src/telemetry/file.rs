//! One telemetry file: opened with care, since its name is known to everybody on the machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// A file that is ours to write.
#[derive(Debug)]
pub(super) struct Target {
    /// What the log calls it.
    pub(super) path: PathBuf,
    /// Version 2: the sequence, even between two updates. Version 1: updates so far. Goes on from what was found.
    pub(super) number: u64,
    /// Locked for as long as it is open.
    file: File,
}

impl Target {
    /// Opens and locks a file, and makes it so long if it is shorter. It is never cut: a reader may have it mapped.
    pub(super) fn open(path: &Path, bytes: usize) -> io::Result<Self> {
        // Neither a link that somebody put there is followed, nor does a pipe hold us up.
        let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .custom_flags(careful.bits().cast_signed())
            .open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other(
                "wanted a regular file, found something else",
            ));
        }
        let us = rustix::process::geteuid().as_raw();
        if found.uid() != us {
            let other = found.uid();
            return Err(io::Error::other(format!(
                "wanted a file of user {us}, found one of user {other}"
            )));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process writes it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if found.len() < bytes as u64 {
            file.set_len(bytes as u64)?;
        }
        let mut number = [0; 8];
        file.read_exact_at(&mut number, 0)?;
        Ok(Self {
            path: path.to_owned(),
            number: u64::from_le_bytes(number),
            file,
        })
    }

    /// Writes bytes at an offset.
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    /// Writes a page whose first eight bytes are its sequence: odd, then the rest, then even. Whoever reads an even sequence
    /// before and the same after has read one update.
    pub(super) fn write_in_sequence(&mut self, page: &[u8]) -> io::Result<()> {
        // A writer that was killed left it odd.
        let odd = self.number.wrapping_add(1 + self.number % 2);
        self.number = odd.wrapping_add(1);
        self.write(0, &odd.to_le_bytes())?;
        self.write(8, page.get(8..).unwrap_or_default())?;
        self.write(0, &self.number.to_le_bytes())
    }
}
