//! What the fuzz targets share.
//!
//! # For
//! The targets in `fuzz_targets/`: reading random bytes as decisions, and the properties that more than one target checks.
//!
//! # In
//! Random bytes from libFuzzer, or files of the committed corpus.
//!
//! # Out
//! Nothing when every property holds; a panic that libFuzzer keeps with its input when one does not.
//!
//! # Never
//! No clock, no thread, no randomness of its own: one input is one run, on every machine.
//!
//! # Limits
//! An input is cut off after as many decisions as `acts::ACTS_MAX`, so that every run ends soon.
//!
//! # Read first
//! [`decode`], then [`round_trip`] for the parsers, [`world`] for the controller, [`hostile`] for the driver.

pub mod acts;
pub mod decode;
pub mod drive;
pub mod hostile;
pub mod model;
pub mod round_trip;
pub mod trace;
pub mod world;
