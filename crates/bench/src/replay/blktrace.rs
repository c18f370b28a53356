//! The kernel's binary block trace [linux/blktrace_api.h, version 7]: one stream of records for each CPU, in the byte
//! order of the machine that wrote them.
//!
//! A record has 48 bytes and may be followed by a payload, which is passed over. The lower half of its action says what
//! happened (queued, issued, completed), the upper half to what kind of request.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::input::Input;
use super::trace::{Names, Parser, Skipped, Stage, TraceError, Where};
use super::{Kind, Op, Place, limits};

/// Bytes of a record without its payload.
pub const RECORD_BYTES: usize = 48;

/// The first word of every record: a magic number and, in the low byte, the version.
pub const MAGIC: u32 = 0x6561_7407;

/// Bytes of a sector, in which the kernel counts whatever the drive's blocks are.
pub const SECTOR_BYTES: u64 = 512;

/// Low byte of the action: what happened. The next bit only says that the payload names a cgroup.
const HAPPENED: u32 = 0xff;
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;

/// Upper half of the action: to what.
mod category {
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const FLUSH: u32 = 1 << 18;
    pub(super) const PASSTHROUGH: u32 = 1 << 25;
    pub(super) const NOTIFY: u32 = 1 << 26;
    pub(super) const DISCARD: u32 = 1 << 29;
    pub(super) const FUA: u32 = 1 << 31;
    pub(super) const READ: u32 = 1 << 16;
}

const ALLOWED_MAGIC: &str =
    "the magic number of blktrace, version 7, in the byte order of the file's first record";

/// Whether bytes begin with the magic number, in either byte order and of any version.
pub(super) fn is_magic(bytes: &[u8]) -> bool {
    let Some(&first) = bytes.first_chunk() else {
        return false;
    };
    let magic = |word: u32| word & 0xffff_ff00 == MAGIC & 0xffff_ff00;
    magic(u32::from_le_bytes(first)) || magic(u32::from_be_bytes(first))
}

/// The fields of a record that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    magic: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    payload: u16,
}

impl Record {
    fn parse(raw: &[u8; RECORD_BYTES], big_endian: bool) -> Self {
        let half = |at: usize| {
            let bytes = [raw[at], raw[at + 1]];
            if big_endian {
                u16::from_be_bytes(bytes)
            } else {
                u16::from_le_bytes(bytes)
            }
        };
        let word = |at: usize| {
            let (first, second) = (u32::from(half(at)), u32::from(half(at + 2)));
            if big_endian {
                first << 16 | second
            } else {
                second << 16 | first
            }
        };
        let double = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if big_endian {
                first << 32 | second
            } else {
                second << 32 | first
            }
        };
        Self {
            magic: word(0),
            time: double(8),
            sector: double(16),
            bytes: word(24),
            action: word(28),
            device: word(36),
            payload: half(46),
        }
    }
}

/// What is queued of one CPU's stream: the I/Os of the record that comes next, a flush and what follows it at most.
type Head = VecDeque<(Op, u32)>;

/// One CPU's stream.
#[derive(Debug)]
struct Stream {
    input: Input,
    source: u16,
    big_endian: bool,
}

impl Stream {
    fn new(mut input: Input, source: u16) -> Result<Self, TraceError> {
        // An empty file is a CPU on which nothing happened.
        let big_endian = match input.peek(4)?.first_chunk() {
            Some(&first) => u32::from_be_bytes(first) & 0xffff_ff00 == MAGIC & 0xffff_ff00,
            None => false,
        };
        Ok(Self {
            input,
            source,
            big_endian,
        })
    }

    /// Reads on to a record with an I/O at a stage; `false` at the end of the file.
    fn advance(
        &mut self,
        stage: Stage,
        head: &mut Head,
        skipped: &mut Skipped,
    ) -> Result<bool, TraceError> {
        while head.is_empty() {
            let at = self.input.passed();
            let found = self.input.peek(RECORD_BYTES)?;
            if found.is_empty() {
                return Ok(false);
            }
            let count = found.len();
            let Some(raw) = found.first_chunk() else {
                return Err(self.torn(at, count));
            };
            let record = Record::parse(raw, self.big_endian);
            if record.magic != MAGIC {
                let found = format!("{:#010x}", record.magic);
                return Err(self.input.error(Where::Byte(at), found, ALLOWED_MAGIC));
            }
            self.input.take(RECORD_BYTES);
            let payload = usize::from(record.payload);
            let had = self.input.skip(payload)?;
            if had < payload {
                return Err(self.torn(at, RECORD_BYTES + had));
            }
            let place = Place {
                source: self.source,
                at,
            };
            if let Err(found) = ios(&record, stage, place, head, skipped) {
                let allowed = "sectors whose bytes 64 bits can count";
                return Err(self.input.error(Where::Byte(at), found, allowed));
            }
        }
        Ok(true)
    }

