//! The controller's queues and their life.

use mem::{MappedRegister, MappedWords, Window};
use ring::Register32;
use ring::queue::{CompletionTail, SubmissionHead};
use spec::CommandId;
use spec::nvme::Status;

use crate::limits;

/// The device side of a submission queue.
#[derive(Debug)]
pub(crate) struct SubmissionQueue {
    pub(crate) ring: SubmissionHead<MappedWords>,
    pub(crate) doorbell: MappedRegister,
    /// The completion queue that its completions go to.
    pub(crate) completion: u16,
    /// The last tail value that was refused, and the head at that time, so that one bad value is reported once and not on
    /// each tick.
    pub(crate) bad_tail: Option<(u32, u16)>,
}

impl SubmissionQueue {
    /// Notes a tail that cannot be; says whether it is news.
    #[cold]
    pub(crate) fn note_bad_tail(&mut self, tail: u32) -> bool {
        let found = Some((tail, self.ring.head()));
        core::mem::replace(&mut self.bad_tail, found) != found
    }
}

/// The device side of a completion queue.
///
/// Invariant: `reserved` <= room in the ring. A reservation is made before a command is fetched and spent by the one
/// entry that completes it, so an answer always has a place.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    pub(crate) ring: CompletionTail<MappedWords>,
    pub(crate) doorbell: MappedRegister,
    /// The interrupt vector, or none when interrupts are off.
    pub(crate) vector: Option<u16>,
    /// Entries promised to commands that wait for media.
    pub(crate) reserved: u32,
    /// Submission queues that use it.
    pub(crate) users: u16,
    /// The last head value that was refused.
    pub(crate) bad_head: Option<u32>,
}

impl CompletionQueue {
    /// Entries that may still be promised, looking at the host's head only when the cached one shows less than `wanted`.
    /// The flag says that the host wrote a head that cannot be.
    #[inline(always)]
    pub(crate) fn room(&mut self, wanted: u32) -> (u32, bool) {
        let room = self.ring.room().saturating_sub(self.reserved);
        if room >= wanted {
            (room, false)
        } else {
            self.room_after_look()
        }
    }

    #[cold]
    fn room_after_look(&mut self) -> (u32, bool) {
        // Acquire pairs with the host's release store of the head: the entries before it were read and may be reused.
        let head = self.doorbell.load_acquire();
        let mut bad = false;
        match self.ring.observe_head(head) {
            Ok(()) => self.bad_head = None,
            Err(_) => {
                bad = self.bad_head != Some(head);
                self.bad_head = Some(head);
            }
        }
        (self.ring.room().saturating_sub(self.reserved), bad)
    }
}

/// All queues. Index 0 is the admin pair.
#[derive(Debug)]
pub(crate) struct QueueTable {
    pub(crate) submissions: Vec<Option<SubmissionQueue>>,
    pub(crate) completions: Vec<Option<CompletionQueue>>,
    /// The I/O submission queues that are served, so that a tick visits no others.
    pub(crate) active: Vec<u16>,
    /// Submission queues that wait for their last command before they go, and the command that deletes each.
    pub(crate) leaving: Vec<(u16, CommandId)>,
}

impl QueueTable {
    pub(crate) fn new(pairs: u16) -> Self {
        let slots = usize::from(pairs) + 1;
        Self {
            submissions: (0..slots).map(|_| None).collect(),
            completions: (0..slots).map(|_| None).collect(),
            active: Vec::with_capacity(slots),
            leaving: Vec::with_capacity(slots),
        }
    }

    /// Whether a completion queue of this identifier exists.
    pub(crate) fn has_completion(&self, id: u16) -> bool {
        matches!(self.completions.get(usize::from(id)), Some(Some(_)))
    }

    /// Whether a submission queue of this identifier exists.
    pub(crate) fn has_submission(&self, id: u16) -> bool {
        matches!(self.submissions.get(usize::from(id)), Some(Some(_)))
    }

    /// Whether any I/O queue exists.
    pub(crate) fn has_io(&self) -> bool {
        self.completions.iter().skip(1).any(Option::is_some)
    }

