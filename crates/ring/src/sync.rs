//! The one place where atomics come from: the standard library, or loom's models of them.
//!
//! Loom stands in under `--cfg ring_loom`. Types are aliases and not re-exports so that the lint
//! that forbids atomics elsewhere still tells ours from the library's. Accesses are at most
//! acquire or release; where a store must be ordered before a later load, use
//! [`fence`]`(Ordering::SeqCst)` on both sides, which loom models (it does not model `SeqCst`
//! accesses).

#[cfg(not(ring_loom))]
mod real {
    #![expect(
        clippy::disallowed_types,
        reason = "this module is what the ban on atomics sends everyone to"
    )]

    /// 32-bit atomic word.
    pub type AtomicU32 = core::sync::atomic::AtomicU32;
    /// 64-bit atomic word.
    pub type AtomicU64 = core::sync::atomic::AtomicU64;
    /// Pointer-sized atomic word.
    pub type AtomicUsize = core::sync::atomic::AtomicUsize;
    /// Atomic flag.
    pub type AtomicBool = core::sync::atomic::AtomicBool;
    pub use core::sync::atomic::{Ordering, fence};

    /// Tells the processor that this thread is polling; costs about one line transfer on x86.
    #[inline(always)]
    pub fn spin_loop_hint() {
        core::hint::spin_loop();
    }
}

#[cfg(ring_loom)]
mod real {
    /// 32-bit atomic word.
    pub type AtomicU32 = loom::sync::atomic::AtomicU32;
    /// 64-bit atomic word.
    pub type AtomicU64 = loom::sync::atomic::AtomicU64;
    /// Pointer-sized atomic word.
    pub type AtomicUsize = loom::sync::atomic::AtomicUsize;
    /// Atomic flag.
    pub type AtomicBool = loom::sync::atomic::AtomicBool;
    pub use loom::sync::atomic::{Ordering, fence};

    /// Tells loom that this thread cannot go on until another one has run.
    pub fn spin_loop_hint() {
        loom::hint::spin_loop();
    }
}

pub use real::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, spin_loop_hint};
