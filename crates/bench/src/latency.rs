//! Latency counters that their owner updates with a few plain stores and anybody may read.
//!
//! Buckets are logarithmic with 128 steps per power of two, so a value is known to within 0.8 %.
//! Values are clock ticks; they become nanoseconds only when a report is made, in an
//! [`hdrhistogram::Histogram`], which does the percentile arithmetic.

use hdrhistogram::Histogram;
use ring::sync::{AtomicU64, Ordering};

use crate::clock::Clock;

const STEP_BITS: u32 = 7;
const STEPS: u64 = 1 << STEP_BITS;
/// Larger values (half an hour at 2.4 GHz) are counted as this.
const VALUE_MAX: u64 = (1 << 42) - 1;

/// Number of buckets: one row of 128 for values below 128, and one for each higher power of two.
pub const BUCKETS: usize = (42 - STEP_BITS as usize + 1) * STEPS as usize;

/// The bucket of a value.
#[inline]
fn bucket_of(value: u64) -> usize {
    let value = value.min(VALUE_MAX);
    let row = (value | (STEPS - 1)).ilog2() - (STEP_BITS - 1);
    let shift = row.saturating_sub(1);
    // Rows from 1 on hold values whose shifted form has its top bit at STEPS; row 0 holds the rest.
    ((u64::from(row) << STEP_BITS) + (value >> shift) - if row > 0 { STEPS } else { 0 }) as usize
}

/// The first value of a bucket and its width.
fn bucket_range(bucket: usize) -> (u64, u64) {
    let (row, step) = (bucket as u64 >> STEP_BITS, bucket as u64 & (STEPS - 1));
    if row == 0 {
        (step, 1)
    } else {
        ((STEPS + step) << (row - 1), 1 << (row - 1))
    }
}

/// Counters that one thread writes and any thread reads.
#[derive(Debug)]
pub struct LiveLatency {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
}

impl Default for LiveLatency {
    fn default() -> Self {
        Self {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            least: AtomicU64::new(u64::MAX),
            most: AtomicU64::new(0),
        }
    }
}

/// Adds without a read-modify-write instruction; right only because there is one writer.
#[inline]
pub(crate) fn add_alone(counter: &AtomicU64, amount: u64) {
    // Relaxed: statistics order nothing; the final reader joins the writing thread first.
    let value = counter.load(Ordering::Relaxed);
    counter.store(value.wrapping_add(amount), Ordering::Relaxed);
}

impl LiveLatency {
    /// Counts one latency in ticks. Only the owning thread may call this.
    #[inline]
    pub fn record(&self, ticks: u64) {
        add_alone(&self.counts[bucket_of(ticks)], 1);
        add_alone(&self.sum, ticks);
        if ticks > self.most.load(Ordering::Relaxed) {
            self.most.store(ticks, Ordering::Relaxed);
        }
        if ticks < self.least.load(Ordering::Relaxed) {
            self.least.store(ticks, Ordering::Relaxed);
        }
    }

    /// Adds the counts so far to `into`. While the owner still counts, the copy may miss the newest.
    pub fn add_to(&self, into: &mut Latency) {
        for (sum, count) in into.counts.iter_mut().zip(&self.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
        into.sum = into.sum.wrapping_add(self.sum.load(Ordering::Relaxed));
        into.least = into.least.min(self.least.load(Ordering::Relaxed));
        into.most = into.most.max(self.most.load(Ordering::Relaxed));
    }

    /// Starts again from nothing. Only the owning thread, or one that excludes it, may call this.
    pub fn clear(&self) {
        for count in &self.counts {
            count.store(0, Ordering::Relaxed);
        }
        self.sum.store(0, Ordering::Relaxed);
        self.least.store(u64::MAX, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }
}

/// A copy of latency counters, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    counts: Vec<u64>,
    sum: u64,
    least: u64,
    most: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }
}

impl Latency {
    /// Number of latencies counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all latencies in ticks.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// Smallest and largest latency in ticks, if there is any.
    #[must_use]
    pub fn extremes(&self) -> Option<(u64, u64)> {
        (self.most >= self.least).then_some((self.least, self.most))
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.sum, self.least, self.most) = (0, u64::MAX, 0);
    }

    /// Adds another copy's counts.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.sum = self.sum.wrapping_add(other.sum);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// The `quantile` (0..=1) in ticks of what was counted here but not yet in `earlier`; `None` if
    /// that is nothing.
    #[must_use]
    pub fn quantile_since(&self, earlier: &Self, quantile: f64) -> Option<u64> {
        let fresh = || {
            self.counts
                .iter()
                .zip(&earlier.counts)
                .map(|(now, then)| now.saturating_sub(*then))
        };
        let total: u64 = fresh().sum();
        let wanted = ((total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in fresh().enumerate() {
            seen += count;
            if seen >= wanted && total > 0 {
                let (first, width) = bucket_range(bucket);
                return Some(first + width / 2);
            }
        }
        None
    }

    /// The same counts in nanoseconds.
    ///
    /// # Panics
    /// Never: the bounds given to the histogram are constants that it accepts.
    #[must_use]
    pub fn histogram(&self, clock: &Clock) -> Histogram<u64> {
        const DIGITS: u8 = 3;
        const NANOSECONDS_MAX: u64 = 1 << 43;
        let mut histogram = Histogram::new_with_bounds(1, NANOSECONDS_MAX, DIGITS)
            .expect("1 ns to 2.4 hours with 3 digits is a valid histogram");
        let nanoseconds_per_tick = clock.nanoseconds_per_tick();
        for (bucket, &count) in self.counts.iter().enumerate() {
            if count > 0 {
                let (first, width) = bucket_range(bucket);
                let middle = (first + width / 2).clamp(self.least, self.most.max(self.least));
                let nanoseconds = (middle as f64 * nanoseconds_per_tick).round() as u64;
                histogram.saturating_record_n(nanoseconds, count);
            }
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> Latency {
        let live = LiveLatency::default();
        values.iter().for_each(|&value| live.record(value));
        let mut copy = Latency::default();
        live.add_to(&mut copy);
        copy
    }

    #[test]
    fn percentiles_of_a_known_set_are_right() {
        let values: Vec<u64> = (1..=100_000).collect();
        let latency = recorded(&values);
        let histogram = latency.histogram(&Clock::monotonic());
        for (quantile, wanted) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let found = histogram.value_at_quantile(quantile) as f64;
            assert!((found / wanted - 1.0).abs() < 0.01, "{quantile}: {found}");
        }
        assert_eq!(latency.extremes(), Some((1, 100_000)));
        assert_eq!(latency.sum(), 5_000_050_000);
    }

    #[test]
    fn a_window_sees_only_what_is_new() {
        let before = recorded(&[10; 1000]);
        let mut after = before.clone();
        after.add(&recorded(&[5000; 10]));
        let p99 = after.quantile_since(&before, 0.99).unwrap();
        assert!((4950..5050).contains(&p99), "{p99}");
        assert_eq!(after.quantile_since(&after, 0.99), None);
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value in 0u64..VALUE_MAX) {
            let bucket = bucket_of(value);
            prop_assert!(bucket < BUCKETS);
            let (first, width) = bucket_range(bucket);
            prop_assert!(first <= value && value - first < width);
            prop_assert!(width == 1 || width * 128 <= first);
        }

        #[test]
        fn buckets_ascend(value in 0u64..VALUE_MAX) {
            prop_assert!(bucket_of(value) <= bucket_of(value + 1));
            prop_assert!(bucket_of(u64::MAX) < BUCKETS);
        }
    }
}
