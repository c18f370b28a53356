//! The FUSE door beside a file system on the same crate that does nothing.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use super::Setup;
use super::fio::{Outcome, random_reads};
use crate::bars::{Bar, Effort, Samples, Sense};
use crate::stats::median;

/// A comparison: its name, fio's arguments, the bar, and the figure.
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
    bar: (Sense, f64),
    figure: fn(&Outcome) -> f64,
    unit: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        name: "FUSE 4 KiB direct, psync, QD 1: latency / null file system",
        arguments: &["--ioengine=psync"],
        bar: (Sense::AtMost, 1.15),
        figure: |outcome| outcome.mean_us,
        unit: "us",
    },
    Case {
        name: "FUSE 4 KiB direct, libaio, QD 32, 4 jobs: IOPS / null file system",
        arguments: &[
            "--ioengine=libaio",
            "--iodepth=32",
            "--numjobs=4",
            "--thread",
        ],
        bar: (Sense::AtLeast, 0.85),
        figure: |outcome| outcome.iops,
        unit: "IOPS",
    },
];

/// A sample of fio's is this many windows long: it starts threads and warms up.
const SECONDS_PER_WINDOW: f64 = 10.0;

pub(super) fn bars(
    effort: Effort,
    setup: &Setup,
    progress: &mut dyn FnMut(&str),
    bars: &mut Vec<Bar>,
) {
    let files = all_three(setup);
    for case in &CASES {
        progress(case.name);
        let samples = match &files {
            Ok(files) => compare(effort, case, *files),
            Err(reason) => Err(reason.clone()),
        };
        bars.push(Bar::judge(case.name, "x", case.bar, false, samples));
    }
}

/// The files to compare: ours, whose every block is written first, so that reads fetch memory and not the system's page of
/// zeroes; that of the file system which does nothing; and that of the one which copies.
fn all_three(setup: &Setup) -> Result<[&Path; 3], String> {
    let [door, ceiling, copying] = [&setup.door, &setup.ceiling, &setup.copying]
        .map(|file| file.as_deref().map_err(Clone::clone));
    let files = [door?, ceiling?, copying?];
    write_all(files[0]).map_err(|error| format!("{}: {error}", files[0].display()))?;
    Ok(files)
}

/// Writes every byte of a file.
fn write_all(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let bytes = vec![0x5a; 1 << 20];
    let mut left = file.metadata()?.len();
    while left > 0 {
        let now = left.min(bytes.len() as u64);
        file.write_all(&bytes[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// Ours by the one that does nothing, in turns with the one that copies; the order changes from repeat to repeat.
fn compare(effort: Effort, case: &Case, files: [&Path; 3]) -> Result<Samples, String> {
    let seconds = effort.window.as_secs_f64() * SECONDS_PER_WINDOW;
    let mut rounds = [const { Vec::new() }; 3];
    for repeat in 0..effort.repeats {
        for turn in 0..files.len() {
            let which = (repeat + turn) % files.len();
            let outcome = random_reads(files[which], seconds, case.arguments)?;
            rounds[which].push((case.figure)(&outcome));
        }
    }
    let [ours, nothing, copying] = rounds;
    let by_nothing = |figures: &[f64]| -> Vec<f64> {
        let pairs = figures.iter().zip(&nothing);
        pairs.map(|(figure, nothing)| figure / nothing).collect()
    };
    let middle = |figures: &[f64]| median(figures).unwrap_or_default();
    let detail = format!(
        "{:.1} / {:.1} {unit}; one that only copies: {:.1} {unit}, {:.2} x; {seconds:.1} s each",
        middle(&ours),
        middle(&nothing),
        middle(&copying),
        middle(&by_nothing(&copying)),
        unit = case.unit
    );
    Ok(Samples {
        values: by_nothing(&ours),
        discarded: 0,
        detail,
    })
}
