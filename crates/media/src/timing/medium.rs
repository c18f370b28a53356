//! The wrapper.

use core::time::Duration;

use mem::Span;
use spec::BlockCount;
use spec::nvme::Status;

use super::model::Model;
use super::profile::Profile;
use super::wheel::{Due, Wheel};
use crate::{
    BlockSize, Landing, Media, MediaCounts, Operation, Progress, Request, TOKENS_MAX, Token,
};

const TOKENS: usize = TOKENS_MAX as usize;

/// A medium that takes the time of a drive.
///
/// Each request goes to the inner medium at once, which moves its data; the answer is held back until the profile says that
/// the drive would give it, or until the inner medium has it, whichever is later. Answers come in the order in which they
/// are due, to within a tick (a small part of the profile's shortest time).
#[derive(Debug)]
pub struct TimedMedia {
    inner: Box<dyn Media>,
    /// Whether the inner medium may answer later.
    late: bool,
    model: Model,
    wheel: Wheel,
    /// The token of the last plain request, in case it fails.
    last: u16,
    /// By token.
    debts: Box<[Debt; TOKENS]>,
}

/// What is owed for a token beyond a single success.
#[derive(Clone, Copy, Debug)]
struct Debt {
    /// Answers owed. Zero for what is owed one success and nothing else.
    owed: u32,
    /// Those of them that the inner medium has not given yet.
    waiting: u32,
    /// The worst status so far.
    status: Status,
    /// Whether the time has come.
    ripe: bool,
}

impl Debt {
    const NONE: Self = Self {
        owed: 0,
        waiting: 0,
        status: Status::SUCCESS,
        ripe: false,
    };

    fn fail(&mut self, status: Status) {
        self.owed = 1;
        self.status = status;
    }

    fn add_status(&mut self, status: Status) {
        if self.status == Status::SUCCESS {
            self.status = status;
        }
    }

    /// Gives the answers, if nothing is missing.
    fn settle(&mut self, token: Token, landing: &mut dyn Landing) {
        if self.waiting > 0 || !self.ripe {
            return;
        }
        let debt = core::mem::replace(self, Self::NONE);
        for _ in 0..debt.owed {
            landing.answer(token, debt.status);
        }
    }
}

impl TimedMedia {
    /// Puts a profile before a medium. The same profile, seed, requests and times give the same answers at the same times.
    ///
    /// A profile that [is instant](Profile::is_instant) needs no wrapper: with one, each answer still waits for a tick.
    pub fn new(inner: Box<dyn Media>, profile: &Profile, seed: u64) -> Self {
        let late = !inner.is_instant();
        Self {
            late,
            model: Model::new(profile, inner.block_size().bytes(), seed, !late),
            wheel: Wheel::new(),
            last: 0,
            debts: Box::new([Debt::NONE; TOKENS]),
            inner,
        }
    }

    /// The first time at which an answer is due by the profile, if one is. Until then nothing but the inner medium can have
    /// anything to say, so whoever waits may sleep.
    pub fn next_due(&self) -> Option<Duration> {
        let tick = self.wheel.first()?;
        Some(Duration::from_nanos(tick << self.model.tick_shift()))
    }

    /// Starts a request that is not plain.
    #[inline(never)]
    fn start_rare(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let progress = self.inner.start(token, request, data);
        let shares = matches!(request.op, Operation::Flush | Operation::Deallocate);
        if shares || progress != Progress::Done(Status::SUCCESS) {
            return self.owe(token, request, progress);
        }
        let due = self.model.due(request);
        let tick = (due >> 32) as u32;
        let reached = self.model.is_ahead(due) && self.wheel.reaches(due);
        if !reached || !self.wheel.put(index(token), tick) {
            self.wheel.put_in_list(index(token), tick);
        }
        Progress::Later
    }

    /// Remembers what is owed for a token beyond a single success.
    fn owe(&mut self, token: Token, request: &Request, progress: Progress) -> Progress {
        let debt = &mut self.debts[usize::from(index(token)) % TOKENS];
        // Requests that share a token are parts of one command: they are due when the first of them is.
        let first = debt.owed == 0;
        debt.owed += 1;
        match progress {
            Progress::Done(status) => debt.add_status(status),
            Progress::Later => debt.waiting += 1,
        }
        if first {
            let due = self.model.due(request);
            self.wheel.put_in_list(index(token), (due >> 32) as u32);
        }
        Progress::Later
    }

