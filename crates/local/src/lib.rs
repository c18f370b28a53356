//! A driver and a controller, joined in one process.
//!
//! # For
//! The shortest way from a command to its completion: the same queue pair in shared memory, the same doorbells, with
//! nothing between them. Tests, the bench and the emulated devices of the command line use it.
//!
//! # In
//! A [`controller::Config`], namespaces, and a clock.
//!
//! # Out
//! A [`driver::Link`]: [`Inline`] runs the controller in the driver's own thread, [`Threaded`] on a thread of its own.
//!
//! # Never
//! No NVMe meaning: it carries register accesses and memory, and gives turns.
//!
//! # Limits
//! `limits.rs`.
//!
//! # Read first
//! `inline.rs`, then `threaded.rs`.
#![forbid(unsafe_code)]

mod inline;
pub mod limits;
mod memory;
mod threaded;

pub use inline::Inline;
pub use memory::{Blueprint, LocalError};
pub use threaded::Threaded;

/// A clock: the time since some start that never changes. Local links read it in waits, never per command.
pub type Clock = fn() -> core::time::Duration;
