//! Jobs: requests that are started and not answered.

use spec::nvme::Status;

use super::limits::JOBS_MAX;
use super::slots::Slot;
use crate::{Operation, Token};

/// How a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Bytes go from the file to a slot.
    Read,
    /// Bytes go from a slot to the file.
    Write,
    /// The file system gives the range back.
    PunchHole,
    /// The file system makes the range zeroes.
    ZeroRange,
    /// Zeroes are written.
    WriteZeroes,
    /// No bytes: everything else is made durable.
    Sync,
}

/// States: *waiting* for a slot, *ordered* (with the disk), *syncing* (waits for a sync that began after it was carried
/// out), *over*. It is in exactly one queue of file media in each, but for *ordered*, when the disk has its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) token: Token,
    pub(super) op: Operation,
    /// In bytes, as all that follows.
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) done: u64,
    /// The length of the order that is with the disk.
    pub(super) piece: u64,
    pub(super) slot: Option<Slot>,
    pub(super) way: Way,
    pub(super) fua: bool,
    /// Each of its orders is durable by itself.
    pub(super) durable: bool,
    /// Interruptions since a byte was moved.
    pub(super) retries: u8,
    /// Set when it is over.
    pub(super) status: Option<Status>,
}

/// A job's number.
pub(super) type JobId = u16;

/// All jobs, allocated once.
#[derive(Debug)]
pub(super) struct Jobs {
    all: Box<[Option<Job>]>,
    free: Vec<JobId>,
}

impl Jobs {
    pub(super) fn new() -> Self {
        Self {
            all: vec![None; JOBS_MAX].into_boxed_slice(),
            free: (0..JOBS_MAX as JobId).rev().collect(),
        }
    }

    pub(super) fn in_use(&self) -> usize {
        JOBS_MAX - self.free.len()
    }

    pub(super) fn add(&mut self, job: Job) -> JobId {
        let Some(id) = self.free.pop() else {
            panic!("a token is in use once, so that {JOBS_MAX} requests are never in flight");
        };
        self.all[usize::from(id)] = Some(job);
        id
    }

    pub(super) fn get(&mut self, id: JobId) -> &mut Job {
        let Some(job) = &mut self.all[usize::from(id)] else {
            panic!("job {id} is in use until it is answered");
        };
        job
    }

    pub(super) fn remove(&mut self, id: JobId) -> Job {
        let Some(job) = self.all[usize::from(id)].take() else {
            panic!("job {id} is answered once");
        };
        self.free.push(id);
        job
    }
}
