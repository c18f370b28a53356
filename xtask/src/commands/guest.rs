//! `guest`: a virtual machine with a stock kernel on our drive.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process::Run;
use crate::tools::MachineLacks;
use crate::workshop::Workshop;

/// How long a guest may take, which runs without hardware help.
const SECONDS_MAX: &str = "600";
/// MiB of the guest's memory and of the drive.
const MEMORY_MIB: &str = "1024";
const DRIVE_MIB: &str = "512";
/// How often, and how many times, the drive's socket is looked for.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 200;
/// What the guest's init says at the end, before the job's exit code.
const ENDED: &str = "guest: job ended with ";

/// A stock Linux in a virtual machine on our drive over vfio-user
///
/// Makes the machine's bed in a cache folder at the first call (Debian 13, QEMU of its backports, a kernel, nvme-cli, fio),
/// serves a RAM drive, boots QEMU with it, runs a job in the guest and prints what the guest says. The guest runs without
/// hardware help (TCG), so that it also runs where a nested KVM does not: its timings mean nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Linux for the guest: 6.12 or 7.2
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// A shell script that the guest runs as root; the drive is /dev/nvme0n1
    #[arg(long, value_name = "FILE", default_value = "e2e/guest/drive.sh")]
    job: PathBuf,
    /// Where the bed is kept [default: dataplane-emu/guest in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    bed: Option<PathBuf>,
}

/// The drive's process; it ends with this.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait(); // its end was asked for
    }
}

impl Options {
    /// Boots a guest and runs the job in it.
    ///
    /// # Errors
    /// When the machine lacks something, or the job fails.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let bed = self.bed()?;
        Run::new(workshop.root.join("scripts/guest-bed"))
            .arg(&bed)
            .arg(&self.kernel)
            .run()?;
        workshop
            .cargo("build")
            .args([
                "--release",
                "--quiet",
                "--package",
                "dpe-port",
                "--examples",
            ])
            .run()?;
        let server = workshop.target.join("release/examples/serve_ram");
        let folder = bed.join("root/run/drive");
        fs::create_dir_all(&folder)?;
        let initrd = bed.join("root/run/initrd.gz");
        self.write_initrd(workshop, &bed, &initrd)?;
        fs::copy(
            bed.join(&self.kernel).join("vmlinuz"),
            bed.join("root/run/vmlinuz"),
        )?;
        let served = serve(&server, &folder)?;
        let said = boot(&bed)?;
        drop(served);
        verdict(&said)
    }

    fn bed(&self) -> Result<PathBuf> {
        if let Some(bed) = &self.bed {
            return Ok(std::path::absolute(bed)?);
        }
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
        let cache = cache.context("wanted a cache folder, found no HOME; say --bed DIR")?;
        Ok(cache.join("dataplane-emu/guest"))
    }

    /// The kernel's initrd with the job behind it: the kernel unpacks one archive after the other.
    fn write_initrd(&self, workshop: &Workshop, bed: &Path, to: &Path) -> Result<()> {
        let job = workshop.root.join(&self.job);
        let text = fs::read(&job).with_context(|| format!("wanted the job {}", job.display()))?;
        let mut whole = fs::read(bed.join(&self.kernel).join("initrd.gz"))?;
        // The kernel knows an archive that is not packed by where it begins.
        whole.resize(whole.len().next_multiple_of(4), 0);
        whole.extend(cpio("job", &text));
        fs::write(to, whole)?;
        Ok(())
    }
}

/// An archive of one file in the kernel's form, "newc" [Linux Documentation/driver-api/early-userspace/buffer-format.rst].
fn cpio(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes, mode) in [(name, bytes, 0o100_755), ("TRAILER!!!", &[][..], 0)] {
        let fields = [
            0,
            mode,
            0,
            0,
            1,
            0,
            bytes.len(),
            0,
            0,
            0,
            0,
            name.len() + 1,
            0,
        ];
        archive.extend(b"070701");
        for field in fields {
            archive.extend(format!("{field:08x}").bytes());
        }
        archive.extend(name.bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}

fn serve(server: &Path, folder: &Path) -> Result<Served> {
    let socket = folder.join("cntrl");
    let child = Command::new(server)
        .arg(folder)
        .arg(DRIVE_MIB)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("wanted to run {}", server.display()))?;
    let mut served = Served(child);
    for _ in 0..LOOKS_MAX {
        if socket.exists() {
            return Ok(served);
        }
        if let Some(status) = served.0.try_wait()? {
            bail!("{} ended with {status}", server.display());
        }
        thread::sleep(LOOK);
    }
    bail!("{} serves nothing after 10 s", server.display());
}

/// Boots the guest and prints what it says; returns that.
fn boot(bed: &Path) -> Result<String> {
    let device = r#"{"driver":"vfio-user-pci","socket":{"type":"unix","path":"/run/drive/cntrl"}}"#;
    let memory = format!("memory-backend-memfd,id=memory,size={MEMORY_MIB}M,share=on");
    let log = bed.join("console.txt");
    let status = Command::new("timeout")
        .args(["--kill-after=5", SECONDS_MAX, "chroot"])
        .arg(bed.join("root"))
        .arg("qemu-system-x86_64")
        .args(["-M", "q35,memory-backend=memory", "-accel", "tcg"])
        .args(["-m", &format!("{MEMORY_MIB}M"), "-object", &memory])
        .args(["-smp", "2", "-nographic", "-no-reboot", "-net", "none"])
        .args(["-kernel", "/run/vmlinuz", "-initrd", "/run/initrd.gz"])
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .args(["-device", device])
        .stdin(Stdio::null())
        .stdout(File::create(&log)?)
        .status()
        .map_err(|error| MachineLacks {
            wanted: "chroot and timeout, to run QEMU of Debian 13".to_owned(),
            found: error.to_string(),
            remedy: "run as root on a machine with coreutils".to_owned(),
        })?;
    let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let mut out = std::io::stdout().lock();
    for line in said.lines().filter(|line| line.starts_with("guest: ")) {
        writeln!(out, "{line}")?;
    }
    if !status.success() {
        bail!(
            "QEMU ended with {status}; the guest's console is {}",
            log.display()
        );
    }
    Ok(said)
}

fn verdict(said: &str) -> Result<()> {
    let code = said
        .lines()
        .find_map(|line| line.strip_prefix(ENDED))
        .map(str::trim);
    match code {
        Some("0") => Ok(()),
        Some(code) => bail!("the job ended with {code}"),
        None => bail!("the guest did not get to the end of its job"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_file_and_the_trailer_in_words_of_four_bytes() {
        let archive = cpio("job", b"true\n");
        let text = String::from_utf8_lossy(&archive);
        assert!(text.starts_with("07070100000000000081ed"));
        assert_eq!(&archive[110..114], b"job\0");
        assert_eq!(&archive[116..121], b"true\n");
        assert!(text.contains("TRAILER!!!") && archive.len().is_multiple_of(4));
    }

    #[test]
    fn only_a_job_that_ended_well_is_well() {
        assert!(verdict("guest: x\r\nguest: job ended with 0\r\n").is_ok());
        assert!(verdict("guest: job ended with 1\n").is_err());
        assert!(verdict("guest: up\n").is_err());
    }
}
