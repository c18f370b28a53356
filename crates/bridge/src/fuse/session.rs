//! What is agreed with the kernel when the mount begins.

use std::io;

use fuser::{Config, InitFlags, KernelConfig, MountOption, SessionACL};

use crate::engine::EngineOptions;
use crate::limits;

/// How a mount works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// Threads that serve requests, 1 to [`limits::THREADS_MAX`]. With one, a device that does not answer at once has a
    /// single request at a time.
    pub threads: usize,
    /// Whether each thread has its own descriptor of `/dev/fuse`.
    pub clone_fd: bool,
    /// Whether other users than the one who mounts may use the files. If not root, `/etc/fuse.conf` must say
    /// `user_allow_other`.
    pub allow_other: bool,
    /// How requests become commands.
    pub engine: EngineOptions,
}

impl Default for MountOptions {
    fn default() -> Self {
        Self {
            threads: limits::THREADS,
            clone_fd: true,
            allow_other: false,
            engine: EngineOptions::default(),
        }
    }
}

impl MountOptions {
    /// The same in `fuser`'s words; a file system to compare with is mounted with it too.
    pub fn session(&self) -> Config {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("dataplane-emu".into()),
            MountOption::Subtype("dataplane-emu".into()),
            MountOption::DefaultPermissions,
            MountOption::NoAtime,
        ];
        config.acl = if self.allow_other {
            SessionACL::All
        } else {
            SessionACL::Owner
        };
        config.n_threads = Some(self.threads.clamp(1, limits::THREADS_MAX));
        config.clone_fd = self.clone_fd;
        config
    }
}

/// Asks the kernel for what the door wants, as far as it has it; to be called in `init`.
///
/// Not asked for is `FUSE_ATOMIC_O_TRUNC`: with it, the kernel takes a file for empty after an open with `O_TRUNC` until
/// somebody asks for its size, and ends asynchronous reads at once meanwhile.
///
/// # Errors
/// When the kernel refuses the sizes.
pub fn negotiate(config: &mut KernelConfig) -> io::Result<()> {
    let wishes = [
        InitFlags::FUSE_ASYNC_DIO,
        InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        InitFlags::FUSE_PARALLEL_DIROPS,
    ];
    for wish in wishes {
        if let Err(missing) = config.add_capabilities(wish) {
            tracing::info!(?missing, "this kernel lacks a part of FUSE");
        }
    }
    let refused = |nearest: u32| io::Error::other(format!("the nearest that works is {nearest}"));
    config
        .set_max_write(limits::REQUEST_BYTES_MAX)
        .map_err(refused)?;
    config
        .set_max_background(limits::BACKGROUND_MAX)
        .map_err(|nearest| refused(nearest.into()))?;
    Ok(())
}
