//! The files that `bench` reads and writes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;

use crate::failure::Failure;
use crate::files;
use crate::limits;

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
    fs::write(path, text).map_err(|error| refused(path, &error))
}

/// The text of a report.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    files::text(path, limits::REPORT_FILE_BYTES_MAX)
        .map_err(|unreadable| unreadable.failure(path, "a report that can be read"))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(anyhow!(
        "wanted to write {}, found: {error}; name a file that can be written",
        path.display()
    ))
}
