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

/// Tokens are below this: as many requests are in flight at most, so media may index a table by them.
pub const TOKENS_MAX: u32 = 4096;

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
    /// How the piece after them failed, if one did; those behind it were not started.
    pub failed: Option<Status>,
}

/// What a medium counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Reads that touched blocks never written. A drive answers them without looking at its flash, so a figure that
    /// rests on them flatters.
    pub unwritten_reads: u64,
    /// Answers or data that a fault script changed.
    pub faults: u64,
    /// Requests that the machine below refused.
    pub failures: u64,
    /// Times that everything written was made durable.
    pub syncs: u64,
}

impl core::ops::AddAssign for MediaCounts {
    fn add_assign(&mut self, other: Self) {
        self.unwritten_reads += other.unwritten_reads;
        self.faults += other.faults;
        self.failures += other.failures;
        self.syncs += other.syncs;
    }
}

/// Where late answers go.
pub trait Landing {
    /// Hands over the blocks that a Read found, to be moved to the host's memory, or that a Compare found, to be
    /// compared with it: all of the request's bytes in order. Called at most once for a token, before its answer.
    ///
    /// Returns the status to answer with: the host's memory is looked up anew, since the host may have taken it back.
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status;

    /// The request is over.
    fn answer(&mut self, token: Token, status: Status);
}

/// What keeps blocks.
///
/// States of a request: *started* (its token is in use), *answered*. A medium answers every request exactly once, inside
/// [`start`](Self::start) or through [`poll`](Self::poll), and touches the host's memory nowhere else: a Write's data are
/// taken inside `start`, a late Read's are handed to [`Landing::blocks`]. So a host that was reset is never written to by a
/// slow medium.
///
/// A token is below [`TOKENS_MAX`] and in use once, except that one Dataset Management command deallocates many ranges
/// under one token, and each of them is answered.
pub trait Media: Send + fmt::Debug {
    /// The size of a logical block.
    fn block_size(&self) -> BlockSize;

    /// The capacity in logical blocks, at least one, constant for the life of the medium.
    fn blocks(&self) -> BlockCount;

    /// Starts a request on the host's memory `data`.
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress;

    /// Starts pieces in order, as long as each is over well, and says how far it came. One call for a batch: media for
    /// which calls matter do better than this loop. Only for [instant](Self::is_instant) media.
    fn start_run(&mut self, pieces: &[Piece<'_>]) -> RunEnd {
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
            match self.start(Token(0), &request, &[piece.data]) {
                Progress::Done(Status::SUCCESS) => {}
                Progress::Done(status) => {
                    return RunEnd {
                        answered,
                        failed: Some(status),
                    };
                }
                Progress::Later => panic!("an instant medium answers inside start"),
            }
        }
        RunEnd {
            answered: pieces.len(),
            failed: None,
        }
    }

    /// Whether every request is over inside [`start`](Self::start), whatever the time. Constant for the medium's life.
    fn is_instant(&self) -> bool {
        false
    }

    /// The time, before the requests that come at that time. Not called for instant media.
    fn set_time(&mut self, now: Duration) {
        let _ = now;
    }

    /// Moves requests forward and answers those that are over at `now`.
    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        let _ = (now, landing);
    }

    /// Nobody waits for this request any more: answer it as soon as its effect on the blocks is over, whatever a model or a
    /// script says. A token that is not in use is ignored.
    fn hurry(&mut self, token: Token) {
        let _ = token;
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

    /// What the medium counted since it was made.
    fn counts(&self) -> MediaCounts {
        MediaCounts::default()
    }
}
