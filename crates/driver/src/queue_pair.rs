//! One I/O queue pair, seen from the host: the hot path of the driver.
//!
//! A command is written into its ring slot as eight 64-bit stores and never built elsewhere first; a command in flight is
//! an index; each side's index is published once per batch. Nothing here allocates, locks, waits or asks for the time.

use mem::{DmaBuffer, MappedRegister, MappedWords};
use ring::Words;
use ring::queue::{CompletionHead, SubmissionTail};
use spec::nvme::{CompletionEntry, Status, SubmissionEntry, io_opcode};
use spec::{CommandId, Lba, NamespaceId, QueueId};

use crate::slots::Slots;

/// The page size that the driver asks for in CC.MPS.
const PAGE: u64 = 4096;

/// What one command's data is: bytes that are contiguous in the controller's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoBuffer {
    iova: u64,
    /// PRP2: zero for one page, the second page for two, [`LIST`] for more.
    second: u64,
    len: u32,
}

/// Stands for "a list is to be written". No page begins at address one.
const LIST: u64 = 1;

impl IoBuffer {
    /// `len` bytes from `iova` on, which is four-byte aligned. What can be known of the PRPs is found out here, once, and
    /// not for each command.
    pub const fn new(iova: u64, len: u32) -> Self {
        let page = iova - iova % PAGE;
        let end = iova + len as u64;
        let second = if end <= page + PAGE {
            0
        } else if end <= page + 2 * PAGE {
            page + PAGE
        } else {
            LIST
        };
        Self { iova, second, len }
    }

    /// The whole of a DMA buffer.
    ///
    /// # Panics
    /// If the buffer is 4 GiB or longer.
    pub fn whole(buffer: &DmaBuffer) -> Self {
        let len = u32::try_from(buffer.len()).expect("an I/O buffer is shorter than 4 GiB");
        Self::new(buffer.iova().get(), len)
    }

    /// No data.
    pub const NONE: Self = Self::new(0, 0);

    /// The first byte's address.
    pub const fn iova(&self) -> u64 {
        self.iova
    }

    /// The length in bytes.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// PRP2 as far as it is known without a list: zero for one page, the second page for two, one where a list is needed.
    pub const fn second_page(&self) -> u64 {
        self.second
    }

    /// Whether there is no data.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// What the caller called the command.
    pub tag: u64,
    /// Dword 0 of the completion: command specific.
    pub result: u32,
    /// How it ended.
    pub status: Status,
}

impl Done {
    /// A value to fill an array with.
    pub const EMPTY: Self = Self {
        tag: u64::MAX,
        result: 0,
        status: Status::SUCCESS,
    };
}

/// Every command slot is in use: reap first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl core::fmt::Display for Busy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("every command slot of the queue pair is in use; reap completions first")
    }
}

impl core::error::Error for Busy {}

/// What a queue pair has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairCounters {
    /// Submission doorbells rung.
    pub submission_doorbells: u64,
    /// Completion doorbells rung.
    pub completion_doorbells: u64,
    /// Completions that named no command in flight. Anything but zero means that the controller is broken.
    pub bogus_completions: u64,
}

/// A submission queue with its completion queue. One thread owns it.
#[derive(Debug)]
pub struct QueuePair {
    submission: SubmissionTail<MappedWords>,
    completion: CompletionHead<MappedWords>,
    slots: Slots,
    tail_doorbell: MappedRegister,
    head_doorbell: MappedRegister,
    /// One page of PRP entries for each slot.
    lists: DmaBuffer,
    list_words: MappedWords,
    id: QueueId,
    transfer_bytes_max: u32,
    counters: QueuePairCounters,
}

