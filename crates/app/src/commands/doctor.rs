//! `doctor`: prints what this machine has and lacks.

use std::io::Write;

use crate::doctor;
use crate::failure::{Exit, Failure};

/// Columns where the terminal does not say how many it has.
const WIDTH: usize = 100;

/// What this machine has and lacks for emulated and real devices, what that costs, what to do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu doctor
  dataplane-emu doctor --json | jq '.rows[] | select(.status != \"have\")'

Each row says have, partly, lacks or unknown. Nothing is changed, no privilege is needed.")]
pub(crate) struct DoctorArguments {
    /// Print one JSON document: rows of name, status, found, checked, cost, do
    #[arg(long)]
    json: bool,
}

/// Looks and prints.
pub(crate) fn run(arguments: &DoctorArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let report = doctor::examine();
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        doctor::text::write(out, &report, width())?;
    }
    Ok(Exit::Pass)
}

/// The terminal's columns, at least as many as one column of words needs.
fn width() -> usize {
    const NARROWEST: usize = 60;
    let columns = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).map(|size| size.ws_col);
    columns
        .ok()
        .filter(|&columns| columns > 0)
        .map_or(WIDTH, |columns| usize::from(columns).max(NARROWEST))
}
