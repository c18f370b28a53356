//! What is claimed after a run: every figure with what it depends on and what it may hide.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, ClockSource};
use crate::lane::{Verified, buffer_bytes};
use crate::latency::Latency;
use crate::regime::PingPong;
use crate::runner::{FellBehind, JobRun, Outcome};
use crate::stats::{Little, Summary};
use crate::workload::{Job, Plan, Timestamps};

/// Version of the report's JSON form; a reader refuses others.
pub const SCHEMA: u32 = 1;

/// A figure, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure<T> {
    /// It was measured.
    Value(T),
    /// It was not; printed as "not run: reason".
    NotRun(String),
}

impl<T> Figure<T> {
    /// The value, if there is one.
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotRun(_) => None,
        }
    }

    fn not_run(reason: &str) -> Self {
        Self::NotRun(reason.to_owned())
    }
}

/// The device under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The device's URI as given.
    pub uri: String,
    /// How it is reached and driven, in a few words ("in this thread", "controller on core 1").
    pub placement: String,
    /// Threads on which controllers poll; zero where they run in the driving threads.
    #[serde(default)]
    pub controller_threads: u32,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks of each device.
    pub blocks: u64,
    /// Whether commands move data; null media does not.
    pub moves_data: bool,
}

/// The machine that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The processor's name.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The kernel's release.
    pub kernel: String,
    /// Where ticks come from.
    pub clock: ClockSource,
    /// Ticks per second.
    pub ticks_per_second: f64,
}

/// The best that anything could have done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// What was measured ("memcpy over the same working set").
    pub name: String,
    /// Its operations per second.
    pub per_second: f64,
}

/// One percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// 0 to 100.
    pub percent: f64,
    /// Nanoseconds.
    pub ns: u64,
}

/// The percentiles kept, fio's list.
pub const PERCENTS: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// Upper ends, in nanoseconds, of the classes in which fio's files count latencies; what is above
/// the last one is a class of its own.
pub const CLASS_ENDS_NS: [u64; 31] = class_ends();

const fn class_ends() -> [u64; 31] {
    const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let mut ends = [2_000_000_000; 31];
    let mut index = 0;
    while index < 30 {
        let unit = [1, 1000, 1_000_000][index / 10];
        ends[index] = STEPS[index % 10] * unit;
        index += 1;
    }
    ends
}

/// Latencies of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Latencies measured.
    pub count: u64,
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation in nanoseconds.
    pub deviation_ns: f64,
    /// Smallest in nanoseconds.
    pub least_ns: u64,
    /// Largest in nanoseconds.
    pub most_ns: u64,
    /// Percentiles at [`PERCENTS`].
    pub percentiles: Vec<Percentile>,
    /// Number of latencies per class of [`CLASS_ENDS_NS`], and above.
    pub classes: Vec<u64>,
}

impl LatencyFigures {
    fn of(latency: &Latency, clock: &Clock) -> Option<Self> {
        let (least, most) = latency.extremes()?;
        let histogram = latency.histogram(clock);
        let ns = |ticks: u64| (ticks as f64 * clock.nanoseconds_per_tick()).round() as u64;
        let (least_ns, most_ns) = (ns(least), ns(most));
        let count = latency.count();
        let percentile = |&percent: &f64| Percentile {
            percent,
            ns: histogram
                .value_at_percentile(percent)
                .clamp(least_ns, most_ns),
        };
        Some(Self {
            count,
            mean_ns: latency.sum() as f64 / count as f64 * clock.nanoseconds_per_tick(),
            deviation_ns: histogram.stdev(),
            least_ns,
            most_ns,
            percentiles: PERCENTS.iter().map(percentile).collect(),
            classes: classes(&histogram),
        })
    }

    /// A percentile of [`PERCENTS`] in nanoseconds; `None` for others.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles
            .iter()
            .find(|p| p.percent == percent)
            .map(|p| p.ns)
    }
}

fn classes(histogram: &Histogram<u64>) -> Vec<u64> {
    let mut counts = vec![0; CLASS_ENDS_NS.len() + 1];
    for value in histogram.iter_recorded() {
        let class = CLASS_ENDS_NS.partition_point(|&end| end < value.value_iterated_to());
        counts[class] += value.count_at_value();
    }
    counts
}

