//! A trace of any format as one stream of I/Os.

use core::fmt;
use core::str::FromStr;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::blkparse::Blkparse;
use super::blktrace::{self, Blktrace};
use super::input::Input;
use super::iolog::{self, Iolog};
use super::{Op, Place, limits};
use crate::workload::InvalidJob;

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// The file as a whole.
    File,
    /// This line, from one.
    Line(u64),
    /// This byte, from zero.
    Byte(u64),
}

/// A trace that cannot be read: where, what was found, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{place}: found {found}; allowed: {allowed}")]
pub struct TraceError {
    /// The file's name.
    pub file: String,
    /// Where in it.
    pub place: Where,
    /// What was found.
    pub found: String,
    /// What would have been right.
    pub allowed: String,
    /// Whether the file could not be read at all, whatever stands in it.
    pub unreadable: bool,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, " line {line}"),
            Self::Byte(byte) => write!(f, " byte {byte}"),
        }
    }
}

/// One file of a trace.
pub struct Source {
    /// What errors call it.
    pub name: String,
    /// Its bytes from the first on.
    pub reader: Box<dyn Read + Send>,
}

impl Source {
    /// A file with its name.
    pub fn new(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.into(),
            reader: Box::new(reader),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.name).finish()
    }
}

/// Which events of a block trace count as its I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Q: what file systems and programs asked of the block layer, before it merged and split. What fio replays too.
    #[default]
    Queue,
    /// D: what the block layer sent to the driver. Devices made of other devices (dm, md) have none.
    Issue,
}

impl Stage {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Issue => "issue",
        }
    }
}

impl FromStr for Stage {
    type Err = InvalidJob;

    fn from_str(text: &str) -> Result<Self, InvalidJob> {
        [Self::Queue, Self::Issue]
            .into_iter()
            .find(|stage| stage.name() == text)
            .ok_or_else(|| InvalidJob::new("events", text, "queue, issue"))
    }
}

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// fio's `--write_iolog`, version 2: no times but those of `wait`.
    #[serde(rename = "fio version 2 iolog")]
    Iolog2,
    /// fio's `--write_iolog`, version 3: a time stamp in microseconds on every line.
    #[serde(rename = "fio version 3 iolog")]
    Iolog3,
    /// The kernel's binary block trace, as `blktrace` writes one for each CPU and `blkparse -d` merges them.
    #[serde(rename = "blktrace")]
    Blktrace,
    /// The text that `blkparse` prints.
    #[serde(rename = "blkparse text")]
    Blkparse,
}

impl Format {
    /// The format's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iolog2 => iolog::HEADER_2,
            Self::Iolog3 => iolog::HEADER_3,
            Self::Blktrace => "blktrace",
            Self::Blkparse => "blkparse text",
        }
    }
}

/// What a trace holds besides the I/Os that are replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Records that are no I/O, or an I/O at another stage: files opened, merges, completions, messages.
    pub others: u64,
    /// Commands that programs sent to the drive themselves; a block trace does not say what they did.
    pub passthrough: u64,
    /// Reads, writes and discards of no bytes.
    pub empty: u64,
}

/// The files or devices that a trace names, each with a small number.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// The number of a name; `None` if there are [`limits::NAMES_MAX`] others.
    pub(super) fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        if self.names.len() == limits::NAMES_MAX {
            return None;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        Some(number)
    }
}

/// What the reader of one format does. Its times are those of the file, in nanoseconds from any origin.
pub(super) trait Parser: fmt::Debug + Send {
    /// The next I/O.
    fn next(&mut self, names: &mut Names, skipped: &mut Skipped) -> Result<Option<Op>, TraceError>;
}

/// A trace, read from its beginning to its end.
#[derive(Debug)]
pub struct Trace {
    parser: Box<dyn Parser>,
    format: Format,
    sources: Vec<String>,
    names: Names,
    skipped: Skipped,
    origin_ns: Option<u64>,
    last_ns: u64,
    out_of_order: u64,
    ended: bool,
}

impl Trace {
    /// Finds out the format of the first file and reads that. Only binary block traces may have more than one file: one
    /// for each CPU, merged by time.
    ///
    /// # Errors
    /// [`TraceError`] if the file cannot be read or is of no known format.
    pub fn read(sources: Vec<Source>, stage: Stage) -> Result<Self, TraceError> {
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        if sources.len() > limits::SOURCES_MAX {
            let allowed = format!("at most {} files in one set", limits::SOURCES_MAX);
            return Err(of_file(
                &names[0],
                format!("{} files", names.len()),
                &allowed,
            ));
        }
        let mut inputs: Vec<Input> = sources.into_iter().map(Input::new).collect();
        let Some(first) = inputs.first_mut() else {
            return Err(of_file("trace", "no file".to_owned(), "at least one"));
        };
        let format = sniff(first)?;
        let parser: Box<dyn Parser> = match format {
            Format::Blktrace => Box::new(Blktrace::new(inputs, stage)?),
            _ => {
                let mut inputs = inputs.into_iter();
                let (Some(first), None) = (inputs.next(), inputs.next()) else {
                    let allowed = "one file; only blktrace writes a set of them";
                    return Err(of_file(&names[0], format.name().to_owned(), allowed));
                };
                match format {
                    Format::Blkparse => Box::new(Blkparse::new(first, stage)),
                    _ => Box::new(Iolog::new(first, format == Format::Iolog3)?),
                }
            }
        };
        Ok(Self {
            parser,
            format,
            sources: names,
            names: Names::default(),
            skipped: Skipped::default(),
            origin_ns: None,
            last_ns: 0,
            out_of_order: 0,
            ended: false,
        })
    }

