//! What is claimed after a replay.

use serde::{Deserialize, Serialize};

use super::engine::Counted;
use super::layout::{FilePlace, Layout, Outside};
use super::run::{KindOutcome, Outcome, Pace, Plan};
use super::survey::Survey;
use super::trace::{Format, Skipped, Stage};
use super::{PerKind, warnings};
use crate::clock::Clock;
use crate::latency::Latency;
use crate::report::{DeviceFacts, Figure, MachineFacts, Warning};

/// Version of the report's JSON form.
pub const SCHEMA: u32 = 1;

/// A set of times in a few figures, all in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The smallest.
    pub least_ns: u64,
    /// Half are at most this.
    pub p50_ns: u64,
    /// 90 % are at most this.
    pub p90_ns: u64,
    /// 99 % are at most this.
    pub p99_ns: u64,
    /// 99.9 % are at most this.
    #[serde(rename = "p99.9_ns")]
    pub p99_9_ns: u64,
    /// The largest.
    pub most_ns: u64,
}

impl Times {
    /// Sums counters up; `None` if they counted nothing.
    #[must_use]
    pub fn of(latency: &Latency, clock: &Clock) -> Option<Self> {
        let (least, most) = latency.extremes()?;
        let ns = |ticks: u64| (ticks as f64 * clock.nanoseconds_per_tick()).round() as u64;
        let (least_ns, most_ns) = (ns(least), ns(most));
        let histogram = latency.histogram(clock);
        let at = |percent: f64| {
            histogram
                .value_at_percentile(percent)
                .clamp(least_ns, most_ns)
        };
        let count = latency.count();
        Some(Self {
            count,
            mean_ns: latency.sum() as f64 / count as f64 * clock.nanoseconds_per_tick(),
            least_ns,
            p50_ns: at(50.0),
            p90_ns: at(90.0),
            p99_ns: at(99.0),
            p99_9_ns: at(99.9),
            most_ns,
        })
    }
}

/// The trace that was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Its path as given.
    pub path: String,
    /// Files that it was read from.
    pub sources: usize,
    /// What it is.
    pub format: Format,
    /// Which events of a block trace were taken; absent for other formats.
    pub events: Option<Stage>,
    /// I/Os, up to the limit asked for.
    pub ios: PerKind<u64>,
    /// Their bytes.
    pub bytes: PerKind<u64>,
    /// I/Os with a recorded time.
    pub timed: u64,
    /// Seconds from the first I/O to the last as recorded.
    pub span_seconds: f64,
    /// Where each file of the trace lies on the device.
    pub files: Vec<FilePlace>,
    /// What was passed over.
    pub skipped: Skipped,
    /// I/Os whose time lies before that of one in front of them.
    pub out_of_order: u64,
}

/// What the controller counted during the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// I/O commands taken from submission queues.
    pub commands: u64,
    /// Reads that reached the media.
    pub reads: u64,
    /// Writes that reached the media.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Commands answered with anything but success.
    pub refused: u64,
}

/// One kind of I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindFigures {
    /// I/Os that ended.
    pub ios: u64,
    /// Bytes moved, or given up by discards, in whole blocks, of those that succeeded.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Latencies: from the recorded time, or from sending where there is none.
    pub latency: Figure<Times>,
}

/// What was changed on the way from the trace to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// I/Os that were not whole blocks.
    pub aligned: u64,
    /// I/Os moved into the device (--wrap).
    pub wrapped: u64,
    /// I/Os shortened to the device.
    pub clipped: u64,
    /// I/Os of which nothing was left.
    pub dropped: u64,
    /// I/Os that waited for one in flight: one that they overlap, or for a flush the writes in front of it.
    pub held_back: u64,
    /// Flushes sent while earlier writes were in flight.
    pub overtaking: u64,
}

/// Everything known about one replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Seconds since 1970 when the replay ended.
    pub timestamp: u64,
    /// The trace.
    pub trace: TraceFacts,
    /// The device.
    pub device: DeviceFacts,
    /// The machine.
    pub machine: MachineFacts,
    /// How it was replayed.
    pub plan: Plan,
    /// What was to happen to I/Os beyond the device.
    pub outside: Outside,
    /// Seconds from the first I/O's time to the last completion.
    pub seconds: f64,
    /// Whether the end of the trace was reached, or the count that was asked for.
    pub complete: bool,
    /// I/Os per second of all kinds.
    pub iops: f64,
    /// MiB read and written per second.
    pub mib_per_second: f64,
    /// Each kind.
    pub kinds: PerKind<KindFigures>,
    /// How late I/Os with a recorded time were sent.
    pub lag: Figure<Times>,
    /// How late the last one was sent, in nanoseconds.
    pub last_lag_ns: Figure<f64>,
    /// I/Os in flight on average.
    pub effective_depth: f64,
    /// NVMe commands sent: an I/O longer than one command takes several.
    pub commands: PerKind<u64>,
    /// Doorbells for each I/O.
    pub doorbells_per_io: Figure<f64>,
    /// CPU seconds of the whole process for each I/O.
    pub process_cpu_seconds_per_io: Figure<f64>,
    /// Share of the time that the driving thread was on a CPU.
    pub cpu_share: f64,
    /// Share of the time that it slept because nothing was due.
    pub asleep_share: f64,
    /// Nanoseconds between two polls while awake: the resolution of all times.
    pub poll_ns: f64,
    /// Times that the trace was not read fast enough.
    pub starved: u64,
    /// What was changed.
    pub changes: Changes,
    /// I/Os that failed.
    pub failures: u64,
    /// The first of them: where it stands in the trace, and its status.
    pub first_failure: Option<String>,
    /// The controller's own counts.
    pub device_counts: Figure<DeviceCounts>,
    /// What to keep in mind.
    pub warnings: Vec<Warning>,
}