/// One direction of one repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionFigures {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// MiB per second.
    pub mib_per_second: f64,
    /// Latencies.
    pub latency: Figure<LatencyFigures>,
}

/// In files of versions that counted the submitting threads alone.
fn not_counted() -> Figure<f64> {
    Figure::not_run("the version that measured did not count it")
}

/// One repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatFigures {
    /// Seconds from the first submission to the last completion.
    pub seconds: f64,
    /// I/Os per second in both directions.
    pub iops: f64,
    /// MiB per second in both directions.
    pub mib_per_second: f64,
    /// Reads.
    pub read: DirectionFigures,
    /// Writes.
    pub write: DirectionFigures,
    /// Clock ticks that the threads spent per I/O, waiting included.
    pub ticks_per_io: Figure<f64>,
    /// Doorbells per I/O.
    pub doorbells_per_io: Figure<f64>,
    /// CPU seconds of the whole process per I/O while it was measured: of the submitting threads, and
    /// of controllers on threads of their own.
    #[serde(default = "not_counted")]
    pub process_cpu_seconds_per_io: Figure<f64>,
    /// CPU seconds of the submitting threads.
    pub cpu_seconds: f64,
    /// Share of a thread's time that it was on a CPU, 0 to 1.
    pub cpu_share: f64,
    /// Share of the CPU time in the kernel; absent where too short to be accounted.
    pub system_share: Option<f64>,
    /// Little's law.
    pub little: Figure<Little>,
    /// Nanoseconds between two polls of one queue pair on average: the resolution of
    /// `--timestamps poll`.
    pub poll_ns: f64,
    /// Share of polls that found nothing.
    pub empty_poll_share: f64,
    /// Commands that failed.
    pub failures: u64,
    /// Status of the first failure.
    pub first_failure: Option<String>,
    /// Set when the open loop stopped offering.
    pub fell_behind: Option<FellBehind>,
}

/// What a number may hide, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What the number may hide.
    pub hides: String,
    /// What to do.
    pub advice: String,
}

/// Everything known about one job's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Seconds since 1970 when the run ended.
    pub timestamp: u64,
    /// The device.
    pub device: DeviceFacts,
    /// The machine.
    pub machine: MachineFacts,
    /// The job as asked for.
    pub job: Job,
    /// Queue pairs driven.
    pub lanes: u32,
    /// Bytes of all devices' working sets.
    pub working_set_bytes: u64,
    /// Bytes of all data buffers.
    pub buffer_bytes: u64,
    /// The repeats.
    pub repeats: Vec<RepeatFigures>,
    /// Verification over all repeats and the read-back.
    pub verified: Figure<Verified>,
    /// The ceiling.
    pub ceiling: Figure<Ceiling>,
    /// The ping-pong around the run.
    pub ping_pong: Figure<PingPong>,
    /// What to keep in mind.
    pub warnings: Vec<Warning>,
}

/// What surrounds a run and is only known to the caller.
#[derive(Debug, Clone)]
pub struct Circumstances {
    /// Version of the program.
    pub version: String,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// The device.
    pub device: DeviceFacts,
    /// The processor's name.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The ceiling.
    pub ceiling: Figure<Ceiling>,
    /// The ping-pong around the run.
    pub ping_pong: Figure<PingPong>,
}

impl Report {
    /// The report of a run.
    #[must_use]
    pub fn new(around: Circumstances, job: &Job, plan: &Plan, run: &JobRun, clock: &Clock) -> Self {
        let lanes = job.lane_count();
        let mut report = Self {
            schema: SCHEMA,
            version: around.version,
            timestamp: around.timestamp,
            device: around.device,
            machine: MachineFacts {
                processor: around.processor,
                processors: around.processors,
                kernel: around.kernel,
                clock: clock.source(),
                ticks_per_second: clock.ticks_per_second(),
            },
            job: job.clone(),
            lanes,
            working_set_bytes: plan.working_set_bytes() * u64::from(job.devices),
            buffer_bytes: buffer_bytes(job) as u64 * u64::from(lanes),
            repeats: run
                .outcomes
                .iter()
                .map(|outcome| repeat(outcome, job, clock))
                .collect(),
            verified: verified(job, run),
            ceiling: around.ceiling,
            ping_pong: around.ping_pong,
            warnings: Vec::new(),
        };
        report.warnings = crate::warnings::of(&report);
        report
    }

