//! One queue pair at work: its slots, its buffers, its generator and, when verifying, its shadow.

use mem::DmaBuffer;
use spec::nvme::Status;
use thiserror::Error;

use crate::access::{Access, Direction, Generator, Share};
use crate::clock::Clock;
use crate::limits;
use crate::pacing::Pacing;
use crate::pattern::{Mismatch, Stamp};
use crate::progress::Progress;
use crate::queue::{Done, IoBuffer, Queue};
use crate::shadow::{Shadow, UNKNOWN};
use crate::workload::{Job, LanePlan, Plan};

/// What a queue pair lacks for its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LaneError {
    /// The queue holds fewer commands than the job keeps in flight.
    #[error(
        "the queue pair holds {found} commands, the job wants {wanted} in flight; create the queue \
         pair with {wanted} + 1 entries, or lower qd"
    )]
    Shallow {
        /// Depth of the job.
        wanted: u32,
        /// Commands that the queue holds.
        found: u32,
    },
    /// The data buffer is too short.
    #[error("the job wants {wanted} bytes of data buffers, {found} were given; lower qd or bs")]
    ShortBuffer {
        /// Bytes wanted, as from [`buffer_bytes`].
        wanted: usize,
        /// Bytes given.
        found: usize,
    },
}

/// Distance between the buffers of two slots, in bytes: the I/O's size rounded up so that no I/O
/// crosses a page that it need not cross.
#[must_use]
pub const fn buffer_stride(io_bytes: u32) -> usize {
    const PAGE: usize = 4096;
    let bytes = io_bytes as usize;
    if bytes < PAGE {
        bytes.next_power_of_two()
    } else {
        bytes.next_multiple_of(PAGE)
    }
}

/// Bytes of data buffers that one queue pair needs.
#[must_use]
pub const fn buffer_bytes(job: &Job) -> usize {
    job.qd as usize * buffer_stride(job.bs)
}

/// When the loop looks at the clock for latencies. The three kinds are types, so that a loop
/// without timestamps contains no trace of them.
pub trait Stamps {
    /// One look per poll that found something.
    const PER_POLL: bool;
    /// One look per submission and one per completion.
    const PER_IO: bool;
}

/// No latencies.
#[derive(Debug)]
pub struct NoStamps;
/// Latencies with the resolution of a poll.
#[derive(Debug)]
pub struct PollStamps;
/// Latencies stamped for each I/O.
#[derive(Debug)]
pub struct IoStamps;

impl Stamps for NoStamps {
    const PER_POLL: bool = false;
    const PER_IO: bool = false;
}
impl Stamps for PollStamps {
    const PER_POLL: bool = true;
    const PER_IO: bool = false;
}
impl Stamps for IoStamps {
    const PER_POLL: bool = false;
    const PER_IO: bool = true;
}

/// What one command slot remembers.
#[derive(Debug, Clone, Copy)]
struct Slot {
    started: u64,
    unit: u64,
    buffer: IoBuffer,
}

/// Room for one poll's completions; the loop owns it, so that a poll does not begin by clearing it.
pub type Completions = [Done; limits::REAP_BATCH];

/// Set in a tag when the command is a write; the low half is the slot.
const WRITE_TAG: u64 = 1 << 32;

/// What verification has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Verified {
    /// Reads whose every byte was compared.
    pub ios_checked: u64,
    /// Reads whose right content was not known (a write there failed).
    pub ios_unknown: u64,
    /// Reads with wrong bytes.
    pub ios_wrong: u64,
    /// The first wrong words, at most [`limits::MISMATCHES_KEPT`].
    pub mismatches: Vec<Mismatch>,
}

impl Verified {
    /// Adds what another queue pair has seen.
    pub fn add(&mut self, other: &Self) {
        self.ios_checked += other.ios_checked;
        self.ios_unknown += other.ios_unknown;
        self.ios_wrong += other.ios_wrong;
        let room = limits::MISMATCHES_KEPT.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.iter().take(room));
    }
}

