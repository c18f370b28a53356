//! The vocabulary of a request to media.

use core::fmt;
use core::time::Duration;

use mem::Span;
use spec::nvme::Status;
use spec::{BlockCount, Lba};

/// The size of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockSize {
    /// 512 bytes.
    B512,
    /// 4096 bytes.
    B4096,
}

impl BlockSize {
    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }

    /// The base-two logarithm of the size: 9 or 12. Identify calls it LBADS [NVM Command Set 1.0 §4.1.5.1].
    pub const fn shift(self) -> u32 {
        match self {
            Self::B512 => 9,
            Self::B4096 => 12,
        }
    }

    /// The block size of so many bytes, if there is one.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            512 => Some(Self::B512),
            4096 => Some(Self::B4096),
            _ => None,
        }
    }
}

/// The caller's name for a request that is answered later. Media give it back untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u32);

/// What to do with a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Copy the blocks to the host's memory.
    Read,
    /// Copy the host's memory to the blocks.
    Write,
    /// Compare the blocks with the host's memory; a difference is Compare Failure.
    Compare,
    /// Set the blocks to zero; `deallocate` allows to give their storage back.
    WriteZeroes {
        /// The DEAC bit of the command.
        deallocate: bool,
    },
    /// Check that the blocks can be read, moving nothing.
    Verify,
    /// The blocks' contents are no longer needed; they read as zeroes afterwards.
    Deallocate,
    /// Make everything that was written durable. The range is empty.
    Flush,
}

/// One request. The range lies inside the media, and the spans hold exactly its bytes for the operations
/// that move data; the controller has seen to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub op: Operation,
    /// The first logical block.
    pub at: Lba,
    /// How many logical blocks.
    pub count: BlockCount,
    /// Force Unit Access: answer only when the blocks are durable.
    pub fua: bool,
}

/// What became of a request that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is over, with this status.
    Done(Status),
    /// [`Media::poll`] will name its token.
    Later,
}

/// A read or write within one page of the host's memory, without Force Unit Access: what most commands are.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'m> {
    /// Write, or else read.
    pub write: bool,
    /// The first logical block.
    pub at: Lba,
    /// The host's memory: a whole number of blocks that lie inside the medium.
    pub data: Span<'m>,
    /// The caller's own; media do not look at it.
    pub tag: u64,
}

/// How far a run of pieces came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Pieces that are over, and well.
    pub answered: usize,
    /// What became of the piece after them, if it was started: it failed, or is answered later under the run's token.
    pub stopped_by: Option<Progress>,
}

/// What keeps blocks.
///
/// States of a request: *started* (between `start` and its answer; its token is in use, the host's memory may be read or
/// written by the media only inside `start`), *answered*. A medium answers every request exactly once.
pub trait Media: Send + fmt::Debug {
    /// The size of a logical block.
    fn block_size(&self) -> BlockSize;

    /// The capacity in logical blocks, at least one, constant for the life of the medium.
    fn blocks(&self) -> BlockCount;

    /// Starts a request on the host's memory `data`.
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress;

    /// Starts pieces in order, as long as each is over at once and well, and says how far it came. One call for a batch:
    /// media for which calls matter do better than this loop.
    fn start_run(&mut self, token: Token, pieces: &[Piece<'_>]) -> RunEnd {
        for (answered, piece) in pieces.iter().enumerate() {
            let op = if piece.write {
                Operation::Write
            } else {
                Operation::Read
            };
            let count = BlockCount::new(piece.data.len() as u64 >> self.block_size().shift());
            let request = Request {
                op,
                at: piece.at,
                count,
                fua: false,
            };
            let progress = self.start(token, &request, &[piece.data]);
            if progress != Progress::Done(Status::SUCCESS) {
                return RunEnd {
                    answered,
                    stopped_by: Some(progress),
                };
            }
        }
        RunEnd {
            answered: pieces.len(),
            stopped_by: None,
        }
    }

    /// Answers requests that [`Progress::Later`] promised and that are over at `now`. Media that answer at once keep this.
    fn poll(&mut self, now: Duration, done: &mut dyn FnMut(Token, Status)) {
        let _ = (now, done);
    }

    /// Turns the volatile write cache on or off. While it is off, a write is answered only when it is durable. Media whose
    /// contents do not outlive the process keep this.
    fn set_write_cache(&mut self, enabled: bool) {
        let _ = enabled;
    }

    /// Whether the medium moves bytes. A figure measured without that must say "no data moved".
    fn moves_data(&self) -> bool {
        true
    }
}