    /// A figure of every repeat that has it, summed up.
    #[must_use]
    pub fn summary(&self, figure: impl Fn(&RepeatFigures) -> Option<f64>) -> Option<Summary> {
        let values: Vec<f64> = self.repeats.iter().filter_map(figure).collect();
        Summary::of(&values)
    }

    /// The repeat with the median rate (the lower of two middle ones).
    #[must_use]
    pub fn median_repeat(&self) -> Option<&RepeatFigures> {
        let mut sorted: Vec<&RepeatFigures> = self.repeats.iter().collect();
        sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }

    /// Whether the run is good: nothing failed and no byte was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.repeats.iter().all(|repeat| repeat.failures == 0)
            && self
                .verified
                .value()
                .is_none_or(|verified| verified.ios_wrong == 0)
    }
}

fn verified(job: &Job, run: &JobRun) -> Figure<Verified> {
    if !job.verify {
        return Figure::not_run("--verify was not given");
    }
    let mut all = Verified::default();
    let outcomes = run.outcomes.iter().map(|outcome| &outcome.verified);
    outcomes
        .chain(&run.read_back)
        .for_each(|verified| all.add(verified));
    Figure::Value(all)
}

fn repeat(outcome: &Outcome, job: &Job, clock: &Clock) -> RepeatFigures {
    let ios = outcome.read.ios + outcome.write.ios;
    let per_io = |amount: f64| match ios {
        0 => Figure::not_run("no I/O completed"),
        ios => Figure::Value(amount / ios as f64),
    };
    let rate = |count: u64| count as f64 / outcome.seconds.max(1e-9);
    let mib = |iops: f64| iops * f64::from(job.bs) / f64::from(1 << 20);
    let direction = |ios: u64, latency: &Latency| DirectionFigures {
        ios,
        bytes: ios * u64::from(job.bs),
        iops: rate(ios),
        mib_per_second: mib(rate(ios)),
        latency: match LatencyFigures::of(latency, clock) {
            Some(figures) => Figure::Value(figures),
            None if job.timestamps == Timestamps::None => Figure::not_run("--timestamps none"),
            None => Figure::not_run("no I/O in this direction"),
        },
    };
    let thread_seconds = clock.seconds(outcome.thread_ticks);
    let polls = outcome.polls.max(1) as f64;
    // Polls of one queue pair alternate with those of the thread's others.
    let lanes_per_thread = f64::from(job.lane_count()) / f64::from(job.threads);
    RepeatFigures {
        seconds: outcome.seconds,
        iops: rate(ios),
        mib_per_second: mib(rate(ios)),
        read: direction(outcome.read.ios, &outcome.read.latency),
        write: direction(outcome.write.ios, &outcome.write.latency),
        ticks_per_io: per_io(outcome.thread_ticks as f64),
        doorbells_per_io: per_io(outcome.doorbells as f64),
        process_cpu_seconds_per_io: per_io(outcome.process_cpu_seconds),
        cpu_seconds: outcome.cpu_seconds,
        cpu_share: outcome.cpu_seconds / thread_seconds.max(1e-9),
        system_share: outcome.system_share,
        little: little(outcome, job, clock),
        poll_ns: thread_seconds * 1e9 / polls * lanes_per_thread,
        empty_poll_share: outcome.empty_polls as f64 / polls,
        failures: outcome.failures.count,
        first_failure: outcome.failures.first.map(|status| status.to_string()),
        fell_behind: outcome.fell_behind,
    }
}

fn little(outcome: &Outcome, job: &Job, clock: &Clock) -> Figure<Little> {
    let count = outcome.read.latency.count() + outcome.write.latency.count();
    if job.timestamps == Timestamps::None {
        return Figure::not_run("--timestamps none measures no latency");
    }
    if count == 0 {
        return Figure::not_run("no I/O completed");
    }
    let sum = outcome.read.latency.sum() + outcome.write.latency.sum();
    let mean_seconds = clock.seconds(sum) / count as f64;
    let wanted = f64::from(job.qd) * f64::from(job.lane_count());
    Figure::Value(Little::new(
        count as f64 / outcome.seconds.max(1e-9),
        mean_seconds,
        wanted,
    ))
}
