//! `profile`: the published timing profiles, and one made from measurements of a drive.

mod fio;
mod fit;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use media::timing::{Load, Profile, Seen, closed_loop};

use crate::failure::{Exit, Failure};
use crate::files::{self, Uses};
use crate::{limits, suggest};

use fio::Point;

/// Files that a profile is fitted to at most: ten depths of ten sizes, both ways and mixed.
const FILES_MAX: usize = 300;

/// Requests of a loop in virtual time: the mean of a long tail settles, in a fraction of a second.
const VIRTUAL_REQUESTS: u32 = 100_000;

/// List and show timing profiles, or fit one to fio's measurements of a drive
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu profile list
  dataplane-emu profile show aws-c7gd > mine.toml
  dataplane-emu profile fit qd1.json qd32.json large.json -o mine.toml
  dataplane-emu bench 'ram:1G?profile=./mine.toml'

docs/profiles.md explains the model, every key, and how to measure.")]
pub(crate) struct ProfileArguments {
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProfileCommand {
    /// Print the published profiles, one in a line
    List,
    /// Print the text of a published profile, with its source and what was inferred
    Show {
        /// Its name
        name: String,
    },
    /// Make a profile from fio's JSON output: jobs at several depths and block sizes
    Fit {
        /// Files that fio wrote with --output-format=json
        #[arg(required = true, value_name = "FIO.json")]
        files: Vec<PathBuf>,
        /// Where to write the profile: a new file, or one that is empty or holds a profile [default: standard output, the
        /// comparison as comments]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The profile's name
        #[arg(long, default_value = "fitted")]
        name: String,
    },
}

/// Lists, shows or fits.
pub(crate) fn run(arguments: &ProfileArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &arguments.command {
        ProfileCommand::List => {
            for profile in Profile::names().filter_map(Profile::named) {
                writeln!(out, "{:<16} {}", profile.name(), profile.summary())?;
            }
        }
        ProfileCommand::Show { name } => show(name, out)?,
        ProfileCommand::Fit {
            files,
            output,
            name,
        } => fit(files, output.as_deref(), name, out)?,
    }
    Ok(Exit::Pass)
}

fn show(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(text) = Profile::text(name) else {
        let names: Vec<&str> = Profile::names().collect();
        let meant = suggest::nearest(name, &names)
            .map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        let allowed = names.join(", ");
        return Err(Failure::usage(anyhow!(
            "profile show: no profile {name:?}; allowed: {allowed}{meant}"
        )));
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}

fn fit(
    files: &[PathBuf],
    output: Option<&Path>,
    name: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if files.len() > FILES_MAX {
        return Err(Failure::usage(anyhow!(
            "profile fit: {} files; allowed: at most {FILES_MAX}",
            files.len()
        )));
    }
    check_uses(files, output)?;
    let mut points = Vec::new();
    for file in files {
        points.extend(read(file)?);
    }
    let text = fit::text(name, &points).map_err(Failure::usage)?;
    let profile = Profile::from_toml(&text)
        .context("profile fit")
        .map_err(Failure::usage)?;
    let comparison = comparison(&profile, &points);
    let Some(path) = output else {
        out.write_all(text.as_bytes())?;
        writeln!(out)?;
        for line in comparison.lines() {
            writeln!(out, "# {line}")?;
        }
        return Ok(());
    };
    fs::write(path, &text)
        .with_context(|| format!("wanted to write {}", path.display()))
        .map_err(Failure::environment)?;
    out.write_all(comparison.as_bytes())?;
    writeln!(out, "written to {}", path.display())?;
    Ok(())
}

/// Refuses to write over anything but an earlier profile.
fn check_uses(inputs: &[PathBuf], output: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = output else {
        return Ok(());
    };
    let mut uses = Uses::default();
    for input in inputs {
        uses.read(input, "measurements of fio");
    }
    uses.write(path, "the fitted profile (--output)");
    uses.check()?;
    // A terminal or a pipe holds nothing.
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let text = files::text(path, limits::LAB_FILE_BYTES_MAX).unwrap_or_default();
    if Profile::from_toml(&text).is_ok() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "--output: wanted a new file, or one that is empty or holds a profile, found that {} holds something else; name \
         another file, or remove it first",
        path.display()
    )))
}

/// The points of one file.
fn read(path: &Path) -> Result<Vec<Point>, Failure> {
    let text = files::text(path, limits::REPORT_FILE_BYTES_MAX)
        .map_err(|unreadable| unreadable.failure(path, "measurements of fio"))?;
    let label = path
        .file_stem()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    fio::points(&label, &text)
        .map_err(|wrong| Failure::usage(anyhow!("{}: {wrong}", path.display())))
}

/// What was measured beside what the profile gives in virtual time.
fn comparison(profile: &Profile, points: &[Point]) -> String {
    let mut text = format!(
        "{:<24} {:>5} {:>8} {:>6} {:>10} {:>10} {:>7} {:>10} {:>10} {:>7}\n",
        "input", "QD", "bytes", "reads", "IOPS", "fitted", "off", "mean us", "fitted", "off"
    );
    for point in points {
        let load = Load {
            depth: point.depth,
            block_bytes: point.block_bytes,
            read_percent: point.read_percent(),
            requests: VIRTUAL_REQUESTS,
        };
        let Seen { iops, mean_us } = closed_loop(profile, &load, 1);
        let off = |found: f64, wanted: f64| format!("{:+.1} %", (found / wanted - 1.0) * 100.0);
        let label: String = point.label.chars().take(24).collect();
        text += &format!(
            "{label:<24} {:>5} {:>8} {:>4.0} % {:>10.0} {iops:>10.0} {:>7} {:>10.2} {mean_us:>10.2} {:>7}{}\n",
            point.depth,
            point.block_bytes,
            point.read_percent(),
            point.iops(),
            off(iops, point.iops()),
            point.mean_us(),
            off(mean_us, point.mean_us()),
            point.remark(),
        );
    }
    text
}
