//! The options of emulated devices: one table says their keys; reading and printing go by it.

use core::fmt;
use std::path::PathBuf;

use media::BlockSize;
use media::file::Direct;
use mem::Backing;

use super::{Emulated, Keeps, Placement, UriError, path_text, percent};
use crate::size::{self, Size};
use crate::{limits, suggest};

/// The keys of an emulated device of any kind.
const KEYS: [&str; 7] = ["lba", "ns", "profile", "controller", "fault", "log", "seed"];

/// The keys that only a device with its blocks in memory has, or in a file.
fn more_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "ram" => &["memory"],
        "file" => &["size", "direct"],
        _ => &[],
    }
}

const DIRECTS: [(&str, Direct); 3] = [
    ("auto", Direct::Auto),
    ("always", Direct::Always),
    ("never", Direct::Never),
];

const MEMORIES: [(&str, Backing); 4] = [
    ("plain", Backing::Anonymous),
    ("memfd", Backing::Memfd),
    ("huge2m", Backing::HugePages2M),
    ("huge1g", Backing::HugePages1G),
];

const PLACEMENTS: [(&str, Placement); 2] =
    [("inline", Placement::Inline), ("thread", Placement::Thread)];

/// How long the commands of an emulated drive take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profile {
    /// No longer than the work itself.
    Instant,
    /// As a drive of this name would.
    Named(String),
    /// As this file says.
    File(PathBuf),
}

/// What the options say, or their defaults.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) block_size: BlockSize,
    pub(super) namespaces: u32,
    pub(super) profile: Profile,
    pub(super) memory: Backing,
    pub(super) controller: Placement,
    pub(super) fault: Option<PathBuf>,
    pub(super) log: Option<PathBuf>,
    pub(super) seed: u64,
    pub(super) size: Option<u64>,
    pub(super) direct: Direct,
}

