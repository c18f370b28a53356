//! Abort, Asynchronous Event Request and Keep Alive.

use spec::QueueId;
use spec::nvme::{Abort, Status, SubmissionEntry};

use crate::{Answer, Controller};

/// Abort [NVMe Base 2.0 §5.1]. It is over before the next command is fetched, so the Abort Command Limit is never reached.
///
/// Of all commands only an Asynchronous Event Request can be taken back; one that media are at work on is left to finish,
/// as the standard's best effort allows, but media are told to hurry.
pub(super) fn abort(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let command = Abort::parse(entry);
    if !controller.queues.has_submission(command.sqid.get()) {
        return Err(Status::INVALID_FIELD);
    }
    let mut flights = controller.flights.of_queue(command.sqid.get());
    if let Some((token, _)) = flights.find(|&(_, cid)| cid == command.cid) {
        drop(flights);
        controller.namespaces.hurry(token);
        return Ok(Answer::DoneWith(Status::SUCCESS, Abort::NOT_ABORTED));
    }
    drop(flights);
    let recallable = command.sqid == QueueId::ADMIN && controller.events.has_request(command.cid);
    // The aborted command's completion comes first, and the Abort's own still needs its place.
    if !recallable || controller.admin_room(2) < 2 {
        return Ok(Answer::DoneWith(Status::SUCCESS, Abort::NOT_ABORTED));
    }
    controller.events.recall(command.cid);
    controller.complete_admin(command.cid, Status::ABORT_REQUESTED, 0);
    Ok(Answer::DoneWith(Status::SUCCESS, Abort::ABORTED))
}

/// Asynchronous Event Request [NVMe Base 2.0 §5.2]: waits until there is something to tell.
pub(super) fn asynchronous_event(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    controller.events.park(entry.cid())?;
    controller.wake();
    Ok(Answer::Parked)
}

/// Keep Alive [NVMe Base 2.0 §5.18]: the timer starts anew.
pub(super) fn keep_alive(
    controller: &mut Controller,
    _entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    controller.features.restart_keep_alive(controller.now);
    controller.wake();
    Ok(Answer::Done(Status::SUCCESS))
}
