//! Waiting for a peer: poll, then give way, then sleep, without losing a wake-up.
//!
//! [`Waiter::wait`] polls a condition that only this thread evaluates, such as "the ring has an
//! entry". The peer makes the condition true first and then calls [`Gate::notify`].
//!
//! States of a gate's word, and who may move it:
//!
//! | state | moved to by | meaning |
//! | --- | --- | --- |
//! | awake | waiter (condition true), or notifier (takes the announcement) | no wake-up is owed |
//! | asleep | waiter, before its last look at the condition | whoever makes the condition true wakes |
//!
//! Why no wake-up is lost: the waiter announces and then looks; the notifier changes what is
//! looked at and then reads the announcement; each has a full fence in between, so at least one
//! sees the other. If the notifier sees the announcement, it takes it back before it wakes, so a
//! waiter that has not yet gone to sleep finds the word changed and does not.
//!
//! The full fence costs the notifier 5-20 ns. Where the waiter never sleeps ([`Strategy::Spin`]),
//! the notifier need not notify.

use crate::sync::{AtomicU32, Ordering, fence, spin_loop_hint};

/// No wake-up is owed.
const AWAKE: u32 = 0;
/// The waiter sleeps, or is about to.
const ASLEEP: u32 = 1;

/// What blocks and wakes threads; the operating system's side of waiting, handed in.
pub trait Sleeper {
    /// Blocks while `word` holds `expected`, until [`wake`](Self::wake) is called for this word.
    ///
    /// The comparison and going to sleep are one step with respect to `wake`, as a futex wait is.
    /// It may return early for any reason, and an implementation may bound the time it sleeps.
    fn sleep(&self, word: &AtomicU32, expected: u32);

    /// Wakes the thread that sleeps on `word`, if there is one.
    fn wake(&self, word: &AtomicU32);

    /// Lets another thread run on this processor.
    fn give_way(&self);
}

/// Where one waiter announces that it sleeps. Only one thread waits at a gate; any may notify.
#[derive(Debug)]
pub struct Gate {
    word: AtomicU32,
}

impl Gate {
    /// Makes a gate with nobody asleep.
    #[must_use]
    pub fn new() -> Self {
        Self {
            word: AtomicU32::new(AWAKE),
        }
    }

    /// Wakes the waiter if it sleeps or is about to. The caller has made the waiter's condition
    /// true before. Returns whether a wake-up was needed, which counts system calls.
    #[inline]
    pub fn notify(&self, sleeper: &impl Sleeper) -> bool {
        // pairs with the fence in `Gate::announce`: what the caller stored before this is seen by
        // the waiter's last look, or the waiter's announcement is seen below
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) == AWAKE {
            return false;
        }
        self.wake(sleeper)
    }

    /// Takes the announcement and wakes; of several notifiers one does.
    #[cold]
    fn wake(&self, sleeper: &impl Sleeper) -> bool {
        // pairs with the swaps in `Gate::announce` and `Gate::withdraw`
        let announced = self.word.swap(AWAKE, Ordering::AcqRel) == ASLEEP;
        if announced {
            sleeper.wake(&self.word);
        }
        announced
    }

    /// Says that this thread is about to sleep; it must look at its condition once more.
    fn announce(&self) {
        // pairs with the swap in `Gate::wake`: a wake-up for an earlier entry that comes late is
        // ordered with this announcement, so that it cannot hide it from the same notifier's
        // next look (with a plain store the loom model reports a lost wake-up)
        self.word.swap(ASLEEP, Ordering::AcqRel);
        // pairs with the fence in `Gate::notify`
        fence(Ordering::SeqCst);
    }

    /// Takes back the announcement.
    fn withdraw(&self) {
        // pairs with the swap in `Gate::wake`, as in `Gate::announce`
        self.word.swap(AWAKE, Ordering::AcqRel);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Polls for ever. Right when the peer runs on another processor of its own; with the peer on
    /// the same processor, nothing happens until the scheduler takes the processor away.
    Spin,
    /// Polls, then gives way between polls, then sleeps. Makes progress on a single processor.
    Adaptive {
        /// Polls with a processor hint in between, before the first give-way.
        spins: u32,
        /// Polls with a give-way in between, before the first sleep.
        yields: u32,
    },
}

impl Strategy {
    /// Adaptive waiting with [`SPINS`](crate::limits::SPINS) and
    /// [`YIELDS`](crate::limits::YIELDS).
    #[must_use]
    pub const fn adaptive() -> Self {
        Self::Adaptive {
            spins: crate::limits::SPINS,
            yields: crate::limits::YIELDS,
        }
    }
}

/// How often a waiter went further than polling; for reports on what waiting cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Times it gave way to other threads.
    pub yields: u64,
    /// Times it asked to sleep.
    pub sleeps: u64,
}

/// One thread's way of waiting, with its counts.
#[derive(Debug)]
pub struct Waiter {
    strategy: Strategy,
    counts: WaitCounts,
}

impl Waiter {
    /// Makes a waiter that uses `strategy`.
    #[must_use]
    pub const fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            counts: WaitCounts {
                yields: 0,
                sleeps: 0,
            },
        }
    }

    /// What waiting took so far.
    #[must_use]
    pub const fn counts(&self) -> WaitCounts {
        self.counts
    }

    /// Returns once `ready` has returned true. A reason to stop (shutdown, a time-out) is part of
    /// `ready`, and whoever gives that reason notifies the gate too.
    #[inline]
    pub fn wait(&mut self, gate: &Gate, sleeper: &impl Sleeper, mut ready: impl FnMut() -> bool) {
        if ready() {
            return;
        }
        match self.strategy {
            Strategy::Spin => {
                while !ready() {
                    spin_loop_hint();
                }
            }
            Strategy::Adaptive { spins, yields } => {
                for _ in 0..spins {
                    spin_loop_hint();
                    if ready() {
                        return;
                    }
                }
                for _ in 0..yields {
                    self.counts.yields += 1;
                    sleeper.give_way();
                    if ready() {
                        return;
                    }
                }
                self.sleep(gate, sleeper, &mut ready);
            }
        }
    }

    /// Sleeps until `ready`; every sleep is announced, and every announcement followed by a look.
    #[cold]
    fn sleep(&mut self, gate: &Gate, sleeper: &impl Sleeper, ready: &mut impl FnMut() -> bool) {
        loop {
            gate.announce();
            if ready() {
                gate.withdraw();
                return;
            }
            self.counts.sleeps += 1;
            sleeper.sleep(&gate.word, ASLEEP);
        }
    }
}

#[cfg(all(test, not(ring_loom)))]
mod tests;
