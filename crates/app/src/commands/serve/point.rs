//! The mount point, before the mount: a dead mount of ours is taken away.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::anyhow;
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use tracing::warn;

use crate::failure::Failure;

/// What the kernel lists as the source of our mounts.
const OURS: &str = "dataplane-emu";

/// Dead mounts on top of each other at most, before somebody should look at it.
const LAYERS_MAX: usize = 8;

/// Whether a mount of ours on this directory has lost its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Nothing of ours is mounted there.
    Free,
    /// A mount of ours, whose server lives.
    Served,
    /// A mount of ours, whose server was killed.
    Dead,
}

/// Looks at a mount point. Only what the kernel lists as ours is asked whether it lives: other file systems may hang.
pub(crate) fn look(point: &Path) -> Point {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if !is_ours(&mounts, &absolute(point)) {
        return Point::Free;
    }
    // Not what the kernel remembers of the directory, but what its server says now.
    let answer = rustix::fs::statx(CWD, point, AtFlags::STATX_FORCE_SYNC, StatxFlags::TYPE);
    match answer {
        Err(Errno::NOTCONN | Errno::CONNABORTED) => Point::Dead,
        _ => Point::Served,
    }
}

/// Takes dead mounts of ours away, and says so in the log.
pub(super) fn clean(point: &Path) -> Result<(), Failure> {
    for _ in 0..LAYERS_MAX {
        if look(point) != Point::Dead {
            return Ok(());
        }
        detach(point).map_err(|error| {
            Failure::environment(anyhow!(
                "mount point {}: wanted to take away a dead mount, whose server was killed, found: {error}; run umount -l {0} as root",
                point.display()
            ))
        })?;
        warn!(
            "{}: took away a dead mount, whose server was killed",
            point.display()
        );
    }
    Ok(())
}

/// Unmounts, whoever still has files open there: their server is gone.
fn detach(point: &Path) -> io::Result<()> {
    match unmount(point, UnmountFlags::DETACH) {
        Err(Errno::PERM) => {}
        other => return Ok(other?),
    }
    let output = Command::new("fusermount3")
        .args(["-u", "-z", "--"])
        .arg(point)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.trim().to_owned()))
}

/// The path as the kernel's list has it. The last part is not looked at, since a dead mount there answers nothing.
fn absolute(point: &Path) -> PathBuf {
    if let Ok(whole) = point.canonicalize() {
        return whole;
    }
    let parent = match point.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (parent.canonicalize(), point.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => point.to_owned(),
    }
}

/// Whether what is mounted on a path, on top if there are several, is ours, from the text of a `mountinfo`.
fn is_ours(mounts: &str, path: &Path) -> bool {
    let found = mounts.lines().rev().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?;
        (Path::new(&unescaped(point)) == path).then_some(right)
    });
    let mut words = found.unwrap_or_default().split(' ');
    let kind = words.next().unwrap_or_default();
    // With fusermount3 it is fuse.dataplane-emu.
    (kind == "fuse" || kind.starts_with("fuse.")) && words.next() == Some(OURS)
}

/// Blanks, line ends and backslashes stand there as octal numbers.
fn unescaped(text: &str) -> String {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    codes.iter().fold(text.to_owned(), |text, (code, meant)| {
        text.replace(code, meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
90 22 0:43 / /mnt/a\\040b rw,noatime - fuse dataplane-emu rw,user_id=0
91 22 0:44 / /mnt/far rw - fuse.sshfs host:/ rw
92 22 0:45 / /mnt/two rw shared:7 - tmpfs none rw
93 92 0:46 / /mnt/two rw - fuse.dataplane-emu dataplane-emu rw
94 22 0:47 / /mnt/covered rw - fuse dataplane-emu rw
95 94 0:48 / /mnt/covered rw - tmpfs dataplane-emu rw
";

    #[test]
    fn the_topmost_mount_of_a_path_says_whether_it_is_ours() {
        for (path, ours) in [
            ("/mnt/a b", true),
            ("/mnt/far", false),
            ("/mnt/two", true),
            ("/mnt/covered", false),
            ("/mnt", false),
        ] {
            assert_eq!(is_ours(MOUNTS, Path::new(path)), ours, "{path}");
        }
        for nonsense in [
            "",
            "\n\n",
            "1 2 3",
            " - ",
            "1 2 3 4 /mnt -",
            "1 2 3 4 /mnt - ",
        ] {
            assert!(!is_ours(nonsense, Path::new("/mnt")), "{nonsense:?}");
        }
    }
}
