//! `test`: every gate of the project.

use anyhow::Result;

use crate::libtest::run_counted;
use crate::steps::Steps;
use crate::tools;
use crate::workshop::Workshop;

/// Enough seeds to notice a broken world, few enough to wait for; `sim --seeds 10000` is the thorough run.
const SIM_SEEDS: u32 = 200;

/// Every gate: what .ci/run calls
///
/// Format, clippy, tidy, all unit, integration and doc tests, the loom models, the fuzz corpus replayed on stable
/// Rust, the simulator with a few seeds and its canary, and the bars of the bench that gate a
/// change (instruction counts under callgrind, system calls, start-up, memory).
///
/// All gates run even if one fails. What this machine cannot run is printed as "not run: REASON" and counted as
/// skipped. The last line is "N passed, N failed".
///
/// Not part of it, because they take long: miri, fuzz, mutants, `sim --seeds 10000`, `bench spine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

impl Options {
    /// Runs the gates.
    ///
    /// # Errors
    /// When one of them fails.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let mut steps = Steps::default();
        steps.gate("format", || super::check::format(workshop));
        steps.gate("tidy", || super::tidy::run(workshop));
        steps.gate("clippy", || super::check::clippy(workshop));
        steps.tests("unit, integration, doc tests", || {
            let mut run = workshop
                .cargo("test")
                .args(["--workspace", "--no-fail-fast"]);
            if let Some(program) = tools::fio_plot(workshop) {
                run = run.env("FIO_PLOT", program);
            }
            run_counted(run)
        });
        steps.tests("loom models", || super::loom::run(workshop));
        steps.gate("fuzz corpus", || crate::fuzzing::replay::run(workshop));
        steps.gate("sim", || super::sim::seeds(workshop, SIM_SEEDS));
        steps.gate("sim canary", || super::sim::canary(workshop));
        steps.gate("bars that gate", || super::bench::gates(workshop));
        steps.finish()
    }
}
