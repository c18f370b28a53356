//! Replays what fio or the kernel recorded, at the recorded times or as fast as the device allows.
//!
//! A trace is a stream: [`trace::Trace`] reads it piece by piece, whatever its format, and yields one [`Op`] after the
//! other, so a trace of many GiB takes no more memory than a small one. It is read twice. The [`survey`] learns what will
//! be asked of the device before anything is asked: which files there are and how far they reach. [`layout`] then says
//! where on the device each I/O goes, and [`run`] sends it.

pub mod blkparse;
pub mod blktrace;
pub mod engine;
mod input;
pub mod iolog;
pub mod layout;
pub mod limits;
pub mod report;
pub mod run;
pub mod survey;
pub mod text;
pub mod trace;
mod warnings;

use serde::{Deserialize, Serialize};

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes what was written durable: fio's `sync` and `datasync`, the kernel's flush.
    Flush,
    /// Gives bytes up: fio's `trim`, the kernel's discard.
    Discard,
}

impl Kind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// The kind's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }

    /// Whether it changes what blocks hold.
    #[must_use]
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Discard)
    }
}

/// One value for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerKind<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For flushes.
    pub flush: T,
    /// For discards.
    pub discard: T,
}

impl<T> PerKind<T> {
    /// The value of a kind.
    #[inline]
    pub const fn of(&self, kind: Kind) -> &T {
        match kind {
            Kind::Read => &self.read,
            Kind::Write => &self.write,
            Kind::Flush => &self.flush,
            Kind::Discard => &self.discard,
        }
    }

    /// The value of a kind, to change it.
    #[inline]
    pub const fn of_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::Read => &mut self.read,
            Kind::Write => &mut self.write,
            Kind::Flush => &mut self.flush,
            Kind::Discard => &mut self.discard,
        }
    }

    /// The same with each value changed.
    pub fn map<U>(&self, mut change: impl FnMut(Kind, &T) -> U) -> PerKind<U> {
        PerKind {
            read: change(Kind::Read, &self.read),
            write: change(Kind::Write, &self.write),
            flush: change(Kind::Flush, &self.flush),
            discard: change(Kind::Discard, &self.discard),
        }
    }
}

impl PerKind<u64> {
    /// The sum over all kinds.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.read
            .saturating_add(self.write)
            .saturating_add(self.flush)
            .saturating_add(self.discard)
    }
}

/// Where in a trace something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which file of the set.
    pub source: u16,
    /// The line, from one, of a text; the first byte of the record otherwise.
    pub at: u64,
}

/// One I/O as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Whether it is to be durable when it is answered (Force Unit Access); only for writes.
    pub fua: bool,
    /// Whether it covers every write in front of it, and so waits for them; only for flushes. A program's `fsync` does, the
    /// block layer's flush covers what was answered when it was sent.
    pub barrier: bool,
    /// The file or device, as an index of [`trace::Trace::names`].
    pub file: u32,
    /// First byte; zero for a flush.
    pub offset: u64,
    /// Bytes, 1 to [`limits::OP_BYTES_MAX`]; zero for a flush. `offset + bytes` is below 2^64.
    pub bytes: u64,
    /// Nanoseconds since the trace's first I/O; never less than the one's before. Absent where the trace does not say.
    pub at_ns: Option<u64>,
    /// Where it stands.
    pub place: Place,
}

#[cfg(test)]
mod tests;
