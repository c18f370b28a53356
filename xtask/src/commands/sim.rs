//! `sim`: the virtual-time world.

use anyhow::Result;

use crate::process::Run;
use crate::workshop::Workshop;

/// Virtual-time runs of driver, controller and media under faults, one per seed
///
/// Each seed is one run: random commands, resets and faults, checked against a plain map of blocks. One seed replays
/// one run exactly:  cargo xtask sim --seed 42
///
/// The canary is a run with a fault that the oracle has to see. It proves that the alarm works: `--canary` succeeds
/// when the canary run is caught.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many seeds to run, from 0 on (or from --seed on)
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// The seed to replay, or to start from when --seeds is given
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run the seed that must fail, and succeed when it does
    #[arg(long)]
    canary: bool,
    /// Further arguments for the simulator itself, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

impl Options {
    /// Runs the simulator.
    ///
    /// # Errors
    /// When a seed fails, or the canary does not.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        if self.canary {
            return canary(workshop);
        }
        let mut run = simulator(workshop);
        if let Some(seeds) = self.seeds {
            run = run.arg("--seeds").arg(seeds.to_string());
        }
        if let Some(seed) = self.seed {
            run = run.arg("--seed").arg(seed.to_string());
        }
        run.args(&self.rest).run()
    }
}

/// Runs seeds 0 to `count`.
///
/// # Errors
/// When one of them fails.
pub(crate) fn seeds(workshop: &Workshop, count: u32) -> Result<()> {
    simulator(workshop)
        .arg("--seeds")
        .arg(count.to_string())
        .run()
}

/// Runs the seed that must fail. The simulator leaves with 0 when its oracle saw the fault, and only then.
///
/// # Errors
/// When it does not fail, or fails for another reason.
pub(crate) fn canary(workshop: &Workshop) -> Result<()> {
    simulator(workshop).arg("--canary").run()
}

fn simulator(workshop: &Workshop) -> Run {
    workshop.cargo("run").args([
        "--release",
        "--quiet",
        "--package",
        "dpe-sim",
        "--bin",
        "sim",
        "--",
    ])
}
