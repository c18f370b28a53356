//! Every bound of the links, with its reason.

use core::time::Duration;

/// How long the other end may take to answer a message: as long as QEMU gives it. An unmap waits for transfers to end.
pub const ANSWER: Duration = Duration::from_secs(5);

/// The first I/O virtual address handed out. Zero stays free, so that an address that was forgotten is one that fails.
pub const IOVA_FIRST: u64 = 2 << 20;

/// Addresses are handed out in steps of 2 MiB, the pages in which controllers look them up.
pub const IOVA_GRAIN: u64 = 2 << 20;

/// The end of the addresses: SPDK's target takes 47 bits and more, and so does every IOMMU.
pub const IOVA_END: u64 = 1 << 47;

/// Bytes of doorbells that are mapped: one page, which has those of 511 I/O queue pairs.
pub const DOORBELL_BYTES: usize = 4096;

/// Looks at the queue that a waiter takes without giving its CPU away.
pub const SPINS: u32 = 64;
