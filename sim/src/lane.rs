//! One queue pair of the world: its buffers, its commands in flight, its doorbells.

use std::collections::BTreeMap;

use driver::{IoBuffer, QueuePair};
use mem::{DmaBuffer, MappedRegister, MappedWords, Window};
use ring::{Register32, Words};
use spec::nvme::register;
use spec::nvme::{CompletionEntry, Status, SubmissionEntry};

use crate::command::Kind;
use crate::limits::GUARD_BYTES;
use crate::oracle::Stamp;
use crate::random::Random;

const PAGE: usize = 4096;

/// What guards are filled with.
const GUARD: u8 = 0x5a;

/// What a buffer is filled with before a read.
const UNREAD: u8 = 0xa5;

/// A command in flight.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// What it asks for.
    pub(crate) kind: Kind,
    /// The namespace that it names.
    pub(crate) namespace: u32,
    /// The first block of its range.
    pub(crate) at: u64,
    /// Blocks of its range.
    pub(crate) count: u64,
    /// The only right answer, if it has to be refused.
    pub(crate) refused: Option<Status>,
    /// What a compare expects in each block.
    pub(crate) wanted: Vec<Stamp>,
    /// Its buffer.
    pub(crate) buffer: Buffer,
}

/// A part of the arena that belongs to one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    slot: usize,
    offset: usize,
    len: usize,
}

/// A doorbell whose writes may take their time, as posted writes do.
///
/// The driver never reads its doorbells, so an older value may stand there until the newest one arrives.
#[derive(Debug)]
pub(crate) struct Doorbell {
    register: MappedRegister,
    visible: u32,
    written: u32,
}

impl Doorbell {
    /// A doorbell at an offset into BAR0.
    fn new(doorbells: &Window, offset: u32) -> Self {
        let register = doorbells.register32((offset - register::DOORBELLS) as usize);
        Self {
            register: register.expect("the driver uses this doorbell as well"),
            visible: 0,
            written: 0,
        }
    }

    /// To be called after the driver had its chance to write: takes note, and takes the write back if it is held.
    fn settle(&mut self, held: bool) {
        let found = self.register.load_relaxed();
        if found != self.visible {
            self.written = found;
        }
        if held {
            self.write(self.visible);
        } else {
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        self.visible = self.written;
        self.write(self.visible);
    }

    /// Puts a value there that the driver did not write.
    pub(crate) fn write(&self, value: u32) {
        // Release as the driver's own writes; the controller's acquire load pairs with it.
        self.register.store_release(value);
    }

    /// Puts the driver's value back.
    pub(crate) fn restore(&self) {
        self.write(self.visible);
    }
}

/// A queue pair.
#[derive(Debug)]
pub(crate) struct Lane {
    /// The driver's part.
    pub(crate) pair: QueuePair,
    /// Memory for data.
    pub(crate) arena: DmaBuffer,
    slot_bytes: usize,
    free: Vec<usize>,
    /// Commands in flight by their tickets, which are their tags.
    pub(crate) flights: BTreeMap<u64, Flight>,
    /// The submission queue's doorbell.
    pub(crate) tail: Doorbell,
    /// The completion queue's doorbell.
    pub(crate) head: Doorbell,
    submission: MappedWords,
    completion: MappedWords,
    /// The head that the controller may know, the entry before it, and what that holds: a queue is full with one entry
    /// left, so nobody may write there.
    fence: (u32, usize, u64),
    /// Somebody wrote there.
    pub(crate) overrun: bool,
    pushed: u64,
    /// Doorbell writes are being held back.
    pub(crate) held: bool,
}

/// Bytes of a buffer's place: data anywhere in the first page, guards, then two pages for a PRP list.
fn slot_bytes(transfer_bytes_max: usize) -> usize {
    transfer_bytes_max + 2 * PAGE + 2 * PAGE
}

/// Bytes of data memory for a queue pair.
pub(crate) fn arena_bytes(depth: u32, transfer_bytes_max: usize) -> usize {
    (depth as usize - 1) * slot_bytes(transfer_bytes_max)
}

impl Lane {
    /// A lane over a new queue pair and the memory of its queues.
    pub(crate) fn new(
        pair: QueuePair,
        (submission, completion): (&Window, &Window),
        doorbells: &Window,
        arena: DmaBuffer,
        transfer_bytes_max: usize,
    ) -> Self {
        let id = pair.id();
        let free = (0..pair.capacity() as usize).rev().collect();
        let words = |queue: &Window| queue.words().expect("queues are aligned to pages");
        let last = pair.depth() as usize - 1;
        Self {
            arena,
            slot_bytes: slot_bytes(transfer_bytes_max),
            free,
            flights: BTreeMap::new(),
            tail: Doorbell::new(doorbells, register::submission_doorbell(id, 0)),
            head: Doorbell::new(doorbells, register::completion_doorbell(id, 0)),
            submission: words(submission),
            completion: words(completion),
            fence: (0, last, 0),
            overrun: false,
            pushed: 0,
            held: false,
            pair,
        }
    }

