//! A report as people read it: one block per run, or one line per run in a table.

use core::fmt::Write as _;

use crate::diff::{Diff, Verdict};
use crate::limits;
use crate::progress::Sample;
use crate::regime::Regime;
use crate::report::{DirectionFigures, Figure, LatencyFigures, RepeatFigures, Report};
use crate::runner::Event;
use crate::stats::Summary;
use crate::workload::Timestamps;

/// A count or rate with three or four significant digits and a decimal unit: `1.23 M`.
#[must_use]
pub fn rate(value: f64) -> String {
    for (unit, name) in [(1e9, " G"), (1e6, " M"), (1e3, " k")] {
        if value.abs() >= unit * 0.9995 {
            return format!("{}{name}", digits(value / unit));
        }
    }
    digits(value)
}

/// Nanoseconds with a fitting unit: `850 ns`, `12.3 us`.
#[must_use]
pub fn time(ns: f64) -> String {
    for (unit, name) in [(1e9, "s"), (1e6, "ms"), (1e3, "us")] {
        if ns >= unit * 0.9995 {
            return format!("{} {name}", digits(ns / unit));
        }
    }
    format!("{} ns", digits(ns))
}

/// Bytes with a binary unit: `1.50 GiB`, `256 KiB`.
#[must_use]
pub fn bytes(count: u64) -> String {
    for (shift, name) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if count >= 1 << shift {
            let value = count as f64 / (1_u64 << shift) as f64;
            let whole = count.is_multiple_of(1 << shift);
            return if whole {
                format!("{value:.0} {name}")
            } else {
                format!("{} {name}", digits(value))
            };
        }
    }
    format!("{count} B")
}

fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// The live line of a running job; the caller redraws it in place.
#[must_use]
pub fn live(event: &Event, repeats: u32) -> String {
    let (what, sample): (String, &Sample) = match event {
        Event::Preparing(sample) => ("writing the working set".to_owned(), sample),
        Event::Measuring(repeat, sample) => (format!("run {}/{repeats}", repeat + 1), sample),
        Event::ReadingBack(sample) => ("reading everything back".to_owned(), sample),
    };
    let p99 = sample.p99_ns.map_or("not measured".to_owned(), time);
    format!(
        "{what}: {:.1} s, {}IOPS, {:.0} MiB/s, p99 {p99}",
        sample.seconds,
        spaced(&rate(sample.iops())),
        sample.mib_per_second()
    )
}

/// A quantity with its unit's blank moved so that a noun can follow: `1.2 M` + `IOPS`.
fn spaced(quantity: &str) -> String {
    if quantity.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{quantity} ")
    } else {
        quantity.to_owned()
    }
}

/// The block for one run.
#[must_use]
pub fn block(report: &Report) -> String {
    let mut text = String::new();
    header(report, &mut text);
    figures(report, &mut text);
    surroundings(report, &mut text);
    for warning in &report.warnings {
        line(
            &mut text,
            "warning",
            &format!("{}; {}", warning.hides, warning.advice),
        );
    }
    text
}

// Writing to a String cannot fail, so results of `write!` are dropped throughout this file.
fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<16} {value}");
}

