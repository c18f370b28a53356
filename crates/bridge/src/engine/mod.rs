//! Many requests for bytes in flight over one queue pair.
//!
//! A request is cut into pieces, one command each. Each piece has a *unit*: a command slot and a buffer that the controller
//! reaches. A request's bytes are copied into its units when it is submitted and out of them when its answer is fetched, so
//! the caller's memory is used during these calls only. Blocks that are written in part are read, changed and written; as
//! seen through the same engine that is atomic, because of two changes of a block of which one is in part the later waits.
//!
//! Nothing here waits: whoever has submitted calls [`Engine::pump`] until the answer is there.

mod commands;
mod jobs;
mod plan;
mod recovery;
mod units;
mod volume;

use core::time::Duration;

use driver::{Device, Done, DriverError, Link, QueuePair};
use mem::DmaBuffer;
use spec::nvme::Status;

use crate::limits;
use commands::first_stage;
use jobs::{Job, Jobs, Kind};
use plan::{Cuts, Piece};
use recovery::{Life, Stall};
use units::{Stage, Units};
pub use volume::Volume;

/// How an engine works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Commands in flight, 16 to [`limits::DEPTH_MAX`]; the controller may allow fewer.
    pub depth: u32,
    /// Bytes of one command at most; the controller may allow fewer.
    pub piece_bytes: u32,
    /// Patience when commands are in flight and none completes.
    pub io_timeout: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            depth: limits::DEPTH,
            piece_bytes: limits::PIECE_BYTES,
            io_timeout: limits::IO_TIMEOUT,
        }
    }
}

/// What an engine can be asked for. `volume` is an index into [`Engine::volumes`]; ranges of bytes end within it.
#[derive(Clone, Copy, Debug)]
pub enum Request<'b> {
    /// Bytes, to be fetched with [`Engine::read_out`].
    Read {
        /// The namespace.
        volume: usize,
        /// The first byte.
        offset: u64,
        /// Bytes, 1 to [`limits::REQUEST_BYTES_MAX`].
        len: usize,
    },
    /// New bytes. They are copied during the call.
    Write {
        /// The namespace.
        volume: usize,
        /// The first byte.
        offset: u64,
        /// 1 to [`limits::REQUEST_BYTES_MAX`] bytes.
        data: &'b [u8],
        /// Whether they are durable when the answer comes (FUA).
        durable: bool,
    },
    /// Makes durable what was answered before: one Flush.
    Flush {
        /// The namespace.
        volume: usize,
    },
    /// Makes bytes zero, with Write Zeroes where the controller has it.
    Zero {
        /// The namespace.
        volume: usize,
        /// The first byte.
        offset: u64,
        /// Bytes.
        len: u64,
    },
    /// Makes bytes zero and gives their room back, where the namespace promises that this is the same; else as `Zero`.
    Discard {
        /// The namespace.
        volume: usize,
        /// The first byte.
        offset: u64,
        /// Bytes.
        len: u64,
    },
}

impl Request<'_> {
    fn volume(&self) -> usize {
        match *self {
            Self::Read { volume, .. }
            | Self::Write { volume, .. }
            | Self::Flush { volume }
            | Self::Zero { volume, .. }
            | Self::Discard { volume, .. } => volume,
        }
    }
}

/// A request that was taken. Its number is below [`Engine::requests_max`], and free again after [`Engine::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u16);

impl Ticket {
    /// The number, to index tables with.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// Why a request was not done. Parts of it may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The controller answered with an error.
    #[error("the controller answered: {0}")]
    Status(Status),
    /// The controller failed or does not answer.
    #[error("the controller failed or does not answer")]
    Controller,
}

/// Why a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// All units are in use: pump, fetch answers, and try again.
    #[error("every command slot or buffer is in use; pump and fetch answers first")]
    Full,
    /// The controller is not to be had.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Why an engine could not be closed in peace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseError {
    /// The last Flush of a namespace failed: what was written is as safe as the controller makes it.
    #[error("the last flush of namespace {namespace} failed: {failure}")]
    Flush {
        /// The namespace.
        namespace: spec::NamespaceId,
        /// Why.
        failure: Failure,
    },
    /// The queue pair could not be deleted.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// A device's namespaces behind one queue pair.