    /// After the queue pair was revived: the same memory, from the start.
    pub(crate) fn begin_anew(&mut self) {
        for doorbell in [&mut self.tail, &mut self.head] {
            doorbell.visible = 0;
            doorbell.written = 0;
        }
        self.fence = (0, self.pair.depth() as usize - 1, 0);
        self.pushed = 0;
        self.held = false;
    }

    /// Looks whether the controller has left the entry before the head alone: it may know no more of the head than the
    /// doorbell has told it. To be called when the doorbell may have moved, before the controller has its next turn.
    fn watch_fence(&mut self) {
        let (head, entry, word) = self.fence;
        // Word 1 of an entry has the phase bit, so every write to the entry changes it.
        let word_at = |entry: usize| {
            self.completion
                .load_acquire(entry * CompletionEntry::WORDS + 1)
        };
        self.overrun |= word_at(entry) != word;
        if self.head.visible != head {
            let depth = self.pair.depth();
            let entry = ((self.head.visible + depth - 1) % depth) as usize;
            self.fence = (self.head.visible, entry, word_at(entry));
        }
    }

    /// Takes a buffer of `len` bytes at a random offset, its guards in place.
    pub(crate) fn take_buffer(&mut self, random: &mut Random, len: usize) -> Buffer {
        let slot = self.free.pop().expect("as many buffers as command slots");
        let last = (PAGE - GUARD_BYTES) as u64 / 4;
        // Aligned ones as well: that is what most hosts send.
        let offset = match random.chance(300) {
            true => PAGE,
            false => GUARD_BYTES + 4 * random.below(last) as usize,
        };
        let buffer = Buffer { slot, offset, len };
        let start = slot * self.slot_bytes + offset;
        let window = self.arena.window();
        for guard in [start - GUARD_BYTES, start + len] {
            let filled = window.fill(guard, GUARD_BYTES, GUARD);
            assert!(filled.is_ok(), "a slot holds the guards");
        }
        let filled = window.fill(start, len, UNREAD);
        assert!(filled.is_ok(), "a slot holds the longest transfer");
        buffer
    }

    /// Gives a buffer back.
    pub(crate) fn give_buffer(&mut self, buffer: Buffer) {
        self.free.push(buffer.slot);
    }

    fn start(&self, buffer: Buffer) -> usize {
        buffer.slot * self.slot_bytes + buffer.offset
    }

    /// The buffer as the driver wants it.
    pub(crate) fn io_buffer(&self, buffer: Buffer) -> IoBuffer {
        let address = self.arena.iova().get() + self.start(buffer) as u64;
        match buffer.len {
            0 => IoBuffer::NONE,
            len => IoBuffer::new(address, len as u32),
        }
    }

    /// Writes a command's data.
    pub(crate) fn write_buffer(&self, buffer: Buffer, bytes: &[u8]) {
        let written = self.arena.window().write_bytes(self.start(buffer), bytes);
        assert!(written.is_ok(), "a slot holds the longest transfer");
    }

