//! fio's I/O logs, versions 2 and 3 [fio HOWTO, "Trace file format v2" and "v3"].
//!
//! Version 2 has no times; `wait` moves the clock on, by microseconds since the `wait` before, and what follows is due
//! then. Before the first `wait` nothing has a time. Version 3 begins every line with a time, which fio writes in
//! microseconds since the job's start.

use super::input::Input;
use super::trace::{Names, Parser, Skipped, TraceError, Where};
use super::{Kind, Op, Place, limits};

/// The first line of version 2.
pub const HEADER_2: &str = "fio version 2 iolog";
/// The first line of version 3.
pub const HEADER_3: &str = "fio version 3 iolog";

const ALLOWED_2: &str =
    "FILE add|open|close, FILE read|write|trim|sync|datasync OFFSET LENGTH, FILE wait MICROSECONDS";
const ALLOWED_3: &str = "TIME FILE add|open|close, TIME FILE read|write|trim|sync|datasync OFFSET LENGTH (TIME in microseconds)";

#[derive(Debug)]
pub(super) struct Iolog {
    input: Input,
    timed: bool,
    /// Sum of the waits so far, in microseconds; absent before the first.
    waited_us: Option<u64>,
}

/// The words of one line.
struct Line<'t> {
    time: Option<&'t str>,
    file: &'t str,
    action: &'t str,
    offset: Option<&'t str>,
    length: Option<&'t str>,
}

impl Iolog {
    /// A log whose first line says so.
    pub(super) fn new(mut input: Input, timed: bool) -> Result<Self, TraceError> {
        let header = if timed { HEADER_3 } else { HEADER_2 };
        let first = input
            .line()?
            .unwrap_or_default()
            .trim_ascii_end()
            .to_owned();
        if first != header {
            return Err(input.line_error(format!("{first:?}"), &format!("{header:?}")));
        }
        Ok(Self {
            input,
            timed,
            waited_us: None,
        })
    }
}

/// What a line says.
enum Said {
    /// An I/O; its file is still to be numbered.
    Io(Op),
    Wait(u64),
    Nothing,
    Empty,
}

fn words(line: &str, timed: bool) -> Option<Line<'_>> {
    let mut words = line.split_ascii_whitespace();
    let time = if timed { Some(words.next()?) } else { None };
    let line = Line {
        time,
        file: words.next()?,
        action: words.next()?,
        offset: words.next(),
        length: words.next(),
    };
    words.next().is_none().then_some(line)
}

/// Reads a line that is not blank; `Err` says what is wrong with it.
fn said(line: &Line<'_>) -> Result<Said, String> {
    let number = |what: &str, text: Option<&str>| match text {
        None => Err(format!("no {what}")),
        Some(text) => text
            .parse::<u64>()
            .map_err(|_| format!("{text:?} as the {what}")),
    };
    let at_ns = match line.time {
        None => None,
        Some(_) => {
            let us = number("time", line.time)?;
            let ns = us.checked_mul(1000);
            Some(ns.ok_or_else(|| {
                format!("a time of {us} us, which 64 bits of nanoseconds do not hold")
            })?)
        }
    };
    let kind = match line.action {
        "read" => Kind::Read,
        "write" => Kind::Write,
        "trim" => Kind::Discard,
        "sync" | "datasync" => Kind::Flush,
        "wait" if line.time.is_some() => {
            return Err("wait, which version 3 does not have".to_owned());
        }
        "wait" => return Ok(Said::Wait(number("time to wait", line.offset)?)),
        "add" | "open" | "close" => {
            return match line.offset {
                None => Ok(Said::Nothing),
                Some(word) => Err(format!("{word:?} after {}", line.action)),
            };
        }
        other => return Err(format!("the action {other:?}")),
    };
    let (offset, bytes) = (
        number("offset", line.offset)?,
        number("length", line.length)?,
    );
    let (offset, bytes) = match kind {
        Kind::Flush => (0, 0),
        _ if bytes == 0 => return Ok(Said::Empty),
        _ if bytes > limits::OP_BYTES_MAX => return Err(format!("a length of {bytes} bytes")),
        _ if offset.checked_add(bytes).is_none() => {
            return Err(format!("an end beyond 64 bits: {offset} + {bytes}"));
        }
        _ => (offset, bytes),
    };
    Ok(Said::Io(Op {
        kind,
        fua: false,
        barrier: kind == Kind::Flush,
        file: 0,
        offset,
        bytes,
        at_ns,
        place: Place::default(),
    }))
}

impl Parser for Iolog {
    fn next(&mut self, names: &mut Names, skipped: &mut Skipped) -> Result<Option<Op>, TraceError> {
        let allowed = if self.timed { ALLOWED_3 } else { ALLOWED_2 };
        loop {
            let Some(text) = self.input.line()? else {
                return Ok(None);
            };
            if text.trim_ascii().is_empty() {
                continue;
            }
            let result = match words(text, self.timed) {
                None => Err(format!("{:?}", text.trim_ascii())),
                Some(line) => said(&line).map(|said| match said {
                    Said::Io(_) => (said, names.number(line.file)),
                    said => (said, None),
                }),
            };
            match result {
                Err(found) => return Err(self.input.line_error(found, allowed)),
                Ok((Said::Nothing, _)) => skipped.others += 1,
                Ok((Said::Empty, _)) => skipped.empty += 1,
                Ok((Said::Wait(us), _)) => {
                    skipped.others += 1;
                    let sum = self.waited_us.unwrap_or(0).saturating_add(us);
                    // Three hundred thousand years have no more nanoseconds.
                    self.waited_us = Some(sum.min(u64::MAX / 1000));
                }
                Ok((Said::Io(op), Some(file))) => {
                    let at_ns = if self.timed {
                        op.at_ns
                    } else {
                        self.waited_us.map(|us| us * 1000)
                    };
                    let at = self.input.lines();
                    let place = Place { source: 0, at };
                    return Ok(Some(Op {
                        file,
                        at_ns,
                        place,
                        ..op
                    }));
                }
                Ok((Said::Io(_), None)) => {
                    let found = "one more file name".to_owned();
                    let most = limits::NAMES_MAX;
                    let place = Where::Line(self.input.lines());
                    let allowed = format!("at most {most} files in one trace");
                    return Err(self.input.error(place, found, &allowed));
                }
            }
        }
    }
}
