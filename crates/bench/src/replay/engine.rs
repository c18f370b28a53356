//! One queue pair that is driven by a trace: which I/O may go now, the commands that it takes, and what comes back.
//!
//! An I/O goes when it is due and nothing in flight overlaps it that it could not share its blocks with: a device may run
//! commands in any order, and what the blocks hold in the end is to be what the trace wrote last. Whoever waits, all
//! behind it wait too, so I/Os begin in the order of the trace.

use driver::{Done, IoBuffer, QueuePair};
use mem::DmaBuffer;
use ring::sync::{AtomicU64, Ordering};
use spec::nvme::{DatasetManagement, DsmRange, Status, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, Lba, NamespaceId, ZeroBased};

use super::layout::Io;
use super::run::{Pace, Plan};
use super::{Kind, PerKind, Place};
use crate::clock::Clock;
use crate::lane::LaneError;
use crate::latency::{LiveLatency, add_alone};
use crate::limits::{IO_BYTES_MAX, REAP_BATCH};
use crate::pattern::Stamp;
use crate::progress::LiveDirection;

/// What there is to know of the namespace under replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its identifier.
    pub namespace: NamespaceId,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of one command's data at most.
    pub transfer_bytes_max: u32,
    /// Blocks of one deallocated range at most.
    pub discard_blocks_max: u32,
}

const PAGE: u64 = 4096;

/// Logical blocks of one command at most: its count has 16 bits, 0's based.
const COMMAND_BLOCKS_MAX: u64 = 1 << 16;

/// Distance between two commands' buffers in bytes, whole pages: the longest I/O of the trace, but no more than a command
/// takes, nor than [`IO_BYTES_MAX`], so that the deepest queue has 1 GiB of them.
fn stride(facts: &Facts, longest: u64) -> u64 {
    // One more block, because an I/O that begins inside a block also grows at its end.
    let longest = longest
        .div_ceil(facts.block_bytes.into())
        .saturating_add(1)
        .saturating_mul(facts.block_bytes.into());
    let most = u64::from(facts.transfer_bytes_max.min(IO_BYTES_MAX)) / u64::from(facts.block_bytes)
        * u64::from(facts.block_bytes);
    longest.min(most).next_multiple_of(PAGE)
}

/// Bytes of data buffers that a replay needs, for a trace whose longest read or write has `longest` bytes.
#[must_use]
pub fn buffer_bytes(facts: &Facts, qd: u32, longest: u64) -> usize {
    (stride(facts, longest) * u64::from(qd)) as usize
}

/// One kind's counters, written by the driving thread alone.
#[derive(Debug, Default)]
pub(super) struct LiveKind {
    pub(super) direction: LiveDirection,
    bytes: AtomicU64,
}

impl LiveKind {
    /// Bytes of the I/Os that succeeded.
    pub(super) fn bytes(&self) -> u64 {
        // Relaxed: statistics order nothing.
        self.bytes.load(Ordering::Relaxed)
    }
}

/// What a running replay shows to others.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) kinds: PerKind<LiveKind>,
    /// How late I/Os with a recorded time were sent.
    pub(super) lag: LiveLatency,
}

/// What the engine counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// NVMe commands sent, by the kind of their I/O.
    pub commands: PerKind<u64>,
    /// I/Os that waited for one in flight: they overlap, or they flush in a replay without times.
    pub held_back: u64,
    /// Flushes that were sent at their time while earlier writes were still in flight, and do not cover those.
    pub overtaking: u64,
    /// I/Os that were not whole blocks.
    pub aligned: u64,
    /// I/Os moved into the device.
    pub wrapped: u64,
    /// I/Os shortened to the device.
    pub clipped: u64,
    /// I/Os of which nothing was left.
    pub dropped: u64,
    /// I/Os that failed.
    pub failures: u64,
    /// The first of them.
    pub first_failure: Option<(Place, Status)>,
    /// Ticks that the last I/O with a recorded time was sent late.
    pub last_lag: u64,
    /// Ticks from sending to completion, summed over all I/Os.
    pub in_flight_ticks: u64,
}

/// An I/O whose commands are in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    io: Io,
    /// From when its latency counts.
    since: u64,
    sent: u64,
    /// Commands not answered yet.
    left: u32,
    /// Whether all its commands were sent.
    whole: bool,
    failed: bool,
}

/// Blocks that are in use by a flight.
#[derive(Clone, Copy, Debug)]
struct Busy {
    first: u64,
    end: u64,
    changes: bool,
    flight: u16,
}

