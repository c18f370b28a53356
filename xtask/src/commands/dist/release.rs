//! Which version this is, from which commit, and when.

use anyhow::{Context, Result};
use std::fs;

use super::Folder;
use crate::process::Run;
use crate::workshop::Workshop;

/// The revision of the packaging within one version of the program.
const REVISION: u32 = 1;

/// What is being released.
#[derive(Debug)]
pub(super) struct Release {
    /// The version of the workspace, `0.1.0`.
    pub(super) version: String,
    /// The commit, shortened; with a note when files differ from it.
    commit: String,
    /// When the commit was made, in seconds since 1970: no file of the release is younger.
    pub(super) epoch: String,
    /// The same as mail and Debian's change logs write it.
    date: String,
    /// Who made the commit, `Name <address>`.
    pub(super) maintainer: String,
}

impl Release {
    /// Asks git.
    ///
    /// # Errors
    /// When git is missing or this is no git checkout: a release says what it was made of.
    pub(super) fn of(workshop: &Workshop) -> Result<Self> {
        let git = |arguments: &[&str]| {
            let run = Run::new("git").args(arguments).dir(&workshop.root);
            run.capture().context("a release names its commit")
        };
        let log = git(&["log", "-1", "--format=%h%n%ct%n%aD%n%an <%ae>"])?;
        let mut lines = log.lines().map(str::to_owned);
        let mut next = || lines.next().context("git log said less than was asked");
        let mut commit = next()?;
        if !git(&["status", "--porcelain"])?.is_empty() {
            commit.push_str(" with changes");
        }
        Ok(Self {
            // The workspace has one version, and this program was built from it a moment ago.
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit,
            epoch: next()?,
            date: next()?,
            maintainer: next()?,
        })
    }

    /// What the program prints after its name.
    pub(super) fn version_of_program(&self) -> String {
        format!("{} ({})", self.version, self.commit)
    }

    /// The version of the Debian package.
    pub(super) fn version_of_package(&self) -> String {
        format!("{}-{REVISION}", self.version)
    }

    /// Copies the list of changes.
    pub(super) fn write_changes(&self, workshop: &Workshop, folder: &mut Folder) -> Result<()> {
        let changes = fs::read_to_string(workshop.root.join("CHANGELOG.md"))
            .context("cannot read CHANGELOG.md")?;
        folder.write("CHANGELOG.md".to_owned(), &changes)?;
        Ok(())
    }

    /// The change log of the packaging, which Debian wants apart from the program's.
    pub(super) fn packaging_changes(&self) -> String {
        format!(
            "dataplane-emu ({}) unstable; urgency=medium\n\n  * Packaged from commit {}.\n\n -- {}  {}\n",
            self.version_of_package(),
            self.commit,
            self.maintainer,
            self.date
        )
    }
}
