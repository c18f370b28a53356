//! Blocks in memory.

use mem::{Backing, Region, RegionError, Span, Window};
use spec::BlockCount;
use spec::nvme::Status;

use crate::written::WrittenPages;
use crate::{BlockSize, Media, MediaCounts, Operation, Piece, Progress, Request, RunEnd, Token};

/// A stretch at least this long is given back to the system instead of being overwritten with zeroes: below, the page
/// faults that follow cost more than the stores saved.
const DISCARD_BYTES_MIN: usize = 2 << 20;

/// Why RAM media could not be made.
#[derive(Debug)]
pub enum RamError {
    /// Zero blocks, or more bytes than an address can name.
    Capacity {
        /// The number of blocks asked for.
        blocks: u64,
        /// The size of each in bytes.
        block_bytes: u64,
    },
    /// The machine refused the memory.
    Memory(RegionError),
}

impl core::fmt::Display for RamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Capacity {
                blocks,
                block_bytes,
            } => write!(
                f,
                "RAM media of {blocks} blocks of {block_bytes} bytes: wanted at least one block and fewer than 2^63 bytes"
            ),
            Self::Memory(error) => write!(f, "RAM media: {error}"),
        }
    }
}

// The machine's own words are part of ours, so there is no source to print them again.
impl core::error::Error for RamError {}

/// A medium that keeps its blocks in memory. Sparse: memory that was never written takes no room and reads as zeroes;
/// reads that touch a 4 KiB page of which no byte was ever written are counted.
#[derive(Debug)]
pub struct RamMedia {
    region: Region,
    bytes: Window,
    blocks: BlockCount,
    block_size: BlockSize,
    written: WrittenPages,
    unwritten_reads: u64,
}

impl RamMedia {
    /// Makes a medium of `blocks` blocks that all read as zeroes.
    ///
    /// # Errors
    /// When the capacity is zero or overflows, or the machine refuses the memory.
    pub fn new(
        blocks: BlockCount,
        block_size: BlockSize,
        backing: Backing,
    ) -> Result<Self, RamError> {
        let capacity = || RamError::Capacity {
            blocks: blocks.get(),
            block_bytes: block_size.bytes(),
        };
        let len = blocks
            .get()
            .checked_mul(block_size.bytes())
            .filter(|&len| len > 0)
            .and_then(|len| isize::try_from(len).ok())
            .ok_or_else(capacity)?
            .unsigned_abs();
        let region = Region::allocate(len, backing).map_err(RamError::Memory)?;
        let bytes = region.window(0, len).ok_or_else(capacity)?;
        Ok(Self {
            region,
            bytes,
            blocks,
            block_size,
            written: WrittenPages::new(len),
            unwritten_reads: 0,
        })
    }

    /// Touches every page now, so that no later access pays for a page fault.
    ///
    /// # Errors
    /// When the machine has no room for all of them.
    pub fn prefault(&self) -> Result<(), RamError> {
        self.region.prefault().map_err(RamError::Memory)
    }

    #[inline]
    fn range(&self, request: &Request) -> (usize, usize) {
        let shift = self.block_size.shift();
        // The controller checked the range against `blocks`, whose byte count fits an address.
        (
            (request.at.get() << shift) as usize,
            (request.count.get() << shift) as usize,
        )
    }

    /// Walks the range and the host's spans side by side.
    #[inline]
    fn each_span(
        &self,
        request: &Request,
        data: &[Span<'_>],
        mut visit: impl FnMut(Span<'_>, Span<'_>) -> bool,
    ) -> bool {
        let (mut offset, len) = self.range(request);
        let bytes: usize = data.iter().map(Span::len).sum();
        assert!(
            bytes == len,
            "the controller lists exactly the bytes that it asks for"
        );
        for &host in data {
            let Some(kept) = self.bytes.span(offset, host.len()) else {
                panic!("range {offset}+{} lies outside the medium", host.len());
            };
            if !visit(kept, host) {
                return false;
            }
            offset += host.len();
        }
        true
    }

    /// Keeps account of what was written, and of reads of what was not.
    #[inline]
    fn note(&mut self, write: bool, offset: usize, len: usize) {
        if self.written.is_full() {
            return;
        }
        if write {
            self.written.set(offset, len);
        } else {
            self.unwritten_reads += u64::from(self.written.misses(offset, len));
        }
    }

    fn zero(&mut self, request: &Request) {
        let (offset, len) = self.range(request);
        if len == 0 {
            return;
        }
        match request.op {
            Operation::WriteZeroes { deallocate: false } => self.note(true, offset, len),
            _ => self.written.forget(offset, len),
        }
        if len >= DISCARD_BYTES_MIN && self.region.discard(offset, len).is_ok() {
            return;
        }
        let inside = self.bytes.fill(offset, len, 0).is_ok();
        assert!(inside, "range {offset}+{len} lies outside the medium");
    }
}

impl Media for RamMedia {
    fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn blocks(&self) -> BlockCount {
        self.blocks
    }

    #[inline]
    fn start(&mut self, _token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        if !data.is_empty() {
            let (offset, len) = self.range(request);
            self.note(request.op == Operation::Write, offset, len);
        }
        let status = match request.op {
            Operation::Read => {
                self.each_span(request, data, |kept, host| {
                    kept.copy_to(host);
                    true
                });
                Status::SUCCESS
            }
            Operation::Write => {
                self.each_span(request, data, |kept, host| {
                    host.copy_to(kept);
                    true
                });
                Status::SUCCESS
            }
            Operation::Compare => {
                if self.each_span(request, data, |kept, host| kept.compare(host)) {
                    Status::SUCCESS
                } else {
                    Status::COMPARE_FAILURE
                }
            }
            Operation::WriteZeroes { .. } | Operation::Deallocate => {
                self.zero(request);
                Status::SUCCESS
            }
            Operation::Verify | Operation::Flush => Status::SUCCESS,
        };
        Progress::Done(status)
    }

