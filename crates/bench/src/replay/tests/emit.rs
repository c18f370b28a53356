//! Writers of every format, as the tools write them.

use super::super::{Kind, Op, Place};

/// An I/O; `at_us` microseconds after the trace's beginning.
pub(super) fn op(kind: Kind, offset: u64, bytes: u64, at_us: u64) -> Op {
    Op {
        kind,
        fua: false,
        barrier: false,
        file: 0,
        offset,
        bytes,
        at_ns: Some(at_us * 1000),
        place: Place::default(),
    }
}

fn action(kind: Kind, datasync: bool) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Flush if datasync => "datasync",
        Kind::Flush => "sync",
        Kind::Discard => "trim",
    }
}

/// fio's log of some I/Os; version 2 has a `wait` in front of each that is later than the one before.
pub(super) fn iolog(version: u32, ops: &[Op]) -> String {
    let mut text = format!("fio version {version} iolog\n");
    let stamp = |us: u64| match version {
        3 => format!("{us} "),
        _ => String::new(),
    };
    for file in 0..=ops.iter().map(|op| op.file).max().unwrap_or(0) {
        text += &format!("{0}/dev/f{file} add\n{0}/dev/f{file} open\n", stamp(0));
    }
    let mut last = 0;
    for op in ops {
        let us = op.at_ns.unwrap_or(0) / 1000;
        if version == 2 && (us > last || op == &ops[0]) {
            text += &format!("/dev/f{} wait {} 0\n", op.file, us - last);
            last = us;
        }
        let act = action(op.kind, us % 2 == 1);
        text += &format!(
            "{}/dev/f{} {act} {} {}\n",
            stamp(us),
            op.file,
            op.offset,
            op.bytes
        );
    }
    text + &format!("{}/dev/f0 close\n", stamp(last))
}

/// The parts of the action field [linux/blktrace_api.h].
pub(super) mod act {
    pub(in super::super) const QUEUE: u32 = 1;
    pub(in super::super) const ISSUE: u32 = 7;
    pub(in super::super) const COMPLETE: u32 = 8;
    pub(in super::super) const READ: u32 = 1 << 16;
    pub(in super::super) const WRITE: u32 = 1 << 17;
    pub(in super::super) const FLUSH: u32 = 1 << 18;
    pub(in super::super) const SYNC: u32 = 1 << 19;
    pub(in super::super) const OF_QUEUE: u32 = 1 << 20;
    pub(in super::super) const OF_ISSUE: u32 = 1 << 22;
    pub(in super::super) const OF_COMPLETE: u32 = 1 << 23;
    pub(in super::super) const FS: u32 = 1 << 24;
    pub(in super::super) const PASSTHROUGH: u32 = 1 << 25;
    pub(in super::super) const NOTIFY: u32 = 1 << 26;
    pub(in super::super) const DISCARD: u32 = 1 << 29;
    pub(in super::super) const FUA: u32 = 1 << 31;
}

/// A record of `struct blk_io_trace`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record<'p> {
    pub(super) time: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) action: u32,
    pub(super) device: u32,
    pub(super) cpu: u32,
    pub(super) sequence: u32,
    pub(super) payload: &'p [u8],
}

impl Record<'_> {
    pub(super) fn emit(&self, big_endian: bool, into: &mut Vec<u8>) {
        let Self {
            time,
            sector,
            bytes,
            action,
            device,
            cpu,
            sequence,
            payload,
        } = *self;
        let mut put = |value: u64, len: usize| {
            let all = value.to_be_bytes();
            let mut part = all[8 - len..].to_vec();
            if !big_endian {
                part.reverse();
            }
            into.extend(part);
        };
        const PROCESS: u64 = 4242;
        put(0x6561_7407, 4);
        put(sequence.into(), 4);
        put(time, 8);
        put(sector, 8);
        put(bytes.into(), 4);
        put(action.into(), 4);
        put(PROCESS, 4);
        put(device.into(), 4);
        put(cpu.into(), 4);
        put(0, 2);
        put(payload.len() as u64, 2);
        into.extend(payload);
    }
}

/// The action of an I/O.
pub(super) fn action_of(op: &Op, issue: bool) -> u32 {
    let kind = match op.kind {
        Kind::Read => act::READ,
        Kind::Write => act::WRITE | act::SYNC,
        Kind::Flush => act::WRITE | act::FLUSH | act::SYNC,
        Kind::Discard => act::WRITE | act::DISCARD,
    };
    let fua = if op.fua { act::FUA } else { 0 };
    let stage = if issue {
        act::ISSUE | act::OF_ISSUE
    } else {
        act::QUEUE | act::OF_QUEUE
    };
    kind | fua | stage | act::FS
}

/// Device 8,0.
pub(super) const SDA: u32 = 8 << 20;

/// Block traces of some I/Os, one for each CPU, dealt in turn, with the noise of a real one between them: the process's
/// name, completions, and whatever was issued.
pub(super) fn blktrace(ops: &[Op], cpus: usize, big_endian: bool) -> Vec<Vec<u8>> {
    let mut files = vec![Vec::new(); cpus];
    for (number, op) in ops.iter().enumerate() {
        let cpu = number % cpus;
        let file = &mut files[cpu];
        let queued = Record {
            time: op.at_ns.unwrap_or(0),
            sector: op.offset / 512,
            bytes: op.bytes as u32,
            action: action_of(op, false),
            device: SDA + op.file,
            cpu: cpu as u32,
            sequence: number as u32 * 4 + 1,
            payload: &[],
        };
        let named = Record {
            bytes: 0,
            sector: 0,
            action: act::NOTIFY,
            payload: b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0",
            sequence: queued.sequence + 3,
            ..queued
        };
        queued.emit(big_endian, file);
        let later = |time, action| Record {
            time,
            action,
            ..queued
        };
        let issued = Record {
            sequence: queued.sequence + 1,
            ..later(queued.time + 50, action_of(op, true))
        };
        issued.emit(big_endian, file);
        let over = action_of(op, true) & !(act::OF_ISSUE | 0xff) | act::COMPLETE | act::OF_COMPLETE;
        let completed = Record {
            sequence: queued.sequence + 2,
            ..later(queued.time + 90, over)
        };
        completed.emit(big_endian, file);
        named.emit(big_endian, file);
    }
    files
}