/// Commands that the device refused or failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many.
    pub count: u64,
    /// Status of the first.
    pub first: Option<Status>,
}

/// One queue pair with everything that its thread needs to keep it busy.
#[derive(Debug)]
pub struct Lane<Q> {
    queue: Q,
    slots: Vec<Slot>,
    free: Vec<u16>,
    generator: Generator,
    plan: Plan,
    place: LanePlan,
    /// Submissions left in this run.
    ios_left: u64,
    /// An access that was drawn but cannot be submitted yet, since it overlaps one in flight.
    waiting: Option<Access>,
    stamp: Stamp,
    shadow: Option<Shadow>,
    memory: DmaBuffer,
    stride: usize,
    scratch: Vec<u8>,
    failures: Failures,
    verified: Verified,
}

impl<Q: Queue> Lane<Q> {
    /// A queue pair for its place in a job; `memory` holds at least [`buffer_bytes`] bytes. All
    /// memory that a run needs is taken here.
    ///
    /// # Errors
    /// [`LaneError`] if the queue or the memory is too small.
    ///
    /// # Panics
    /// If `place` is not of this job's plan.
    pub fn new(
        queue: Q,
        memory: DmaBuffer,
        job: &Job,
        plan: Plan,
        place: LanePlan,
    ) -> Result<Self, LaneError> {
        if queue.capacity() < job.qd {
            return Err(LaneError::Shallow {
                wanted: job.qd,
                found: queue.capacity(),
            });
        }
        let (wanted, found) = (buffer_bytes(job), memory.len());
        if found < wanted {
            return Err(LaneError::ShortBuffer { wanted, found });
        }
        let stride = buffer_stride(job.bs);
        let slots = (0..job.qd as u64).map(|slot| Slot {
            started: 0,
            unit: 0,
            buffer: IoBuffer::new(memory.iova().get() + slot * stride as u64, job.bs),
        });
        let lane = Self {
            queue,
            slots: slots.collect(),
            free: (0..job.qd as u16).rev().collect(),
            generator: Generator::new(job, place.drawn, place.lane.into()),
            plan,
            place,
            ios_left: 0,
            waiting: None,
            stamp: Stamp::new(job.seed, plan.block_bytes),
            shadow: job
                .verify
                .then(|| Shadow::new(place.own.first, place.own.units)),
            memory,
            stride,
            scratch: vec![0; job.bs as usize],
            failures: Failures::default(),
            verified: Verified::default(),
        };
        lane.stamp_buffers();
        Ok(lane)
    }

    /// The queue pair, to look at or to delete after the run.
    #[must_use]
    pub fn into_queue(self) -> Q {
        self.queue
    }

    /// The queue pair.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Commands in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The device that this queue pair drives.
    #[must_use]
    pub const fn device(&self) -> usize {
        self.place.device as usize
    }

