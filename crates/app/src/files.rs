//! The files that one command names: read with care, none written that is used for something else, none left behind by a command
//! that could not be carried out.

mod fresh;
mod regular;
mod uses;

pub(crate) use fresh::Fresh;
pub(crate) use regular::{kind, require, text};
pub(crate) use uses::Uses;
