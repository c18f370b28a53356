//! `demo`: the first thing that a newcomer runs.

use anyhow::Result;

use crate::workshop::Workshop;

/// Writes a file into the emulated drive, reads it back through the driver, compares it, then measures
///
/// Short for: cargo run --release -p dataplane-emu -- demo
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Further arguments for the demo itself, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

impl Options {
    /// Builds the program and runs its demo.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        workshop
            .cargo("run")
            .args([
                "--release",
                "--quiet",
                "--package",
                "dataplane-emu",
                "--",
                "demo",
            ])
            .args(&self.rest)
            .run()
    }
}