/// The I/O that goes next.
#[derive(Clone, Copy, Debug)]
struct Head {
    io: Io,
    /// The tick when it is due, if it has a time.
    due: Option<u64>,
    /// Blocks of it that were sent.
    blocks_sent: u64,
    /// Its flight once it has begun.
    flight: Option<u16>,
    held: bool,
}

/// Whether the next I/O could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was, or there is none to send.
    All,
    /// It waits for a slot, or for one in flight.
    Waits,
    /// It is due at this tick.
    DueAt(u64),
}

/// A queue pair with all that a replay needs; its memory is taken at the beginning.
#[derive(Debug)]
pub(super) struct Engine<'r> {
    pair: &'r mut QueuePair,
    memory: &'r DmaBuffer,
    facts: Facts,
    stride: u64,
    blocks_max: u64,
    fast: bool,
    /// Ticks for each recorded nanosecond.
    ticks_per_ns: f64,
    start: u64,
    stamp: Stamp,
    stamps_writes: bool,
    scratch: Vec<u8>,
    free: Vec<u16>,
    flights: Vec<Flight>,
    free_flights: Vec<u16>,
    busy: Vec<Busy>,
    changes_in_flight: u32,
    writes: u64,
    head: Option<Head>,
    counted: Counted,
    done: [Done; REAP_BATCH],
}

impl<'r> Engine<'r> {
    pub(super) fn new(
        pair: &'r mut QueuePair,
        memory: &'r DmaBuffer,
        facts: Facts,
        plan: &Plan,
        longest: u64,
        clock: &Clock,
    ) -> Result<Self, LaneError> {
        if pair.capacity() < plan.qd {
            return Err(LaneError::Shallow {
                wanted: plan.qd,
                found: pair.capacity(),
            });
        }
        let (wanted, found) = (buffer_bytes(&facts, plan.qd, longest), memory.len());
        if found < wanted {
            return Err(LaneError::ShortBuffer { wanted, found });
        }
        let stride = stride(&facts, longest);
        let speed = match plan.pace {
            Pace::Recorded { speed } => speed,
            Pace::Fast => 1.0,
        };
        let io = Io {
            kind: Kind::Flush,
            fua: false,
            barrier: false,
            lba: 0,
            blocks: 0,
            at_ns: None,
            changed: super::layout::Changed::default(),
            place: Place::default(),
        };
        let flight = Flight {
            io,
            since: 0,
            sent: 0,
            left: 0,
            whole: false,
            failed: false,
        };
        let engine = Self {
            pair,
            memory,
            facts,
            stride,
            blocks_max: (stride.min(facts.transfer_bytes_max.into())
                / u64::from(facts.block_bytes))
            .min(COMMAND_BLOCKS_MAX),
            fast: plan.pace == Pace::Fast,
            ticks_per_ns: clock.ticks_per_second() / 1e9 / speed,
            start: 0,
            stamp: Stamp::new(plan.seed, facts.block_bytes),
            stamps_writes: plan.stamp,
            scratch: vec![0; stride as usize],
            free: (0..plan.qd as u16).rev().collect(),
            flights: vec![flight; plan.qd as usize],
            free_flights: (0..plan.qd as u16).rev().collect(),
            busy: Vec::with_capacity(plan.qd as usize),
            changes_in_flight: 0,
            writes: 0,
            head: None,
            counted: Counted::default(),
            done: [Done::EMPTY; REAP_BATCH],
        };
        engine.fill_buffers(plan.qd);
        Ok(engine)
    }

    /// Gives every buffer stamped content once, so that pages are touched before anything is measured and writes that are
    /// not stamped one by one send real data.
    fn fill_buffers(&self, qd: u32) {
        let mut data = vec![0; self.stride as usize];
        for slot in 0..qd {
            self.stamp.fill(0, slot, &mut data);
            self.write_buffer(slot as u16, &data);
        }
    }

    fn write_buffer(&self, slot: u16, bytes: &[u8]) {
        let at = usize::from(slot) * self.stride as usize;
        let written = self.memory.window().write_bytes(at, bytes);
        written.expect("slot buffers lie inside the memory");
    }

    /// Says when the first I/O is due.
    pub(super) fn start_at(&mut self, tick: u64) {
        self.start = tick;
    }

    pub(super) fn in_flight(&self) -> usize {
        self.flights.len() - self.free_flights.len()
    }