    /// Opens a trace by path: that file, or where there is none of that name, `PATH.blktrace.0`, `PATH.blktrace.1` and so
    /// on, as many as there are.
    ///
    /// # Errors
    /// As [`read`](Self::read), or if there is no such file.
    pub fn open(path: &Path, stage: Stage) -> Result<Self, TraceError> {
        let mut sources = Vec::new();
        for path in files(path)? {
            let name = path.display().to_string();
            match File::open(&path) {
                Ok(file) => sources.push(Source::new(name, file)),
                Err(error) => {
                    let allowed = "a file that can be read";
                    return Err(unreadable(of_file(&name, error.to_string(), allowed)));
                }
            }
        }
        Self::read(sources, stage)
    }

    /// The next I/O, in the order of the trace; `None` at its end, and from an error on.
    ///
    /// # Errors
    /// [`TraceError`] where the trace is not what its format allows.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream that ends with its first error is no plain iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Op>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let found = self.parser.next(&mut self.names, &mut self.skipped);
        let Ok(Some(mut op)) = found else {
            self.ended = true;
            return found;
        };
        if let Some(at) = op.at_ns {
            let origin = *self.origin_ns.get_or_insert(at);
            let since = at.saturating_sub(origin);
            if at < origin || since < self.last_ns {
                self.out_of_order += 1;
            }
            self.last_ns = self.last_ns.max(since);
            op.at_ns = Some(self.last_ns);
        }
        Ok(Some(op))
    }

    /// What it was found to be.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The files that it is read from.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// The files or devices named by the I/Os so far, in order of appearance.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names.names
    }

    /// What was passed over so far.
    #[must_use]
    pub const fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// I/Os so far with a time before that of one that stands in front of them; they count as of that one's time.
    #[must_use]
    pub const fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// A place in words: the file and the line or byte.
    #[must_use]
    pub fn describe(&self, place: Place) -> String {
        describe(&self.sources, self.format, place)
    }
}

/// A place in words, for a trace of these files and this format.
#[must_use]
pub fn describe(sources: &[String], format: Format, place: Place) -> String {
    let file = sources
        .get(usize::from(place.source))
        .map_or("trace", String::as_str);
    let place = match format {
        Format::Blktrace => Where::Byte(place.at),
        _ => Where::Line(place.at),
    };
    format!("{file}{place}")
}

fn of_file(file: &str, found: String, allowed: &str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        place: Where::File,
        found,
        allowed: allowed.to_owned(),
        unreadable: false,
    }
}

/// The same error, because of the machine and not of what the file holds.
pub(super) fn unreadable(error: TraceError) -> TraceError {
    TraceError {
        unreadable: true,
        ..error
    }
}

/// Bytes of a file that tell its format: the first line of a log, or the blanks and the device of an event in text.
const SNIFFED_BYTES: usize = 64;

/// The format of a file by its beginning.
fn sniff(input: &mut Input) -> Result<Format, TraceError> {
    const ALLOWED: &str = "\"fio version 2 iolog\" or \"fio version 3 iolog\" as the first line, a binary trace of \
                           blktrace (version 7), or the text that blkparse prints";
    // No more than this is looked at, however much happens to be there.
    let bytes = input.peek(SNIFFED_BYTES)?;
    let bytes = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if bytes.starts_with(iolog::HEADER_2.as_bytes()) {
        return Ok(Format::Iolog2);
    }
    if bytes.starts_with(iolog::HEADER_3.as_bytes()) {
        return Ok(Format::Iolog3);
    }
    if blktrace::is_magic(bytes) {
        return Ok(Format::Blktrace);
    }
    let text = bytes.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && text.get(digits) == Some(&b',') {
        return Ok(Format::Blkparse);
    }
    let found = match bytes {
        [] => "an empty file".to_owned(),
        bytes => {
            let shown = &bytes[..bytes.len().min(iolog::HEADER_2.len())];
            format!("{:?} at its beginning", String::from_utf8_lossy(shown))
        }
    };
    Err(input.error(Where::File, found, ALLOWED))
}

/// The files that a path means.
fn files(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let of_cpu = |cpu: usize| {
        let mut name = OsString::from(path);
        name.push(format!(".blktrace.{cpu}"));
        PathBuf::from(name)
    };
    // A CPU that was offline has no file, so gaps are looked over.
    let set: Vec<PathBuf> = (0..limits::SOURCES_MAX)
        .map(of_cpu)
        .filter(|path| path.exists())
        .collect();
    if set.is_empty() {
        let allowed = "a trace, or the common name of NAME.blktrace.0, NAME.blktrace.1 and so on";
        let name = path.display().to_string();
        return Err(unreadable(of_file(
            &name,
            "no such file".to_owned(),
            allowed,
        )));
    }
    Ok(set)
}
