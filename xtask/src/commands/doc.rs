//! `doc`: the documentation of all crates.

use anyhow::Result;

use crate::workshop::Workshop;

/// The documentation of all crates, warnings denied
///
/// Each crate opens with six headings: For, In, Out, Never, Limits, Read first. A link that leads nowhere fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Show it in the browser
    #[arg(long)]
    open: bool,
}

impl Options {
    /// Builds it.
    ///
    /// # Errors
    /// When rustdoc warns.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        workshop
            .cargo("doc")
            .args(["--workspace", "--no-deps"])
            .args(self.open.then_some("--open"))
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()
    }
}
