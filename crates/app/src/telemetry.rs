//! Counters that other programs read from two small files while a drive runs: docs/telemetry.md.
//!
//! Written by the thread that waits for the end, never by one that serves. A file that cannot be written is left alone, and the
//! drive runs without it.

mod file;
mod page;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::io;
use std::path::Path;

use tracing::warn;

use crate::clock;
use crate::lab::TelemetrySection;
use file::Target;
use page::{Rates, State, Update};

pub(crate) use page::Counts;

/// Where readers of the first dataplane-emu look.
const V1_PATH: &str = "/tmp/dataplane_telemetry.bin";

/// Where everybody else looks.
const V2_PATH: &str = "/dev/shm/dataplane_telemetry";

/// How often the files are written.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// The two files, as far as they can be written.
#[derive(Debug)]
pub(crate) struct Telemetry {
    v1: Option<Target>,
    v2: Option<Target>,
    started_ns: u64,
    /// When the last update was made, by the program's clock, and what it said.
    last: (Duration, Counts),
}

impl Telemetry {
    /// Opens the files, or says in the log why one of them is left alone, and writes them for the first time.
    pub(crate) fn start(wanted: &TelemetrySection) -> Self {
        let [v1, v2] = paths(wanted);
        let mut telemetry = Self {
            v1: open(v1, page::V1_BYTES),
            v2: open(v2, page::V2_BYTES),
            started_ns: clock::nanoseconds_since_1970(),
            last: (clock::now(), Counts::default()),
        };
        // The whole page this once; what is behind its used part stays zero.
        telemetry.write(
            State::Running,
            &Counts::default(),
            Rates::default(),
            page::V2_BYTES,
        );
        telemetry
    }

    /// Whether nobody can read anything.
    pub(crate) const fn is_off(&self) -> bool {
        self.v1.is_none() && self.v2.is_none()
    }

    /// Writes the files with what was counted by now.
    pub(crate) fn update(&mut self, counts: &Counts) {
        let now = clock::now();
        let (then, before) = self.last;
        let rates = Rates::between(&before, counts, now.saturating_sub(then));
        self.last = (now, *counts);
        self.write(State::Running, counts, rates, page::V2_USED);
    }

    /// Writes the files for the last time.
    pub(crate) fn finish(mut self, counts: &Counts) {
        self.write(State::Ended, counts, Rates::default(), page::V2_USED);
    }

    fn write(&mut self, state: State, counts: &Counts, rates: Rates, len: usize) {
        let update = Update {
            state,
            counts: *counts,
            rates,
            started_ns: self.started_ns,
            now_ns: clock::nanoseconds_since_1970(),
        };
        let page = page::v2(&update);
        keep_while(&mut self.v2, |target| {
            target.write_in_sequence(&page[..len])
        });
        keep_while(&mut self.v1, |target| {
            target.number = target.number.wrapping_add(1);
            target.write(0, &page::v1(&update, target.number))
        });
    }
}

/// Where the files of the two versions are; `none` is no file.
pub(crate) fn paths(wanted: &TelemetrySection) -> [Option<&Path>; 2] {
    let named = [(&wanted.v1, V1_PATH), (&wanted.v2, V2_PATH)];
    named.map(|(wanted, own)| {
        let path = wanted.as_deref().unwrap_or(Path::new(own));
        (path.as_os_str() != crate::lab::NO_TELEMETRY).then_some(path)
    })
}

/// Looks at the files, changing nothing: for each, why it would be left alone.
pub(crate) fn look(wanted: &TelemetrySection) -> [Option<String>; 2] {
    let [v1, v2] = paths(wanted);
    [(v1, page::V1_BYTES), (v2, page::V2_BYTES)].map(|(path, bytes)| {
        let path = path?;
        let error = file::look(path, bytes).err()?;
        Some(format!("{}: {error}", path.display()))
    })
}

/// Opens one of the files.
fn open(path: Option<&Path>, bytes: usize) -> Option<Target> {
    let path = path?;
    match Target::open(path, bytes) {
        Ok(target) => Some(target),
        Err(error) => {
            warn!(
                "{}: no telemetry here: {error}; name another file, or none",
                path.display()
            );
            None
        }
    }
}

/// Gives a file up, with one line in the log, when it cannot be written.
fn keep_while(target: &mut Option<Target>, write: impl FnOnce(&mut Target) -> io::Result<()>) {
    if let Some(open) = target
        && let Err(error) = write(open)
    {
        warn!("{}: the telemetry ends here: {error}", open.path.display());
        *target = None;
    }
}
