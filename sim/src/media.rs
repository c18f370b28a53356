//! A medium with faults: slow, failing, and, when a bug is planted, lying.

use core::time::Duration;

use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Region, Span, Window};
use spec::BlockCount;
use spec::nvme::Status;

use crate::random::Random;

/// Which faults are fair. Fair faults are those that a real drive may show and a host must survive: an answer that
/// takes its time, answers out of order, a write or read that fails with a media error after doing part of its work,
/// or none. Unfair, and never drawn: wrong data under a good status.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Answers that come later, per mille.
    pub late: u64,
    /// The longest delay in microseconds.
    pub late_us_max: u64,
    /// Failures, per mille.
    pub failing: u64,
}

/// A lie that the simulator must catch: it shows that the alarm works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Now and then a write is acknowledged and not done.
    LostWrite,
    /// Now and then a read returns the blocks one before those that were asked for.
    ShiftedRead,
}

impl core::fmt::Display for Plant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::LostWrite => "lost-write",
            Self::ShiftedRead => "shifted-read",
        })
    }
}

impl core::str::FromStr for Plant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = [Self::LostWrite, Self::ShiftedRead];
        let found = known.into_iter().find(|plant| plant.to_string() == name);
        found.ok_or_else(|| format!("'{name}' is no plant; there are lost-write and shifted-read"))
    }
}

/// RAM media with faults in front.
#[derive(Debug)]
pub struct FaultyMedia {
    inner: RamMedia,
    faults: Faults,
    plant: Option<Plant>,
    random: Random,
    now: Duration,
    late: Vec<Late>,
    /// What a late request's blocks are moved through.
    scratch: Window,
}

/// A request to be answered later.
#[derive(Debug)]
struct Late {
    due: Duration,
    token: Token,
    work: Work,
}

/// What is left to do for a late answer.
#[derive(Debug)]
enum Work {
    /// Nothing: the blocks were dealt with at once.
    Done(Status),
    /// Everything: it was only heard, and its data taken.
    Todo(Request, Vec<u8>),
}

impl FaultyMedia {
    /// Puts faults in front of RAM.
    ///
    /// # Panics
    /// If the machine has no memory for the blocks of one late command.
    pub fn new(inner: RamMedia, faults: Faults, plant: Option<Plant>, random: Random) -> Self {
        Self {
            inner,
            faults,
            plant,
            random,
            now: Duration::ZERO,
            late: Vec::new(),
            scratch: Region::allocate(SCRATCH_BYTES, Backing::Anonymous)
                .expect("memory for a simulated medium")
                .whole(),
        }
    }

    /// Does now what was put off when it came.
    fn catch_up(&mut self, late: Late, landing: &mut dyn Landing) {
        let Late { token, work, .. } = late;
        let (request, bytes) = match work {
            Work::Done(status) => return landing.answer(token, status),
            Work::Todo(request, bytes) => (request, bytes),
        };
        let scratch = self.scratch.clone();
        let moves = !bytes.is_empty();
        let filled = scratch.write_bytes(0, &bytes);
        let data = scratch.span(0, bytes.len()).filter(|_| filled.is_ok());
        let data = data.expect("no command moves more than the scratch holds");
        let spans: &[Span<'_>] = if moves { &[data] } else { &[] };
        let mut inner = request;
        if request.op == Operation::Compare {
            inner.op = Operation::Read;
        }
        let mut status = self.work(token, &inner, spans);
        if status.is_success() && matches!(request.op, Operation::Read | Operation::Compare) {
            status = landing.blocks(token, data);
        }
        landing.answer(token, status);
    }

    fn work(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Status {
        let lies = self.plant.is_some() && self.random.chance(20);
        match (self.plant, request.op) {
            (Some(Plant::LostWrite), Operation::Write) if lies => return Status::SUCCESS,
            (Some(Plant::ShiftedRead), Operation::Read) if lies && request.at.get() > 0 => {
                let at = spec::Lba::new(request.at.get() - 1);
                let shifted = Request { at, ..*request };
                return done(self.inner.start(token, &shifted, data));
            }
            _ => {}
        }
        if !self.random.chance(self.faults.failing) {
            return done(self.inner.start(token, request, data));
        }
        // A failing command may have done its work before it failed, or not.
        if self.random.chance(500) {
            done(self.inner.start(token, request, data));
        }
        failure(request.op)
    }
}

/// Bytes of the largest transfer that a simulated command asks for, and more.
const SCRATCH_BYTES: usize = 4 << 20;

/// A copy of the data that a request brings, or zeroes as long as those that it fetches.
fn taken(op: Operation, data: &[Span<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; data.iter().map(Span::len).sum()];
    if op == Operation::Write {
        let mut rest = bytes.as_mut_slice();
        for span in data {
            let (piece, behind) = rest.split_at_mut(span.len());
            span.read_into(piece);
            rest = behind;
        }
    }
    bytes
}

/// How a medium that fails answers an operation.
pub fn failure(op: Operation) -> Status {
    match op {
        Operation::Read | Operation::Compare | Operation::Verify => Status::UNRECOVERED_READ_ERROR,
        _ => Status::WRITE_FAULT,
    }
}

fn done(progress: Progress) -> Status {
    match progress {
        Progress::Done(status) => status,
        Progress::Later => unreachable!("RAM answers at once"),
    }
}

impl Media for FaultyMedia {
    fn block_size(&self) -> BlockSize {
        self.inner.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.inner.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let is_late = self.random.chance(self.faults.late);
        if !is_late {
            return Progress::Done(self.work(token, request, data));
        }
        let delay = Duration::from_micros(self.random.between(1, self.faults.late_us_max));
        let work = if self.random.chance(500) {
            Work::Done(self.work(token, request, data))
        } else {
            Work::Todo(*request, taken(request.op, data))
        };
        self.late.push(Late {
            due: self.now + delay,
            token,
            work,
        });
        Progress::Later
    }

    fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// A drive may hurry or not.
    fn hurry(&mut self, token: Token) {
        if self.random.chance(500) {
            for late in self.late.iter_mut().filter(|late| late.token == token) {
                late.due = self.now;
            }
        }
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        self.now = now;
        let mut index = 0;
        while let Some(late) = self.late.get(index) {
            if late.due <= now {
                let late = self.late.swap_remove(index);
                self.catch_up(late, landing);
            } else {
                index += 1;
            }
        }
    }
}
