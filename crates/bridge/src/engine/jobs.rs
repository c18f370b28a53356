//! Requests that are in the engine, and which of them must wait for which.

use core::ops::Range;
use std::collections::VecDeque;

use super::plan::Cuts;
use super::units;
use super::{Failure, Ticket};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write { durable: bool },
    Flush,
    Zero,
    Discard,
}

impl Kind {
    /// Whether it changes blocks.
    fn changes(self) -> bool {
        !matches!(self, Self::Read | Self::Flush)
    }
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is none.
    Free,
    /// An earlier one changes the same blocks.
    Waiting,
    /// Its commands are on their way.
    Running,
    /// Its answer has not been fetched yet.
    Done,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) volume: u16,
    /// Its blocks.
    pub(super) blocks: Range<u64>,
    /// Whether it changes a block in part, by reading and writing it.
    pub(super) in_part: bool,
    /// The first of its units.
    pub(super) chain: u16,
    /// Units of which an answer is to come.
    pub(super) outstanding: u16,
    /// What is left to do after the commands in flight: of zeroing and discarding, which go on one command at a time.
    pub(super) rest: Cuts,
    pub(super) failure: Option<Failure>,
    /// Rises from request to request; given when the request is added.
    pub(super) order: u64,
}

impl Job {
    const FREE: Self = Self {
        kind: Kind::Flush,
        state: State::Free,
        volume: 0,
        blocks: 0..0,
        in_part: false,
        chain: units::NONE,
        outstanding: 0,
        rest: Cuts::NONE,
        failure: None,
        order: 0,
    };

    /// A request that has not begun.
    pub(super) fn new(kind: Kind, volume: u16) -> Self {
        Self {
            kind,
            volume,
            state: State::Running,
            ..Self::FREE
        }
    }

    fn is_under_way(&self) -> bool {
        matches!(self.state, State::Waiting | State::Running)
    }

    /// Whether the two may not be under way at the same time: both change a block, and one of them by reading and writing
    /// it, which would undo what the other did in between.
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        (self.in_part || other.in_part)
            && self.volume == other.volume
            && self.kind.changes()
            && other.kind.changes()
            && self.blocks.start < other.blocks.end
            && other.blocks.start < self.blocks.end
    }
}

/// All requests, and those whose answers wait to be fetched, in order.
#[derive(Debug)]
pub(super) struct Jobs {
    jobs: Box<[Job]>,
    free: Vec<u16>,
    done: VecDeque<u16>,
    next_order: u64,
    under_way: usize,
    /// Of those under way, how many change a block in part. While there are none, no request looks at the others.
    in_part: usize,
    waiting: usize,
}

impl Jobs {
    pub(super) fn new(count: usize) -> Self {
        Self {
            jobs: vec![Job::FREE; count].into_boxed_slice(),
            free: (0..count as u16).rev().collect(),
            done: VecDeque::with_capacity(count),
            next_order: 0,
            under_way: 0,
            in_part: 0,
            waiting: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Requests whose answers are still to come.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Puts a request in; says whether it may begin. Its state is set accordingly.
    ///
    /// # Panics
    /// If the table is full: callers look first.
    #[inline]
    pub(super) fn add(&mut self, index: u16, job: Job) -> bool {
        self.under_way += 1;
        self.in_part += usize::from(job.in_part);
        self.next_order += 1;
        let order = self.next_order;
        self.jobs[usize::from(index)] = Job { order, ..job };
        let waits = self.in_part > 0 && self.must_wait(index);
        if waits {
            self.jobs[usize::from(index)].state = State::Waiting;
            self.waiting += 1;
        }
        !waits
    }

    /// A number for a new request.
    ///
    /// # Panics
    /// If the table is full: callers look first.
    #[inline]
    pub(super) fn claim(&mut self) -> u16 {
        self.free.pop().expect("callers look for room first")
    }

    /// Whether an earlier request is in the way. One that waits itself is, too: so none is overtaken for ever.
    fn must_wait(&self, index: u16) -> bool {
        let me = self.get(index);
        let mut others = self.jobs.iter();
        others.any(|other| {
            other.is_under_way() && other.order < me.order && other.is_in_the_way_of(me)
        })
    }

    /// A request that waited and may begin now, if there is one. Its state is set accordingly.
    pub(super) fn next_to_begin(&mut self) -> Option<u16> {
        if self.waiting == 0 {
            return None;
        }
        let found = (0..self.jobs.len() as u16)
            .find(|&index| self.get(index).state == State::Waiting && !self.must_wait(index))?;
        self.waiting -= 1;
        self.get_mut(found).state = State::Running;
        Some(found)
    }

    /// Its answer is there to be fetched.
    #[inline]
    pub(super) fn finish(&mut self, index: u16) {
        let job = &mut self.jobs[usize::from(index)];
        self.waiting -= usize::from(job.state == State::Waiting);
        self.in_part -= usize::from(job.in_part);
        self.under_way -= 1;
        job.state = State::Done;
        self.done.push_back(index);
    }

    /// The next request whose answer is there.
    #[inline]
    pub(super) fn next_done(&mut self) -> Option<Ticket> {
        self.done.pop_front().map(Ticket)
    }

    pub(super) fn is_any_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes a request out whose answer was fetched.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) {
        let job = &mut self.jobs[usize::from(ticket.0)];
        assert_eq!(job.state, State::Done, "an answer is fetched once");
        job.state = State::Free;
        self.free.push(ticket.0);
    }

    #[inline]
    pub(super) fn get(&self, index: u16) -> &Job {
        &self.jobs[usize::from(index)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> &mut Job {
        &mut self.jobs[usize::from(index)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(blocks: Range<u64>, in_part: bool) -> Job {
        Job {
            blocks,
            in_part,
            ..Job::new(Kind::Write { durable: false }, 0)
        }
    }

    fn add(jobs: &mut Jobs, job: Job) -> (u16, bool) {
        let index = jobs.claim();
        (index, jobs.add(index, job))
    }

    #[test]
    fn only_overlapping_changes_of_which_one_is_in_part_wait_and_in_order() {
        let mut jobs = Jobs::new(8);
        let (first, begins) = add(&mut jobs, change(10..20, false));
        assert!(begins);
        assert!(add(&mut jobs, change(10..20, false)).1, "both whole");
        assert!(add(&mut jobs, change(20..21, true)).1, "beside each other");
        let (edge, begins) = add(&mut jobs, change(19..20, true));
        assert!(!begins, "two whole ones are in its way");
        let (late, begins) = add(&mut jobs, change(19..21, false));
        assert!(!begins, "the one that waits is in its way");
        let read = Job {
            blocks: 0..100,
            ..Job::new(Kind::Read, 0)
        };
        assert!(add(&mut jobs, read).1, "reads wait for nobody");
        let elsewhere = Job {
            volume: 1,
            ..change(19..21, true)
        };
        assert!(add(&mut jobs, elsewhere).1, "another namespace");
        jobs.finish(first);
        assert_eq!(jobs.next_to_begin(), None, "the second whole one remains");
        jobs.finish(1);
        assert_eq!(jobs.next_to_begin(), Some(edge));
        assert_eq!(jobs.next_to_begin(), None);
        jobs.finish(edge);
        jobs.finish(2);
        assert_eq!(jobs.next_to_begin(), Some(late));
        assert_eq!(jobs.waiting, 0);
    }
}
