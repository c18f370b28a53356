//! The one source of chance in a script.

/// A seeded generator (SplitMix64): the same seed gives the same faults on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to below `high`, which is above `low`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = high.saturating_sub(low);
        low + ((u128::from(self.bits()) * u128::from(width)) >> 64) as u64
    }

    /// True in a share `probability` of all draws: 0 is never, 1 always.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds exactly, so the quotient is below one.
        ((self.bits() >> 11) as f64) / ((1_u64 << 53) as f64) < probability
    }
}
