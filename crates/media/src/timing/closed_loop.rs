//! A profile in virtual time: what a closed loop of requests would see.

use core::time::Duration;

use mem::Span;
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use super::{Measured, Profile, TimedMedia};
use crate::random::Random;
use crate::{
    BlockSize, Landing, Media as _, NullMedia, Operation, Progress, Request, TOKENS_MAX, Token,
};

/// A closed loop of requests: as soon as one is answered, the next is sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests in flight, 1 to [`TOKENS_MAX`].
    pub depth: u32,
    /// Bytes of each, rounded up to blocks of 512.
    pub block_bytes: u32,
    /// Percent of reads; the rest are writes.
    pub read_percent: f64,
    /// Requests that are counted, after half as many that are not.
    pub requests: u32,
}

impl Load {
    /// The loop of a measured row.
    pub fn of(row: &Measured, requests: u32) -> Self {
        Self {
            depth: row.depth,
            block_bytes: row.block_bytes,
            read_percent: row.read_percent,
            requests,
        }
    }
}

/// What the loop saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Requests per second.
    pub iops: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
}

/// Runs a closed loop over a null medium with a profile, in virtual time.
///
/// # Panics
/// If the depth is not from 1 to [`TOKENS_MAX`], or no request is counted.
pub fn closed_loop(profile: &Profile, load: &Load, seed: u64) -> Seen {
    assert!(
        (1..=TOKENS_MAX).contains(&load.depth) && load.requests > 0,
        "a loop has a depth of 1 to {TOKENS_MAX} and counts requests"
    );
    let mut run = Run::new(profile, load, seed);
    for token in 0..load.depth {
        run.start(Token(token));
    }
    let unseen = u64::from(load.requests / 2).max(4 * u64::from(load.depth));
    let begin = run.until(unseen);
    let end = run.until(u64::from(load.requests));
    Seen {
        iops: end.answered as f64 / (end.at - begin.at).as_secs_f64(),
        mean_us: end.latencies.as_secs_f64() * 1e6 / end.answered as f64,
    }
}

struct Run {
    media: TimedMedia,
    random: Random,
    reads_of_million: u64,
    blocks: BlockCount,
    now: Duration,
    begun: Vec<Duration>,
}

/// What happened since the last look.
struct Count {
    at: Duration,
    answered: u64,
    latencies: Duration,
}

impl Run {
    fn new(profile: &Profile, load: &Load, seed: u64) -> Self {
        let inner = NullMedia::new(BlockCount::new(1 << 32), BlockSize::B512);
        Self {
            media: TimedMedia::new(Box::new(inner), profile, seed),
            random: Random::new(!seed),
            reads_of_million: (load.read_percent * 1e4) as u64,
            blocks: BlockCount::new(u64::from(load.block_bytes.div_ceil(512))),
            now: Duration::ZERO,
            begun: vec![Duration::ZERO; load.depth as usize],
        }
    }

    fn start(&mut self, token: Token) {
        let read = self.random.below(1_000_000) < self.reads_of_million;
        let request = Request {
            op: if read {
                Operation::Read
            } else {
                Operation::Write
            },
            at: Lba::new(0),
            count: self.blocks,
            fua: false,
        };
        if let Some(begun) = self.begun.get_mut(token.0 as usize) {
            *begun = self.now;
        }
        let progress = self.media.start(token, &request, &[]);
        assert!(progress == Progress::Later, "a timed medium answers later");
    }

    /// Goes on until at least so many more requests are answered.
    fn until(&mut self, answers: u64) -> Count {
        let mut count = Count {
            at: self.now,
            answered: 0,
            latencies: Duration::ZERO,
        };
        let mut answers_now = Answers(Vec::new());
        while count.answered < answers {
            let Some(due) = self.media.next_due() else {
                panic!("a closed loop always has a request in flight");
            };
            self.now = due.max(self.now);
            self.media.set_time(self.now);
            self.media.poll(self.now, &mut answers_now);
            count.answered += answers_now.0.len() as u64;
            for token in core::mem::take(&mut answers_now.0) {
                let begun = self.begun.get(token.0 as usize).copied();
                count.latencies += self.now.saturating_sub(begun.unwrap_or(self.now));
                self.start(token);
            }
        }
        count.at = self.now;
        count
    }
}

struct Answers(Vec<Token>);

impl Landing for Answers {
    fn blocks(&mut self, _token: Token, _blocks: Span<'_>) -> Status {
        Status::SUCCESS
    }

    fn answer(&mut self, token: Token, _status: Status) {
        self.0.push(token);
    }
}
