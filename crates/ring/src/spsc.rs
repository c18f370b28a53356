//! A bounded ring of fixed-size entries between one producer and one consumer.
//!
//! The ring lives in [`Words`]: the producer's index in word 0, the consumer's index
//! [`PAD_WORDS`] further on, and the entries after another [`PAD_WORDS`], each entry `N` words.
//! The memory starts zeroed. Indices count entries since the start and never wrap (2^64 entries);
//! the slot is the index masked by the capacity, a power of two, and every slot can be used.
//!
//! Each side keeps its own index, and the last value that it read of the other's. It reads the
//! other's word only when that value is no longer enough, and writes its own once per batch.
//!
//! Order: each index is released by its owner and acquired by the other. The producer's index
//! brings the entries; the consumer's index brings the fact that the slots have been read.

use core::fmt;

use crate::Words;
use crate::limits::{PAD_WORDS, SPSC_CAPACITY_MAX};

/// Word that holds the number of entries ever pushed.
const TAIL_WORD: usize = 0;
/// Word that holds the number of entries ever popped.
const HEAD_WORD: usize = PAD_WORDS;

/// Entries of `N` words that the two indices and their padding take up.
const fn header_entries<const N: usize>() -> usize {
    (2 * PAD_WORDS).div_ceil(N)
}

/// How many words a ring of `capacity` entries of `N` words needs.
///
/// # Panics
/// If `N` is zero.
#[must_use]
pub const fn words_needed<const N: usize>(capacity: usize) -> usize {
    (header_entries::<N>() + capacity) * N
}

/// The other side's index cannot be right: it lies behind one seen before, or further ahead than
/// the ring is long. The memory has been overwritten, or the peer is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadIndex {
    /// The index found in shared memory, in entries since the start.
    pub index: u64,
    /// The index of this side, in entries since the start.
    pub own: u64,
    /// Entries that the ring holds.
    pub capacity: usize,
}

impl fmt::Display for BadIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "peer's ring index {} does not fit ours, {}, in a ring of {} entries",
            self.index, self.own, self.capacity
        )
    }
}

impl core::error::Error for BadIndex {}

/// Checks capacity and memory once, so that the hot path need not.
fn check<W: Words, const N: usize>(words: &W, capacity: usize) {
    assert!(N > 0, "a ring entry has at least one word");
    assert!(
        capacity.is_power_of_two() && capacity <= SPSC_CAPACITY_MAX,
        "ring capacity {capacity} is not a power of two up to {SPSC_CAPACITY_MAX}"
    );
    let wanted = words_needed::<N>(capacity);
    let found = words.word_count();
    assert!(
        found >= wanted,
        "a ring of {capacity} entries needs {wanted} words, found {found}"
    );
}

/// Entry number of the slot for `index`, header included.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the mask keeps fewer bits than any usize has"
)]
const fn slot<const N: usize>(index: u64, capacity: usize) -> usize {
    header_entries::<N>() + (index as usize & (capacity - 1))
}

/// The side that pushes entries of `N` words.
#[derive(Debug)]
pub struct Producer<W, const N: usize> {
    words: W,
    capacity: usize,
    tail: u64,
    /// The consumer's index when it was last read.
    head_seen: u64,
}

impl<W: Words, const N: usize> Producer<W, N> {
    /// Makes the producer of an empty ring in zeroed `words`.
    ///
    /// # Panics
    /// If `capacity` is not a power of two within [`SPSC_CAPACITY_MAX`], or `words` has fewer than
    /// [`words_needed`].
    #[must_use]
    pub fn new(words: W, capacity: usize) -> Self {
        check::<W, N>(&words, capacity);
        Self {
            words,
            capacity,
            tail: 0,
            head_seen: 0,
        }
    }

    /// Entries that can be pushed, as far as the consumer's index last read tells.
    #[inline(always)]
    fn room_seen(&self) -> usize {
        self.capacity - used(self.head_seen, self.tail)
    }

    /// Reads the consumer's index again.
    #[inline]
    fn refresh(&mut self) -> Result<(), BadIndex> {
        // pairs with the release store in `Consumer::retire`
        let head = self.words.load_acquire(HEAD_WORD);
        if head < self.head_seen || head > self.tail {
            return Err(BadIndex {
                index: head,
                own: self.tail,
                capacity: self.capacity,
            });
        }
        self.head_seen = head;
        Ok(())
    }

