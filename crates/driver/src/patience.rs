//! Waiting with a bound.

use core::time::Duration;

use crate::limits;
use crate::link::Link;

/// What a waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Look for the answer again.
    Wait,
    /// The same, but look at the controller's health as well.
    CheckHealth,
    /// Give up.
    Over,
}

/// One wait: when it began, how long it may last, when to look at the controller's health next.
#[derive(Debug)]
pub(crate) struct Patience {
    begin: Duration,
    now: Duration,
    limit: Duration,
    next_check: Duration,
    renewed: bool,
}

impl Patience {
    /// A wait that begins now.
    pub(crate) fn new(link: &mut impl Link, limit: Duration) -> Self {
        let now = link.now();
        Self {
            begin: now,
            now,
            limit,
            next_check: now.saturating_add(limits::STATUS_PERIOD),
            renewed: false,
        }
    }

    /// How long the wait has lasted.
    pub(crate) fn waited(&self) -> Duration {
        self.now.saturating_sub(self.begin)
    }

    /// Begins anew with the next turn: what was waited for has happened, and there is more to wait for. The clock is not
    /// read here, so a busy waiter does not pay for it.
    pub(crate) fn renew(&mut self) {
        self.renewed = true;
    }

    /// Lets the link have a turn. The verdict is about the time *before* that turn, so that a waiter always looks for its
    /// answer once more after the last moment, however far the clock leapt in one turn.
    pub(crate) fn turn(&mut self, link: &mut impl Link) -> Verdict {
        if core::mem::take(&mut self.renewed) {
            self.now = link.now();
            self.begin = self.now;
        }
        if self.waited() >= self.limit {
            return Verdict::Over;
        }
        let due = self.now >= self.next_check;
        if due {
            self.next_check = self.now.saturating_add(limits::STATUS_PERIOD);
        }
        link.relax();
        self.now = link.now();
        if due {
            Verdict::CheckHealth
        } else {
            Verdict::Wait
        }
    }
}
