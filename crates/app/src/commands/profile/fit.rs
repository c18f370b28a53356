//! From measured points to a profile's text. `docs/profiles.md` says which value comes from what.

use core::fmt::Write as _;

use anyhow::anyhow;
use media::timing::limits;

use super::fio::{Point, Side};

/// A rate that grows by more than this share from the last depth but one to the last is not called saturated.
const STILL_GROWING: f64 = 0.1;

/// A direction's values.
struct Fitted {
    latency: String,
    mean_us: f64,
    iops_max: Option<f64>,
    bytes_per_second_max: Option<f64>,
}

/// One direction of one point.
struct Sample<'p> {
    point: &'p Point,
    side: &'p Side,
    /// Of the whole point, where the other direction was at work too.
    iops: f64,
    bytes_per_second: f64,
}

/// The text of a profile that fits the points.
///
/// # Errors
/// When there is nothing to fit.
pub(super) fn text(name: &str, points: &[Point]) -> Result<String, anyhow::Error> {
    let mut notes = Vec::new();
    let read = direction("read", points, |point| point.read.as_ref(), &mut notes);
    let write = direction("write", points, |point| point.write.as_ref(), &mut notes);
    if read.is_none() {
        notes.push("read: not measured, as write".to_owned());
    }
    if write.is_none() {
        notes.push("write: not measured, as read".to_owned());
    }
    let read_or_write = read.as_ref().or(write.as_ref());
    let write_or_read = write.as_ref().or(read.as_ref());
    let (Some(read), Some(write)) = (read_or_write, write_or_read) else {
        return Err(anyhow!("profile fit: the files hold no requests"));
    };
    notes.push("flush and deallocate: not measured, the mean of a write".to_owned());
    let mut text = String::new();
    let _ = writeln!(text, "# docs/profiles.md explains every key.\nversion = 1");
    let _ = writeln!(text, "name = {}", quoted(name));
    let _ = writeln!(text, "summary = \"fitted to fio's measurements\"");
    let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    let _ = writeln!(
        text,
        "source = {}",
        quoted(&format!("fio: {}", labels.join(", ")))
    );
    let _ = writeln!(text, "inferred = {}", quoted(&notes.join("; ")));
    let _ = writeln!(text, "units = {}", units(&[read, write]));
    table(&mut text, "read", read);
    table(&mut text, "write", write);
    for table in ["flush", "deallocate"] {
        let _ = writeln!(text, "\n[{table}]\nmean_us = {:.3}", write.mean_us);
    }
    for point in points.iter().take(limits::MEASURED_MAX) {
        if limits::IOPS.contains(&point.iops()) && limits::MEASURED_US.contains(&point.mean_us()) {
            measured(&mut text, point);
        }
    }
    Ok(text)
}

/// A text in quotes, short enough, on one line.
fn quoted(text: &str) -> String {
    let kept: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(4000)
        .collect();
    format!("\"{}\"", kept.replace('\\', "\\\\").replace('"', "\\\""))
}

fn table(text: &mut String, name: &str, fitted: &Fitted) {
    let _ = writeln!(text, "\n[{name}]\n{}", fitted.latency);
    if let Some(iops) = fitted.iops_max {
        let _ = writeln!(text, "iops_max = {iops:.0}");
    }
    if let Some(bytes) = fitted.bytes_per_second_max {
        let _ = writeln!(text, "bytes_per_second_max = {bytes:.0}");
    }
}

fn measured(text: &mut String, point: &Point) {
    let _ = writeln!(
        text,
        "\n[[measured]]\ndepth = {}\nblock_bytes = {}\nread_percent = {:.1}\niops = {:.1}\nmean_us = {:.3}",
        point.depth,
        point.block_bytes,
        point.read_percent(),
        point.iops(),
        point.mean_us()
    );
}

/// Twice what is at work at the highest rate, by Little's law, so that a request seldom waits for a unit while another is idle.
fn units(directions: &[&Fitted]) -> u64 {
    let at_work = directions.iter().map(|fitted| match fitted.iops_max {
        Some(iops) => 2.0 * iops * fitted.mean_us / 1e6,
        None => *limits::UNITS.end() as f64,
    });
    let most = at_work.fold(1.0, f64::max).ceil();
    (most as u64).clamp(*limits::UNITS.start(), *limits::UNITS.end())
}

