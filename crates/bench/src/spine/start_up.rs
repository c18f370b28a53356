//! From the start of a process to its first I/O, and what it holds besides the media.

use std::process::Command;
use std::time::Instant;

use super::rig::{Kept, Rig};
use super::{Bar, Effort, Samples, Sense};

pub(super) fn bars(effort: Effort) -> Vec<Bar> {
    let runs: Result<Vec<_>, String> = (0..effort.repeats).map(|_| run()).collect();
    let samples = |pick: fn(&(f64, f64)) -> f64| {
        runs.clone().map(|runs| Samples {
            values: runs.iter().map(pick).collect(),
            discarded: 0,
            detail: "a process with a 64 MiB RAM device, started and waited for".into(),
        })
    };
    vec![
        Bar::judge(
            "start-up to first I/O",
            "ms",
            (Sense::AtMost, 50.0),
            true,
            samples(|run| run.0),
        ),
        Bar::judge(
            "resident memory beyond the media",
            "MiB",
            (Sense::AtMost, 32.0),
            true,
            samples(|run| run.1),
        ),
    ]
}

/// Milliseconds until a fresh process had done its first I/O and ended, and its resident MiB.
#[expect(clippy::disallowed_methods, reason = "the bench owns a clock")]
fn run() -> Result<(f64, f64), String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let output = Command::new(exe)
        .arg("first-io")
        .output()
        .map_err(|error| error.to_string())?;
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    let text = String::from_utf8_lossy(&output.stdout);
    let kib: f64 = text.trim().parse().map_err(|_| {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("wanted a size in KiB, found {text:?} {error}")
    })?;
    Ok((ms, kib / 1024.0))
}

/// Opens a RAM device, reads one block, and returns the resident KiB. The media was not touched but for that block.
///
/// # Errors
/// When the device cannot be made, or the system does not tell the size.
pub fn first_io() -> Result<u64, String> {
    let mut rig = Rig::inline(Kept::RamUntouched(64 << 20), 512)?;
    rig.read_one();
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|size| size.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| "the system does not tell the resident size".into())
}
