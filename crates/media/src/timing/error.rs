//! What can be wrong with a profile.

use super::limits;

/// A text is no timing profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Longer than [`limits::PROFILE_BYTES_MAX`].
    #[error(
        "timing profile of {bytes} bytes; allowed: at most {}",
        limits::PROFILE_BYTES_MAX
    )]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// No TOML, or a key that does not exist or is missing.
    #[error("timing profile, line {line}: {problem}; found: {found:?}")]
    Syntax {
        /// The line, from one.
        line: usize,
        /// That line.
        found: String,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// A key has a value that is not possible.
    #[error("timing profile, line {line}: {key}: found {found}; allowed: {allowed}")]
    Value {
        /// The line, from one.
        line: usize,
        /// The key, with its table: `read.iops_max`.
        key: String,
        /// The value.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}
