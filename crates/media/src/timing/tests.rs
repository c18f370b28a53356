//! What a timed medium promises, in virtual time.

mod answers;
mod parsing;
mod rates;

use core::time::Duration;
use std::sync::mpsc::{Receiver, Sender, channel};

use mem::{Backing, Region, Span};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use super::*;
use crate::{BlockSize, Landing, Media, NullMedia, Operation, Progress, RamMedia, Request, Token};

/// Everything as slow as `read` says; `units` as given.
fn uniform(units: u32, read: &str) -> Profile {
    let text = format!(
        "version = 1\nname = \"test\"\nsummary = \"\"\nsource = \"\"\nunits = {units}\n\
         [read]\n{read}\n[write]\n{read}\n[flush]\nmean_us = 7\n[deallocate]\nmean_us = 9\n"
    );
    Profile::from_toml(&text).expect("a profile for a test")
}

fn null() -> Box<dyn Media> {
    Box::new(NullMedia::new(BlockCount::new(1 << 20), BlockSize::B512))
}

fn request(op: Operation, blocks: u64) -> Request {
    Request {
        op,
        at: Lba::new(0),
        count: BlockCount::new(blocks),
        fua: false,
    }
}

fn us(us: f64) -> Duration {
    Duration::from_nanos((us * 1e3) as u64)
}

/// Remembers what was answered, and what blocks came before that.
#[derive(Default)]
struct Heard {
    answers: Vec<(u32, Status)>,
    blocks: Vec<(u32, usize)>,
}

impl Landing for Heard {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        self.blocks.push((token.0, blocks.len()));
        Status::SUCCESS
    }

    fn answer(&mut self, token: Token, status: Status) {
        self.answers.push((token.0, status));
    }
}

impl Heard {
    fn tokens(&mut self) -> Vec<u32> {
        let answers = core::mem::take(&mut self.answers);
        answers.into_iter().map(|(token, _)| token).collect()
    }
}

/// Starts at a time. Every request of a timed medium is answered later.
fn start(media: &mut TimedMedia, at: Duration, token: u32, op: Operation, blocks: u64) {
    media.set_time(at);
    let progress = media.start(Token(token), &request(op, blocks), &[]);
    assert_eq!(progress, Progress::Later);
}

/// What is answered at a time.
fn poll(media: &mut TimedMedia, at: Duration) -> Vec<u32> {
    let mut heard = Heard::default();
    media.set_time(at);
    media.poll(at, &mut heard);
    heard.tokens()
}

/// A medium that answers later, when the test says so.
#[derive(Debug)]
struct Late {
    said: Receiver<(u32, Status)>,
    hurried: Sender<u32>,
    region: Region,
}

impl Late {
    fn new() -> (Box<Self>, Sender<(u32, Status)>, Receiver<u32>) {
        let (say, said) = channel();
        let (hurried, hear) = channel();
        let region = Region::allocate(4096, Backing::Anonymous).expect("a page");
        let late = Self {
            said,
            hurried,
            region,
        };
        (Box::new(late), say, hear)
    }
}

impl Media for Late {
    fn block_size(&self) -> BlockSize {
        BlockSize::B512
    }

    fn blocks(&self) -> BlockCount {
        BlockCount::new(1 << 20)
    }

    fn start(&mut self, _token: Token, _request: &Request, _data: &[Span<'_>]) -> Progress {
        Progress::Later
    }

    fn poll(&mut self, _now: Duration, landing: &mut dyn Landing) {
        let window = self.region.whole();
        while let Ok((token, status)) = self.said.try_recv() {
            let blocks = window.span(0, 512).expect("a block");
            let _ = landing.blocks(Token(token), blocks);
            landing.answer(Token(token), status);
        }
    }

    fn hurry(&mut self, token: Token) {
        let _ = self.hurried.send(token.0);
    }
}

/// A medium that answers at once: success to even tokens, a failure to odd ones.
#[derive(Debug)]
struct OddFails;

impl Media for OddFails {
    fn block_size(&self) -> BlockSize {
        BlockSize::B512
    }

    fn blocks(&self) -> BlockCount {
        BlockCount::new(1 << 20)
    }

    fn start(&mut self, token: Token, _request: &Request, _data: &[Span<'_>]) -> Progress {
        Progress::Done(odd_fails(token.0))
    }

    fn is_instant(&self) -> bool {
        true
    }
}

fn odd_fails(token: u32) -> Status {
    if token.is_multiple_of(2) {
        Status::SUCCESS
    } else {
        Status::UNRECOVERED_READ_ERROR
    }
}
