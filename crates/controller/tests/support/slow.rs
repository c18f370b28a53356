//! Media that take their time.

use core::time::Duration;

use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Region, Span, Window};
use spec::BlockCount;

use super::ram;

/// RAM that does everything late: it takes a Write's data at once, but blocks change, and are read, only from `until` on.
#[derive(Debug)]
pub(crate) struct SlowMedia {
    ram: RamMedia,
    until: Duration,
    waiting: Vec<(Token, Request, Vec<u8>)>,
    scratch: Window,
}

impl SlowMedia {
    pub(crate) fn new(until: Duration) -> Self {
        let scratch = Region::allocate(1 << 20, Backing::Anonymous).expect("memory");
        Self {
            ram: ram(BlockSize::B512),
            until,
            waiting: Vec::new(),
            scratch: scratch.whole(),
        }
    }

    fn finish(&mut self, token: Token, request: &Request, data: &[u8], landing: &mut dyn Landing) {
        let moves = matches!(
            request.op,
            Operation::Read | Operation::Write | Operation::Compare
        );
        let len = if moves { data.len() } else { 0 };
        self.scratch
            .write_bytes(0, &data[..len])
            .expect("fits the scratch");
        let span = self.scratch.span(0, len).expect("fits the scratch");
        let spans: &[Span<'_>] = if moves { &[span] } else { &[] };
        let status = match request.op {
            Operation::Read | Operation::Compare => {
                let found = Request {
                    op: Operation::Read,
                    ..*request
                };
                self.ram.start(token, &found, spans);
                landing.blocks(token, span)
            }
            _ => match self.ram.start(token, request, spans) {
                Progress::Done(status) => status,
                Progress::Later => unreachable!("RAM answers at once"),
            },
        };
        landing.answer(token, status);
    }
}

impl Media for SlowMedia {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }
    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let mut bytes = vec![0; (request.count.get() * self.block_size().bytes()) as usize];
        if request.op == Operation::Write {
            let mut rest = bytes.as_mut_slice();
            for span in data {
                let (piece, behind) = rest.split_at_mut(span.len());
                span.read_into(piece);
                rest = behind;
            }
        }
        self.waiting.push((token, *request, bytes));
        Progress::Later
    }
    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        if now >= self.until {
            for (token, request, bytes) in core::mem::take(&mut self.waiting) {
                self.finish(token, &request, &bytes, landing);
            }
        }
    }
}
