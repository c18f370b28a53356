//! Closed and open loops: when the next I/O may start.

/// When the next I/O may be submitted, and when it is said to have started.
pub trait Pacing {
    /// Whether [`due`](Self::due) needs the time of each poll.
    const NEEDS_NOW: bool;
    /// The start of the next I/O, if it is due at `now`.
    fn due(&self, now: u64) -> Option<u64>;
    /// The I/O that was due has been submitted.
    fn submitted(&mut self);
    /// How far the schedule is ahead of what was submitted, in ticks.
    fn lag(&self, now: u64) -> u64;
}

/// Closed loop: as soon as a slot is free.
#[derive(Debug)]
pub struct Closed;

impl Pacing for Closed {
    const NEEDS_NOW: bool = false;

    #[inline(always)]
    fn due(&self, now: u64) -> Option<u64> {
        Some(now)
    }

    #[inline(always)]
    fn submitted(&mut self) {}

    fn lag(&self, _: u64) -> u64 {
        0
    }
}

/// Open loop: I/Os start on a schedule, whether the device keeps up or not.
#[derive(Debug, Clone)]
pub struct Open {
    next: u64,
    step: u64,
    /// The step's and the position's fractions of a tick, in 2^-32.
    step_fraction: u32,
    fraction: u32,
}

impl Open {
    /// A schedule of one I/O every `ticks`, the first at `start`.
    #[must_use]
    pub fn new(start: u64, ticks: f64) -> Self {
        Self {
            next: start,
            step: ticks as u64,
            step_fraction: (ticks.fract() * 4_294_967_296.0) as u32,
            fraction: 0,
        }
    }
}

impl Pacing for Open {
    const NEEDS_NOW: bool = true;

    #[inline]
    fn due(&self, now: u64) -> Option<u64> {
        (self.next <= now).then_some(self.next)
    }

    #[inline]
    fn submitted(&mut self) {
        let (fraction, carry) = self.fraction.overflowing_add(self.step_fraction);
        self.fraction = fraction;
        self.next += self.step + u64::from(carry);
    }

    fn lag(&self, now: u64) -> u64 {
        now.saturating_sub(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_with_a_fractional_step_does_not_drift() {
        let mut open = Open::new(0, 3.3);
        for _ in 0..1_000_000 {
            open.submitted();
        }
        assert!(
            (3_299_999..=3_300_001).contains(&open.next),
            "{}",
            open.next
        );
    }

    #[test]
    fn an_io_starts_when_it_was_due_however_late_it_is_asked_for() {
        let open = Open::new(100, 10.0);
        assert_eq!(open.due(99), None);
        assert_eq!(open.due(5000), Some(100));
        assert_eq!(open.lag(5000), 4900);
    }
}
