//! I/O commands: check, resolve, hand to media.

use media::{Operation, Progress, Request, Token};
use mem::{IovaTable, Span, SpanList};
use spec::nvme::{Status, SubmissionEntry, io_opcode};
use spec::{BlockCount, NamespaceId};

use crate::counters::Counters;
use crate::namespace::{Namespace, NamespaceTable};
use crate::{dsm, prp};

/// What an I/O command may touch.
pub(crate) struct Io<'c> {
    pub(crate) namespaces: &'c mut NamespaceTable,
    pub(crate) memory: &'c IovaTable,
    pub(crate) counters: &'c mut Counters,
    pub(crate) transfer_bytes_max: u64,
    /// The name under which media answer later.
    pub(crate) token: Token,
}

/// What an I/O command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Complete it with this status.
    Done(Status),
    /// Media answer so many pieces later; `status` is what the pieces that are over came to.
    Later {
        /// Answers to wait for, at most one for each namespace or range.
        pieces: u16,
        /// The worst status so far.
        status: Status,
    },
}

impl Outcome {
    /// Media answer later, in one piece.
    pub(crate) const LATER: Self = Self::Later {
        pieces: 1,
        status: Status::SUCCESS,
    };
}

/// How a command is served.
type Serve = fn(&mut Io<'_>, &SubmissionEntry) -> Outcome;

/// An entry of the table of I/O commands.
pub(crate) struct Command {
    pub(crate) opcode: u8,
    pub(crate) serve: Serve,
    /// Whether it may change the contents of a namespace: the LBCC bit of the Commands Supported and Effects log.
    pub(crate) changes_blocks: bool,
}

/// Every I/O command that the controller knows. To add one, add a line.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        opcode: io_opcode::FLUSH,
        serve: flush,
        changes_blocks: false,
    },
    Command {
        opcode: io_opcode::WRITE,
        serve: write,
        changes_blocks: true,
    },
    Command {
        opcode: io_opcode::READ,
        serve: read,
        changes_blocks: false,
    },
    Command {
        opcode: io_opcode::COMPARE,
        serve: compare,
        changes_blocks: false,
    },
    Command {
        opcode: io_opcode::WRITE_ZEROES,
        serve: write_zeroes,
        changes_blocks: true,
    },
    Command {
        opcode: io_opcode::DATASET_MANAGEMENT,
        serve: dsm::serve,
        changes_blocks: true,
    },
    Command {
        opcode: io_opcode::VERIFY,
        serve: verify,
        changes_blocks: false,
    },
];

/// [`COMMANDS`] spread out by opcode, so that finding one is a load.
static BY_OPCODE: [Serve; 256] = spread();

const fn spread() -> [Serve; 256] {
    let mut table: [Serve; 256] = [unknown; 256];
    let mut rest = COMMANDS;
    while let [command, tail @ ..] = rest {
        #[expect(
            clippy::indexing_slicing,
            reason = "a u8 cannot pass the end of 256 entries"
        )]
        {
            table[command.opcode as usize] = command.serve;
        }
        rest = tail;
    }
    table
}

/// Serves one command of any kind.
pub(crate) fn execute(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    // Fused operations and SGLs over PCIe are not offered (Identify FUSES and SGLS are zero).
    if entry.fuse() != 0 || entry.psdt() != 0 {
        return Outcome::Done(Status::INVALID_FIELD);
    }
    #[expect(
        clippy::indexing_slicing,
        reason = "a u8 cannot pass the end of 256 entries"
    )]
    let serve = BY_OPCODE[usize::from(entry.opcode())];
    serve(io, entry)
}

fn unknown(_io: &mut Io<'_>, _entry: &SubmissionEntry) -> Outcome {
    Outcome::Done(Status::INVALID_OPCODE)
}

fn read(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    transfer(io, entry, Operation::Read)
}

fn write(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    transfer(io, entry, Operation::Write)
}

fn compare(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    transfer(io, entry, Operation::Compare)
}

/// The commands that move data: range, transfer size and PRPs are right before media hear of it.
fn transfer(io: &mut Io<'_>, entry: &SubmissionEntry, op: Operation) -> Outcome {
    match try_transfer(io, entry, op) {
        Ok(outcome) => outcome,
        Err(status) => Outcome::Done(status),
    }
}

