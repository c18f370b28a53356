//! Where things are: the root of the workspace, the build folder, the packages.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::process::Run;

/// The checkout that the commands work on.
#[derive(Debug)]
pub(crate) struct Workshop {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where builds go; honours `CARGO_TARGET_DIR`.
    pub(crate) target: PathBuf,
}

impl Workshop {
    /// Looks from the current folder upwards for the folder that holds this program's rules.
    ///
    /// # Errors
    /// When the current folder is in no checkout.
    pub(crate) fn find() -> Result<Self> {
        let here = std::env::current_dir().context("the current folder cannot be read")?;
        let Some(root) = here
            .ancestors()
            .find(|folder| folder.join("xtask/tidy.toml").is_file())
        else {
            bail!(
                "run this inside a checkout: no xtask/tidy.toml in {} or above",
                here.display()
            );
        };
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) if !folder.is_empty() => here.join(folder),
            _ => root.join("target"),
        };
        Ok(Self {
            root: root.to_owned(),
            target,
        })
    }

    /// A run of the cargo that started us, at the root.
    pub(crate) fn cargo(&self, subcommand: &str) -> Run {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Run::new(cargo).arg(subcommand).dir(&self.root)
    }

    /// The packages of the manifest at `manifest`, relative to the root.
    ///
    /// # Errors
    /// When cargo cannot read the manifest.
    pub(crate) fn packages(&self, manifest: &str) -> Result<Vec<Package>> {
        let text = self
            .cargo("metadata")
            .args([
                "--format-version",
                "1",
                "--no-deps",
                "--manifest-path",
                manifest,
            ])
            .capture()?;
        let mut metadata: Metadata =
            serde_json::from_str(&text).context("cargo metadata printed something unexpected")?;
        for package in &mut metadata.packages {
            package.make_relative(&self.root);
        }
        Ok(metadata.packages)
    }

    /// True when the fuzz crate is there; it is no member of the workspace.
    pub(crate) fn has_fuzz(&self) -> bool {
        self.root.join("fuzz/Cargo.toml").is_file()
    }

    /// Every file that git tracks or would track, relative to the root, with `/` between folders.
    ///
    /// # Errors
    /// When git is missing or this is no git checkout.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let listed = Run::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .dir(&self.root)
            .capture()?;
        let mut files: Vec<String> = listed
            .split('\0')
            .filter(|path| !path.is_empty() && self.root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// One package as `cargo metadata` describes it, with paths made relative to the root.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    /// The name in its manifest.
    pub(crate) name: String,
    /// The path of its manifest.
    pub(crate) manifest_path: PathBuf,
    /// What it depends on, of every kind.
    pub(crate) dependencies: Vec<Dependency>,
    /// What it builds.
    pub(crate) targets: Vec<Target>,
}

/// One line of a manifest's dependency tables.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dependency {
    /// The package depended on.
    pub(crate) name: String,
    /// `None` for ordinary ones, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// The folder of a package of this checkout, `None` for the registry's.
    pub(crate) path: Option<PathBuf>,
}

/// One library, binary, test, bench or example.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Target {
    /// The name, as given to `--bin` or `--test`.
    pub(crate) name: String,
    /// What it is: `lib`, `bin`, `test` and so on.
    pub(crate) kind: Vec<String>,
    /// The file that its modules start from.
    pub(crate) src_path: PathBuf,
}

impl Package {
    fn make_relative(&mut self, root: &Path) {
        relative(&mut self.manifest_path, root);
        for target in &mut self.targets {
            relative(&mut target.src_path, root);
        }
        for dependency in &mut self.dependencies {
            if let Some(path) = &mut dependency.path {
                relative(path, root);
            }
        }
    }

    /// The folder of the package as the design names it: `ring` for `crates/ring`, `sim` for `sim`.
    pub(crate) fn room(&self) -> String {
        room_of(self.manifest_path.parent().unwrap_or(Path::new("")))
    }
}

fn relative(path: &mut PathBuf, root: &Path) {
    if let Ok(inside) = path.strip_prefix(root) {
        *path = inside.to_owned();
    }
}

/// The room that lives in a folder, given relative to the root.
pub(crate) fn room_of(folder: &Path) -> String {
    folder
        .strip_prefix("crates")
        .unwrap_or(folder)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_named_by_its_folder() {
        assert_eq!(room_of(Path::new("crates/ring")), "ring");
        assert_eq!(
            room_of(Path::new("crates/bridge/preload")),
            "bridge/preload"
        );
        assert_eq!(room_of(Path::new("sim")), "sim");
    }
}
