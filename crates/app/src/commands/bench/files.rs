//! The files that `bench` reads and writes.

use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;

use anyhow::anyhow;

use crate::failure::Failure;
use crate::limits;
use crate::size::Size;

/// Whether a path means the standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Finds out, before anything takes time, that a file could not be written for want of its folder.
pub(super) fn check_folder(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| !is_stdout(path)) else {
        return Ok(());
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(Failure::environment(anyhow!(
            "wanted to write {}, found no folder {}; make it first",
            path.display(),
            folder.display()
        ))),
        _ if path.is_dir() => Err(Failure::environment(anyhow!(
            "wanted to write {}, found a folder of that name; name a file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes a text to a file, or to `out` for `-`.
pub(super) fn write(path: &Path, text: &str, out: &mut dyn Write) -> Result<(), Failure> {
    if is_stdout(path) {
        writeln!(out, "{}", text.trim_end())?;
        return Ok(());
    }
    fs::write(path, text).map_err(|error| refused("write", path, &error))
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let most = limits::REPORT_FILE_BYTES_MAX;
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(most + 1).read_to_string(&mut text))
        .map_err(|error| refused("read", path, &error))?;
    if text.len() as u64 > most {
        return Err(Failure::usage(anyhow!(
            "{}: too large; allowed: a report of at most {} bytes",
            path.display(),
            Size(most)
        )));
    }
    Ok(text)
}

fn refused(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::environment(anyhow!(
        "wanted to {verb} {}, found: {error}; name a file that can be {}",
        path.display(),
        if verb == "read" { "read" } else { "written" }
    ))
}
