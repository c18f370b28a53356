//! How a thread waits for a device without starving others of the CPU, or being starved by them.
//!
//! A thread that waits awake answers soonest, and between its looks it offers its CPU to the mount's other threads and to the
//! program that asks: on a machine of their own they are back within microseconds. Where strangers want the CPU as well, an
//! offer gives them a whole time slice, milliseconds, as if this thread had used it. A thread that sleeps instead has used
//! little, and gets the CPU back soon. So a thread waits awake until it is found to have lost its CPU, and naps for a while
//! from then on.

use core::cell::Cell;
use core::num::NonZeroU64;
use core::time::Duration;

use crate::limits;

thread_local! {
    /// Waits of this thread that are still naps, because others wanted its CPU.
    static CROWDED: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread's naps end when they should.
    static PUNCTUAL: Cell<bool> = const { Cell::new(false) };
}

/// One wait.
#[derive(Debug, Default)]
pub(super) struct Patience {
    looks: u32,
}

impl Patience {
    /// Takes note of the longest time between two looks at the device: was the CPU lost?
    pub(super) fn note(lapse: Duration) {
        if lapse >= limits::LOST_AFTER {
            CROWDED.set(limits::CROWDED_WAITS);
        }
    }

    /// Lets a moment pass, for a device that has been silent so long.
    pub(super) fn wait(&mut self, stalled_for: Duration) {
        let crowded = CROWDED.get();
        if crowded > 0 || stalled_for >= limits::PATIENT_AFTER {
            CROWDED.set(crowded.saturating_sub(1));
            return nap();
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks > limits::SPINS {
            std::thread::yield_now();
        } else {
            core::hint::spin_loop();
        }
    }

    /// What was waited for has come; the next wait is another.
    pub(super) fn renew(&mut self) {
        self.looks = 0;
    }
}

fn nap() {
    if !PUNCTUAL.replace(true) {
        // Refused, naps are longer, and nothing else.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(limits::NAP_SLACK_NS));
    }
    std::thread::sleep(limits::NAP);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_lost_its_processor_naps_for_a_while_and_no_longer() {
        let mut patience = Patience::default();
        Patience::note(limits::LOST_AFTER - Duration::from_nanos(1));
        assert_eq!(CROWDED.get(), 0);
        Patience::note(limits::LOST_AFTER);
        for left in (0..limits::CROWDED_WAITS).rev() {
            assert!(!PUNCTUAL.get() || left + 1 < limits::CROWDED_WAITS);
            patience.wait(Duration::ZERO);
            assert_eq!((CROWDED.get(), patience.looks), (left, 0));
        }
        assert!(PUNCTUAL.get());
        patience.wait(Duration::ZERO);
        assert_eq!(patience.looks, 1);
    }
}
