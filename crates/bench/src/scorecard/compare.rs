//! Rows held against each other, where neither is a part of the other.

use super::model::{Comparison, Layer, Row, RowId, Scorecard};
use crate::limits::{CONFIDENCE, RESOLUTION_SHARE};
use crate::stats::ratio_interval;

/// Pairs that a reader would want to compare: base, other.
const PAIRS: [(RowId, RowId); 3] = [
    (RowId::Kernel, RowId::Fuse),
    (RowId::Fuse, RowId::Driver),
    (RowId::Kernel, RowId::Driver),
];

/// Two rates are called the same if neither can be less than this share of the other.
const SAME: f64 = 0.9;

/// How the verdict begins where rows are not compared at all.
const APART: &str = "not compared";

/// What may be said of the rows' rates against each other.
#[must_use]
pub fn comparisons(rows: &[Row], qds: &[u32]) -> Vec<Comparison> {
    let find = |id, qd| {
        rows.iter()
            .find(|row| row.id == id && row.qd == qd && row.iops.is_some())
    };
    let mut all = Vec::new();
    for (base, other) in PAIRS {
        for &qd in qds {
            if let (Some(base), Some(other)) = (find(base, qd), find(other, qd)) {
                all.push(compare(base, other));
            }
        }
    }
    all
}

fn compare(base: &Row, other: &Row) -> Comparison {
    let without = |verdict: String| Comparison {
        base: base.id,
        other: other.id,
        qd: base.qd,
        iops_ratio: None,
        interval: None,
        verdict,
    };
    if let Some(part) = base.contains.first() {
        return without(format!(
            "{APART}: the {} row contains the {} row, so that a ratio would say nothing of the kernel",
            base.id.name(),
            part.name()
        ));
    }
    let rates = |row: &Row| -> Vec<f64> { row.repeats.iter().map(|repeat| repeat.iops).collect() };
    let ratio = match (base.iops, other.iops) {
        (Some(base), Some(other)) if base > 0.0 => other / base,
        _ => return without(format!("{APART}: a row has no figures")),
    };
    let found = ratio_interval(&rates(base), &rates(other), CONFIDENCE, RESOLUTION_SHARE);
    let bounds = found.as_ref().map_or(String::new(), |found| {
        format!(" ({} .. {})", factor(found.low), factor(found.high))
    });
    // What forbids a ratio forbids it with an interval and without.
    if held_by_the_device(base) && held_by_the_device(other) {
        return without(format!(
            "the device is the limit of both{bounds}, which says nothing of the paths"
        ));
    }
    if disturbed(base) || disturbed(other) {
        return without(format!(
            "not decided{bounds}: other programs used the CPUs meanwhile, see elsewhere"
        ));
    }
    match found {
        Err(reason) => Comparison {
            iops_ratio: Some(ratio),
            ..without(format!("{ratio:.2} times the IOPS; no interval: {reason}"))
        },
        Ok(found) => {
            let verdict = if !found.may_be_one() {
                format!("{} times the IOPS{bounds}", factor(found.ratio))
            } else if found.low.min(1.0 / found.high) >= SAME {
                format!("no difference{bounds}")
            } else {
                format!(
                    "not decided{bounds}: the repeats differ too much; take more or longer ones"
                )
            };
            Comparison {
                iops_ratio: Some(found.ratio),
                interval: Some([found.low, found.high]),
                ..without(verdict)
            }
        }
    }
}

/// Whether two rows are not compared whatever they measured, so that the reason is the same at every depth.
pub(super) fn is_apart(comparison: &Comparison) -> bool {
    comparison.verdict.starts_with(APART)
}

/// A ratio; beyond a hundred to one, digits mean nothing.
fn factor(ratio: f64) -> String {
    match ratio {
        r if r > 100.0 => "over 100".into(),
        r if r < 0.01 => "under 0.01".into(),
        r => format!("{r:.2}"),
    }
}

/// Whether a row shows the device and not its path.
fn held_by_the_device(row: &Row) -> bool {
    let limit = row.limit.as_ref();
    limit.is_some_and(|limit| limit.layer == Layer::DeviceModel)
}

/// Whether others used the CPUs that a row would have used.
fn disturbed(row: &Row) -> bool {
    let kinds = ["elsewhere: ", "stolen: "];
    row.flags
        .iter()
        .any(|flag| kinds.iter().any(|kind| flag.starts_with(kind)))
}

impl Scorecard {
    /// Compares the rows anew.
    pub fn compare(&mut self) {
        self.comparisons = comparisons(&self.rows, &self.header.load.qds);
    }
}