fn try_transfer(
    io: &mut Io<'_>,
    entry: &SubmissionEntry,
    op: Operation,
) -> Result<Outcome, Status> {
    let namespace = io.namespaces.active(entry.nsid())?;
    let count = u64::from(entry.nlb().count());
    namespace.check(entry.slba(), count)?;
    let len = count << namespace.block_shift;
    if len > io.transfer_bytes_max {
        return Err(Status::INVALID_FIELD);
    }
    let mut data = SpanList::new();
    prp::resolve(io.memory, entry, len, &mut data)?;
    if op == Operation::Write {
        io.counters.writes += 1;
        io.counters.written_bytes += len;
    } else {
        io.counters.reads += 1;
        io.counters.read_bytes += len;
    }
    let count = BlockCount::new(count);
    let request = Request {
        op,
        at: entry.slba(),
        count,
        fua: entry.fua(),
    };
    Ok(start(namespace, io.token, &request, data.as_slice()))
}

fn start(namespace: &mut Namespace, token: Token, request: &Request, data: &[Span<'_>]) -> Outcome {
    match namespace.media.start(token, request, data) {
        Progress::Done(status) => Outcome::Done(status),
        Progress::Later => Outcome::LATER,
    }
}

/// Write Zeroes [NVM Command Set 1.0 §3.2.8]: no data, hence no bound but the capacity.
fn write_zeroes(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    let deallocate = entry.deallocate();
    let outcome = without_data(io, entry, Operation::WriteZeroes { deallocate });
    if !matches!(outcome, Outcome::Done(status) if !status.is_success()) {
        io.counters.writes += 1;
    }
    outcome
}

/// Verify [NVM Command Set 1.0 §3.2.6]: reads without moving data.
fn verify(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    let outcome = without_data(io, entry, Operation::Verify);
    if !matches!(outcome, Outcome::Done(status) if !status.is_success()) {
        io.counters.reads += 1;
    }
    outcome
}

fn without_data(io: &mut Io<'_>, entry: &SubmissionEntry, op: Operation) -> Outcome {
    let namespace = match io.namespaces.active(entry.nsid()) {
        Ok(namespace) => namespace,
        Err(status) => return Outcome::Done(status),
    };
    let count = u64::from(entry.nlb().count());
    if let Err(status) = namespace.check(entry.slba(), count) {
        return Outcome::Done(status);
    }
    let count = BlockCount::new(count);
    let request = Request {
        op,
        at: entry.slba(),
        count,
        fua: entry.fua(),
    };
    start(namespace, io.token, &request, &[])
}

/// Flush [NVMe Base 2.0 §7.1]: one namespace, or all of them by the broadcast identifier.
fn flush(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    io.counters.flushes += 1;
    if entry.nsid() == NamespaceId::BROADCAST {
        return flush_all(io.namespaces, io.token);
    }
    match io.namespaces.active(entry.nsid()) {
        Ok(namespace) => start(namespace, io.token, &Namespace::flush_request(), &[]),
        Err(status) => Outcome::Done(status),
    }
}

/// Flushes every namespace under one token.
pub(crate) fn flush_all(namespaces: &mut NamespaceTable, token: Token) -> Outcome {
    let mut pieces = Pieces::default();
    for namespace in namespaces.iter_mut() {
        pieces.add(start(namespace, token, &Namespace::flush_request(), &[]));
    }
    pieces.outcome()
}

/// Several requests to media that make one command.
#[derive(Debug)]
pub(crate) struct Pieces {
    later: u16,
    status: Status,
}

impl Default for Pieces {
    fn default() -> Self {
        Self {
            later: 0,
            status: Status::SUCCESS,
        }
    }
}

impl Pieces {
    /// Adds what one request came to.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        let (later, status) = match outcome {
            Outcome::Done(status) => (0, status),
            Outcome::Later { pieces, status } => (pieces, status),
        };
        self.later += later;
        if self.status.is_success() {
            self.status = status;
        }
    }

    /// What the command as a whole came to.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.later == 0 {
            Outcome::Done(self.status)
        } else {
            Outcome::Later {
                pieces: self.later,
                status: self.status,
            }
        }
    }
}

/// Starts one request that moves no data.
pub(crate) fn start_without_data(
    namespace: &mut Namespace,
    token: Token,
    request: &Request,
) -> Outcome {
    start(namespace, token, request, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_table_is_found_by_its_opcode_and_no_other() {
        for opcode in 0..=u8::MAX {
            let wanted = COMMANDS.iter().find(|command| command.opcode == opcode);
            let found = BY_OPCODE[usize::from(opcode)];
            let wanted = wanted.map_or(unknown as Serve, |command| command.serve);
            assert!(core::ptr::fn_addr_eq(found, wanted), "opcode {opcode:02x}h");
        }
    }
}
