//! Every bound of the local joint, with its reason.

/// The distance between two allocations in the controller's addresses: the grain of the IOVA table. With one allocation
/// in each grain, no lookup ever leaves the table's fast path.
pub const IOVA_GRAIN: u64 = 2 << 20;

/// The first address given out. Zero stays unmapped, so that a forgotten PRP is refused and not obeyed.
pub const IOVA_FIRST: u64 = IOVA_GRAIN;

/// The end of the addresses given out: what the two-level IOVA table can hold for sure.
pub const IOVA_END: u64 = 1 << 46;

/// Ticks between two looks at the mailbox while commands keep coming.
pub const TICKS_PER_MAIL: u32 = 256;

/// Idle ticks after which the controller's thread offers its CPU to others. Far more than a queue depth of one needs to
/// bridge a round trip, and short enough that two threads on one CPU make progress.
pub const IDLE_TICKS_BEFORE_YIELD: u32 = 2000;
