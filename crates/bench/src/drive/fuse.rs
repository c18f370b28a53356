//! The FUSE door beside a file system on the same crate that does nothing.

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

pub(super) fn bars(
    effort: Effort,
    setup: &Setup,
    progress: &mut dyn FnMut(&str),
    bars: &mut Vec<Bar>,
) {
    for case in &CASES {
        progress(case.name);
        let samples = match (&setup.door, &setup.ceiling) {
            (Ok(door), Ok(ceiling)) => compare(effort, case, door, ceiling),
            (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
        };
        bars.push(Bar::judge(case.name, "x", case.bar, false, samples));
    }
}

/// Ours by theirs, in turns; the order of a pair changes from repeat to repeat.
fn compare(effort: Effort, case: &Case, door: &Path, ceiling: &Path) -> Result<Samples, String> {
    let seconds = effort.window.as_secs_f64() * 15.0;
    let run = |file: &Path| random_reads(file, seconds, case.arguments).map(|o| (case.figure)(&o));
    let (mut ours, mut theirs, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for repeat in 0..effort.repeats {
        let (mine, other) = if repeat % 2 == 0 {
            let mine = run(door)?;
            (mine, run(ceiling)?)
        } else {
            let other = run(ceiling)?;
            (run(door)?, other)
        };
        values.push(mine / other);
        ours.push(mine);
        theirs.push(other);
    }
    let middle = |rates: &[f64]| median(rates).unwrap_or_default();
    Ok(Samples {
        values,
        discarded: 0,
        detail: format!(
            "{:.1} / {:.1} {}; {seconds:.1} s each",
            middle(&ours),
            middle(&theirs),
            case.unit
        ),
    })
}