fn header(report: &Report, text: &mut String) {
    let (job, device, machine) = (&report.job, &report.device, &report.machine);
    let _ = writeln!(text, "bench {}", device.uri);
    let capacity = device.blocks * u64::from(device.block_bytes);
    line(
        text,
        "device",
        &format!(
            "{} in {}-byte blocks, {}",
            bytes(capacity),
            device.block_bytes,
            device.placement
        ),
    );
    let cores = match job.core_mask[..] {
        [] => "not pinned".to_owned(),
        ref cores => format!("pinned to {cores:?}"),
    };
    line(
        text,
        "machine",
        &format!(
            "{}, {} CPUs, {cores}, Linux {}, {} {:.0} MHz",
            machine.processor,
            machine.processors,
            machine.kernel,
            machine.clock.name(),
            machine.ticks_per_second / 1e6
        ),
    );
    let mix = match job.rw.name() {
        "randrw" => format!(" ({} % reads)", job.read_percent()),
        _ => String::new(),
    };
    let pace = job
        .rate
        .map_or(String::new(), |rate| format!(", open loop at {rate} IOPS"));
    line(
        text,
        "job",
        &format!(
            "{}{mix} {}, depth {} x {} queue pair(s), {} device(s), {} thread(s), {}, seed {}{pace}",
            job.rw.name(),
            bytes(job.bs.into()),
            job.qd,
            report.lanes,
            job.devices,
            job.threads,
            job.random,
            job.seed
        ),
    );
    line(
        text,
        "working set",
        &format!(
            "{}, buffers {}",
            bytes(report.working_set_bytes),
            bytes(report.buffer_bytes)
        ),
    );
    line(text, "timestamps", &timestamps(report));
}

fn timestamps(report: &Report) -> String {
    match report.job.timestamps {
        Timestamps::None => "none: latency not measured".to_owned(),
        Timestamps::Io => "io: one per submission and one per completion".to_owned(),
        Timestamps::Poll => match report.summary(|repeat| Some(repeat.poll_ns)) {
            Some(poll) => format!("poll: latency is known to about {}", time(poll.median)),
            None => "poll".to_owned(),
        },
    }
}

/// One row of the block: the median, and the spread where there is any.
fn row(text: &mut String, name: &str, summary: Option<Summary>, show: &dyn Fn(f64) -> String) {
    let value = match summary {
        None => return,
        Some(summary) if summary.count == 1 => show(summary.median),
        Some(summary) => format!(
            "{:<12} {} .. {} ({:.1} %)",
            show(summary.median),
            show(summary.least),
            show(summary.most),
            summary.relative_spread() * 100.0
        ),
    };
    line(text, name, &value);
}

/// A row for a figure that may be missing; if no repeat has it, its reason is printed.
fn figure_row(
    text: &mut String,
    report: &Report,
    name: &str,
    figure: impl Fn(&RepeatFigures) -> &Figure<f64>,
    show: &dyn Fn(f64) -> String,
) {
    match report.repeats.first().map(&figure) {
        Some(Figure::NotRun(reason)) => line(text, name, &format!("not run: {reason}")),
        _ => row(
            text,
            name,
            report.summary(|repeat| figure(repeat).value().copied()),
            show,
        ),
    }
}

fn figures(report: &Report, text: &mut String) {
    let count = report.repeats.len();
    line(
        text,
        "repeats",
        &format!("{count}; median, then least .. most (spread)"),
    );
    let plain = |value: f64| digits(value);
    row(text, "IOPS", report.summary(|r| Some(r.iops)), &rate);
    row(
        text,
        "MiB/s",
        report.summary(|r| Some(r.mib_per_second)),
        &plain,
    );
    direction(report, text, "read", |repeat| &repeat.read);
    direction(report, text, "write", |repeat| &repeat.write);
    figure_row(text, report, "ticks per I/O", |r| &r.ticks_per_io, &plain);
    figure_row(
        text,
        report,
        "doorbells/I/O",
        |r| &r.doorbells_per_io,
        &|v| format!("{v:.4}"),
    );
    let per_million =
        |seconds: f64| format!("{seconds:.3e} s ({} s per million)", digits(seconds * 1e6));
    match report.summary(|r| r.process_cpu_seconds_per_io.value().copied()) {
        Some(cpu) => line(
            text,
            "CPU per I/O",
            &format!(
                "{}, the whole process: {}",
                per_million(cpu.median),
                spinning(report)
            ),
        ),
        None => line(text, "CPU per I/O", "not run: no I/O completed"),
    }
    effective_depth(report, text);
    let moved = report
        .median_repeat()
        .map_or(0, |r| r.read.bytes + r.write.bytes);
    let moved = if report.device.moves_data {
        bytes(moved)
    } else {
        "no data moved".to_owned()
    };
    line(text, "moved", &format!("{moved} (per repeat)"));
}

