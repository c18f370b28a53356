//! The files that the demo writes, opened before anything takes time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::failure::Failure;

/// A file that can be written. What was in it stays until there is something new.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| refused(path, &error))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
        })
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut file = &self.file;
        // A pipe or a terminal has no length, and needs none.
        let _ = file.set_len(0);
        file.write_all(text.as_bytes())
            .map_err(|error| refused(&self.path, &error))
    }
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(anyhow!(
        "wanted to write {}, found: {error}; name a file that can be written",
        path.display()
    ))
}

/// Where the scorecard goes beside the text.
#[derive(Debug)]
pub(super) struct Outputs {
    json: Option<Output>,
    html: Option<Output>,
    json_is_printed: bool,
}

impl Outputs {
    /// Opens what is asked for; `-` as `json` is the standard output, and as `html` refused.
    pub(super) fn open(json: Option<&Path>, html: Option<&Path>) -> Result<Self, Failure> {
        let is_dash = |path: &Path| path.as_os_str() == "-";
        if html.is_some_and(is_dash) {
            return Err(Failure::usage(anyhow!(
                "--html -: the page is not printed; name a file (--html ./- for one that is called so)"
            )));
        }
        let json_is_printed = json.is_some_and(is_dash);
        let json = json.filter(|_| !json_is_printed);
        Ok(Self {
            json: json.map(Output::open).transpose()?,
            html: html.map(Output::open).transpose()?,
            json_is_printed,
        })
    }

    /// Whether the JSON form takes the text's place.
    pub(super) const fn json_is_printed(&self) -> bool {
        self.json_is_printed
    }

    /// Writes the JSON form, if it is wanted.
    pub(super) fn write_json(&self, text: &str, out: &mut dyn Write) -> Result<(), Failure> {
        if self.json_is_printed {
            writeln!(out, "{text}")?;
        }
        self.json
            .as_ref()
            .map_or(Ok(()), |output| output.write(&format!("{text}\n")))
    }

    /// Writes the page, if it is wanted.
    pub(super) fn write_html(&self, text: &str) -> Result<(), Failure> {
        self.html
            .as_ref()
            .map_or(Ok(()), |output| output.write(text))
    }
}
