//! `bench drive`: mounts what is compared, and measures it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::process::Run;
use crate::workshop::Workshop;

/// MiB of the device and of the file that it is compared with.
const MIB: &str = "256";
/// What is mounted: the bench's flag for it, the example, and whether it copies.
const MOUNTS: [(&str, &str, &[&str]); 3] = [
    ("door", "mount_ram", &[]),
    ("ceiling", "null_fs", &[]),
    ("copying", "null_fs", &["1"]),
];
/// How often, and how many times, a mount is looked for.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 500;

/// A mounted file system of a child process. Unmounting it ends the child.
struct Mounted {
    point: PathBuf,
    child: Child,
}

impl Mounted {
    /// Starts an example of the bridge on a folder of its own and waits for its file.
    fn start(program: &Path, point: PathBuf, further: &[&str]) -> Result<(Self, PathBuf)> {
        fs::create_dir_all(&point)?;
        let child = Command::new(program)
            .arg(&point)
            .arg(MIB)
            .args(further)
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("wanted to run {}", program.display()))?;
        let path = point.join("nvme_raw_0");
        let mut mounted = Self { point, child };
        for _ in 0..LOOKS_MAX {
            if path.exists() {
                return Ok((mounted, path));
            }
            if let Some(status) = mounted.child.try_wait()? {
                anyhow::bail!("{} ended with {status}", program.display());
            }
            thread::sleep(LOOK);
        }
        anyhow::bail!("{} mounted nothing in 10 s", program.display());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.point).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = self.child.kill(); // it ended by itself, or nothing else ends it
        }
        let _ = self.child.wait(); // only so that it does not stay as a zombie
        let _ = fs::remove_dir(&self.point); // empty, in a folder for temporary files
    }
}

fn bars(workshop: &Workshop) -> Run {
    workshop.cargo("run").args([
        "--release",
        "--quiet",
        "--package",
        "dpe-bench",
        "--bin",
        "drive",
        "--",
    ])
}

/// Builds and mounts both file systems, unless only bars without them are wanted, and runs the bars with these arguments.
///
/// # Errors
/// When a bar is missed, or the programs cannot be built.
pub(crate) fn run(workshop: &Workshop, only_gates: bool, arguments: &[OsString]) -> Result<()> {
    if only_gates {
        return bars(workshop).args(arguments).run();
    }
    workshop
        .cargo("build")
        .args([
            "--release",
            "--quiet",
            "--package",
            "dpe-bridge",
            "--examples",
        ])
        .run()?;
    let examples = workshop.target.join("release/examples");
    let folder = std::env::temp_dir().join(format!("dataplane-emu-drive-{}", std::process::id()));
    let mounts = MOUNTS.map(|(name, program, further)| {
        let mounted = Mounted::start(&examples.join(program), folder.join(name), further);
        (name, mounted)
    });
    let mut run = bars(workshop);
    for (name, mounted) in &mounts {
        run = match mounted {
            Ok((_, path)) => run.arg(format!("--{name}")).arg(path),
            Err(error) => run.arg("--not-mounted").arg(format!("{error:#}")),
        };
    }
    let measured = run.args(arguments).run();
    drop(mounts);
    let _ = fs::remove_dir(&folder); // empty, in a folder for temporary files
    measured
}
