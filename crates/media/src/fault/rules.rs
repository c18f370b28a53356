//! Rules at work: which act on a request, and how often they have.

use core::time::Duration;

use spec::Lba;
use spec::nvme::Status;

use super::flips::Flip;
use super::script::{Bits, Deed, Effect, Rule, Script};
use crate::random::Random;
use crate::{Request, names};

/// How often a rule matched and acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCount<'r> {
    /// The rule's name, "rule N" if the script gives none.
    pub name: &'r str,
    /// Requests of its operation, blocks and time, whether they were skipped or not.
    pub matched: u64,
    /// Requests that it acted on.
    pub acted: u64,
}

/// What happens to one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) act: Act,
    pub(super) delay: Duration,
}

/// A [`Deed`] for one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Pass,
    Fail { status: Status, effect: Effect },
    Drop { effect: Effect },
    Flip(Flip),
    Misdirect(Lba),
    Lose,
}

#[derive(Debug)]
struct Live {
    rule: Rule,
    random: Random,
    matched: u64,
    acted: u64,
}

/// The rules of a script with their counts.
#[derive(Debug)]
pub(super) struct Rules(Vec<Live>);

impl Rules {
    pub(super) fn new(script: Script, seed: u64) -> Self {
        // A generator for each rule: how often one draws does not shift another's draws.
        let mut seeds = Random::new(seed);
        let live = |rule| Live {
            rule,
            random: Random::new(seeds.bits()),
            matched: 0,
            acted: 0,
        };
        Self(script.rules.into_iter().map(live).collect())
    }

    /// What is to happen to a request that comes `elapsed` after the start. `None`: nothing.
    pub(super) fn plan(
        &mut self,
        request: &Request,
        elapsed: Duration,
        block_shift: u32,
    ) -> Option<Plan> {
        let mut delay: Option<Duration> = None;
        for (index, live) in self.0.iter_mut().enumerate() {
            if !live.acts_on(request, elapsed) {
                continue;
            }
            let sum = delay.unwrap_or_default().saturating_add(live.rule.delay);
            delay = Some(sum);
            let act = match live.rule.deed {
                Deed::Delay => continue,
                Deed::Fail { status, effect } => Act::Fail { status, effect },
                Deed::Drop { effect } => Act::Drop { effect },
                Deed::Flip(_) => Act::Flip(live.flip(index, request, block_shift)),
                Deed::Misdirect(to) => Act::Misdirect(to),
                Deed::Lose => Act::Lose,
            };
            return Some(Plan { act, delay: sum });
        }
        delay.map(|delay| Plan {
            act: Act::Pass,
            delay,
        })
    }

    /// Which bits the rule behind a flip names.
    pub(super) fn bits(&self, flip: &Flip) -> Option<&Bits> {
        match &self.0.get(flip.rule)?.rule.deed {
            Deed::Flip(bits) => Some(bits),
            _ => None,
        }
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = RuleCount<'_>> {
        self.0.iter().map(|live| RuleCount {
            name: &live.rule.name,
            matched: live.matched,
            acted: live.acted,
        })
    }
}

impl Live {
    fn acts_on(&mut self, request: &Request, elapsed: Duration) -> bool {
        let when = &self.rule.when;
        if when.op.is_some_and(|op| op != names::operation(request.op))
            || elapsed < when.after
            || when.until.is_some_and(|until| elapsed >= until)
            || when.lba.is_some() && self.blocks(request).is_none()
        {
            return false;
        }
        self.matched += 1;
        let unskipped = self.matched.saturating_sub(when.skip);
        let acts = unskipped > 0
            && unskipped.is_multiple_of(when.every)
            && when.count.is_none_or(|count| self.acted < count)
            && self.random.chance(when.probability);
        self.acted += u64::from(acts);
        acts
    }

    /// The blocks that rule and request share: the first, and how many. `None` if there are none.
    fn blocks(&self, request: &Request) -> Option<(u64, u64)> {
        let begin = request.at.get();
        let end = begin.saturating_add(request.count.get());
        let (first, end) = match &self.rule.when.lba {
            Some(lba) => (
                begin.max(*lba.start()),
                end.min(lba.end().saturating_add(1)),
            ),
            None => (begin, end),
        };
        (first < end).then(|| (first, end - first))
    }

    fn flip(&mut self, index: usize, request: &Request, block_shift: u32) -> Flip {
        let (first, count) = self.blocks(request).unwrap_or_default();
        let from = first.saturating_sub(request.at.get());
        Flip {
            rule: index,
            seed: self.random.bits(),
            // Both lie within the request, whose bytes the caller's spans hold.
            from: (from << block_shift) as usize,
            len: (count << block_shift) as usize,
        }
    }
}
