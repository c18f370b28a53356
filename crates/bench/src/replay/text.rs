//! A replay's report as people read it, and its live line.

use core::fmt::Write as _;

use super::layout::Outside;
use super::report::{ReplayReport, Times};
use super::run::{Pace, Sample};
use super::{Kind, PerKind};
use crate::report::Figure;
use crate::text::{bytes, rate, time};

/// Files of the trace that are listed; of more only the number is.
const FILES_SHOWN: usize = 16;

/// The live line of a running replay of `total` I/Os; the caller redraws it in place.
#[must_use]
pub fn live(sample: &Sample, total: u64) -> String {
    let lag = match sample.lag_p99_ns {
        Some(ns) => format!(", p99 {} late", time(ns)),
        None => String::new(),
    };
    format!(
        "replaying: {:.1} s, {} of {total} I/Os, {}/s, {:.0} MiB/s{lag}",
        sample.seconds,
        sample.ios,
        rate(sample.iops),
        sample.mib_per_second
    )
}

// Writing to a String cannot fail, so results of `write!` are dropped throughout this file.
fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<16} {value}");
}

fn figure<T>(figure: &Figure<T>, show: impl FnOnce(&T) -> String) -> String {
    match figure {
        Figure::Value(value) => show(value),
        Figure::NotRun(reason) => format!("not run: {reason}"),
    }
}

fn times(times: &Times) -> String {
    let at = |ns: u64| time(ns as f64);
    format!(
        "mean {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}",
        time(times.mean_ns),
        at(times.p50_ns),
        at(times.p90_ns),
        at(times.p99_ns),
        at(times.p99_9_ns),
        at(times.most_ns)
    )
}

