//! Memory that a controller can reach: a window and its I/O virtual address.

use crate::limits::POOL_BUFFERS_MAX;
use crate::map::Iova;
use crate::window::Window;

/// Bytes that are contiguous both in host memory and in I/O virtual addresses.
#[derive(Clone, Debug)]
pub struct DmaBuffer {
    window: Window,
    iova: Iova,
}

impl DmaBuffer {
    /// `window`, which the controller sees at `iova`.
    #[must_use]
    pub const fn new(window: Window, iova: Iova) -> Self {
        Self { window, iova }
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// Address of the first byte, as the controller sees it.
    #[inline]
    #[must_use]
    pub const fn iova(&self) -> Iova {
        self.iova
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// A part of this buffer, or nothing if it is not inside.
    #[must_use]
    pub fn slice(&self, offset: usize, len: usize) -> Option<Self> {
        let window = self.window.window(offset, len)?;
        let iova = self.iova.get().checked_add(u64::try_from(offset).ok()?)?;
        Some(Self {
            window,
            iova: Iova::new(iova),
        })
    }
}

/// One buffer of a [`BufferPool`]. Whoever has it owns its bytes until it is given back.
#[derive(Debug)]
pub struct PoolBuffer {
    index: usize,
    buffer: DmaBuffer,
}

impl PoolBuffer {
    /// Number of this buffer in its pool, from 0.
    #[inline]
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The buffer itself.
    #[inline]
    #[must_use]
    pub const fn buffer(&self) -> &DmaBuffer {
        &self.buffer
    }
}

/// Buffers of one size, carved out of one [`DmaBuffer`]. Taking and giving move a handle: nothing is
/// allocated and no reference count changes.
#[derive(Debug)]
pub struct BufferPool {
    whole: DmaBuffer,
    buffer_len: usize,
    count: usize,
    free: Vec<PoolBuffer>,
}

impl BufferPool {
    /// As many buffers of `buffer_len` bytes as fit into `whole`; the lowest are taken first.
    ///
    /// # Panics
    /// If `buffer_len` is 0, or more than [`POOL_BUFFERS_MAX`] buffers would come of it.
    #[must_use]
    pub fn new(whole: DmaBuffer, buffer_len: usize) -> Self {
        assert!(buffer_len > 0, "a buffer has bytes");
        let count = whole.len() / buffer_len;
        assert!(
            count <= POOL_BUFFERS_MAX,
            "{count} buffers wanted, {POOL_BUFFERS_MAX} possible"
        );
        let carve = |index| {
            let buffer = whole.slice(index * buffer_len, buffer_len)?;
            Some(PoolBuffer { index, buffer })
        };
        let free: Vec<_> = (0..count).rev().filter_map(carve).collect();
        assert_eq!(
            free.len(),
            count,
            "a DMA buffer ends within 64-bit addresses"
        );
        Self {
            whole,
            buffer_len,
            count,
            free,
        }
    }

    /// A free buffer, or nothing when all are taken. Its bytes are as the last owner left them.
    #[inline]
    pub fn take(&mut self) -> Option<PoolBuffer> {
        self.free.pop()
    }

    /// Gives a buffer back.
    ///
    /// # Panics
    /// If it belongs to another pool.
    #[inline]
    pub fn give(&mut self, buffer: PoolBuffer) {
        assert!(
            self.owns(&buffer),
            "a buffer goes back to the pool it came from"
        );
        self.free.push(buffer);
    }

    /// Bytes in one buffer.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        self.buffer_len
    }

    /// Buffers in all, taken ones included.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Buffers that can be taken now.
    #[must_use]
    pub const fn free(&self) -> usize {
        self.free.len()
    }

    /// The memory that the buffers were carved of.
    #[must_use]
    pub const fn whole(&self) -> &DmaBuffer {
        &self.whole
    }

    fn owns(&self, returned: &PoolBuffer) -> bool {
        let (ours, theirs) = (self.whole.window(), returned.buffer.window());
        returned.index < self.count
            && self.free.len() < self.count
            && theirs.len() == self.buffer_len
            && theirs.region().is_same(ours.region())
            && theirs.region_offset() == ours.region_offset() + returned.index * self.buffer_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backing, Region};

    fn buffer() -> DmaBuffer {
        let region = Region::allocate(8192, Backing::Anonymous).unwrap();
        DmaBuffer::new(region.window(512, 4096).unwrap(), Iova::new(0x1_0000))
    }

    #[test]
    fn a_slice_moves_the_window_and_the_address_together() {
        let slice = buffer().slice(100, 200).unwrap().slice(10, 20).unwrap();
        assert_eq!((slice.iova(), slice.len()), (Iova::new(0x1_006e), 20));
        assert_eq!(slice.window().region_offset(), 512 + 110);
        assert!(buffer().slice(4000, 97).is_none());
        assert!(buffer().slice(usize::MAX, 2).is_none());
        assert!(buffer().slice(4096, 0).unwrap().is_empty());
    }

    #[test]
    fn every_buffer_is_handed_out_once_until_it_comes_back() {
        let mut pool = BufferPool::new(buffer(), 1000);
        assert_eq!((pool.count(), pool.free(), pool.buffer_len()), (4, 4, 1000));
        let taken: Vec<_> = core::iter::from_fn(|| pool.take()).collect();
        assert_eq!(
            taken.iter().map(PoolBuffer::index).collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
        for buffer in &taken {
            let expected = pool.whole().slice(buffer.index() * 1000, 1000).unwrap();
            assert!(buffer.buffer().window().is_same(expected.window()));
            assert_eq!(buffer.buffer().iova(), expected.iova());
        }
        for buffer in taken {
            pool.give(buffer);
        }
        assert_eq!((pool.free(), pool.take().unwrap().index()), (4, 3));
    }

    #[test]
    fn a_pool_larger_than_its_memory_is_empty() {
        assert!(BufferPool::new(buffer(), 4097).take().is_none());
    }

    #[test]
    #[should_panic(expected = "the pool it came from")]
    fn a_buffer_of_another_pool_is_our_bug() {
        let (mut here, mut there) = (BufferPool::new(buffer(), 64), BufferPool::new(buffer(), 64));
        let _taken = here.take();
        here.give(there.take().unwrap());
    }
}
