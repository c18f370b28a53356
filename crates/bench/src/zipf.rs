//! A zipf distribution over block ranks that costs one table look-up per access.
//!
//! Rank `r` (from 1) has weight `r^-theta`. Ranks are gathered into bins that grow geometrically:
//! the first ones hold one rank each, later ones a sixteenth of their first rank. The mass of every
//! bin is exact to within the midpoint rule; inside a bin ranks are equally likely. Bins are drawn
//! by Walker's alias method with integers only. A seeded permutation then spreads the ranks over the
//! working set, so that hot blocks are not neighbours.

use crate::access::{Random, scale};
use crate::limits::ZIPF_BIN_SHARE;

/// One column of the alias table: keep the column's own bin below `threshold`, else take `alias`.
#[derive(Debug, Clone, Copy)]
struct Column {
    threshold: u32,
    alias: u32,
}

/// A range of ranks, counted from zero.
#[derive(Debug, Clone, Copy)]
struct Bin {
    first: u64,
    ranks: u64,
}

/// A zipf sampler over `0..units`.
#[derive(Debug, Clone)]
pub struct Zipf {
    columns: Vec<Column>,
    bins: Vec<Bin>,
    spread: Permutation,
}

impl Zipf {
    /// Prepares the tables for `units` values with exponent `theta`; `seed` chooses which values are
    /// the hot ones.
    ///
    /// # Panics
    /// If `units` is zero or `theta` is not a finite positive number; a checked job has neither.
    #[must_use]
    pub fn new(units: u64, theta: f64, seed: u64) -> Self {
        assert!(units > 0, "a zipf distribution needs at least one value");
        assert!(theta.is_finite() && theta > 0.0, "zipf exponent {theta}");
        let bins = bins(units);
        let weights: Vec<f64> = bins.iter().map(|bin| mass(bin, theta)).collect();
        Self {
            columns: alias_table(&weights),
            bins,
            spread: Permutation::new(units, seed),
        }
    }

    /// Draws one value in `0..units`.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.spread.apply(self.draw_rank(random))
    }

    /// Draws one rank in `0..units`; rank 0 is the hottest.
    #[inline]
    pub fn draw_rank(&self, random: &mut Random) -> u64 {
        let bits = random.next();
        let column = scale(bits, self.columns.len() as u64) as usize;
        // The column comes from the high bits of the product, the choice from the low half of the
        // same word, which a table of at most 2^10 columns leaves untouched.
        let entry = self.columns[column];
        let bin = if (bits as u32) < entry.threshold {
            column
        } else {
            entry.alias as usize
        };
        let bin = self.bins[bin];
        if bin.ranks == 1 {
            bin.first
        } else {
            bin.first + scale(random.next(), bin.ranks)
        }
    }

    /// The value that a rank is spread to.
    #[must_use]
    pub fn value_of_rank(&self, rank: u64) -> u64 {
        self.spread.apply(rank)
    }
}

fn bins(units: u64) -> Vec<Bin> {
    let mut bins = Vec::new();
    let mut first = 0;
    while first < units {
        let ranks = (first / ZIPF_BIN_SHARE).max(1).min(units - first);
        bins.push(Bin { first, ranks });
        first += ranks;
    }
    bins
}

/// The sum of `r^-theta` over a bin: exact for a single rank, else the integral between the middles
/// of its first and last rank's cells.
fn mass(bin: &Bin, theta: f64) -> f64 {
    let rank = bin.first as f64 + 1.0;
    if bin.ranks == 1 {
        return rank.powf(-theta);
    }
    let (low, high) = (rank - 0.5, rank - 0.5 + bin.ranks as f64);
    let exponent = 1.0 - theta;
    if exponent.abs() < 1e-9 {
        (high / low).ln()
    } else {
        (high.powf(exponent) - low.powf(exponent)) / exponent
    }
}

/// Walker's alias table: every column holds the same probability, split between at most two bins.
fn alias_table(weights: &[f64]) -> Vec<Column> {
    let count = weights.len();
    let total: f64 = weights.iter().sum();
    let mut share: Vec<f64> = weights.iter().map(|w| w / total * count as f64).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&i| share[i] < 1.0);
    let full = |i: usize| Column {
        threshold: u32::MAX,
        alias: i as u32,
    };
    let mut columns: Vec<Column> = (0..count).map(full).collect();
    while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
        columns[poor] = Column {
            threshold: (share[poor] * 4_294_967_296.0) as u32,
            alias: rich as u32,
        };
        share[rich] -= 1.0 - share[poor];
        if share[rich] < 1.0 {
            large.pop();
            small.push(rich);
        }
    }
    columns
}

