//! What this machine has and lacks, what lacking it costs, and what to do.
//!
//! Three steps, each in its own place: [`probe`] reads the machine into [`facts::Facts`] (with [`parse`] for the texts under
//! /proc and /sys), [`rows`] judges facts without looking at the machine, [`text`] prints.

pub mod facts;
pub mod parse;
pub mod probe;
pub mod rows;
pub mod text;

use serde::Serialize;

/// How well the machine is served with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is there.
    Have,
    /// It is there, with a drawback.
    Partly,
    /// It is not there.
    Lacks,
    /// It could not be found out.
    Unknown,
}

impl Status {
    /// The word that is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Have => "have",
            Self::Partly => "partly",
            Self::Lacks => "lacks",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name, stable for programs that read the report.
    pub name: &'static str,
    /// Whether it is there.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What exactly was looked at.
    pub checked: String,
    /// What is lost without it; absent when nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What its owner can do.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Row {
    /// A row of something that is there.
    pub fn have(name: &'static str, found: impl Into<String>, checked: impl Into<String>) -> Self {
        let (found, checked) = (found.into(), checked.into());
        Self {
            name,
            status: Status::Have,
            found,
            checked,
            cost: None,
            remedy: None,
        }
    }

    /// The same row with a drawback: its status, what it costs and what to do.
    #[must_use]
    pub fn but(self, status: Status, cost: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            status,
            cost: Some(cost.into()),
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The program's version.
    pub version: &'static str,
    /// Kernel and architecture.
    pub machine: String,
    /// One row for each thing, in the order to be read.
    pub rows: Vec<Row>,
}

/// Looks at this machine. Takes some ten milliseconds, most of them for the CPUs' hand-over time.
pub fn examine() -> Report {
    let facts = probe::facts();
    Report {
        version: crate::VERSION,
        machine: facts.machine.clone(),
        rows: rows::judge(&facts),
    }
}
