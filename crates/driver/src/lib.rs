//! The host side of NVMe: bring-up, queue pairs, block layer.
//!
//! # For
//! Whoever wants blocks from an NVMe controller, ours or anybody's, without an operating system's driver in between.
//!
//! # In
//! A [`Link`]: registers, doorbells, memory that the controller reaches, and time. Everything that comes through it from
//! the controller is a stranger's: it is checked, and what is wrong becomes a [`DriverError`] or is counted.
//!
//! # Out
//! [`Device`] (bring-up, admin commands, recovery), [`QueuePair`] (the hot path, one owner each), [`BlockDevice`] (bytes at
//! any offset).
//!
//! # Never
//! No thread, no clock, no socket, no file. No wait without a bound. No allocation, lock or time stamp per command in a
//! queue pair. No panic on what a controller says.
//!
//! # Limits
//! `limits.rs`. The NVM command set over memory-mapped queues, PRPs, 4 KiB pages, no metadata, completions by polling.
//!
//! # Read first
//! `link.rs`, then `bring_up.rs` for the beginning of a device's life, `queue_pair.rs` for its work, `recovery.rs` for the
//! bad days, `block/mod.rs` for what callers who think in bytes see.
#![forbid(unsafe_code)]

mod admin;
mod block;
mod bring_up;
mod device;
mod error;
pub mod limits;
mod link;
mod namespace;
mod patience;
mod queue_pair;
mod recovery;
mod slots;

pub use admin::{AdminCounters, AdminData};
pub use block::{BlockCounters, BlockDevice, BlockError, BlockOperation, BlockOptions};
pub use device::{Device, Options};
pub use error::{DriverError, Waited};
pub use link::{Link, LinkError};
pub use namespace::Namespace;
pub use queue_pair::{Busy, Done, IoBuffer, QueuePair, QueuePairCounters};