/// Counts of the kinds that there are: `12 reads, 3 flushes`.
fn counts(ios: &PerKind<u64>) -> String {
    let mut parts = Vec::new();
    for kind in Kind::ALL {
        let plural = match kind {
            Kind::Flush => "es",
            _ => "s",
        };
        match *ios.of(kind) {
            0 => {}
            1 => parts.push(format!("1 {}", kind.name())),
            count => parts.push(format!("{count} {}{plural}", kind.name())),
        }
    }
    if parts.is_empty() {
        "no I/O".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The block for one replay.
#[must_use]
pub fn block(report: &ReplayReport) -> String {
    let mut text = String::new();
    header(report, &mut text);
    figures(report, &mut text);
    changes(report, &mut text);
    for warning in &report.warnings {
        let value = format!("{}; {}", warning.hides, warning.advice);
        line(&mut text, "warning", &value);
    }
    text
}

fn header(report: &ReplayReport, text: &mut String) {
    let (trace, device, machine) = (&report.trace, &report.device, &report.machine);
    let _ = writeln!(text, "replay {} on {}", trace.path, device.uri);
    let events = trace
        .events
        .map_or(String::new(), |stage| format!(", {} events", stage.name()));
    let sources = match trace.sources {
        1 => String::new(),
        count => format!(" in {count} files"),
    };
    let span = match trace.timed {
        0 => "no times".to_owned(),
        _ => format!("{} as recorded", time(trace.span_seconds * 1e9)),
    };
    let format = trace.format.name();
    line(
        text,
        "trace",
        &format!("{format}{sources}{events}: {}, {span}", counts(&trace.ios)),
    );
    files(report, text);
    let capacity = bytes(device.blocks * u64::from(device.block_bytes));
    line(
        text,
        "device",
        &format!(
            "{capacity} in {}-byte blocks, {}",
            device.block_bytes, device.placement
        ),
    );
    line(
        text,
        "machine",
        &format!(
            "{}, {} CPUs, Linux {}, {} {:.0} MHz",
            machine.processor,
            machine.processors,
            machine.kernel,
            machine.clock.name(),
            machine.ticks_per_second / 1e6
        ),
    );
    let pace = match report.plan.pace {
        Pace::Recorded { speed: 1.0 } => "at recorded times".to_owned(),
        Pace::Recorded { speed } => format!("at recorded times, {speed} times as fast"),
        Pace::Fast => "as fast as possible".to_owned(),
    };
    let outside = match report.outside {
        Outside::Refuse => "",
        Outside::Wrap => ", offsets wrapped into the device",
        Outside::Clip => ", what is beyond the device left out",
    };
    line(
        text,
        "pace",
        &format!(
            "{pace}, at most {} commands in flight{outside}",
            report.plan.qd
        ),
    );
}

/// Where the trace's files lie.
fn files(report: &ReplayReport, text: &mut String) {
    let trace = &report.trace;
    for file in trace.files.iter().take(FILES_SHOWN) {
        let value = format!(
            "{}: {} I/Os, bytes {} to {} of the device",
            file.name,
            file.ios,
            file.offset,
            file.offset.saturating_add(file.bytes)
        );
        line(text, "file", &value);
    }
    if trace.files.len() > FILES_SHOWN {
        let more = trace.files.len() - FILES_SHOWN;
        line(text, "file", &format!("and {more} more, one after another"));
    }
}

fn figures(report: &ReplayReport, text: &mut String) {
    let ended = report.kinds.map(|_, kind| kind.ios);
    let end = if report.complete {
        ""
    } else {
        "; the trace goes on, --runtime ended it"
    };
    let took = time(report.seconds * 1e9);
    line(
        text,
        "replayed",
        &format!("{} in {took}{end}", counts(&ended)),
    );
    line(text, "IOPS", &rate(report.iops));
    line(text, "MiB/s", &format!("{:.1}", report.mib_per_second));
    let from = match report.plan.pace {
        Pace::Recorded { .. } => "recorded time",
        Pace::Fast => "sending",
    };
    for kind in Kind::ALL {
        let found = report.kinds.of(kind);
        if found.ios > 0 {
            line(text, kind.name(), &figure(&found.latency, times));
        }
    }
    line(
        text,
        "",
        &format!(
            "(latency from {from}, known to about {})",
            time(report.poll_ns)
        ),
    );
    line(text, "sent late by", &figure(&report.lag, times));
    costs(report, text);
}

/// What the load took.
fn costs(report: &ReplayReport, text: &mut String) {
    line(
        text,
        "effective depth",
        &format!("{:.2} (at most {})", report.effective_depth, report.plan.qd),
    );
    let cpu = figure(&report.process_cpu_seconds_per_io, |seconds| {
        format!(
            "{seconds:.3e} s, the whole process, reading the trace included; the driving thread slept {:.0} % of the time",
            report.asleep_share * 100.0
        )
    });
    line(text, "CPU per I/O", &cpu);
    let each = |value: &f64| format!("{value:.3}");
    line(text, "commands sent", &report.commands.sum().to_string());
    line(
        text,
        "doorbells/I/O",
        &figure(&report.doorbells_per_io, each),
    );
    let moved = if report.device.moves_data {
        let (read, written) = (report.kinds.read.bytes, report.kinds.write.bytes);
        format!("{} read, {} written", bytes(read), bytes(written))
    } else {
        "no data moved".to_owned()
    };
    line(text, "moved", &moved);
    let counted = figure(&report.device_counts, |device| {
        format!(
            "{} commands: {} reads, {} writes, {} flushes; {} refused",
            device.commands, device.reads, device.writes, device.flushes, device.refused
        )
    });
    line(text, "device counted", &counted);
    line(
        text,
        "errors",
        &match &report.first_failure {
            None => "none".to_owned(),
            Some(first) => format!("{} I/Os failed, the first: {first}", report.failures),
        },
    );
}

fn changes(report: &ReplayReport, text: &mut String) {
    let changes = &report.changes;
    let mut parts = Vec::new();
    for (count, what) in [
        (
            changes.aligned,
            "not whole blocks (reads and writes grew, discards shrank)",
        ),
        (changes.wrapped, "moved into the device"),
        (changes.clipped, "shortened to the device"),
        (changes.dropped, "of which nothing was left"),
        (changes.held_back, "held back for one in flight"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let value = if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    };
    line(text, "I/Os changed", &value);
    let skipped = &report.trace.skipped;
    let value = format!(
        "{} other records, {} passthrough commands, {} I/Os of no bytes",
        skipped.others, skipped.passthrough, skipped.empty
    );
    line(text, "passed over", &value);
}