    /// Whether there is room for the next I/O of the trace.
    pub(super) fn wants_io(&self) -> bool {
        self.head.is_none()
    }

    /// Takes the next I/O of the trace.
    pub(super) fn set_next(&mut self, io: Io) {
        let due = match (self.fast, io.at_ns) {
            (false, Some(ns)) => Some(
                self.start
                    .saturating_add((ns as f64 * self.ticks_per_ns) as u64),
            ),
            _ => None,
        };
        self.head = Some(Head {
            io,
            due,
            blocks_sent: 0,
            flight: None,
            held: false,
        });
    }

    /// Forgets the next I/O, unless a part of it was sent.
    pub(super) fn drop_next(&mut self) {
        if self.head.is_some_and(|head| head.flight.is_none()) {
            self.head = None;
        }
    }

    pub(super) fn into_counted(self) -> Counted {
        self.counted
    }

    /// Sends the next I/O as far as it may go; [`publish`](Self::publish) shows it to the device.
    pub(super) fn send_next(&mut self, now: u64, live: &Live) -> Sent {
        let Some(mut head) = self.head.take() else {
            return Sent::All;
        };
        let flight = match head.flight {
            Some(flight) => flight,
            None => {
                if let Some(due) = head.due.filter(|&due| due > now) {
                    self.head = Some(head);
                    return Sent::DueAt(due);
                }
                if head.io.blocks == 0 && head.io.kind != Kind::Flush {
                    self.count_changes(&head.io);
                    self.counted.dropped += 1;
                    return Sent::All;
                }
                if self.free.is_empty() || !self.may_go(&mut head) {
                    self.head = Some(head);
                    return Sent::Waits;
                }
                self.begin(&head, now, live)
            }
        };
        head.flight = Some(flight);
        while let Some(slot) = self.free.pop() {
            let left = head.io.blocks - head.blocks_sent;
            let blocks = left.min(self.piece_blocks(head.io.kind));
            self.command(
                slot,
                flight,
                &head.io,
                head.io.lba + head.blocks_sent,
                blocks,
            );
            head.blocks_sent += blocks;
            if head.blocks_sent == head.io.blocks {
                self.flights[usize::from(flight)].whole = true;
                return Sent::All;
            }
        }
        self.head = Some(head);
        Sent::Waits
    }

