//! What is wrong with a lab file, and where.

use core::fmt;
use core::ops::Range;
use std::path::{Path, PathBuf};

/// A lab file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabError {
    file: Option<PathBuf>,
    /// The first line is 1.
    line: Option<usize>,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// The file could not be read.
    Unreadable(String),
    /// It is no TOML, or not of this format, in the words of the parser, which names key and what is allowed.
    Form(String),
    /// A value that means nothing.
    Value {
        key: &'static str,
        problem: String,
        allowed: String,
    },
}

impl LabError {
    /// The file itself could not be read.
    pub(super) fn unreadable(path: &Path, reason: String) -> Self {
        Self {
            file: Some(path.to_owned()),
            line: None,
            what: What::Unreadable(reason),
        }
    }

    /// No TOML, or no lab file.
    pub(super) fn of_toml(error: &toml::de::Error) -> Self {
        // The parser's picture of the line says line and column itself.
        Self {
            file: None,
            line: None,
            what: What::Form(error.to_string().trim_end().to_owned()),
        }
    }

    /// A value that means nothing, at its place in the text.
    pub(super) fn at(
        text: &str,
        span: Range<usize>,
        key: &'static str,
        problem: String,
        allowed: String,
    ) -> Self {
        let before = text.as_bytes().get(..span.start).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Self {
            line: Some(line),
            ..Self::whole(key, problem, allowed)
        }
    }

    /// Something that is wrong with the file as a whole.
    pub(super) fn whole(key: &'static str, problem: String, allowed: String) -> Self {
        Self {
            file: None,
            line: None,
            what: What::Value {
                key,
                problem,
                allowed,
            },
        }
    }

    pub(super) fn in_file(self, path: &Path) -> Self {
        Self {
            file: Some(path.to_owned()),
            ..self
        }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.what {
            What::Unreadable(reason) => write!(f, "wanted a lab file, found: {reason}"),
            What::Form(reason) => f.write_str(reason),
            What::Value {
                key,
                problem,
                allowed,
            } => write!(f, "{key}: {problem}; allowed: {allowed}"),
        }
    }
}

impl core::error::Error for LabError {}
