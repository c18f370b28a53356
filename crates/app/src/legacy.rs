//! The command line of the first dataplane-emu, `[-b] [-k] [-s] [-m DIR] [-d DEV]`: docs/old-interface.md says what each flag
//! does here.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use anyhow::anyhow;
use bench::report::Report;
use bench::text;
use bench::workload::Job;
use media::BlockSize;
use media::file::Direct;

use crate::commands::bench::{live::Live, report};
use crate::commands::serve::{ServedFile, Service, logging, serve};
use crate::failure::{Exit, Failure};
use crate::lab::{Lab, MountSection, TelemetrySection};
use crate::telemetry::{Counts, Telemetry};
use crate::uri::{Emulated, Keeps, Placement, Profile, Uri};

/// The flags that it had; a colon says that a value follows.
const FLAGS: &str = "bksm:d:";

const USAGE: &str = "usage: dataplane-emu [-b] [-k] [-s] [-m DIR] [-d DEV]
  -b      1,000,000 reads of 512 B on ram:64M at queue depth 32
  -k      serve a file on a mount until SIGINT or SIGTERM
  -m DIR  its mount point, an empty directory (/mnt/virtual_nvme)
  -d DEV  the block device or file behind it (ram:1G)
  -s      drive a real device from user space: not built yet
These are the flags of the first dataplane-emu (docs/old-interface.md); see dataplane-emu --help for this one's commands.";

/// Where it mounted when nobody said.
const MOUNT_POINT: &str = "/mnt/virtual_nvme";

/// The drive of `-b`.
const BENCH_DEVICE: &str = "ram:64M";

/// Its reads.
const BENCH_IOS: u64 = 1_000_000;

/// The drive of `-k` without `-d`.
const SERVED_DEVICE: &str = "ram:1G";

/// What was asked for in the old way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    bench: bool,
    bridge: bool,
    spdk: bool,
    mount: Option<PathBuf>,
    device: Option<PathBuf>,
}

/// Whether the first argument, after the program's name, is one of the old flags.
pub(crate) fn is_meant(arguments: &[OsString]) -> bool {
    match arguments.get(1).map(|first| first.as_bytes()) {
        Some([b'-', flag, ..]) => *flag != b':' && FLAGS.as_bytes().contains(flag),
        _ => false,
    }
}

/// Does what the old flags say. The arguments begin with the program's name.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<Exit, Failure> {
    let wishes = Wishes::read(arguments.get(1..).unwrap_or_default())
        .map_err(|problem| Failure::usage(anyhow!("{problem}\n{USAGE}")))?;
    if wishes.spdk {
        return Err(Failure::environment(anyhow!(
            "-s: driving a real drive from user space (pci:) is not built yet in this version; the same driver on an \
             emulated drive: dataplane-emu bench ram:1G"
        )));
    }
    if !wishes.bench && !wishes.bridge {
        return Err(Failure::usage(anyhow!(
            "-m and -d say where, -k says what: add -k to serve, or -b to measure\n{USAGE}"
        )));
    }
    logging::start(0);
    let mut exit = Exit::Pass;
    if wishes.bench {
        exit = benchmark(out)?;
    }
    if wishes.bridge && exit == Exit::Pass {
        exit = bridge(wishes, out)?;
    }
    if exit == Exit::Pass {
        writeln!(out, "Execution complete.")?;
    }
    Ok(exit)
}

impl Wishes {
    /// Reads flags as getopt does: several in one word, a value in the same word or the next one.
    fn read(arguments: &[OsString]) -> Result<Self, String> {
        let mut wishes = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let [b'-', letters @ ..] = word.as_bytes() else {
                return Err(format!("{word:?} belongs to no flag"));
            };
            let mut letters = letters.iter();
            if letters.len() == 0 {
                return Err("\"-\" is no flag".to_owned());
            }
            while let Some(&letter) = letters.next() {
                let place = match letter {
                    b'b' => &mut wishes.bench,
                    b'k' => &mut wishes.bridge,
                    b's' => &mut wishes.spdk,
                    b'm' | b'd' => {
                        let value = match letters.as_slice() {
                            [] => words.next().cloned(),
                            rest => Some(OsString::from_vec(rest.to_vec())),
                        };
                        let value = value.filter(|value| !value.is_empty()).map(PathBuf::from);
                        let flag = char::from(letter);
                        let value = value.ok_or_else(|| format!("-{flag} needs a value"))?;
                        if letter == b'm' {
                            wishes.mount = Some(value);
                        } else {
                            wishes.device = Some(value);
                        }
                        break;
                    }
                    _ => {
                        let found = OsStr::from_bytes(word.as_bytes());
                        return Err(format!("{found:?}: no such flag among the old ones"));
                    }
                };
                *place = true;
            }
        }
        Ok(wishes)
    }
}

