//! From one order to the next.

use rustix::io::Errno;

use super::FileMedia;
use super::disk::{Action, Disk, Ended, Order};
use super::jobs::{Job, JobId, Way};
use super::limits::{JOBS_MAX, RETRIES_MAX, ZEROES_BYTES};
use super::slots::{Side, Slots};
use super::trouble::{self, Cause};
use crate::Operation;
use spec::nvme::Status;

/// The tag of the sync, which belongs to no job. Above all numbers of jobs.
const SYNC_TAG: u32 = u32::MAX;

/// Who waits for which sync.
#[derive(Debug)]
pub(super) struct Syncing {
    /// A sync is with the disk.
    pub(super) running: bool,
    /// Those whom it covers.
    pub(super) covered: Vec<JobId>,
    /// Those who asked since it began.
    pub(super) waiting: Vec<JobId>,
    /// One is wanted although no job waits.
    pub(super) wanted: bool,
    /// One has failed; nothing is called durable any more.
    pub(super) failed: bool,
}

impl Default for Syncing {
    fn default() -> Self {
        Self {
            running: false,
            covered: Vec::with_capacity(JOBS_MAX),
            waiting: Vec::with_capacity(JOBS_MAX),
            wanted: false,
            failed: false,
        }
    }
}

/// What the file system was not found unable to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    punch_hole: bool,
    zero_range: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            punch_hole: true,
            zero_range: true,
        }
    }
}

impl Abilities {
    /// How a range is made zeroes. Storage that the host does not give up is kept if that is possible, so that a later write
    /// finds room.
    pub(super) fn way(self, op: Operation) -> Way {
        let keep = op == (Operation::WriteZeroes { deallocate: false });
        match (self.punch_hole, self.zero_range) {
            (true, false) => Way::PunchHole,
            (true, true) if !keep => Way::PunchHole,
            (_, true) => Way::ZeroRange,
            (false, false) => Way::WriteZeroes,
        }
    }

    /// Forgets a way if the refusal says that there is none.
    fn lose(&mut self, way: Way, errno: Errno) -> bool {
        let lost = matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::NODEV);
        match way {
            Way::PunchHole if lost => self.punch_hole = false,
            Way::ZeroRange if lost => self.zero_range = false,
            _ => return false,
        }
        true
    }
}

impl<D: Disk> FileMedia<D> {
    /// Gives free slots of the class to those who wait.
    pub(super) fn feed(&mut self, class: usize) {
        while let Some(&id) = self.waiting[class].front() {
            let job = self.jobs.get(id);
            let side = match job.way {
                Way::Read => Side::Reads,
                _ => Side::Writes,
            };
            let Some(slot) = self.slots.take(class, side) else {
                return;
            };
            job.slot = Some(slot);
            self.waiting[class].pop_front();
            self.order_next(id);
        }
    }

    /// Gives the disk the next piece of a job that has its slot.
    pub(super) fn order_next(&mut self, id: JobId) {
        let zeroes = self.slots.zeroes();
        let job = self.jobs.get(id);
        let Some(slot) = job.slot else {
            panic!("a job is ordered when it has a slot");
        };
        let rest = job.len - job.done;
        let place = Slots::offset(slot);
        let (action, len) = match job.way {
            Way::Read if job.op == Operation::Verify => {
                let piece = rest.min(Slots::bytes(slot) as u64);
                (Action::Read { memory: place }, piece)
            }
            Way::Read => (
                Action::Read {
                    memory: place + job.done as usize,
                },
                rest,
            ),
            Way::Write => {
                let memory = place + job.done as usize;
                (
                    Action::Write {
                        memory,
                        durable: job.durable,
                    },
                    rest,
                )
            }
            Way::PunchHole => (Action::PunchHole, rest),
            Way::ZeroRange => (Action::ZeroRange, rest),
            Way::WriteZeroes => {
                let action = Action::Write {
                    memory: zeroes,
                    durable: false,
                };
                (action, rest.min(ZEROES_BYTES as u64))
            }
            Way::Sync => panic!("a Flush is no order of its own"),
        };
        job.piece = len;
        let at = job.at + job.done;
        self.disk.order(Order {
            tag: u32::from(id),
            action,
            at,
            len,
        });
    }

    /// Begins a sync if somebody waits for one and none is running.
    pub(super) fn begin_sync(&mut self) {
        let syncing = &mut self.syncing;
        if syncing.running || (syncing.waiting.is_empty() && !syncing.wanted) {
            return;
        }
        core::mem::swap(&mut syncing.covered, &mut syncing.waiting);
        syncing.wanted = false;
        syncing.running = true;
        self.disk.order(Order {
            tag: SYNC_TAG,
            action: Action::Sync,
            at: 0,
            len: 0,
        });
    }

