//! All that the driver needs of its world.

use core::time::Duration;

use mem::{DmaBuffer, Window};

/// How a driver reaches one controller: its registers, its doorbells, memory that both reach, and time.
///
/// The clock is the link's: it may be the machine's or a simulator's. Every wait of the driver alternates
/// [`relax`](Self::relax) and [`now`](Self::now) and gives up when its bound has passed, so a link whose `relax` never lets
/// its clock move on breaks the promise that no wait is endless.
pub trait Link {
    /// Reads a controller register `offset` bytes into BAR0. `bytes` is 4 or 8.
    ///
    /// # Errors
    /// When the controller cannot be reached. A controller that has left the bus reads as all ones instead.
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError>;

    /// Writes a controller register `offset` bytes into BAR0. `bytes` is 4 or 8.
    ///
    /// # Errors
    /// When the controller cannot be reached.
    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError>;

    /// The doorbells: BAR0 from 1000h on.
    fn doorbells(&self) -> Window;

    /// Memory for queues and data: zeroed, aligned to a page, contiguous in the controller's addresses. It lives as long
    /// as the link, or until [`free`](Self::free).
    ///
    /// # Errors
    /// When there is no memory, or no address for it.
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError>;

    /// Takes memory back that the controller does not use any more.
    fn free(&mut self, buffer: DmaBuffer);

    /// The time since some start that never changes.
    fn now(&mut self) -> Duration;

    /// Lets time pass while the driver waits: an in-line controller gets a turn, a threaded one a hint to the processor, a
    /// simulated one virtual time.
    fn relax(&mut self);
}

/// What went wrong between the driver and the controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The other end has ended.
    #[error("the controller's end of the link is gone; open the device again")]
    Gone,
    /// There is no memory that the controller could reach.
    #[error("wanted {bytes} bytes of memory that the controller reaches: {reason}")]
    Memory {
        /// The bytes wanted.
        bytes: usize,
        /// What the machine or the other end said.
        reason: String,
    },
    /// A register access failed.
    #[error("register access at {offset:#x}: {reason}")]
    Register {
        /// Bytes into BAR0.
        offset: u32,
        /// What the machine or the other end said.
        reason: String,
    },
}
