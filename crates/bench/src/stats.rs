//! Repeats and what may be concluded from them.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};

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

/// A ratio with its confidence interval.
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
    /// Whether one lies in the interval, that is, whether the two sets may be equal.
    #[must_use]
    pub fn may_be_one(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
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

/// The ratio of `new` to `old` with an interval that holds it with `confidence` (0 to 1), by Welch's
/// unequal-variance t procedure on logarithms: the figures are positive, and swapping the sets inverts
/// the result exactly. The interval reaches at least `resolution`, a share of the ratio, to either
/// side: repeats that agree to the last digit say nothing of what the figure cannot resolve.
///
/// # Errors
/// The reason why there is no interval: fewer than two values in a set, or one that is not positive.
pub fn ratio_interval(
    old: &[f64],
    new: &[f64],
    confidence: f64,
    resolution: f64,
) -> Result<Ratio, String> {
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
    let spread = if a + b > 0.0 {
        let freedom = (a + b).powi(2)
            / (a.powi(2) / (old.len() - 1) as f64 + b.powi(2) / (new.len() - 1) as f64);
        student(freedom, confidence) * (a + b).sqrt()
    } else {
        0.0
    };
    let half = spread.max(resolution.ln_1p());
    Ok(Ratio {
        ratio: difference.exp(),
        low: (difference - half).exp(),
        high: (difference + half).exp(),
    })
}

/// The two-sided quantile of Student's distribution: a share `confidence` of it lies within plus and
/// minus this. Broken degrees of freedom are rounded down, which errs towards a wider interval.
#[must_use]
pub fn student(freedom: f64, confidence: f64) -> f64 {
    /// From here on the distribution is the normal one to three digits.
    const DEGREES_MAX: u32 = 1000;
    let degrees = (freedom as u32).clamp(1, DEGREES_MAX);
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = (low + high) / 2.0;
        if student_within(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from(degrees).sqrt() * high.tan()
}

/// The share of Student's distribution within plus and minus t, for t = sqrt(degrees) x tan(angle):
/// a finite sum for whole degrees [Abramowitz and Stegun, 26.7.3 and 26.7.4].
fn student_within(angle: f64, degrees: u32) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let (mut power, mut term) = if odd { (1, cosine) } else { (0, 1.0) };
    let mut sum = 0.0;
    while power + 2 <= degrees {
        sum += term;
        term *= cosine * cosine * f64::from(power + 1) / f64::from(power + 2);
        power += 2;
    }
    if odd {
        (angle + sine * sum) * FRAC_2_PI
    } else {
        sine * sum
    }
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

    /// 95 %, and nothing known of the resolution.
    fn plain(old: &[f64], new: &[f64]) -> Result<Ratio, String> {
        ratio_interval(old, new, 0.95, 0.0)
    }

    #[test]
    fn clearly_different_sets_exclude_one_and_equal_sets_do_not() {
        let slow = [100.0, 101.0, 99.0, 100.5];
        let fast = [120.0, 119.0, 121.0, 120.5];
        let ratio = plain(&slow, &fast).unwrap();
        assert!(ratio.low > 1.15 && ratio.high < 1.25, "{ratio:?}");
        assert!(plain(&slow, &slow).unwrap().may_be_one());
        assert!(plain(&[1.0], &fast).is_err());
        assert!(plain(&[0.0, 1.0], &fast).is_err());
    }

    #[test]
    fn repeats_that_agree_do_not_make_a_difference_below_the_resolution_certain() {
        let compare = |new: f64| ratio_interval(&[100.0; 3], &[new; 3], 0.95, 0.01).unwrap();
        assert!(compare(100.9).may_be_one() && compare(99.2).may_be_one());
        assert!(!compare(101.5).may_be_one() && !compare(98.5).may_be_one());
        let ratio = compare(100.0);
        assert!(ratio.low < 0.9902 && ratio.high > 1.0099, "{ratio:?}");
    }

    #[test]
    fn students_quantiles_are_those_of_the_printed_tables() {
        for (freedom, confidence, printed) in [
            (1.0, 0.95, 12.706),
            (2.0, 0.95, 4.303),
            (3.0, 0.99, 5.841),
            (4.0, 0.95, 2.776),
            (5.0, 0.999, 6.869),
            (10.0, 0.99, 3.169),
            (20.9, 0.95, 2.086),
            (120.0, 0.95, 1.980),
            (1e9, 0.95, 1.962),
            (f64::NAN, 0.95, 12.706),
        ] {
            let found = student(freedom, confidence);
            assert!((found - printed).abs() < 6e-4, "{freedom}: {found}");
        }
    }

    /// Sets of values that differ by chance alone, about 10 % to either side.
    fn chance(seed: u64) -> impl FnMut(usize) -> Vec<f64> {
        let mut random = crate::access::Random::new(seed);
        // The sum of twelve uniform values is nearly normal.
        let mut normal = move || {
            (0..12)
                .map(|_| random.next() as f64 / u64::MAX as f64)
                .sum::<f64>()
                - 6.0
        };
        move |count| (0..count).map(|_| (0.1 * normal()).exp()).collect()
    }

    #[test]
    fn an_interval_from_noise_covers_the_truth_as_often_as_it_says() {
        let mut sample = chance(5);
        for (confidence, least, most) in [(0.95, 1880, 1950), (0.99, 1960, 2000)] {
            let covered = (0..2000)
                .filter(|_| {
                    let ratio = ratio_interval(&sample(5), &sample(5), confidence, 0.0);
                    ratio.unwrap().may_be_one()
                })
                .count();
            assert!((least..most).contains(&covered), "{covered} of 2000");
        }
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
            let forth = plain(&old, &new).unwrap();
            let back = plain(&new, &old).unwrap().inverse();
            for (a, b) in [(forth.ratio, back.ratio), (forth.low, back.low), (forth.high, back.high)] {
                prop_assert!(a == b || (a / b - 1.0).abs() < 1e-6, "{} {}", a, b);
            }
            prop_assert!(forth.low <= forth.ratio && forth.ratio <= forth.high);
        }
    }
}
