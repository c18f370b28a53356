//! Device time: a medium that takes as long as a drive of a given profile.
//!
//! `docs/profiles.md` explains the model and every key of a profile. One request goes through [`TimedMedia`] like this: the
//! inner medium moves its data at once; `timing/model.rs` says when a drive would be done with it; `timing/wheel.rs` keeps
//! its token until then.

mod closed_loop;
mod deck;
mod error;
pub mod limits;
mod medium;
mod model;
mod parse;
mod profile;
#[cfg(test)]
mod tests;
mod wheel;

pub use closed_loop::{Load, Seen, closed_loop};
pub use error::ProfileError;
pub use medium::TimedMedia;
pub use profile::{Measured, Profile};
