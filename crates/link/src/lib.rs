//! Links: how a driver reaches a controller in another process.
//!
//! # For
//! Whoever has the path of an endpoint, ours or SPDK's, and wants a [`driver::Device`] on it.
//!
//! # In
//! A path, and what the other end answers, which may be anything.
//!
//! # Out
//! [`VfioUser`], a [`driver::Link`]: registers go as messages, doorbells and commands through shared memory.
//!
//! # Never
//! No NVMe meaning. No message per I/O: a doorbell is a store to a page of the other end's.
//!
//! # Limits
//! `limits.rs`. Endpoints whose doorbells can be mapped.
//!
//! # Read first
//! `vfio_user.rs`.
#![forbid(unsafe_code)]

pub mod limits;
mod vfio_user;

pub use vfio_user::{ConnectError, VfioUser};
