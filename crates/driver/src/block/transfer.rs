//! Many commands at once: pieces go out while others come back.

use mem::PoolBuffer;
use spec::nvme::{DatasetManagement, DsmRange, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, ZeroBased};

use super::plan::{Piece, Plan};
use super::{BlockDevice, BlockError, BlockOperation};
use crate::error::{DriverError, Waited};
use crate::link::Link;
use crate::patience::Patience;
use crate::queue_pair::{Done, IoBuffer};

/// What the caller wants, and the caller's bytes.
#[derive(Debug)]
pub(super) enum Job<'b> {
    Read(&'b mut [u8]),
    Write(&'b [u8]),
    /// Zeros, by Write Zeroes where whole blocks are meant.
    Zero,
    /// Zeros, for a controller without Write Zeroes.
    ZeroAsData,
    Discard,
    Flush,
}

impl Job<'_> {
    fn operation(&self) -> BlockOperation {
        match self {
            Self::Read(_) => BlockOperation::Read,
            Self::Write(_) => BlockOperation::Write,
            Self::Zero | Self::ZeroAsData => BlockOperation::WriteZeroes,
            Self::Discard => BlockOperation::Discard,
            Self::Flush => BlockOperation::Flush,
        }
    }
}

/// What a command in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its data go to the caller.
    Read,
    /// Its data are the rest of a block that the caller writes in part.
    Fetch,
    /// When it is done, the piece is.
    Last,
}

/// A command in flight. It owns its buffer until the controller is done with it.
#[derive(Debug)]
pub(super) struct Flight {
    piece: Piece,
    stage: Stage,
    buffer: PoolBuffer,
}

impl<L: Link> BlockDevice<L> {
    /// Carries a job out, with resets in between if it must be.
    ///
    /// Sending pieces again after a reset is right: a reset ends all old commands, each piece only says what its blocks
    /// shall hold, and the pieces of one job do not overlap.
    pub(super) fn run(
        &mut self,
        mut job: Job<'_>,
        mut plan: Plan,
        first: Option<Piece>,
    ) -> Result<(), BlockError> {
        let mut again: Vec<Piece> = first.into_iter().collect();
        let mut recoveries = 0;
        if !self.alive {
            // What an earlier call left in flight is none of this one's business.
            recoveries += 1;
            self.recover()?;
        }
        loop {
            let error = match self.pass(&mut job, &mut again, &mut plan) {
                Ok(()) => return Ok(()),
                Err(BlockError::Driver(error)) => error,
                Err(refused) => return Err(refused),
            };
            self.alive = false;
            if recoveries == self.options.recoveries_max || !is_recoverable(&error) {
                return Err(error.into());
            }
            recoveries += 1;
            again.extend(self.recover()?);
        }
    }

    /// Sends all pieces and takes all answers. After a refusal nothing more is sent, but what is in flight is waited for.
    fn pass(
        &mut self,
        job: &mut Job<'_>,
        again: &mut Vec<Piece>,
        plan: &mut Plan,
    ) -> Result<(), BlockError> {
        let mut refused = None;
        let mut patience = Patience::new(&mut self.device.link, self.options.io_timeout);
        let mut done = [Done::EMPTY; 32];
        loop {
            if refused.is_none() {
                self.start_pieces(job, again, plan);
            }
            self.pair.publish();
            if self.pair.in_flight() == 0 {
                return refused.map_or(Ok(()), Err);
            }
            let count = self.pair.reap(&mut done);
            for one in done.iter().take(count) {
                if let Err(error) = self.finish(job, one) {
                    refused.get_or_insert(error);
                }
            }
            if count > 0 {
                patience.renew();
            } else if let Err(error) = self.device.wait_a_turn(&mut patience, Waited::Io) {
                self.device.failed = true;
                self.alive = false;
                // A refused piece is not sent again, so the refusal is the call's answer whatever befell the others.
                return Err(refused.unwrap_or(error.into()));
            }
        }
    }

    /// Resets the controller and has the queue pair revived; returns what was in flight.
    fn recover(&mut self) -> Result<Vec<Piece>, BlockError> {
        self.counters.recoveries += 1;
        self.device.reset()?;
        let lost = self.pair.abandon();
        let mut pieces = Vec::with_capacity(lost.len());
        for flight in self.flights.iter_mut().filter_map(Option::take) {
            pieces.push(flight.piece);
            self.pool.give(flight.buffer);
        }
        assert_eq!(
            pieces.len(),
            lost.len(),
            "a command in flight has a flight and a slot"
        );
        self.device.revive(&mut self.pair)?;
        self.check_namespace()?;
        self.alive = true;
        Ok(pieces)
    }

    /// Sends pieces as long as there are buffers.
    fn start_pieces(&mut self, job: &Job<'_>, again: &mut Vec<Piece>, plan: &mut Plan) {
        while let Some(buffer) = self.pool.take() {
            let Some(piece) = again.pop().or_else(|| plan.next()) else {
                self.pool.give(buffer);
                return;
            };
            self.start(job, piece, buffer);
        }
    }

