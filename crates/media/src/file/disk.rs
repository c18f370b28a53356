//! What lies below file media: something that takes orders and says when they are over.

use core::fmt::Debug;

use rustix::io::Errno;

/// What to do with a range of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Fill the memory at this offset from the file.
    Read {
        /// Offset in the window that the disk was made with, in bytes.
        memory: usize,
    },
    /// Write the memory at this offset to the file.
    Write {
        /// Offset in the window that the disk was made with, in bytes.
        memory: usize,
        /// Over only when this write, and whatever is needed to find it again, would survive a loss of power.
        durable: bool,
    },
    /// Make every order that was over before this one was given survive a loss of power. The range means nothing.
    Sync,
    /// Give the range back; it reads as zeroes.
    PunchHole,
    /// Make the range read as zeroes.
    ZeroRange,
}

/// One order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The giver's name for it.
    pub tag: u32,
    /// What to do.
    pub action: Action,
    /// The first byte in the file.
    pub at: u64,
    /// How many bytes; at least one, but for a sync.
    pub len: u64,
}

/// An order that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which one.
    pub tag: u32,
    /// The bytes read or written, which may be fewer than ordered (zero at the end of the file); zero for other actions.
    /// Or the machine's refusal.
    pub outcome: Result<usize, Errno>,
}

/// Carries out orders, in any sequence. Each is over exactly once. At most [`ORDERS_MAX`](super::ORDERS_MAX) are given and not over.
pub trait Disk: Send + Debug {
    /// Takes an order; does not have to begin it.
    fn order(&mut self, order: Order);

    /// Begins what was ordered and finds out what is over. Never waits.
    fn advance(&mut self);

    /// As [`advance`](Self::advance), but waits until [`ended`](Self::ended) has something to say, unless no order is given.
    fn wait(&mut self);

    /// An order that is over; none if this is not yet known of any.
    fn ended(&mut self) -> Option<Ended>;
}