fn direction(
    name: &str,
    points: &[Point],
    pick: impl Fn(&Point) -> Option<&Side>,
    notes: &mut Vec<String>,
) -> Option<Fitted> {
    let sample = |point| {
        let side = pick(point)?;
        let both = point.iops() / side.iops;
        Some(Sample {
            point,
            side,
            iops: point.iops(),
            bytes_per_second: side.bytes_per_second * both,
        })
    };
    let all: Vec<Sample<'_>> = points.iter().filter_map(sample).collect();
    let alone = |sample: &&Sample<'_>| sample.point.read.is_none() || sample.point.write.is_none();
    let mut samples: Vec<&Sample<'_>> = all.iter().filter(alone).collect();
    if samples.is_empty() {
        samples = all.iter().collect();
        if !samples.is_empty() {
            notes.push(format!(
                "{name}: measured only in mixture, the caps are those of both"
            ));
        }
    }
    let smallest = samples
        .iter()
        .map(|sample| sample.point.block_bytes)
        .min()?;
    let (mut small, large): (Vec<_>, Vec<_>) = samples
        .into_iter()
        .partition(|sample| sample.point.block_bytes == smallest);
    small.sort_by_key(|sample| sample.point.depth);
    let base = small.first()?;
    if base.point.depth > 1 {
        let depth = base.point.depth;
        notes.push(format!(
            "{name}: the lowest depth is {depth}, waiting is in its latency"
        ));
    }
    Some(Fitted {
        latency: latency(base.side),
        mean_us: base.side.mean_us,
        iops_max: ceiling(name, &small, notes),
        bytes_per_second_max: most(large.iter().map(|sample| sample.bytes_per_second))
            .map(|bytes| within(bytes, &limits::BYTES_PER_SECOND)),
    })
}

/// The highest rate at the smallest blocks, if more than one depth was tried. `small` rises in depth.
fn ceiling(name: &str, small: &[&Sample<'_>], notes: &mut Vec<String>) -> Option<f64> {
    let (first, last) = (small.first()?, small.last()?);
    if first.point.depth == last.point.depth {
        notes.push(format!("{name}: one depth only, so no ceiling is known"));
        return None;
    }
    let most = most(small.iter().map(|sample| sample.iops))?;
    let before = small
        .iter()
        .rev()
        .find(|sample| sample.point.depth < last.point.depth);
    if before.is_some_and(|before| last.iops > before.iops * (1.0 + STILL_GROWING)) {
        notes.push(format!(
            "{name}: the rate still grew at the greatest depth, the ceiling may be higher"
        ));
    }
    Some(within(most, &limits::IOPS))
}

fn most(figures: impl Iterator<Item = f64>) -> Option<f64> {
    figures.max_by(f64::total_cmp)
}

fn within(figure: f64, range: &core::ops::RangeInclusive<f64>) -> f64 {
    figure.clamp(*range.start(), *range.end())
}

/// The lines that say the latency: the percentiles, moved by the time of submission and stretched to the mean.
fn latency(side: &Side) -> String {
    let us = |us: f64| within(us, &limits::LATENCY_US);
    if side.percentiles.is_empty() {
        let ratio = side.deviation_us / side.mean_us.max(1e-9);
        let sigma = within((1.0 + ratio * ratio).ln().sqrt(), &limits::SIGMA);
        return format!("mean_us = {:.3}\nsigma = {sigma:.4}", us(side.mean_us));
    }
    let room = limits::QUANTILES.end() - 2;
    let mut points = vec![(0.0, side.least_us)];
    points.extend(side.percentiles.iter().take(room).copied());
    points.push((100.0, side.most_us));
    let mut least = 0.0_f64;
    for point in &mut points {
        least = least.max(point.1 + side.mean_us - side.completion_mean_us);
        point.1 = least;
    }
    points.dedup_by(|next, point| next.0 <= point.0);
    let stretch = side.mean_us / mean(&points).max(1e-9);
    let pairs: Vec<String> = points
        .iter()
        .map(|(percent, time)| format!("[{percent}, {:.3}]", us(time * stretch)))
        .collect();
    format!("quantiles_us = [{}]", pairs.join(", "))
}

/// The mean of a distribution that goes along straight lines between its points.
fn mean(points: &[(f64, f64)]) -> f64 {
    points
        .windows(2)
        .map(|ends| (ends[1].0 - ends[0].0) / 100.0 * (ends[0].1 + ends[1].1) / 2.0)
        .sum()
}
