//! Whether two reports of the same work differ, figure by figure.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::{DirectionFigures, LatencyFigures, RepeatFigures, Report};
use crate::stats::{Ratio, ratio_interval};

/// The two reports are about different work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the runs did different work and cannot be compared: {}", list(.differences))]
pub struct DifferentWork {
    /// Every key that differs, with both values.
    pub differences: Vec<Difference>,
}

/// A key that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key, as on the command line where it has one.
    pub key: &'static str,
    /// Value in the older report.
    pub old: String,
    /// Value in the newer report.
    pub new: String,
}

fn list(differences: &[Difference]) -> String {
    let each = differences
        .iter()
        .map(|d| format!("{} is {} and {}", d.key, d.old, d.new));
    each.collect::<Vec<_>>().join(", ")
}

/// What may be said of one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The newer one is better, and chance is no good explanation.
    Faster(Ratio),
    /// The newer one is worse, and chance is no good explanation.
    Slower(Ratio),
    /// The interval of the ratio holds one.
    NoDifference(Ratio),
    /// There is no interval, for this reason.
    Undecided(String),
}

impl Verdict {
    /// The ratio of new to old, where there is one.
    #[must_use]
    pub const fn ratio(&self) -> Option<&Ratio> {
        match self {
            Self::Faster(ratio) | Self::Slower(ratio) | Self::NoDifference(ratio) => Some(ratio),
            Self::Undecided(_) => None,
        }
    }
}

/// One compared figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the figure.
    pub figure: String,
    /// What may be said of it.
    pub verdict: Verdict,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// The older report, in a few words.
    pub old: String,
    /// The newer report, in a few words.
    pub new: String,
    /// The figures that either report has, in a fixed order.
    pub entries: Vec<Entry>,
}

impl Diff {
    /// Whether any figure got worse: the exit status of a comparison.
    #[must_use]
    pub fn has_regression(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.verdict, Verdict::Slower(_)))
    }
}

/// Compares `new` with `old`.
///
/// # Errors
/// [`DifferentWork`] if the reports are not about the same work.
pub fn compare(old: &Report, new: &Report) -> Result<Diff, DifferentWork> {
    let differences = differences(old, new);
    if !differences.is_empty() {
        return Err(DifferentWork { differences });
    }
    let mut entries = Vec::new();
    for (name, higher_is_better, figure) in figures() {
        let values = |report: &Report| {
            report
                .repeats
                .iter()
                .filter_map(&figure)
                .collect::<Vec<f64>>()
        };
        let (old, new) = (values(old), values(new));
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let verdict = verdict(&old, &new, higher_is_better);
        entries.push(Entry {
            figure: name,
            verdict,
        });
    }
    Ok(Diff {
        old: describe(old),
        new: describe(new),
        entries,
    })
}

fn verdict(old: &[f64], new: &[f64], higher_is_better: bool) -> Verdict {
    match ratio_interval(old, new) {
        Err(reason) => Verdict::Undecided(reason),
        Ok(ratio) if ratio.may_be_one() => Verdict::NoDifference(ratio),
        Ok(ratio) if (ratio.ratio > 1.0) == higher_is_better => Verdict::Faster(ratio),
        Ok(ratio) => Verdict::Slower(ratio),
    }
}

fn describe(report: &Report) -> String {
    let median = report
        .summary(|repeat| Some(repeat.iops))
        .map_or(0.0, |iops| iops.median);
    format!(
        "{} version {} on {}, {} repeats, median {} IOPS",
        report.device.uri,
        report.version,
        report.machine.processor,
        report.repeats.len(),
        crate::text::rate(median)
    )
}

/// Everything that must be equal for two rates to be about the same work. Seeds, repeats, run times
/// and devices may differ: comparing those is the purpose.
fn differences(old: &Report, new: &Report) -> Vec<Difference> {
    let keys = |report: &Report| {
        let job = &report.job;
        let optional = |value: Option<u64>| value.map_or("none".to_owned(), |v| v.to_string());
        let mix = if job.rw.name() == "randrw" {
            job.rwmixread.to_string()
        } else {
            "-".to_owned()
        };
        [
            ("rw", job.rw.name().to_owned()),
            ("rwmixread", mix),
            ("bs", job.bs.to_string()),
            ("qd", job.qd.to_string()),
            ("size", report.working_set_bytes.to_string()),
            ("random", job.random.to_string()),
            ("precondition", job.preconditions().to_string()),
            ("devices", job.devices.to_string()),
            ("threads", job.threads.to_string()),
            ("rate", optional(job.rate)),
            ("timestamps", job.timestamps.name().to_owned()),
            ("verify", job.verify.to_string()),
            ("data moved", report.device.moves_data.to_string()),
        ]
    };
    keys(old)
        .into_iter()
        .zip(keys(new))
        .filter(|(old, new)| old != new)
        .map(|((key, old), (_, new))| Difference { key, old, new })
        .collect()
}

type Figure = Box<dyn Fn(&RepeatFigures) -> Option<f64>>;
type PickDirection = fn(&RepeatFigures) -> &DirectionFigures;
type PickLatency = fn(&LatencyFigures) -> Option<f64>;

/// The figures compared: name, whether more is better, and where it stands in a repeat.
fn figures() -> Vec<(String, bool, Figure)> {
    let mut figures: Vec<(String, bool, Figure)> = vec![(
        "IOPS".to_owned(),
        true,
        Box::new(|repeat| Some(repeat.iops)),
    )];
    let directions: [(&str, PickDirection); 2] = [
        ("read", |repeat| &repeat.read),
        ("write", |repeat| &repeat.write),
    ];
    let latencies: [(&str, PickLatency); 5] = [
        ("mean", |l| Some(l.mean_ns)),
        ("p50", |l| l.percentile(50.0).map(|ns| ns as f64)),
        ("p90", |l| l.percentile(90.0).map(|ns| ns as f64)),
        ("p99", |l| l.percentile(99.0).map(|ns| ns as f64)),
        ("p99.9", |l| l.percentile(99.9).map(|ns| ns as f64)),
    ];
    for (name, direction) in directions {
        let iops =
            move |repeat: &RepeatFigures| Some(direction(repeat).iops).filter(|&iops| iops > 0.0);
        figures.push((format!("{name} IOPS"), true, Box::new(iops)));
        for (label, latency) in latencies {
            let figure =
                move |repeat: &RepeatFigures| direction(repeat).latency.value().and_then(latency);
            figures.push((format!("{name} {label}"), false, Box::new(figure)));
        }
    }
    figures.push((
        "ticks per I/O".to_owned(),
        false,
        Box::new(|r| r.ticks_per_io.value().copied()),
    ));
    let cpu: Figure = Box::new(|r| r.cpu_seconds_per_io.value().copied());
    figures.push(("CPU s per I/O".to_owned(), false, cpu));
    figures
}
