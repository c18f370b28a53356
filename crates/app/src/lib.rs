//! The `dataplane-emu` program, as a library so that tests and fuzz targets reach its parsers.
//!
//! # For
//! The front desk: it reads what a user typed, opens the devices meant, runs a command and says how it went.
//!
//! # In
//! Arguments, device URIs ([`uri`]), the files named on the command line, and for `doctor` the texts under /proc and /sys.
//!
//! # Out
//! Text on the writers handed in, files asked for, and an [`Exit`] code: 0 pass, 1 short of what was wanted, 2 usage,
//! 3 this machine or this version lacks something.
//!
//! # Never
//! No NVMe meaning, no statistics, no measuring loop: rooms below have those. Nothing prints but through the writers, progress and
//! the log of a served drive excepted: these go to stderr as they come.
//!
//! # Limits
//! `limits.rs`.
//!
//! # Read first
//! [`uri`], then `cli.rs`, then the command in `commands/`.
#![forbid(unsafe_code)]

mod cli;
mod clock;
mod commands;
mod device;
pub mod doctor;
mod failure;
mod files;
pub mod lab;
mod legacy;
pub mod limits;
mod number;
pub mod size;
pub mod suggest;
mod telemetry;
pub mod uri;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser as _;

pub use failure::Exit;
use failure::Failure;

/// The program's version. Who builds it may add the commit: `DATAPLANE_EMU_VERSION="0.1.0 (4f2a9c1)" cargo build`.
pub const VERSION: &str = match option_env!("DATAPLANE_EMU_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Runs the program with its arguments, the first being its own name. Results go to `out`, messages to `err`.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = if legacy::is_meant(&arguments) {
        legacy::run(&arguments, out)
    } else {
        match cli::Cli::try_parse_from(arguments) {
            Ok(cli) => commands::run(cli.command, out),
            Err(error) => return failure::of_usage(&error),
        }
    };
    let result = result.and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => exit,
        // Whoever read our output has seen enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Pass,
        Err(failure) => {
            let _ = writeln!(err, "error: {failure}"); // nowhere is left to complain to
            failure.exit()
        }
    }
}
