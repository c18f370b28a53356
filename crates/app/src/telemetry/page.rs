//! What stands where: the two layouts of docs/telemetry.md.

use core::time::Duration;

use controller::Counters;
use media::MediaCounts;

/// Bytes of version 1.
pub(super) const V1_BYTES: usize = 64;

/// Bytes of version 2.
pub(super) const V2_BYTES: usize = 4096;

/// Bytes of version 2 that say something.
pub(super) const V2_USED: usize = 256;

/// What version 2 is known by.
pub(super) const V2_MAGIC: [u8; 8] = *b"DPE-TELE";

/// Ticks per second of the clock of latencies. It counts nanoseconds.
const CLOCK_HZ: u64 = 1_000_000_000;

/// Totals since the writer started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) errors: u64,
    pub(crate) unwritten_reads: u64,
}

impl Counts {
    /// What a controller and its media counted.
    pub(crate) const fn of(controller: &Counters, media: &MediaCounts) -> Self {
        Self {
            reads: controller.reads,
            writes: controller.writes,
            flushes: controller.flushes,
            read_bytes: controller.read_bytes,
            written_bytes: controller.written_bytes,
            errors: controller.refused,
            unwritten_reads: media.unwritten_reads,
        }
    }
}

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) iops: u64,
    pub(super) interval_ns: u64,
}

impl Rates {
    /// What happened between two looks at the counters.
    pub(super) fn between(before: &Counts, after: &Counts, interval: Duration) -> Self {
        let done = |counts: &Counts| counts.reads.wrapping_add(counts.writes);
        let count = done(after).wrapping_sub(done(before));
        let interval_ns = interval.as_nanos() as u64;
        let per_second = u128::from(count) * 1_000_000_000 / u128::from(interval_ns.max(1));
        Self {
            iops: u64::try_from(per_second).unwrap_or(u64::MAX),
            interval_ns,
        }
    }
}

/// Whether the writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Ended,
}

/// Everything that one update says. Latencies are not among it: no request of a served drive is timed, so their fields and the
/// number of samples are zero; so are the fields about copies that were saved, as every path copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub(super) state: State,
    pub(super) counts: Counts,
    pub(super) rates: Rates,
    pub(super) started_ns: u64,
    pub(super) now_ns: u64,
}

/// Version 1.
pub(super) fn v1(update: &Update, updates: u64) -> [u8; V1_BYTES] {
    let mut page = [0; V1_BYTES];
    put(&mut page, 0, &updates.to_le_bytes());
    put(&mut page, 8, &update.counts.reads.to_le_bytes());
    put(&mut page, 16, &update.counts.writes.to_le_bytes());
    put(&mut page, 40, &[u8::from(update.state == State::Running)]);
    page
}

/// Version 2, without its sequence.
pub(super) fn v2(update: &Update) -> [u8; V2_BYTES] {
    let mut page = [0; V2_BYTES];
    let state: u32 = match update.state {
        State::Running => 1,
        State::Ended => 2,
    };
    put(&mut page, 32, &V2_MAGIC);
    let short = [
        (40, 2),
        (44, V2_USED as u32),
        (48, std::process::id()),
        (52, state),
    ];
    for (at, value) in short {
        put(&mut page, at, &value.to_le_bytes());
    }
    let counts = &update.counts;
    let long = [
        (8, update.rates.iops),
        (56, update.started_ns),
        (64, update.now_ns),
        (72, CLOCK_HZ),
        (128, counts.reads),
        (136, counts.writes),
        (144, counts.flushes),
        (152, counts.read_bytes),
        (160, counts.written_bytes),
        (168, counts.errors),
        (176, counts.unwritten_reads),
        (192, update.rates.interval_ns),
    ];
    for (at, value) in long {
        put(&mut page, at, &value.to_le_bytes());
    }
    page
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}
