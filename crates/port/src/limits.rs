//! Every bound of the ports, with its reason.

use core::time::Duration;

/// Bytes of BAR0. Windows refuses an NVMe function with less than 16 KiB.
pub const BAR0_BYTES: u64 = 16 << 10;

/// Where the doorbells begin in BAR0 [NVMe Base 2.0 §3.1.4].
pub const DOORBELLS: u64 = 0x1000;

/// Bytes of BAR0 that a client may map: the page of the doorbells, with room for 128 queue pairs and more.
pub const DOORBELL_BYTES: u64 = 0x1000;

/// Where the MSI-X table begins in BAR0: behind the page of doorbells, in a page that no client maps.
pub const MSIX_TABLE: u64 = 0x2000;

/// Where MSI-X's pending bits begin in BAR0: behind 2 KiB and more of table, in a page of their own.
pub const MSIX_PENDING: u64 = 0x3000;

/// MSI-X vectors: one for the admin queue and one for each I/O completion queue.
pub const VECTORS: u16 = 129;

/// Ticks between two looks at the mailbox: a register access waits some microseconds at most while queues are busy.
pub const TICKS_PER_MAIL: u32 = 64;

/// Ticks without work after which the thread of the queues begins to sleep in between: some 50 microseconds, longer than a
/// host needs between two commands of a queue that it keeps filled.
pub const IDLE_TICKS: u32 = 2048;

/// The first and the longest sleep of an idle thread. Each sleep is twice the one before: after a millisecond without
/// work it wakes up 1,000 times a second, which costs about 1 % of a CPU.
pub const NAP_MIN: Duration = Duration::from_micros(20);
/// See [`NAP_MIN`].
pub const NAP_MAX: Duration = Duration::from_millis(1);

/// DMA regions of one client at most: as many as the address map holds.
pub const DMA_MAPS_MAX: usize = mem::limits::MAPPINGS_MAX;

/// Clients that wait for their turn at most.
pub const BACKLOG: i32 = 16;

/// How long a client may take over one message, and over taking our answer: it has all of it in memory when it begins.
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long media may take over the last flush: as long as the driver gives them.
pub const SHUTDOWN: Duration = Duration::from_secs(30);
