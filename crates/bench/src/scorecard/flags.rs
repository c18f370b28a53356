//! What is wrong or odd about a row's figures: a figure that contradicts itself is never printed bare.

use super::model::{Counters, CpuUse, Row};
use crate::limits::{LITTLE_TOLERANCE, SPREAD_WARN};
use crate::text;

/// CPUs that others may use before it is said.
const ELSEWHERE_CPUS: f64 = 0.25;

/// Share of the CPUs that may be stolen before it is said.
const STOLEN_SHARE: f64 = 0.05;

/// Share of a row's bytes that the device must have seen: less, and something in between answered instead.
const SEEN_SHARE: f64 = 0.99;

/// Times the device model's rate above which something is wrong.
const CEILING_SHARE: f64 = 1.05;

/// I/Os below which a 99th percentile rests on fewer than ten of them.
const FEW_IOS: u64 = 1000;

/// What each kind of flag means. A flag is the kind, a colon, and what was found.
pub(super) const MEANINGS: [(&str, &str); 9] = [
    (
        "depth",
        "IOPS × mean latency is off the depth by more than 10 %: the generator spends time between two I/Os of a slot, which no \
         latency shows; an engine that answers at once has no depth at all",
    ),
    (
        "spread",
        "the repeats differ by more than 10 % of the median",
    ),
    (
        "elsewhere",
        "the kernel's own threads (loop, XFS) and other programs used more than a quarter of a CPU; that time is not in CPU s/M",
    ),
    (
        "stolen",
        "the machine below this virtual one took more than 5 % of the CPUs away",
    ),
    (
        "cache",
        "the device saw fewer bytes than the generator moved: something in between answered the rest",
    ),
    (
        "unwritten",
        "reads touched blocks that were never written, which a drive answers without reading",
    ),
    ("errors", "the device refused commands"),
    (
        "ceiling",
        "faster by more than 5 % than the profile allows, which nothing can be: the device model or a clock is wrong",
    ),
    (
        "few",
        "fewer than 1000 I/Os, so that the p99 rests on a handful; --runtime gives more",
    ),
];

/// The flags of a row with figures, which rest on so many I/Os; `ceiling` is what the device model allows.
pub(super) fn of(row: &Row, ios: u64, cpus: usize, ceiling: Option<f64>) -> Vec<String> {
    let mut flags = Vec::new();
    depth(row, &mut flags);
    if let Some(spread) = row.spread.filter(|&spread| spread > SPREAD_WARN) {
        flags.push(format!("spread: {:.0} %", spread * 100.0));
    }
    counters(row, &mut flags);
    if let Some(cpu) = &row.cpu {
        flags.extend(disturbance(cpu, cpus));
    }
    if let (Some(iops), Some(ceiling)) = (row.iops, ceiling)
        && iops > CEILING_SHARE * ceiling
    {
        flags.push(format!(
            "ceiling: {:.2} times the profile's {ceiling:.0} IOPS",
            iops / ceiling
        ));
    }
    if ios < FEW_IOS {
        flags.push(format!("few: {ios} I/Os"));
    }
    flags
}

/// CPUs that others had from a load, if they are so many that its figures say little of its path.
pub(super) fn disturbance(cpu: &CpuUse, cpus: usize) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(others) = cpu.elsewhere.filter(|&others| others > ELSEWHERE_CPUS) {
        found.push(format!("elsewhere: {others:.2} of {cpus} CPUs"));
    }
    if let Some(stolen) = cpu
        .stolen
        .filter(|&stolen| stolen > STOLEN_SHARE * cpus as f64)
    {
        found.push(format!("stolen: {stolen:.2} of {cpus} CPUs"));
    }
    found
}

/// All flags of one kind.
pub(super) struct OfKind<'a> {
    pub(super) kind: &'static str,
    pub(super) meaning: &'static str,
    /// For each row and depth, what was found.
    pub(super) found: Vec<(&'a Row, &'a str)>,
}

/// The flags of all rows by kind.
pub(super) fn by_kind(rows: &[Row]) -> Vec<OfKind<'_>> {
    let of_kind = |kind: &str| {
        let all = rows
            .iter()
            .flat_map(|row| row.flags.iter().map(move |flag| (row, flag)));
        let own = all.filter_map(|(row, flag)| {
            let (found, detail) = flag.split_once(": ")?;
            (found == kind).then_some((row, detail))
        });
        own.collect()
    };
    let all = MEANINGS.into_iter().map(|(kind, meaning)| OfKind {
        kind,
        meaning,
        found: of_kind(kind),
    });
    all.filter(|of_kind| !of_kind.found.is_empty()).collect()
}

/// Little's law: arrivals per second times the time inside is the number inside.
fn depth(row: &Row, flags: &mut Vec<String>) {
    let (Some(effective), Some(iops), Some(mean)) = (row.effective_qd, row.iops, row.mean_us)
    else {
        return;
    };
    let wanted = f64::from(row.qd);
    let off = effective / wanted - 1.0;
    if off.abs() <= LITTLE_TOLERANCE {
        return;
    }
    flags.push(if off > 0.0 {
        format!("depth: {effective:.2} of {wanted:.0}, more than were allowed: rate and latency do not belong together")
    } else {
        let between = wanted * 1e6 / iops - mean;
        format!("depth: {effective:.2} of {wanted:.0} in flight, {between:.2} us between I/Os of a slot")
    });
}

fn counters(row: &Row, flags: &mut Vec<String>) {
    let Some(pair) = &row.counters else {
        return;
    };
    let seen = pair.grew(|c: &Counters| c.read_bytes) + pair.grew(|c| c.written_bytes);
    if (seen as f64) < SEEN_SHARE * row.bytes as f64 {
        flags.push(format!(
            "cache: the device saw {} of {}",
            text::bytes(seen),
            text::bytes(row.bytes)
        ));
    }
    let unwritten = pair.grew(|c| c.unwritten_reads);
    if unwritten > 0 {
        flags.push(format!("unwritten: {unwritten} reads"));
    }
    let refused = pair.grew(|c| c.refused);
    if refused > 0 {
        flags.push(format!("errors: {refused} commands"));
    }
}
