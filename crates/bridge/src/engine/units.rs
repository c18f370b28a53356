//! Units: a command slot with a buffer, and what it is used for at the moment.

use driver::IoBuffer;
use mem::DmaBuffer;

use super::plan::Piece;

/// No unit.
pub(super) const NONE: u16 = u16::MAX;

/// What the command in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It brings the rest of a block that is written in part.
    Fetch,
    /// With it, the piece is over.
    Last,
}

/// One buffer of the engine's, and the piece of a request that it is used for.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) buffer: DmaBuffer,
    pub(super) piece: Piece,
    pub(super) stage: Stage,
    /// The request that it works for.
    pub(super) job: u16,
    /// The next unit of the same request, or of the free list.
    next: u16,
}

impl Unit {
    /// The beginning of the buffer as a command's data.
    #[inline]
    pub(super) fn data(&self, bytes: usize) -> IoBuffer {
        debug_assert!(bytes <= self.buffer.len(), "pieces are cut to the buffer");
        IoBuffer::new(self.buffer.iova().get(), bytes as u32)
    }
}

/// All units. A request has a chain of them, in the order of its bytes; the rest are in the free list, of which the one
/// used last is taken first, so that a shallow queue stays within few cache lines.
#[derive(Debug)]
pub(super) struct Units {
    units: Box<[Unit]>,
    free: u16,
    free_count: usize,
}

impl Units {
    /// Units of `stride` bytes, as many as `memory` holds.
    pub(super) fn new(memory: &DmaBuffer, stride: usize) -> Self {
        let count = memory.len() / stride;
        let units: Box<[Unit]> = (0..count)
            .filter_map(|index| memory.slice(index * stride, stride))
            .enumerate()
            .map(|(index, buffer)| Unit {
                buffer,
                piece: Piece::NONE,
                stage: Stage::Last,
                job: 0,
                next: if index + 1 < count {
                    index as u16 + 1
                } else {
                    NONE
                },
            })
            .collect();
        assert_eq!(units.len(), count, "slices inside a buffer exist");
        Self {
            units,
            free: 0,
            free_count: count,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.units.len()
    }

    pub(super) fn free_count(&self) -> usize {
        self.free_count
    }

    /// Takes a unit out of the free list.
    ///
    /// # Panics
    /// If none is free: callers count first.
    #[inline]
    pub(super) fn take(&mut self, job: u16, piece: Piece, stage: Stage) -> u16 {
        let index = self.free;
        let unit = &mut self.units[usize::from(index)];
        self.free = unit.next;
        self.free_count -= 1;
        unit.piece = piece;
        unit.stage = stage;
        unit.job = job;
        unit.next = NONE;
        index
    }

    /// Hangs `next` behind `unit`.
    #[inline]
    pub(super) fn link(&mut self, unit: u16, next: u16) {
        self.units[usize::from(unit)].next = next;
    }

    /// The unit behind this one in its chain, or [`NONE`].
    #[inline]
    pub(super) fn after(&self, unit: u16) -> u16 {
        self.units[usize::from(unit)].next
    }

    /// Puts a whole chain back into the free list.
    #[inline]
    pub(super) fn give_chain(&mut self, first: u16) {
        let mut index = first;
        while index != NONE {
            let unit = &mut self.units[usize::from(index)];
            let next = unit.next;
            unit.next = self.free;
            self.free = index;
            self.free_count += 1;
            index = next;
        }
    }

    #[inline]
    pub(super) fn get(&self, unit: u16) -> &Unit {
        &self.units[usize::from(unit)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, unit: u16) -> &mut Unit {
        &mut self.units[usize::from(unit)]
    }
}
