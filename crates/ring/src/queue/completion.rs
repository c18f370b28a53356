//! The completion queue: the device's tail and the host's head.

use core::fmt;

use super::{check, distance, narrow, next};
use crate::limits::COMPLETION_ENTRY_WORDS;
use crate::{Register32, Words};

/// The phase tag within the second word: bit 16 of dword 3.
///
/// `[NVMe Base 2.0 §3.3.3.2 Common Completion Queue Entry]`
const PHASE: u64 = 1 << 48;

/// The device's side of a completion queue: where the next completion goes.
#[derive(Debug)]
pub struct CompletionTail<W> {
    words: W,
    depth: u32,
    tail: u32,
    /// The host's head when it was last observed.
    head: u32,
    /// [`PHASE`] or zero: what this round through the queue stores.
    phase: u64,
}

impl<W: Words> CompletionTail<W> {
    /// Makes the device's side of an empty queue of `depth` entries of 16 bytes. The host has
    /// zeroed the memory, so the first round stores a phase tag of one.
    ///
    /// # Panics
    /// If `depth` is not in 2..=65,536 or `words` holds fewer than `depth` entries.
    #[must_use]
    pub fn new(words: W, depth: u32) -> Self {
        check(&words, depth, COMPLETION_ENTRY_WORDS);
        Self {
            words,
            depth,
            tail: 0,
            head: 0,
            phase: PHASE,
        }
    }

    /// How many completions may be posted, as far as the head last observed tells. The slot that
    /// always stays empty is not counted.
    #[inline(always)]
    pub fn room(&self) -> u32 {
        // Full is head == tail + 1, so the room is how far the head lies beyond that.
        distance(next(self.tail, self.depth), self.head, self.depth)
    }

    /// Takes note of the head that was read with acquire order from the doorbell.
    ///
    /// # Errors
    /// [`BadHead`] if the head is at or beyond the depth, or frees entries that were never posted;
    /// nothing changes then.
    #[inline(always)]
    pub fn observe_head(&mut self, head: u32) -> Result<(), BadHead> {
        let room = distance(next(self.tail, self.depth), head, self.depth);
        // A host only ever makes room. One that steps beyond the tail, or back, makes less.
        if head >= self.depth || room < self.room() {
            return Err(BadHead {
                head,
                depth: self.depth,
            });
        }
        self.head = head;
        Ok(())
    }

    /// Posts one completion: the first word, then the second word with this round's phase tag in
    /// bit 48, as one release store. The caller has seen [`room`](Self::room) and leaves bit 48
    /// of the second word clear.
    #[inline(always)]
    pub fn post(&mut self, word0: u64, word1_without_phase: u64) {
        debug_assert!(self.room() != 0, "the completion queue is full");
        let mut run = self.run(0);
        run.post(word0, word1_without_phase);
        let end = run.end();
        self.settle(end);
    }

    /// Starts posting several completions, no more than there is [`room`](Self::room), whose second
    /// words have the bits of `common` in common. They count once the run's
    /// [`end`](CompletionRun::end) is [settled](Self::settle).
    #[inline(always)]
    pub fn run(&self, common: u64) -> CompletionRun<'_, W> {
        debug_assert!(common & PHASE == 0, "the phase tag is ours");
        let at = Position {
            index: self.tail,
            phase: self.phase | common,
        };
        CompletionRun {
            words: self.words.view(),
            depth: self.depth,
            at,
        }
    }

    /// Moves the tail to the end of a run of this queue.
    ///
    /// # Panics
    /// If `end` is the position of a deeper queue and lies beyond this one's last entry.
    #[inline(always)]
    pub fn settle(&mut self, end: Position) {
        // One comparison per batch: the unchecked stores of the next run rely on it.
        assert!(end.index < self.depth, "a position of another queue");
        (self.tail, self.phase) = (end.index, end.phase);
    }

    /// Index of the slot that the next completion goes to.
    #[inline(always)]
    pub fn tail(&self) -> u16 {
        narrow(self.tail)
    }

    /// Entries in the queue, of which one always stays empty.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// A place in a completion queue: the index, and the phase tag of the round.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    index: u32,
    phase: u64,
}

impl Position {
    /// The place after this one.
    #[inline(always)]
    fn next(self, depth: u32) -> Self {
        let index = self.index + 1;
        if index == depth {
            self.next_round()
        } else {
            Self { index, ..self }
        }
    }

    fn next_round(self) -> Self {
        Self {
            index: 0,
            phase: self.phase ^ PHASE,
        }
    }

    /// [`next_round`](Self::next_round) out of line: the loop that posts has no register to spare for choosing between
    /// two values, and passes a branch more cheaply.
    #[cold]
    #[inline(never)]
    fn next_round_seldom(self) -> Self {
        self.next_round()
    }
}

