//! Repeats and what may be concluded from them.

use serde::{Deserialize, Serialize};

use crate::limits;

/// A set of repeated measurements of one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle value, or the mean of the two middle ones.
    pub median: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the sample; zero for one value.
    pub deviation: f64,
    /// Number of values.
    pub count: usize,
}

impl Summary {
    /// Sums up values; `None` if there is none or one is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (mean, variance) = mean_and_variance(values);
        Some(Self {
            median: (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0,
            least: sorted[0],
            most: sorted[count - 1],
            mean,
            deviation: variance.sqrt(),
            count,
        })
    }

    /// Distance between the extremes as a share of the median; zero if the median is zero.
    #[must_use]
    pub fn relative_spread(&self) -> f64 {
        if self.median == 0.0 {
            0.0
        } else {
            (self.most - self.least) / self.median.abs()
        }
    }
}

/// The median of a set of values; `None` if there is none or one is not finite.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    Summary::of(values).map(|summary| summary.median)
}

/// The mean and the variance of a sample (zero for one value).
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (
        mean,
        if values.len() > 1 {
            squares / (count - 1.0)
        } else {
            0.0
        },
    )
}

/// A ratio with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio of the geometric means.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// Whether one lies in the interval, that is, whether the two sets may be equal. Differences
    /// below one in 10^9 are rounding.
    #[must_use]
    pub fn may_be_one(&self) -> bool {
        const ROUNDING: f64 = 1e-9;
        self.low <= 1.0 + ROUNDING && self.high >= 1.0 - ROUNDING
    }

    /// The ratio the other way round.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self {
            ratio: 1.0 / self.ratio,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
        }
    }
}

/// The ratio of `new` to `old` with a 95 % interval, by Welch's unequal-variance t procedure on
/// logarithms: the figures are positive, and swapping the sets inverts the result exactly.
///
/// # Errors
/// The reason why there is no interval: fewer than two values in a set, or one that is not positive.
pub fn ratio_interval(old: &[f64], new: &[f64]) -> Result<Ratio, String> {
    if old.len() < 2 || new.len() < 2 {
        return Err(format!(
            "{} and {} repeats; an interval needs at least 2 of each (--repeats)",
            old.len(),
            new.len()
        ));
    }
    let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
        values
            .iter()
            .map(|&v| (v.is_finite() && v > 0.0).then(|| v.ln()))
            .collect()
    };
    let (Some(old), Some(new)) = (logarithms(old), logarithms(new)) else {
        return Err("a repeat has the value zero".to_owned());
    };
    let ((old_mean, old_variance), (new_mean, new_variance)) =
        (mean_and_variance(&old), mean_and_variance(&new));
    let (a, b) = (
        old_variance / old.len() as f64,
        new_variance / new.len() as f64,
    );
    let difference = new_mean - old_mean;
    let half = if a + b > 0.0 {
        let freedom = (a + b).powi(2)
            / (a.powi(2) / (old.len() - 1) as f64 + b.powi(2) / (new.len() - 1) as f64);
        student_95(freedom) * (a + b).sqrt()
    } else {
        0.0
    };
    Ok(Ratio {
        ratio: difference.exp(),
        low: (difference - half).exp(),
        high: (difference + half).exp(),
    })
}

/// The two-sided 95 % quantile of Student's distribution, for the next lower tabulated number of
/// degrees of freedom, which errs towards a wider interval.
#[must_use]
pub fn student_95(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 20] = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (6.0, 2.447),
        (7.0, 2.365),
        (8.0, 2.306),
        (9.0, 2.262),
        (10.0, 2.228),
        (12.0, 2.179),
        (14.0, 2.145),
        (16.0, 2.120),
        (18.0, 2.101),
        (20.0, 2.086),
        (25.0, 2.060),
        (30.0, 2.042),
        (40.0, 2.021),
        (60.0, 2.000),
        (120.0, 1.980),
    ];
    let below = TABLE.iter().rev().find(|(degrees, _)| *degrees <= freedom);
    below.map_or(TABLE[0].1, |(_, quantile)| *quantile)
}

/// Little's law held against a closed loop: arrival rate x mean time in the system = number inside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Little {
    /// Commands in flight on average, by IOPS x mean latency.
    pub effective: f64,
    /// Commands that the job keeps in flight.
    pub wanted: f64,
}

impl Little {
    /// Checks a rate per second, a mean latency in seconds and the depth over all queue pairs.
    #[must_use]
    pub fn new(iops: f64, mean_seconds: f64, wanted: f64) -> Self {
        Self {
            effective: iops * mean_seconds,
            wanted,
        }
    }

    /// The effective depth as a share of the wanted one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.effective / self.wanted
    }

    /// Whether it is off by more than [`limits::LITTLE_TOLERANCE`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        let within = (self.ratio() - 1.0).abs() <= limits::LITTLE_TOLERANCE;
        !within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_summary_of_an_even_number_of_values_takes_the_middle_of_two() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            (summary.median, summary.least, summary.most),
            (2.5, 1.0, 4.0)
        );
        assert!((summary.relative_spread() - 1.2).abs() < 1e-12);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }

    #[test]
    fn clearly_different_sets_exclude_one_and_equal_sets_do_not() {
        let slow = [100.0, 101.0, 99.0, 100.5];
        let fast = [120.0, 119.0, 121.0, 120.5];
        let ratio = ratio_interval(&slow, &fast).unwrap();
        assert!(ratio.low > 1.15 && ratio.high < 1.25, "{ratio:?}");
        assert!(ratio_interval(&slow, &slow).unwrap().may_be_one());
        assert!(ratio_interval(&[1.0], &fast).is_err());
        assert!(ratio_interval(&[0.0, 1.0], &fast).is_err());
    }

    #[test]
    fn an_interval_from_noise_covers_the_truth_about_95_times_in_100() {
        let mut random = crate::access::Random::new(5);
        // The sum of twelve uniform values is nearly normal.
        let mut normal = || {
            (0..12)
                .map(|_| random.next() as f64 / u64::MAX as f64)
                .sum::<f64>()
                - 6.0
        };
        let mut sample = || (0..5).map(|_| (0.1 * normal()).exp()).collect::<Vec<_>>();
        let covered = (0..2000)
            .filter(|_| ratio_interval(&sample(), &sample()).unwrap().may_be_one())
            .count();
        assert!((1880..1990).contains(&covered), "{covered} of 2000");
    }

    #[test]
    fn littles_law_flags_the_published_row_that_breaks_it() {
        // 33,645 IOPS at 24.03 us claims a depth of 1 and shows 0.81.
        assert!(Little::new(33_645.0, 24.03e-6, 1.0).is_off());
        assert!(!Little::new(40_000.0, 24.0e-6, 1.0).is_off());
        assert!(Little::new(1.0, 1.0, 0.0).is_off());
    }

    proptest! {
        #[test]
        fn swapping_the_sets_inverts_the_interval(
            old in prop::collection::vec(1e-3f64..1e9, 2..10),
            new in prop::collection::vec(1e-3f64..1e9, 2..10),
        ) {
            let forth = ratio_interval(&old, &new).unwrap();
            let back = ratio_interval(&new, &old).unwrap().inverse();
            for (a, b) in [(forth.ratio, back.ratio), (forth.low, back.low), (forth.high, back.high)] {
                prop_assert!(a == b || (a / b - 1.0).abs() < 1e-6, "{} {}", a, b);
            }
            prop_assert!(forth.low <= forth.ratio && forth.ratio <= forth.high);
        }
    }
}
