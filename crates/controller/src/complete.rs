//! The way back: spending a reservation, and asking for interrupts once per batch.

use media::{Landing, Token};
use mem::{IovaTable, Span, SpanList};
use spec::nvme::{CompletionEntry, Status, io_opcode};
use spec::{CommandId, QueueId};

use crate::counters::Counters;
use crate::flight::{Flights, Owner};
use crate::limits::VECTORS_MAX;
use crate::logs::Logs;
use crate::queues::{CompletionQueue, QueueTable};
use crate::{Controller, prp};

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
            memory,
            now,
            ..
        } = self;
        let mut arrivals = Arrivals {
            queues,
            flights,
            counters,
            interrupts,
            logs,
            memory,
            completed: 0,
        };
        for namespace in namespaces.slow_mut() {
            namespace.media.poll(*now, &mut arrivals);
        }
        arrivals.completed
    }

    /// Has media hurry with everything that waits on a submission queue, which is about to go; says whether anything does.
    pub(crate) fn hurry_queue(&mut self, sq: u16) -> bool {
        let mut any = false;
        for (token, _) in self.flights.of_queue(sq) {
            self.namespaces.hurry(token);
            any = true;
        }
        any
    }
}

/// What late answers need of the controller.
struct Arrivals<'c> {
    queues: &'c mut QueueTable,
    flights: &'c mut Flights,
    counters: &'c mut Counters,
    interrupts: &'c mut Vectors,
    logs: &'c mut Logs,
    memory: &'c IovaTable,
    completed: u32,
}

impl Landing for Arrivals<'_> {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        // Nobody's blocks go nowhere: the host that asked for them was reset and uses its memory for other things.
        let Some(Owner::Command { entry, .. }) = self.flights.owner(token) else {
            return Status::SUCCESS;
        };
        let mut host = SpanList::new();
        if let Err(status) = prp::resolve(self.memory, entry, blocks.len() as u64, &mut host) {
            return status;
        }
        let comparing = entry.opcode() == io_opcode::COMPARE;
        let mut rest = blocks;
        for span in host.iter() {
            let (piece, behind) = rest.split_at(span.len());
            rest = behind;
            if !comparing {
                piece.copy_to(*span);
            } else if !piece.compare(*span) {
                return Status::COMPARE_FAILURE;
            }
        }
        Status::SUCCESS
    }

    /// Notes one answer of media; when it was the command's last, posts its completion.
    fn answer(&mut self, token: Token, status: Status) {
        let Some((Owner::Command { sq, entry }, status)) = self.flights.land(token, status) else {
            return;
        };
        if !status.is_success() {
            self.counters.refused += 1;
            self.logs.note_refusal(sq, &entry, status);
        }
        if let Some(vector) = spend(self.queues, sq, entry.cid(), status) {
            self.completed += 1;
            if let Some(vector) = vector {
                self.interrupts.add(vector);
            }
        }
    }
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