    /// Reads a command's data.
    pub(crate) fn read_buffer(&self, buffer: Buffer, bytes: &mut Vec<u8>) {
        bytes.resize(buffer.len, 0);
        let read = self.arena.window().read_bytes(self.start(buffer), bytes);
        assert!(read.is_ok(), "a slot holds the longest transfer");
    }

    /// Whether nobody has written to a buffer since it was taken.
    pub(crate) fn is_untouched(&self, buffer: Buffer) -> bool {
        self.holds(self.start(buffer), buffer.len, UNREAD)
    }

    /// Whether nobody has written beside a buffer.
    pub(crate) fn guards_hold(&self, buffer: Buffer) -> bool {
        let start = self.start(buffer);
        [start - GUARD_BYTES, start + buffer.len]
            .into_iter()
            .all(|guard| self.holds(guard, GUARD_BYTES, GUARD))
    }

    fn holds(&self, offset: usize, len: usize, value: u8) -> bool {
        let span = self.arena.window().span(offset, len);
        span.expect("a slot holds its buffer").is_all(value)
    }

    /// Submits a command. With `detour`, its PRP list, if it has one, is replaced by one of the same pages that another
    /// host might write: it begins anywhere in its page and goes on in a second one.
    pub(crate) fn submit(
        &mut self,
        entry: SubmissionEntry,
        place: IoBuffer,
        ticket: u64,
        detour: Option<(Buffer, &mut Random)>,
    ) -> Result<(), driver::Busy> {
        self.pair.submit(entry, place, ticket)?;
        let index = (self.pushed % u64::from(self.pair.depth())) as usize;
        self.pushed += 1;
        if let Some((buffer, random)) = detour {
            self.rewrite_list(index, buffer, random);
        }
        Ok(())
    }

    fn rewrite_list(&self, index: usize, buffer: Buffer, random: &mut Random) {
        let start = self.start(buffer);
        let first = self.arena.iova().get();
        let pages: Vec<u64> = (start / PAGE + 1..(start + buffer.len).div_ceil(PAGE))
            .map(|page| first + (page * PAGE) as u64)
            .collect();
        if pages.len() < 2 {
            return; // PRP2 is the second page itself, or nothing
        }
        let list = (buffer.slot + 1) * self.slot_bytes - 2 * PAGE;
        let words = PAGE / 8;
        // Often so near the end of the page that the list must go on in the next.
        let room = random.between(1, pages.len() as u64 + 2) as usize;
        let mut at = list + (words - room) * 8;
        let arena = self.arena.window();
        let put = |at: usize, value: u64| {
            let written = arena.write_bytes(at, &value.to_le_bytes());
            assert!(written.is_ok(), "a slot holds two list pages");
        };
        let begin = first + at as u64;
        for (done, &page) in pages.iter().enumerate() {
            let is_last_word = at == list + PAGE - 8;
            if is_last_word && done + 1 < pages.len() {
                put(at, first + (list + PAGE) as u64);
                at = list + PAGE;
            }
            put(at, page);
            at += 8;
        }
        // Word 4 of an entry is PRP2. Ordered before the controller's look by the release store of the tail.
        self.submission
            .store_relaxed(index * SubmissionEntry::WORDS + 4, begin);
    }

    /// Rings the submission doorbell, if there is anything new.
    pub(crate) fn publish(&mut self) {
        self.pair.publish();
        self.tail.settle(self.held);
    }

    /// Takes completions.
    pub(crate) fn reap(&mut self, done: &mut [driver::Done]) -> usize {
        let count = self.pair.reap(done);
        self.head.settle(self.held);
        self.watch_fence();
        count
    }

    /// Lets doorbell writes arrive.
    pub(crate) fn deliver(&mut self) {
        self.held = false;
        self.tail.deliver();
        self.head.deliver();
        self.watch_fence();
    }
}
