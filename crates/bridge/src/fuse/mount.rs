//! The life of a mount: from an empty directory to a device given back.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use driver::{Device, DriverError, Link};
use fuser::BackgroundSession;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use tracing::{info, warn};

use super::door::Door;
use super::files::Files;
use super::session::MountOptions;
use super::turns::{Shared, Turns};
use crate::engine::{CloseError, Engine};
use crate::limits;

/// Why a mount could not begin or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The mount point cannot be looked at.
    #[error("mount point {}: {reason}; wanted an empty directory", point.display())]
    Point {
        /// The mount point.
        point: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is mounted there, a file system whose server has died perhaps.
    #[error("mount point {} is in use: {what}; unmount it (umount, or fusermount3 -u) or take another directory", point.display())]
    InUse {
        /// The mount point.
        point: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// FUSE is not to be had.
    #[error(
        "wanted /dev/fuse, found: {0}; load the module (modprobe fuse), or pass the device into the container"
    )]
    NoFuse(io::Error),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DriverError),
    /// The kernel or fusermount3 refused.
    #[error("mounting on {} failed: {error}; it needs root, or fusermount3", point.display())]
    Refused {
        /// The mount point.
        point: PathBuf,
        /// What was said.
        error: io::Error,
    },
    /// The kernel's side could not be ended.
    #[error("unmounting {} failed: {reason}; end the programs that use it and run umount", point.display())]
    Unmount {
        /// The mount point.
        point: PathBuf,
        /// What was said.
        reason: String,
    },
    /// The mount is gone, but the device was not left in peace.
    #[error(transparent)]
    Close(#[from] CloseError),
}

/// A mounted device. Dropping it does what [`unmount`](Self::unmount) does, and says in the log what went wrong.
#[derive(Debug)]
pub struct Mount<L: Link> {
    parts: Option<Parts<L>>,
}

#[derive(Debug)]
struct Parts<L: Link> {
    point: PathBuf,
    session: BackgroundSession,
    shared: Arc<Shared<L>>,
    /// The number of the kernel's side under `/sys/fs/fuse/connections`.
    connection: u32,
}

impl<L: Link + Send + std::fmt::Debug + 'static> Mount<L> {
    /// Mounts a device's namespaces on a directory. The files are there when this returns.
    ///
    /// # Errors
    /// When the directory does not exist, is none, is not empty or is a mount point; when FUSE is not to be had; when the
    /// device cannot give a queue pair. Of these, only what is wrong with the directory or with FUSE is found out before
    /// the device is used; it is lost in any case.
    pub fn start(
        device: Device<L>,
        point: &Path,
        options: &MountOptions,
    ) -> Result<Self, MountError> {
        let point = check_point(point)?;
        check_fuse()?;
        let engine = Engine::open(device, &options.engine)?;
        let files = Files::new(engine.volumes());
        let volumes = engine.volumes().to_vec();
        let shared = Arc::new(Shared::new(Turns::new(engine, files)));
        let door = Door::new(Arc::clone(&shared), &volumes);
        let refused = |error| MountError::Refused {
            point: point.clone(),
            error,
        };
        let session = fuser::Session::new(door, &point, &options.session())
            .and_then(fuser::Session::spawn)
            .map_err(refused)?;
        let connection = connection_of(&point).map_err(|errno| refused(errno.into()))?;
        info!(point = %point.display(), files = volumes.len(), "mounted");
        Ok(Self {
            parts: Some(Parts {
                point,
                session,
                shared,
                connection,
            }),
        })
    }

    /// Whether the mount has ended by itself: somebody else unmounted it. [`unmount`](Self::unmount) still gives the
    /// device back.
    pub fn is_over(&self) -> bool {
        self.parts().session.guard.is_finished()
    }

    /// The directory, as an absolute path.
    pub fn point(&self) -> &Path {
        &self.parts().point
    }

    /// Looks at the engine between two requests, to read the controller's counters, say.
    pub fn with_engine<T>(&self, look: impl FnOnce(&mut Engine<L>) -> T) -> T {
        look(&mut self.parts().shared.turn().engine)
    }

    /// Unmounts and gives the device back, after one Flush of each namespace.
    ///
    /// Programs that have files open do not hold it up: what they have under way is finished, what they ask for afterwards
    /// ends with `ENODEV`, and after the end with `ECONNABORTED` or `ENOTCONN`.
    ///
    /// # Errors
    /// When the kernel's side cannot be ended, or the last flush fails. The device is lost then.
    pub fn unmount(mut self) -> Result<Device<L>, MountError> {
        let Some(parts) = self.parts.take() else {
            unreachable!("a mount ends once");
        };
        parts.end()
    }

    fn parts(&self) -> &Parts<L> {
        let Some(parts) = &self.parts else {
            unreachable!("a mount that ended is gone");
        };
        parts
    }
}