/// The threads that never sleep during a run.
fn spinning(report: &Report) -> String {
    let driving = format!("{} driving thread(s)", report.job.threads);
    match report.device.controller_threads {
        0 => driving,
        count => format!("{driving}, {count} controller thread(s)"),
    }
}

fn direction(
    report: &Report,
    text: &mut String,
    name: &str,
    pick: impl Fn(&RepeatFigures) -> &DirectionFigures + Copy,
) {
    if report.repeats.iter().all(|repeat| pick(repeat).ios == 0) {
        return;
    }
    let both = report.job.rw.name() == "randrw";
    if both {
        row(
            text,
            &format!("{name} IOPS"),
            report.summary(|r| Some(pick(r).iops)),
            &rate,
        );
    }
    if let Some(Figure::NotRun(reason)) = report.repeats.first().map(|r| &pick(r).latency) {
        line(
            text,
            &format!("{name} latency"),
            &format!("not run: {reason}"),
        );
        return;
    }
    let of = |figure: &dyn Fn(&LatencyFigures) -> f64| {
        report.summary(|repeat| pick(repeat).latency.value().map(figure))
    };
    row(text, &format!("{name} mean"), of(&|l| l.mean_ns), &time);
    for (label, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)] {
        let figure = |l: &LatencyFigures| l.percentile(percent).map_or(f64::NAN, |ns| ns as f64);
        row(text, &format!("{name} {label}"), of(&figure), &time);
    }
    row(
        text,
        &format!("{name} max"),
        of(&|l| l.most_ns as f64),
        &time,
    );
}

fn effective_depth(report: &Report, text: &mut String) {
    let Some(repeat) = report.median_repeat() else {
        return;
    };
    let value = match &repeat.little {
        Figure::NotRun(reason) => format!("not run: {reason}"),
        Figure::Value(little) if report.job.rate.is_some() => {
            format!(
                "{} (open loop; at most {})",
                digits(little.effective),
                digits(little.wanted)
            )
        }
        Figure::Value(little) => format!(
            "{} of {}{}",
            digits(little.effective),
            digits(little.wanted),
            if little.is_off() {
                " FLAGGED: off by over 10 %"
            } else {
                ""
            }
        ),
    };
    line(text, "effective depth", &value);
}

fn surroundings(report: &Report, text: &mut String) {
    let median = report
        .summary(|repeat| Some(repeat.iops))
        .map_or(0.0, |rate| rate.median);
    let ceiling = match &report.ceiling {
        Figure::NotRun(reason) => format!("not run: {reason}"),
        Figure::Value(ceiling) => format!(
            "{} per second ({}); reached {:.0} %",
            rate(ceiling.per_second),
            ceiling.name,
            100.0 * median / ceiling.per_second
        ),
    };
    line(text, "ceiling", &ceiling);
    let ping_pong = match &report.ping_pong {
        Figure::NotRun(reason) => format!("not run: {reason}"),
        Figure::Value(pair) => format!(
            "{} before, {} after ({})",
            time(pair.before_ns),
            time(pair.after_ns),
            Regime::of(pair.after_ns).name()
        ),
    };
    line(text, "ping-pong", &ping_pong);
    let verified = match &report.verified {
        Figure::NotRun(reason) => format!("not run: {reason}"),
        Figure::Value(seen) if seen.ios_wrong == 0 => {
            format!(
                "{} reads, every byte as written; {} of unknown content",
                seen.ios_checked, seen.ios_unknown
            )
        }
        Figure::Value(seen) => format!(
            "WRONG DATA in {} of {} reads",
            seen.ios_wrong, seen.ios_checked
        ),
    };
    line(text, "verify", &verified);
    for mismatch in report
        .verified
        .value()
        .into_iter()
        .flat_map(|seen| &seen.mismatches)
    {
        line(text, "", &mismatch.to_string());
    }
}

