//! `xtask/tidy.toml`: the tables of the rules.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

use crate::workshop::Workshop;

/// Where the tables are. The file itself is exempt from the rules about words, which it has to spell out.
pub(super) const CONFIG_FILE: &str = "xtask/tidy.toml";

/// The tables of all rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// A file has to have fewer lines.
    pub(super) file_lines_limit: usize,
    /// Files that may name atomics.
    pub(super) atomics_home: Vec<String>,
    /// Rooms that forbid unsafe code.
    pub(super) forbid_unsafe: Vec<String>,
    /// Absolute paths that mean a certain machine.
    pub(super) machine_paths: Vec<String>,
    /// Who may use whom.
    pub(super) arrows: Arrows,
    /// File to reason.
    pub(super) unsafe_files: BTreeMap<String, String>,
    /// Words that must not be used.
    pub(super) words: Vec<Word>,
}

/// Who may use whom.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arrows {
    /// Room to the rooms that it may use; what those may use follows.
    pub(super) rooms: BTreeMap<String, Vec<String>>,
    /// Rooms with wider rights.
    pub(super) workshops: Workshops,
}

/// Rooms that may use any room but some.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workshops {
    /// The workshops.
    pub(super) names: Vec<String>,
    /// What even they may not use.
    pub(super) never: Vec<String>,
}

/// A banned word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    /// The word; in lower case it matches any case.
    pub(super) find: String,
    /// What to write or do.
    pub(super) instead: String,
}

impl Config {
    /// Reads the tables.
    ///
    /// # Errors
    /// When the file is missing or says something that no rule knows.
    pub(crate) fn read(workshop: &Workshop) -> Result<Self> {
        let text = fs::read_to_string(workshop.root.join(CONFIG_FILE)).context(CONFIG_FILE)?;
        toml::from_str(&text).context(CONFIG_FILE)
    }

    /// The tables in use.
    #[cfg(test)]
    pub(super) fn in_use() -> Self {
        toml::from_str(include_str!("../../tidy.toml")).unwrap()
    }
}
