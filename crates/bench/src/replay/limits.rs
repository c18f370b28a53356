//! The replay's maxima, each with its reason.

/// Bytes read of a trace file at a time: large enough that a system call costs little for each record, small enough that a
/// thousand per-CPU files together take 64 MiB.
pub const INPUT_BYTES: usize = 64 << 10;

/// Bytes of one line of a text trace at most: the longest path (4096) and room for the numbers around it. It fits
/// [`INPUT_BYTES`].
pub const LINE_BYTES_MAX: usize = 8 << 10;

/// Per-CPU files of one blktrace set at most: more CPUs than any machine that writes one.
pub const SOURCES_MAX: usize = 1024;

/// Files or devices that one trace may name at most. Their names are all that a trace costs in memory: at
/// [`LINE_BYTES_MAX`] each 128 MiB, in practice less than one.
pub const NAMES_MAX: usize = 16 << 10;

/// Bytes of one I/O at most: a block trace counts them in 32 bits.
pub const OP_BYTES_MAX: u64 = u32::MAX as u64;

/// I/Os that travel from the reading thread to the driving one together.
pub const BATCH_IOS: usize = 1024;

/// Batches read ahead, about half a mebibyte: a stall of the trace's own disk must not be seen as a late device.
pub const BATCHES_AHEAD: usize = 16;

/// The least and the most that `--speed` may be: a day in a second and a second in a day, both nearly.
pub const SPEED_MIN: f64 = 1e-4;
/// See [`SPEED_MIN`].
pub const SPEED_MAX: f64 = 1e5;

/// Commands in flight at most when nothing else is said and recorded times are kept. An open loop should not be held by
/// its own slots, and 256 buffers of the largest transfer are 256 MiB.
pub const RECORDED_DEPTH: u32 = 256;

/// Commands in flight when nothing else is said and times are dropped: that of `bench`.
pub const FAST_DEPTH: u32 = 32;

/// Nanoseconds before an I/O is due at which the driving thread stops sleeping and polls: the longest that waking up
/// takes on a machine that is not overloaded.
pub const AWAKE_NS: u64 = 1_000_000;

/// Nanoseconds that the driving thread sleeps at a stretch at most, so that it hears of the end of the run.
pub const SLEEP_NS_MAX: u64 = 50_000_000;

/// Lag at its 99th percentile, in nanoseconds, above which the replay is said not to have kept up: a quarter of a time
/// slice of the scheduler, and many times what polling takes.
pub const LAG_WARN_NS: u64 = 1_000_000;
