//! Where the two ends of a measurement were running, told from a ping-pong of one cache line.
//!
//! The same two virtual cores may share a cache or not, and the host may move them without notice;
//! a hand-over then costs 5 to 8 times as much. A figure taken across such a change means nothing,
//! so a ping-pong is run before and after and both are reported.

use serde::{Deserialize, Serialize};

/// Class of a round trip between two cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// The cores share a cache.
    Near,
    /// The line travels between caches or sockets.
    Far,
    /// Other work runs on one of the cores, or both ends share one.
    Disturbed,
}

/// Round trips up to this many nanoseconds are near: the geometric middle of what was measured with
/// near (50 to 111 ns) and far placement (330 to 516 ns).
pub const NEAR_NS_MAX: f64 = 190.0;

/// Round trips up to this many nanoseconds are far; loaded machines showed 1,000 to 4,000.
pub const FAR_NS_MAX: f64 = 800.0;

/// Two round trips in one regime that differ by more than this factor still count as a change.
const DRIFT_MAX: f64 = 1.6;

impl Regime {
    /// The regime of a round trip of `ns` nanoseconds.
    #[must_use]
    pub fn of(ns: f64) -> Self {
        if ns <= NEAR_NS_MAX {
            Self::Near
        } else if ns <= FAR_NS_MAX {
            Self::Far
        } else {
            Self::Disturbed
        }
    }

    /// The regime's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
            Self::Disturbed => "disturbed",
        }
    }
}

/// A ping-pong before and after a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PingPong {
    /// Nanoseconds per round trip before.
    pub before_ns: f64,
    /// Nanoseconds per round trip after.
    pub after_ns: f64,
}

impl PingPong {
    /// Whether the measurement between the two is worthless: the regime changed.
    #[must_use]
    pub fn changed(&self) -> bool {
        let drift = (self.before_ns / self.after_ns).max(self.after_ns / self.before_ns);
        Regime::of(self.before_ns) != Regime::of(self.after_ns) || drift > DRIFT_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_round_trips_fall_into_their_regimes() {
        for (ns, regime) in [
            (52.0, Regime::Near),
            (111.0, Regime::Near),
            (330.0, Regime::Far),
            (516.0, Regime::Far),
            (2500.0, Regime::Disturbed),
        ] {
            assert_eq!(Regime::of(ns), regime, "{ns}");
        }
    }

    #[test]
    fn a_change_of_regime_or_a_large_drift_is_a_change() {
        let changed = |before_ns, after_ns| {
            PingPong {
                before_ns,
                after_ns,
            }
            .changed()
        };
        assert!(!changed(60.0, 70.0));
        assert!(changed(70.0, 400.0) && changed(400.0, 70.0));
        assert!(changed(60.0, 120.0));
    }
}
