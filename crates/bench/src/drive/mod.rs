//! `cargo xtask bench drive`: the drive's doors and media held against the same work without them.

mod file;
mod fio;
mod fuse;

use std::path::PathBuf;

use crate::bars::{Bar, Effort};

/// What the machine offers for the measurement. What is absent is reported as not run, with the reason.
#[derive(Debug)]
pub struct Setup {
    /// A namespace of a RAM device behind the FUSE door.
    pub door: Result<PathBuf, String>,
    /// The file of a FUSE file system that does nothing, as long, on the same crate and with as many threads.
    pub ceiling: Result<PathBuf, String>,
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
    if !only_gates {
        fuse::bars(effort, setup, progress, &mut bars);
        file::bars(effort, &setup.folder, progress, &mut bars);
    }
    bars
}
