//! Creating and deleting I/O queues [NVMe Base 2.0 §5.4, §5.5, §5.6, §5.7].

use mem::MappedWords;
use spec::nvme::register::{CQ_ENTRY_SHIFT, SQ_ENTRY_SHIFT};
use spec::nvme::{
    CompletionEntry, CreateCompletionQueue, CreateSubmissionQueue, DeleteQueue, Status,
    SubmissionEntry,
};
use spec::{QueueId, ZeroBased};

use crate::{Answer, Controller, limits};

const DONE: Answer = Answer::Done(Status::SUCCESS);

/// Create I/O Completion Queue.
pub(super) fn create_cq(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let command = CreateCompletionQueue::parse(entry);
    if !controller.features.offers_completion_queue(command.qid)
        || controller.queues.has_completion(command.qid.get())
    {
        return Err(Status::INVALID_QID);
    }
    controller.check_size(command.size)?;
    let entry_shift = controller.registers.configuration.iocqes();
    if entry_shift != CQ_ENTRY_SHIFT {
        return Err(Status::INVALID_QUEUE_SIZE);
    }
    // Vector 0 is the admin queue's and may be shared; each I/O completion queue may have one more.
    if command.vector > controller.config.queue_pairs {
        return Err(Status::INVALID_INTERRUPT_VECTOR);
    }
    let depth = command.size.count();
    let words = controller.map_queue(
        command.contiguous,
        command.prp1,
        depth as usize * CompletionEntry::BYTES,
    )?;
    let vector = command.interrupts.then_some(command.vector);
    let Controller {
        queues, doorbells, ..
    } = controller;
    queues.create_cq(command.qid.get(), words, depth, vector, doorbells)?;
    Ok(DONE)
}

/// Create I/O Submission Queue. Its priority is ignored, as round robin is the only arbitration.
pub(super) fn create_sq(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let command = CreateSubmissionQueue::parse(entry);
    if !controller.features.offers_submission_queue(command.qid)
        || controller.queues.has_submission(command.qid.get())
    {
        return Err(Status::INVALID_QID);
    }
    controller.check_size(command.size)?;
    let entry_shift = controller.registers.configuration.iosqes();
    if entry_shift != SQ_ENTRY_SHIFT {
        return Err(Status::INVALID_QUEUE_SIZE);
    }
    // An identifier that no completion queue can have is wrong in itself; one that is merely free is a wrong pairing.
    if !controller.features.offers_completion_queue(command.cqid) {
        return Err(Status::INVALID_QID);
    }
    if !controller.queues.has_completion(command.cqid.get()) {
        return Err(Status::INVALID_CQ);
    }
    let depth = command.size.count();
    let words = controller.map_queue(
        command.contiguous,
        command.prp1,
        depth as usize * SubmissionEntry::BYTES,
    )?;
    let Controller {
        queues, doorbells, ..
    } = controller;
    queues.create_sq(
        command.qid.get(),
        command.cqid.get(),
        words,
        depth,
        doorbells,
    )?;
    Ok(DONE)
}

/// Delete I/O Submission Queue. Commands that media are at work on are answered before the queue is gone and this command
/// completes: a write of theirs may take effect until then, and must not after.
pub(super) fn delete_sq(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let id = DeleteQueue::parse(entry).qid;
    if id == QueueId::ADMIN
        || !controller.queues.has_submission(id.get())
        || controller.queues.is_leaving(id.get())
    {
        return Err(Status::INVALID_QID);
    }
    if controller.hurry_queue(id.get()) {
        controller.queues.leave(id.get(), entry.cid());
        controller.wake();
        return Ok(Answer::Parked);
    }
    controller.queues.delete_sq(id.get())?;
    Ok(DONE)
}

/// Delete I/O Completion Queue.
pub(super) fn delete_cq(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let id = DeleteQueue::parse(entry).qid;
    controller.queues.delete_cq(id.get())?;
    Ok(DONE)
}

impl Controller {
    /// Completes the deletion of each submission queue whose last command was answered.
    pub(crate) fn delete_left_queues(&mut self) {
        for at in (0..self.queues.leaving.len()).rev() {
            let Some(&(id, delete)) = self.queues.leaving.get(at) else {
                continue;
            };
            if self.flights.of_queue(id).next().is_some() || self.admin_room(1) == 0 {
                continue;
            }
            self.queues.leaving.swap_remove(at);
            let deleted = self.queues.delete_sq(id);
            let status = deleted.err().unwrap_or(Status::SUCCESS);
            self.complete_admin(delete, status, 0);
        }
    }

    /// A queue has two entries at least, so that full and empty differ, and CAP.MQES + 1 at most.
    fn check_size(&self, size: ZeroBased<u16>) -> Result<(), Status> {
        if (2..=self.config.queue_entries).contains(&size.count()) {
            Ok(())
        } else {
            Err(Status::INVALID_QUEUE_SIZE)
        }
    }

    /// The memory of an I/O queue. CAP.CQR is set, so it must be in one piece, from the start of a page.
    fn map_queue(
        &self,
        contiguous: bool,
        address: u64,
        bytes: usize,
    ) -> Result<MappedWords, Status> {
        if !contiguous {
            return Err(Status::INVALID_FIELD);
        }
        if !address.is_multiple_of(limits::PAGE_BYTES) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        self.queue_words(address, bytes)
            .ok_or(Status::INVALID_FIELD)
    }
}
