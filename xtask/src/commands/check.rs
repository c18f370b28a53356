//! `check`: what to run before every commit.

use anyhow::Result;

use crate::libtest::run_counted;
use crate::steps::Steps;
use crate::workshop::Workshop;

/// The packages whose unit tests need no device, no thread and no clock.
const PURE: [&str; 6] = [
    "dpe-spec",
    "dpe-ring",
    "dpe-mem",
    "dpe-media",
    "dpe-controller",
    "dpe-driver",
];

/// Quick look before a commit: format, lints, unit tests of the pure crates, tidy
///
/// Meant to take under a minute when the workspace is built already. All four parts run even if one fails.
/// To repair the format: cargo fmt
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

impl Options {
    /// Runs the four parts.
    ///
    /// # Errors
    /// When one of them fails.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let mut steps = Steps::default();
        steps.gate("format", || format(workshop));
        steps.gate("tidy", || super::tidy::run(workshop));
        steps.gate("clippy", || clippy(workshop));
        steps.tests("unit tests of pure crates", || {
            let packages = PURE.iter().flat_map(|package| ["-p", package]);
            run_counted(
                workshop
                    .cargo("test")
                    .args(packages)
                    .args(["--lib", "--no-fail-fast"]),
            )
        });
        steps.finish()
    }
}

/// Compares every file with what rustfmt would make of it.
///
/// # Errors
/// When one differs.
pub(crate) fn format(workshop: &Workshop) -> Result<()> {
    workshop.cargo("fmt").args(["--all", "--check"]).run()?;
    if workshop.has_fuzz() {
        workshop
            .cargo("fmt")
            .args(["--manifest-path", "fuzz/Cargo.toml", "--check"])
            .run()?;
    }
    Ok(())
}

/// Runs clippy over everything in the workspace with warnings denied.
///
/// # Errors
/// When there is a warning.
pub(crate) fn clippy(workshop: &Workshop) -> Result<()> {
    workshop
        .cargo("clippy")
        .args([
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])
        .run()
}
