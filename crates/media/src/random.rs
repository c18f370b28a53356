//! The one source of chance in media: it comes from a seed that whoever makes them hands in.

/// A seeded generator (SplitMix64): the same seed gives the same faults and times on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to below `high`, which is above `low`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    /// True in a share `probability` of all draws: 0 is never, 1 always.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds exactly, so the quotient is below one.
        ((self.bits() >> 11) as f64) / ((1_u64 << 53) as f64) < probability
    }
}