    /// Creates a completion queue over `words`, which hold `depth` entries of two words.
    ///
    /// # Errors
    /// Invalid Queue Identifier when the identifier is out of range or in use.
    pub(crate) fn create_cq(
        &mut self,
        id: u16,
        words: MappedWords,
        depth: u32,
        vector: Option<u16>,
        doorbells: &Window,
    ) -> Result<(), Status> {
        let slot = self
            .completions
            .get_mut(usize::from(id))
            .ok_or(Status::INVALID_QID)?;
        if slot.is_some() {
            return Err(Status::INVALID_QID);
        }
        let doorbell = doorbell(doorbells, usize::from(id) * 2 + 1)?;
        doorbell.store_release(0); // pairs with nothing yet: the host learns of the queue by the completion that follows
        *slot = Some(CompletionQueue {
            ring: CompletionTail::new(words, depth),
            doorbell,
            vector,
            reserved: 0,
            users: 0,
            bad_head: None,
        });
        Ok(())
    }

    /// Creates a submission queue over `words`, which hold `depth` entries of eight words.
    ///
    /// # Errors
    /// Invalid Queue Identifier, or Completion Queue Invalid when `completion` does not exist.
    pub(crate) fn create_sq(
        &mut self,
        id: u16,
        completion: u16,
        words: MappedWords,
        depth: u32,
        doorbells: &Window,
    ) -> Result<(), Status> {
        let slot = self
            .submissions
            .get_mut(usize::from(id))
            .ok_or(Status::INVALID_QID)?;
        if slot.is_some() {
            return Err(Status::INVALID_QID);
        }
        let Some(Some(queue)) = self.completions.get_mut(usize::from(completion)) else {
            return Err(Status::INVALID_CQ);
        };
        let doorbell = doorbell(doorbells, usize::from(id) * 2)?;
        doorbell.store_release(0); // pairs with nothing yet: the host learns of the queue by the completion that follows
        queue.users += 1;
        *slot = Some(SubmissionQueue {
            ring: SubmissionHead::new(words, depth),
            doorbell,
            completion,
            bad_tail: None,
        });
        if id != 0 {
            self.active.push(id);
        }
        Ok(())
    }

    /// Serves a submission queue no more; it goes once its last command in flight was answered.
    pub(crate) fn leave(&mut self, id: u16, delete: CommandId) {
        self.active.retain(|&active| active != id);
        self.leaving.push((id, delete));
    }

    /// Whether a submission queue is about to go.
    pub(crate) fn is_leaving(&self, id: u16) -> bool {
        self.leaving.iter().any(|&(leaving, _)| leaving == id)
    }

    /// Deletes a submission queue.
    ///
    /// # Errors
    /// Invalid Queue Identifier when it does not exist or is the admin queue.
    pub(crate) fn delete_sq(&mut self, id: u16) -> Result<(), Status> {
        if id == 0 {
            return Err(Status::INVALID_QID);
        }
        let slot = self
            .submissions
            .get_mut(usize::from(id))
            .ok_or(Status::INVALID_QID)?;
        let queue = slot.take().ok_or(Status::INVALID_QID)?;
        if let Some(Some(completion)) = self.completions.get_mut(usize::from(queue.completion)) {
            completion.users -= 1;
        }
        self.active.retain(|&active| active != id);
        Ok(())
    }

    /// Deletes a completion queue.
    ///
    /// # Errors
    /// Invalid Queue Identifier when it does not exist or is the admin queue, Invalid Queue Deletion while a submission
    /// queue uses it.
    pub(crate) fn delete_cq(&mut self, id: u16) -> Result<(), Status> {
        if id == 0 {
            return Err(Status::INVALID_QID);
        }
        let slot = self
            .completions
            .get_mut(usize::from(id))
            .ok_or(Status::INVALID_QID)?;
        match slot {
            None => Err(Status::INVALID_QID),
            Some(queue) if queue.users > 0 => Err(Status::INVALID_QUEUE_DELETION),
            Some(_) => {
                *slot = None;
                Ok(())
            }
        }
    }

    /// Forgets every queue: the controller was reset.
    pub(crate) fn reset(&mut self) {
        self.submissions.fill_with(|| None);
        self.completions.fill_with(|| None);
        self.active.clear();
        self.leaving.clear();
    }
}

/// The doorbell of an index; `Config::check` made sure that the window holds them all.
fn doorbell(doorbells: &Window, index: usize) -> Result<MappedRegister, Status> {
    debug_assert!(
        index * 4 < limits::DOORBELL_BYTES,
        "queue identifiers are checked first"
    );
    doorbells
        .register32(index * 4)
        .ok_or(Status::INTERNAL_ERROR)
}