    /// Whether nothing is in flight and nothing more may be submitted.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.in_flight() == 0 && self.ios_left == 0
    }

    /// Failures since the last call.
    pub fn take_failures(&mut self) -> Failures {
        core::mem::take(&mut self.failures)
    }

    /// What verification has seen since the last call.
    pub fn take_verified(&mut self) -> Verified {
        core::mem::take(&mut self.verified)
    }

    /// Allows the submissions of one measured run.
    pub fn begin_run(&mut self) {
        self.ios_left = self.place.ios;
    }

    /// Ends submission; what is in flight is still to be finished.
    pub fn end_submission(&mut self) {
        self.ios_left = 0;
    }

    /// The units that this queue pair alone prepares and reads back.
    #[must_use]
    pub const fn own(&self) -> Share {
        self.place.own
    }

    /// Takes completions once; returns how many and the time of the poll, where one was taken.
    #[inline]
    pub fn poll<S: Stamps>(
        &mut self,
        done: &mut Completions,
        clock: &Clock,
        progress: &Progress,
    ) -> (usize, u64) {
        let count = self.queue.reap(done);
        if count == 0 {
            return (0, 0);
        }
        let mut now = if S::PER_POLL { clock.ticks() } else { 0 };
        let mut writes = 0;
        for done in &done[..count] {
            if S::PER_IO {
                now = clock.ticks();
            }
            let slot = done.tag as u32 as u16;
            let direction = direction_of(done.tag);
            writes += u64::from(direction == Direction::Write);
            if S::PER_POLL || S::PER_IO {
                let waited = now.saturating_sub(self.slots[usize::from(slot)].started);
                progress.direction(direction).latency.record(waited);
            }
            self.settle(slot, direction, done.status);
            self.free.push(slot);
        }
        progress.write.add_ios(writes);
        progress.read.add_ios(count as u64 - writes);
        (count, now)
    }

    /// Fills free slots with what is due and publishes it; returns how many were submitted. `now` is
    /// the time of the poll, if one was taken.
    #[inline]
    pub fn refill<S: Stamps, P: Pacing>(
        &mut self,
        pacing: &mut P,
        clock: &Clock,
        now: u64,
    ) -> usize {
        if self.free.is_empty() || self.ios_left == 0 {
            return 0;
        }
        let now = if (S::PER_POLL || P::NEEDS_NOW) && now == 0 {
            clock.ticks()
        } else {
            now
        };
        let mut submitted = 0;
        while self.ios_left > 0 && !self.free.is_empty() {
            let Some(mut started) = pacing.due(now) else {
                break;
            };
            let access = match self.waiting.take() {
                Some(access) => access,
                None => self.generator.next(),
            };
            if !self.claim(access) {
                self.waiting = Some(access);
                break;
            }
            if S::PER_IO && !P::NEEDS_NOW {
                started = clock.ticks();
            }
            self.submit(access, started, self.shadow.is_some());
            pacing.submitted();
            self.ios_left -= 1;
            submitted += 1;
        }
        if submitted > 0 {
            self.queue.publish();
        }
        submitted
    }

    /// Writes one access into the queue; `exact` prepares the buffer for checking. The caller has
    /// made sure of a free slot.
    #[inline]
    fn submit(&mut self, access: Access, started: u64, exact: bool) {
        let slot = self.free.pop().expect("the caller saw a free slot");
        if exact {
            self.prepare_buffer(slot, access);
        }
        let entry = &mut self.slots[usize::from(slot)];
        (entry.started, entry.unit) = (started, access.unit);
        let buffer = entry.buffer;
        let lba = self.lba(access.unit);
        let blocks = self.plan.blocks_per_io;
        let sent = match access.direction {
            Direction::Read => self.queue.read(lba, blocks, buffer, slot.into()),
            Direction::Write => self
                .queue
                .write(lba, blocks, buffer, WRITE_TAG | u64::from(slot)),
        };
        assert!(
            sent.is_ok(),
            "the queue holds at least as many commands as there are slots"
        );
    }

    #[inline]
    fn lba(&self, unit: u64) -> u64 {
        self.plan.first_lba + unit * u64::from(self.plan.blocks_per_io)
    }

    /// Makes sure that an access has one right outcome; always true when nothing is verified.
    #[inline]
    fn claim(&mut self, access: Access) -> bool {
        match (&mut self.shadow, access.direction) {
            (None, _) => true,
            (Some(shadow), Direction::Read) => shadow.begin_read(access.unit, 1),
            (Some(shadow), Direction::Write) => shadow.begin_write(access.unit, 1),
        }
    }

    /// Ends a command: counts its failure, checks its data, gives its claim back.
    #[inline]
    fn settle(&mut self, slot: u16, direction: Direction, status: Status) {
        if !status.is_success() {
            self.count_failure(status);
        }
        if self.shadow.is_some() {
            self.settle_verified(slot, direction, status.is_success());
        }
    }

    #[cold]
    fn count_failure(&mut self, status: Status) {
        self.failures.count += 1;
        self.failures.first.get_or_insert(status);
    }

    fn settle_verified(&mut self, slot: u16, direction: Direction, succeeded: bool) {
        let unit = self.slots[usize::from(slot)].unit;
        let lba = self.lba(unit);
        let Some(shadow) = &mut self.shadow else {
            return;
        };
        if direction == Direction::Write {
            shadow.end_write(unit, 1, succeeded);
            return;
        }
        shadow.end_read(unit, 1);
        let generation = shadow.generation(unit);
        if !succeeded {
            return;
        }
        if generation == UNKNOWN {
            self.verified.ios_unknown += 1;
            return;
        }
        let offset = usize::from(slot) * self.stride;
        self.memory
            .window()
            .read_bytes(offset, &mut self.scratch)
            .expect("slot buffers lie inside the memory");
        self.verified.ios_checked += 1;
        if let Err(mismatch) = self.stamp.check(lba, generation, &self.scratch) {
            self.verified.ios_wrong += 1;
            if self.verified.mismatches.len() < limits::MISMATCHES_KEPT {
                self.verified.mismatches.push(mismatch);
            }
        }
    }

    /// Before a write: puts what the unit must hold next into the slot's buffer. Before a read:
    /// spoils the buffer, so that a device that moves nothing cannot pass with an earlier I/O's data.
    fn prepare_buffer(&mut self, slot: u16, access: Access) {
        /// What preconditioning writes where no shadow counts generations.
        const FIRST_GENERATION: u32 = 1;
        const SPOILT: u8 = 0xa5;
        let lba = self.lba(access.unit);
        let offset = usize::from(slot) * self.stride;
        let window = self.memory.window();
        let moved = match access.direction {
            Direction::Read => window.fill(offset, self.scratch.len(), SPOILT),
            Direction::Write => {
                let generation = self
                    .shadow
                    .as_ref()
                    .map_or(FIRST_GENERATION, |s| s.generation(access.unit));
                self.stamp.fill(lba, generation, &mut self.scratch);
                window.write_bytes(offset, &self.scratch)
            }
        };
        moved.expect("slot buffers lie inside the memory");
    }

    /// Gives every buffer some stamped content once, so that unverified writes send real data and
    /// the pages are touched before anything is measured.
    fn stamp_buffers(&self) {
        let mut data = vec![0; self.scratch.len()];
        for slot in 0..self.slots.len() {
            self.stamp.fill(self.plan.first_lba, slot as u32, &mut data);
            self.memory
                .window()
                .write_bytes(slot * self.stride, &data)
                .expect("slot buffers lie inside the memory");
        }
    }
}