    /// Blocks of one command at most.
    fn piece_blocks(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Discard => self.facts.discard_blocks_max.into(),
            _ => self.blocks_max,
        }
    }

    /// Whether nothing in flight stands in the way of an I/O that is due.
    fn may_go(&mut self, head: &mut Head) -> bool {
        let io = &head.io;
        let goes = match io.kind {
            // Without times, only the order says which writes were known to be over when this was asked for.
            Kind::Flush => self.changes_in_flight == 0 || !(self.fast || io.barrier),
            kind => {
                let (first, end, changes) = (io.lba, io.lba + io.blocks, kind.changes());
                !self
                    .busy
                    .iter()
                    .any(|busy| (changes || busy.changes) && first < busy.end && busy.first < end)
            }
        };
        if !goes && !head.held {
            head.held = true;
            self.counted.held_back += 1;
        }
        goes
    }

    /// Opens the flight of an I/O.
    fn begin(&mut self, head: &Head, now: u64, live: &Live) -> u16 {
        let io = head.io;
        self.count_changes(&io);
        if let Some(due) = head.due {
            self.counted.last_lag = now - due;
            live.lag.record(now - due);
        }
        if io.kind == Kind::Flush && self.changes_in_flight > 0 {
            self.counted.overtaking += 1;
        }
        self.writes += u64::from(io.kind == Kind::Write);
        self.changes_in_flight += u32::from(io.kind.changes());
        let index = self.free_flights.pop();
        let index =
            index.expect("an I/O in flight has a command slot, so there are as many flights");
        self.flights[usize::from(index)] = Flight {
            io,
            since: head.due.unwrap_or(now),
            sent: now,
            left: 0,
            whole: false,
            failed: false,
        };
        if io.kind != Kind::Flush {
            self.busy.push(Busy {
                first: io.lba,
                end: io.lba + io.blocks,
                changes: io.kind.changes(),
                flight: index,
            });
        }
        index
    }

    fn count_changes(&mut self, io: &Io) {
        self.counted.aligned += u64::from(io.changed.aligned);
        self.counted.wrapped += u64::from(io.changed.wrapped);
        self.counted.clipped += u64::from(io.changed.clipped);
    }

    /// Writes one command into the queue.
    fn command(&mut self, slot: u16, flight: u16, io: &Io, lba: u64, blocks: u64) {
        let entry = |opcode| SubmissionEntry::new(opcode, CommandId::new(0), self.facts.namespace);
        let address = self.memory.iova().get() + u64::from(slot) * self.stride;
        let transfer = |opcode| {
            let count = ZeroBased::<u16>::from_count(blocks as u32);
            let entry = entry(opcode)
                .with_slba(Lba::new(lba))
                .with_nlb(count.expect("a piece has 1 to 65536 blocks"));
            let bytes = blocks as u32 * self.facts.block_bytes;
            (entry, IoBuffer::new(address, bytes))
        };
        let (entry, buffer) = match io.kind {
            Kind::Read => transfer(io_opcode::READ),
            Kind::Write => {
                let (entry, buffer) = transfer(io_opcode::WRITE);
                (entry.with_fua(io.fua), buffer)
            }
            Kind::Flush => (entry(io_opcode::FLUSH), IoBuffer::NONE),
            Kind::Discard => {
                let command = DatasetManagement {
                    ranges: ZeroBased::<u8>::new(0),
                    integral_read: false,
                    integral_write: false,
                    deallocate: true,
                };
                let entry = command.emit(entry(io_opcode::DATASET_MANAGEMENT));
                (entry, IoBuffer::new(address, DsmRange::BYTES as u32))
            }
        };
        match io.kind {
            Kind::Write if self.stamps_writes => self.stamp_buffer(slot, lba, blocks),
            Kind::Discard => {
                let range = DsmRange {
                    at: Lba::new(lba),
                    count: BlockCount::new(blocks),
                    ..DsmRange::default()
                };
                let mut bytes = [0; DsmRange::BYTES];
                range.emit(&mut bytes);
                self.write_buffer(slot, &bytes);
            }
            _ => {}
        }
        let tag = u64::from(flight) << 16 | u64::from(slot);
        let sent = self.pair.submit(entry, buffer, tag);
        assert!(
            sent.is_ok(),
            "the queue holds at least as many commands as there are slots"
        );
        self.flights[usize::from(flight)].left += 1;
        *self.counted.commands.of_mut(io.kind) += 1;
    }

    /// Puts data into a write's buffer that name their block, and as generation which write of the trace this is, from one.
    fn stamp_buffer(&mut self, slot: u16, lba: u64, blocks: u64) {
        let bytes = (blocks * u64::from(self.facts.block_bytes)) as usize;
        self.stamp
            .fill(lba, self.writes as u32, &mut self.scratch[..bytes]);
        self.write_buffer(slot, &self.scratch[..bytes]);
    }

    /// Shows the device what was sent.
    pub(super) fn publish(&mut self) {
        self.pair.publish();
    }

    /// Takes completions once; returns how many commands ended.
    pub(super) fn poll(&mut self, clock: &Clock, live: &Live) -> (usize, u64) {
        let count = self.pair.reap(&mut self.done);
        let now = clock.ticks();
        for index in 0..count {
            let done = self.done[index];
            self.end_command(&done, now, live);
        }
        (count, now)
    }

    fn end_command(&mut self, done: &Done, now: u64, live: &Live) {
        let (slot, index) = (done.tag as u16, (done.tag >> 16) as u16);
        self.free.push(slot);
        let flight = &mut self.flights[usize::from(index)];
        flight.left -= 1;
        if !done.status.is_success() {
            self.counted.failures += u64::from(!flight.failed);
            flight.failed = true;
            let first = (flight.io.place, done.status);
            self.counted.first_failure.get_or_insert(first);
        }
        if flight.left > 0 || !flight.whole {
            return;
        }
        let Flight {
            io,
            since,
            sent,
            failed,
            ..
        } = *flight;
        self.free_flights.push(index);
        self.changes_in_flight -= u32::from(io.kind.changes());
        if let Some(at) = self.busy.iter().position(|busy| busy.flight == index) {
            self.busy.swap_remove(at);
        }
        self.counted.in_flight_ticks += now - sent;
        let kind = live.kinds.of(io.kind);
        kind.direction.add_ios(1);
        kind.direction.latency.record(now.saturating_sub(since));
        if !failed {
            add_alone(&kind.bytes, io.blocks * u64::from(self.facts.block_bytes));
        }
    }
}
