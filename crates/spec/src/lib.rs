//! Wire layouts of the standards: NVMe, PCI Express, vfio-user. View, check, parse, emit.
//!
//! # For
//! Everyone who reads or writes a byte whose place a standard fixes: the controller, the driver, the bench, the simulator,
//! and whoever speaks to a host over a socket.
//!
//! # In
//! Bytes, 32-bit and 64-bit words that were already copied out of shared memory or read from a socket.
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
//! vfio-user 0.2 without the data of migration and without sub-regions of file descriptors; PCI Express Base Specification
//! 5.0 for an endpoint. What a stranger may make large is bounded by [`vfio_user::limits`].
//!
//! # Read first
//! [`types`], then [`nvme`]: `entries.rs` for the two queue entries, `status.rs` for what a completion can say. For
//! [`vfio_user`] `header.rs`, for [`pci`] `header.rs` too.

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
pub mod pci;
pub mod types;
pub mod vfio_user;

pub use layout::{Field, Malformed, Series};
pub use types::{
    BlockCount, ByteOffset, CommandId, Kelvin, Lba, NamespaceId, QueueId, Text, ZeroBased,
};
