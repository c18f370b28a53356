//! A medium that keeps a record of every request, and the forms in which records are written down.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use mem::Span;
use spec::BlockCount;
use spec::nvme::Status;

use crate::by_token::ByToken;
use crate::{BlockSize, Landing, Media, MediaCounts, Progress, Request, TOKENS_MAX, Token};

#[cfg(test)]
mod tests;
mod writer;

pub use writer::{Format, Writer};

/// Records that wait for the sink at most: what a controller starts in one turn if it has 128 queues that are all full.
/// They are handed over at the end of each turn.
pub const RECORDS_MAX: usize = 128 * 128;

/// Requests that were not yet answered at most: every token once, and as many ranges of Dataset Management commands again.
/// Beyond, requests pass without a record and are counted as lost.
const FLIGHTS_MAX: u32 = 2 * TOKENS_MAX;

/// What became of one request. Times are those of the turns in which it began and ended, on the clock that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Counts requests from zero, in the order in which they were started. A gap is a lost record.
    pub sequence: u64,
    /// When it was started.
    pub start: Duration,
    /// When it was answered; for a request that never was, when the medium was dropped.
    pub end: Duration,
    /// What was asked for.
    pub request: Request,
    /// The answer. `None`: there never was one.
    pub status: Option<Status>,
}

/// Who takes the records. It is called between requests, in the order of their answers.
pub type Sink = Box<dyn FnMut(&Record) + Send>;

/// A medium whose requests are written down.
///
/// A record goes into a ring inside [`Media::start`] or [`Media::poll`] and from there to the sink at the end of `poll`, so
/// that the sink's time is not in the middle of a request. Recording allocates nothing.
pub struct LoggedMedia {
    inner: Box<dyn Media>,
    log: Log,
    sink: Sink,
}

#[derive(Debug)]
struct Log {
    waiting: ByToken<Record>,
    ring: VecDeque<Record>,
    sequence: u64,
    now: Duration,
    lost: u64,
}

impl LoggedMedia {
    /// Records every request to `inner` and hands the records to `sink`.
    pub fn new(inner: Box<dyn Media>, sink: Sink) -> Self {
        Self {
            inner,
            sink,
            log: Log {
                waiting: ByToken::new(FLIGHTS_MAX),
                ring: VecDeque::with_capacity(RECORDS_MAX),
                sequence: 0,
                now: Duration::ZERO,
                lost: 0,
            },
        }
    }

    /// Records that found no room: the oldest in the ring gave way.
    pub fn lost(&self) -> u64 {
        self.log.lost
    }
}

impl Log {
    /// Notes the beginning of a request.
    fn begin(&mut self, request: &Request) -> Record {
        let record = Record {
            sequence: self.sequence,
            start: self.now,
            end: self.now,
            request: *request,
            status: None,
        };
        self.sequence += 1;
        record
    }

    /// Notes the end of a request.
    fn end(&mut self, record: Record, status: Option<Status>) {
        if self.ring.len() == RECORDS_MAX {
            self.ring.pop_front();
            self.lost += 1;
        }
        self.ring.push_back(Record {
            end: self.now,
            status,
            ..record
        });
    }
}

/// What the inner medium sees as its landing.
struct Watch<'w> {
    log: &'w mut Log,
    landing: &'w mut dyn Landing,
}

impl Landing for Watch<'_> {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        self.landing.blocks(token, blocks)
    }

    fn answer(&mut self, token: Token, status: Status) {
        if let Some(record) = self.log.waiting.take(token) {
            self.log.end(record, Some(status));
        }
        self.landing.answer(token, status);
    }
}

impl Media for LoggedMedia {
    fn block_size(&self) -> BlockSize {
        self.inner.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.inner.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let record = self.log.begin(request);
        let progress = self.inner.start(token, request, data);
        match progress {
            Progress::Done(status) => self.log.end(record, Some(status)),
            Progress::Later => {
                self.log.lost += u64::from(!self.log.waiting.push(token, record));
            }
        }
        progress
    }

    fn set_time(&mut self, now: Duration) {
        self.log.now = now;
        if !self.inner.is_instant() {
            self.inner.set_time(now);
        }
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        self.log.now = now;
        if !self.inner.is_instant() {
            let log = &mut self.log;
            self.inner.poll(now, &mut Watch { log, landing });
        }
        self.log
            .ring
            .drain(..)
            .for_each(|record| (self.sink)(&record));
    }

    fn hurry(&mut self, token: Token) {
        self.inner.hurry(token);
    }

    fn set_write_cache(&mut self, enabled: bool) {
        self.inner.set_write_cache(enabled);
    }

    fn moves_data(&self) -> bool {
        self.inner.moves_data()
    }

    fn counts(&self) -> MediaCounts {
        self.inner.counts()
    }
}

/// The sink gets what is left: records in the ring, and the requests that were never answered.
impl Drop for LoggedMedia {
    fn drop(&mut self) {
        self.log
            .ring
            .drain(..)
            .for_each(|record| (self.sink)(&record));
        let end = self.log.now;
        for record in self.log.waiting.values() {
            (self.sink)(&Record { end, ..*record });
        }
    }
}

impl fmt::Debug for LoggedMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggedMedia")
            .field("inner", &self.inner)
            .field("requests", &self.log.sequence)
            .finish_non_exhaustive()
    }
}

/// What became of a request, as one line of `key=value` for people and grep.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| (time.as_secs(), time.subsec_nanos());
        let (start, end) = (seconds(self.start), seconds(self.end));
        write!(
            f,
            "seq={} start={}.{:09} end={}.{:09} op={} lba={} blocks={} fua={} status=",
            self.sequence,
            start.0,
            start.1,
            end.0,
            end.1,
            crate::names::operation(self.request.op),
            self.request.at,
            self.request.count,
            u8::from(self.request.fua),
        )?;
        match self.status {
            Some(Status::SUCCESS) => f.write_str("ok"),
            Some(status) => write!(
                f,
                "{} sct={} sc={:#04x}",
                crate::names::StatusName(status),
                status.sct(),
                status.sc()
            ),
            None => f.write_str("none"),
        }
    }
}