impl Options {
    pub(super) fn parse(kind: &'static str, query: Option<&str>) -> Result<Self, UriError> {
        let mut options = Self {
            block_size: BlockSize::B512,
            namespaces: 1,
            profile: Profile::Instant,
            memory: Backing::Anonymous,
            controller: Placement::Inline,
            fault: None,
            log: None,
            seed: 0,
            size: None,
            direct: Direct::Auto,
        };
        let keys = [&KEYS[..], more_keys(kind)].concat();
        let mut seen = Vec::with_capacity(keys.len());
        for (key, value) in pairs(kind, query)? {
            if !keys.contains(&key.as_str()) {
                return Err(unknown(kind, &key, &value, &keys));
            }
            if seen.contains(&key) {
                return Err(UriError::Repeated { key });
            }
            options.set(&key, &value)?;
            seen.push(key);
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), UriError> {
        match key {
            "lba" => self.block_size = block_size(value)?,
            "ns" => self.namespaces = namespaces(value)?,
            "profile" => self.profile = profile(value)?,
            "controller" => self.controller = choice("controller", value, &PLACEMENTS)?,
            "memory" => self.memory = choice("memory", value, &MEMORIES)?,
            "fault" => self.fault = Some(file_name("fault", value)?),
            "log" => self.log = Some(file_name("log", value)?),
            "seed" => self.seed = seed(value)?,
            "size" => self.size = Some(file_size(value)?),
            "direct" => self.direct = choice("direct", value, &DIRECTS)?,
            _ => unreachable!("every key of the tables has its arm"),
        }
        Ok(())
    }
}

/// Prints the options that differ from their defaults.
pub(super) fn write(device: &Emulated, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut separator = '?';
    let mut option = |key: &str, value: &dyn fmt::Display| {
        let written = write!(f, "{separator}{key}={value}");
        separator = '&';
        written
    };
    if device.block_size != BlockSize::B512 {
        option("lba", &device.block_size.bytes())?;
    }
    if device.namespaces != 1 {
        option("ns", &device.namespaces)?;
    }
    match &device.profile {
        Profile::Instant => {}
        Profile::Named(name) => option("profile", name)?,
        Profile::File(path) => option("profile", &path_text(path))?,
    }
    if device.controller != Placement::Inline {
        option("controller", &name_of(device.controller, &PLACEMENTS))?;
    }
    if let Some(path) = &device.fault {
        option("fault", &path_text(path))?;
    }
    if let Some(path) = &device.log {
        option("log", &path_text(path))?;
    }
    if device.seed != 0 {
        option("seed", &device.seed)?;
    }
    match device.keeps {
        Keeps::Ram { memory, .. } if memory != Backing::Anonymous => {
            option("memory", &name_of(memory, &MEMORIES))
        }
        Keeps::File { size, direct, .. } => {
            if let Some(bytes) = size {
                option("size", &Size(bytes))?;
            }
            if direct != Direct::Auto {
                option("direct", &name_of(direct, &DIRECTS))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Refuses the options of a device that has none.
pub(super) fn refuse_all(kind: &'static str, query: Option<&str>) -> Result<(), UriError> {
    match pairs(kind, query)?.into_iter().next() {
        Some((key, value)) => Err(unknown(kind, &key, &value, &[])),
        None => Ok(()),
    }
}

/// The options as decoded keys and values. An empty query holds none.
fn pairs(kind: &'static str, query: Option<&str>) -> Result<Vec<(String, String)>, UriError> {
    let query = query.unwrap_or_default();
    query
        .split('&')
        .filter(|option| !option.is_empty())
        .map(|option| pair(kind, option))
        .collect()
}

fn pair(kind: &'static str, option: &str) -> Result<(String, String), UriError> {
    let no_value = || UriError::NoValue {
        kind,
        option: option.to_owned(),
    };
    let (key, value) = option.split_once('=').ok_or_else(no_value)?;
    let decode = |text: &str| {
        percent::decode(text)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(no_value)
    };
    Ok((decode(key)?, decode(value)?))
}

fn unknown(kind: &'static str, key: &str, value: &str, allowed: &[&'static str]) -> UriError {
    UriError::UnknownKey {
        kind,
        key: key.to_owned(),
        value: value.to_owned(),
        allowed: allowed.to_vec(),
        nearest: suggest::nearest(key, allowed),
    }
}

fn block_size(value: &str) -> Result<BlockSize, UriError> {
    value
        .parse()
        .ok()
        .and_then(BlockSize::from_bytes)
        .ok_or_else(|| UriError::BadValue {
            key: "lba",
            value: value.to_owned(),
            allowed: "512, 4096 (bytes of a logical block)".into(),
            nearest: None,
        })
}

fn namespaces(value: &str) -> Result<u32, UriError> {
    let most = controller::limits::NAMESPACES_MAX;
    let count = value
        .parse()
        .ok()
        .filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| UriError::BadValue {
        key: "ns",
        value: value.to_owned(),
        allowed: format!("1 to {most} namespaces"),
        nearest: None,
    })
}

fn profile(value: &str) -> Result<Profile, UriError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let sound =
        (1..=limits::PROFILE_LETTERS_MAX).contains(&value.len()) && value.chars().all(letter);
    if value.contains('/') || value.ends_with(".toml") {
        return file_name("profile", value).map(Profile::File);
    }
    match value {
        "instant" => Ok(Profile::Instant),
        name if sound => Ok(Profile::Named(name.to_owned())),
        _ => Err(UriError::BadValue {
            key: "profile",
            value: value.to_owned(),
            allowed: format!(
                "a name of 1 to {} letters, digits, '-', '.', '_', for example instant (`dataplane-emu profile list`), or a path that holds '/' or ends in .toml",
                limits::PROFILE_LETTERS_MAX
            ),
            nearest: None,
        }),
    }
}

/// The name of a file.
fn file_name(key: &'static str, value: &str) -> Result<PathBuf, UriError> {
    if (1..=limits::PATH_BYTES_MAX).contains(&value.len()) {
        return Ok(PathBuf::from(value));
    }
    Err(UriError::BadValue {
        key,
        value: value.to_owned(),
        allowed: format!("a path of 1 to {} bytes", limits::PATH_BYTES_MAX),
        nearest: None,
    })
}

fn seed(value: &str) -> Result<u64, UriError> {
    value.parse().map_err(|_| UriError::BadValue {
        key: "seed",
        value: value.to_owned(),
        allowed: format!("a whole number from 0 to {}", u64::MAX),
        nearest: None,
    })
}

fn file_size(value: &str) -> Result<u64, UriError> {
    let refuse = |allowed: String| UriError::BadValue {
        key: "size",
        value: value.to_owned(),
        allowed,
        nearest: None,
    };
    let bytes = size::parse(value).map_err(|_| refuse(size::ALLOWED.into()))?;
    if (1..=limits::NAMESPACE_BYTES_MAX).contains(&bytes) {
        return Ok(bytes);
    }
    Err(refuse(format!(
        "1 to {} bytes",
        limits::NAMESPACE_BYTES_MAX
    )))
}

/// The value that a word stands for.
fn choice<T: Copy>(
    key: &'static str,
    word: &str,
    choices: &[(&'static str, T)],
) -> Result<T, UriError> {
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word) {
        return Ok(*value);
    }
    let names: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
    Err(UriError::BadValue {
        key,
        value: word.to_owned(),
        nearest: suggest::nearest(word, &names),
        allowed: names.join(", "),
    })
}

/// The word that stands for a value.
fn name_of<T: Copy + PartialEq>(value: T, choices: &[(&'static str, T)]) -> &'static str {
    choices
        .iter()
        .find(|(_, choice)| *choice == value)
        .map_or("", |(name, _)| name)
}
