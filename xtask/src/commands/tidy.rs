//! `tidy`: the house rules; the rules themselves live in [`crate::tidy`].

use anyhow::{Result, bail};

use crate::tidy::{self, Tree, config::Config};
use crate::workshop::Workshop;

/// The house rules that no compiler checks
///
/// Arrows between crates, the six headings of each lib.rs, file length, atomics only in ring::sync, no SeqCst
/// accesses, unsafe only where xtask/tidy.toml allows it and never without its SAFETY comment, crates that forbid
/// unsafe, dead files, banned words, absolute paths, reasons for dependencies, promises with their tests.
///
/// Tables and lists are in xtask/tidy.toml; each rule is a file in xtask/src/tidy/ with tests that show it failing.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

impl Options {
    /// Reads the tree and checks it.
    ///
    /// # Errors
    /// When a rule is broken.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        run(workshop)
    }
}

/// Checks every rule and prints what is broken.
///
/// # Errors
/// When something is broken, or the tree cannot be read.
pub(crate) fn run(workshop: &Workshop) -> Result<()> {
    let config = Config::read(workshop)?;
    let tree = Tree::read(workshop)?;
    let problems = tidy::check(&tree, &config, &crate::command_names());
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => println!("tidy: {} files, nothing to say", tree.files.len()),
        count => bail!("tidy: {count} broken rules"),
    }
    Ok(())
}
