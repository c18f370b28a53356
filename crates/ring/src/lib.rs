//! Lock-free rings, queue index arithmetic, doorbells and waiting; the only home of atomics.
//!
//! # For
//! Everything that hands work from one owner thread to another: the two NVMe queues seen from both
//! sides, a bounded ring between two threads, and the art of waiting without losing a wake-up.
//!
//! # In
//! Memory behind the traits [`Words`] and [`Register32`], an index that the peer wrote, entries as
//! 64-bit words, and a [`wait::Sleeper`] that knows how to block a thread.
//!
//! # Out
//! Entries copied out of shared memory once, room and pending counts, and typed refusals
//! ([`queue::BadTail`], [`queue::BadHead`], [`spsc::BadIndex`]) for indices that cannot be right.
//!
//! # Never
//! No system call, clock, thread, lock or allocation on a hot path; no meaning of an
//! entry's bits except the phase tag; no sequentially consistent access, only fences.
//!
//! # Limits
//! One owner per side of a queue or ring. Depths and capacities are in [`limits`]. Loom checks the
//! orderings but does not explore load buffering.
//!
//! # Read first
//! [`queue`] for the hot path, then [`spsc`], then [`wait`]; the models are in `tests/loom_*.rs`.

#![deny(unsafe_code)]

pub mod limits;
#[expect(
    unsafe_code,
    reason = "entries are reached unchecked: a queue checks its memory once"
)]
pub mod queue;
pub mod spsc;
pub mod sync;
pub mod wait;
#[expect(
    unsafe_code,
    reason = "declares the unchecked accesses, and forwards them"
)]
mod words;

pub use words::{HeapRegister, HeapWords, Register32, Words};