#[inline]
const fn direction_of(tag: u64) -> Direction {
    if tag & WRITE_TAG == 0 {
        Direction::Read
    } else {
        Direction::Write
    }
}

/// A pass over a queue pair's own units, in order: preparing or reading back.
impl<Q: Queue> Lane<Q> {
    /// One poll and refill of a pass; `next` is the next unit to submit. Returns how many commands
    /// ended, or `None` when the pass is over.
    ///
    /// # Panics
    /// If `next` was moved by anybody else during the pass, so that a unit is visited twice at once.
    pub fn sweep_once(
        &mut self,
        direction: Direction,
        next: &mut u64,
        done: &mut Completions,
        progress: &Progress,
    ) -> Option<usize> {
        let count = self.queue.reap(done);
        for done in &done[..count] {
            let slot = done.tag as u32 as u16;
            self.settle(slot, direction, done.status);
            self.free.push(slot);
        }
        progress.direction(direction).add_ios(count as u64);
        let end = self.place.own.first + self.place.own.units;
        while *next < end && !self.free.is_empty() {
            let access = Access {
                unit: *next,
                direction,
            };
            assert!(self.claim(access), "a pass visits each unit once");
            self.submit(access, 0, true);
            *next += 1;
        }
        self.queue.publish();
        (self.in_flight() > 0).then_some(count)
    }
}
