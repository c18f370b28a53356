//! What a replay's figures may hide, and what to do about it.

use super::limits;
use super::report::ReplayReport;
use super::run::Pace;
use crate::clock::ClockSource;
use crate::limits::SHORT_RUN_SECONDS;
use crate::report::Warning;

/// Everything that a replay's figures may hide.
pub(super) fn of(report: &ReplayReport) -> Vec<Warning> {
    let mut list = Vec::new();
    let mut warn = |holds: bool, hides: String, advice: &str| {
        if holds {
            let advice = advice.to_owned();
            list.push(Warning { hides, advice });
        }
    };
    pace_warnings(report, &mut warn);
    load_warnings(report, &mut warn);
    run_warnings(report, &mut warn);
    list
}

type Warn<'a> = dyn FnMut(bool, String, &str) + 'a;

/// Warnings about when I/Os were sent.
fn pace_warnings(report: &ReplayReport, warn: &mut Warn<'_>) {
    let recorded = matches!(report.plan.pace, Pace::Recorded { .. });
    if let (Some(lag), Some(last)) = (report.lag.value(), report.last_lag_ns.value()) {
        warn(
            lag.p99_ns > limits::LAG_WARN_NS,
            format!(
                "the replay did not keep up: one I/O in a hundred was sent more than {} late, the last one {}",
                crate::text::time(lag.p99_ns as f64),
                crate::text::time(*last)
            ),
            "latencies include this wait in front of the device; use a faster device, a higher --qd, a lower --speed, or --fast",
        );
    }
    warn(
        recorded && report.trace.timed < report.trace.ios.sum(),
        format!(
            "{} of {} I/Os have no recorded time and were sent as soon as there was room; their latency counts from sending",
            report.trace.ios.sum() - report.trace.timed,
            report.trace.ios.sum()
        ),
        "record with fio 3.31 or later, which writes times, or say --fast",
    );
    let reader = match recorded {
        true => "some of the lag",
        false => "the rate",
    };
    warn(
        report.starved > 0,
        format!(
            "the trace was read too slowly {} times: {reader} is that of reading it",
            report.starved
        ),
        "put the trace on a faster disk, read it once before so that it is cached, or record in binary",
    );
    let changes = &report.changes;
    warn(
        changes.overtaking > 0,
        format!(
            "{} flushes went out at their time while earlier writes were in flight, and do not cover those",
            changes.overtaking
        ),
        "the device is slower than the recorded one, or the trace did so too; --fast waits for the writes",
    );
}

/// Warnings about how what was sent differs from what was recorded.
fn load_warnings(report: &ReplayReport, warn: &mut Warn<'_>) {
    let changes = &report.changes;
    warn(
        changes.wrapped + changes.clipped + changes.dropped > 0,
        format!(
            "{} I/Os were moved, {} shortened and {} dropped: this is not the recorded load",
            changes.wrapped, changes.clipped, changes.dropped
        ),
        "use a device as large as the recorded one",
    );
    warn(
        report.trace.skipped.passthrough > 0,
        format!(
            "{} commands that programs sent to the drive themselves cannot be replayed",
            report.trace.skipped.passthrough
        ),
        "the load was heavier than what was replayed",
    );
    warn(
        report.trace.out_of_order > 0,
        format!(
            "{} I/Os have a time before that of one in front of them and were sent with that one",
            report.trace.out_of_order
        ),
        "blkparse -d writes a set of block traces in order; times of an iolog should rise",
    );
}

/// Warnings about how the replay went.
fn run_warnings(report: &ReplayReport, warn: &mut Warn<'_>) {
    warn(
        !report.device.moves_data,
        "no data moved: the media completes commands without touching their buffers".to_owned(),
        "replay to a ram: device before calling this a storage speed",
    );
    if let Some(found) = report.device_counts.value() {
        let sent = &report.commands;
        let equal = (found.commands, found.reads, found.writes, found.flushes)
            == (sent.sum(), sent.read, sent.write, sent.flush);
        warn(
            !equal && report.failures == 0,
            format!(
                "the device counted {} commands, {} reads, {} writes and {} flushes; {}, {}, {} and {} were sent",
                found.commands,
                found.reads,
                found.writes,
                found.flushes,
                sent.sum(),
                sent.read,
                sent.write,
                sent.flush
            ),
            "somebody else uses the device, or commands were lost",
        );
    }
    warn(
        report.seconds < SHORT_RUN_SECONDS,
        "the replay lasted less than a tenth of a second".to_owned(),
        "replay a longer trace before trusting its rates",
    );
    warn(
        report.machine.clock == ClockSource::Monotonic,
        "ticks are nanoseconds of the kernel's clock; reading it costs 20 to 60 ns".to_owned(),
        "do not trust times below a microsecond",
    );
    warn(
        report.failures > 0,
        format!(
            "{} I/Os failed, the first: {}",
            report.failures,
            report.first_failure.as_deref().unwrap_or("unknown")
        ),
        "a failed I/O is quick; do not trust the rate",
    );
}
