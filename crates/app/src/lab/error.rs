//! What is wrong with a lab file, and where.

use core::fmt;
use core::ops::Range;
use std::path::{Path, PathBuf};

/// Characters of a line that an error shows at most.
const SHOWN_MAX: usize = 60;

/// Characters of one error at most; a longer one loses its middle, since what is allowed stands at its end.
const WORDS_MAX: usize = 800;

/// A lab file that cannot be used. It prints as a line for each thing that is wrong; all but the first begin with `error: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabError {
    file: Option<PathBuf>,
    wrongs: Vec<Wrong>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The first line is 1.
    line: Option<usize>,
    words: String,
}

/// Collects what is wrong with a text.
#[derive(Debug)]
pub(super) struct Wrongs<'t> {
    text: &'t str,
    found: Vec<Wrong>,
}

impl<'t> Wrongs<'t> {
    pub(super) const fn of(text: &'t str) -> Self {
        Self {
            text,
            found: Vec::new(),
        }
    }

    /// The line on which something stands.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// A value that means nothing, at its place in the text.
    pub(super) fn at(&mut self, span: &Range<usize>, key: &str, problem: &str, allowed: &str) {
        let line = Some(self.line(span));
        self.add(line, &format!("{key}: {problem}; allowed: {allowed}"));
    }

    /// Something that is wrong with the file as a whole.
    pub(super) fn whole(&mut self, key: &str, problem: &str, allowed: &str) {
        self.add(None, &format!("{key}: {problem}; allowed: {allowed}"));
    }

    /// No TOML, or not of this format, in the words of the parser, which names key and what is allowed.
    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        let line = self.line(&error.span().unwrap_or_default());
        let found = self.text.lines().nth(line - 1).unwrap_or_default().trim();
        let mut shown: String = found.chars().take(SHOWN_MAX).collect();
        if shown.len() < found.len() {
            shown.push_str("...");
        }
        let problem = error.message().replace('\n', "; ");
        self.add(Some(line), &format!("{problem}; found: {shown:?}"));
    }

    fn add(&mut self, line: Option<usize>, words: &str) {
        let words = shortened(words);
        self.found.push(Wrong { line, words });
    }

    /// The error, if anything is wrong; in the order of the lines.
    pub(super) fn error(mut self) -> Option<LabError> {
        self.found.sort_by_key(|wrong| wrong.line);
        (!self.found.is_empty()).then_some(LabError {
            file: None,
            wrongs: self.found,
        })
    }
}

impl LabError {
    /// The file itself could not be read.
    pub(super) fn unreadable(path: &Path, reason: String) -> Self {
        Self {
            file: Some(path.to_owned()),
            wrongs: vec![Wrong {
                line: None,
                words: reason,
            }],
        }
    }

    pub(super) fn in_file(self, path: &Path) -> Self {
        Self {
            file: Some(path.to_owned()),
            ..self
        }
    }
}

/// A text without its middle, if it is too long.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= WORDS_MAX {
        return text.to_owned();
    }
    let half = WORDS_MAX / 2;
    let head = text.chars().take(half);
    let tail = text.chars().skip(count - half);
    head.chain(" ... ".chars()).chain(tail).collect()
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, wrong) in self.wrongs.iter().enumerate() {
            if index > 0 {
                f.write_str("\nerror: ")?;
            }
            if let Some(file) = &self.file {
                write!(f, "{}: ", file.display())?;
            }
            if let Some(line) = wrong.line {
                write!(f, "line {line}: ")?;
            }
            f.write_str(&wrong.words)?;
        }
        Ok(())
    }
}

impl core::error::Error for LabError {}