    fn start_run(&mut self, pieces: &[Piece<'_>]) -> RunEnd {
        if !self.written.is_full() {
            for piece in pieces {
                let offset = (piece.at.get() << self.block_size.shift()) as usize;
                self.note(piece.write, offset, piece.data.len());
            }
        }
        let shift = self.block_size.shift();
        for piece in pieces {
            let offset = (piece.at.get() << shift) as usize;
            let Some(kept) = self.bytes.span(offset, piece.data.len()) else {
                panic!(
                    "range {offset}+{} lies outside the medium",
                    piece.data.len()
                );
            };
            if piece.write {
                piece.data.copy_to(kept);
            } else {
                kept.copy_to(piece.data);
            }
        }
        RunEnd {
            answered: pieces.len(),
            failed: None,
        }
    }

    fn is_instant(&self) -> bool {
        true
    }

    fn counts(&self) -> MediaCounts {
        MediaCounts {
            unwritten_reads: self.unwritten_reads,
            ..MediaCounts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Lba;

    fn medium() -> RamMedia {
        RamMedia::new(BlockCount::new(8192), BlockSize::B512, Backing::Anonymous)
            .expect("4 MiB of memory")
    }

    fn request(op: Operation, at: u64, count: u64) -> Request {
        Request {
            op,
            at: Lba::new(at),
            count: BlockCount::new(count),
            fua: false,
        }
    }

    fn run(medium: &mut RamMedia, op: Operation, at: u64, count: u64, host: &Window) -> Progress {
        // Two uneven spans, so that the walk has to keep step.
        let len = (count * 512) as usize;
        let spans =
            [host.span(0, 100), host.span(4096, len - 100)].map(|span| span.expect("in range"));
        medium.start(Token(0), &request(op, at, count), &spans)
    }

    #[test]
    fn what_was_written_is_read_back_across_uneven_spans() {
        let mut medium = medium();
        let host = Region::allocate(1 << 16, Backing::Anonymous)
            .expect("memory")
            .whole();
        host.write_bytes(0, &[7; 100]).expect("in range");
        host.write_bytes(4096, &[9; 924]).expect("in range");
        assert_eq!(
            run(&mut medium, Operation::Write, 3, 2, &host),
            Progress::Done(Status::SUCCESS)
        );
        host.fill(0, 1 << 16, 0).expect("in range");
        assert_eq!(
            run(&mut medium, Operation::Read, 3, 2, &host),
            Progress::Done(Status::SUCCESS)
        );
        let mut found = [0; 100];
        host.read_bytes(0, &mut found).expect("in range");
        assert_eq!(found, [7; 100]);
        let mut found = [0; 924];
        host.read_bytes(4096, &mut found).expect("in range");
        assert_eq!(found, [9; 924]);
        assert_eq!(
            run(&mut medium, Operation::Compare, 3, 2, &host),
            Progress::Done(Status::SUCCESS)
        );
        host.write_bytes(5000, &[0]).expect("in range");
        assert_eq!(
            run(&mut medium, Operation::Compare, 3, 2, &host),
            Progress::Done(Status::COMPARE_FAILURE)
        );
    }

    #[test]
    fn zeroed_ranges_read_as_zeroes_short_and_long_and_leave_neighbours_alone() {
        for count in [1_u64, 5000] {
            let mut medium = medium();
            medium.bytes.fill(0, 4 << 20, 0xA5).expect("in range");
            let op = Operation::WriteZeroes { deallocate: false };
            let answer = medium.start(Token(0), &request(op, 1, count), &[]);
            assert_eq!(answer, Progress::Done(Status::SUCCESS));
            let len = count as usize * 512;
            assert!(medium.bytes.span(0, 512).expect("in range").is_all(0xA5));
            assert!(medium.bytes.span(512, len).expect("in range").is_all(0));
            assert!(
                medium
                    .bytes
                    .span(512 + len, 512)
                    .expect("in range")
                    .is_all(0xA5)
            );
        }
    }

    #[test]
    fn reads_of_what_was_never_written_or_was_given_back_are_counted() {
        let mut medium = medium();
        let host = Region::allocate(1 << 16, Backing::Anonymous)
            .expect("memory")
            .whole();
        let unwritten = |medium: &RamMedia| medium.counts().unwritten_reads;
        run(&mut medium, Operation::Read, 0, 2, &host);
        assert_eq!(unwritten(&medium), 1);
        run(&mut medium, Operation::Write, 0, 2, &host);
        run(&mut medium, Operation::Read, 0, 2, &host);
        assert_eq!(unwritten(&medium), 1);
        run(&mut medium, Operation::Read, 7, 2, &host);
        assert_eq!(
            unwritten(&medium),
            2,
            "the second half of it was not written"
        );
        medium.start(Token(0), &request(Operation::Deallocate, 0, 8), &[]);
        run(&mut medium, Operation::Read, 0, 1, &host);
        assert_eq!(unwritten(&medium), 3);
    }

    #[test]
    fn a_capacity_that_overflows_is_refused() {
        let error = RamMedia::new(
            BlockCount::new(u64::MAX),
            BlockSize::B4096,
            Backing::Anonymous,
        );
        assert!(matches!(error, Err(RamError::Capacity { .. })));
        let error = RamMedia::new(BlockCount::new(0), BlockSize::B512, Backing::Anonymous);
        assert!(matches!(error, Err(RamError::Capacity { .. })));
    }
}