/// A seeded bijection of `0..units`: multiply and shift-xor steps on the next power of two, repeated
/// until the result falls inside (fewer than two rounds on average).
#[derive(Debug, Clone, Copy)]
struct Permutation {
    units: u64,
    mask: u64,
    shift: u32,
    add: u64,
    multiply: u64,
}

impl Permutation {
    fn new(units: u64, seed: u64) -> Self {
        let bits = 64 - (units - 1).leading_zeros().min(63);
        let mut random = Random::new(seed);
        Self {
            units,
            mask: u64::MAX >> (64 - bits),
            shift: bits.div_ceil(2),
            add: random.next(),
            multiply: random.next() | 1,
        }
    }

    #[inline]
    fn apply(&self, value: u64) -> u64 {
        let mut value = value;
        loop {
            for _ in 0..2 {
                value = value.wrapping_add(self.add) & self.mask;
                value = value.wrapping_mul(self.multiply) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.units {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hottest_rank_takes_its_exact_share() {
        let (units, theta, draws) = (10_000u64, 1.0, 400_000);
        let zipf = Zipf::new(units, theta, 7);
        let mut random = Random::new(3);
        let mut first = 0u32;
        let mut first_hundred = 0u32;
        for _ in 0..draws {
            let rank = zipf.draw_rank(&mut random);
            first += u32::from(rank == 0);
            first_hundred += u32::from(rank < 100);
        }
        let harmonic = |n: u64| (1..=n).map(|r| 1.0 / r as f64).sum::<f64>();
        let wanted_first = 1.0 / harmonic(units);
        let wanted_hundred = harmonic(100) / harmonic(units);
        let close = |found: u32, wanted: f64| {
            let found = f64::from(found) / f64::from(draws);
            assert!(
                (found / wanted - 1.0).abs() < 0.03,
                "{found} against {wanted}"
            );
        };
        close(first, wanted_first);
        close(first_hundred, wanted_hundred);
    }

    #[test]
    fn a_larger_exponent_is_more_skewed() {
        let hits = |theta| {
            let zipf = Zipf::new(1 << 20, theta, 1);
            let mut random = Random::new(9);
            (0..50_000)
                .filter(|_| zipf.draw_rank(&mut random) < 1000)
                .count()
        };
        let counts = [hits(0.2), hits(0.8), hits(1.2), hits(2.0)];
        assert!(counts.is_sorted(), "{counts:?}");
    }

    #[test]
    fn hot_values_are_not_neighbours() {
        let zipf = Zipf::new(1 << 20, 1.0, 5);
        let mut hot: Vec<u64> = (0..64).map(|rank| zipf.value_of_rank(rank)).collect();
        hot.sort_unstable();
        let neighbours = hot.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
        assert!(neighbours < 4, "{hot:?}");
    }

    proptest! {
        #[test]
        fn ranks_are_spread_by_a_bijection(units in 1u64..3000, seed in any::<u64>()) {
            let spread = Permutation::new(units, seed);
            let mut seen = vec![false; units as usize];
            for rank in 0..units {
                let value = spread.apply(rank) as usize;
                prop_assert!(!seen[value]);
                seen[value] = true;
            }
        }

        #[test]
        fn draws_stay_in_range(units in 1u64..1 << 40, theta in 0.01f64..5.0, seed in any::<u64>()) {
            let zipf = Zipf::new(units, theta, seed);
            let mut random = Random::new(seed);
            for _ in 0..200 {
                prop_assert!(zipf.draw(&mut random) < units);
            }
        }

        #[test]
        fn bins_cover_every_rank_once(units in 1u64..1 << 41) {
            let mut next = 0;
            for bin in bins(units) {
                prop_assert_eq!(bin.first, next);
                prop_assert!(bin.ranks > 0);
                next += bin.ranks;
            }
            prop_assert_eq!(next, units);
        }
    }
}
