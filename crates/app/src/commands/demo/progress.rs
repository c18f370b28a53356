//! What the demo says while it works: a line for each step on stderr, and a bar where that is a terminal.

use std::io::{self, Write as _};

use indicatif::{ProgressBar, ProgressStyle};

/// Follows the demo. The lines begin with `[Stage N]`, which programs look for.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Follows so many repeats of cells.
    pub(super) fn new(repeats: u64) -> Self {
        let bar = ProgressBar::new(repeats);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    /// Says what a stage does or found.
    pub(super) fn say(&self, stage: u32, what: &str) {
        self.bar.suspend(|| {
            // Nowhere is left to complain to.
            let _ = writeln!(io::stderr(), "[Stage {stage}] {what}");
        });
    }

    /// Shows what is being measured.
    pub(super) fn now(&self, what: String) {
        self.bar.set_message(what);
        self.bar.tick();
    }

    /// Counts repeats that are over, or will not be.
    pub(super) fn done(&self, repeats: u32) {
        self.bar.inc(repeats.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
