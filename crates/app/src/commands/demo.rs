//! `demo`: a file goes through the emulated drive and back, then the drive is measured.

use std::fs::File;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use bench::report::{Figure, Report};
use bench::text;
use bench::workload::Job;
use driver::{BlockDevice, BlockOptions};
use spec::NamespaceId;

use super::bench as bench_command;
use super::bench::live::Live;
use crate::clock;
use crate::device;
use crate::failure::{Exit, Failure};
use crate::limits;
use crate::size::Size;
use crate::uri::Uri;

/// The drive that the file goes through: room for the largest file, and a working set that leaves every cache.
const DRIVE: &str = "ram:1G";

/// Where on the drive the file begins: off every block's and every page's edge, so that the driver's handling of unaligned
/// edges is part of the demonstration.
const FILE_OFFSET: u64 = 4097;

/// The depths that are measured.
const DEPTHS: [u32; 3] = [1, 16, 128];

/// Milliseconds of each repeat.
const RUNTIME_MS: u64 = 1000;

/// Write a real file into an emulated drive, read it back, compare; then measure at queue depths 1, 16, 128
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu demo
  dataplane-emu demo --file /etc/services

Everything happens in this process: no drive, no privilege and no set-up is needed.")]
pub(crate) struct DemoArguments {
    /// The file to send through the drive, at most 1 GiB less 1 MiB [default: this program's own executable]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Milliseconds of each of three repeats at each queue depth
    #[arg(long, value_name = "MS", default_value_t = RUNTIME_MS, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    runtime_ms: u64,
}

/// Shows both halves at work.
pub(crate) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let path = match &arguments.file {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .context("wanted this program's own file; name another with --file")
            .map_err(Failure::environment)?,
    };
    let original = read(&path)?;
    let uri = Uri::parse(DRIVE).map_err(Failure::usage)?;
    writeln!(
        out,
        "drive      {uri}, emulated in this process: NVMe controller and driver share a queue pair in memory"
    )?;
    writeln!(
        out,
        "file       {} ({} bytes)",
        path.display(),
        original.len()
    )?;
    if !round_trip(&uri, &original, out)? {
        return Ok(Exit::Short);
    }
    measure(&uri, arguments.runtime_ms, out)
}

/// The bytes of a file that fits the drive.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let most = limits::DEMO_FILE_BYTES_MAX;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .with_context(|| {
            format!(
                "wanted to read {}; name another file with --file",
                path.display()
            )
        })
        .map_err(Failure::environment)?;
    if bytes.len() as u64 > most {
        return Err(Failure::usage(anyhow!(
            "--file: {} is too large; allowed: at most {} bytes",
            path.display(),
            Size(most)
        )));
    }
    Ok(bytes)
}

/// Sends bytes to the drive and back; says whether they came back unchanged.
fn round_trip(uri: &Uri, original: &[u8], out: &mut dyn Write) -> Result<bool, Failure> {
    let device = device::open_inline(device::require_built(uri)?)?;
    let mut blocks = BlockDevice::open(device, NamespaceId::new(1), BlockOptions::default())
        .context("wanted the block layer on namespace 1")
        .map_err(Failure::environment)?;
    let begin = clock::now();
    blocks
        .write_at(FILE_OFFSET, original)
        .context("writing the file")
        .map_err(Failure::Short)?;
    blocks
        .flush()
        .context("flushing the drive")
        .map_err(Failure::Short)?;
    let written = clock::now();
    let mut copy = vec![0; original.len()];
    blocks
        .read_at(FILE_OFFSET, &mut copy)
        .context("reading the file")
        .map_err(Failure::Short)?;
    let back = clock::now();
    let verb = |seconds: f64| {
        let mib = original.len() as f64 / f64::from(1 << 20);
        format!(
            "{:.2} ms, {:.0} MiB/s",
            seconds * 1e3,
            mib / seconds.max(1e-9)
        )
    };
    writeln!(
        out,
        "written    at byte {FILE_OFFSET} (unaligned on purpose) in {}",
        verb((written - begin).as_secs_f64())
    )?;
    writeln!(
        out,
        "read back  in {}",
        verb((back - written).as_secs_f64())
    )?;
    let first_wrong = original
        .iter()
        .zip(&copy)
        .position(|(wanted, found)| wanted != found);
    match first_wrong {
        None => writeln!(out, "compared   all {} bytes are equal\n", original.len())?,
        Some(at) => writeln!(
            out,
            "compared   DIFFERENT from byte {at} on: wanted {:#04x}, found {:#04x}",
            original[at], copy[at]
        )?,
    }
    Ok(first_wrong.is_none())
}

/// Measures the drive at each depth and prints the table.
fn measure(uri: &Uri, runtime_ms: u64, out: &mut dyn Write) -> Result<Exit, Failure> {
    let device = device::require_built(uri)?;
    let mut reports: Vec<Report> = Vec::new();
    for qd in DEPTHS {
        let job = Job {
            qd,
            runtime_ms: Some(runtime_ms),
            precondition: true,
            ..Job::default()
        };
        let mut live = Live::new(job.repeats);
        reports.push(bench_command::report(device, &job, 1, &mut live)?);
    }
    write!(out, "{}", text::table(&reports))?;
    for report in &reports {
        let qd = report.job.qd;
        match &report.ceiling {
            Figure::Value(ceiling) => {
                let rate = text::rate(ceiling.per_second);
                writeln!(out, "ceiling at QD {qd}: {rate}/s, {}", ceiling.name)?;
            }
            Figure::NotRun(reason) => writeln!(out, "ceiling at QD {qd}: not run: {reason}")?,
        }
    }
    writeln!(
        out,
        "\nnext: dataplane-emu bench --help; dataplane-emu doctor"
    )?;
    let clean = reports.iter().all(Report::is_clean);
    Ok(if clean { Exit::Pass } else { Exit::Short })
}
