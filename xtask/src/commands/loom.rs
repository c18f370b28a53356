//! `loom`: the models of the rings.

use anyhow::Result;

use crate::libtest::{Tally, run_counted};
use crate::steps::Steps;
use crate::workshop::Workshop;

/// Every interleaving of the rings' models, by loom
///
/// Builds dpe-ring with `--cfg ring_loom`, where ring::sync is loom's, and runs crates/ring/tests/loom_*.rs.
/// Loom explores what the memory model allows, but no load buffering, and takes SeqCst accesses for weaker ones.
///
/// A failing model prints the interleaving; LOOM_LOG=trace and LOOM_CHECKPOINT_FILE=FILE show it step by step.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

impl Options {
    /// Runs the models.
    ///
    /// # Errors
    /// When a model fails.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let mut steps = Steps::default();
        steps.tests("loom models", || run(workshop));
        steps.finish()
    }
}

/// Runs the models and counts them.
///
/// # Errors
/// When cargo cannot start.
pub(crate) fn run(workshop: &Workshop) -> Result<Tally> {
    // Its own build folder: the flag reaches every crate, and going to and fro would build all of them again.
    // Optimised, because a model runs up to millions of interleavings.
    run_counted(
        workshop
            .cargo("test")
            .args(["--release", "--package", "dpe-ring", "--test", "loom_*"])
            .env("RUSTFLAGS", "--cfg ring_loom")
            .env("CARGO_TARGET_DIR", workshop.target.join("loom")),
    )
}
