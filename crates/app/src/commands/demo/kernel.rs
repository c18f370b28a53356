//! The kernel's block paths: which of them this machine has, and the one that this version can use.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::scorecard::model::KernelPath;

use super::guards::{LoopDevice, Mounted, WorkDir, tool};

/// Bytes written at once while the file is filled.
const CHUNK: usize = 1 << 20;

/// The name of the path that this version can use.
const LOOP: &str = "loop over the FUSE file";

/// Why the better paths are not taken, best first. Each probe really looks, so that a machine that has one says so.
pub(super) fn better() -> Vec<KernelPath> {
    let found = [
        ("KVM guest", guest()),
        ("ublk", ublk()),
        ("nvme-tcp", nvme_tcp()),
    ];
    found
        .into_iter()
        .map(|(path, reason)| KernelPath {
            path: path.into(),
            not_run: Some(reason),
        })
        .collect()
}

/// The loop path with how it went.
pub(super) fn looped(not_run: Option<&str>) -> KernelPath {
    KernelPath {
        path: LOOP.into(),
        not_run: not_run.map(str::to_owned),
    }
}

fn guest() -> String {
    match OpenOptions::new().read(true).write(true).open("/dev/kvm") {
        Ok(_) => "/dev/kvm is here, but this version has no guest to run in it".into(),
        Err(error) => format!("/dev/kvm: {error}; and this version has no guest to run in it"),
    }
}

fn ublk() -> String {
    let control = Path::new("/dev/ublk-control");
    match fs::metadata(control) {
        Ok(_) => format!(
            "{} is here, but this version has no ublk server",
            control.display()
        ),
        Err(error) => format!("{}: {error} (a kernel without ublk_drv)", control.display()),
    }
}

fn nvme_tcp() -> String {
    let loaded = Path::new("/sys/module/nvme_tcp").exists();
    let release = crate::doctor::probe::kernel_release();
    let modules = Path::new("/lib/modules").join(release);
    let listed = |name: &str| {
        let list = fs::read_to_string(modules.join(name)).unwrap_or_default();
        list.contains("nvme-tcp.ko") || list.contains("nvme_tcp.ko")
    };
    if loaded || listed("modules.builtin") || listed("modules.dep") {
        "the kernel has the nvme-tcp module, but this version has no NVMe/TCP target".into()
    } else {
        "this kernel has no nvme-tcp module, and this version no NVMe/TCP target".into()
    }
}

/// XFS on a loop device over a file of the FUSE mount, with a file of the working set's size in it. Dropping it unmounts and
/// detaches, in this order.
#[derive(Debug)]
pub(super) struct LoopXfs {
    mounted: Mounted,
    device: LoopDevice,
}

impl LoopXfs {
    /// Sets it up; says why not.
    pub(super) fn open(
        raw: &Path,
        sector_bytes: u64,
        bytes: u64,
        work: &WorkDir,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err(
                "needs root, to attach a loop device and to mount; run it again as root".into(),
            );
        }
        tool(Command::new("mkfs.xfs").arg("-V"), "xfsprogs", stop)?;
        let device = LoopDevice::attach(raw, sector_bytes, stop)?;
        // Without -K it would discard the whole device first, after which its blocks would count as never written.
        let mut mkfs = Command::new("mkfs.xfs");
        mkfs.args(["-K", "-f", "-q"]).arg(device.path());
        tool(&mut mkfs, "xfsprogs", stop)?;
        let point = work.mount_point("xfs")?;
        let mounted = Mounted::xfs(device.path(), point, stop)?;
        let xfs = Self { mounted, device };
        fill(&xfs.file(), bytes, stop)?;
        Ok(xfs)
    }

    /// The file that holds the working set.
    pub(super) fn file(&self) -> PathBuf {
        self.mounted.point().join("working-set")
    }

    /// What an I/O goes through.
    pub(super) fn path(&self) -> String {
        format!(
            "fio, libaio, O_DIRECT → XFS → {} (direct I/O) → nvme_raw_0 → FUSE → our driver → our controller",
            self.device.path().display()
        )
    }
}

/// Writes every byte of the file, so that no block of it is an unwritten extent.
fn fill(path: &Path, bytes: u64, stop: &mut dyn FnMut() -> bool) -> Result<(), String> {
    let failed = |error| format!("wanted to fill {}: {error}", path.display());
    let mut file = File::create_new(path).map_err(failed)?;
    let chunk: Vec<u8> = (0..CHUNK).map(|place| (place >> 9) as u8 | 1).collect();
    let mut left = bytes;
    while left > 0 {
        if stop() {
            return Err("interrupted".into());
        }
        let part = left.min(CHUNK as u64) as usize;
        file.write_all(&chunk[..part]).map_err(failed)?;
        left -= part as u64;
    }
    file.sync_all().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_better_path_says_what_is_missing() {
        let all = better();
        let names: Vec<&str> = all.iter().map(|path| path.path.as_str()).collect();
        assert_eq!(names, ["KVM guest", "ublk", "nvme-tcp"]);
        for path in all {
            let reason = path.not_run.unwrap();
            assert!(
                reason.contains("this version") || reason.contains("ublk_drv"),
                "{reason}"
            );
        }
    }
}
