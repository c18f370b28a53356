//! The maxima of this crate, each with its reason.

/// Fewest entries of an NVMe queue: one slot always stays empty, so one entry could hold nothing.
/// `[NVMe Base 2.0 §3.3.1 Memory-based Transport Queue Model]`
pub const QUEUE_DEPTH_MIN: u32 = 2;

/// Most entries of an NVMe queue: the standard's queue size field is 16 bits wide and zero-based.
/// `[NVMe Base 2.0 §3.3.1 Memory-based Transport Queue Model]`
pub const QUEUE_DEPTH_MAX: u32 = 65_536;

/// 64-bit words of a submission queue entry (64 bytes).
pub const SUBMISSION_ENTRY_WORDS: usize = 8;

/// 64-bit words of a completion queue entry (16 bytes).
pub const COMPLETION_ENTRY_WORDS: usize = 2;

/// Most entries of a ring between two threads. Room is counted in `usize`, and a ring beyond this
/// would hide a slow consumer behind gigabytes of backlog.
pub const SPSC_CAPACITY_MAX: usize = 1 << 24;

/// 64-bit words between indices that different threads write. Processors of these families fetch
/// lines in pairs, or have lines of 128 bytes, so 64 bytes apart is still shared.
#[cfg(all(
    not(ring_loom),
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "powerpc64"
    )
))]
pub const PAD_WORDS: usize = 16;

/// 64-bit words between indices that different threads write: one line of 64 bytes.
#[cfg(all(
    not(ring_loom),
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "powerpc64"
    ))
))]
pub const PAD_WORDS: usize = 8;

/// 64-bit words between indices; a model has no lines, and each word more costs it time.
#[cfg(ring_loom)]
pub const PAD_WORDS: usize = 1;

/// Polls of an adaptive waiter before it gives way. A hint costs 29-41 ns on x86, so this is
/// about 4 us, several times a hand-over between distant processors and below a sleep's cost.
pub const SPINS: u32 = 100;

/// Give-ways of an adaptive waiter before it sleeps: each is a system call, so few.
pub const YIELDS: u32 = 4;
