//! Latencies as decks of cards: a distribution cut into equal shares, shuffled once and then drawn in turn.
//!
//! Drawing is one load instead of a random number and a search, and the mean of each pass is exactly that of the
//! distribution. The price: a pass repeats after [`CARDS`] requests, and nothing lies beyond the outermost shares' middles.

use super::profile::Latency;
use crate::random::Random;

/// Cards of a deck: the outermost stand for the 0.012th and the 99.988th percentile.
pub(super) const CARDS: usize = 4096;

/// No card is longer, so that those of all tokens together stay far from where times wrap around.
pub(super) const TICKS_MAX: u64 = 1 << 18;

/// Makes decks in 2^-32 ticks, where a tick is 2^`tick_shift` nanoseconds.
pub(super) struct Dealer {
    random: Random,
    tick_shift: u32,
    /// The standard normal distribution's quantiles in the middle of each share, rising.
    scores: Vec<f64>,
}

fn shuffle<T>(random: &mut Random, cards: &mut [T]) {
    for last in (1..cards.len()).rev() {
        cards.swap(last, random.below(last as u64 + 1) as usize);
    }
}

impl Dealer {
    pub(super) fn new(seed: u64, tick_shift: u32) -> Self {
        let upper = middles().skip(CARDS / 2).scan(0.0, |score, middle| {
            *score = normal_score(middle, *score);
            Some(*score)
        });
        let upper: Vec<f64> = upper.collect();
        let lower = upper.iter().rev().map(|score| -score);
        Self {
            random: Random::new(seed),
            tick_shift,
            scores: lower.chain(upper.iter().copied()).collect(),
        }
    }

    /// A shuffled deck.
    ///
    /// Each card is longer than its latency by a part of a tick, all parts equally often: so due times that are cut down to
    /// whole ticks are right in the mean, whatever the tick and the time of arrival.
    pub(super) fn deal(&mut self, latency: &Latency) -> [u64; CARDS] {
        let per_us = 1000.0 * (1_u64 << 32) as f64 / (1_u64 << self.tick_shift) as f64;
        let mut cards = [0; CARDS];
        for (card, us) in cards.iter_mut().zip(self.shares_us(latency)) {
            *card = ((us * per_us) as u64).min(TICKS_MAX << 32);
        }
        shuffle(&mut self.random, &mut cards);
        let mut parts: Vec<u64> = (0..CARDS as u64).collect();
        shuffle(&mut self.random, &mut parts);
        for (card, part) in cards.iter_mut().zip(parts) {
            *card += (2 * part + 1) * ((1 << 31) / CARDS as u64);
        }
        cards
    }

    /// The middle of each share in microseconds, rising.
    fn shares_us(&self, latency: &Latency) -> Vec<f64> {
        match latency {
            Latency::Quantiles(points) => middles()
                .map(|middle| between(points, middle * 100.0))
                .collect(),
            Latency::LogNormal { mean_us, sigma } => {
                let shares = self.scores.iter().map(|score| (sigma * score).exp());
                let mut shares: Vec<f64> = shares.collect();
                let scale = mean_us * CARDS as f64 / shares.iter().sum::<f64>();
                shares.iter_mut().for_each(|share| *share *= scale);
                shares
            }
        }
    }
}

/// The middle of each share, from 0 to 1.
fn middles() -> impl Iterator<Item = f64> {
    (0..CARDS).map(|share| (share as f64 + 0.5) / CARDS as f64)
}

/// The value at `percent` on the straight lines between points that rise from 0 to 100 percent.
fn between(points: &[(f64, f64)], percent: f64) -> f64 {
    let line = points.windows(2).find(|ends| percent <= ends[1].0);
    line.map_or(0.0, |ends| {
        let share = (percent - ends[0].0) / (ends[1].0 - ends[0].0);
        ends[0].1 + share * (ends[1].1 - ends[0].1)
    })
}

/// The standard normal distribution's quantile of `share`, at least one half, by Newton's steps from a score not above it.
/// The distribution is concave there, so the steps never go past their aim.
fn normal_score(share: f64, from: f64) -> f64 {
    let mut score = from;
    for _ in 0..64 {
        let density = (-score * score / 2.0).exp() / core::f64::consts::TAU.sqrt();
        // Integrating the density by parts again and again: 1/2 + density (z + z^3/3 + z^5/15 + ...).
        let (mut term, mut sum) = (score, score);
        for odd in (3..240).step_by(2) {
            term *= score * score / f64::from(odd);
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        let step = (share - 0.5 - density * sum) / density;
        score += step;
        if step.abs() < 1e-12 {
            break;
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_scores_are_those_of_the_printed_tables() {
        for (share, score) in [
            (0.5, 0.0),
            (0.841_344_746, 1.0),
            (0.975, 1.959_964),
            (0.999, 3.090_232),
        ] {
            assert!((normal_score(share, 0.0) - score).abs() < 1e-5, "{share}");
        }
    }

    #[test]
    fn a_log_normal_deck_has_its_mean_and_its_percentiles() {
        let shares = Dealer::new(1, 9).shares_us(&Latency::LogNormal {
            mean_us: 80.0,
            sigma: 0.5,
        });
        let mean = shares.iter().sum::<f64>() / CARDS as f64;
        assert!((mean - 80.0).abs() < 1e-9, "{mean}");
        // The median of a log-normal distribution is its mean by exp(sigma^2 / 2), its 99th percentile exp(2.326 sigma) times that.
        let median = 80.0 / (0.125_f64).exp();
        assert!((shares[CARDS / 2] / median - 1.0).abs() < 0.005);
        let high = shares[CARDS * 99 / 100];
        assert!(
            (high / (median * (0.5_f64 * 2.326).exp()) - 1.0).abs() < 0.01,
            "{high}"
        );
    }

    #[test]
    fn a_table_of_quantiles_is_followed_along_straight_lines() {
        let points = vec![(0.0, 10.0), (50.0, 20.0), (99.0, 40.0), (100.0, 240.0)];
        let shares = Dealer::new(1, 9).shares_us(&Latency::Quantiles(points));
        assert!((shares[CARDS / 4] - 15.0).abs() < 0.01);
        assert!((shares[CARDS * 995 / 1000] - 140.0).abs() < 3.0);
        let mean = shares.iter().sum::<f64>() / CARDS as f64;
        assert!(
            (mean - (7.5 + 0.49 * 30.0 + 0.01 * 140.0)).abs() < 0.01,
            "{mean}"
        );
    }

    #[test]
    fn cards_cut_down_to_ticks_have_the_mean_of_the_distribution_at_any_phase() {
        let fixed = Latency::LogNormal {
            mean_us: 22.16,
            sigma: 0.0,
        };
        let deck = Dealer::new(7, 9).deal(&fixed);
        for phase in [0_u64, 1 << 30, 3 << 30] {
            let ticks: u64 = deck.iter().map(|card| (card + phase) >> 32).sum();
            let from = phase as f64 / (1_u64 << 32) as f64;
            let mean_us = (ticks as f64 / CARDS as f64 - from) * 0.512;
            assert!((mean_us - 22.16).abs() < 0.001, "{mean_us}");
        }
    }

    #[test]
    fn another_seed_is_another_order_of_the_same_cards() {
        let latency = Latency::LogNormal {
            mean_us: 100.0,
            sigma: 0.3,
        };
        let deck = |seed| Dealer::new(seed, 9).deal(&latency);
        assert_eq!(deck(1), deck(1));
        assert_ne!(deck(1), deck(2));
    }
}
