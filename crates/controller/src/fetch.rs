//! The tick: from doorbells to commands.

use core::time::Duration;

use ring::Register32;
use spec::nvme::SubmissionEntry;

use crate::flight::{Flights, Owner};
use crate::io::{self, Io, Outcome};
use crate::logs::Logs;
use crate::queues::{CompletionQueue, QueueTable, SubmissionQueue};
use crate::run::{self, Run};
use crate::{Answer, Controller, limits};

/// What one tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Commands taken from submission queues.
    pub fetched: u32,
    /// Completions posted for commands that had waited for media.
    pub landed: u32,
}

impl Turn {
    /// Whether there was nothing to do.
    pub fn is_idle(self) -> bool {
        self.fetched == 0 && self.landed == 0
    }
}

/// What a batch on one queue came to.
#[derive(Default)]
struct Batch {
    fetched: u32,
    bad_tail: bool,
    bad_head: bool,
}

impl Controller {
    /// Serves every queue once, a bounded batch each, and everything that time brings.
    pub fn tick(&mut self, now: Duration) -> Turn {
        self.now = now;
        if !self.namespaces.are_instant() {
            self.namespaces.set_time(now);
        }
        let mut turn = Turn::default();
        if self.registers.is_serving() {
            turn.fetched += self.serve_admin();
            turn.fetched += self.serve_io();
        }
        if self.flights.any() {
            turn.landed = self.poll_media();
        }
        self.keep_time();
        turn
    }

    #[inline]
    fn serve_io(&mut self) -> u32 {
        let mut fetched = 0;
        for turn in 0..self.queues.active.len() {
            let Some(&queue) = self.queues.active.get(turn) else {
                break;
            };
            let batch = self.serve_queue(queue);
            fetched += batch.fetched;
            if batch.bad_tail || batch.bad_head {
                self.report_doorbell();
            }
        }
        fetched
    }

    /// Serves one I/O submission queue. The completion is reserved before the command is fetched: the batch is no longer
    /// than the room in the completion queue, and a command that waits for media keeps its entry reserved.
    #[inline(always)]
    fn serve_queue(&mut self, id: u16) -> Batch {
        let transfer_bytes_max = self.config.transfer_bytes_max();
        let Self {
            queues,
            flights,
            namespaces,
            counters,
            memory,
            interrupts,
            logs,
            ..
        } = self;
        let mut batch = Batch::default();
        let QueueTable {
            submissions,
            completions,
            ..
        } = queues;
        let Some(Some(sq)) = submissions.get_mut(usize::from(id)) else {
            return batch;
        };
        // Acquire pairs with the host's release store of the tail: the entries before it are written.
        let tail = sq.doorbell.load_acquire();
        let pending = match sq.ring.observe(tail) {
            Ok(0) => return batch,
            Ok(pending) => pending.min(limits::BATCH_MAX),
            Err(_) => {
                batch.bad_tail = sq.note_bad_tail(tail);
                return batch;
            }
        };
        let Some(Some(cq)) = completions.get_mut(usize::from(sq.completion)) else {
            return batch;
        };
        let (room, bad_head) = cq.room(pending);
        batch.bad_head = bad_head;
        counters.completion_stalls += u64::from(room < pending);
        let Some(token) = flights.next() else {
            return batch;
        };
        let io = Io {
            namespaces,
            memory,
            counters,
            transfer_bytes_max,
            token,
        };
        let posted = cq.ring.tail();
        batch.fetched = serve_batch(io, id, sq, cq, flights, logs, pending.min(room));
        counters.commands += u64::from(batch.fetched);
        if let Some(vector) = cq.vector
            && cq.ring.tail() != posted
        {
            interrupts.add(vector);
        }
        batch
    }

    /// Serves the admin queue.
    #[inline]
    fn serve_admin(&mut self) -> u32 {
        let Some(Some(sq)) = self.queues.submissions.first_mut() else {
            return 0;
        };
        // Acquire pairs with the host's release store of the tail: the entries before it are written.
        let tail = sq.doorbell.load_acquire();
        match sq.ring.observe(tail) {
            Ok(0) => 0,
            Ok(pending) => self.serve_admin_batch(pending),
            Err(_) => {
                if sq.note_bad_tail(tail) {
                    self.report_doorbell();
                }
                0
            }
        }
    }

    #[cold]
    fn serve_admin_batch(&mut self, pending: u32) -> u32 {
        let mut fetched = 0;
        for _ in 0..pending.min(limits::ADMIN_BATCH_MAX) {
            // An admin command may reset the controller or fill the queue, so everything is looked up anew.
            if !self.registers.is_serving() {
                break;
            }
            if self.admin_room(1) == 0 {
                self.counters.completion_stalls += 1;
                break;
            }
            let Some(Some(sq)) = self.queues.submissions.first_mut() else {
                break;
            };
            let entry = SubmissionEntry::from_words(sq.ring.take());
            fetched += 1;
            self.counters.admin_commands += 1;
            let (status, result) = match self.execute_admin(&entry) {
                Answer::Done(status) => (status, 0),
                Answer::DoneWith(status, result) => (status, result),
                Answer::Parked => continue,
            };
            self.note_admin_status(&entry, status);
            self.complete_admin(entry.cid(), status, result);
        }
        fetched
    }

    /// Tells a shutdown's flushes from the rest, and starts them.
    pub(crate) fn flush_for_shutdown(&mut self) {
        let Some(token) = self.flights.next() else {
            return;
        };
        if let Outcome::Later { pieces, status } = io::flush_all(&mut self.namespaces, token) {
            self.flights.depart(Owner::Shutdown, pieces.into(), status);
        }
    }
}

/// Serves up to `max` commands, for which the completion queue has room: runs of the usual kind, and between them single
/// commands of any kind. Returns how many were taken; fewer when no more commands may wait for media.
#[inline(always)]
fn serve_batch(
    mut io: Io<'_>,
    id: u16,
    sq: &mut SubmissionQueue,
    cq: &mut CompletionQueue,
    flights: &mut Flights,
    logs: &mut Logs,
    max: u32,
) -> u32 {
    let mut left = max;
    while left > 0 {
        let run = Run {
            queue: id,
            namespaces: io.namespaces,
            memory: io.memory,
            counters: io.counters,
            logs,
        };
        let taken = run::serve(run, &mut sq.ring, cq, left);
        left -= taken;
        if taken > 0 {
            continue;
        }
        left -= 1;
        let (entry, outcome) = serve_one(&mut io, id, sq, logs);
        match outcome {
            Outcome::Done(status) => cq.post(id, sq.ring.head(), entry.cid(), status, 0),
            Outcome::Later { pieces, status } => {
                cq.reserved += 1;
                flights.depart(Owner::Command { sq: id, entry }, pieces.into(), status);
                match flights.next() {
                    Some(next) => io.token = next,
                    None => break,
                }
            }
        }
    }
    max - left
}

/// Takes one command of any kind.
#[inline(never)]
fn serve_one(
    io: &mut Io<'_>,
    id: u16,
    sq: &mut SubmissionQueue,
    logs: &mut Logs,
) -> (SubmissionEntry, Outcome) {
    let entry = SubmissionEntry::from_words(sq.ring.take());
    let outcome = io::execute(io, &entry);
    if let Outcome::Done(status) = outcome
        && !status.is_success()
    {
        io.counters.refused += 1;
        logs.note_refusal(id, &entry, status);
    }
    (entry, outcome)
}
