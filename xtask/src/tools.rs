//! Programs beyond the pinned toolchain: which version, how to find them, how to get them.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use crate::process::Run;
use crate::workshop::Workshop;

/// The toolchain for what stable Rust cannot do (Miri, sanitizers, coverage of fuzz targets). The only place that names it.
pub(crate) const NIGHTLY: &str = "nightly";

/// A program that crates.io keeps and that is built into the build folder on first use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CargoTool {
    name: &'static str,
    version: &'static str,
}

/// Builds and runs fuzz targets.
pub(crate) const CARGO_FUZZ: CargoTool = CargoTool {
    name: "cargo-fuzz",
    version: "0.13.2",
};
/// Checks licences, advisories, bans and sources.
pub(crate) const CARGO_DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// This machine lacks something: what was wanted, what was found, what to do.
#[derive(Debug)]
pub(crate) struct MachineLacks {
    /// What was wanted.
    pub(crate) wanted: String,
    /// What was found instead.
    pub(crate) found: String,
    /// What its owner can do.
    pub(crate) remedy: String,
}

impl fmt::Display for MachineLacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "wanted: {}; found: {}; do: {}",
            self.wanted, self.found, self.remedy
        )
    }
}

impl std::error::Error for MachineLacks {}

/// True when `program` is in one of the folders of `PATH`.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A run of a program of the nightly toolchain, at the root, after making sure that `components` are there.
///
/// # Errors
/// [`MachineLacks`] when the toolchain or a component is missing and cannot be installed.
pub(crate) fn nightly(workshop: &Workshop, components: &[&str]) -> Result<Run> {
    let lacks = |found: String| MachineLacks {
        wanted: format!(
            "the Rust toolchain '{NIGHTLY}' with {}",
            components.join(", ")
        ),
        found,
        remedy: format!(
            "rustup toolchain install {NIGHTLY} -c {}",
            components.join(" -c ")
        ),
    };
    if !on_path("rustup") {
        return Err(lacks("no rustup".to_owned()).into());
    }
    let list = ["component", "list", "--installed", "--toolchain", NIGHTLY];
    let installed = Run::new("rustup").args(list).capture().unwrap_or_default();
    let missing: Vec<&str> = components
        .iter()
        .copied()
        .filter(|component| !lists(&installed, component))
        .collect();
    if installed.is_empty() || !missing.is_empty() {
        println!(
            "installing for the toolchain '{NIGHTLY}': {}",
            components.join(", ")
        );
        let install = [
            "toolchain",
            "install",
            NIGHTLY,
            "--no-self-update",
            "--profile",
            "minimal",
        ];
        let wanted = components.iter().flat_map(|component| ["-c", component]);
        let status = Run::new("rustup").args(install).args(wanted).status()?;
        if !status.success() {
            return Err(lacks(format!("rustup ended with {status}")).into());
        }
    }
    Ok(Run::new("rustup")
        .args(["run", NIGHTLY])
        .dir(&workshop.root))
}

/// rustup lists `miri-x86_64-unknown-linux-gnu`, or the plain name for components that suit every machine.
fn lists(installed: &str, component: &str) -> bool {
    installed.lines().any(|line| {
        line.strip_prefix(component)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

impl CargoTool {
    /// The path of the program, building it first when this version is not there.
    ///
    /// # Errors
    /// [`MachineLacks`] when it has to be built and cannot be.
    pub(crate) fn path(self, workshop: &Workshop) -> Result<PathBuf> {
        let folder = workshop
            .target
            .join("tools")
            .join(format!("{}-{}", self.name, self.version));
        let program = folder.join("bin").join(self.name);
        if program.is_file() {
            return Ok(program);
        }
        println!(
            "building {} {} (once; takes minutes)",
            self.name, self.version
        );
        let status = workshop
            .cargo("install")
            .args([self.name, "--locked", "--version", self.version, "--root"])
            .arg(&folder)
            // Its own build folder, kept apart so that it can be thrown away.
            .env("CARGO_TARGET_DIR", workshop.target.join("tools/build"))
            .status()
            .context("cargo itself does not start")?;
        if !status.success() {
            let install = format!(
                "cargo install {} --locked --version {}",
                self.name, self.version
            );
            return Err(MachineLacks {
                wanted: format!("{} {}", self.name, self.version),
                found: format!("cargo install ended with {status}"),
                remedy: format!("{install} --root {}", folder.display()),
            }
            .into());
        }
        // The objects of the build are many times larger than the program and are not needed again.
        match std::fs::remove_dir_all(workshop.target.join("tools/build")) {
            Ok(()) => {}
            Err(error) => println!("the left-over build folder stays: {error}"),
        }
        Ok(program)
    }
}

/// The fio-plot that `scripts/setup` keeps in the build folder, for the test that feeds it our JSON.
pub(crate) fn fio_plot(workshop: &Workshop) -> Option<OsString> {
    let program = workshop.target.join("tools/fio-plot/bin/fio-plot");
    program.is_file().then(|| program.into_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_found_with_and_without_the_name_of_the_machine() {
        let installed =
            "miri-x86_64-unknown-linux-gnu\nrust-src\nrust-std-x86_64-unknown-linux-gnu\n";
        assert!(lists(installed, "miri"));
        assert!(lists(installed, "rust-src"));
        assert!(!lists(installed, "llvm-tools"));
    }
}
