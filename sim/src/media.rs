//! A medium with faults: slow, failing, and, when a bug is planted, lying.

use core::time::Duration;

use media::{BlockSize, Media, Operation, Progress, RamMedia, Request, Token};
use mem::Span;
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
    late: Vec<(Duration, Token, Status)>,
}

impl FaultyMedia {
    /// Puts faults in front of RAM.
    pub fn new(inner: RamMedia, faults: Faults, plant: Option<Plant>, random: Random) -> Self {
        Self {
            inner,
            faults,
            plant,
            random,
            now: Duration::ZERO,
            late: Vec::new(),
        }
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
        let status = self.work(token, request, data);
        if !self.random.chance(self.faults.late) {
            return Progress::Done(status);
        }
        let delay = Duration::from_micros(self.random.between(1, self.faults.late_us_max));
        self.late.push((self.now + delay, token, status));
        Progress::Later
    }

    fn poll(&mut self, now: Duration, done: &mut dyn FnMut(Token, Status)) {
        self.now = now;
        let mut index = 0;
        while let Some(&(due, token, status)) = self.late.get(index) {
            if due <= now {
                self.late.swap_remove(index);
                done(token, status);
            } else {
                index += 1;
            }
        }
    }
}
