//! What a caller asked and was told, and what it may find afterwards.

/// One request that changes blocks, or one read of a block.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// What the first block holds then, the next one more, and so on; zero for zeroes in all.
    pub(crate) stamp: u64,
    pub(crate) started: Moment,
    /// When it was answered and whether well.
    pub(crate) answered: Option<(Moment, bool)>,
    /// It was promised to be durable when it was answered.
    pub(crate) durable: bool,
}

/// A moment in the caller's order, and the length of the disk's record then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) turn: u64,
    pub(crate) record: usize,
}

/// An answered Flush, or the write cache turned off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flush {
    pub(crate) started: Moment,
    pub(crate) answered: Moment,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) changes: Vec<Change>,
    /// Those that were answered well.
    pub(crate) flushes: Vec<Flush>,
}

impl Change {
    fn touches(&self, block: u64) -> bool {
        (self.first..self.first + self.count).contains(&block)
    }

    fn stamp(&self, block: u64) -> u64 {
        if self.stamp == 0 {
            0
        } else {
            self.stamp + (block - self.first)
        }
    }

    /// Nothing of it is under way any more when the other begins.
    fn is_over_before(&self, other: Moment) -> bool {
        self.answered.is_some_and(|(at, _)| at.turn < other.turn)
    }
}

impl History {
    /// What `block` may hold, given the changes that `settled` says are there for good and those that had `begun`: whatever
    /// is not older than something settled.
    fn allowed(
        &self,
        block: u64,
        begun: impl Fn(&Change) -> bool,
        settled: impl Fn(&Change) -> bool,
    ) -> Vec<u64> {
        let touching: Vec<&Change> = self
            .changes
            .iter()
            .filter(|change| change.touches(block) && begun(change))
            .collect();
        let settled: Vec<&Change> = touching
            .iter()
            .copied()
            .filter(|change| settled(change))
            .collect();
        let mut allowed: Vec<u64> = touching
            .iter()
            .filter(|change| {
                !settled
                    .iter()
                    .any(|newer| change.is_over_before(newer.started))
            })
            .map(|change| change.stamp(block))
            .collect();
        if settled.is_empty() {
            allowed.push(0);
        }
        allowed
    }

    /// What `block` may hold when power is lost after `cut` lines of the disk's record.
    pub(crate) fn allowed_after_crash(&self, block: u64, cut: usize) -> Vec<u64> {
        let begun = |change: &Change| change.started.record <= cut;
        let settled = |change: &Change| {
            let Some((answered, true)) = change.answered else {
                return false;
            };
            let flushed = || {
                self.flushes
                    .iter()
                    .any(|flush| flush.started.turn > answered.turn && flush.answered.record <= cut)
            };
            answered.record <= cut && (change.durable || flushed())
        };
        self.allowed(block, begun, settled)
    }

    /// What a read of `block` may find that was started and answered then.
    pub(crate) fn allowed_in_read(
        &self,
        block: u64,
        started: Moment,
        answered: Moment,
    ) -> Vec<u64> {
        let begun = |change: &Change| change.started.turn < answered.turn;
        let settled =
            |change: &Change| matches!(change.answered, Some((at, true)) if at.turn < started.turn);
        self.allowed(block, begun, settled)
    }
}
