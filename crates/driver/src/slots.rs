//! Command slots: who may use which command identifier.

use spec::CommandId;

/// Every identifier that a command may have. The table is this long so that no identifier, whatever a controller makes
/// up, can point outside it; memory that is never used costs nothing.
const IDENTIFIERS: usize = 1 << 16;

/// Marks a slot in flight; the other bits are the caller's tag. A free slot holds the next free one.
const IN_FLIGHT: u64 = 1 << 63;

/// Ends the list of free slots. It names no slot, because a queue has one slot fewer than identifiers.
const END: u16 = u16::MAX;

/// The right to one command identifier. It is owned: submitting a command spends it, and only a completion that names an
/// identifier in flight gives it back, so none is used twice or lost on the way.
#[derive(Debug)]
#[must_use = "a slot that is dropped is lost to its queue"]
pub(crate) struct Slot(u16);

impl Slot {
    /// The command identifier that the slot stands for.
    #[inline(always)]
    pub(crate) fn cid(&self) -> CommandId {
        CommandId::new(self.0)
    }

    /// The slot's index into per-slot memory.
    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        usize::from(self.0)
    }
}

/// The slots of one queue. Free ones form a list threaded through the table, last in first out, so that a shallow queue
/// stays within few lines.
#[derive(Debug)]
pub(crate) struct Slots {
    table: Box<[u64; IDENTIFIERS]>,
    /// The first free slot, or [`END`].
    free: u16,
    in_flight: u32,
    capacity: u16,
}

impl Slots {
    /// All slots free.
    pub(crate) fn new(capacity: u16) -> Self {
        // Zeroed memory is not touched until it is used; zero means free.
        let table = vec![0; IDENTIFIERS].into_boxed_slice();
        let Ok(table) = table.try_into() else {
            unreachable!("the length is the array's")
        };
        let mut slots = Self {
            table,
            free: END,
            in_flight: 0,
            capacity,
        };
        slots.free_all();
        slots
    }

    fn free_all(&mut self) {
        self.free = END;
        for id in (0..self.capacity).rev() {
            self.table[usize::from(id)] = u64::from(self.free);
            self.free = id;
        }
        self.in_flight = 0;
    }

    /// Takes a slot for a command that the caller calls `tag`, which is below 2^63.
    #[inline(always)]
    pub(crate) fn claim(&mut self, tag: u64) -> Option<Slot> {
        debug_assert!(tag < IN_FLIGHT, "the top bit of a tag is ours");
        let id = self.free;
        if id == END {
            return None;
        }
        let slot = &mut self.table[usize::from(id)];
        self.free = *slot as u16; // the list holds identifiers only
        *slot = tag | IN_FLIGHT;
        self.in_flight += 1;
        Some(Slot(id))
    }

    /// Starts giving slots back. They count once the receipt is [settled](Self::settle).
    #[inline(always)]
    pub(crate) fn redeem(&mut self) -> Redeeming<'_> {
        Redeeming {
            table: &mut self.table,
            receipt: Receipt {
                free: u64::from(self.free),
                count: 0,
            },
        }
    }

    /// Takes note of the slots that were given back.
    #[inline(always)]
    pub(crate) fn settle(&mut self, receipt: Receipt) {
        self.free = receipt.free as u16; // the list holds identifiers only
        self.in_flight -= receipt.count;
    }

    /// How many commands are in flight.
    #[inline(always)]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How many commands may be in flight.
    pub(crate) fn capacity(&self) -> u32 {
        u32::from(self.capacity)
    }

    /// Frees every slot; returns the tags that were in flight, in order of identifier.
    pub(crate) fn abandon(&mut self) -> Vec<u64> {
        let used = self.table.iter().take(usize::from(self.capacity));
        let tags = used
            .filter(|&slot| slot & IN_FLIGHT != 0)
            .map(|slot| slot & !IN_FLIGHT)
            .collect();
        self.free_all();
        tags
    }
}

/// Slots being given back. Its state lies in registers, not in the table's owner, which every access to shared memory
/// would oblige the compiler to read again.
#[derive(Debug)]
pub(crate) struct Redeeming<'s> {
    table: &'s mut [u64; IDENTIFIERS],
    receipt: Receipt,
}

/// What slots were given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    free: u64,
    count: u32,
}

impl Redeeming<'_> {
    /// Gives back the slot of a completed command and says what the caller called it. `None`: no such command is in
    /// flight, so the controller made the identifier up.
    #[inline(always)]
    pub(crate) fn one(&mut self, cid: CommandId) -> Option<u64> {
        let slot = &mut self.table[usize::from(cid.get())];
        let found = *slot;
        if found & IN_FLIGHT == 0 {
            return None;
        }
        *slot = self.receipt.free;
        self.receipt = Receipt {
            free: u64::from(cid.get()),
            count: self.receipt.count + 1,
        };
        Some(found & !IN_FLIGHT)
    }

    /// What was given back so far.
    #[inline(always)]
    pub(crate) fn receipt(&self) -> Receipt {
        self.receipt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redeem(slots: &mut Slots, cid: CommandId) -> Option<u64> {
        let mut redeeming = slots.redeem();
        let tag = redeeming.one(cid);
        let receipt = redeeming.receipt();
        slots.settle(receipt);
        tag
    }

    #[test]
    fn identifiers_in_flight_are_unique_and_come_back_in_any_order() {
        let mut slots = Slots::new(3);
        let ids: Vec<_> = (10..13)
            .map(|tag| slots.claim(tag).expect("a free slot").cid())
            .collect();
        assert!(slots.claim(13).is_none(), "three slots only");
        assert_eq!(slots.in_flight(), 3);
        assert_eq!(redeem(&mut slots, ids[1]), Some(11));
        assert_eq!(redeem(&mut slots, ids[1]), None, "a completion counts once");
        assert_eq!(
            redeem(&mut slots, CommandId::new(3)),
            None,
            "beyond the capacity"
        );
        assert_eq!(
            redeem(&mut slots, CommandId::new(u16::MAX)),
            None,
            "far beyond"
        );
        assert_eq!(slots.claim(14).expect("a free slot").cid(), ids[1]);
        assert_eq!(slots.abandon(), [10, 14, 12]);
        assert_eq!(slots.in_flight(), 0);
        assert_eq!(slots.claim(15).expect("a free slot").cid().get(), 0);
    }

    #[test]
    fn a_queue_of_every_identifier_but_one_hands_each_out_once() {
        let mut slots = Slots::new(u16::MAX);
        let mut seen = vec![false; IDENTIFIERS];
        while let Some(slot) = slots.claim(1) {
            assert!(!core::mem::replace(&mut seen[slot.index()], true));
        }
        assert_eq!(
            seen.iter().filter(|&&seen| seen).count(),
            usize::from(u16::MAX)
        );
    }
}