/// What surrounds a replay and is only known to the caller.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// Version of the program.
    pub version: String,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// The trace's path as given.
    pub path: String,
    /// Which events of a block trace were taken.
    pub events: Stage,
    /// What was to happen to I/Os beyond the device.
    pub outside: Outside,
    /// The device.
    pub device: DeviceFacts,
    /// The processor's name.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The controller's own counts.
    pub device_counts: Figure<DeviceCounts>,
}

impl ReplayReport {
    /// Sums a replay up.
    #[must_use]
    pub fn new(
        around: Circumstances,
        survey: &Survey,
        layout: &Layout,
        plan: &Plan,
        outcome: &Outcome,
        clock: &Clock,
    ) -> Self {
        let ios = outcome.kinds.map(|_, kind| kind.ios).sum();
        let per_io = |amount: f64| match ios {
            0 => Figure::NotRun("no I/O completed".to_owned()),
            ios => Figure::Value(amount / ios as f64),
        };
        let seconds = outcome.seconds.max(1e-9);
        let moved = outcome.kinds.read.bytes + outcome.kinds.write.bytes;
        let counted = &outcome.counted;
        let awake = (outcome.seconds - outcome.asleep_seconds).max(0.0);
        let no_lag = || match plan.pace {
            Pace::Fast => "--fast keeps no times".to_owned(),
            Pace::Recorded { .. } => "the trace records no times for these I/Os".to_owned(),
        };
        let lag = Times::of(&outcome.lag, clock);
        let machine = MachineFacts {
            processor: around.processor,
            processors: around.processors,
            kernel: around.kernel,
            clock: clock.source(),
            ticks_per_second: clock.ticks_per_second(),
        };
        let mut report = Self {
            schema: SCHEMA,
            version: around.version,
            timestamp: around.timestamp,
            trace: trace_facts(around.path, around.events, survey, layout),
            device: around.device,
            machine,
            plan: plan.clone(),
            outside: around.outside,
            seconds: outcome.seconds,
            complete: !outcome.cut,
            iops: ios as f64 / seconds,
            mib_per_second: moved as f64 / f64::from(1 << 20) / seconds,
            kinds: outcome
                .kinds
                .map(|_, kind| kind_figures(kind, seconds, clock)),
            last_lag_ns: match lag {
                Some(_) => Figure::Value(clock.seconds(counted.last_lag) * 1e9),
                None => Figure::NotRun(no_lag()),
            },
            lag: lag.map_or_else(|| Figure::NotRun(no_lag()), Figure::Value),
            effective_depth: outcome.depth,
            commands: counted.commands,
            doorbells_per_io: per_io(outcome.doorbells as f64),
            process_cpu_seconds_per_io: per_io(outcome.process_cpu_seconds),
            cpu_share: outcome.cpu_seconds / seconds,
            asleep_share: outcome.asleep_seconds / seconds,
            poll_ns: awake * 1e9 / outcome.polls.max(1) as f64,
            starved: outcome.starved,
            changes: changes(counted),
            failures: counted.failures,
            first_failure: counted.first_failure.map(|(place, status)| {
                let place = super::trace::describe(&survey.sources, survey.format, place);
                format!("{place}: {status}")
            }),
            device_counts: around.device_counts,
            warnings: Vec::new(),
        };
        report.warnings = warnings::of(&report);
        report
    }

    /// Whether no I/O failed.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.failures == 0
    }

    /// The report as JSON, readable by [`parse`].
    #[must_use]
    pub fn render(&self) -> String {
        // Only maps with keys that are no strings could fail, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Reads a report from its JSON form.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(text: &str) -> Result<ReplayReport, String> {
    let report: ReplayReport = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match report.schema {
        SCHEMA => Ok(report),
        other => Err(format!("schema {other}; allowed: {SCHEMA}")),
    }
}

fn kind_figures(kind: &KindOutcome, seconds: f64, clock: &Clock) -> KindFigures {
    KindFigures {
        ios: kind.ios,
        bytes: kind.bytes,
        iops: kind.ios as f64 / seconds,
        latency: match Times::of(&kind.latency, clock) {
            Some(times) => Figure::Value(times),
            None => Figure::NotRun("no I/O of this kind".to_owned()),
        },
    }
}

const fn changes(counted: &Counted) -> Changes {
    Changes {
        aligned: counted.aligned,
        wrapped: counted.wrapped,
        clipped: counted.clipped,
        dropped: counted.dropped,
        held_back: counted.held_back,
        overtaking: counted.overtaking,
    }
}

fn trace_facts(path: String, events: Stage, survey: &Survey, layout: &Layout) -> TraceFacts {
    TraceFacts {
        path,
        sources: survey.sources.len(),
        format: survey.format,
        events: matches!(survey.format, Format::Blktrace | Format::Blkparse).then_some(events),
        ios: survey.ios,
        bytes: survey.bytes,
        timed: survey.timed,
        span_seconds: survey.span_ns as f64 / 1e9,
        files: layout.places().to_vec(),
        skipped: survey.skipped,
        out_of_order: survey.out_of_order,
    }
}
