//! One opener at a time.
//!
//! A lock of the open file (`flock`), not of the process: it also keeps this process from opening the file twice, and it is
//! gone when its holder is, however that ended.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{major, minor};

/// How often something is tried that its holder has left behind, and how long we wait in between. A process that is killed in
/// the midst of I/O is gone before the kernel has finished that. One that we cannot see may be gone, too.
const TRIES_MAX: u32 = 200;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Tries to get what only one can have; an attempt gives nothing if somebody has it. Says who, if that is known.
pub(super) fn get<T>(
    metadata: &Metadata,
    attempt: impl Fn() -> io::Result<Option<T>>,
) -> io::Result<Result<T, Option<u32>>> {
    let mut tries = 0;
    loop {
        if let Some(got) = attempt()? {
            return Ok(Ok(got));
        }
        let holder = holder(metadata);
        let gone =
            holder.is_none_or(|process| !Path::new("/proc").join(process.to_string()).exists());
        tries += 1;
        if !gone || tries == TRIES_MAX {
            return Ok(Err(holder));
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// Locks the file, unless somebody else has.
pub(super) fn lock(file: &File) -> io::Result<Option<()>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The process that holds the lock, if the kernel's list names it.
fn holder(metadata: &Metadata) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let device = metadata.dev();
    find(&locks, major(device), minor(device), metadata.ino())
}

/// Looks for a line such as `3: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF`.
fn find(locks: &str, major: u32, minor: u32, inode: u64) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let process = words.nth(2)?;
        let found = words.next()?;
        (kind == "FLOCK" && found == file).then(|| process.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "1: POSIX  ADVISORY  WRITE 7 fe:00:131 0 EOF\n\
                         2: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF\n\
                         2: -> FLOCK  ADVISORY  WRITE 12 fe:00:132 0 EOF\n\
                         3: FLOCK  ADVISORY  WRITE -1 00:1a:5 0 EOF\n";

    #[test]
    fn the_holder_is_found_by_device_and_inode() {
        assert_eq!(find(LOCKS, 0xfe, 0, 131), Some(4711));
        assert_eq!(find(LOCKS, 0xfe, 1, 131), None);
        assert_eq!(find(LOCKS, 0xfe, 0, 132), None, "that one only waits");
        assert_eq!(
            find(LOCKS, 0, 0x1a, 5),
            None,
            "a process that we cannot see"
        );
    }

    #[test]
    fn nonsense_names_nobody() {
        for text in [
            "",
            "\n",
            "1:",
            "1: FLOCK",
            "1: FLOCK a b c",
            "1: FLOCK a b x fe:00:131",
        ] {
            assert_eq!(find(text, 0xfe, 0, 131), None, "{text:?}");
        }
    }
}