    /// Pushes one entry if there is room, and says whether there was.
    ///
    /// # Errors
    /// [`BadIndex`] if the consumer's index cannot be right; nothing is pushed then.
    #[inline]
    pub fn push(&mut self, entry: &[u64; N]) -> Result<bool, BadIndex> {
        Ok(self.push_batch(core::slice::from_ref(entry))? == 1)
    }

    /// Pushes as many of `entries` as there is room for, in order, makes them visible with one
    /// store, and returns how many.
    ///
    /// # Errors
    /// [`BadIndex`] if the consumer's index cannot be right; nothing is pushed then.
    #[inline]
    pub fn push_batch(&mut self, entries: &[[u64; N]]) -> Result<usize, BadIndex> {
        if self.room_seen() < entries.len() {
            self.refresh()?;
        }
        let count = entries.len().min(self.room_seen());
        for entry in &entries[..count] {
            self.words
                .store_entry(slot::<N>(self.tail, self.capacity), entry);
            self.tail += 1;
        }
        if count != 0 {
            // pairs with the acquire load in `Consumer::refresh`
            self.words.store_release(TAIL_WORD, self.tail);
        }
        Ok(count)
    }

    /// Entries that the ring holds.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The side that pops entries of `N` words.
#[derive(Debug)]
pub struct Consumer<W, const N: usize> {
    words: W,
    capacity: usize,
    head: u64,
    /// The producer's index when it was last read.
    tail_seen: u64,
}

impl<W: Words, const N: usize> Consumer<W, N> {
    /// Makes the consumer of an empty ring in zeroed `words`.
    ///
    /// # Panics
    /// If `capacity` is not a power of two within [`SPSC_CAPACITY_MAX`], or `words` has fewer than
    /// [`words_needed`].
    #[must_use]
    pub fn new(words: W, capacity: usize) -> Self {
        check::<W, N>(&words, capacity);
        Self {
            words,
            capacity,
            head: 0,
            tail_seen: 0,
        }
    }

    /// Reads the producer's index again.
    #[inline]
    fn refresh(&mut self) -> Result<(), BadIndex> {
        // pairs with the release store in `Producer::push_batch`
        let tail = self.words.load_acquire(TAIL_WORD);
        if tail < self.tail_seen || tail - self.head > self.capacity as u64 {
            return Err(BadIndex {
                index: tail,
                own: self.head,
                capacity: self.capacity,
            });
        }
        self.tail_seen = tail;
        Ok(())
    }

    /// Gives the slots of all entries popped so far back to the producer.
    #[inline(always)]
    fn retire(&mut self) {
        // pairs with the acquire load in `Producer::refresh`
        self.words.store_release(HEAD_WORD, self.head);
    }

    /// Whether an entry is waiting; reads the producer's index only if none was known of.
    ///
    /// # Errors
    /// [`BadIndex`] if the producer's index cannot be right.
    #[inline]
    pub fn ready(&mut self) -> Result<bool, BadIndex> {
        if self.tail_seen == self.head {
            self.refresh()?;
        }
        Ok(self.tail_seen != self.head)
    }

    /// Pops one entry, if there is one.
    ///
    /// # Errors
    /// [`BadIndex`] if the producer's index cannot be right; nothing is popped then.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<[u64; N]>, BadIndex> {
        if !self.ready()? {
            return Ok(None);
        }
        let entry = self.words.load_entry(slot::<N>(self.head, self.capacity));
        self.head += 1;
        self.retire();
        Ok(Some(entry))
    }

    /// Pops entries into `out`, in order, gives their slots back with one store, and returns how
    /// many. Entries already known of are handed out before the producer's index is read again,
    /// so a full `out` is not promised while more entries wait.
    ///
    /// # Errors
    /// [`BadIndex`] if the producer's index cannot be right; nothing is popped then.
    #[inline]
    pub fn pop_batch(&mut self, out: &mut [[u64; N]]) -> Result<usize, BadIndex> {
        if !self.ready()? {
            return Ok(0);
        }
        let count = out.len().min(used(self.head, self.tail_seen));
        for entry in &mut out[..count] {
            *entry = self.words.load_entry(slot::<N>(self.head, self.capacity));
            self.head += 1;
        }
        if count != 0 {
            self.retire();
        }
        Ok(count)
    }

    /// Entries that the ring holds.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Entries between the two indices; both sides keep this at or below the capacity.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "indices are at most a capacity apart, which is a usize"
)]
const fn used(head: u64, tail: u64) -> usize {
    (tail - head) as usize
}

#[cfg(all(test, not(ring_loom)))]
mod tests;
