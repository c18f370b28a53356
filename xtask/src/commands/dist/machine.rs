//! The machines that a release is built for: how to build for each, and how to run what was built.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

use super::PROGRAM;
use super::release::Release;
use crate::process::Run;
use crate::tools::{self, MachineLacks};
use crate::workshop::Workshop;

/// Seconds within which one try has to end; under qemu the bench takes less than one.
const TRY_S_MAX: &str = "120";

/// The build profile, which the command line defines; cargo keeps a folder of this name in the build folder.
const PROFILE: &str = "stripped";

/// A kind of machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    /// As the kernel and Rust call it.
    pub(super) name: &'static str,
    /// As Debian calls it.
    pub(super) debian: &'static str,
}

/// Every machine of a release.
pub(super) const MACHINES: [Machine; 2] = [
    Machine {
        name: "x86_64",
        debian: "amd64",
    },
    Machine {
        name: "aarch64",
        debian: "arm64",
    },
];

impl Machine {
    /// True for the machine that this runs on.
    pub(super) fn is_native(&self) -> bool {
        self.name == std::env::consts::ARCH
    }

    fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name)
    }

    /// The C compiler that links; Debian's name for cross compilers.
    fn linker(self) -> String {
        if self.is_native() {
            "cc".to_owned()
        } else {
            format!("{}-linux-gnu-gcc", self.name)
        }
    }

    /// Builds the program, stripped; where it lies.
    ///
    /// # Errors
    /// [`MachineLacks`] without linker or Rust target; else when it does not build.
    pub(super) fn build(self, workshop: &Workshop, release: &Release) -> Result<PathBuf> {
        let (triple, linker) = (self.triple(), self.linker());
        if !tools::on_path(&linker) {
            return Err(self.lacks(format!("{linker}, to link"), "none").into());
        }
        self.want_target(&triple)?;
        workshop
            .cargo("build")
            .args(["--locked", "--package", PROGRAM, "--bin", PROGRAM])
            .args(["--target", &triple, "--profile", PROFILE])
            .args(configuration())
            .env("DATAPLANE_EMU_VERSION", release.version_of_program())
            .run()?;
        Ok(workshop.target.join(triple).join(PROFILE).join(PROGRAM))
    }

    /// Makes sure that the toolchain can build for `triple`.
    fn want_target(self, triple: &str) -> Result<()> {
        let rustup = || -> Result<()> {
            let listed = Run::new("rustup").args(["target", "list", "--installed"]);
            if listed.capture()?.lines().any(|line| line == triple) {
                return Ok(());
            }
            Run::new("rustup").args(["target", "add", triple]).run()
        };
        if self.is_native() {
            return Ok(());
        }
        rustup().map_err(|error| {
            let wanted = format!("the Rust target {triple}");
            self.lacks(wanted, &format!("{error:#}")).into()
        })
    }

    /// A run of a program that was built for this machine, bounded in time.
    ///
    /// # Errors
    /// [`MachineLacks`] when it is another machine and no qemu is there.
    pub(super) fn run(self, program: &Path) -> Result<Run> {
        let run = Run::new("timeout").arg(TRY_S_MAX);
        if self.is_native() {
            return Ok(run.arg(program));
        }
        let emulators = ["-static", ""].map(|end| format!("qemu-{}{end}", self.name));
        let Some(emulator) = emulators.iter().find(|name| tools::on_path(name)) else {
            let wanted = format!("{} or {}, to try it out", emulators[0], emulators[1]);
            return Err(self.lacks(wanted, "neither").into());
        };
        // Where Debian's cross compilers keep the other machine's C library.
        let libraries = format!("/usr/{}-linux-gnu", self.name);
        Ok(run.args([emulator, "-L", &libraries]).arg(program))
    }

    /// Runs a binary in three ways; each has to end well.
    ///
    /// # Errors
    /// [`MachineLacks`] when it cannot be run here; else when it does not do what it should.
    pub(super) fn try_out(self, binary: &Path, version: &str) -> Result<()> {
        self.says_version(binary, version)?;
        let doctor = self.run(binary)?.args(["doctor", "--json"]).capture()?;
        let doctor: serde_json::Value = serde_json::from_str(&doctor).context("doctor --json")?;
        let rows = doctor["rows"].as_array().map_or(0, Vec::len);
        ensure!(rows > 0, "doctor found no rows: {doctor}");
        let bench = ["bench", "ram:64M", "--ios", "1000", "--verify"];
        let bench = self.run(binary)?.args(bench).capture()?;
        ensure!(bench.contains("IOPS"), "bench gave no figure: {bench}");
        println!("--version, doctor ({rows} rows) and bench ran");
        Ok(())
    }

    /// # Errors
    /// When the binary is not of this very version, or cannot be run here.
    pub(super) fn says_version(self, binary: &Path, version: &str) -> Result<()> {
        let said = self.run(binary)?.arg("--version").capture()?;
        let right = format!("{PROGRAM} {version}");
        ensure!(said.trim() == right, "--version: {said:?}, not {right:?}");
        Ok(())
    }

    fn lacks(self, wanted: String, found: &str) -> MachineLacks {
        MachineLacks {
            wanted: format!("{wanted} for {}", self.name),
            found: found.to_owned(),
            remedy: "scripts/setup dist".to_owned(),
        }
    }
}

/// The profile, and how to link for each machine. The same for all, or cargo would build its own tools anew for each.
fn configuration() -> Vec<String> {
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .unwrap_or_default();
    let mut settings = vec![
        format!("profile.{PROFILE}.inherits='release'"),
        format!("profile.{PROFILE}.strip='symbols'"),
        format!("profile.{PROFILE}.debug=false"),
    ];
    for machine in MACHINES {
        let triple = machine.triple();
        // The paths of the packager's machine have no place in the binary.
        settings.push(format!(
            "target.{triple}.rustflags=['--remap-path-prefix={home}/registry/src=registry']"
        ));
        if !machine.is_native() {
            settings.push(format!("target.{triple}.linker='{}'", machine.linker()));
        }
    }
    let flags = settings.into_iter();
    flags
        .flat_map(|setting| ["--config".to_owned(), setting])
        .collect()
}
