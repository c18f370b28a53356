//! The one grammar for devices, used by every command.
//!
//! ```text
//! ram:SIZE[?options]               blocks in memory, emulated in this process
//! null:SIZE[?options]              no blocks: reads move nothing, writes go nowhere
//! file:PATH[?options]              blocks in a file
//! vfio-user:PATH                   a controller behind a UNIX socket
//! nvme-tcp://HOST:PORT/NQN         a controller behind a network
//! pci:BDF                          a real drive
//!
//! options = key=value joined by '&'; for ram, null and file:
//!   lba=512|4096    logical block size in bytes                      (512)
//!   ns=N            namespaces, each of the given size; a file has 1 (1)
//!   profile=P       how long the drive takes: instant, a name of
//!                   `dataplane-emu profile list`, or a TOML file     (instant)
//!   controller=C    inline: in the driver's thread; thread: its own  (inline)
//!   fault=FILE      a script of faults (docs/faults.md)              (none)
//!   log=FILE        a line for each request; FILE.iolog: as fio's    (none)
//!   seed=N          of what profile and script leave to chance       (0)
//!   memory=M        plain, memfd, huge2m, huge1g; only for ram       (plain)
//!   size=SIZE       makes the file if it is missing; only for file   (as found)
//!   direct=D        auto, always, never: past the page cache or not;
//!                   only for file                                    (auto)
//! ```
//!
//! Paths, names and values are percent-decoded. Parsing does no I/O; [`Uri::require_built`] says what this version can open.

mod address;
mod error;
mod options;
mod percent;
#[cfg(test)]
mod tests;

use core::fmt;
use core::str::FromStr;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use media::BlockSize;
use media::file::Direct;
use mem::Backing;

use crate::{limits, size, suggest};

pub use address::{NvmeTcp, PciAddress};
pub use error::UriError;
pub use options::Profile;

use error::KINDS;
use options::Options;

/// Which device a command works on. `Display` gives the shortest text that parses to the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uri {
    /// A controller and its media in this process.
    Emulated(Emulated),
    /// A controller behind a vfio-user UNIX socket.
    VfioUser(PathBuf),
    /// A controller behind NVMe/TCP.
    NvmeTcp(NvmeTcp),
    /// A drive in this machine, by its PCI address.
    Pci(PciAddress),
}

/// A device that this process emulates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulated {
    /// What keeps the blocks of each namespace.
    pub keeps: Keeps,
    /// The logical block size of every namespace.
    pub block_size: BlockSize,
    /// How many namespaces, 1 to [`controller::limits::NAMESPACES_MAX`].
    pub namespaces: u32,
    /// How long commands take.
    pub profile: Profile,
    /// Where the controller runs.
    pub controller: Placement,
    /// A script of faults.
    pub fault: Option<PathBuf>,
    /// Where requests are written down.
    pub log: Option<PathBuf>,
    /// The seed of everything that the profile and the script leave to chance.
    pub seed: u64,
}

/// What keeps the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Memory.
    Ram {
        /// Bytes of each namespace.
        bytes: u64,
        /// Where they come from.
        memory: Backing,
    },
    /// Nothing, with a capacity of so many bytes.
    Null(u64),
    /// A file or a block device.
    File {
        /// Its name.
        path: PathBuf,
        /// Its size in bytes, if it is to be made when it is missing.
        size: Option<u64>,
        /// Whether to go past the page cache.
        direct: Direct,
    },
}

/// Where an emulated controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In the driver's own thread: one core does both halves.
    Inline,
    /// In a thread of its own: two cores, as a drive has its own processor.
    Thread,
}

/// The URI is right, but this version cannot open such a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} is not built yet in this version (wanted by {uri}); devices that work: ram:SIZE, null:SIZE, file:PATH"
)]
pub struct NotBuilt {
    /// What is missing, as in `vfio-user:`.
    pub what: String,
    /// The device that needs it.
    pub uri: String,
}

impl Uri {
    /// Reads a device.
    ///
    /// # Errors
    /// What is wrong, with what is allowed.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        if text.len() > limits::URI_BYTES_MAX {
            return Err(UriError::TooLong { bytes: text.len() });
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(UriError::NoKind {
                found: text.to_owned(),
            });
        };
        let (target, query) = match rest.split_once('?') {
            Some((target, query)) => (target, Some(query)),
            None => (rest, None),
        };
        match kind {
            "ram" => {
                let bytes = capacity("ram", target)?;
                emulated("ram", query, |options| Keeps::Ram {
                    bytes,
                    memory: options.memory,
                })
            }
            "null" => {
                let keeps = Keeps::Null(capacity("null", target)?);
                emulated("null", query, |_| keeps)
            }
            "file" => {
                let path = path("file", target)?;
                emulated("file", query, |options| Keeps::File {
                    path,
                    size: options.size,
                    direct: options.direct,
                })
            }
            "vfio-user" => {
                options::refuse_all("vfio-user", query)?;
                Ok(Self::VfioUser(path("vfio-user", target)?))
            }
            "nvme-tcp" => {
                options::refuse_all("nvme-tcp", query)?;
                Ok(Self::NvmeTcp(NvmeTcp::parse(target)?))
            }
            "pci" => {
                options::refuse_all("pci", query)?;
                Ok(Self::Pci(PciAddress::parse(target)?))
            }
            _ => Err(UriError::UnknownKind {
                kind: kind.to_owned(),
                nearest: suggest::nearest(kind, &KINDS),
            }),
        }
    }

    /// The device, if this version can open its kind.
    ///
    /// # Errors
    /// [`NotBuilt`], which names what is missing.
    pub fn require_built(&self) -> Result<&Emulated, NotBuilt> {
        let missing = match self {
            Self::VfioUser(_) => "vfio-user:".to_owned(),
            Self::NvmeTcp(_) => "nvme-tcp:".to_owned(),
            Self::Pci(_) => "pci:".to_owned(),
            Self::Emulated(device) => return Ok(device),
        };
        Err(NotBuilt {
            what: missing,
            uri: self.to_string(),
        })
    }
}

impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        Self::parse(text)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated(device) => device.fmt(f),
            Self::VfioUser(path) => write!(f, "vfio-user:{}", path_text(path)),
            Self::NvmeTcp(address) => write!(f, "nvme-tcp://{address}"),
            Self::Pci(address) => write!(f, "pci:{address}"),
        }
    }
}

impl fmt::Display for Emulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keeps {
            Keeps::Ram { bytes, .. } => write!(f, "ram:{}", size::Size(*bytes))?,
            Keeps::Null(bytes) => write!(f, "null:{}", size::Size(*bytes))?,
            Keeps::File { path, .. } => write!(f, "file:{}", path_text(path))?,
        }
        options::write(self, f)
    }
}

impl Emulated {
    /// Whether reads and writes move bytes. A figure measured where they do not says so.
    pub const fn moves_data(&self) -> bool {
        !matches!(self.keeps, Keeps::Null(_))
    }

    /// Bytes of one namespace, where the URI says how many.
    pub const fn namespace_bytes(&self) -> Option<u64> {
        match self.keeps {
            Keeps::Ram { bytes, .. } | Keeps::Null(bytes) => Some(bytes),
            Keeps::File { size, .. } => size,
        }
    }

    /// Has every relative path count from `home` instead of from the working directory.
    pub fn resolve_paths(&mut self, home: &Path) {
        let profile = match &mut self.profile {
            Profile::File(path) => Some(path),
            Profile::Instant | Profile::Named(_) => None,
        };
        let kept = match &mut self.keeps {
            Keeps::File { path, .. } => Some(path),
            Keeps::Ram { .. } | Keeps::Null(_) => None,
        };
        let paths = [profile, kept, self.fault.as_mut(), self.log.as_mut()];
        for path in paths.into_iter().flatten() {
            *path = home.join(&*path);
        }
    }
}

fn emulated(
    kind: &'static str,
    query: Option<&str>,
    keeps: impl FnOnce(&Options) -> Keeps,
) -> Result<Uri, UriError> {
    let options = Options::parse(kind, query)?;
    let device = Emulated {
        keeps: keeps(&options),
        block_size: options.block_size,
        namespaces: options.namespaces,
        profile: options.profile,
        controller: options.controller,
        fault: options.fault,
        log: options.log,
        seed: options.seed,
    };
    if matches!(device.keeps, Keeps::File { .. }) && device.namespaces != 1 {
        return Err(UriError::BadValue {
            key: "ns",
            value: device.namespaces.to_string(),
            allowed: "1 for a file; a drive of several files takes several devices".into(),
            nearest: None,
        });
    }
    let block = device.block_size.bytes();
    if let Some(bytes) = device.namespace_bytes()
        && bytes % block != 0
    {
        return Err(UriError::BadTarget {
            kind,
            found: size::Size(bytes).to_string(),
            problem: format!("it is not a multiple of the logical block size (lba={block})"),
            allowed: "whole logical blocks",
        });
    }
    Ok(Uri::Emulated(device))
}

/// The size of a namespace.
fn capacity(kind: &'static str, target: &str) -> Result<u64, UriError> {
    let refuse = |problem: String| UriError::BadTarget {
        kind,
        found: target.to_owned(),
        problem,
        allowed: size::ALLOWED,
    };
    let bytes = size::parse(target).map_err(|error| refuse(error.to_string()))?;
    match bytes {
        0 => Err(refuse("a drive needs at least one logical block".into())),
        1..=limits::NAMESPACE_BYTES_MAX => Ok(bytes),
        _ => Err(refuse(format!(
            "a namespace has at most {} bytes",
            limits::NAMESPACE_BYTES_MAX
        ))),
    }
}

/// A path: percent-encoded, relative or absolute, or in the form `///absolute/path`.
fn path(kind: &'static str, target: &str) -> Result<PathBuf, UriError> {
    let refuse = |problem: &str| UriError::BadTarget {
        kind,
        found: target.to_owned(),
        problem: problem.to_owned(),
        allowed: "a path of at most 4095 bytes, with special characters as %XX",
    };
    let bare = match target.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => {
            return Err(refuse(
                "after two slashes comes a host, and this device has none",
            ));
        }
        None => target,
    };
    let bytes =
        percent::decode(bare).map_err(|_| refuse("'%' needs two hexadecimal digits, not 00"))?;
    match bytes.len() {
        0 => Err(refuse("the path is missing")),
        1..=limits::PATH_BYTES_MAX => Ok(PathBuf::from(OsString::from_vec(bytes))),
        _ => Err(refuse("the path is too long")),
    }
}

/// The text of a path. A second leading slash is escaped, since two plain ones announce a host.
fn path_text(path: &std::path::Path) -> String {
    let text = percent::encode(path.as_os_str().as_bytes());
    match text.strip_prefix("//") {
        Some(rest) => format!("/%2F{rest}"),
        None => text,
    }
}
