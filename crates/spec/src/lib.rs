//! Wire layouts of the NVMe standards: view, check, parse, emit.
//!
//! # For
//! Everyone who reads or writes a byte whose place a standard fixes: the controller, the driver, the bench, the simulator.
//!
//! # In
//! Bytes, 32-bit and 64-bit words that were already copied out of shared memory.
//!
//! # Out
//! Typed values with names, and the same values as bytes or words again. Every named field that was parsed is emitted
//! unchanged; reserved bytes are emitted as zeros.
//!
//! # Never
//! No memory is shared here, no state is kept, nothing waits, and no input makes a parser panic. No other crate shifts or
//! masks what a standard lays out.
//!
//! # Limits
//! NVM Express Base Specification 2.0 and NVM Command Set Specification 1.0, over PCI Express; what is left out of them is
//! what this project's controller does not offer (fabrics, zoned and key-value command sets, metadata, reservations).
//!
//! # Read first
//! [`types`], then [`nvme`]: `entries.rs` for the two queue entries, `status.rs` for what a completion can say.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

#[macro_use]
mod bits;
#[macro_use]
mod layout;
#[macro_use]
mod names;

pub mod nvme;
pub mod types;

pub use layout::{Field, Malformed, Series};
pub use types::{
    BlockCount, ByteOffset, CommandId, Kelvin, Lba, NamespaceId, QueueId, Text, ZeroBased,
};
