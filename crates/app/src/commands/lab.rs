//! `lab`: reads a lab file without serving it, and prints the form of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use media::FileError;

use super::serve::human;
use super::serve::point::{self, Point};
use crate::device;
use crate::failure::{Exit, Failure};
use crate::files::{Fresh, Uses};
use crate::lab::{EXAMPLE, Lab, NamespaceLine, schema};
use crate::telemetry;
use crate::uri::{Emulated, Keeps, Placement};

/// Check a lab file, or print an example of one or its JSON schema
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu lab example > lab.toml
  dataplane-emu lab check lab.toml
  dataplane-emu lab schema > lab.schema.json
  dataplane-emu serve lab.toml

docs/serve.md describes the file.")]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    /// Read a lab file and everything that it names, making nothing; print what would be served
    Check {
        /// The lab file
        file: PathBuf,
    },
    /// Print an example
    Example,
    /// Print the JSON schema, for editors
    Schema,
}

/// Checks or prints.
pub(crate) fn run(arguments: &LabArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &arguments.command {
        LabCommand::Check { file } => return check(file, out),
        LabCommand::Example => out.write_all(EXAMPLE.as_bytes())?,
        LabCommand::Schema => out.write_all(schema().as_bytes())?,
    }
    Ok(Exit::Pass)
}

/// Finds everything that is wrong, not only the first.
fn check(file: &Path, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (lab, error) = Lab::load_all(file);
    let mut problems: Vec<String> = error.iter().map(ToString::to_string).collect();
    let mut refuse = |line: Option<usize>, problem: String| {
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        problems.push(format!("{}: {line}{problem}", file.display()));
    };
    let mut index = 0;
    for line in &lab.namespaces {
        match look(&line.device) {
            Ok(found) => print_namespaces(line, &found, &mut index, out)?,
            Err(problem) => refuse(line.line, format!("namespace {}: {problem}", line.id)),
        }
    }
    match &lab.mount {
        None if error.is_some() => {}
        None => writeln!(out, "mount: none; serve needs --mount DIR")?,
        Some(mount) => {
            let state = look_at_point(&mount.path).unwrap_or_else(|problem| {
                refuse(lab.lines.mount, format!("mount.path: {problem}"));
                String::new()
            });
            writeln!(out, "mount: {}{state}", mount.path.display())?;
        }
    }
    let named = [&lab.telemetry.v1, &lab.telemetry.v2];
    let pages = telemetry::look(&lab.telemetry).into_iter().zip(named);
    for ((number, (page, named)), line) in (1..).zip(pages).zip(lab.lines.telemetry) {
        // Where nobody named one, what stands in the way of ours is no mistake of this file.
        if let Some(problem) = page.filter(|_| named.is_some()) {
            refuse(line, format!("telemetry.v{number}: {problem}"));
        }
    }
    for clash in Uses::of_lab(&lab).clashes() {
        refuse(clash.line, clash.words);
    }
    if !problems.is_empty() {
        return Err(Failure::usage(anyhow!("{}", problems.join("\nerror: "))));
    }
    let place = match device::placement(&lab) {
        Placement::Inline => "in the threads that take requests",
        Placement::Thread => "in a thread of its own",
    };
    writeln!(out, "controller: {place}")?;
    writeln!(out, "{}: as it should be", file.display())?;
    Ok(Exit::Pass)
}

/// What is known of a device that could be opened.
struct Found {
    bytes: u64,
    remarks: Vec<String>,
}

fn print_namespaces(
    line: &NamespaceLine,
    found: &Found,
    index: &mut usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for id in line.id..line.id + line.device.namespaces {
        let (bytes, device) = (human(found.bytes), &line.device);
        writeln!(out, "namespace {id}: nvme_raw_{index}, {bytes}, {device}")?;
        *index += 1;
    }
    for remark in &found.remarks {
        writeln!(out, "  {remark}")?;
    }
    Ok(())
}

/// Opens what a device names, as far as that makes nothing.
fn look(device: &Emulated) -> Result<Found, String> {
    let mut probe = device.clone();
    let mut remarks = Vec::new();
    for path in device::logs(device) {
        folder_of(&path)?;
    }
    probe.log = None;
    if let Keeps::File { path, size, .. } = &device.keeps {
        let empty = fs::metadata(path).map_or(true, |found| found.is_file() && found.len() == 0);
        if let Some(bytes) = size.filter(|_| empty) {
            folder_of(path)?;
            remarks.push(format!("{} will be made", path.display()));
            // Profile and script are still to be looked at.
            probe.keeps = Keeps::Null(bytes);
        }
    }
    // Nothing is made, so nothing is to be taken away.
    let mut fresh = Fresh::default();
    match device::open_media(&[&probe], &mut fresh) {
        Ok(opened) => {
            let opened: Vec<device::Opened> = opened.into_iter().flatten().collect();
            let bytes =
                |one: &device::Opened| one.media.blocks().get() * one.media.block_size().bytes();
            let size = opened.first().map_or(0, bytes);
            remarks.extend(opened.into_iter().flat_map(|one| one.remarks));
            Ok(Found {
                bytes: size,
                remarks,
            })
        }
        Err(failure) => match in_use(&failure) {
            Some((path, reason)) => Ok(Found {
                bytes: fs::metadata(path).map_or(0, |found| found.len()),
                remarks: vec![reason],
            }),
            None => Err(failure.to_string()),
        },
    }
}

/// A file that another process uses now is no mistake in the lab.
fn in_use(failure: &Failure) -> Option<(&Path, String)> {
    let (Failure::Environment(error) | Failure::Usage(error)) = failure else {
        return None;
    };
    match error.downcast_ref() {
        Some(error @ FileError::InUse { path, .. }) => Some((path, error.to_string())),
        _ => None,
    }
}

/// Whether a file could be made there.
fn folder_of(path: &Path) -> Result<(), String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.is_dir() {
        return Err(format!(
            "{}: wanted a file, found a directory",
            path.display()
        ));
    }
    let rights = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, rights).map_err(|errno| {
        let error = std::io::Error::from(errno);
        format!(
            "{}: wanted to make it, found of its directory: {error}",
            path.display()
        )
    })
}

/// What is to be said of a mount point, or what is wrong with it.
fn look_at_point(path: &Path) -> Result<String, String> {
    match point::look(path) {
        Point::Served => return Ok(", in use now by another serve".to_owned()),
        Point::Dead => return Ok(", with a dead mount that serve takes away".to_owned()),
        Point::Free => {}
    }
    let wrong = |found: &str| {
        format!(
            "{}: wanted an empty directory, found: {found}",
            path.display()
        )
    };
    let mut entries = fs::read_dir(path).map_err(|error| wrong(&error.to_string()))?;
    match entries.next() {
        None => Ok(String::new()),
        Some(_) => Err(wrong("it is not empty")),
    }
}
