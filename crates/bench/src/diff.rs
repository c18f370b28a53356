//! Whether two reports of the same work differ, figure by figure.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits;
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
    /// How sure each single interval is, so that all together are [`limits::CONFIDENCE`] sure.
    pub confidence_each: f64,
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
    let pairs: Vec<Pair> = figures()
        .into_iter()
        .map(|figure| Pair::of(figure, old, new))
        .filter(|pair| !pair.old.is_empty() || !pair.new.is_empty())
        .collect();
    let decidable = |pair: &&Pair| pair.interval(limits::CONFIDENCE).is_ok();
    let judged = pairs.iter().filter(decidable).count().max(1);
    // Bonferroni: with a dozen figures at 95 % each, equal runs would differ in something every other time.
    let confidence_each = 1.0 - (1.0 - limits::CONFIDENCE) / judged as f64;
    let entry = |pair: &Pair| Entry {
        figure: pair.name.clone(),
        verdict: pair.verdict(confidence_each),
    };
    Ok(Diff {
        old: describe(old),
        new: describe(new),
        entries: pairs.iter().map(entry).collect(),
        confidence_each,
    })
}

/// The values of one figure in both reports.
struct Pair {
    name: String,
    higher_is_better: bool,
    old: Vec<f64>,
    new: Vec<f64>,
    /// Share of the figure below which it cannot be told apart.
    resolution: f64,
}

impl Pair {
    fn of((name, kind, figure): (String, Kind, Figure), old: &Report, new: &Report) -> Self {
        let values =
            |report: &Report| -> Vec<f64> { report.repeats.iter().filter_map(&figure).collect() };
        let (old_values, new_values) = (values(old), values(new));
        let tick_ns = |report: &Report| 1e9 / report.machine.ticks_per_second;
        // Reports keep whole nanoseconds, so a finer tick resolves no more.
        let step_ns = tick_ns(old).max(tick_ns(new)).max(1.0);
        let all = old_values.iter().chain(&new_values);
        let least = all.copied().fold(f64::INFINITY, f64::min);
        let resolution = match kind {
            Kind::Latency => limits::RESOLUTION_SHARE.max(step_ns / least),
            Kind::Rate | Kind::Cost => limits::RESOLUTION_SHARE,
        };
        Self {
            name,
            higher_is_better: kind == Kind::Rate,
            old: old_values,
            new: new_values,
            resolution,
        }
    }

    fn interval(&self, confidence: f64) -> Result<Ratio, String> {
        ratio_interval(&self.old, &self.new, confidence, self.resolution)
    }

    fn verdict(&self, confidence: f64) -> Verdict {
        match self.interval(confidence) {
            Err(reason) => Verdict::Undecided(reason),
            Ok(ratio) if ratio.may_be_one() => Verdict::NoDifference(ratio),
            Ok(ratio) if (ratio.ratio > 1.0) == self.higher_is_better => Verdict::Faster(ratio),
            Ok(ratio) => Verdict::Slower(ratio),
        }
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
            job.read_percent().to_string()
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

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// More is better.
    Rate,
    /// Nanoseconds between two time stamps; less is better.
    Latency,
    /// Less is better.
    Cost,
}

type Figure = Box<dyn Fn(&RepeatFigures) -> Option<f64>>;
type PickDirection = fn(&RepeatFigures) -> &DirectionFigures;
type PickLatency = fn(&LatencyFigures) -> Option<f64>;

/// The figures compared: name, kind, and where it stands in a repeat.
fn figures() -> Vec<(String, Kind, Figure)> {
    let all: Figure = Box::new(|repeat| Some(repeat.iops));
    let mut figures = vec![("IOPS".to_owned(), Kind::Rate, all)];
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
        // One direction alone is the rate of both, and is not judged twice.
        let iops = move |repeat: &RepeatFigures| {
            let mixed = repeat.read.ios > 0 && repeat.write.ios > 0;
            mixed.then(|| direction(repeat).iops)
        };
        figures.push((format!("{name} IOPS"), Kind::Rate, Box::new(iops)));
        for (label, latency) in latencies {
            let figure =
                move |repeat: &RepeatFigures| direction(repeat).latency.value().and_then(latency);
            figures.push((format!("{name} {label}"), Kind::Latency, Box::new(figure)));
        }
    }
    let ticks: Figure = Box::new(|r| r.ticks_per_io.value().copied());
    figures.push(("ticks per I/O".to_owned(), Kind::Cost, ticks));
    let cpu: Figure = Box::new(|r| r.process_cpu_seconds_per_io.value().copied());
    figures.push(("CPU s per I/O".to_owned(), Kind::Cost, cpu));
    figures
}
