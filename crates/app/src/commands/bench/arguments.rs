//! The flags of `bench` and how they become a job.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use bench::limits::QUEUE_DEPTH_MAX;
use bench::parse;
use bench::workload::{Distribution, InvalidJob, Job, Pattern, Timestamps};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::number;
use crate::size;
use crate::uri::Uri;

const EXAMPLES: &str = "\
Examples:
  dataplane-emu bench ram:1G
      random reads of 4 KiB at queue depth 32: three repeats of two seconds
  dataplane-emu bench ram:256M --rw randrw --rwmixread 70 --bs 512 --qd 128 --verify
      every byte that is read is compared with what must be there
  dataplane-emu bench 'null:1G?controller=thread' --qd 1 --timestamps io
      the round trip between two cores, each I/O timed
  dataplane-emu bench ram:1G --rate 200000 --runtime 10s --series series.csv
      an open loop of 200,000 I/Os per second; latency counts from the intended start
  dataplane-emu bench ram:1G --json before.json
  dataplane-emu bench diff before.json after.json
      faster, slower or no difference, with an interval

Quote URIs with '?' or '&'; docs/devices.md describes them.
Exit codes: 0 pass; 1 wrong data, failed commands or slower; 2 usage; 3 this machine or version lacks something.";

/// Measure a device: rates, latencies, CPU time, doorbells, beside the machine's own ceiling
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(super) command: Option<BenchCommand>,

    #[command(flatten)]
    pub(super) measure: Option<MeasureArguments>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BenchCommand {
    Diff(super::compare::DiffArguments),
}

/// What to measure, and how.
#[derive(Debug, Args)]
pub(super) struct MeasureArguments {
    /// The device, for example ram:1G, null:1G?lba=4096, ram:1G?controller=thread
    #[arg(value_name = "URI", value_parser = Uri::parse)]
    pub(super) device: Uri,

    /// Order and direction of accesses
    #[arg(long, default_value = "randread", value_parser = words::<Pattern>(&["randread", "randwrite", "randrw", "read", "write"]))]
    rw: Pattern,

    /// Percent of reads, only with --rw randrw [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = |text: &str| number::whole(text, 0..=100_u8))]
    rwmixread: Option<u8>,

    /// Bytes of one I/O, 512 to 1M, a multiple of the device's logical block
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = bytes)]
    bs: u64,

    /// Commands in flight on each queue pair, 1 to 1024 (with --rate: the most there may be)
    #[arg(long, value_name = "COMMANDS", default_value_t = 32, value_parser = depth)]
    qd: u32,

    /// Bytes of the working set on each device [default: all that follows --offset]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    size: Option<u64>,

    /// Byte at which the working set begins
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = bytes)]
    offset: u64,

    /// Where random accesses go: uniform, or, not with --rw read or write, zipf:THETA (a few places take most of them; THETA 0.01 to 5)
    #[arg(long, value_name = "DISTRIBUTION", default_value = "uniform", value_parser = Distribution::from_str)]
    random: Distribution,

    /// Write the working set once, with checkable data, before measuring
    #[arg(long)]
    precondition: bool,

    /// How long each repeat lasts: 500ms, 10s, 2m (a bare number is seconds) [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "ios")]
    runtime: Option<u64>,

    /// How many I/Os each repeat makes, over all queue pairs, instead of --runtime
    #[arg(long, value_name = "COUNT", value_parser = count)]
    ios: Option<u64>,

    /// How many devices of this URI to drive
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = few)]
    devices: u32,

    /// How many threads submit; beyond the number of devices they share devices, which needs controller=thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = few)]
    threads: u32,

    /// CPUs to pin threads to, in turn, then controllers: a mask (0x5) or a list (0,2-3) [default: not pinned]
    #[arg(long, value_name = "CPUS", value_parser = cores)]
    core_mask: Option<Cores>,

    /// I/Os per second to start, over all queue pairs, whether the device keeps up or not (open loop)
    #[arg(long, value_name = "IOPS", value_parser = count)]
    rate: Option<u64>,

    /// Clock reads: none (fastest, no latency), poll (one for each poll that found something), io (two for each I/O)
    #[arg(long, value_name = "WHEN", default_value = "poll", value_parser = words::<Timestamps>(&["none", "poll", "io"]))]
    timestamps: Timestamps,

    /// Compare every byte that is read with what must be there; implies --precondition
    #[arg(long)]
    verify: bool,

    /// Seed of places, directions and data: equal seeds give equal runs
    #[arg(long, default_value_t = 1, value_parser = seed)]
    seed: u64,

    /// How often to measure; spread and intervals come from repeats
    #[arg(long, value_name = "N", default_value_t = 3, alias = "repeat", value_parser = few)]
    repeats: u32,

    /// Namespace to work on, 1 to the URI's ns
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = few)]
    pub(super) nsid: u32,

    /// Write the report as JSON in fio's layout, our own figures under one key; '-' prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Write a time series as CSV: rates and p99 ten times a second
    #[arg(long, value_name = "FILE")]
    pub(super) series: Option<PathBuf>,
}

