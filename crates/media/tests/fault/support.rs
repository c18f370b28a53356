//! A host beside a faulty medium, and a medium that answers late.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use media::fault::{FaultyMedia, Script};
use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Region, Span, Window};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

pub(crate) const BLOCKS: u64 = 256;
pub(crate) const BLOCK: usize = 512;
/// The host's memory of one request: as many blocks as the medium has.
pub(crate) const BUFFER: usize = BLOCKS as usize * BLOCK;
/// How long a [`Late`] medium takes.
pub(crate) const LATE: Duration = Duration::from_millis(1);

pub(crate) fn memory(len: usize) -> Window {
    Region::allocate(len, Backing::Anonymous)
        .expect("memory")
        .whole()
}

pub(crate) fn ram() -> RamMedia {
    RamMedia::new(BlockCount::new(BLOCKS), BlockSize::B512, Backing::Anonymous).expect("memory")
}

/// A medium whose requests are over a millisecond after they began, reads and compares through the landing.
#[derive(Debug)]
pub(crate) struct Late {
    ram: RamMedia,
    buffer: Window,
    now: Duration,
    queue: VecDeque<(Token, Request, Duration)>,
}

impl Late {
    pub(crate) fn new() -> Self {
        Self {
            ram: ram(),
            buffer: memory(BUFFER),
            now: Duration::ZERO,
            queue: VecDeque::new(),
        }
    }
}

impl Media for Late {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        if !matches!(request.op, Operation::Read | Operation::Compare) {
            self.ram.start(token, request, data);
        }
        self.queue.push_back((token, *request, self.now + LATE));
        Progress::Later
    }

    fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        let mut rest = VecDeque::new();
        for (token, request, due) in core::mem::take(&mut self.queue) {
            if due > now {
                rest.push_back((token, request, due));
                continue;
            }
            let mut status = Status::SUCCESS;
            if matches!(request.op, Operation::Read | Operation::Compare) {
                let len = request.count.get() as usize * BLOCK;
                let blocks = self.buffer.span(0, len).expect("inside");
                let read = Request {
                    op: Operation::Read,
                    ..request
                };
                self.ram.start(token, &read, &[blocks]);
                status = landing.blocks(token, blocks);
            }
            landing.answer(token, status);
        }
        self.queue = rest;
    }

    fn hurry(&mut self, token: Token) {
        for entry in self.queue.iter_mut().filter(|entry| entry.0 == token) {
            entry.2 = Duration::ZERO;
        }
    }
}

/// What a host sees: its memory, a buffer for each token, and the answers in their order.
#[derive(Debug)]
pub(crate) struct Host {
    memory: Window,
    waiting: HashMap<u32, Vec<Request>>,
    pub(crate) answers: Vec<(u32, Status)>,
}

impl Host {
    /// The buffer of a token. Eight of them, so that concurrent requests do not share one.
    fn span(&self, token: u32, len: usize) -> Span<'_> {
        let offset = token as usize % 8 * BUFFER;
        self.memory.span(offset, len).expect("inside")
    }

    fn ended(&mut self, token: u32, status: Status) {
        let waiting = self.waiting.get_mut(&token).expect("a token in use");
        waiting.pop().expect("one answer for each request");
        self.answers.push((token, status));
    }
}

impl Landing for Host {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        let request = *self.waiting[&token.0].first().expect("before the answer");
        let len = request.count.get() as usize * BLOCK;
        assert_eq!(blocks.len(), len, "all of the request's bytes");
        let host = self.span(token.0, len);
        match request.op {
            Operation::Read => blocks.copy_to(host),
            Operation::Compare if !blocks.compare(host) => return Status::COMPARE_FAILURE,
            Operation::Compare => {}
            other => panic!("{other:?} moves no blocks"),
        }
        Status::SUCCESS
    }

    fn answer(&mut self, token: Token, status: Status) {
        self.ended(token.0, status);
    }
}

/// A host and its medium.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) medium: FaultyMedia,
    pub(crate) host: Host,
    pub(crate) now: Duration,
    next: u32,
}

impl World {
    pub(crate) fn new(inner: Box<dyn Media>, rules: &str) -> Self {
        Self::seeded(inner, rules, 1)
    }