    /// Starts a plain request that cannot have a tick of its own.
    #[cold]
    #[inline(never)]
    fn start_in_list(
        &mut self,
        token: Token,
        request: &Request,
        data: &[Span<'_>],
        tick: u32,
    ) -> Progress {
        self.wheel.put_in_list(index(token), tick);
        match self.inner.start(token, request, data) {
            Progress::Done(status) if status == Status::SUCCESS => {}
            Progress::Done(status) => self.debts[usize::from(index(token)) % TOKENS].fail(status),
            Progress::Later => refuse_later(),
        }
        Progress::Later
    }

    /// Starts a plain request that is due beyond the wheel.
    #[cold]
    #[inline(never)]
    fn start_far(
        &mut self,
        token: Token,
        request: &Request,
        data: &[Span<'_>],
        due: u64,
    ) -> Progress {
        self.start_in_list(token, request, data, (due >> 32) as u32)
    }

    /// Has the plain request that was started last answered with a failure.
    #[cold]
    #[inline(never)]
    fn fail_last(&mut self, status: Status) {
        assert!(!self.late, "only what an instant medium answers is plain");
        let token = self.last;
        self.debts[usize::from(token) % TOKENS].fail(status);
        self.wheel.mark(token);
    }
}

/// A token as the wheel has it.
#[inline(always)]
fn index(token: Token) -> u16 {
    debug_assert!(token.0 < TOKENS_MAX, "a token is below {TOKENS_MAX}");
    token.0 as u16
}

#[cold]
#[inline(never)]
fn refuse_later() -> ! {
    panic!("a medium that is instant answers inside start")
}

impl Media for TimedMedia {
    fn block_size(&self) -> BlockSize {
        self.inner.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.inner.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let Some(due) = self.model.due_if_plain(request) else {
            return self.start_rare(token, request, data);
        };
        if !self.wheel.reaches(due) {
            return self.start_far(token, request, data, due);
        }
        let tick = (due >> 32) as u32;
        if !self.wheel.put(index(token), tick) {
            return self.start_in_list(token, request, data, tick);
        }
        self.last = index(token);
        match self.inner.start(token, request, data) {
            Progress::Done(status) => {
                if status != Status::SUCCESS {
                    self.fail_last(status);
                }
            }
            Progress::Later => refuse_later(),
        }
        Progress::Later
    }

    fn set_time(&mut self, now: Duration) {
        if self.late {
            self.inner.set_time(now);
        }
        let ns = nanoseconds(now);
        self.model.set_time(ns);
        self.wheel.set_now(ns >> self.model.tick_shift());
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        if nanoseconds(now) > self.model.now_ns() {
            self.set_time(now);
        }
        let debts = &mut self.debts;
        if self.late {
            let debts = &mut debts[..];
            self.inner.poll(now, &mut Inner { debts, landing });
        }
        let tick = nanoseconds(now) >> self.model.tick_shift();
        self.wheel.call(
            tick,
            &mut Ripe {
                debts: &mut debts[..],
                landing,
            },
        );
    }

    fn hurry(&mut self, token: Token) {
        if self.late {
            self.inner.hurry(token);
        }
        // Read before it is cut to sixteen bits. A token that is not in the wheel is in no need of hurry.
        if token.0 >= TOKENS_MAX || !self.wheel.take_out(index(token)) {
            return;
        }
        self.wheel.put_hurried(index(token));
        if self.wheel.is_empty() {
            self.model.forget_backlog();
        }
    }

    fn set_write_cache(&mut self, enabled: bool) {
        self.inner.set_write_cache(enabled);
    }

    fn moves_data(&self) -> bool {
        self.inner.moves_data()
    }

    fn counts(&self) -> MediaCounts {
        self.inner.counts()
    }
}

/// Nanoseconds, which wrap around after 584 years.
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(u64::from(time.subsec_nanos()))
}

/// Hears the late answers of the inner medium.
struct Inner<'l> {
    debts: &'l mut [Debt],
    landing: &'l mut dyn Landing,
}

impl Landing for Inner<'_> {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        self.landing.blocks(token, blocks)
    }

    fn answer(&mut self, token: Token, status: Status) {
        let debt = self.debts.get_mut(token.0 as usize);
        let Some(debt) = debt.filter(|debt| debt.waiting > 0) else {
            panic!(
                "a medium answers what was started: token {} was not",
                token.0
            );
        };
        debt.waiting -= 1;
        debt.add_status(status);
        debt.settle(token, self.landing);
    }
}

/// Hears the tokens whose time has come.
struct Ripe<'l> {
    debts: &'l mut [Debt],
    landing: &'l mut dyn Landing,
}

impl Due for Ripe<'_> {
    #[inline(always)]
    fn plain(&mut self, token: u16) {
        self.landing
            .answer(Token(u32::from(token)), Status::SUCCESS);
    }

    fn any(&mut self, token: u16) {
        let Some(debt) = self.debts.get_mut(usize::from(token)) else {
            return;
        };
        let token = Token(u32::from(token));
        if debt.owed == 0 {
            self.landing.answer(token, Status::SUCCESS);
        } else {
            debt.ripe = true;
            debt.settle(token, self.landing);
        }
    }
}
