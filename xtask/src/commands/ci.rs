//! `ci`: one job of continuous integration.

use anyhow::Result;
use clap::Parser;

use super::Command;
use crate::workshop::Workshop;

/// One job of continuous integration, or all that gate a change
///
/// A job is exactly one `cargo xtask ci JOB`, so that whatever a server runs can be run here. Without a job:
/// test, doc and deny, which gate a change. The others are for the night.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Which job
    #[arg(value_enum)]
    job: Option<Job>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Job {
    /// Every gate
    Test,
    /// Documentation
    Doc,
    /// Licences, advisories, sources
    Deny,
    /// Undefined behaviour
    Miri,
    /// Every fuzz target for a minute, their coverage, the planted bug
    Fuzz,
    /// Ten thousand seeds, and the canary
    Sim,
    /// The planted bugs
    Mutants,
    /// The bars of the spine
    Bench,
}

impl Job {
    /// What a person would type after `cargo xtask`, line by line.
    fn lines(self) -> &'static [&'static str] {
        match self {
            Self::Test => &["test"],
            Self::Doc => &["doc"],
            Self::Deny => &["deny"],
            Self::Miri => &["miri"],
            Self::Fuzz => &["fuzz --each 60s", "fuzz --coverage", "fuzz --planted"],
            Self::Sim => &["sim --seeds 10000", "sim --canary"],
            Self::Mutants => &["mutants"],
            Self::Bench => &["bench spine"],
        }
    }
}

impl Options {
    /// Runs the job.
    ///
    /// # Errors
    /// When one of its lines fails; the others after it do not run.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let gates = [Job::Doc, Job::Deny, Job::Test];
        let jobs = self.job.map_or(gates.to_vec(), |job| vec![job]);
        for line in jobs.iter().flat_map(|job| job.lines()) {
            println!("\n==== cargo xtask {line}");
            parse(line)?.run(workshop)?;
        }
        Ok(())
    }
}

#[derive(Debug, Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

fn parse(line: &str) -> Result<Command> {
    Ok(Line::try_parse_from(std::iter::once("xtask").chain(line.split(' ')))?.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_line_of_every_job_is_a_command() {
        for line in Job::value_variants().iter().flat_map(|job| job.lines()) {
            assert!(parse(line).is_ok(), "{line}");
        }
    }
}