    /// Sends the first command of a piece. This is the only place that decides whether a block must be read first because
    /// the caller writes a part of it.
    fn start(&mut self, job: &Job<'_>, piece: Piece, buffer: PoolBuffer) {
        let part = !piece.is_whole(self.namespace.block_shift);
        match job {
            Job::Read(_) => self.transfer(io_opcode::READ, Stage::Read, piece, buffer),
            Job::Write(_) | Job::Zero | Job::ZeroAsData if part => {
                self.counters.read_modify_writes += 1;
                self.transfer(io_opcode::READ, Stage::Fetch, piece, buffer);
            }
            Job::Write(_) | Job::ZeroAsData => {
                lay_over(job, &piece, &buffer);
                self.transfer(io_opcode::WRITE, Stage::Last, piece, buffer);
            }
            Job::Zero => {
                let entry = self.entry(io_opcode::WRITE_ZEROES, &piece);
                self.send(
                    entry,
                    IoBuffer::NONE,
                    Flight {
                        piece,
                        stage: Stage::Last,
                        buffer,
                    },
                );
            }
            Job::Discard => self.discard_piece(piece, buffer),
            Job::Flush => {
                let entry = self.bare_entry(io_opcode::FLUSH);
                self.send(
                    entry,
                    IoBuffer::NONE,
                    Flight {
                        piece,
                        stage: Stage::Last,
                        buffer,
                    },
                );
            }
        }
    }

    /// Deallocates one range.
    fn discard_piece(&mut self, piece: Piece, buffer: PoolBuffer) {
        let range = DsmRange {
            at: piece.lba,
            count: BlockCount::new(piece.blocks.into()),
            ..DsmRange::default()
        };
        let mut bytes = [0; DsmRange::BYTES];
        range.emit(&mut bytes);
        let written = buffer.buffer().window().write_bytes(0, &bytes);
        assert!(written.is_ok(), "a bounce buffer holds a block");
        let command = DatasetManagement {
            ranges: ZeroBased::<u8>::new(0),
            integral_read: false,
            integral_write: false,
            deallocate: true,
        };
        let entry = command.emit(self.bare_entry(io_opcode::DATASET_MANAGEMENT));
        let data = part_of(&buffer, DsmRange::BYTES as u64);
        self.send(
            entry,
            data,
            Flight {
                piece,
                stage: Stage::Last,
                buffer,
            },
        );
    }

    fn transfer(&mut self, opcode: u8, stage: Stage, piece: Piece, buffer: PoolBuffer) {
        let entry = self.entry(opcode, &piece);
        let data = part_of(&buffer, piece.bytes(self.namespace.block_shift));
        self.send(
            entry,
            data,
            Flight {
                piece,
                stage,
                buffer,
            },
        );
    }

    fn bare_entry(&self, opcode: u8) -> SubmissionEntry {
        SubmissionEntry::new(opcode, CommandId::new(0), self.namespace.id)
    }

    fn entry(&self, opcode: u8, piece: &Piece) -> SubmissionEntry {
        let count = ZeroBased::<u16>::from_count(piece.blocks).expect("1 to 65536 blocks");
        self.bare_entry(opcode).with_slba(piece.lba).with_nlb(count)
    }

    fn send(&mut self, entry: SubmissionEntry, data: IoBuffer, flight: Flight) {
        let index = flight.buffer.index();
        let sent = self.pair.submit(entry, data, index as u64);
        assert!(sent.is_ok(), "there are as many command slots as buffers");
        let place = self
            .flights
            .get_mut(index)
            .expect("a flight for each buffer");
        assert!(place.replace(flight).is_none(), "a buffer is in one flight");
        self.counters.commands += 1;
    }

    /// Takes the answer to one command, and sends the second one of a block that is written in part.
    fn finish(&mut self, job: &mut Job<'_>, done: &Done) -> Result<(), BlockError> {
        let place = self
            .flights
            .get_mut(done.tag as usize)
            .and_then(Option::take);
        let Flight {
            piece,
            stage,
            buffer,
        } = place.expect("tags come back from our own slots");
        if !done.status.is_success() {
            self.pool.give(buffer);
            return Err(BlockError::Command {
                operation: job.operation(),
                lba: piece.lba,
                blocks: piece.blocks,
                status: done.status,
            });
        }
        match stage {
            Stage::Fetch => {
                lay_over(job, &piece, &buffer);
                self.transfer(io_opcode::WRITE, Stage::Last, piece, buffer);
                return Ok(());
            }
            Stage::Read => hand_over(job, &piece, &buffer),
            Stage::Last => {}
        }
        self.pool.give(buffer);
        Ok(())
    }
}

/// Whether a reset may help.
fn is_recoverable(error: &DriverError) -> bool {
    matches!(
        error,
        DriverError::Timeout { .. } | DriverError::Fatal { .. } | DriverError::NotReady { .. }
    )
}

/// The beginning of a bounce buffer, as a command's data.
fn part_of(buffer: &PoolBuffer, bytes: u64) -> IoBuffer {
    assert!(
        bytes <= buffer.buffer().len() as u64,
        "pieces are cut to the bounce buffer"
    );
    IoBuffer::new(buffer.buffer().iova().get(), bytes as u32)
}

/// Writes the caller's bytes of a piece into its buffer, over what the controller read there if it is a part of a block.
fn lay_over(job: &Job<'_>, piece: &Piece, buffer: &PoolBuffer) {
    let window = buffer.buffer().window();
    let (skip, take, at) = (piece.skip as usize, piece.take as usize, piece.at as usize);
    let written = match job {
        Job::Write(bytes) => window.write_bytes(skip, &bytes[at..at + take]),
        Job::Zero | Job::ZeroAsData => window.fill(skip, take, 0),
        Job::Read(_) | Job::Discard | Job::Flush => return,
    };
    assert!(written.is_ok(), "pieces are cut to the bounce buffer");
}

/// Hands what the controller read to the caller.
fn hand_over(job: &mut Job<'_>, piece: &Piece, buffer: &PoolBuffer) {
    let Job::Read(bytes) = job else { return };
    let (skip, take, at) = (piece.skip as usize, piece.take as usize, piece.at as usize);
    let read = buffer
        .buffer()
        .window()
        .read_bytes(skip, &mut bytes[at..at + take]);
    assert!(read.is_ok(), "pieces are cut to the bounce buffer");
}
