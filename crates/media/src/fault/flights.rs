//! Requests that a rule acted on and that were not yet answered.

use core::time::Duration;

use mem::Span;
use spec::nvme::Status;

use super::flips::{Detour, Flip};
use super::limits;
use super::rules::Rules;
use crate::by_token::ByToken;
use crate::{Landing, Token};

/// How a request that a rule acted on ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// The answer, or else the medium's own.
    pub(super) status: Option<Status>,
    /// The time before which there is no answer. `None`: not until nobody waits.
    pub(super) due: Option<Duration>,
    /// What happens to blocks that the medium hands over late.
    pub(super) blocks: Blocks,
}

/// What happens to blocks that the medium hands over late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    Forward,
    Flip(Flip),
    /// They are not the whole request, which is all that a landing takes.
    Swallow,
}

/// An answer that is kept back.
#[derive(Clone, Copy, Debug)]
struct Held {
    token: Token,
    status: Status,
    due: Option<Duration>,
}

/// Those that wait for the medium, and answers that are kept back; together at most [`limits::FLIGHTS_MAX`].
#[derive(Debug)]
pub(super) struct Flights {
    waiting: ByToken<Ending>,
    held: Vec<Held>,
    /// No held answer is due before this.
    next_due: Duration,
}

impl Flights {
    pub(super) fn new() -> Self {
        Self {
            waiting: ByToken::new(limits::FLIGHTS_MAX),
            held: Vec::with_capacity(limits::FLIGHTS_MAX as usize),
            next_due: Duration::MAX,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() + self.held.len() >= limits::FLIGHTS_MAX as usize
    }

    /// The medium answers later.
    pub(super) fn wait(&mut self, token: Token, ending: Ending) {
        let kept = self.waiting.push(token, ending);
        assert!(
            kept,
            "a token is below its bound, and room was made sure of"
        );
    }

    /// The medium has answered: the status to answer with now, or nothing, because the answer is kept back.
    pub(super) fn end(
        &mut self,
        token: Token,
        status: Status,
        ending: &Ending,
        now: Duration,
    ) -> Option<Status> {
        let status = ending.status.unwrap_or(status);
        if ending.due.is_some_and(|due| due <= now) {
            return Some(status);
        }
        self.held.push(Held {
            token,
            status,
            due: ending.due,
        });
        self.next_due = self.next_due.min(ending.due.unwrap_or(Duration::MAX));
        None
    }

    /// Nobody waits: what is kept back is over, and what the medium still does is over with it.
    pub(super) fn hurry(&mut self, token: Token) {
        self.waiting.each(token, |ending| {
            if ending.due.is_none() {
                ending.status = Some(Status::ABORT_REQUESTED);
            }
            ending.due = Some(Duration::ZERO);
        });
        for held in self.held.iter_mut().filter(|held| held.token == token) {
            if held.due.is_none() {
                held.status = Status::ABORT_REQUESTED;
            }
            held.due = Some(Duration::ZERO);
            self.next_due = Duration::ZERO;
        }
    }

    /// Answers what is due, in the order in which it was kept back.
    pub(super) fn release(&mut self, now: Duration, landing: &mut dyn Landing) {
        if now < self.next_due {
            return;
        }
        let mut next_due = Duration::MAX;
        self.held.retain(|held| {
            let due = held.due.unwrap_or(Duration::MAX);
            let over = held.due.is_some() && due <= now;
            if over {
                landing.answer(held.token, held.status);
            } else {
                next_due = next_due.min(due);
            }
            !over
        });
        self.next_due = next_due;
    }
}

/// What the inner medium sees as its landing.
pub(super) struct Watch<'w> {
    pub(super) flights: &'w mut Flights,
    pub(super) rules: &'w Rules,
    pub(super) detour: &'w Detour,
    pub(super) now: Duration,
    pub(super) landing: &'w mut dyn Landing,
}

impl Landing for Watch<'_> {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        let what = self
            .flights
            .waiting
            .first(token)
            .map(|ending| ending.blocks);
        match what.unwrap_or(Blocks::Forward) {
            Blocks::Forward => self.landing.blocks(token, blocks),
            Blocks::Swallow => Status::SUCCESS,
            Blocks::Flip(flip) => {
                let flipped = self.detour.copy(&[blocks], |copy| {
                    if let Some(bits) = self.rules.bits(&flip) {
                        flip.apply(bits, &[copy]);
                    }
                    self.landing.blocks(token, copy)
                });
                flipped.unwrap_or_else(|| self.landing.blocks(token, blocks))
            }
        }
    }

    fn answer(&mut self, token: Token, status: Status) {
        let status = match self.flights.waiting.take(token) {
            Some(ending) => self.flights.end(token, status, &ending, self.now),
            None => Some(status),
        };
        if let Some(status) = status {
            self.landing.answer(token, status);
        }
    }
}
