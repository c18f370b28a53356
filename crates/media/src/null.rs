//! The null medium: answers everything, keeps nothing, moves nothing.

use mem::Span;
use spec::BlockCount;
use spec::nvme::Status;

use crate::{BlockSize, Media, Piece, Progress, Request, RunEnd, Token};

/// A medium without blocks behind it, to measure the path to it. Reads leave the host's memory as it was.
#[derive(Debug)]
pub struct NullMedia {
    blocks: BlockCount,
    block_size: BlockSize,
}

impl NullMedia {
    /// A null medium that claims `blocks` blocks.
    ///
    /// # Panics
    /// If `blocks` is zero.
    pub fn new(blocks: BlockCount, block_size: BlockSize) -> Self {
        assert!(blocks.get() > 0, "a medium has at least one block");
        Self { blocks, block_size }
    }
}

impl Media for NullMedia {
    fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn blocks(&self) -> BlockCount {
        self.blocks
    }

    #[inline]
    fn start(&mut self, _token: Token, _request: &Request, _data: &[Span<'_>]) -> Progress {
        Progress::Done(Status::SUCCESS)
    }

    fn start_run(&mut self, pieces: &[Piece<'_>]) -> RunEnd {
        RunEnd {
            answered: pieces.len(),
            failed: None,
        }
    }

    fn is_instant(&self) -> bool {
        true
    }

    fn moves_data(&self) -> bool {
        false
    }
}
