//! The submission queue: the host's tail and the device's head.

use core::fmt;

use super::{check, distance, narrow, next};
use crate::limits::SUBMISSION_ENTRY_WORDS;
use crate::{Register32, Words};

/// The host's side of a submission queue: where the next command goes.
///
/// `[NVMe Base 2.0 §3.3.1 Memory-based Transport Queue Model]`
#[derive(Debug)]
pub struct SubmissionTail<W> {
    words: W,
    depth: u32,
    tail: u32,
    published: u32,
}

impl<W: Words> SubmissionTail<W> {
    /// Makes the host's side of an empty queue of `depth` entries of 64 bytes.
    ///
    /// # Panics
    /// If `depth` is not in 2..=65,536 or `words` holds fewer than `depth` entries.
    #[must_use]
    pub fn new(words: W, depth: u32) -> Self {
        check(&words, depth, SUBMISSION_ENTRY_WORDS);
        Self {
            words,
            depth,
            tail: 0,
            published: 0,
        }
    }

    /// Writes one command into the slot at the tail and moves the tail; the device does not know
    /// of it before [`publish`](Self::publish).
    ///
    /// The caller keeps fewer commands in flight than the queue has entries: a command that was
    /// pushed counts until its completion has been seen.
    #[inline(always)]
    pub fn push(&mut self, entry: &[u64; SUBMISSION_ENTRY_WORDS]) {
        let tail = self.tail;
        // SAFETY: the tail is below the depth, and `check` saw memory for so many entries.
        unsafe {
            self.words
                .view()
                .store_entry_unchecked(tail as usize, entry)
        };
        self.tail = next(tail, self.depth);
        debug_assert!(self.tail != self.published, "more commands than slots");
    }

    /// Whether commands have been pushed since the doorbell was last written.
    #[inline(always)]
    pub fn unpublished(&self) -> bool {
        self.tail != self.published
    }

    /// Tells the device of all commands pushed so far, with one doorbell write, or none if there
    /// is no news.
    ///
    /// `[NVMe over PCIe Transport 1.0, SQyTDBL - Submission Queue y Tail Doorbell]`
    #[inline(always)]
    pub fn publish(&mut self, doorbell: &impl Register32) {
        if self.unpublished() {
            self.published = self.tail;
            // pairs with the device's `load_acquire` of this doorbell, whose value goes to
            // `SubmissionHead::observe`
            doorbell.store_release(self.tail);
        }
    }

    /// Index of the slot that the next command goes to.
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

/// The host wrote a tail that cannot be right: at or beyond the depth, or one that takes back
/// commands already published (which is also what overfilling the queue looks like).
///
/// `[NVMe Base 2.0 §5.2 Asynchronous Event Request command]`, Invalid Doorbell Write Value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTail {
    /// The value found in the doorbell.
    pub tail: u32,
    /// Entries in the queue.
    pub depth: u32,
}

impl fmt::Display for BadTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "submission tail {} does not continue a queue of {} entries",
            self.tail, self.depth
        )
    }
}

impl core::error::Error for BadTail {}

/// The device's side of a submission queue: which command is next.
#[derive(Debug)]
pub struct SubmissionHead<W> {
    words: W,
    depth: u32,
    head: u32,
    /// The host's tail when it was last observed.
    tail: u32,
}

impl<W: Words> SubmissionHead<W> {
    /// Makes the device's side of an empty queue of `depth` entries of 64 bytes.
    ///
    /// # Panics
    /// If `depth` is not in 2..=65,536 or `words` holds fewer than `depth` entries.
    #[must_use]
    pub fn new(words: W, depth: u32) -> Self {
        check(&words, depth, SUBMISSION_ENTRY_WORDS);
        Self {
            words,
            depth,
            head: 0,
            tail: 0,
        }
    }

    /// Takes note of the tail that was read with acquire order from the doorbell, and returns how
    /// many commands are waiting.
    ///
    /// # Errors
    /// [`BadTail`] if the tail is at or beyond the depth, or behind a tail seen before; nothing
    /// changes then.
    #[inline(always)]
    pub fn observe(&mut self, tail: u32) -> Result<u32, BadTail> {
        let pending = distance(self.head, tail, self.depth);
        if tail >= self.depth || pending < self.pending() {
            return Err(BadTail {
                tail,
                depth: self.depth,
            });
        }
        self.tail = tail;
        Ok(pending)
    }

    /// Copies the command at the head out of the queue, each word read once, and moves the head.
    /// The caller takes no more commands than the last [`observe`](Self::observe) counted.
    #[inline(always)]
    pub fn take(&mut self) -> [u64; SUBMISSION_ENTRY_WORDS] {
        debug_assert!(self.pending() != 0, "no command is waiting");
        let head = self.head;
        // SAFETY: the head is below the depth, and `check` saw memory for so many entries.
        let entry = unsafe { self.words.view().load_entry_unchecked(head as usize) };
        self.head = next(head, self.depth);
        entry
    }

    /// Shows the commands from the head on to `each`, at most `max` of them and none beyond the end of
    /// the queue's memory, until it says false. They all stay in the queue until they are
    /// [skipped](Self::skip).
    ///
    /// The caller looks at no more commands than the last [`observe`](Self::observe) counted.
    #[inline(always)]
    pub fn look(&self, max: u32, mut each: impl FnMut(&SubmissionSlot<'_, W>) -> bool) {
        debug_assert!(max <= self.pending(), "fewer commands are waiting");
        let end = self.head + max.min(self.depth - self.head);
        let words = self.words.view();
        for slot in self.head..end {
            if !each(&SubmissionSlot { words, slot }) {
                break;
            }
        }
    }

    /// Moves the head past `count` commands that were [looked at](Self::look); returns the new head.
    ///
    /// # Panics
    /// If fewer commands are waiting.
    #[inline(always)]
    pub fn skip(&mut self, count: u32) -> u16 {
        assert!(count <= self.pending(), "fewer commands are waiting");
        let head = self.head + count;
        self.head = if head >= self.depth {
            head - self.depth
        } else {
            head
        };
        self.head()
    }

    /// The command at the head, to look at. The caller has [observed](Self::observe) one.
    #[inline(always)]
    pub fn first(&self) -> SubmissionSlot<'_, W> {
        SubmissionSlot {
            words: self.words.view(),
            slot: self.head,
        }
    }

    /// Commands that were observed and not yet taken.
    #[inline(always)]
    pub fn pending(&self) -> u32 {
        distance(self.head, self.tail, self.depth)
    }

    /// Index of the next command; reported to the host in every completion (SQHD).
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

/// The command at the head, still in shared memory.
pub struct SubmissionSlot<'q, W: Words + 'q> {
    words: W::View<'q>,
    slot: u32,
}

impl<W: Words> fmt::Debug for SubmissionSlot<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmissionSlot")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

impl<W: Words> SubmissionSlot<'_, W> {
    /// Reads one of its eight words. The host may change it at any time: whoever looks twice may see
    /// two values, so each word is read once and the value kept.
    ///
    /// # Panics
    /// If `word` is 8 or more.
    #[inline(always)]
    pub fn word(&self, word: usize) -> u64 {
        // Callers name a constant, and then nothing of this is left.
        assert!(word < SUBMISSION_ENTRY_WORDS, "an entry has eight words");
        let slot = self.slot as usize;
        // SAFETY: the slot is below the depth, `check` saw memory for so many entries, and the word was just checked.
        unsafe {
            self.words
                .load_word_unchecked::<SUBMISSION_ENTRY_WORDS>(slot, word)
        }
    }
}
