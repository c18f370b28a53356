//! The way back: spending a reservation, and asking for interrupts once per batch.

use spec::nvme::{CompletionEntry, Status};
use spec::{CommandId, QueueId};

use crate::Controller;
use crate::flight::{Flights, Owner};
use crate::limits::VECTORS_MAX;
use crate::queues::{CompletionQueue, QueueTable};
use media::Token;

const VECTOR_WORDS: usize = VECTORS_MAX.div_ceil(64) as usize;

/// A set of interrupt vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors([u64; VECTOR_WORDS]);

impl Vectors {
    /// Adds a vector; one beyond the last is ignored.
    #[inline]
    pub(crate) fn add(&mut self, vector: u16) {
        if let Some(word) = self.0.get_mut(usize::from(vector / 64)) {
            *word |= 1 << (vector % 64);
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The vectors in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..VECTORS_MAX).filter(|&vector| {
            let word = self.0.get(usize::from(vector / 64)).copied().unwrap_or(0);
            word >> (vector % 64) & 1 == 1
        })
    }
}

impl CompletionQueue {
    /// Posts one completion. The caller holds room or a reservation for it.
    #[inline(always)]
    pub(crate) fn post(
        &mut self,
        sq: u16,
        sq_head: u16,
        cid: CommandId,
        status: Status,
        result: u32,
    ) {
        let entry = CompletionEntry::new(result, sq_head, QueueId::new(sq), cid, false, status);
        let [word0, word1] = entry.words();
        self.ring.post(word0, word1);
    }
}

impl Controller {
    /// The interrupts that batches since the last call asked for. Ports deliver them; a polling host ignores them.
    pub fn take_interrupts(&mut self) -> Vectors {
        core::mem::take(&mut self.interrupts)
    }

    /// Entries that the admin completion queue has room for, exact up to `wanted`.
    pub(crate) fn admin_room(&mut self, wanted: u32) -> u32 {
        let Some(Some(queue)) = self.queues.completions.first_mut() else {
            return 0;
        };
        let (room, bad_head) = queue.room(wanted);
        if bad_head {
            self.report_doorbell();
        }
        room
    }

    /// Completes an admin command that was parked. The caller saw room.
    pub(crate) fn complete_admin(&mut self, cid: CommandId, status: Status, result: u32) {
        let QueueTable {
            submissions,
            completions,
            ..
        } = &mut self.queues;
        if let Some(Some(sq)) = submissions.first()
            && let Some(Some(cq)) = completions.first_mut()
        {
            cq.post(0, sq.ring.head(), cid, status, result);
            if let Some(vector) = cq.vector {
                self.interrupts.add(vector);
            }
        }
    }

    /// Asks media for answers that are due and completes their commands.
    pub(crate) fn poll_media(&mut self) -> u32 {
        let Self {
            queues,
            flights,
            namespaces,
            counters,
            interrupts,
            logs,
            now,
            ..
        } = self;
        let mut completed = 0;
        for namespace in namespaces.iter_mut() {
            namespace.media.poll(*now, &mut |token, status| {
                if let Some(landed) = land(flights, queues, token, status) {
                    completed += 1;
                    if !landed.status.is_success() {
                        counters.refused += 1;
                        logs.note_failure(landed.sq, landed.cid, landed.status);
                    }
                    if let Some(vector) = landed.vector {
                        interrupts.add(vector);
                    }
                }
            });
        }
        completed
    }

    /// Aborts what waits on a submission queue that is about to be deleted [NVMe Base 2.0 §3.3.1.3].
    pub(crate) fn abort_flights(&mut self, sq: u16) {
        let Self {
            queues,
            flights,
            interrupts,
            ..
        } = self;
        flights.disown_queue(sq, |cid| {
            if let Some(Some(vector)) = spend(queues, sq, cid, Status::ABORTED_SQ_DELETION) {
                interrupts.add(vector);
            }
        });
    }
}

/// A command whose completion was posted after media had answered.
struct Landed {
    sq: u16,
    cid: CommandId,
    status: Status,
    /// The interrupt vector to raise.
    vector: Option<u16>,
}

/// Notes one answer of media; when it was the command's last, posts its completion.
fn land(
    flights: &mut Flights,
    queues: &mut QueueTable,
    token: Token,
    status: Status,
) -> Option<Landed> {
    let (owner, status) = flights.land(token, status)?;
    let Owner::Command { sq, cid } = owner else {
        return None;
    };
    let vector = spend(queues, sq, cid, status)?;
    Some(Landed {
        sq,
        cid,
        status,
        vector,
    })
}

/// Posts a completion on the reservation that was made when the command was fetched.
fn spend(queues: &mut QueueTable, sq: u16, cid: CommandId, status: Status) -> Option<Option<u16>> {
    let QueueTable {
        submissions,
        completions,
        ..
    } = queues;
    let queue = submissions.get(usize::from(sq))?.as_ref()?;
    let completion = completions
        .get_mut(usize::from(queue.completion))?
        .as_mut()?;
    completion.reserved = completion.reserved.saturating_sub(1);
    completion.post(sq, queue.ring.head(), cid, status, 0);
    Some(completion.vector)
}
