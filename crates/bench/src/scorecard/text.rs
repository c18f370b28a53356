//! A scorecard as a terminal shows it.

use core::fmt::Write as _;

use super::compare::is_apart;
use super::flags::{OfKind, by_kind};
use super::limit::RULES;
use super::model::{Counters, ModelPoint, Row, Scorecard};
use crate::text::bytes;

/// The whole scorecard, at most 100 columns wide but for paths and reasons.
#[must_use]
pub fn render(card: &Scorecard) -> String {
    let mut text = String::new();
    header(card, &mut text);
    for &qd in &card.header.load.qds {
        table(card, qd, &mut text);
    }
    flags(card, &mut text);
    counters(card, &mut text);
    ending(card, &mut text);
    text
}

// Writing to a String cannot fail, so results of `write!` are dropped throughout this file.
fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<11} {value}");
}

fn header(card: &Scorecard, text: &mut String) {
    let header = &card.header;
    let (machine, load) = (&header.machine, &header.load);
    let _ = writeln!(text, "scorecard  dataplane-emu {}", header.version);
    line(text, "command", &header.command);
    line(
        text,
        "device",
        &format!("{}: {}", header.honesty, header.device),
    );
    line(text, "device time", &model(card));
    line(
        text,
        "machine",
        &format!(
            "{}, {} CPUs, Linux {}",
            machine.processor, machine.cpus, machine.kernel
        ),
    );
    line(text, "placement", &header.placement);
    line(
        text,
        "load",
        &format!(
            "{} random, {} % reads, {} % writes, over {} that are all written before",
            bytes(load.bs.into()),
            load.rwmixread,
            100 - load.rwmixread.min(100),
            bytes(load.size)
        ),
    );
    line(
        text,
        "repeats",
        &format!(
            "{} of {} s for each cell; shown is the one with the median rate",
            load.repeats, load.runtime_s
        ),
    );
    if let Some(check) = &header.file_check {
        line(text, "file", check);
    }
    for tried in &header.kernel_paths {
        let outcome = match &tried.not_run {
            Some(reason) => format!("not run: {reason}"),
            None => "used for the kernel row".into(),
        };
        line(text, "kernel path", &format!("{}: {outcome}", tried.path));
    }
}

/// What the device model allows, in a sentence.
pub(super) fn model(card: &Scorecard) -> String {
    let model = &card.header.model;
    let point = |point: &ModelPoint| {
        format!(
            "QD {} {} us {} IOPS",
            point.qd,
            us(point.mean_us),
            grouped(point.iops)
        )
    };
    let points: Vec<String> = model.points.iter().map(point).collect();
    match points.is_empty() {
        true => model.profile.clone(),
        false => format!("{}, which allows: {}", model.profile, points.join("; ")),
    }
}

fn table(card: &Scorecard, qd: u32, text: &mut String) {
    let _ = writeln!(
        text,
        "\n{:<31} {:>10} {:>10} {:>10} {:>7} {:>8} {:>6}  limit",
        format!("QD {qd}"),
        "IOPS",
        "mean us",
        "p99 us",
        "eff QD",
        "CPU s/M",
        "spread"
    );
    for row in card.at(qd) {
        let name = format!("{} {}", row.id.stage(), row.label);
        if let Some(reason) = &row.not_run {
            let _ = writeln!(text, "{name:<31} not run: {reason}");
            continue;
        }
        let _ = writeln!(
            text,
            "{name:<31} {:>10} {:>10} {:>10} {:>7} {:>8} {:>6}  {}{}",
            row.iops.map_or("-".into(), grouped),
            row.mean_us.map_or("-".into(), us),
            row.p99_us.map_or("-".into(), us),
            row.effective_qd.map_or("-".into(), us),
            row.cpu_s_per_million.map_or("-".into(), us),
            spread(row),
            row.limit.as_ref().map_or("-", |limit| limit.layer.name()),
            if row.flags.is_empty() { "" } else { " *" }
        );
    }
    let of_depth = card.comparisons.iter().filter(|all| all.qd == qd);
    for comparison in of_depth.filter(|comparison| !is_apart(comparison)) {
        let _ = writeln!(
            text,
            "  {} against {}: {}",
            comparison.other.name(),
            comparison.base.name(),
            comparison.verdict
        );
    }
}

