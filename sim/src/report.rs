//! What a run comes to.

use core::fmt;
use core::time::Duration;

use crate::media::Plant;

/// A run that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its seed.
    pub seed: u64,
    /// I/O commands and calls of the block layer that were sent.
    pub commands: u64,
    /// Commands that a reset or the deletion of a queue ended without an answer.
    pub given_up: u64,
    /// Troubles.
    pub troubles: u64,
    /// The virtual time that passed.
    pub time: Duration,
    /// The hash of its trace.
    pub hash: u64,
}

/// Who saw that a run went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The oracle: blocks hold what they cannot hold.
    Oracle,
    /// The world: an answer, a counter, an event, memory is not what the standard says or the books say.
    World,
    /// An assertion in the driver, the controller or the world failed.
    Panic,
    /// This machine, which has no memory: no verdict on the project.
    Machine,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Oracle => "the oracle saw it",
            Self::World => "the world saw it",
            Self::Panic => "an assertion failed",
            Self::Machine => "the machine could not run it",
        })
    }
}

/// What went wrong in a world, without its surroundings.
#[derive(Clone, Debug)]
pub struct Caught {
    /// Who saw it.
    pub alarm: Alarm,
    /// What it is.
    pub what: String,
}

impl Caught {
    /// Blocks hold what they cannot hold.
    pub fn oracle(what: impl Into<String>) -> Self {
        Self {
            alarm: Alarm::Oracle,
            what: what.into(),
        }
    }

    /// Anything else is wrong.
    pub fn world(what: impl Into<String>) -> Self {
        Self {
            alarm: Alarm::World,
            what: what.into(),
        }
    }
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// The bug that was planted, if one was.
    pub plant: Option<Plant>,
    /// Who saw it.
    pub alarm: Alarm,
    /// What is wrong.
    pub what: String,
    /// The virtual time when it was seen; zero after a panic, which takes the clock with it.
    pub time: Duration,
    /// The world, in a line.
    pub plan: String,
    /// The last events.
    pub events: Vec<String>,
}

impl Failure {
    /// The arguments that replay it.
    pub fn arguments(&self) -> String {
        let plant = self
            .plant
            .map(|plant| format!(" --plant {plant}"))
            .unwrap_or_default();
        format!("--seed {}{plant}", self.seed)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {} failed ({}): {}",
            self.seed, self.alarm, self.what
        )?;
        writeln!(f, "  world: {}", self.plan)?;
        writeln!(f, "  at {} us, after", self.time.as_micros())?;
        for event in &self.events {
            writeln!(f, "  {event}")?;
        }
        write!(
            f,
            "replay: cargo run --release -p dpe-sim --bin sim -- {}",
            self.arguments()
        )
    }
}

impl core::error::Error for Failure {}