impl QueuePair {
    /// A queue pair over zeroed queue memory.
    ///
    /// `lists` holds one 4 KiB page for each command slot; there are `depth - 1` slots, since a full ring of `depth`
    /// entries would look like an empty one [NVMe Base 2.0 §3.3.1.5].
    ///
    /// # Panics
    /// If `depth` is outside 2 to 65536, or the memory is too short for it.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a different thing, and only bring-up calls this"
    )]
    pub fn new(
        id: QueueId,
        depth: u32,
        submission: MappedWords,
        completion: MappedWords,
        tail_doorbell: MappedRegister,
        head_doorbell: MappedRegister,
        lists: DmaBuffer,
        transfer_bytes_max: u32,
    ) -> Self {
        assert!(
            (2..=65536).contains(&depth),
            "queue depth {depth} is outside 2 to 65536"
        );
        let slots = depth - 1;
        assert!(
            lists.len() as u64 >= u64::from(slots) * PAGE,
            "one PRP list page for each slot"
        );
        let list_words = lists.window().words().expect("PRP lists are page aligned");
        Self {
            submission: SubmissionTail::new(submission, depth),
            completion: CompletionHead::new(completion, depth),
            slots: Slots::new(slots as u16),
            tail_doorbell,
            head_doorbell,
            lists,
            list_words,
            id,
            transfer_bytes_max,
            counters: QueuePairCounters::default(),
        }
    }

    /// The queue identifier, the same for both queues of the pair.
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// Entries of each queue.
    pub fn depth(&self) -> u32 {
        self.submission.depth()
    }

    /// Commands that may be in flight: one less than the depth.
    pub fn capacity(&self) -> u32 {
        self.slots.capacity()
    }

    /// Commands in flight, published or not.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    /// Bytes of one command's data at most.
    pub fn transfer_bytes_max(&self) -> u32 {
        self.transfer_bytes_max
    }

    /// What the pair has counted.
    pub fn counters(&self) -> QueuePairCounters {
        self.counters
    }

    /// Writes a Read of `blocks` logical blocks (1 to 65536) into the ring. See [`submit`](Self::submit).
    ///
    /// # Errors
    /// [`Busy`] when every slot is in use.
    #[inline(always)]
    pub fn read(
        &mut self,
        namespace: NamespaceId,
        at: Lba,
        blocks: u32,
        buffer: IoBuffer,
        tag: u64,
    ) -> Result<(), Busy> {
        self.transfer(io_opcode::READ, namespace, at, blocks, buffer, tag)
    }

    /// Writes a Write of `blocks` logical blocks (1 to 65536) into the ring. See [`submit`](Self::submit).
    ///
    /// # Errors
    /// [`Busy`] when every slot is in use.
    #[inline(always)]
    pub fn write(
        &mut self,
        namespace: NamespaceId,
        at: Lba,
        blocks: u32,
        buffer: IoBuffer,
        tag: u64,
    ) -> Result<(), Busy> {
        self.transfer(io_opcode::WRITE, namespace, at, blocks, buffer, tag)
    }

    /// Writes a Flush into the ring. See [`submit`](Self::submit).
    ///
    /// # Errors
    /// [`Busy`] when every slot is in use.
    pub fn flush(&mut self, namespace: NamespaceId, tag: u64) -> Result<(), Busy> {
        let entry = SubmissionEntry::new(io_opcode::FLUSH, CommandId::new(0), namespace);
        self.submit(entry, IoBuffer::NONE, tag)
    }

    #[inline(always)]
    fn transfer(
        &mut self,
        opcode: u8,
        namespace: NamespaceId,
        at: Lba,
        blocks: u32,
        buffer: IoBuffer,
        tag: u64,
    ) -> Result<(), Busy> {
        debug_assert!(
            (1..=65536).contains(&blocks),
            "a command moves 1 to 65536 blocks"
        );
        let entry = SubmissionEntry::new(opcode, CommandId::new(0), namespace)
            .with_slba(at)
            .with_cdw12(blocks.wrapping_sub(1) & 0xffff);
        self.submit(entry, buffer, tag)
    }

    /// Writes any command into the ring: its command identifier and PRPs are filled in here. The controller sees it after
    /// [`publish`](Self::publish). `tag` comes back in [`Done`]; it is below 2^63.
    ///
    /// # Errors
    /// [`Busy`] when every slot is in use; nothing was written then.
    ///
    /// # Panics
    /// If the buffer is longer than [`transfer_bytes_max`](Self::transfer_bytes_max).
    #[inline(always)]
    pub fn submit(
        &mut self,
        entry: SubmissionEntry,
        buffer: IoBuffer,
        tag: u64,
    ) -> Result<(), Busy> {
        let Some(slot) = self.slots.claim(tag) else {
            return Err(Busy);
        };
        let prp2 = if buffer.second == LIST {
            self.fill_list(slot.index(), buffer)
        } else {
            buffer.second
        };
        let entry = entry.with_cid(slot.cid()).with_prps(buffer.iova, prp2);
        self.submission.push(&entry.words());
        Ok(())
    }

    /// Writes the PRP list of a command that touches three pages or more; returns its address.
    #[cold]
    #[inline(never)]
    fn fill_list(&mut self, slot: usize, buffer: IoBuffer) -> u64 {
        assert!(
            buffer.len <= self.transfer_bytes_max,
            "{} bytes in one command; this controller takes {} at most",
            buffer.len,
            self.transfer_bytes_max
        );
        let end = buffer.iova + u64::from(buffer.len);
        let second = buffer.iova - buffer.iova % PAGE + PAGE;
        let pages = (end - second).div_ceil(PAGE) as usize;
        assert!(
            pages <= PAGE as usize / 8,
            "a PRP list of one page describes 512 pages"
        );
        let first_word = slot * (PAGE as usize / 8);
        for (index, page) in (second..end).step_by(PAGE as usize).enumerate() {
            // Ordered before the controller's look at it by the release store of the tail in `publish`.
            self.list_words.store_relaxed(first_word + index, page);
        }
        self.lists.iova().get() + slot as u64 * PAGE
    }

    /// Shows the controller everything submitted since the last call: one doorbell, or none when there is nothing new.
    #[inline(always)]
    pub fn publish(&mut self) {
        if self.submission.unpublished() {
            self.submission.publish(&self.tail_doorbell);
            self.counters.submission_doorbells += 1;
        }
    }

    /// Takes completions, as many as there are and `done` holds; returns how many. One doorbell, or none for nothing.
    ///
    /// A completion that names no command in flight is counted and dropped: the controller is broken, not we.
    #[inline]
    pub fn reap(&mut self, done: &mut [Done]) -> usize {
        let mut places = done.iter_mut();
        let room = places.len();
        if room == 0 {
            return 0;
        }
        let mut redeeming = self.slots.redeem();
        let mut bogus = 0;
        self.completion.drain(|words| {
            let entry = CompletionEntry::from_words(words);
            let Some(tag) = redeeming.one(entry.cid()) else {
                // Stop here, so that a controller that makes up completions cannot keep us in this loop.
                bogus = 1;
                return false;
            };
            if let Some(place) = places.next() {
                *place = Done {
                    tag,
                    result: entry.result(),
                    status: entry.status(),
                };
            }
            !places.as_slice().is_empty()
        });
        let receipt = redeeming.receipt();
        self.slots.settle(receipt);
        self.counters.bogus_completions += bogus;
        let count = room - places.len();
        self.publish_head();
        count
    }

    /// Tells the controller which completions were taken: one doorbell, or none for nothing.
    #[inline(always)]
    fn publish_head(&mut self) {
        if self.completion.unpublished() {
            self.completion.publish(&self.head_doorbell);
            self.counters.completion_doorbells += 1;
        }
    }

    /// Forgets every command in flight and returns their tags: the controller is gone and will not answer. The pair is
    /// dead until bring-up makes a new one.
    pub fn abandon(&mut self) -> Vec<u64> {
        self.slots.abandon()
    }

    /// The memory of the PRP lists, to be given back to the link.
    pub(crate) fn into_lists(self) -> DmaBuffer {
        self.lists
    }
}