/// What the stars stand for, each kind once.
fn flags(card: &Scorecard, text: &mut String) {
    let all = by_kind(&card.rows);
    if !all.is_empty() {
        let _ = writeln!(text, "\n* to keep in mind");
    }
    for OfKind {
        kind,
        meaning,
        found,
    } in all
    {
        let _ = writeln!(text, "  {kind}: {meaning}");
        for row in firsts(&found) {
            let own = found.iter().filter(|(other, _)| other.label == row.label);
            let own: Vec<String> = own
                .map(|(row, detail)| format!("QD {} {detail}", row.qd))
                .collect();
            let _ = writeln!(
                text,
                "    {} {}: {}",
                row.id.stage(),
                row.label,
                own.join("; ")
            );
        }
    }
    for verdict in kept_apart(card) {
        let _ = writeln!(text, "  {verdict}");
    }
}

/// The first row of each label.
fn firsts<'a>(found: &[(&'a Row, &str)]) -> Vec<&'a Row> {
    let mut firsts: Vec<&Row> = Vec::new();
    for (row, _) in found {
        if !firsts.iter().any(|other| other.label == row.label) {
            firsts.push(row);
        }
    }
    firsts
}

/// Why some rows are not compared, each reason once.
pub(super) fn kept_apart(card: &Scorecard) -> Vec<&str> {
    let mut said: Vec<&str> = Vec::new();
    for comparison in card.comparisons.iter().filter(|all| is_apart(all)) {
        if !said.contains(&&*comparison.verdict) {
            said.push(&comparison.verdict);
        }
    }
    said
}

fn counters(card: &Scorecard, text: &mut String) {
    let _ = writeln!(
        text,
        "\n{:<31} {:>10} {:>11} {:>11} {:>11} {:>8} {:>9}",
        "device counted", "moved", "commands", "reads", "writes", "flushes", "unwritten"
    );
    for row in card.rows.iter().filter(|row| row.not_run.is_none()) {
        let Some(pair) = &row.counters else {
            continue;
        };
        let name = format!("{} {}, QD {}", row.id.stage(), row.id.name(), row.qd);
        let moved = bytes(row.bytes);
        let grew = |counter: fn(&Counters) -> u64| grouped(pair.grew(counter) as f64);
        let _ = writeln!(
            text,
            "{name:<31} {moved:>10} {:>11} {:>11} {:>11} {:>8} {:>9}",
            grew(|c| c.commands),
            grew(|c| c.reads),
            grew(|c| c.writes),
            grew(|c| c.flushes),
            grew(|c| c.unwritten_reads)
        );
    }
}

fn ending(card: &Scorecard, text: &mut String) {
    let _ = writeln!(
        text,
        "  harness rows move no data\n\nlimit, by the first rule that holds:"
    );
    for rule in RULES {
        let _ = writeln!(text, "  {rule}");
    }
    let mut counted: Vec<&Row> = Vec::new();
    for row in card.rows.iter().filter(|row| row.not_run.is_none()) {
        if !counted.iter().any(|other| other.label == row.label) {
            counted.push(row);
        }
    }
    if !counted.is_empty() {
        let _ = writeln!(text, "CPU s/M, CPU seconds per million I/Os, of:");
    }
    for row in counted {
        let (stage, label) = (row.id.stage(), &row.label);
        let _ = writeln!(text, "  {stage} {label}: {}", row.cpu_counted);
    }
}

fn spread(row: &Row) -> String {
    row.spread
        .map_or("-".into(), |share| format!("{:.0} %", share * 100.0))
}

/// A whole number with its thousands apart: `44,994`.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", &digits[..]),
    };
    let mut text = String::from(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A small quantity with as many decimals as mean something.
pub(super) fn us(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => grouped(value),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (value, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (1000.0, "1,000"),
            (44_994.0, "44,994"),
            (1_234_567.8, "1,234,568"),
            (-1234.0, "-1,234"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }
}
