//! The maxima of file media, each with its reason.

use crate::TOKENS_MAX;

/// Requests that are started and not answered at most: one for each token, and as many again because the ranges of a
/// Dataset Management command share one.
pub(super) const JOBS_MAX: usize = 2 * TOKENS_MAX as usize;

/// From so many requests on, a Deallocate or Flush is carried out inside `start`, so that requests that have a token of
/// their own always find room.
pub(super) const JOBS_SHARED_MAX: usize = TOKENS_MAX as usize;

/// Bytes that one request moves at most: the largest transfer of our controllers.
pub const TRANSFER_BYTES_MAX: usize = 2 << 20;

/// Alignment of every slot, in bytes: what O_DIRECT asks for at most on the disks of our time.
pub(super) const MEMORY_ALIGN: u32 = 4096;

/// Zeroes that are kept to be written, in bytes: enough that the call is not what costs, little enough to stay in the cache.
pub(super) const ZEROES_BYTES: usize = 256 << 10;

/// Orders that are with a [`Disk`](super::Disk) at most: one for each slot and seat, and the one sync.
pub const ORDERS_MAX: usize = 1024;

/// A piece that the machine interrupts so often without moving a byte is given up.
pub(super) const RETRIES_MAX: u8 = 16;

/// Kinds of trouble that are told apart in the log; what comes after counts as one kind.
pub(super) const TROUBLES_MAX: usize = 32;

/// Orders that are handed to the kernel together at most, before the caller polls: four share the cost of entering it, and the
/// first does not wait long for the last.
pub(super) const BEGIN_TOGETHER_MAX: usize = 4;
