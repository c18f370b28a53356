//! How a thread waits for a device without starving others of the CPU.

use core::time::Duration;

use crate::limits;

/// One wait.
#[derive(Debug, Default)]
pub(super) struct Patience {
    turns: u32,
}

impl Patience {
    /// Lets a moment pass: first a spin, then the CPU goes to others, and when the device has been silent for long, a nap.
    pub(super) fn wait(&mut self, stalled_for: Duration) {
        self.turns = self.turns.saturating_add(1);
        if stalled_for >= limits::PATIENT_AFTER {
            std::thread::sleep(limits::NAP);
        } else if self.turns > limits::SPINS {
            std::thread::yield_now();
        } else {
            core::hint::spin_loop();
        }
    }

    /// What was waited for has come; the next wait is another.
    pub(super) fn renew(&mut self) {
        self.turns = 0;
    }
}
