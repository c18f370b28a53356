//! Records as text that other tools read.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use super::Record;
use crate::{BlockSize, Operation, TOKENS_MAX, names};

/// Records that an iolog keeps to sort them: once as many are behind a request, it is written down.
const SORTED_MAX: usize = TOKENS_MAX as usize;

/// The form of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line of `key=value` for each request.
    Text,
    /// A JSON object in each line.
    Json,
    /// fio's iolog, version 3: microseconds since the first request, byte offsets and lengths. Requests stand in the order
    /// in which they were started. What fio has no word for is written as the nearest that it has: Compare and Verify as
    /// `read`, Write Zeroes and Deallocate as `trim`, Flush as `sync`.
    Iolog {
        /// The file that a replay works on. No white space.
        file: String,
    },
}

/// Writes records down in a [`Format`]. [`finish`](Self::finish) it, or drop it, for the last of them.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    format: Format,
    block_shift: u32,
    sorting: BinaryHeap<Reverse<Line>>,
    /// The start of the first request.
    begin: Option<Duration>,
    /// The last time stamp: they must not go back, though a request may be overtaken by more than are sorted.
    stamp_us: u128,
    finished: bool,
}

/// What an iolog says of a request. Ordered by the sequence number, which differs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    sequence: u64,
    start: Duration,
    action: &'static str,
    offset: u64,
    len: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a log of a medium whose blocks have this size.
    ///
    /// # Errors
    /// When `to` takes no bytes; or, as [`io::ErrorKind::InvalidInput`], when an iolog's file name is empty or has white
    /// space, which fio would not read back.
    pub fn new(mut to: W, format: Format, block_size: BlockSize) -> io::Result<Self> {
        let mut sorted_max = 0;
        if let Format::Iolog { file } = &format {
            if file.is_empty() || file.contains(char::is_whitespace) {
                let problem = format!(
                    "iolog of the file {file:?}: wanted a name without white space; rename the file or link to it"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
            writeln!(to, "fio version 3 iolog\n0 {file} add\n0 {file} open")?;
            sorted_max = SORTED_MAX;
        }
        Ok(Self {
            to,
            format,
            block_shift: block_size.shift(),
            sorting: BinaryHeap::with_capacity(sorted_max),
            begin: None,
            stamp_us: 0,
            finished: false,
        })
    }

    /// Writes one record down.
    ///
    /// # Errors
    /// When the bytes are not taken.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        match self.format {
            Format::Text => writeln!(self.to, "{record}"),
            Format::Json => self.json(record),
            Format::Iolog { .. } => {
                if self.sorting.len() == SORTED_MAX {
                    self.first_line()?;
                }
                self.sorting.push(Reverse(self.line(record)));
                Ok(())
            }
        }
    }

    /// Writes what is left and flushes.
    ///
    /// # Errors
    /// When the bytes are not taken.
    pub fn finish(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        if core::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        while !self.sorting.is_empty() {
            self.first_line()?;
        }
        if let Format::Iolog { file } = &self.format {
            writeln!(self.to, "{} {file} close", self.stamp_us)?;
        }
        self.to.flush()
    }

    fn json(&mut self, record: &Record) -> io::Result<()> {
        // No text in here needs an escape: names are ours.
        write!(
            self.to,
            r#"{{"seq":{},"start_ns":{},"end_ns":{},"op":"{}","lba":{},"blocks":{},"fua":{},"#,
            record.sequence,
            record.start.as_nanos(),
            record.end.as_nanos(),
            names::operation(record.request.op),
            record.request.at,
            record.request.count,
            record.request.fua,
        )?;
        match record.status {
            Some(status) => writeln!(
                self.to,
                r#""status":"{}","sct":{},"sc":{}}}"#,
                names::StatusName(status),
                status.sct(),
                status.sc()
            ),
            None => writeln!(self.to, r#""status":null}}"#),
        }
    }

    fn line(&self, record: &Record) -> Line {
        let action = match record.request.op {
            Operation::Read | Operation::Compare | Operation::Verify => "read",
            Operation::Write => "write",
            Operation::WriteZeroes { .. } | Operation::Deallocate => "trim",
            Operation::Flush => "sync",
        };
        Line {
            sequence: record.sequence,
            start: record.start,
            action,
            offset: record.request.at.get() << self.block_shift,
            len: record.request.count.get() << self.block_shift,
        }
    }

    /// Writes the earliest line of those that are being sorted.
    fn first_line(&mut self) -> io::Result<()> {
        let (Some(Reverse(line)), Format::Iolog { file }) = (self.sorting.pop(), &self.format)
        else {
            return Ok(());
        };
        let begin = *self.begin.get_or_insert(line.start);
        let since = line.start.saturating_sub(begin).as_micros();
        self.stamp_us = self.stamp_us.max(since);
        let (stamp, action) = (self.stamp_us, line.action);
        writeln!(
            self.to,
            "{stamp} {file} {action} {} {}",
            line.offset, line.len
        )
    }
}

/// Whoever wants to know whether the last bytes were taken calls [`Writer::finish`].
impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
