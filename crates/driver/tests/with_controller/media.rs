//! Media with bad blocks, or that answer late and out of order.

use core::time::Duration;

use ::media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Span};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

/// RAM that fails on one block, and that answers everything late, the newest first.
#[derive(Debug)]
pub(crate) struct Odd {
    inner: RamMedia,
    bad: Option<Lba>,
    late: Option<Vec<(Token, Status)>>,
}

impl Odd {
    /// Blocks of 512 bytes, of which one can be neither read nor written.
    pub(crate) fn with_bad_block(blocks: u64, bad: Lba) -> Self {
        Self {
            inner: ram(blocks),
            bad: Some(bad),
            late: None,
        }
    }

    /// Blocks of 512 bytes, answered in batches from the newest to the oldest.
    pub(crate) fn out_of_order(blocks: u64) -> Self {
        Self {
            inner: ram(blocks),
            bad: None,
            late: Some(Vec::new()),
        }
    }
}

fn ram(blocks: u64) -> RamMedia {
    RamMedia::new(BlockCount::new(blocks), BlockSize::B512, Backing::Anonymous)
        .expect("the machine has memory")
}

impl Media for Odd {
    fn block_size(&self) -> BlockSize {
        self.inner.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.inner.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let (first, count) = (request.at.get(), request.count.get());
        if self
            .bad
            .is_some_and(|bad| (first..first + count).contains(&bad.get()))
        {
            return Progress::Done(match request.op {
                Operation::Read => Status::UNRECOVERED_READ_ERROR,
                _ => Status::WRITE_FAULT,
            });
        }
        match (self.inner.start(token, request, data), &mut self.late) {
            (Progress::Done(status), Some(late)) => {
                late.push((token, status));
                Progress::Later
            }
            (progress, _) => progress,
        }
    }

    fn poll(&mut self, _now: Duration, landing: &mut dyn Landing) {
        for (token, status) in self.late.iter_mut().flat_map(|late| late.drain(..).rev()) {
            landing.answer(token, status);
        }
    }
}
