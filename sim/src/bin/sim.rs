//! The simulator's command line.
#![forbid(unsafe_code)]

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use sim::{Alarm, CANARY_PLANT, CANARY_SEED, Failure, Options, Plant, Summary};

/// Seeds to search for a planted bug before giving up.
const SEARCH_SEEDS: u64 = 1000;

/// Seeds run when nothing else is said.
const DEFAULT_SEEDS: u64 = 1000;

/// Seeds between two lines of progress where there is no terminal.
const PROGRESS_SEEDS: u64 = 1000;

/// Driver, controller and media under virtual time and faults, one run per seed
///
/// Leaves with 0 when all is well, 1 when a seed failed, 2 when asked for what there is not.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds to run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// The seed to start from
    #[arg(long, value_name = "S", conflicts_with = "seed")]
    from: Option<u64>,
    /// The seed to replay with its full trace; with --seeds, the seed to start from
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run the seed that must fail; succeed when the oracle sees it fail
    #[arg(long, conflicts_with_all = ["seeds", "from", "seed", "plant"])]
    canary: bool,
    /// Plant a bug (lost-write, shifted-read) and search seeds until it is caught; with --seed, replay that one
    #[arg(long, value_name = "BUG")]
    plant: Option<Plant>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let first = arguments.seed.or(arguments.from).unwrap_or(0);
    match (
        arguments.canary,
        arguments.plant,
        arguments.seed,
        arguments.seeds,
    ) {
        (true, ..) => canary(),
        (_, plant, Some(seed), None) => replay(seed, plant),
        (_, Some(plant), _, seeds) => search(plant, first, seeds.unwrap_or(SEARCH_SEEDS)),
        (_, None, _, seeds) => run_all(first, seeds.unwrap_or(DEFAULT_SEEDS)),
    }
}

/// Says something to whoever listens.
fn say(words: &str) {
    let _ = writeln!(std::io::stdout(), "{words}"); // nobody listens: nothing to say it to
}

fn options(plant: Option<Plant>) -> Options {
    Options {
        plant,
        listener: None,
    }
}

/// Panics are reported with their seed; the default report would stand in the middle of the progress.
fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

fn run_all(first: u64, count: u64) -> ExitCode {
    silence_panics();
    let mut total = Total::default();
    for done in 0..count {
        progress(done, count);
        match sim::run(first.wrapping_add(done), options(None)) {
            Ok(summary) => total.add(&summary),
            Err(failure) => {
                say(&failure.to_string());
                return ExitCode::FAILURE;
            }
        }
    }
    progress(count, count);
    let last = first.wrapping_add(count - 1);
    say(&format!("{count} seeds clean ({first} to {last}): {total}"));
    ExitCode::SUCCESS
}

/// What all runs come to.
#[derive(Debug, Default)]
struct Total {
    commands: u64,
    given_up: u64,
    troubles: u64,
    virtual_ms: u128,
    hash: u64,
}

impl Total {
    fn add(&mut self, summary: &Summary) {
        self.commands += summary.commands;
        self.given_up += summary.given_up;
        self.troubles += summary.troubles;
        self.virtual_ms += summary.time.as_millis();
        self.hash = self.hash.rotate_left(1) ^ summary.hash;
    }
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} commands, {} of them given up in {} troubles, {} ms of virtual time, hash {:016x}",
            self.commands, self.given_up, self.troubles, self.virtual_ms, self.hash
        )
    }
}

fn progress(done: u64, count: u64) {
    let mut stderr = std::io::stderr();
    // Nobody watches: nothing to show it to.
    let _ = if stderr.is_terminal() {
        let end = if done == count { "\n" } else { "" };
        write!(stderr, "\r{done} of {count} seeds{end}").and_then(|()| stderr.flush())
    } else if done == count || (done > 0 && done.is_multiple_of(PROGRESS_SEEDS)) {
        writeln!(stderr, "{done} of {count} seeds")
    } else {
        Ok(())
    };
}

fn replay(seed: u64, plant: Option<Plant>) -> ExitCode {
    let listener: sim::Listener = Box::new(|now, event| say(&sim::line(now, event)));
    let options = Options {
        plant,
        listener: Some(listener),
    };
    match sim::run(seed, options) {
        Ok(summary) => {
            let mut total = Total::default();
            total.add(&summary);
            say(&format!("seed {seed} clean: {total}"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn search(plant: Plant, first: u64, count: u64) -> ExitCode {
    silence_panics();
    for done in 0..count {
        let seed = first.wrapping_add(done);
        let Err(failure) = sim::run(seed, options(Some(plant))) else {
            continue;
        };
        say(&failure.to_string());
        if failure.alarm == Alarm::Oracle {
            say(&format!(
                "the planted bug ({plant}) was caught after {} seeds",
                done + 1
            ));
            return ExitCode::SUCCESS;
        }
        say("this is not the planted bug");
        return ExitCode::FAILURE;
    }
    say(&format!(
        "the planted bug ({plant}) was not caught in {count} seeds"
    ));
    ExitCode::FAILURE
}

fn canary() -> ExitCode {
    match sim::run(CANARY_SEED, options(Some(CANARY_PLANT))) {
        Err(
            failure @ Failure {
                alarm: Alarm::Oracle,
                ..
            },
        ) => {
            say(&failure.to_string());
            say("the canary is red, as it must be");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(&failure.to_string());
            say("the canary failed, but not because the oracle saw its bug");
            ExitCode::FAILURE
        }
        Ok(_) => {
            say("the canary was not caught: the oracle is blind");
            ExitCode::FAILURE
        }
    }
}
