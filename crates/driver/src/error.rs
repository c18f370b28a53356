//! What goes wrong between bring-up and shutdown, said so that a person can act on it.

use core::fmt;
use core::time::Duration;

use spec::QueueId;
use spec::nvme::{ControllerStatus, Status, admin_opcode};

use crate::link::LinkError;

/// What the driver was waiting for when it gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waited {
    /// CSTS.RDY to become 0 after CC.EN was cleared.
    Disabled,
    /// CSTS.RDY to become 1 after CC.EN was set.
    Ready,
    /// CSTS.SHST to say that the shutdown is complete.
    Shutdown,
    /// The completion of an admin command.
    Command {
        /// Its opcode.
        opcode: u8,
    },
    /// The completion of any I/O command in flight.
    Io,
    /// Nothing: the controller was looked at in passing.
    Nothing,
}

impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("CSTS.RDY to become 0"),
            Self::Ready => f.write_str("CSTS.RDY to become 1"),
            Self::Shutdown => f.write_str("CSTS.SHST to say that shutdown is complete"),
            Self::Command { opcode } => {
                write!(
                    f,
                    "{} ({opcode:02X}h) to complete",
                    admin_opcode::name(*opcode)
                )
            }
            Self::Io => f.write_str("an I/O command to complete"),
            Self::Nothing => f.write_str("nothing in particular"),
        }
    }
}

/// Why the driver could not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The way to the controller failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Registers read as all ones: the controller has left the bus.
    #[error(
        "waited for {during}, but CSTS reads as all ones: the controller is gone; plug it in and open it again"
    )]
    Gone {
        /// What the driver was waiting for.
        during: Waited,
    },
    /// The controller reports that it has failed.
    #[error("waited for {during}, but the controller has failed (CSTS.CFS; CSTS {:#x}); reset it", status.bits())]
    Fatal {
        /// What the driver was waiting for.
        during: Waited,
        /// CSTS as it was read.
        status: ControllerStatus,
    },
    /// The controller dropped CSTS.RDY without being asked: something else reset it.
    #[error("the controller stopped being ready by itself (CSTS {:#x}); reset it", status.bits())]
    NotReady {
        /// CSTS as it was read.
        status: ControllerStatus,
    },
    /// The controller took too long.
    #[error("waited {waited:?} for {waited_for} in vain (CSTS {:#x}); reset the controller, or allow it more time", status.bits())]
    Timeout {
        /// What the driver was waiting for.
        waited_for: Waited,
        /// How long it waited.
        waited: Duration,
        /// CSTS when it gave up.
        status: ControllerStatus,
    },
    /// The controller lacks what this driver needs.
    #[error("{what}: wanted {wanted}, found {found}; this driver cannot use the controller so")]
    Unsupported {
        /// The field or ability.
        what: &'static str,
        /// What the driver needs.
        wanted: &'static str,
        /// What the controller says.
        found: String,
    },
    /// The controller's answer cannot be.
    #[error("{what}: wanted {wanted}, found {found}; the controller is broken")]
    BadAnswer {
        /// The field.
        what: &'static str,
        /// What the standard allows.
        wanted: &'static str,
        /// What the controller says.
        found: String,
    },
    /// The controller refused an admin command.
    #[error("{} ({opcode:02X}h) was refused: {status}", admin_opcode::name(*opcode))]
    Refused {
        /// The command.
        opcode: u8,
        /// The controller's reason.
        status: Status,
    },
    /// The controller completes commands that nobody sent.
    #[error(
        "waited for {during}, got {count} completions of commands that nobody sent; the controller is broken"
    )]
    BogusCompletions {
        /// What the driver was waiting for.
        during: Waited,
        /// How many, in this wait.
        count: u64,
    },
    /// The controller failed before, and has not been reset.
    #[error("the controller has failed and was not reset since; reset it first")]
    NeedsReset,
    /// All I/O queue pairs that the controller granted are in use.
    #[error(
        "the controller granted {granted} I/O queue pairs, and all are in use; delete one first"
    )]
    QueuesExhausted {
        /// Queue pairs granted.
        granted: u16,
    },
    /// A queue of this depth cannot be.
    #[error("an I/O queue of {wanted} entries is not possible; this controller takes 2 to {max}")]
    QueueDepth {
        /// Entries wanted.
        wanted: u32,
        /// Entries possible.
        max: u32,
    },
    /// The link's doorbells end before those of a queue.
    #[error(
        "the link maps {mapped} bytes of doorbells, which do not reach queue {queue}; map more"
    )]
    NoDoorbell {
        /// The queue.
        queue: QueueId,
        /// Bytes of doorbells mapped.
        mapped: usize,
    },
    /// An admin command's data do not fit the driver's buffer.
    #[error("{bytes} bytes of data for one admin command; {max} are possible")]
    AdminData {
        /// Bytes wanted.
        bytes: usize,
        /// Bytes possible.
        max: usize,
    },
}