    pub(crate) fn seeded(inner: Box<dyn Media>, rules: &str, seed: u64) -> Self {
        let script = Script::from_toml(&format!("version = 1\n{rules}"));
        let script = script.unwrap_or_else(|error| panic!("{error}"));
        let mut world = Self {
            medium: FaultyMedia::new(inner, script, seed).expect("memory"),
            host: Host {
                memory: memory(8 * BUFFER),
                waiting: HashMap::new(),
                answers: Vec::new(),
            },
            now: Duration::ZERO,
            next: 0,
        };
        world.advance(Duration::ZERO);
        world
    }

    /// Starts a request under a token of its own; the token.
    pub(crate) fn start(&mut self, op: Operation, at: u64, count: u64) -> u32 {
        self.next += 1;
        self.start_as(self.next, op, at, count);
        self.next
    }

    pub(crate) fn start_as(&mut self, token: u32, op: Operation, at: u64, count: u64) {
        let request = Request {
            op,
            at: Lba::new(at),
            count: BlockCount::new(count),
            fua: false,
        };
        self.host.waiting.entry(token).or_default().push(request);
        let len = count as usize * BLOCK;
        let moves = matches!(op, Operation::Read | Operation::Write | Operation::Compare);
        let span = self.host.span(token, len);
        // Two spans that end in the middle of a byte's block, so that the walk over them is no accident.
        let (first, second) = span.split_at(len.min(100));
        let spans = [first, second];
        let data = if moves { &spans[..] } else { &[] };
        let progress = self.medium.start(Token(token), &request, data);
        if let Progress::Done(status) = progress {
            self.host.ended(token, status);
        }
    }

    /// Lets time pass and the medium answer.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.now += by;
        self.medium.set_time(self.now);
        self.medium.poll(self.now, &mut self.host);
    }

    /// How a token's last request was answered, if it was.
    pub(crate) fn answer(&self, token: u32) -> Option<Status> {
        let mut answers = self.host.answers.iter().rev();
        answers
            .find(|answer| answer.0 == token)
            .map(|answer| answer.1)
    }

    /// Runs a request to its end, if that comes within ten milliseconds.
    pub(crate) fn run(&mut self, op: Operation, at: u64, count: u64) -> Option<Status> {
        let token = self.start(op, at, count);
        for _ in 0..10 {
            if self.answer(token).is_some() {
                break;
            }
            self.advance(LATE);
        }
        self.answer(token)
    }

    /// Writes blocks that are all of one byte.
    pub(crate) fn write(&mut self, at: u64, count: u64, value: u8) -> Option<Status> {
        let len = count as usize * BLOCK;
        self.host.span(self.next + 1, len).fill(value);
        self.run(Operation::Write, at, count)
    }

    /// Reads blocks into memory that held something else.
    pub(crate) fn read(&mut self, at: u64, count: u64) -> (Option<Status>, Vec<u8>) {
        let mut bytes = vec![0; count as usize * BLOCK];
        self.host.span(self.next + 1, bytes.len()).fill(0xEE);
        let status = self.run(Operation::Read, at, count);
        self.host.span(self.next, bytes.len()).read_into(&mut bytes);
        (status, bytes)
    }

    /// Reads one block that must be all of one byte, without a fault.
    pub(crate) fn holds(&mut self, at: u64, value: u8) -> bool {
        let (status, bytes) = self.read(at, 1);
        assert_eq!(status, Some(Status::SUCCESS));
        bytes.iter().all(|&byte| byte == value)
    }

    /// Requests without an answer.
    pub(crate) fn unanswered(&self) -> usize {
        self.host.waiting.values().map(Vec::len).sum()
    }

    /// The token of the last request.
    pub(crate) fn host_token(&self) -> u32 {
        self.next
    }

    /// The buffer of a token.
    pub(crate) fn host_bytes(&self, token: u32, count: u64) -> Vec<u8> {
        let mut bytes = vec![0; count as usize * BLOCK];
        self.host.span(token, bytes.len()).read_into(&mut bytes);
        bytes
    }

    pub(crate) fn acted(&self) -> Vec<u64> {
        self.medium.rule_counts().map(|count| count.acted).collect()
    }
}

/// How many bits differ from a byte that all should be.
pub(crate) fn wrong_bits(bytes: &[u8], value: u8) -> Vec<usize> {
    let wrong = |at: usize| bytes[at / 8] >> (at % 8) & 1 != value >> (at % 8) & 1;
    (0..bytes.len() * 8).filter(|&at| wrong(at)).collect()
}
