//! Which block comes next, and in which direction: seeded generators without division or floating
//! point in the loop that is measured.

use crate::workload::{Distribution, Job};
use crate::zipf::Zipf;

/// A small fast random generator: a Weyl sequence folded by one 64 x 64 bit multiplication.
///
/// Good enough to spread accesses, not for cryptography. Equal seeds give equal sequences.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose sequence is chosen by `seed`; neighbouring seeds are unrelated.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// The next 64 random bits.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless sequence needs no Option in the measured loop"
    )]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        (product >> 64) as u64 ^ product as u64
    }
}

/// Scales 64 random bits to `0..bound` by multiply and shift; the bias is below `bound` / 2^64.
#[inline]
#[must_use]
pub const fn scale(bits: u64, bound: u64) -> u64 {
    ((bits as u128 * bound as u128) >> 64) as u64
}

/// A bijection of 64-bit words in which each input bit changes about half of the output's.
#[inline]
#[must_use]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}

/// Which way the data goes, seen from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the device to the host.
    Read,
    /// From the host to the device.
    Write,
}

/// One I/O to issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Index of the I/O-sized unit inside the working set, from zero.
    pub unit: u64,
    /// Which way the data goes.
    pub direction: Direction,
}

/// The units of a device's working set that one queue pair works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// First unit.
    pub first: u64,
    /// Number of units.
    pub units: u64,
}

impl Share {
    /// The `part`-th of `parts` nearly equal shares of `units` units; the shares cover all units
    /// exactly once.
    #[must_use]
    pub fn of(units: u64, part: u32, parts: u32) -> Self {
        let edge = |part: u32| (u128::from(units) * u128::from(part) / u128::from(parts)) as u64;
        let first = edge(part);
        Self {
            first,
            units: edge(part + 1) - first,
        }
    }
}

#[derive(Debug, Clone)]
enum Addressing {
    Sequential { next: u64 },
    Uniform,
    Zipf(Box<Zipf>),
}

/// Produces the accesses of one queue pair.
#[derive(Debug, Clone)]
pub struct Generator {
    random: Random,
    addressing: Addressing,
    share: Share,
    /// An access is a read if 16 random bits are below this; 0x1_0000 means always.
    read_below: u32,
}

impl Generator {
    /// The generator of `job` for one share of a working set; `lane` tells queue pairs of one job
    /// apart so that they do not walk in step.
    ///
    /// # Panics
    /// If the share is empty.
    #[must_use]
    pub fn new(job: &Job, share: Share, lane: u64) -> Self {
        assert!(
            share.units > 0,
            "a queue pair needs at least one unit to work on"
        );
        let addressing = match (job.rw.is_random(), job.random) {
            (false, _) => Addressing::Sequential { next: 0 },
            (true, Distribution::Uniform) => Addressing::Uniform,
            (true, Distribution::Zipf(theta)) => {
                // Queue pairs of one job agree on which blocks are hot, so the lane stays out.
                Addressing::Zipf(Box::new(Zipf::new(share.units, theta, job.seed)))
            }
        };
        Self {
            random: Random::new(mix(job.seed).wrapping_add(lane)),
            addressing,
            share,
            read_below: u32::from(job.read_percent()) * 0x1_0000 / 100,
        }
    }

    /// The next access.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless sequence needs no Option in the measured loop"
    )]
    pub fn next(&mut self) -> Access {
        let bits = self.random.next();
        let offset = match &mut self.addressing {
            Addressing::Uniform => scale(bits, self.share.units),
            Addressing::Sequential { next } => {
                let offset = *next;
                *next += 1;
                if *next == self.share.units {
                    *next = 0;
                }
                offset
            }
            Addressing::Zipf(zipf) => zipf.draw(&mut self.random),
        };
        // The address uses the high bits of the word, the direction the low 16.
        let direction = if (bits as u32 & 0xffff) < self.read_below {
            Direction::Read
        } else {
            Direction::Write
        };
        Access {
            unit: self.share.first + offset,
            direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Pattern;
    use proptest::prelude::*;

    fn job(rw: Pattern, random: Distribution, seed: u64) -> Job {
        Job {
            rw,
            random,
            seed,
            ..Job::default()
        }
    }

    #[test]
    fn equal_seeds_give_equal_accesses_and_lanes_differ() {
        let job = job(Pattern::RandRw, Distribution::Uniform, 42);
        let share = Share {
            first: 0,
            units: 1 << 20,
        };
        let take = |lane| {
            let mut generator = Generator::new(&job, share, lane);
            (0..100).map(|_| generator.next()).collect::<Vec<_>>()
        };
        assert_eq!(take(0), take(0));
        assert_ne!(take(0), take(1));
    }

    #[test]
    fn a_mix_of_70_percent_reads_is_kept() {
        let job = Job {
            rwmixread: Some(70),
            ..job(Pattern::RandRw, Distribution::Uniform, 1)
        };
        let mut generator = Generator::new(
            &job,
            Share {
                first: 0,
                units: 1000,
            },
            0,
        );
        let reads = (0..100_000)
            .filter(|_| generator.next().direction == Direction::Read)
            .count();
        assert!((69_000..71_000).contains(&reads), "{reads}");
    }

    #[test]
    fn uniform_accesses_reach_every_unit_evenly() {
        let job = job(Pattern::RandRead, Distribution::Uniform, 11);
        let mut generator = Generator::new(
            &job,
            Share {
                first: 0,
                units: 64,
            },
            0,
        );
        let mut seen = [0u32; 64];
        for _ in 0..64_000 {
            seen[generator.next().unit as usize] += 1;
        }
        assert!(
            seen.iter().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
    }

    proptest! {
        #[test]
        fn accesses_stay_inside_their_share(
            first in 0u64..1 << 40, units in 1u64..1 << 40, seed in any::<u64>(),
            theta in 0.05f64..3.0, kind in 0u8..3,
        ) {
            let (rw, random) = match kind {
                0 => (Pattern::RandRw, Distribution::Uniform),
                1 => (Pattern::RandRw, Distribution::Zipf(theta)),
                _ => (Pattern::Read, Distribution::Uniform),
            };
            let mut generator = Generator::new(&job(rw, random, seed), Share { first, units }, 3);
            for _ in 0..100 {
                let access = generator.next();
                prop_assert!(access.unit >= first && access.unit - first < units);
            }
        }

        #[test]
        fn a_sequential_pass_touches_every_unit_once(units in 1u64..500, first in 0u64..1000) {
            let job = job(Pattern::Write, Distribution::Uniform, 0);
            let mut generator = Generator::new(&job, Share { first, units }, 0);
            for pass in 0..2 {
                for offset in 0..units {
                    let access = generator.next();
                    prop_assert_eq!(access.unit, first + offset, "pass {}", pass);
                    prop_assert_eq!(access.direction, Direction::Write);
                }
            }
        }

        #[test]
        fn shares_cover_all_units_exactly_once(units in 0u64..1 << 45, parts in 1u32..64) {
            let mut next = 0;
            for part in 0..parts {
                let share = Share::of(units, part, parts);
                prop_assert_eq!(share.first, next);
                next += share.units;
            }
            prop_assert_eq!(next, units);
        }
    }
}