/// `-b`: a million reads, each a command with its data and its completion.
fn benchmark(out: &mut dyn Write) -> Result<Exit, Failure> {
    writeln!(out, "Starting kernel-bypass benchmark...")?;
    out.flush()?;
    let telemetry = Telemetry::start(&TelemetrySection::default());
    let job = Job {
        bs: 512,
        qd: 32,
        runtime_ms: None,
        ios: Some(BENCH_IOS),
        precondition: true,
        repeats: 1,
        ..Job::default()
    };
    let report = report(&emulated(BENCH_DEVICE)?, &job, 1, &mut Live::new(1))?;
    let done = done(&report);
    telemetry.finish(&Counts {
        reads: done,
        read_bytes: done * u64::from(job.bs),
        ..Counts::default()
    });
    let all = report.is_clean() && done == BENCH_IOS;
    if all {
        writeln!(
            out,
            "Successfully submitted and polled {done} I/Os using lock-free atomics."
        )?;
    }
    write!(out, "{}", text::block(&report))?;
    if !all {
        return Ok(Exit::Short);
    }
    writeln!(
        out,
        "Benchmark complete. Waiting for control plane signal..."
    )?;
    Ok(Exit::Pass)
}

/// Reads that came back.
fn done(report: &Report) -> u64 {
    report.repeats.iter().map(|repeat| repeat.read.ios).sum()
}

/// `-k`: the mount, until a signal.
fn bridge(wishes: Wishes, out: &mut dyn Write) -> Result<Exit, Failure> {
    writeln!(out, "Starting kernel-bypass backend...")?;
    let device = match &wishes.device {
        None => emulated(SERVED_DEVICE)?,
        Some(path) => Emulated {
            keeps: Keeps::File {
                path: path.clone(),
                size: None,
                direct: Direct::Always,
            },
            block_size: BlockSize::B512,
            namespaces: 1,
            profile: Profile::Instant,
            controller: Placement::Inline,
            fault: None,
            log: None,
            seed: 0,
        },
    };
    let mut lab = Lab::empty();
    lab.add(device, None)
        .map_err(|problem| Failure::usage(anyhow!(problem)))?;
    let mount = MountSection {
        allow_other: true,
        ..MountSection::at(wishes.mount.unwrap_or_else(|| MOUNT_POINT.into()))
    };
    let point = mount.path.display();
    writeln!(out, "Mounting FUSE bridge at {point}...")?;
    out.flush()?;
    let service = Service {
        lab,
        mount,
        placement: Placement::Inline,
        duration: None,
    };
    let mut announce = |out: &mut dyn Write, files: &[ServedFile]| {
        write!(out, "Starting FUSE POSIX Interceptor...")?;
        if let (Some(path), Some(file)) = (&wishes.device, files.first()) {
            write!(out, " {}, {} bytes", path.display(), file.bytes)?;
        }
        writeln!(out)?;
        out.flush()
    };
    serve(&service, &mut announce, out)
}

/// A device of ours.
fn emulated(uri: &str) -> Result<Emulated, Failure> {
    let uri = Uri::parse(uri).map_err(Failure::usage)?;
    uri.require_built().cloned().map_err(Failure::environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn wishes(line: &str) -> Result<Wishes, String> {
        Wishes::read(&words(line))
    }

    #[test]
    fn flags_are_read_as_getopt_reads_them() {
        let whole = Wishes {
            bench: true,
            bridge: true,
            spdk: false,
            mount: Some("/mnt/x".into()),
            device: Some("/dev/nvme1n1".into()),
        };
        for line in [
            "-b -k -m /mnt/x -d /dev/nvme1n1",
            "-bk -m/mnt/x -d/dev/nvme1n1",
            "-d /dev/nvme1n1 -kbm /mnt/x",
        ] {
            assert_eq!(wishes(line).as_ref(), Ok(&whole), "{line}");
        }
        assert!(wishes("-s").is_ok_and(|wishes| wishes.spdk));
    }

    #[test]
    fn what_is_no_old_flag_is_named() {
        for (line, word) in [
            ("-b -x", "-x"),
            ("-b --core-mask 0x1", "--core-mask"),
            ("-k -m", "-m needs a value"),
            ("-k mnt", "mnt"),
            ("-b -", "-"),
        ] {
            let problem = wishes(line).expect_err(line);
            assert!(problem.contains(word), "{line}: {problem}");
        }
    }

    #[test]
    fn only_an_old_flag_in_the_first_place_asks_for_the_old_ways() {
        for (line, meant) in [
            ("dataplane-emu -b", true),
            ("dataplane-emu -kmdir", true),
            ("dataplane-emu -m", true),
            ("dataplane-emu serve -b", false),
            ("dataplane-emu --help", false),
            ("dataplane-emu -h", false),
            ("dataplane-emu -V", false),
            ("dataplane-emu -:", false),
            ("dataplane-emu -", false),
            ("dataplane-emu", false),
        ] {
            assert_eq!(is_meant(&words(line)), meant, "{line}");
        }
    }
}
