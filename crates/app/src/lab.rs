//! `lab.toml`: what `serve` serves, written down.

mod error;
mod form;
mod load;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::uri::{Emulated, Keeps};

pub use error::LabError;
pub use form::schema;

/// The version of the format. A file that says another is refused, never guessed at.
pub const VERSION: u32 = 1;

/// An example that is right, printed by `lab example` and checked by a test.
pub const EXAMPLE: &str = include_str!("lab/example.toml");

/// The name of a telemetry file that stands for no file.
pub const NO_TELEMETRY: &str = "none";

/// A drive to serve and the doors that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lab {
    /// How the controller presents itself.
    pub controller: ControllerSection,
    /// Its namespaces, in order of their identifiers.
    pub namespaces: Vec<NamespaceLine>,
    /// Where its files appear.
    pub mount: Option<MountSection>,
    /// What other programs may read while it runs.
    pub telemetry: TelemetrySection,
    /// The file that it was read from.
    pub file: Option<PathBuf>,
    /// Where that file names what.
    pub lines: Lines,
}

/// The lines of a lab file on which something stands. The first is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// `mount.path`.
    pub mount: Option<usize>,
    /// `telemetry.v1` and `telemetry.v2`.
    pub telemetry: [Option<usize>; 2],
}

/// What other programs may read while the drive is served: docs/telemetry.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySection {
    /// The file of version 1; its own place when left out, [`NO_TELEMETRY`] for no file.
    pub v1: Option<PathBuf>,
    /// The file of version 2, in the same way.
    pub v2: Option<PathBuf>,
}

/// One namespace, or several alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceLine {
    /// The first identifier; a device with `ns=N` takes N in a row.
    pub id: u32,
    /// What keeps the blocks.
    pub device: Emulated,
    /// The line of the lab file that names it.
    pub line: Option<usize>,
}

/// How the controller presents itself. What is left out keeps its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerSection {
    /// Serial number: at most 20 printable ASCII characters.
    pub serial: Option<String>,
    /// Model number: at most 40 printable ASCII characters.
    pub model: Option<String>,
    /// I/O queue pairs offered: 1 to [`controller::limits::QUEUE_PAIRS_MAX`].
    pub queue_pairs: Option<u16>,
    /// The largest transfer as a power of two of 4 KiB pages: 1 to [`controller::limits::TRANSFER_PAGES_SHIFT_MAX`].
    pub transfer_pages_shift: Option<u8>,
}

/// A FUSE mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSection {
    /// An empty directory. A relative one counts from the directory of the lab file.
    pub path: PathBuf,
    /// Whether users other than the server's may use it.
    pub allow_other: bool,
    /// Threads that take requests: 1 to [`limits::MOUNT_THREADS_MAX`]; two when left out.
    pub threads: Option<usize>,
}

impl MountSection {
    /// A mount with nothing said about it.
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            allow_other: false,
            threads: None,
        }
    }
}

impl Lab {
    /// A lab of nothing yet, for flags to fill.
    pub fn empty() -> Self {
        Self {
            controller: ControllerSection::default(),
            namespaces: Vec::new(),
            mount: None,
            telemetry: TelemetrySection::default(),
            file: None,
            lines: Lines::default(),
        }
    }

    /// Adds a device's namespaces, from `id` on or behind the highest there is.
    ///
    /// # Errors
    /// What is wrong with the identifiers, or with a file that another namespace has already.
    pub fn add(&mut self, device: Emulated, id: Option<u32>) -> Result<(), String> {
        self.add_from(device, id, None)
    }

    /// As [`add`](Self::add), from a line of a lab file.
    fn add_from(
        &mut self,
        device: Emulated,
        id: Option<u32>,
        line: Option<usize>,
    ) -> Result<(), String> {
        let end = |line: &NamespaceLine| line.id + line.device.namespaces;
        let first = id.unwrap_or_else(|| self.namespaces.iter().map(end).max().unwrap_or(1));
        let most = controller::limits::NAMESPACES_MAX;
        let last = first.checked_add(device.namespaces - 1);
        if first == 0 || last.is_none_or(|last| last > most) {
            let count = device.namespaces;
            return Err(format!("{count} namespace(s) from {first} on do not fit"));
        }
        let line = NamespaceLine {
            id: first,
            device,
            line,
        };
        for other in &self.namespaces {
            if other.id < end(&line) && first < end(other) {
                return Err(format!("{first} is taken by {}", other.device));
            }
            if let Some(file) =
                files(&line.device).find(|&file| files(&other.device).any(|other| other == file))
            {
                return Err(format!("{} is in use by {}", file.display(), other.device));
            }
        }
        self.namespaces.push(line);
        self.namespaces.sort_by_key(|line| line.id);
        Ok(())
    }
}

/// The files that a device changes: no other may.
fn files(device: &Emulated) -> impl Iterator<Item = &Path> {
    let kept = match &device.keeps {
        Keeps::File { path, .. } => Some(path.as_path()),
        Keeps::Ram { .. } | Keeps::Null(_) => None,
    };
    kept.into_iter().chain(device.log.as_deref())
}
