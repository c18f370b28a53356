//! From requests to commands and back.

use driver::{Done, IoBuffer, Link};
use spec::nvme::{DatasetManagement, DsmRange, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, ZeroBased};

use super::jobs::Kind;
use super::plan::Piece;
use super::units::{self, Stage, Unit};
use super::{Engine, Failure, Volume};

impl<L: Link> Engine<L> {
    /// Sends the first commands of a request.
    #[inline]
    pub(super) fn begin(&mut self, index: u16) {
        let mut unit = self.jobs.get(index).chain;
        while unit != units::NONE {
            self.send_first(index, unit);
            unit = self.units.after(unit);
        }
    }

    /// Sends the first command for a unit's piece.
    #[inline]
    fn send_first(&mut self, index: u16, number: u16) {
        let job = self.jobs.get(index);
        let volume = &self.volumes[usize::from(job.volume)];
        let unit = self.units.get(number);
        let piece = unit.piece;
        let whole = unit.data(piece.bytes(volume.block_shift).min(unit.buffer.len()));
        let (entry, data) = match (job.kind, unit.stage) {
            (Kind::Read, _) | (_, Stage::Fetch) => {
                (transfer(io_opcode::READ, volume, &piece), whole)
            }
            (Kind::Write { durable }, Stage::Last) => (
                transfer(io_opcode::WRITE, volume, &piece).with_fua(durable),
                whole,
            ),
            (Kind::Flush, _) => (bare(io_opcode::FLUSH, volume), IoBuffer::NONE),
            (Kind::Discard, _) => discard(volume, &piece, unit),
            (Kind::Zero, _) if volume.zeroes_blocks_max.is_some() => (
                transfer(io_opcode::WRITE_ZEROES, volume, &piece),
                IoBuffer::NONE,
            ),
            (Kind::Zero, _) => {
                unit.fill_zeros(0, piece.bytes(volume.block_shift));
                (transfer(io_opcode::WRITE, volume, &piece), whole)
            }
        };
        self.send(entry, data, number);
    }

    #[inline]
    fn send(&mut self, entry: SubmissionEntry, data: IoBuffer, unit: u16) {
        let sent = self.pair.submit(entry, data, unit.into());
        assert!(sent.is_ok(), "there are as many command slots as units");
        self.unpublished = true;
    }

    /// Takes the answer to one command.
    #[inline]
    pub(super) fn answer(&mut self, done: &Done) {
        let number = done.tag as u16;
        let unit = self.units.get_mut(number);
        let index = unit.job;
        if !done.status.is_success() {
            let job = self.jobs.get_mut(index);
            job.failure.get_or_insert(Failure::Status(done.status));
        } else if unit.stage == Stage::Fetch {
            unit.stage = Stage::Last;
            self.write_changed(index, number);
            return;
        }
        if self.go_on(index, number) {
            return;
        }
        let job = self.jobs.get_mut(index);
        job.outstanding -= 1;
        if job.outstanding == 0 {
            self.jobs.finish(index);
            self.begin_waiting();
        }
    }

    /// Begins all requests that waited for the one that is over.
    fn begin_waiting(&mut self) {
        while let Some(index) = self.jobs.next_to_begin() {
            self.begin(index);
        }
    }

    /// Writes a block back that was fetched, with the bytes that the request changes in it.
    fn write_changed(&mut self, index: u16, number: u16) {
        let job = self.jobs.get(index);
        let volume = &self.volumes[usize::from(job.volume)];
        let unit = self.units.get(number);
        let piece = unit.piece;
        let block = piece.bytes(volume.block_shift);
        let durable = match job.kind {
            Kind::Write { durable } => {
                unit.lay_over(block, piece.skip, piece.take);
                durable
            }
            _ => {
                unit.fill_zeros(piece.skip, piece.take);
                false
            }
        };
        let entry = transfer(io_opcode::WRITE, volume, &piece).with_fua(durable);
        let data = unit.data(block);
        self.send(entry, data, number);
    }

    /// Sends the next command of a request that goes on one at a time; says whether there was one.
    #[inline]
    fn go_on(&mut self, index: u16, number: u16) -> bool {
        let job = self.jobs.get_mut(index);
        if job.failure.is_some() {
            return false;
        }
        let Some(piece) = job.rest.next() else {
            return false;
        };
        let volume = usize::from(job.volume);
        let shift = self.volumes[volume].block_shift;
        let unit = self.units.get_mut(number);
        unit.piece = piece;
        unit.stage = first_stage(&piece, shift);
        self.send_first(index, number);
        true
    }
}

impl Unit {
    /// Moves the caller's bytes, which were put behind the block, over those of the fetched block.
    fn lay_over(&self, block: usize, skip: usize, take: usize) {
        let window = self.buffer.window();
        let (Some(from), Some(to)) = (window.span(block, take), window.span(skip, take)) else {
            unreachable!("a buffer holds two blocks");
        };
        from.copy_to(to);
    }

    fn fill_zeros(&self, skip: usize, take: usize) {
        let filled = self.buffer.window().fill(skip, take, 0);
        assert!(filled.is_ok(), "pieces are cut to the buffer");
    }
}

/// What comes first for a piece of a change.
#[inline]
pub(super) fn first_stage(piece: &Piece, shift: u32) -> Stage {
    if piece.is_whole(shift) {
        Stage::Last
    } else {
        Stage::Fetch
    }
}

#[inline]
fn bare(opcode: u8, volume: &Volume) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), volume.id)
}

#[inline]
fn transfer(opcode: u8, volume: &Volume, piece: &Piece) -> SubmissionEntry {
    let count = ZeroBased::<u16>::from_count(piece.blocks).expect("pieces have 1 to 65536 blocks");
    bare(opcode, volume).with_slba(piece.lba).with_nlb(count)
}

/// Deallocates one range, which is described in the unit's buffer.
fn discard(volume: &Volume, piece: &Piece, unit: &Unit) -> (SubmissionEntry, IoBuffer) {
    let range = DsmRange {
        at: piece.lba,
        count: BlockCount::new(piece.blocks.into()),
        ..DsmRange::default()
    };
    let mut bytes = [0; DsmRange::BYTES];
    range.emit(&mut bytes);
    let written = unit.buffer.window().write_bytes(0, &bytes);
    assert!(written.is_ok(), "a buffer holds a range");
    let command = DatasetManagement {
        ranges: ZeroBased::<u8>::new(0),
        integral_read: false,
        integral_write: false,
        deallocate: true,
    };
    let entry = command.emit(bare(io_opcode::DATASET_MANAGEMENT, volume));
    (entry, unit.data(DsmRange::BYTES))
}
