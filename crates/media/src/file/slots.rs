//! Slots: where bytes stay while the machine moves them.
//!
//! The host's memory is touched only inside `start` and `Landing::blocks`, so everything between the two is here: one
//! contiguous piece of memory cut into slots of a few sizes. Orders that move no bytes of their own take a *seat*, a slot
//! without memory, so that their number is bounded in the same way.

use mem::{Backing, Region, RegionError, Span, Window};

use super::limits::{TRANSFER_BYTES_MAX, ZEROES_BYTES};

/// One size of slot.
struct Class {
    /// Bytes of each.
    bytes: usize,
    count: u16,
    /// How many one side may hold. Both sides always find some, so neither starves: reads keep theirs until they are
    /// answered, writes until they are over.
    side_max: u16,
}

/// Small slots are many, for random I/O at depth; the middle size is what kernels split large I/O into; the large one holds the
/// largest transfer. Together 48 MiB of address space, of which the machine gives only what is touched.
const CLASSES: [Class; CLASS_COUNT] = [
    Class {
        bytes: 16 << 10,
        count: 512,
        side_max: 384,
    },
    Class {
        bytes: 128 << 10,
        count: 64,
        side_max: 48,
    },
    Class {
        bytes: TRANSFER_BYTES_MAX,
        count: 16,
        side_max: 12,
    },
    Class {
        bytes: 0,
        count: 64,
        side_max: 64,
    },
];
pub(super) const CLASS_COUNT: usize = 4;

/// The class of seats.
pub(super) const SEATS: usize = CLASS_COUNT - 1;

/// Bytes of the smallest slots, which lie at the beginning of the memory: worth registering with the kernel, because
/// pinning pages for each I/O is a large part of the cost of a small one.
pub(super) const SMALL_BYTES: usize = CLASSES[0].bytes * CLASSES[0].count as usize;

/// Who holds a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Keeps it, at worst, until the next poll answers.
    Reads,
    /// Keeps it until the disk is done with it, whatever the caller does.
    Writes,
}

/// A slot that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    class: u8,
    index: u16,
    side: Side,
}

/// All slots and their memory.
#[derive(Debug)]
pub(super) struct Slots {
    memory: Window,
    free: [Vec<u16>; CLASS_COUNT],
    /// For each class, how many the reads and the writes hold.
    held: [[u16; 2]; CLASS_COUNT],
}

impl Slots {
    pub(super) fn new() -> Result<Self, RegionError> {
        let bytes: usize = CLASSES
            .iter()
            .map(|class| class.bytes * usize::from(class.count))
            .sum();
        let region = Region::allocate(bytes + ZEROES_BYTES, Backing::Anonymous)?;
        Ok(Self {
            memory: region.whole(),
            // Taken from the end: those used last come first, while they are in the cache.
            free: CLASSES.map(|class| (0..class.count).rev().collect()),
            held: [[0; 2]; CLASS_COUNT],
        })
    }

    /// The memory of all slots.
    pub(super) fn memory(&self) -> &Window {
        &self.memory
    }

    /// The class of the smallest slot that holds so many bytes; the largest if none does.
    pub(super) fn class_for(len: u64) -> usize {
        CLASSES[..SEATS]
            .iter()
            .position(|class| len <= class.bytes as u64)
            .unwrap_or(SEATS - 1)
    }

    pub(super) fn take(&mut self, class: usize, side: Side) -> Option<Slot> {
        let held = &mut self.held[class][side as usize];
        if *held == CLASSES[class].side_max {
            return None;
        }
        let index = self.free[class].pop()?;
        *held += 1;
        Some(Slot {
            class: class as u8,
            index,
            side,
        })
    }

    pub(super) fn give(&mut self, slot: Slot) {
        let class = usize::from(slot.class);
        self.held[class][slot.side as usize] -= 1;
        self.free[class].push(slot.index);
    }

    /// Bytes of the slot.
    pub(super) fn bytes(slot: Slot) -> usize {
        CLASSES[usize::from(slot.class)].bytes
    }

    /// Where the slot's memory begins.
    pub(super) fn offset(slot: Slot) -> usize {
        let class = usize::from(slot.class);
        let before: usize = CLASSES[..class]
            .iter()
            .map(|class| class.bytes * usize::from(class.count))
            .sum();
        before + CLASSES[class].bytes * usize::from(slot.index)
    }

    /// The first bytes of the slot.
    pub(super) fn span(&self, slot: Slot, len: usize) -> Span<'_> {
        assert!(
            len <= Self::bytes(slot),
            "a slot holds what it was taken for"
        );
        let Some(span) = self.memory.span(Self::offset(slot), len) else {
            panic!("slots lie inside their memory");
        };
        span
    }

    /// Where [`ZEROES_BYTES`] zeroes begin, which nobody writes.
    pub(super) fn zeroes(&self) -> usize {
        self.memory.len() - ZEROES_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::super::ORDERS_MAX;
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_lie_on_pages() {
        let mut slots = Slots::new().expect("memory");
        let mut ranges = Vec::new();
        for class in 0..SEATS {
            for side in [Side::Reads, Side::Writes] {
                while let Some(slot) = slots.take(class, side) {
                    ranges.push((Slots::offset(slot), Slots::bytes(slot)));
                }
            }
        }
        assert_eq!(ranges.len(), 592);
        ranges.sort_unstable();
        assert!(
            ranges
                .windows(2)
                .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
        );
        assert!(ranges.iter().all(|range| range.0.is_multiple_of(4096)));
        let (last, bytes) = ranges[ranges.len() - 1];
        assert!(last + bytes <= slots.zeroes());
        assert!(slots.zeroes() + ZEROES_BYTES <= slots.memory().len());
    }

    #[test]
    fn neither_side_can_take_everything_and_all_come_back() {
        let mut slots = Slots::new().expect("memory");
        for (class, sizes) in CLASSES.iter().enumerate().take(SEATS) {
            for side in [Side::Reads, Side::Writes] {
                let taken: Vec<Slot> = core::iter::from_fn(|| slots.take(class, side)).collect();
                assert_eq!(taken.len(), usize::from(sizes.side_max));
                let other = if side == Side::Reads {
                    Side::Writes
                } else {
                    Side::Reads
                };
                let rest = slots.take(class, other).expect("the other side finds some");
                slots.give(rest);
                taken.into_iter().for_each(|slot| slots.give(slot));
            }
            assert_eq!(slots.free[class].len(), usize::from(sizes.count));
        }
    }

    #[test]
    fn every_slot_and_the_sync_can_be_with_the_disk_at_once() {
        let all: usize = CLASSES.iter().map(|class| usize::from(class.count)).sum();
        assert!(all < ORDERS_MAX);
    }

    #[test]
    fn a_length_gets_the_smallest_slot_that_holds_it() {
        for (len, class) in [
            (1, 0),
            (16 << 10, 0),
            ((16 << 10) + 1, 1),
            (1 << 20, 2),
            (1 << 40, 2),
        ] {
            assert_eq!(Slots::class_for(len), class, "{len} bytes");
        }
    }
}
