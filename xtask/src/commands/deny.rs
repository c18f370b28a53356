//! `deny`: what we depend on, judged.

use anyhow::{Result, bail};
use std::path::Path;

use crate::process::Run;
use crate::tools::CARGO_DENY;
use crate::workshop::Workshop;

/// Licences, advisories and sources of everything that we depend on
///
/// Rules and exceptions, each with its reason, are in deny.toml. Advisories need the database of RustSec; where it
/// cannot be fetched the rest still runs and the advisories print "not run: REASON".
///
/// Builds cargo-deny into the build folder on first use, which takes minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

impl Options {
    /// Judges the workspace and the fuzz crate.
    ///
    /// # Errors
    /// When a rule of deny.toml is broken, or cargo-deny cannot be had.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let program = CARGO_DENY.path(workshop)?;
        let mut manifests = vec!["Cargo.toml"];
        if workshop.has_fuzz() {
            manifests.push("fuzz/Cargo.toml");
        }
        let database = deny(workshop, &program, "Cargo.toml")
            .args(["fetch", "db"])
            .capture();
        let mut broken = Vec::new();
        for manifest in manifests {
            let mut checks = vec!["licenses", "bans", "sources"];
            if database.is_ok() {
                checks.push("advisories");
            }
            let run = deny(workshop, &program, manifest)
                .arg("check")
                .args(&checks);
            if !run.status()?.success() {
                broken.push(manifest);
            }
        }
        if let Err(error) = database {
            println!("advisories: not run: {}", last_line(&format!("{error:#}")));
        }
        if !broken.is_empty() {
            bail!(
                "deny.toml is broken by what {} depends on",
                broken.join(" and ")
            );
        }
        Ok(())
    }
}

fn deny(workshop: &Workshop, program: &Path, manifest: &str) -> Run {
    Run::new(program)
        .args(["--log-level", "error", "--manifest-path", manifest])
        .dir(&workshop.root)
}

/// The last line that says something; tools print the cause below its consequences.
fn last_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_line_that_says_something() {
        assert_eq!(last_line("a\n  b  \n\n"), "b");
        assert_eq!(last_line(""), "no reason given");
    }
}