#[derive(Debug)]
pub struct Engine<L: Link> {
    device: Device<L>,
    pair: QueuePair,
    options: EngineOptions,
    memory: DmaBuffer,
    piece_bytes: u32,
    volumes: Vec<Volume>,
    units: Units,
    jobs: Jobs,
    /// Chains of units that commands of a failed controller may still use.
    given_up: Vec<u16>,
    life: Life,
    stall: Option<Stall>,
    /// The longest time between two looks during stalls, until somebody took it.
    lapse: Duration,
    /// Commands were written into the ring since the last publication.
    unpublished: bool,
}

impl<L: Link> Engine<L> {
    /// Takes a device: creates a queue pair and takes memory for buffers.
    ///
    /// # Errors
    /// When queues or memory are refused, or a namespace has metadata or blocks larger than a command. The device is lost.
    pub fn open(mut device: Device<L>, options: &EngineOptions) -> Result<Self, DriverError> {
        let piece_bytes = options
            .piece_bytes
            .next_power_of_two()
            .clamp(limits::BLKSIZE, driver::limits::TRANSFER_BYTES_MAX)
            .min(device.transfer_bytes_max());
        let namespaces = device.namespaces().to_vec();
        let volumes = namespaces
            .iter()
            .map(|namespace| Volume::look_at(&mut device, namespace, piece_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        // A block that is written in part lies in a unit twice: as it was, and the part that is new.
        let block_max = volumes.iter().map(|volume| 2 << volume.block_shift).max();
        let stride = (piece_bytes as usize).max(block_max.unwrap_or(0));
        let needed = limits::REQUEST_BYTES_MAX.div_ceil(piece_bytes) + 2;
        let depth = options
            .depth
            .clamp(16, limits::DEPTH_MAX)
            .max(needed)
            .min(device.queue_depth_max() - 1);
        if depth < needed {
            return Err(DriverError::Unsupported {
                what: "CAP.MQES",
                wanted: "queues that hold one request of 1 MiB",
                found: format!("{depth} commands of {piece_bytes} bytes"),
            });
        }
        let memory = device.allocate(depth as usize * stride)?;
        let pair = device.create_queue_pair(depth + 1)?;
        let units = Units::new(&memory, stride);
        let jobs = Jobs::new(units.count());
        Ok(Self {
            given_up: Vec::with_capacity(units.count()),
            device,
            pair,
            options: options.clone(),
            memory,
            piece_bytes,
            volumes,
            units,
            jobs,
            life: Life::Working,
            stall: None,
            lapse: Duration::ZERO,
            unpublished: false,
        })
    }

    /// The namespaces, in rising order of identifier.
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// Requests that can be in the engine at most.
    pub fn requests_max(&self) -> usize {
        self.jobs.count()
    }

    /// Whether no request is under way. Answers may still wait to be fetched.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.jobs.under_way() == 0
    }

    /// Whether answers wait to be fetched.
    #[inline]
    pub fn has_answers(&self) -> bool {
        self.jobs.is_any_done()
    }

    /// The device below, to look at it or to meddle with it in tests.
    pub fn device_mut(&mut self) -> &mut Device<L> {
        &mut self.device
    }

    /// Takes a request. Its commands go out with the next [`pump`](Self::pump).
    ///
    /// # Errors
    /// [`Refused::Full`] when there is no room, [`Refused::Failed`] when the controller failed and a reset did not help.
    ///
    /// # Panics
    /// If there is no such volume, or the range is empty, too long, or ends beyond the volume.
    #[inline]
    pub fn submit(&mut self, request: &Request<'_>) -> Result<Ticket, Refused> {
        if self.life != Life::Working {
            self.recover()?;
        }
        if self.jobs.is_full() || self.units.free_count() == 0 {
            return Err(Refused::Full);
        }
        let volume = &self.volumes[request.volume()];
        let (shift, bytes) = (volume.block_shift, volume.bytes);
        let blocks_max = volume.blocks_max;
        match *request {
            Request::Read { offset, len, .. } => {
                let end = checked_end(offset, len as u64, bytes);
                let cuts = Cuts::to_read(offset, end, shift, blocks_max);
                self.take(request, Kind::Read, cuts, offset..end, None)
            }
            Request::Write {
                offset,
                data,
                durable,
                ..
            } => {
                let end = checked_end(offset, data.len() as u64, bytes);
                let cuts = Cuts::to_write(offset, end, shift, blocks_max);
                let kind = Kind::Write { durable };
                self.take(request, kind, cuts, offset..end, Some(data))
            }
            Request::Flush { .. } => Ok(self.take_flush(request)),
            Request::Zero { offset, len, .. } => {
                let end = checked_end(offset, len, bytes);
                Ok(self.take_long(request, Kind::Zero, offset..end))
            }
            Request::Discard { offset, len, .. } => {
                let end = checked_end(offset, len, bytes);
                Ok(self.take_long(request, Kind::Discard, offset..end))
            }
        }
    }

    /// Takes a read or a write: all its pieces at once.
    #[inline]
    fn take(
        &mut self,
        request: &Request<'_>,
        kind: Kind,
        cuts: Cuts,
        bytes: core::ops::Range<u64>,
        data: Option<&[u8]>,
    ) -> Result<Ticket, Refused> {
        if cuts.count() > self.units.free_count() {
            return Err(Refused::Full);
        }
        let volume = &self.volumes[request.volume()];
        let shift = volume.block_shift;
        let mut job = self.new_job(request, kind, &bytes);
        let index = self.jobs.claim();
        let mut last = units::NONE;
        for piece in cuts {
            let stage = if data.is_some() {
                first_stage(&piece, shift)
            } else {
                Stage::Last
            };
            let unit = self.units.take(index, piece, stage);
            if let Some(data) = data {
                // The bytes of a block that is to be fetched wait behind the place where it will be put.
                let at = if stage == Stage::Fetch { 1 << shift } else { 0 };
                let part = &data[piece.at..piece.at + piece.take];
                let written = self.units.get(unit).buffer.window().write_bytes(at, part);
                assert!(written.is_ok(), "pieces are cut to the buffer");
            }
            if last == units::NONE {
                job.chain = unit;
            } else {
                self.units.link(last, unit);
            }
            job.outstanding += 1;
            last = unit;
        }
        Ok(self.put(index, job))
    }

    fn take_flush(&mut self, request: &Request<'_>) -> Ticket {
        let mut job = self.new_job(request, Kind::Flush, &(0..0));
        let index = self.jobs.claim();
        job.chain = self.units.take(index, Piece::NONE, Stage::Last);
        job.outstanding = 1;
        self.put(index, job)
    }

    /// Takes a request that goes on one command at a time: it may be as long as the namespace.
    fn take_long(
        &mut self,
        request: &Request<'_>,
        kind: Kind,
        bytes: core::ops::Range<u64>,
    ) -> Ticket {
        let volume = &self.volumes[request.volume()];
        let shift = volume.block_shift;
        let (kind, blocks_max) = match (kind, volume.discard_blocks_max) {
            (Kind::Discard, Some(blocks_max)) => (Kind::Discard, blocks_max),
            _ => (
                Kind::Zero,
                volume.zeroes_blocks_max.unwrap_or(volume.blocks_max),
            ),
        };
        let mut job = self.new_job(request, kind, &bytes);
        job.rest = Cuts::to_write(bytes.start, bytes.end, shift, blocks_max);
        let piece = job.rest.next().expect("the range is not empty");
        let index = self.jobs.claim();
        job.chain = self.units.take(index, piece, first_stage(&piece, shift));
        job.outstanding = 1;
        self.put(index, job)
    }

    #[inline]
    fn new_job(&self, request: &Request<'_>, kind: Kind, bytes: &core::ops::Range<u64>) -> Job {
        let volume = request.volume();
        let shift = self.volumes[volume].block_shift;
        let mask = (1 << shift) - 1;
        Job {
            blocks: bytes.start >> shift..bytes.end.div_ceil(mask + 1),
            in_part: kind != Kind::Read && (bytes.start | bytes.end) & mask != 0,
            ..Job::new(kind, volume as u16)
        }
    }

    #[inline]
    fn put(&mut self, index: u16, job: Job) -> Ticket {
        if self.jobs.add(index, job) {
            self.begin(index);
        }
        Ticket(index)
    }

    /// Shows the controller what was submitted, lets the link have a turn, and takes completions in; says whether there
    /// were any. After [`EngineOptions::io_timeout`] without one, all requests under way fail.
    pub fn pump(&mut self) -> bool {
        let mut any = false;
        let mut done = [Done::EMPTY; limits::REAP_BATCH];
        while !self.is_idle() {
            self.unpublished = false;
            self.pair.publish();
            self.device.link_mut().relax();
            let count = self.pair.reap(&mut done);
            for one in done.iter().take(count) {
                self.answer(one);
            }
            any |= count > 0;
            // A second round only where the first one sent something new or found more than it could take.
            if !self.unpublished && count < done.len() {
                break;
            }
        }
        if any {
            self.end_stall();
        } else if !self.is_idle() {
            self.note_stall();
        }
        any
    }

    /// The next request whose answer is there, each once, in the order of their ends.
    #[inline]
    pub fn next_done(&mut self) -> Option<Ticket> {
        self.jobs.next_done()
    }

    /// How a request ended.
    ///
    /// # Errors
    /// Why it was not done.
    #[inline]
    pub fn outcome(&self, ticket: Ticket) -> Result<(), Failure> {
        self.jobs.get(ticket.0).failure.map_or(Ok(()), Err)
    }

    /// Copies what a Read brought to the beginning of `bytes`.
    ///
    /// # Panics
    /// If `bytes` is shorter than what was read.
    #[inline]
    pub fn read_out(&self, ticket: Ticket, bytes: &mut [u8]) {
        let mut number = self.jobs.get(ticket.0).chain;
        while number != units::NONE {
            let unit = self.units.get(number);
            let Piece { skip, take, at, .. } = unit.piece;
            let part = &mut bytes[at..at + take];
            let read = unit.buffer.window().read_bytes(skip, part);
            assert!(read.is_ok(), "pieces are cut to the buffer");
            number = self.units.after(number);
        }
    }

    /// Makes the room of a request free whose answer was fetched.
    ///
    /// # Panics
    /// If its answer was not fetched, or it was released before.
    #[inline]
    pub fn release(&mut self, ticket: Ticket) {
        let chain = self.jobs.get(ticket.0).chain;
        self.jobs.remove(ticket);
        self.units.give_chain(chain);
    }

    /// Parts with the device in peace: one Flush for each namespace, then the queue pair is deleted. Answers that nobody
    /// fetched are lost.
    ///
    /// # Errors
    /// When a flush fails or the queue pair cannot be deleted. The device is lost then.
    ///
    /// # Panics
    /// If requests are under way.
    pub fn close(mut self) -> Result<Device<L>, CloseError> {
        assert!(self.is_idle(), "requests under way end first");
        while let Some(ticket) = self.next_done() {
            self.release(ticket);
        }
        let mut flushed = Ok(());
        for volume in 0..self.volumes.len() {
            let namespace = self.volumes[volume].id;
            if let Err(failure) = self.run(&Request::Flush { volume }) {
                flushed = flushed.and(Err(CloseError::Flush { namespace, failure }));
            }
        }
        self.device.delete_queue_pair(self.pair)?;
        self.device.free(self.memory);
        flushed.map(|()| self.device)
    }

    /// One request when there is no other, and waiting for it.
    fn run(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        let ticket = self.submit(request).map_err(|refused| match refused {
            Refused::Full => unreachable!("there is no other request"),
            Refused::Failed(failure) => failure,
        })?;
        while !self.has_answers() {
            if !self.pump() {
                std::thread::yield_now();
            }
        }
        let outcome = self.outcome(ticket);
        self.jobs.next_done();
        self.release(ticket);
        outcome
    }
}

/// The end of a range of bytes.
#[inline]
fn checked_end(offset: u64, len: u64, capacity: u64) -> u64 {
    match offset.checked_add(len) {
        Some(end) if len > 0 && end <= capacity => end,
        _ => panic!("callers keep ranges within the namespace"),
    }
}
