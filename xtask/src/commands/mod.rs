//! The commands, one file each. A command says in its help what it does, how long it takes and what it needs.

mod bench;
mod check;
mod ci;
mod demo;
mod deny;
mod dist;
mod doc;
mod drive;
mod fuzz;
mod guest;
mod loom;
mod miri;
mod mutants;
mod sim;
mod test;
mod tidy;
mod verify;

use anyhow::Result;

use crate::workshop::Workshop;

/// What can be asked for. The menu shows the first line of each command's own help.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Check(check::Options),
    Test(test::Options),
    Tidy(tidy::Options),
    Loom(loom::Options),
    Miri(miri::Options),
    Fuzz(fuzz::Options),
    Sim(sim::Options),
    Bench(bench::Options),
    Guest(guest::Options),
    Mutants(mutants::Options),
    Deny(deny::Options),
    Demo(demo::Options),
    Dist(dist::Options),
    Doc(doc::Options),
    Ci(ci::Options),
}

impl Command {
    /// Does what was asked for.
    ///
    /// # Errors
    /// When a check fails or cannot run.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        match self {
            Self::Check(options) => options.run(workshop),
            Self::Test(options) => options.run(workshop),
            Self::Tidy(options) => options.run(workshop),
            Self::Loom(options) => options.run(workshop),
            Self::Miri(options) => options.run(workshop),
            Self::Fuzz(options) => options.run(workshop),
            Self::Sim(options) => options.run(workshop),
            Self::Bench(options) => options.run(workshop),
            Self::Guest(options) => options.run(workshop),
            Self::Mutants(options) => options.run(workshop),
            Self::Deny(options) => options.run(workshop),
            Self::Demo(options) => options.run(workshop),
            Self::Dist(options) => options.run(workshop),
            Self::Doc(options) => options.run(workshop),
            Self::Ci(options) => options.run(workshop),
        }
    }
}
