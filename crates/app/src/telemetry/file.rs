//! One telemetry file: opened with care, since its name is known to everybody on the machine.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::page::{V1_BYTES, V2_MAGIC};
use crate::files;

/// Where version 2 has its magic.
const MAGIC_AT: u64 = 32;

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
    /// Opens and locks a file, and makes it so long if it is shorter. It is never cut: a reader may have it mapped. Nor is one
    /// changed that holds something else.
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
        check_owner(&file.metadata()?)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process writes it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let length = file.metadata()?.len();
        check_content(&file, length, bytes)?;
        if length < bytes as u64 {
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

/// Looks, changing nothing, whether there is a file of telemetry, or could be one.
pub(super) fn look(path: &Path, bytes: usize) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let rights = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            return rustix::fs::access(folder, rights).map_err(|errno| {
                let error = io::Error::from(errno);
                io::Error::other(format!("wanted to make it, found of its folder: {error}"))
            });
        }
        found => found?,
    };
    check_owner(&found)?;
    check_content(&File::open(path)?, found.len(), bytes)
}

/// Refuses what is no regular file of ours.
fn check_owner(found: &Metadata) -> io::Result<()> {
    if found.is_symlink() {
        return Err(io::Error::other("wanted a regular file, found a link"));
    }
    if !found.is_file() {
        let found = files::kind(found.file_type());
        return Err(io::Error::other(format!(
            "wanted a regular file, found {found}"
        )));
    }
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us {
        let other = found.uid();
        return Err(io::Error::other(format!(
            "wanted a file of user {us}, found one of user {other}"
        )));
    }
    Ok(())
}

/// Refuses a file that holds something, and no telemetry of this version.
fn check_content(file: &File, length: u64, bytes: usize) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    if bytes == V1_BYTES {
        if length == V1_BYTES as u64 {
            return Ok(());
        }
        return Err(io::Error::other(format!(
            "wanted a file of {V1_BYTES} bytes or an empty one, found {length} bytes of something else"
        )));
    }
    let mut magic = [0; V2_MAGIC.len()];
    if length >= MAGIC_AT + V2_MAGIC.len() as u64 {
        file.read_exact_at(&mut magic, MAGIC_AT)?;
    }
    // A writer may have been killed between making it and writing it.
    let is_new = || -> io::Result<bool> {
        let mut page = vec![0; bytes];
        file.read_exact_at(&mut page, 0)?;
        Ok(page.iter().all(|&byte| byte == 0))
    };
    if magic == V2_MAGIC || length == bytes as u64 && is_new()? {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "wanted a file that begins as telemetry of version 2 does or an empty one, found {length} bytes of something else"
    )))
}
