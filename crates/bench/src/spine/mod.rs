//! `cargo xtask bench spine`: the driver and the controller held against the machine's own physics.
//!
//! Every bar is a ratio of two figures that were measured beside each other, a count of instructions, or a plain promise
//! (start-up, memory). A ratio whose surroundings changed in mid-measurement is measured again, then "undecided".

pub mod counted;
pub(crate) mod counts;
mod in_process;
pub(crate) mod rig;
mod start_up;
mod two_cores;

pub use start_up::first_io;

pub use crate::bars::{Bar, Effort, Samples, Sense, Verdict, table};

/// Measures every bar. `progress` hears what is being measured.
pub fn measure(effort: Effort, only_gates: bool, progress: &mut dyn FnMut(&str)) -> Vec<Bar> {
    let mut bars = Vec::new();
    progress("instruction counts under callgrind");
    bars.extend(counts::bars(effort));
    progress("start-up and memory");
    bars.extend(start_up::bars(effort));
    if !only_gates {
        progress("two cores against the bare loop");
        bars.extend(two_cores::bars(effort));
        in_process::bars(effort, progress, &mut bars);
    }
    bars
}