/// Completions being posted. Its place lies in registers, not in the queue's state, which every
/// access to shared memory would oblige the compiler to read again.
pub struct CompletionRun<'q, W: Words + 'q> {
    words: W::View<'q>,
    depth: u32,
    /// The phase together with what the run's completions have in common.
    at: Position,
}

impl<W: Words> fmt::Debug for CompletionRun<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionRun")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl<W: Words> CompletionRun<'_, W> {
    /// Posts one completion, as [`CompletionTail::post`] does.
    #[inline(always)]
    pub fn post(&mut self, word0: u64, word1_without_phase: u64) {
        debug_assert!(word1_without_phase & PHASE == 0, "the phase tag is ours");
        let word1 = word1_without_phase | self.at.phase;
        // Pairs with the acquire load in `CompletionHead::drain`.
        // SAFETY: the index is below the depth, and `check` saw memory for so many entries.
        unsafe {
            self.words
                .store_pair_release(self.at.index as usize, word0, word1)
        };
        let index = self.at.index + 1;
        self.at = if index == self.depth {
            self.at.next_round_seldom()
        } else {
            Position { index, ..self.at }
        };
    }

    /// Where the next completion goes.
    #[inline(always)]
    pub fn end(&self) -> Position {
        Position {
            phase: self.at.phase & PHASE,
            ..self.at
        }
    }
}

/// The host wrote a head that cannot be right: at or beyond the depth, or one that frees entries
/// which were never posted.
///
/// `[NVMe Base 2.0 §5.2 Asynchronous Event Request command]`, Invalid Doorbell Write Value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadHead {
    /// The value found in the doorbell.
    pub head: u32,
    /// Entries in the queue.
    pub depth: u32,
}

impl fmt::Display for BadHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "completion head {} frees nothing that was posted in a queue of {} entries",
            self.head, self.depth
        )
    }
}

impl core::error::Error for BadHead {}

/// The host's side of a completion queue: which completion is next.
#[derive(Debug)]
pub struct CompletionHead<W> {
    words: W,
    depth: u32,
    head: u32,
    published: u32,
    /// [`PHASE`] or zero: what a new entry of this round carries.
    phase: u64,
}

impl<W: Words> CompletionHead<W> {
    /// Makes the host's side of an empty queue of `depth` entries of 16 bytes, whose memory the
    /// host has zeroed.
    ///
    /// # Panics
    /// If `depth` is not in 2..=65,536 or `words` holds fewer than `depth` entries.
    #[must_use]
    pub fn new(words: W, depth: u32) -> Self {
        check(&words, depth, COMPLETION_ENTRY_WORDS);
        Self {
            words,
            depth,
            head: 0,
            published: 0,
            phase: PHASE,
        }
    }

    /// Takes the completion at the head, if there is a new one, and moves on. The device does not
    /// know that the slot is free before [`publish`](Self::publish).
    #[inline(always)]
    pub fn take(&mut self) -> Option<[u64; COMPLETION_ENTRY_WORDS]> {
        let mut taken = None;
        self.drain(|entry| {
            taken = Some(entry);
            false
        });
        taken
    }

    /// Takes new completions in order and shows each to `each`, until there is none or `each` says
    /// false; the one it said false to was taken too.
    #[inline(always)]
    pub fn drain(&mut self, mut each: impl FnMut([u64; COMPLETION_ENTRY_WORDS]) -> bool) {
        let mut at = Position {
            index: self.head,
            phase: self.phase,
        };
        let words = self.words.view();
        loop {
            // Acquires the second word; pairs with the release store in `CompletionRun::post`.
            // SAFETY: the index is below the depth, and `check` saw memory for so many entries.
            let entry = unsafe { words.load_pair_acquire(at.index as usize) };
            if entry[1] & PHASE != at.phase {
                break;
            }
            at = at.next(self.depth);
            if !each(entry) {
                break;
            }
        }
        (self.head, self.phase) = (at.index, at.phase);
    }

    /// Whether completions were taken that the device does not know of.
    #[inline(always)]
    pub fn unpublished(&self) -> bool {
        self.head != self.published
    }

    /// Tells the device of all slots freed so far, with one doorbell write, or none if there is
    /// no news.
    ///
    /// `[NVMe over PCIe Transport 1.0, CQyHDBL - Completion Queue y Head Doorbell]`
    #[inline(always)]
    pub fn publish(&mut self, doorbell: &impl Register32) {
        if self.unpublished() {
            self.published = self.head;
            // pairs with the device's `load_acquire` of this doorbell, whose value goes to
            // `CompletionTail::observe_head`
            doorbell.store_release(self.head);
        }
    }

    /// Index of the next completion.
    #[inline(always)]
    pub fn head(&self) -> u16 {
        narrow(self.head)
    }

    /// Entries in the queue, of which one always stays empty.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}
