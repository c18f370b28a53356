//! `miri`: undefined behaviour, looked for.

use anyhow::Result;

use crate::tools;
use crate::workshop::Workshop;

/// What Miri can run: no threads of the system, no mapped files, no foreign code.
const PACKAGES: [&str; 3] = ["dpe-ring", "dpe-spec", "dpe-mem"];

/// The tests of ring, spec and mem under Miri, which sees undefined behaviour
///
/// Miri interprets, about a thousand times slower than the machine, so property tests run few cases. It follows
/// strict provenance; tests that need what Miri lacks (memfd, hugepages) leave themselves out with cfg(miri).
///
/// Needs the nightly toolchain with miri and rust-src; installs them when they are missing.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only this package (default: dpe-ring, dpe-spec and dpe-mem)
    #[arg(long, short)]
    package: Option<String>,
    /// Only tests whose name contains this
    filter: Option<String>,
}

impl Options {
    /// Runs the tests.
    ///
    /// # Errors
    /// When one fails or Miri cannot be had.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let packages: Vec<&str> = match &self.package {
            Some(package) => vec![package],
            None => PACKAGES.to_vec(),
        };
        tools::nightly(workshop, &["miri", "rust-src"])?
            .args(["cargo", "miri", "test", "--lib", "--tests"])
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .args(self.filter.as_deref())
            // The isolation goes because property tests keep a file of seeds; many cases would take hours.
            .env(
                "MIRIFLAGS",
                "-Zmiri-strict-provenance -Zmiri-disable-isolation",
            )
            .env("PROPTEST_CASES", "8")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("CARGO_TARGET_DIR", workshop.target.join("miri"))
            .run()
    }
}
