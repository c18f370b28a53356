//! Bars: a figure, what is wanted of it, and the verdict. `cargo xtask bench` prints tables of them.

use core::fmt::Write as _;
use core::time::Duration;

use serde::Serialize;

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// One sample's length.
    pub window: Duration,
    /// Samples of each figure.
    pub repeats: usize,
    /// Times that one sample may be repeated because the machine changed under it.
    pub retries: usize,
    /// Commands of one instruction count; the other has twice as many.
    pub counted: u64,
}

impl Effort {
    /// Enough for a figure to quote.
    pub const FULL: Self = Self {
        window: Duration::from_millis(100),
        repeats: 15,
        retries: 4,
        counted: 20_000,
    };
    /// Enough to see that everything still runs.
    pub const QUICK: Self = Self {
        window: Duration::from_millis(10),
        repeats: 3,
        retries: 1,
        counted: 4_000,
    };
}

/// Which way a bar is to be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// The figure must not be lower.
    AtLeast,
    /// The figure must not be higher.
    AtMost,
}

/// What a bar came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "reason")]
pub enum Verdict {
    /// The figure passes.
    Met,
    /// It does not.
    Short,
    /// The machine did not hold still long enough to say.
    Undecided(String),
    /// Nothing was measured.
    NotRun(String),
}

/// Repeated measurements of one figure.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Samples {
    /// The figures that bars compare, one for each repeat.
    pub values: Vec<f64>,
    /// Repeats thrown away because the regime changed.
    pub discarded: usize,
    /// What the figure was made of: the medians, in words.
    pub detail: String,
}

impl Samples {
    /// The median; `None` without samples.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(sorted[middle]),
            _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        }
    }

    /// The lowest and the highest.
    pub fn range(&self) -> (f64, f64) {
        self.values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
                (low.min(value), high.max(value))
            })
    }
}

/// One bar: what was measured, what is wanted, and the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// What is measured.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The bar.
    pub wanted: f64,
    /// Which way.
    pub sense: Sense,
    /// Whether CI fails when it is short: instruction counts and promises, never times of a noisy machine.
    pub gates: bool,
    /// The measurements.
    pub samples: Samples,
    /// The verdict.
    pub verdict: Verdict,
}

impl Bar {
    /// Judges samples; an error is "not run".
    pub(crate) fn judge(
        name: impl Into<String>,
        unit: &'static str,
        (sense, wanted): (Sense, f64),
        gates: bool,
        samples: Result<Samples, String>,
    ) -> Self {
        let (samples, verdict) = match samples {
            Err(reason) => (Samples::default(), Verdict::NotRun(reason)),
            Ok(samples) => {
                let verdict = match samples.median() {
                    None => Verdict::Undecided(format!(
                        "the two CPUs were disturbed, or changed their distance, under all {} samples",
                        samples.discarded
                    )),
                    Some(median) if sense == Sense::AtLeast && median >= wanted => Verdict::Met,
                    Some(median) if sense == Sense::AtMost && median <= wanted => Verdict::Met,
                    Some(_) => Verdict::Short,
                };
                (samples, verdict)
            }
        };
        Self {
            name: name.into(),
            unit,
            wanted,
            sense,
            gates,
            samples,
            verdict,
        }
    }
}

/// The table, and the line `bars: N of M met`.
pub fn table(bars: &[Bar]) -> String {
    let mut text = format!(
        "{:<58} {:>10} {:>12} {:>19} {:>3} {:<9} {}\n",
        "bar", "wanted", "median", "lowest..highest", "n", "verdict", "made of"
    );
    for bar in bars {
        let sign = if bar.sense == Sense::AtLeast {
            ">="
        } else {
            "<="
        };
        let wanted = format!("{sign} {}", figure(bar.wanted));
        let (low, high) = bar.samples.range();
        let (median, range) = match bar.samples.median() {
            Some(median) => (
                format!("{} {}", figure(median), bar.unit),
                format!("{}..{}", figure(low), figure(high)),
            ),
            None => ("-".into(), "-".into()),
        };
        let (verdict, reason) = match &bar.verdict {
            Verdict::Met => ("met", ""),
            Verdict::Short => ("SHORT", ""),
            Verdict::Undecided(reason) => ("undecided", reason.as_str()),
            Verdict::NotRun(reason) => ("not run", reason.as_str()),
        };
        let count = bar.samples.values.len();
        let _ = writeln!(
            text,
            "{:<58} {wanted:>10} {median:>12} {range:>19} {count:>3} {verdict:<9} {}{reason}",
            bar.name, bar.samples.detail
        );
    }
    let met = bars
        .iter()
        .filter(|bar| bar.verdict == Verdict::Met)
        .count();
    let _ = writeln!(text, "bars: {met} of {} met", bars.len());
    text
}

fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(sense: Sense, values: &[f64]) -> Verdict {
        let samples = Samples {
            values: values.to_vec(),
            ..Samples::default()
        };
        Bar::judge("x", "", (sense, 2.0), false, Ok(samples)).verdict
    }

    #[test]
    fn the_median_is_judged_in_the_stated_sense() {
        assert_eq!(bar(Sense::AtLeast, &[1.0, 2.0, 9.0]), Verdict::Met);
        assert_eq!(bar(Sense::AtLeast, &[1.0, 1.9, 9.0]), Verdict::Short);
        assert_eq!(bar(Sense::AtMost, &[1.0, 2.1, 9.0]), Verdict::Short);
        assert_eq!(bar(Sense::AtMost, &[1.0, 2.0, 9.0]), Verdict::Met);
        assert!(matches!(bar(Sense::AtMost, &[]), Verdict::Undecided(_)));
    }

    #[test]
    fn the_last_line_counts_what_was_met() {
        let not_run = Bar::judge("x", "", (Sense::AtMost, 1.0), true, Err("why".into()));
        let text = table(&[not_run]);
        assert!(text.contains("not run"), "{text}");
        assert_eq!(text.lines().last(), Some("bars: 0 of 1 met"));
    }
}
