//! The house rules, one file each. A rule is a function from the tree to problems; its tests show it failing.

pub(crate) mod config;

mod arrows;
mod atomics;
mod dead_files;
mod dependencies;
mod forbid;
mod headings;
mod length;
mod promises;
mod source;
mod tree;
mod unsafe_code;
mod words;

use std::fmt;

use config::Config;
pub(crate) use tree::Tree;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// The file, relative to the root.
    file: String,
    /// The line, from 1; 0 for the file as a whole.
    line: usize,
    /// What is wrong and what to do.
    what: String,
}

impl Problem {
    fn at(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }

    fn of_file(file: &str, what: impl Into<String>) -> Self {
        Self::at(file, 0, what)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// Everything that is broken, sorted by place.
pub(crate) fn check(tree: &Tree, config: &Config, commands: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(arrows::check(&tree.packages, &config.arrows));
    problems.extend(headings::check(tree));
    problems.extend(length::check(tree, config));
    problems.extend(atomics::check(tree, config));
    problems.extend(unsafe_code::check(tree, config));
    problems.extend(forbid::check(tree, config));
    problems.extend(dead_files::check(tree));
    problems.extend(words::check(tree, config));
    problems.extend(dependencies::check(tree));
    problems.extend(promises::check(tree, commands));
    problems.sort_unstable();
    problems
}