impl MeasureArguments {
    /// The job that the flags mean.
    pub(super) fn job(&self) -> Result<Job, Failure> {
        let bs = u32::try_from(self.bs)
            .map_err(|_| refuse(&InvalidJob::new("bs", self.bs, "512 to 1048576 bytes")))?;
        let defaults = Job::default();
        let job = Job {
            rw: self.rw,
            rwmixread: self.rwmixread,
            bs,
            qd: self.qd,
            size: self.size,
            offset: self.offset,
            random: self.random,
            precondition: self.precondition,
            runtime_ms: match self.ios {
                Some(_) => None,
                None => self.runtime.or(defaults.runtime_ms),
            },
            ios: self.ios,
            devices: self.devices,
            threads: self.threads,
            core_mask: self
                .core_mask
                .clone()
                .map(|cores| cores.0)
                .unwrap_or_default(),
            rate: self.rate,
            timestamps: self.timestamps,
            verify: self.verify,
            seed: self.seed,
            repeats: self.repeats,
        };
        job.check().map_err(|error| refuse(&error))?;
        Ok(job)
    }
}

/// A job that cannot be, in the words of the command line.
pub(super) fn refuse(error: &InvalidJob) -> Failure {
    Failure::usage(anyhow!("--{error}"))
}

/// A set of CPUs, rising and without repetition.
#[derive(Clone, Debug)]
struct Cores(Vec<usize>);

fn cores(text: &str) -> Result<Cores, String> {
    parse::cores("core-mask", text)
        .map(Cores)
        .map_err(|error| allowed(&error))
}

fn milliseconds(text: &str) -> Result<u64, String> {
    parse::milliseconds("runtime", text)
        .map_err(|error| format!("{}, at most 366 days", allowed(&error)))
}

fn depth(text: &str) -> Result<u32, String> {
    number::whole(text, 1..=QUEUE_DEPTH_MAX)
}

/// Its bounds are the job's, which says them.
fn few(text: &str) -> Result<u32, String> {
    number::whole(text, 0..=u32::MAX)
}

fn count(text: &str) -> Result<u64, String> {
    number::whole(text, 1..=u64::MAX)
}

fn seed(text: &str) -> Result<u64, String> {
    number::whole(text, 0..=u64::MAX)
}

fn bytes(text: &str) -> Result<u64, String> {
    size::parse(text).map_err(|error| format!("{error}; allowed: {}", size::ALLOWED))
}

/// What would have been allowed; clap has named key and value by then.
fn allowed(error: &InvalidJob) -> String {
    format!("allowed: {}", error.allowed)
}

/// A parser of a few words, which clap lists in help and suggests after slips.
fn words<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = InvalidJob> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|word| word.parse::<T>())
}
