//! How a command ends, and the code that it ends with.

use std::io;

/// The program's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was as wanted.
    Pass,
    /// It ran, and fell short: data was wrong, a command failed, or a figure is worse than before.
    Short,
    /// What was typed means nothing.
    Usage,
    /// This machine or this version lacks what was asked for.
    Environment,
}

impl Exit {
    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Short => 1,
            Self::Usage => 2,
            Self::Environment => 3,
        }
    }
}

/// Why a command could not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was typed means nothing.
    #[error("{0:#}")]
    Usage(anyhow::Error),
    /// This machine or this version lacks something.
    #[error("{0:#}")]
    Environment(anyhow::Error),
    /// It ran, and what it found is not as it should be.
    #[error("{0:#}")]
    Short(anyhow::Error),
    /// The output could not be written.
    #[error("wanted to write the output, found: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// A value on the command line that cannot be.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// Something that the machine refused or lacks.
    pub(crate) fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self::Environment(error.into())
    }

    /// The code that the program ends with.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Short(_) => Exit::Short,
            Self::Environment(_) | Self::Output(_) => Exit::Environment,
        }
    }
}

/// Prints what clap says, which for `--help` and `--version` is no error.
pub(crate) fn of_usage(error: &clap::Error) -> Exit {
    let _ = error.print(); // nowhere is left to complain to
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Pass
    }
}