    /// Takes note of every order that is over.
    pub(super) fn reap(&mut self) {
        while let Some(Ended { tag, outcome }) = self.disk.ended() {
            if tag == SYNC_TAG {
                self.synced(outcome.err());
            } else {
                self.ended(tag as JobId, outcome);
            }
        }
    }

    fn ended(&mut self, id: JobId, outcome: Result<usize, Errno>) {
        let block = self.geometry.block_size.bytes();
        let job = self.jobs.get(id);
        match outcome {
            Ok(_) if matches!(job.way, Way::PunchHole | Way::ZeroRange) => job.done = job.len,
            Ok(bytes) => {
                let moved = (bytes as u64).min(job.piece);
                // A part of a block says nothing: the rest would begin where O_DIRECT cannot.
                let moved = moved - moved % block;
                if moved == 0 {
                    return self.failed(id, Cause::Ended);
                }
                job.done += moved;
                job.retries = 0;
            }
            Err(Errno::INTR | Errno::AGAIN) if job.retries < RETRIES_MAX => job.retries += 1,
            Err(errno) if self.abilities.lose(job.way, errno) => {
                job.way = self.abilities.way(job.op)
            }
            // A device of larger blocks than ours takes only whole ones of its own.
            Err(Errno::INVAL) if matches!(job.way, Way::PunchHole | Way::ZeroRange) => {
                job.way = Way::WriteZeroes
            }
            Err(errno) => return self.failed(id, Cause::Refused(errno)),
        }
        if job.done < job.len {
            self.order_next(id);
        } else {
            self.carried_out(id);
        }
    }

    /// The blocks are read or changed; what was changed may have to be made durable.
    fn carried_out(&mut self, id: JobId) {
        let job = *self.jobs.get(id);
        if !matches!(job.op, Operation::Read | Operation::Compare) {
            self.give_slot(id);
        }
        if job.way == Way::Read || job.durable || !self.must_be_durable(job.fua) {
            self.end(id, Status::SUCCESS);
        } else if self.syncing.failed {
            self.failed(id, Cause::Unsynced);
        } else {
            self.syncing.waiting.push(id);
        }
    }

    /// The sync is over.
    fn synced(&mut self, refusal: Option<Errno>) {
        self.syncing.running = false;
        if let Some(errno) = refusal {
            self.troubles.note(Way::Sync, Cause::Refused(errno), 0, 0);
            self.lose_syncs();
        }
        let status = if self.syncing.failed {
            Status::WRITE_FAULT
        } else {
            self.counts.syncs += 1;
            Status::SUCCESS
        };
        let mut covered = core::mem::take(&mut self.syncing.covered);
        for id in covered.drain(..) {
            self.counts.failures += u64::from(!status.is_success());
            self.end(id, status);
        }
        // The room is kept.
        self.syncing.covered = covered;
    }

    /// Nothing is called durable any more, not even what the sync would say that was about to begin: it might be told of success
    /// by a kernel that has forgotten what it could not write.
    fn lose_syncs(&mut self) {
        self.syncing.failed = true;
        self.syncing.wanted = false;
        while let Some(id) = self.syncing.waiting.pop() {
            self.counts.failures += 1;
            self.end(id, Status::WRITE_FAULT);
        }
    }

    fn failed(&mut self, id: JobId, cause: Cause) {
        let job = *self.jobs.get(id);
        self.give_slot(id);
        self.refuse(&job, cause);
        let status = trouble::status(job.way, cause);
        self.end(id, status);
        // It cannot be known whether the write failed or what should have made it durable, and that fails for everybody.
        if job.durable && status == Status::WRITE_FAULT {
            self.lose_syncs();
        }
    }

    /// Counts and logs what was not carried out.
    pub(super) fn refuse(&mut self, job: &Job, cause: Cause) {
        self.counts.failures += 1;
        self.troubles
            .note(job.way, cause, job.at + job.done, job.len - job.done);
    }

    fn give_slot(&mut self, id: JobId) {
        let job = self.jobs.get(id);
        let class = Self::class_of(job);
        if let Some(slot) = job.slot.take() {
            self.slots.give(slot);
            self.feed(class);
        }
    }

    fn end(&mut self, id: JobId, status: Status) {
        self.jobs.get(id).status = Some(status);
        self.over.push_back(id);
    }
}