/// One line per run, for comparing depths or sizes.
#[must_use]
pub fn table(reports: &[Report]) -> String {
    let mut text = format!(
        "{:<10} {:>8} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>7}\n",
        "rw",
        "bs",
        "qd",
        "IOPS",
        "MiB/s",
        "mean",
        "p50",
        "p99",
        "p99.9",
        "max",
        "ticks/IO",
        "eff. qd",
        "ceiling"
    );
    for report in reports {
        let _ = writeln!(text, "{}", table_line(report));
    }
    let hidden: std::collections::BTreeSet<String> = reports
        .iter()
        .flat_map(|report| &report.warnings)
        .map(|warning| format!("warning: {}; {}", warning.hides, warning.advice))
        .collect();
    for warning in hidden {
        let _ = writeln!(text, "{warning}");
    }
    text
}

fn table_line(report: &Report) -> String {
    let missing = || "-".to_owned();
    let latency = |figure: &dyn Fn(&LatencyFigures) -> f64| {
        let of = |repeat: &RepeatFigures| {
            repeat
                .read
                .latency
                .value()
                .or(repeat.write.latency.value())
                .map(figure)
        };
        report
            .summary(of)
            .map_or_else(missing, |summary| time(summary.median))
    };
    let percentile =
        |percent: f64| latency(&|l| l.percentile(percent).map_or(f64::NAN, |ns| ns as f64));
    let iops = report
        .summary(|r| Some(r.iops))
        .map_or(0.0, |summary| summary.median);
    let speed = report
        .summary(|r| Some(r.mib_per_second))
        .map_or(0.0, |summary| summary.median);
    let ticks = report.summary(|r| r.ticks_per_io.value().copied());
    let little = report.median_repeat().and_then(|r| r.little.value());
    let flag = |off: bool| {
        if off && report.job.rate.is_none() {
            "!"
        } else {
            ""
        }
    };
    format!(
        "{:<10} {:>8} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>7}",
        report.job.rw.name(),
        bytes(report.job.bs.into()),
        report.job.qd,
        rate(iops),
        if report.device.moves_data {
            format!("{speed:.0}")
        } else {
            "no data".to_owned()
        },
        latency(&|l| l.mean_ns),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
        latency(&|l| l.most_ns as f64),
        ticks.map_or_else(missing, |summary| digits(summary.median)),
        little.map_or_else(missing, |l| format!(
            "{}{}",
            digits(l.effective),
            flag(l.is_off())
        )),
        match &report.ceiling {
            Figure::Value(ceiling) => format!("{:.0} %", 100.0 * iops / ceiling.per_second),
            Figure::NotRun(_) => "not run".to_owned(),
        }
    )
}

/// A comparison: one line per figure.
#[must_use]
pub fn diff(diff: &Diff) -> String {
    let mut text = format!("A {}\nB {}\n", diff.old, diff.new);
    for entry in &diff.entries {
        let verdict = match &entry.verdict {
            Verdict::Faster(_) => "faster",
            Verdict::Slower(_) => "slower",
            Verdict::NoDifference(_) => "no difference",
            Verdict::Undecided(reason) => {
                let _ = writeln!(text, "  {:<16} undecided: {reason}", entry.figure);
                continue;
            }
        };
        if let Some(ratio) = entry.verdict.ratio() {
            let _ = writeln!(
                text,
                "  {:<16} {verdict:<14} B/A = {:.3} (between {:.3} and {:.3})",
                entry.figure, ratio.ratio, ratio.low, ratio.high
            );
        }
    }
    let _ = writeln!(
        text,
        "  each interval holds with {:.2} %, so that all of them together hold with {:.0} % (Bonferroni); none reaches \
         less than {:.0} % to either side, the resolution of the figures",
        diff.confidence_each * 100.0,
        limits::CONFIDENCE * 100.0,
        limits::RESOLUTION_SHARE * 100.0
    );
    text.push_str(
        "  intervals come from the repeats inside each file; a machine that drifts between two runs \
         shifts all of a run's repeats together\n",
    );
    text
}
