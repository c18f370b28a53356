//! Every bound of the driver, with its reason.

use core::time::Duration;

/// The memory page in bytes that the driver asks for in CC.MPS. Every controller offers it but a few exotic ones.
pub const PAGE_BYTES: usize = 4096;

/// Bytes of one command's data at most: what one page of 512 PRP entries describes, wherever in its first page the data
/// begins.
pub const TRANSFER_BYTES_MAX: u32 = 2 << 20;

/// Entries of the admin queues: one synchronous command and the event requests, with ample room for the confusion of
/// a controller that answers twice. The standard's bound is 4096 [NVMe Base 2.0 §3.1.3.8].
pub const ADMIN_ENTRIES: u32 = 32;

/// Bytes of one admin command's data at most: the longest Error Information log, 256 entries of 64 bytes.
pub const ADMIN_DATA_BYTES: usize = 16 << 10;

/// Asynchronous Event Requests kept outstanding. One would do; a few let events of several types arrive at once.
pub const EVENT_REQUESTS: u32 = 4;

/// Entries of one I/O queue at most: the standard's own bound [NVMe Base 2.0 §3.3.3.1].
pub const QUEUE_ENTRIES_MAX: u32 = 65536;

/// I/O queue pairs asked for unless the caller says otherwise: one for each CPU of a large machine.
pub const QUEUE_PAIRS_WANTED: u16 = 128;

/// Active namespaces that are looked at at most. Each costs one Identify; a controller with more is refused, because one
/// that makes identifiers up could go on to four billion.
pub const NAMESPACES_MAX: usize = 8192;

/// The smallest logical block as a power of two: 512 bytes, the standard's minimum [NVM Command Set 1.0 §4.1.5.1].
pub const BLOCK_SHIFT_MIN: u32 = 9;

/// The largest logical block as a power of two: 64 KiB. No drive has more, and a block has to fit a bounce buffer.
pub const BLOCK_SHIFT_MAX: u32 = 16;

/// Logical blocks of one Read, Write or Write Zeroes at most: their count field has 16 bits, 0's based.
pub const COMMAND_BLOCKS_MAX: u32 = 1 << 16;

/// Logical blocks of one deallocated range at most: the largest power of two that its 32-bit length holds.
pub const DISCARD_BLOCKS_MAX: u64 = 1 << 31;

/// Completions that name no command in flight, within one wait of the admin queue, after which the controller counts as
/// broken. Two laps of the queue: stale entries after a reset can never be as many.
pub const BOGUS_COMPLETIONS_MAX: u64 = 2 * ADMIN_ENTRIES as u64;

/// The least patience for CSTS.RDY. Some controllers say zero in CAP.TO and still need a moment.
pub const READY_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// The most patience for CSTS.RDY. CAP.TO says at most two minutes, but CRTO could say nine hours.
pub const READY_TIMEOUT_MAX: Duration = Duration::from_secs(300);

/// The least patience for a shutdown, for controllers that do not say how long theirs takes (Identify's RTD3E is zero).
pub const SHUTDOWN_TIMEOUT_MIN: Duration = Duration::from_secs(10);

/// The most patience for a shutdown. RTD3E could say 71 minutes.
pub const SHUTDOWN_TIMEOUT_MAX: Duration = Duration::from_secs(120);

/// Patience for an admin command unless the caller says otherwise: Linux's figure, which drives are built for.
pub const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Patience for an I/O command unless the caller says otherwise: Linux's figure, which drives are built for.
pub const IO_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a wait looks at CSTS. A look may be a trip over a socket, so not on every turn; and a failed controller
/// should not cost the whole time-out.
pub const STATUS_PERIOD: Duration = Duration::from_millis(100);

/// Commands that a block device keeps in flight unless the caller says otherwise.
pub const BLOCK_DEPTH: u32 = 32;

/// Bytes of one bounce buffer unless the caller says otherwise. With [`BLOCK_DEPTH`] of them: 4 MiB.
pub const BOUNCE_BYTES: u32 = 128 << 10;

/// How often one call of a block device resets the controller and tries again before it gives up.
pub const RECOVERIES_MAX: u32 = 2;
