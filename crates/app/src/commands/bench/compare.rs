//! `bench diff`: whether a later report is faster than an earlier one.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bench::report::Report;
use bench::{diff, fio_json, text};

use super::files;
use crate::failure::{Exit, Failure};

/// Compare two reports of the same work: faster, slower or no difference, with intervals that all hold together with 95 %
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  dataplane-emu bench ram:1G --repeats 10 --json before.json
  dataplane-emu bench ram:1G --repeats 10 --json after.json
  dataplane-emu bench diff before.json after.json

Exit code 1 when any figure is slower, 2 when the reports are about different work.")]
pub(super) struct DiffArguments {
    /// The earlier report, written by bench --json
    #[arg(value_name = "A.json")]
    earlier: PathBuf,

    /// The later report
    #[arg(value_name = "B.json")]
    later: PathBuf,
}

/// Reads both reports and prints the comparison.
pub(super) fn run(arguments: &DiffArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let earlier = report(&arguments.earlier)?;
    let later = report(&arguments.later)?;
    let diff = diff::compare(&earlier, &later).map_err(Failure::usage)?;
    write!(out, "{}", text::diff(&diff))?;
    Ok(if diff.has_regression() {
        Exit::Short
    } else {
        Exit::Pass
    })
}

fn report(path: &Path) -> Result<Report, Failure> {
    let text = files::read(path)?;
    fio_json::parse(&text)
        .with_context(|| {
            format!(
                "{}: no report of ours; name a file written by bench --json",
                path.display()
            )
        })
        .map_err(Failure::usage)
}
