//! The one lock of the room.
//!
//! A queue pair has one owner. Here several threads take turns at being it, because the kernel hands requests to whichever
//! thread reads next: with a thread of its own for the queue, each request would wake two more threads, and each wake-up
//! costs a thousand times what an uncontended lock does.
#![expect(
    clippy::disallowed_types,
    reason = "the threads of the mount take turns at owning the queue pair; crossing to the kernel costs 50 times an uncontended lock"
)]

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::limits;

/// What is owned by one thread at a time.
#[derive(Debug)]
pub(super) struct Owned<T>(Mutex<T>);

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits for the turn, which lasts as long as what is returned.
    ///
    /// A turn is short, so waiting for its end awake costs less than being woken up. If it is not over soon, its thread has
    /// lost its CPU, perhaps to this very one: then this thread sleeps until the turn is over. It does not yield: that would
    /// make a present of its whole time slice to whoever else is on the machine, and leave the turn where it is.
    ///
    /// # Panics
    /// If a thread panicked in its turn: what it left behind is not to be relied upon. The kernel's requests then end with
    /// `EIO`, and the mount with its last thread.
    #[inline]
    pub(super) fn turn(&self) -> MutexGuard<'_, T> {
        for _ in 0..limits::TURN_SPINS {
            match self.0.try_lock() {
                Err(TryLockError::WouldBlock) => core::hint::spin_loop(),
                Ok(turn) => return turn,
                Err(TryLockError::Poisoned(_)) => break,
            }
        }
        self.0.lock().expect("no thread panics in its turn")
    }

    /// Ends the sharing.
    pub(super) fn into_inner(self) -> T {
        self.0.into_inner().expect("no thread panics in its turn")
    }
}

/// A turn.
pub(super) type Turn<'o, T> = MutexGuard<'o, T>;
