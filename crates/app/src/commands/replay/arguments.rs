//! The flags of `replay`.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use bench::limits::QUEUE_DEPTH_MAX;
use bench::parse;
use bench::replay::layout::Outside;
use bench::replay::limits;
use bench::replay::run::{Pace, Plan};
use bench::replay::trace::Stage;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::number;
use crate::size;
use crate::uri::Uri;

const EXAMPLES: &str = "\
Examples:
  dataplane-emu replay fio.log ram:1G
      a log of fio --write_iolog, at its recorded times
  dataplane-emu replay sda ram:16G --speed 2 --wrap
      sda.blktrace.0, sda.blktrace.1 and so on, as blktrace wrote them, twice as fast; offsets modulo 16 GiB
  dataplane-emu replay trace.bin ram:64G --events issue --fast --qd 64 --json replay.json
      what blkparse -d merged, as the driver saw it, as fast as the device allows
  dataplane-emu replay fio.log ram:4G --map /data/a=0 --map /data/b=2G --stamp
      where two files lie, and data that name their block

A replay overwrites the device. docs/replay.md says what is replayed and how.
Exit codes: 0 pass; 1 failed commands; 2 usage, or a trace that is not what its format allows; 3 this machine or version lacks something.";

/// Replay a recorded trace (fio iolog, blktrace) on a device, at recorded times or as fast as possible
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayArguments {
    /// The trace: an iolog of fio, version 2 or 3; a binary block trace, or NAME for NAME.blktrace.0 and so on; or blkparse's text
    #[arg(value_name = "TRACE")]
    pub(super) trace: PathBuf,

    /// The device, for example ram:1G, null:1G?lba=4096, ram:1G?controller=thread
    #[arg(value_name = "URI", value_parser = Uri::parse)]
    pub(super) device: Uri,

    /// How many times faster than recorded; 0.5 is half as fast
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed, conflicts_with = "fast")]
    speed: f64,

    /// Drop the recorded times: send each I/O as soon as there is room
    #[arg(long)]
    fast: bool,

    /// Commands in flight at most, 1 to 1024 [default: 256, with --fast 32]
    #[arg(long, value_name = "COMMANDS", value_parser = |text: &str| number::whole(text, 1..=QUEUE_DEPTH_MAX))]
    qd: Option<u32>,

    /// Replay only so many I/Os from the beginning of the trace
    #[arg(long, value_name = "COUNT", value_parser = |text: &str| number::whole(text, 0..=u64::MAX))]
    pub(super) ios: Option<u64>,

    /// Send nothing more after this time: 500ms, 10s, 2m (a bare number is seconds)
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    runtime: Option<u64>,

    /// Refuse a trace that reaches beyond the device, before anything is sent; this is the default
    #[arg(long, conflicts_with_all = ["wrap", "clip"])]
    refuse: bool,

    /// Take offsets beyond the device modulo its size
    #[arg(long, conflicts_with = "clip")]
    wrap: bool,

    /// Leave out what is beyond the device
    #[arg(long)]
    clip: bool,

    /// Where a file of the trace begins on the device (a block trace's files are devices, as 8,0); the others follow behind [default: one after another]
    #[arg(long = "map", value_name = "NAME=OFFSET", value_parser = map)]
    pub(super) maps: Vec<(String, u64)>,

    /// Which events of a block trace to replay: queue (Q, what was asked of the block layer), issue (D, what it sent to the driver)
    #[arg(long, value_name = "STAGE", default_value = "queue", value_parser = PossibleValuesParser::new(["queue", "issue"]).try_map(|word| Stage::from_str(&word)))]
    pub(super) events: Stage,

    /// Write data that name their block and which write of the trace they are, instead of the same data again and again
    #[arg(long)]
    stamp: bool,

    /// Seed of the data
    #[arg(long, default_value_t = 1, value_parser = |text: &str| number::whole(text, 0..=u64::MAX))]
    seed: u64,

    /// Namespace to work on, 1 to the URI's ns
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = |text: &str| number::whole(text, 0..=u32::MAX))]
    pub(super) nsid: u32,

    /// Write the report as JSON; '-' prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

impl ReplayArguments {
    /// How to replay.
    pub(super) fn plan(&self) -> Plan {
        let (pace, qd) = if self.fast {
            (Pace::Fast, limits::FAST_DEPTH)
        } else {
            (Pace::Recorded { speed: self.speed }, limits::RECORDED_DEPTH)
        };
        Plan {
            pace,
            qd: self.qd.unwrap_or(qd),
            ios: self.ios,
            runtime_ms: self.runtime,
            stamp: self.stamp,
            seed: self.seed,
        }
    }

    /// Refuses a file of the trace that is to lie in two places.
    pub(super) fn check_maps(&self) -> Result<(), Failure> {
        let mut rest = self.maps.as_slice();
        while let [(name, first), others @ ..] = rest {
            if let Some((_, second)) = others.iter().find(|(other, _)| other == name) {
                return Err(Failure::usage(anyhow!(
                    "--map: {name} is given twice, at {} and at {}; allowed: each name once",
                    size::Size(*first),
                    size::Size(*second)
                )));
            }
            rest = others;
        }
        Ok(())
    }

    /// What happens to I/Os beyond the device.
    pub(super) const fn outside(&self) -> Outside {
        match (self.wrap, self.clip) {
            (true, _) => Outside::Wrap,
            (_, true) => Outside::Clip,
            _ => Outside::Refuse,
        }
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let (least, most) = (limits::SPEED_MIN, limits::SPEED_MAX);
    text.parse()
        .ok()
        .filter(|speed| (least..=most).contains(speed))
        .ok_or_else(|| format!("allowed: a number from {least} to {most}"))
}

fn milliseconds(text: &str) -> Result<u64, String> {
    parse::milliseconds("runtime", text)
        .map_err(|error| format!("allowed: {}, at most 366 days", error.allowed))
}

fn map(text: &str) -> Result<(String, u64), String> {
    let (name, offset) = text
        .rsplit_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("allowed: NAME=OFFSET, as in --map /data/a=2G")?;
    let offset =
        size::parse(offset).map_err(|error| format!("{error}; allowed: {}", size::ALLOWED))?;
    Ok((name.to_owned(), offset))
}
