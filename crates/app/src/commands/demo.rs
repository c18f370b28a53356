//! `demo`: the scorecard. One load on one emulated drive, over the kernel, over FUSE and over our driver.

mod copy;
mod guards;
mod kernel;
mod load;
mod outputs;
mod progress;
mod rows;
mod stages;

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use bench::scorecard::{html, old_layout, text};
use bench::{limits, parse};

use crate::failure::{Exit, Failure};
use crate::size;

use outputs::Outputs;
use stages::Wanted;

/// How the text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Layout {
    /// Everything, with limits, flags and counters.
    New,
    /// The boxes of the first dataplane-emu.
    Old,
}

/// Measure one emulated drive over the kernel, over FUSE and over our own driver: the scorecard
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu demo                          about a minute; the drive's time is that of a real one
  dataplane-emu demo --html scorecard.html    the same, with a page to look at
  dataplane-emu demo --profile instant        the drive takes no time: what the paths themselves cost
  dataplane-emu demo --qd 1 --runtime 5s --repeats 5 --json -

Rows: 0 the load generators alone; 1 XFS on the best kernel block path that this machine has; 2 the FUSE mount; 3 our driver
in this process. Rows 1 and 2 need fio, row 1 needs root and mkfs.xfs; a row that cannot run here says why.

Exit codes: 0 every row that can run on this machine ran; 1 a row failed, data came back wrong, or it was interrupted;
2 usage; 3 the drive itself could not be made.")]
pub(crate) struct DemoArguments {
    /// How long the drive takes: a profile's name, 'instant', or a TOML file
    #[arg(long, value_name = "PROFILE", default_value = "aws-c7gd")]
    profile: String,

    /// Queue depths, 1 to 1024 each, measured in this order
    #[arg(long, value_name = "DEPTHS", value_delimiter = ',', default_value = "1,16,128", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::QUEUE_DEPTH_MAX)))]
    qd: Vec<u32>,

    /// Percent of reads; the rest are writes
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: u8,

    /// Bytes of one I/O, 512 to 1M, a power of two
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = io_bytes)]
    bs: u32,

    /// Bytes of the working set, at least 1M; the drive is larger, to have room for a file system
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = working_set)]
    size: u64,

    /// How long each repeat lasts: 500ms, 10s, 2m (a bare number is seconds)
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = milliseconds)]
    runtime: u64,

    /// How often each cell is measured; spread and intervals come from repeats
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::REPEATS_MAX)))]
    repeats: u32,

    /// Seed of places, directions and of what the profile leaves to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The file that goes through the drive first, at most 64M of it [default: this program's own executable]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Layout of the text
    #[arg(long, value_enum, default_value_t = Layout::New)]
    layout: Layout,

    /// Write the scorecard as JSON; '-' prints it instead of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the scorecard as one self-contained HTML page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Folder for the mount point and for fio's results, which stay there [default: a private one, removed at the end]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Leave the private folder with fio's results
    #[arg(long, conflicts_with = "work_dir")]
    keep: bool,
}

fn io_bytes(text: &str) -> Result<u32, String> {
    let allowed = "allowed: a power of two from 512 to 1M";
    let bytes = size::parse(text).map_err(|error| format!("{error}; {allowed}"))?;
    match u32::try_from(bytes) {
        Ok(bytes)
            if bytes.is_power_of_two()
                && (limits::IO_BYTES_MIN..=limits::IO_BYTES_MAX).contains(&bytes) =>
        {
            Ok(bytes)
        }
        _ => Err(allowed.into()),
    }
}

fn working_set(text: &str) -> Result<u64, String> {
    let allowed = "allowed: whole MiB, 1M to 1T";
    let bytes = size::parse(text).map_err(|error| format!("{error}; {allowed}"))?;
    if (1 << 20..=1 << 40).contains(&bytes) && bytes.is_multiple_of(1 << 20) {
        Ok(bytes)
    } else {
        Err(allowed.into())
    }
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let time = parse::milliseconds("runtime", text)
        .map_err(|error| format!("allowed: {}", error.allowed))?;
    match time {
        10.. => Ok(time),
        _ => Err("allowed: at least 10ms".into()),
    }
}

/// Measures and shows.
pub(crate) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut qds: Vec<u32> = Vec::new();
    for &qd in &arguments.qd {
        if !qds.contains(&qd) {
            qds.push(qd);
        }
    }
    let outputs = Outputs::open(arguments.json.as_deref(), arguments.html.as_deref())?;
    let wanted = Wanted {
        profile: arguments.profile.clone(),
        qds,
        rwmixread: arguments.rwmixread,
        bs: arguments.bs,
        size: arguments.size,
        runtime_ms: arguments.runtime,
        repeats: arguments.repeats,
        seed: arguments.seed,
        file: arguments.file.clone(),
    };
    let work = guards::WorkDir::open(arguments.work_dir.as_deref(), arguments.keep)?;
    let result = stages::run(&wanted, &work)?;
    let card = &result.card;
    outputs.write_json(&card.to_json(), out)?;
    outputs.write_html(&html::render(card))?;
    if !outputs.json_is_printed() {
        match arguments.layout {
            Layout::New => write!(out, "{}", text::render(card))?,
            Layout::Old => write!(out, "{}", old_layout::render(card, &logs(arguments, &work)))?,
        }
    }
    if result.failed.is_empty() {
        Ok(Exit::Pass)
    } else {
        Err(Failure::Short(anyhow!("{}", result.failed.join("; "))))
    }
}

/// The files that stay.
fn logs(arguments: &DemoArguments, work: &guards::WorkDir) -> Vec<String> {
    let written = [&arguments.json, &arguments.html];
    let mut all: Vec<String> = written
        .into_iter()
        .flatten()
        .map(|path| path.display().to_string())
        .collect();
    if work.stays() {
        all.push(format!("{}/*.json, *.log (fio)", work.path().display()));
    }
    all
}
