//! `mutants`: small planted bugs; how they are run is in [`crate::mutation`].

use anyhow::Result;

use crate::mutation;
use crate::workshop::Workshop;

/// Small planted bugs, each of which some test has to catch
///
/// The lists are mutants/*.toml:
///
///   [[mutant]]
///   name = "the phase bit is never inverted"
///   file = "crates/ring/src/queue/device.rs"
///   find = "self.phase = !self.phase;"
///   replace = ""
///   tests = ["-p", "dpe-ring"]
///
/// `find` has to occur exactly once. `tests` is what follows `cargo test`; what comes after a
/// `--` in it goes to the tests themselves. The tree is copied, the bug planted, the tests built
/// and run; a test that fails, or hangs for two minutes, has caught it. The last line is
/// "caught N of M"; the exit code is 1 when one survives.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Options {
    /// Only the mutant with this number, or those whose name contains this text
    #[arg(long, value_name = "N")]
    only: Option<String>,
    /// Only print the list with its numbers
    #[arg(long)]
    list: bool,
    /// Write what each was caught by to mutants/RESULTS.md
    #[arg(long, conflicts_with_all = ["only", "list"])]
    write: bool,
}

impl Options {
    /// Runs the mutants.
    ///
    /// # Errors
    /// When one survives, or a list does not fit the tree.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let chosen = mutation::choose(mutation::read_lists(&workshop.root)?, self.only.as_deref())?;
        if self.list {
            for mutant in &chosen {
                println!("{:3}  {:40}  {}", mutant.number, mutant.file, mutant.name);
            }
            return Ok(());
        }
        mutation::run(workshop, &chosen, self.write)
    }
}