    /// The file ends inside a record.
    fn torn(&self, at: u64, count: usize) -> TraceError {
        let name = self.input.name();
        self.input.error(
            Where::Byte(at),
            format!("the end of the file {count} bytes into a record"),
            &format!("whole records; truncate -s {at} {name} cuts the torn one off"),
        )
    }
}

/// Adds what a record asks of the device to `head`: nothing, an I/O, or a flush and a write after it.
fn ios(
    record: &Record,
    stage: Stage,
    place: Place,
    head: &mut Head,
    skipped: &mut Skipped,
) -> Result<(), String> {
    let has = |category: u32| record.action & category != 0;
    let wanted = match stage {
        Stage::Queue => QUEUED,
        Stage::Issue => ISSUED,
    };
    if has(category::NOTIFY) || record.action & HAPPENED != wanted {
        skipped.others += 1;
        return Ok(());
    }
    if has(category::PASSTHROUGH) {
        skipped.passthrough += 1;
        return Ok(());
    }
    let flush = Op {
        kind: Kind::Flush,
        fua: false,
        barrier: false,
        file: 0,
        offset: 0,
        bytes: 0,
        at_ns: Some(record.time),
        place,
    };
    if has(category::FLUSH) {
        head.push_back((flush, record.device));
    }
    let bytes = u64::from(record.bytes);
    if bytes == 0 {
        skipped.empty += u64::from(!has(category::FLUSH));
        return Ok(());
    }
    let kind = if has(category::DISCARD) {
        Kind::Discard
    } else if has(category::WRITE) {
        Kind::Write
    } else if has(category::READ) {
        Kind::Read
    } else {
        skipped.others += 1;
        return Ok(());
    };
    let offset = record.sector.checked_mul(SECTOR_BYTES);
    let offset = offset.filter(|offset| offset.checked_add(bytes).is_some());
    let offset = offset.ok_or_else(|| format!("{bytes} bytes from sector {} on", record.sector))?;
    head.push_back((
        Op {
            kind,
            fua: kind == Kind::Write && has(category::FUA),
            offset,
            bytes,
            ..flush
        },
        record.device,
    ));
    Ok(())
}

/// A set of streams, merged by time.
#[derive(Debug)]
pub(super) struct Blktrace {
    streams: Vec<(Stream, Head)>,
    /// The time and number of each stream that has something.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    stage: Stage,
    /// The stream that was taken from last and is not in `next` since.
    taken: Option<usize>,
    begun: bool,
    /// The device of the last I/O and its number, since most traces have one.
    last: Option<(u32, u32)>,
}

impl Blktrace {
    pub(super) fn new(inputs: Vec<Input>, stage: Stage) -> Result<Self, TraceError> {
        let mut streams = Vec::with_capacity(inputs.len());
        for (source, input) in (0..).zip(inputs) {
            streams.push((Stream::new(input, source)?, Head::new()));
        }
        Ok(Self {
            next: BinaryHeap::with_capacity(streams.len()),
            streams,
            stage,
            taken: None,
            begun: false,
            last: None,
        })
    }

    /// Makes a stream's next I/O known.
    fn line_up(&mut self, number: usize, skipped: &mut Skipped) -> Result<(), TraceError> {
        let (stream, head) = &mut self.streams[number];
        if stream.advance(self.stage, head, skipped)?
            && let Some((op, _)) = head.front()
        {
            self.next.push(Reverse((op.at_ns.unwrap_or(0), number)));
        }
        Ok(())
    }
}

impl Parser for Blktrace {
    fn next(&mut self, names: &mut Names, skipped: &mut Skipped) -> Result<Option<Op>, TraceError> {
        if !self.begun {
            self.begun = true;
            for number in 0..self.streams.len() {
                self.line_up(number, skipped)?;
            }
        }
        if let Some(number) = self.taken.take() {
            self.line_up(number, skipped)?;
        }
        let Some(Reverse((_, number))) = self.next.pop() else {
            return Ok(None);
        };
        self.taken = Some(number);
        let (stream, head) = &mut self.streams[number];
        let Some((op, device)) = head.pop_front() else {
            return Ok(None);
        };
        let known = self.last.filter(|&(last, _)| last == device);
        let file = known
            .map(|(_, file)| file)
            .or_else(|| names.number(&device_name(device)));
        self.last = file.map(|file| (device, file));
        match file {
            Some(file) => Ok(Some(Op { file, ..op })),
            None => Err(stream.input.error(
                Where::Byte(op.place.at),
                "one more device".to_owned(),
                &format!("at most {} devices in one trace", limits::NAMES_MAX),
            )),
        }
    }
}

/// A device as `blkparse` prints it: major and minor number.
fn device_name(device: u32) -> String {
    const MINOR_BITS: u32 = 20;
    let minor = device & ((1 << MINOR_BITS) - 1);
    format!("{},{minor}", device >> MINOR_BITS)
}
