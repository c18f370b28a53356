//! `bench`: measured figures against their bars.

use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::process::Run;
use crate::tools::{MachineLacks, on_path};
use crate::workshop::Workshop;

/// Measured figures against their bars
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, clap::Subcommand)]
enum Scenario {
    /// Controller, driver and queue pair in one process, against the physics of this machine
    ///
    /// Builds its own ceilings (a bare queue-pair loop, memcpy over the same working set, core-to-core ping-pong),
    /// runs in interleaved pairs and prints measured, wanted, verdict. The last line is "bars: N of M met"; the exit
    /// code is 1 when a bar is missed. Takes minutes and wants a quiet machine.
    Spine {
        /// Short runs: shows that everything works, its verdicts mean little
        #[arg(long)]
        quick: bool,
        /// Only the bars that gate every change: instruction counts, system calls, start-up, memory
        #[arg(long)]
        gates: bool,
        /// Also write every sample to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Further arguments for the bench itself, after `--`
        #[arg(last = true)]
        rest: Vec<String>,
    },
    /// The drive: the FUSE door, file media and timing profiles, each beside the same work without it
    ///
    /// Mounts a RAM device and a file system that does nothing, and has fio read from both in turns; reads a file through
    /// file media and through fio's io_uring engine; holds timing profiles against their sources. The last line is
    /// "bars: N of M met"; the exit code is 1 when a bar is missed. Wants root, FUSE, fio and a quiet machine.
    Drive {
        /// Short runs: shows that everything works, its verdicts mean little
        #[arg(long)]
        quick: bool,
        /// Only the bars that gate every change: instruction counts and virtual time
        #[arg(long)]
        gates: bool,
        /// Also write every sample to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Further arguments for the bench itself, after `--`
        #[arg(last = true)]
        rest: Vec<String>,
    },
    /// Every byte of every read checked: all patterns, 512 B to 1 MiB, depths 1 to 1024, both block sizes
    ///
    /// Runs `dataplane-emu bench --verify` once for each job and prints how many passed. Takes minutes and 4 GiB of memory.
    Verify,
}

impl Options {
    /// Runs the scenario.
    ///
    /// # Errors
    /// When a bar is missed.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        match &self.scenario {
            Scenario::Verify => super::verify::run(workshop),
            Scenario::Spine {
                quick,
                gates,
                json,
                rest,
            } => spine(workshop)
                .args(arguments(*quick, *gates, json.as_deref(), rest)?)
                .run(),
            Scenario::Drive {
                quick,
                gates,
                json,
                rest,
            } => super::drive::run(
                workshop,
                *gates,
                &arguments(*quick, *gates, json.as_deref(), rest)?,
            ),
        }
    }
}

/// The arguments of a program that measures bars.
fn arguments(
    quick: bool,
    gates: bool,
    json: Option<&Path>,
    rest: &[String],
) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = Vec::new();
    for (wanted, flag) in [(quick, "--quick"), (gates, "--gates")] {
        arguments.extend(wanted.then(|| flag.into()));
    }
    if let Some(file) = json {
        // Relative to where the command was given, not to where cargo runs.
        arguments.extend(["--json".into(), std::path::absolute(file)?.into()]);
    }
    arguments.extend(rest.iter().map(OsString::from));
    Ok(arguments)
}

/// The bars that gate every change: they do not depend on how quiet the machine is.
///
/// # Errors
/// [`MachineLacks`] without valgrind; otherwise when a bar is missed.
pub(crate) fn gates(workshop: &Workshop) -> Result<()> {
    if !on_path("valgrind") {
        return Err(MachineLacks {
            wanted: "valgrind, to count instructions".to_owned(),
            found: "none".to_owned(),
            remedy: "install the package valgrind".to_owned(),
        }
        .into());
    }
    spine(workshop).arg("--gates").run()?;
    super::drive::run(workshop, true, &["--gates".into()])
}

fn spine(workshop: &Workshop) -> Run {
    workshop.cargo("run").args([
        "--release",
        "--quiet",
        "--package",
        "dpe-bench",
        "--bin",
        "spine",
        "--",
    ])
}
