//! What the measured loop needs of a queue pair. The driver's pair is the one that is measured; tests
//! bring their own, so that the loop is checked against devices that reorder, stall and corrupt.

use driver::QueuePair;
pub use driver::{Busy, Done, IoBuffer};
use spec::{Lba, NamespaceId};

/// A queue pair that one thread owns, bound to one namespace. Calls inline into the loop.
pub trait Queue {
    /// Commands that may be in flight.
    fn capacity(&self) -> u32;

    /// Writes a read of `blocks` blocks from `lba` on into the queue; `tag` comes back in [`Done`].
    ///
    /// # Errors
    /// [`Busy`] when every command slot is in use.
    fn read(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy>;

    /// Writes a write likewise.
    ///
    /// # Errors
    /// [`Busy`] when every command slot is in use.
    fn write(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy>;

    /// Shows the device what was written since the last call.
    fn publish(&mut self);

    /// Takes completions; returns how many.
    fn reap(&mut self, done: &mut [Done]) -> usize;

    /// Doorbells rung so far, of both queues.
    fn doorbells(&self) -> u64;
}

/// The driver's queue pair, bound to a namespace.
#[derive(Debug)]
pub struct NamespaceQueue {
    /// The queue pair.
    pub pair: QueuePair,
    /// The namespace that every command names.
    pub namespace: NamespaceId,
}

impl Queue for NamespaceQueue {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        self.pair.capacity()
    }

    #[inline(always)]
    fn read(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy> {
        self.pair
            .read(self.namespace, Lba::new(lba), blocks, buffer, tag)
    }

    #[inline(always)]
    fn write(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy> {
        self.pair
            .write(self.namespace, Lba::new(lba), blocks, buffer, tag)
    }

    #[inline(always)]
    fn publish(&mut self) {
        self.pair.publish();
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut [Done]) -> usize {
        self.pair.reap(done)
    }

    fn doorbells(&self) -> u64 {
        let counters = self.pair.counters();
        counters.submission_doorbells + counters.completion_doorbells
    }
}
