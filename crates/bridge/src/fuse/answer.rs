//! The kernel's requests that wait for an answer, and sending it.

use core::cell::RefCell;

use driver::Link;
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use crate::engine::{Engine, Failure, Ticket};
use crate::errno;
use crate::limits;

/// Where an answer goes, and what it says if all is well.
#[derive(Debug)]
pub(super) enum Asker {
    Read(ReplyData, usize),
    Write(ReplyWrite, u32),
    Other(ReplyEmpty),
}

impl Asker {
    /// Answers with an error.
    pub(super) fn refuse(self, errno: Errno) {
        match self {
            Self::Read(reply, _) => reply.error(errno),
            Self::Write(reply, _) => reply.error(errno),
            Self::Other(reply) => reply.error(errno),
        }
    }
}

/// The kernel's name for a failure.
pub(super) fn errno_of(failure: Failure) -> Errno {
    match failure {
        Failure::Status(status) => Errno::from_i32(errno::of(status).raw_os_error()),
        Failure::Controller => Errno::EIO,
    }
}

thread_local! {
    /// Where a thread puts what was read, on its way from the controller's memory, which is no Rust slice, to the kernel.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that begin with a page, since the kernel looks each page up that it copies from. Room is made when it is missing,
/// which is once for each size of request.
fn page_aligned(bytes: &mut Vec<u8>, len: usize) -> &mut [u8] {
    let page = limits::BLKSIZE as usize;
    if bytes.len() < len + page {
        *bytes = vec![0; len + page];
    }
    let skip = bytes.as_ptr().addr().wrapping_neg() % page;
    &mut bytes[skip..skip + len]
}

/// An answer that has left the engine: a read's bytes are in the thread's own memory.
#[derive(Debug)]
pub(super) struct Answer {
    asker: Asker,
    outcome: Result<(), Failure>,
}

impl Answer {
    /// Takes the outcome of a request out of the engine, and makes its room free.
    #[inline]
    pub(super) fn fetch<L: Link>(engine: &mut Engine<L>, ticket: Ticket, asker: Asker) -> Self {
        let outcome = engine.outcome(ticket);
        if let (Asker::Read(_, len), Ok(())) = (&asker, outcome) {
            BYTES.with_borrow_mut(|bytes| engine.read_out(ticket, page_aligned(bytes, *len)));
        }
        engine.release(ticket);
        Self { asker, outcome }
    }

    /// Sends it. To be called by the thread that fetched it.
    #[inline]
    pub(super) fn send(self) {
        if let Err(failure) = self.outcome {
            self.asker.refuse(errno_of(failure));
            return;
        }
        match self.asker {
            Asker::Read(reply, len) => {
                BYTES.with_borrow_mut(|bytes| reply.data(page_aligned(bytes, len)));
            }
            Asker::Write(reply, len) => reply.written(len),
            Asker::Other(reply) => reply.ok(),
        }
    }
}
