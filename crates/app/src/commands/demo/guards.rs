//! What must be undone whatever happens: folders, mounts, loop devices; and the signals that ask for an end.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use bench::scorecard::child;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// How long a system program may take: `mkfs.xfs` over a slow drive is the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// Attempts to unmount while somebody still looks at the files.
const UNMOUNT_ATTEMPTS: u32 = 20;

/// Ctrl-C and its relatives, which end the demo at the next safe point instead of at once.
#[derive(Debug)]
pub(super) struct Interrupt {
    signals: Signals,
    came: bool,
}

impl Interrupt {
    /// From here on, signals wait to be asked for.
    pub(super) fn new() -> Result<Self, Failure> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .context("wanted to catch signals")
            .map_err(Failure::environment)?;
        Ok(Self {
            signals,
            came: false,
        })
    }

    /// Whether one came.
    pub(super) fn came(&mut self) -> bool {
        self.came = self.came || self.signals.pending().next().is_some();
        self.came
    }

    /// The end of the demo, if one came.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        if self.came() {
            Err(Failure::Short(anyhow!(
                "interrupted; everything was unmounted and put away, nothing was written"
            )))
        } else {
            Ok(())
        }
    }
}

/// Runs a system program to its end, or to the interrupt.
pub(super) fn tool(
    command: &mut Command,
    package: &str,
    stop: &mut dyn FnMut() -> bool,
) -> Result<String, String> {
    child::run(command, package, PATIENCE, stop)
}

/// The same for putting things away, which nothing interrupts.
fn undo(command: &mut Command) -> Result<String, String> {
    tool(command, "util-linux", &mut || false)
}

/// The folder with mount points and fio's results.
#[derive(Debug)]
pub(super) struct WorkDir {
    path: PathBuf,
    stays: bool,
}

impl WorkDir {
    /// Opens the named folder, or makes a private one that goes at the end unless it is to be kept.
    pub(super) fn open(named: Option<&Path>, keep: bool) -> Result<Self, Failure> {
        let folder = match named {
            Some(path) => fs::create_dir_all(path).map(|()| path.to_path_buf()),
            None => private(&std::env::temp_dir()),
        };
        // Mounts are named by absolute paths.
        let path = folder
            .and_then(|path| path.canonicalize())
            .with_context(|| match named {
                Some(path) => format!(
                    "wanted the folder {}; name another with --work-dir",
                    path.display()
                ),
                None => {
                    "wanted a private folder for temporary files; name one with --work-dir".into()
                }
            })
            .map_err(Failure::environment)?;
        Ok(Self {
            path,
            stays: keep || named.is_some(),
        })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what is in it stays.
    pub(super) const fn stays(&self) -> bool {
        self.stays
    }

    /// An empty folder to mount on, removed when the guard goes.
    pub(super) fn mount_point(&self, name: &str) -> Result<MountPoint, String> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(format!("wanted the folder {}: {error}", path.display()))
            }
            _ => Ok(MountPoint(path)),
        }
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if !self.stays {
            // One level only: nothing below a mount point that could not be unmounted is touched.
            let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
            for entry in entries {
                let _ = fs::remove_file(entry.path()); // folders remain and are seen next
            }
            let _ = fs::remove_dir(&self.path); // if something is mounted below, that has been said
        }
    }
}

/// A new folder of our own that nobody else may look into.
fn private(parent: &Path) -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..100 {
        let path = parent.join(format!(
            "dataplane-emu-demo-{}-{attempt}",
            std::process::id()
        ));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// An empty folder to mount on.
#[derive(Debug)]
pub(super) struct MountPoint(PathBuf);

impl MountPoint {
    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // if something is mounted on it, that has been said
    }
}

/// Says what could not be put away; the demo goes on or ends as it would have.
fn complain(what: &str, how: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr(), "warning: {what}; do: {how}"); // nowhere is left to complain to
}

/// A loop device over a file; dropping it detaches it.
#[derive(Debug)]
pub(super) struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    /// Attaches one, past the page cache.
    ///
    /// Where the kernel does not go past the cache, there is none: the row would measure the cache.
    pub(super) fn attach(
        file: &Path,
        sector_bytes: u64,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Self, String> {
        let mut command = Command::new("losetup");
        command
            .args(["--find", "--show", "--direct-io=on"])
            .arg(format!("--sector-size={sector_bytes}"))
            .arg(file);
        let said = tool(&mut command, "mount", stop)?;
        let device = Self {
            path: PathBuf::from(said.trim()),
        };
        let name = device.path.file_name().unwrap_or_default().to_owned();
        let setting = Path::new("/sys/block").join(name).join("loop/dio");
        match fs::read_to_string(&setting) {
            Ok(text) if text.trim() == "1" => Ok(device),
            found => Err(format!(
                "{} did not take direct I/O ({}: {found:?}), and would measure the page cache",
                device.path.display(),
                setting.display()
            )),
        }
    }

    /// Its name under /dev.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = undo(Command::new("losetup").arg("--detach").arg(&self.path)) {
            complain(&error, &format!("losetup --detach {}", self.path.display()));
        }
    }
}

/// A mounted file system; dropping it unmounts it.
#[derive(Debug)]
pub(super) struct Mounted {
    point: MountPoint,
}

impl Mounted {
    /// Mounts a device with XFS on it.
    pub(super) fn xfs(
        device: &Path,
        point: MountPoint,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Self, String> {
        let mut command = Command::new("mount");
        command
            .args(["-t", "xfs", "-o", "noatime,nodev,nosuid"])
            .arg(device)
            .arg(point.path());
        tool(&mut command, "mount", stop)?;
        Ok(Self { point })
    }

    /// Where.
    pub(super) fn point(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let point = self.point.path().to_path_buf();
        for _ in 0..UNMOUNT_ATTEMPTS {
            if undo(Command::new("umount").arg(&point)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // Somebody stays in there: the name goes now, the rest when they leave.
        if let Err(error) = undo(Command::new("umount").arg("--lazy").arg(&point)) {
            complain(&error, &format!("umount {}", point.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_is_ours_alone_and_goes() {
        use std::os::unix::fs::PermissionsExt as _;
        let work = WorkDir::open(None, false).unwrap();
        let path = work.path().to_path_buf();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(path.join("result.json"), "x").unwrap();
        let point = work.mount_point("mnt").unwrap();
        assert!(point.path().is_dir());
        drop(point);
        drop(work);
        assert!(!path.exists());
    }

    #[test]
    fn a_named_folder_stays_with_what_is_in_it() {
        let parent = WorkDir::open(None, false).unwrap();
        let named = parent.path().join("named");
        let work = WorkDir::open(Some(&named), false).unwrap();
        fs::write(work.path().join("result.json"), "x").unwrap();
        drop(work);
        assert!(named.join("result.json").exists());
        fs::remove_dir_all(&named).unwrap();
    }
}
