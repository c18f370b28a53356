//! What can be wrong with a script.

use super::limits;

/// A text is no fault script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// Longer than [`limits::SCRIPT_BYTES_MAX`].
    #[error(
        "fault script of {bytes} bytes; allowed: at most {}",
        limits::SCRIPT_BYTES_MAX
    )]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// No TOML, or a key that does not exist or is missing.
    #[error("fault script, line {line}: {problem}; found: {found:?}")]
    Syntax {
        /// The line, from one.
        line: usize,
        /// That line.
        found: String,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// A key has a value that is not possible.
    #[error("fault script, line {line}: {key}: found {found}; allowed: {allowed}")]
    Value {
        /// The line, from one.
        line: usize,
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}
