//! Admin commands: one table, and one file for each family of handlers [NVMe Base 2.0 §5 Admin Command Set].

mod feature;
mod identify;
mod log;
mod queue;
mod request;

use spec::nvme::log::scope;
use spec::nvme::{Status, SubmissionEntry, admin_opcode};

use crate::{Answer, Controller};

/// How an admin command is served; a refusal is its status.
type Serve = fn(&mut Controller, &SubmissionEntry) -> Result<Answer, Status>;

/// An entry of the table of admin commands. Its name is [`admin_opcode::name`]'s.
pub(crate) struct Command {
    pub(crate) opcode: u8,
    serve: Serve,
    /// What it may act on, as the Commands Supported and Effects log says it: [`scope`]'s bits.
    pub(crate) scope: u16,
}

impl Command {
    const fn new(opcode: u8, scope: u16, serve: Serve) -> Self {
        Self {
            opcode,
            serve,
            scope,
        }
    }
}

/// Commands that are about the controller or about one namespace, as their fields say.
const ANY: u16 = scope::CONTROLLER | scope::NAMESPACE;

/// Every admin command that the controller knows. To add one, add a line; dispatch and the Commands Supported and Effects
/// log follow from it.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new(
        admin_opcode::DELETE_IO_SQ,
        scope::CONTROLLER,
        queue::delete_sq,
    ),
    Command::new(
        admin_opcode::CREATE_IO_SQ,
        scope::CONTROLLER,
        queue::create_sq,
    ),
    Command::new(admin_opcode::GET_LOG_PAGE, ANY, log::get),
    Command::new(
        admin_opcode::DELETE_IO_CQ,
        scope::CONTROLLER,
        queue::delete_cq,
    ),
    Command::new(
        admin_opcode::CREATE_IO_CQ,
        scope::CONTROLLER,
        queue::create_cq,
    ),
    Command::new(admin_opcode::IDENTIFY, ANY, identify::serve),
    Command::new(admin_opcode::ABORT, scope::CONTROLLER, request::abort),
    Command::new(admin_opcode::SET_FEATURES, ANY, feature::set),
    Command::new(admin_opcode::GET_FEATURES, ANY, feature::get),
    Command::new(
        admin_opcode::ASYNC_EVENT_REQUEST,
        scope::CONTROLLER,
        request::asynchronous_event,
    ),
    Command::new(
        admin_opcode::KEEP_ALIVE,
        scope::CONTROLLER,
        request::keep_alive,
    ),
];

impl Controller {
    /// Serves one admin command.
    pub(crate) fn execute_admin(&mut self, entry: &SubmissionEntry) -> Answer {
        self.logs.note_time(self.now);
        // Checked before anything else: no admin command may be fused, and SGLs are not for PCI Express admin queues.
        if entry.fuse() != 0 || entry.psdt() != 0 {
            return Answer::Done(Status::INVALID_FIELD);
        }
        match COMMANDS
            .iter()
            .find(|command| command.opcode == entry.opcode())
        {
            Some(command) => (command.serve)(self, entry).unwrap_or_else(Answer::Done),
            None => Answer::Done(Status::INVALID_OPCODE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_opcode_stands_twice_in_the_table_and_each_has_a_name() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[at + 1..]
                    .iter()
                    .all(|other| other.opcode != command.opcode)
            );
            assert_ne!(admin_opcode::name(command.opcode), "Unknown command");
        }
    }
}
