//! A disk in memory that finishes orders in any sequence, fails as it is told, and records what a loss of power may take.

use std::collections::VecDeque;

use media::file::{Action, Disk, Ended, Order};
use mem::Window;
use rustix::io::Errno;

use crate::random::Random;

/// How the disk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Honesty {
    Honest,
    /// Says that it synced and has not.
    SkipsSync,
    /// Says that a durable write is, and it is like any other.
    IgnoresDurable,
}

/// Chances in a hundred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) error: u64,
    pub(crate) short: u64,
    pub(crate) interrupted: u64,
    pub(crate) sync_error: u64,
    pub(crate) no_punch_hole: bool,
    pub(crate) no_zero_range: bool,
}

/// What was given, as the recorder keeps it.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// These bytes become the file's.
    Bytes {
        at: u64,
        bytes: Vec<u8>,
        durable: bool,
    },
    Sync,
    /// Changes nothing.
    Nothing,
}

/// A line of the record.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The disk has it: it may reach the medium from here on.
    Given { id: usize, what: Kept },
    /// The disk has said that so many bytes of it are over, and well; it does no more.
    Over { id: usize, len: usize },
    /// The disk has said that it failed.
    Failed { id: usize },
}

#[derive(Debug)]
pub(crate) struct Recorder {
    memory: Window,
    /// Bytes that are written as a whole or not at all.
    block: usize,
    /// What a read finds.
    pub(crate) image: Vec<u8>,
    given: Vec<(usize, Order)>,
    over: VecDeque<Ended>,
    random: Random,
    pub(crate) honesty: Honesty,
    /// Durable writes may be ordered.
    pub(crate) durable_writes: bool,
    pub(crate) faults: Faults,
    /// What faults say.
    pub(crate) errno: Errno,
    /// Where the file ends.
    pub(crate) end: u64,
    pub(crate) log: Vec<Event>,
    /// Records no bytes.
    quiet: bool,
    pub(crate) orders: usize,
    pub(crate) last: Option<Action>,
    /// Errors that were told, which the logic has to pass on (interruptions and missing abilities are its own affair).
    pub(crate) errors: usize,
}

impl Recorder {
    pub(crate) fn new(memory: &Window, bytes: usize, seed: u64) -> Self {
        Self {
            memory: memory.clone(),
            block: 512,
            image: vec![0; bytes],
            given: Vec::new(),
            over: VecDeque::new(),
            random: Random(seed),
            honesty: Honesty::Honest,
            durable_writes: true,
            faults: Faults::default(),
            errno: Errno::IO,
            end: bytes as u64,
            log: Vec::new(),
            quiet: false,
            orders: 0,
            last: None,
            errors: 0,
        }
    }

    /// One that keeps no record, for large files.
    pub(crate) fn quiet(memory: &Window, bytes: usize, seed: u64) -> Self {
        Self {
            quiet: true,
            block: 4096,
            ..Self::new(memory, bytes, seed)
        }
    }

    /// Finishes one order, any.
    fn finish_one(&mut self) {
        let chosen = self.random.below(self.given.len() as u64) as usize;
        let (id, order) = self.given.swap_remove(chosen);
        let outcome = self.carry_out(id, &order);
        self.over.push_back(Ended {
            tag: order.tag,
            outcome,
        });
    }

    fn carry_out(&mut self, id: usize, order: &Order) -> Result<usize, Errno> {
        let transfer = matches!(order.action, Action::Read { .. } | Action::Write { .. });
        let error = if order.action == Action::Sync {
            self.faults.sync_error
        } else {
            self.faults.error
        };
        let missing = order.action == Action::PunchHole && self.faults.no_punch_hole
            || order.action == Action::ZeroRange && self.faults.no_zero_range;
        let refusal = if missing {
            Some(Errno::OPNOTSUPP)
        } else if transfer && self.random.percent(self.faults.interrupted) {
            Some(Errno::INTR)
        } else if self.random.percent(error) {
            self.errors += 1;
            Some(self.errno)
        } else {
            None
        };
        if let Some(errno) = refusal {
            self.log.push(Event::Failed { id });
            return Err(errno);
        }
        let mut len = order.len as usize;
        if transfer && self.random.percent(self.faults.short) {
            // At least one block and rarely a whole number of them.
            len = len.min(self.block + self.random.below(len as u64) as usize);
        }
        if matches!(order.action, Action::Read { .. }) {
            len = len.min(self.end.saturating_sub(order.at) as usize);
        }
        // What is over is over in whole blocks, whatever is said.
        let whole = len - len % self.block;
        let range = order.at as usize..order.at as usize + whole;
        match order.action {
            Action::Read { memory } => self.memory.write_bytes(memory, &self.image[range]).unwrap(),
            Action::Write { memory, .. } => self
                .memory
                .read_bytes(memory, &mut self.image[range])
                .unwrap(),
            Action::PunchHole | Action::ZeroRange => self.image[range].fill(0),
            Action::Sync => {}
        }
        self.log.push(Event::Over { id, len: whole });
        Ok(if transfer { len } else { 0 })
    }

    fn kept(&self, order: &Order) -> Kept {
        match order.action {
            Action::Write { durable: true, .. } if !self.durable_writes => {
                panic!("durable writes would take news of failures from the sync")
            }
            _ if self.quiet => Kept::Nothing,
            Action::Read { .. } => Kept::Nothing,
            Action::Write { memory, durable } => {
                let mut bytes = vec![0; order.len as usize];
                self.memory.read_bytes(memory, &mut bytes).unwrap();
                let durable = durable && self.honesty != Honesty::IgnoresDurable;
                Kept::Bytes {
                    at: order.at,
                    bytes,
                    durable,
                }
            }
            Action::PunchHole | Action::ZeroRange => {
                let bytes = vec![0; order.len as usize];
                Kept::Bytes {
                    at: order.at,
                    bytes,
                    durable: false,
                }
            }
            Action::Sync if self.honesty == Honesty::SkipsSync => Kept::Nothing,
            Action::Sync => Kept::Sync,
        }
    }
}

impl Disk for Recorder {
    fn order(&mut self, order: Order) {
        assert!(
            order.len > 0 || order.action == Action::Sync,
            "an order has bytes"
        );
        assert!(
            order.at + order.len <= self.image.len() as u64,
            "{order:?} lies in the file"
        );
        let what = self.kept(&order);
        self.log.push(Event::Given {
            id: self.orders,
            what,
        });
        self.given.push((self.orders, order));
        assert!(self.given.len() <= media::file::ORDERS_MAX);
        self.orders += 1;
        self.last = Some(order.action);
    }

    fn advance(&mut self) {
        for _ in 0..self.given.len() {
            if self.random.percent(40) {
                self.finish_one();
            }
        }
    }

    fn wait(&mut self) {
        if self.over.is_empty() && !self.given.is_empty() {
            self.finish_one();
        }
    }

    fn ended(&mut self) -> Option<Ended> {
        self.over.pop_front()
    }
}
