//! A RAM device in process, one thread: beside copies over the same working set, and per core second.

use super::rig::{DEPTH_MAX, Kept, Rig};
use super::{Bar, Effort, Samples, Sense};
use crate::ceiling::copy::CopyLoop;
use crate::ceiling::placement;
use crate::clock::thread_cpu_seconds;
use crate::stats::median;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

pub(super) fn bars(effort: Effort, progress: &mut dyn FnMut(&str), bars: &mut Vec<Bar>) {
    if let Some(&cpu) = placement::allowed().first() {
        placement::pin(cpu);
    }
    for (block, share) in [(4096, 0.8), (512, 0.6)] {
        for set in [256 * KIB, 16 * MIB, 1024 * MIB] {
            let name = format!("RAM device, {block} B, QD 128, {} / memcpy", size(set));
            progress(&name);
            let samples = against_copies(effort, set, block);
            bars.push(Bar::judge(
                name,
                "x",
                (Sense::AtLeast, share),
                false,
                samples,
            ));
        }
    }
    for (depth, wanted) in [(1, 8.0), (DEPTH_MAX, 12.0)] {
        for set in [256 * KIB, 16 * MIB, 64 * MIB] {
            let name = format!(
                "RAM device, 512 B, QD {depth}, {}, per core second",
                size(set)
            );
            progress(&name);
            let samples = per_core_second(effort, set, depth);
            bars.push(Bar::judge(
                name,
                "M",
                (Sense::AtLeast, wanted),
                false,
                samples,
            ));
        }
    }
}

fn size(bytes: usize) -> String {
    if bytes >= 1024 * MIB {
        format!("{} GiB", bytes / (1024 * MIB))
    } else if bytes >= MIB {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{} KiB", bytes / KIB)
    }
}

/// Reads per second of the device by copies per second of the same blocks, in turns.
fn against_copies(effort: Effort, set: usize, block: usize) -> Result<Samples, String> {
    let mut rig = Rig::inline(Kept::Ram(set), block)?;
    let mut copies = CopyLoop::new(set, block, DEPTH_MAX, 7)?;
    rig.fill()?;
    let (mut reads, mut copied, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for repeat in 0..effort.repeats {
        let mut read = || rig.read_for(DEPTH_MAX, effort.window).per_second();
        let (ours, theirs) = if repeat % 2 == 0 {
            let ours = read();
            (ours, copies.run(effort.window))
        } else {
            let theirs = copies.run(effort.window);
            (read(), theirs)
        };
        reads.push(ours);
        copied.push(theirs);
        values.push(ours / theirs);
    }
    let million = |rates: &[f64]| median(rates).map_or(0.0, |rate| rate / 1e6);
    let detail = format!(
        "ours {:.2} M/s, memcpy {:.2} M/s",
        million(&reads),
        million(&copied)
    );
    Ok(Samples {
        values,
        discarded: 0,
        detail,
    })
}

/// Millions of reads per second of CPU time.
fn per_core_second(effort: Effort, set: usize, depth: usize) -> Result<Samples, String> {
    let mut rig = Rig::inline(Kept::Ram(set), 512)?;
    rig.fill()?;
    let mut copies = CopyLoop::new(set, 512, depth, 7)?;
    if depth == 1 {
        copies = copies.one_by_one();
    }
    let (mut values, mut copied, mut moved) = (Vec::new(), Vec::new(), 0);
    for _ in 0..effort.repeats {
        copied.push(copies.run(effort.window) / 1e6);
        let begin = thread_cpu_seconds();
        let rate = rig.read_for(depth, effort.window);
        values.push(rate.commands as f64 / (thread_cpu_seconds() - begin) / 1e6);
        moved += rate.commands * 512;
    }
    let how = if depth == 1 { "one by one " } else { "" };
    let detail = format!(
        "{:.1} GB moved, 1 core; copies {how}{:.2} M/s",
        moved as f64 / 1e9,
        median(&copied).unwrap_or_default()
    );
    Ok(Samples {
        values,
        discarded: 0,
        detail,
    })
}
