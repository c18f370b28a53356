//! The text that `blkparse` prints when it is not told otherwise: device, CPU, number, seconds, process, event, kind, and
//! for most `SECTOR + COUNT`. A summary follows, which is passed over.

use super::blktrace::SECTOR_BYTES;
use super::input::Input;
use super::trace::{Names, Parser, Skipped, Stage, TraceError};
use super::{Kind, Op, Place, limits};

const ALLOWED: &str = "MAJOR,MINOR CPU NUMBER SECONDS.NANOSECONDS PROCESS EVENT KIND SECTOR + COUNT [NAME], as blkparse prints by \
                       default, and its summary at the end";

#[derive(Debug)]
pub(super) struct Blkparse {
    input: Input,
    stage: Stage,
    /// Whether the summary has begun.
    summary: bool,
    /// The write of a line that asked for a flush in front of it.
    second: Option<Op>,
}

/// What one event asks of the device.
struct Asked<'t> {
    device: &'t str,
    flush: bool,
    io: Option<(Kind, bool, u64, u64)>,
    time_ns: u64,
}

impl Blkparse {
    pub(super) fn new(input: Input, stage: Stage) -> Self {
        Self {
            input,
            stage,
            summary: false,
            second: None,
        }
    }
}

/// Whether a word is a device: `8,0`.
fn is_device(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',')
        .is_some_and(|(major, minor)| digits(major) && digits(minor))
}

/// Seconds and nine digits of nanoseconds.
fn time_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.len() != 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction.parse().ok()?)
}

/// Reads the kind: `F` in front is a flush before the rest, `F` behind the letter of the kind means FUA.
fn kind_of(letters: &str) -> Option<(bool, Option<Kind>, bool)> {
    let (flush, rest) = match letters.strip_prefix('F') {
        Some(rest) => (true, rest),
        None => (false, letters),
    };
    let kind = match rest.bytes().next() {
        Some(b'R') => Some(Kind::Read),
        Some(b'W') => Some(Kind::Write),
        Some(b'D') => Some(Kind::Discard),
        Some(b'N') | None => None,
        Some(_) => return None,
    };
    let fua = kind == Some(Kind::Write) && rest.as_bytes().get(1) == Some(&b'F');
    Some((flush, kind, fua))
}

/// Reads an event; `Ok(None)` if it is not of the stage.
fn asked<'t>(
    line: &'t str,
    stage: Stage,
    skipped: &mut Skipped,
) -> Result<Option<Asked<'t>>, String> {
    let whole = || format!("{:?}", line.trim_ascii());
    let mut words = line.split_ascii_whitespace();
    let device = words.next().ok_or_else(whole)?;
    let time = words.nth(2).ok_or_else(whole)?;
    let event = words.nth(1).ok_or_else(whole)?;
    let time_ns = time_ns(time).ok_or_else(|| format!("{time:?} as the time"))?;
    let wanted = match stage {
        Stage::Queue => "Q",
        Stage::Issue => "D",
    };
    if event != wanted {
        skipped.others += 1;
        return Ok(None);
    }
    let letters = words.next().ok_or_else(whole)?;
    let (flush, kind, fua) = kind_of(letters).ok_or_else(|| format!("{letters:?} as the kind"))?;
    let (sector, plus, count) = (words.next(), words.next(), words.next());
    let io = match (sector, plus, count, kind) {
        (Some(sector), Some("+"), Some(count), Some(kind)) => {
            let number = |text: &str| text.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES);
            let range = number(sector).zip(number(count));
            let fits = |&(offset, bytes): &(u64, u64)| {
                bytes <= limits::OP_BYTES_MAX && offset.checked_add(bytes).is_some()
            };
            let (offset, bytes) = range
                .filter(fits)
                .ok_or_else(|| format!("\"{sector} + {count}\" as sectors"))?;
            Some((kind, fua, offset, bytes))
        }
        _ if flush => None,
        _ => {
            skipped.passthrough += 1;
            return Ok(None);
        }
    };
    let io = match io {
        Some((_, _, _, 0)) => {
            skipped.empty += u64::from(!flush);
            None
        }
        other => other,
    };
    Ok(Some(Asked {
        device,
        flush,
        io,
        time_ns,
    }))
}

impl Parser for Blkparse {
    fn next(&mut self, names: &mut Names, skipped: &mut Skipped) -> Result<Option<Op>, TraceError> {
        if let Some(op) = self.second.take() {
            return Ok(Some(op));
        }
        loop {
            let Some(line) = self.input.line()? else {
                return Ok(None);
            };
            let Some(first) = line.split_ascii_whitespace().next() else {
                continue;
            };
            if !is_device(first) {
                self.summary = true;
                skipped.others += 1;
                continue;
            }
            if self.summary {
                let found = "an event after the summary has begun".to_owned();
                return Err(self.input.line_error(found, ALLOWED));
            }
            let result = asked(line, self.stage, skipped);
            let (asked, file) = match result {
                Err(found) => return Err(self.input.line_error(found, ALLOWED)),
                Ok(None) => continue,
                Ok(Some(asked)) => {
                    let file = names.number(asked.device);
                    ((asked.flush, asked.io, asked.time_ns), file)
                }
            };
            let Some(file) = file else {
                let allowed = format!("at most {} devices in one trace", limits::NAMES_MAX);
                return Err(self
                    .input
                    .line_error("one more device".to_owned(), &allowed));
            };
            let (flush, io, time_ns) = asked;
            let at = self.input.lines();
            let bare = Op {
                kind: Kind::Flush,
                fua: false,
                barrier: false,
                file,
                offset: 0,
                bytes: 0,
                at_ns: Some(time_ns),
                place: Place { source: 0, at },
            };
            let io = io.map(|(kind, fua, offset, bytes)| Op {
                kind,
                fua,
                offset,
                bytes,
                ..bare
            });
            match (flush, io) {
                (false, None) => {}
                (false, Some(io)) => return Ok(Some(io)),
                (true, io) => {
                    self.second = io;
                    return Ok(Some(bare));
                }
            }
        }
    }
}
