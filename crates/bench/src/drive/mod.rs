//! `cargo xtask bench drive`: the drive's doors and media held against the same work without them.

mod file;
mod fio;
mod fuse;
mod timing;
pub mod timing_counted;

use std::path::PathBuf;

use crate::bars::{Bar, Effort};
use crate::spine::counts::collect;

/// What the machine offers for the measurement. What is absent is reported as not run, with the reason.
#[derive(Debug)]
pub struct Setup {
    /// A namespace of a RAM device behind the FUSE door.
    pub door: Result<PathBuf, String>,
    /// The file of a FUSE file system that does nothing, as long, on the same crate and with as many threads.
    pub ceiling: Result<PathBuf, String>,
    /// The file of the same file system, which copies what is read out of as much memory first.
    pub copying: Result<PathBuf, String>,
    /// A folder on a disk, for the file of file media.
    pub folder: PathBuf,
}

/// Measures every bar. `progress` hears what is being measured.
pub fn measure(
    effort: Effort,
    only_gates: bool,
    setup: &Setup,
    progress: &mut dyn FnMut(&str),
) -> Vec<Bar> {
    let mut bars = Vec::new();
    progress("instructions of the timing wrapper");
    bars.push(timing::own_cost(&mut |function| {
        per_command(function, effort)
    }));
    timing::bars(effort, only_gates, progress, &mut bars);
    if !only_gates {
        fuse::bars(effort, setup, progress, &mut bars);
        file::bars(effort, &setup.folder, progress, &mut bars);
    }
    bars
}

/// Instructions of a function for one command of the counted loop: the difference between 2N commands and N.
fn per_command(function: &str, effort: Effort) -> Result<f64, String> {
    let count = |commands: u64| {
        let commands = commands.to_string();
        collect(&[function], &["counted", "--commands", &commands])
    };
    let (short, long) = (count(effort.counted)?, count(2 * effort.counted)?);
    Ok((long.0 - short.0) as f64 / (long.1 - short.1) as f64)
}