impl<L: Link> Drop for Mount<L> {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else {
            return;
        };
        if let Err(error) = parts.end() {
            warn!("{error}");
        }
    }
}

impl<L: Link> Parts<L> {
    fn end(self) -> Result<Device<L>, MountError> {
        if !self.session.guard.is_finished() {
            self.end_kernel_side()?;
        }
        let point = self.point;
        // Only the threads are left to be joined: EINVAL says that nothing is mounted there any more.
        if let Err(error) = self.session.umount_and_join()
            && error.raw_os_error() != Some(Errno::INVAL.raw_os_error())
        {
            warn!(point = %point.display(), "the mount ended with: {error}");
        }
        // A request that the kernel gave up on may still have been under way.
        self.shared.finish();
        let shared = Arc::into_inner(self.shared).expect("the threads that shared it have ended");
        info!(point = %point.display(), "unmounted");
        Ok(shared.into_engine().close()?)
    }

    /// Ends the kernel's side and waits until the threads have noticed.
    fn end_kernel_side(&self) -> Result<(), MountError> {
        // If nobody has a file open, this writes back what was changed through memory maps, and all is well.
        match unmount(&self.point, UnmountFlags::empty()) {
            Ok(()) => {}
            Err(Errno::PERM) => {
                self.shared.finish();
                self.end_with_helper()?;
            }
            Err(_) => {
                // Somebody has. First what is under way is answered; then the kernel gives up the rest and forgets the
                // name, whoever still has it open.
                self.shared.finish();
                let forced = UnmountFlags::FORCE | UnmountFlags::DETACH;
                unmount(&self.point, forced).map_err(|errno| self.failed(errno.to_string()))?;
            }
        }
        self.wait_for_threads()
    }

    /// Unmounts as a user who is not root.
    fn end_with_helper(&self) -> Result<(), MountError> {
        let output = Command::new("fusermount3")
            .args(["-u", "-z", "--"])
            .arg(&self.point)
            .output()
            .map_err(|error| self.failed(format!("fusermount3: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(self.failed(said.trim().to_string()));
        }
        // Open files would keep it alive.
        let abort = format!("/sys/fs/fuse/connections/{}/abort", self.connection);
        if let Err(error) = std::fs::write(&abort, "1") {
            info!("{abort}: {error}; waiting for programs to close their files");
        }
        Ok(())
    }

    fn wait_for_threads(&self) -> Result<(), MountError> {
        let nap = Duration::from_millis(1);
        let naps = limits::FAREWELL.as_millis() / nap.as_millis();
        for _ in 0..naps {
            if self.session.guard.is_finished() {
                return Ok(());
            }
            std::thread::sleep(nap);
        }
        Err(self.failed(format!(
            "programs still have files open after {:?}",
            limits::FAREWELL
        )))
    }

    fn failed(&self, reason: String) -> MountError {
        MountError::Unmount {
            point: self.point.clone(),
            reason,
        }
    }
}

/// The number of the FUSE connection that is mounted there: the device number's lower part.
fn connection_of(point: &Path) -> Result<u32, Errno> {
    let found = rustix::fs::statx(CWD, point, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE)?;
    Ok(found.stx_dev_minor)
}

/// The mount point as an absolute path, if something can be mounted there.
fn check_point(point: &Path) -> Result<PathBuf, MountError> {
    let wrong = |reason: String| MountError::Point {
        point: point.to_path_buf(),
        reason,
    };
    let in_use = |what| MountError::InUse {
        point: point.to_path_buf(),
        what,
    };
    let found = match rustix::fs::statx(CWD, point, AtFlags::empty(), StatxFlags::TYPE) {
        Ok(found) => found,
        Err(Errno::NOTCONN) => {
            return Err(in_use("a FUSE mount is there whose server has died"));
        }
        Err(errno) => return Err(wrong(io::Error::from(errno).to_string())),
    };
    if rustix::fs::FileType::from_raw_mode(found.stx_mode.into()) != rustix::fs::FileType::Directory
    {
        return Err(wrong("is no directory".into()));
    }
    if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(in_use("something is mounted there"));
    }
    let mut entries = std::fs::read_dir(point).map_err(|error| wrong(error.to_string()))?;
    if entries.next().is_some() {
        return Err(wrong("is not empty".into()));
    }
    point
        .canonicalize()
        .map_err(|error| wrong(error.to_string()))
}

/// Whether there is FUSE. Who may not open the device himself may through fusermount3, so that is not looked at.
fn check_fuse() -> Result<(), MountError> {
    std::fs::metadata("/dev/fuse")
        .map(drop)
        .map_err(MountError::NoFuse)
}
