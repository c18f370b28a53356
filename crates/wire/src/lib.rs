//! vfio-user messages on a UNIX socket, as both of its ends see them.
//!
//! # For
//! `port`, which answers vfio-user's commands, and `link`, which sends them. What a command means is known there.
//!
//! # In
//! A connected UNIX stream socket, and messages to send with the descriptors that travel beside them.
//!
//! # Out
//! Whole messages: a checked header, its payload, the descriptors that came with it.
//!
//! # Never
//! No meaning of a payload, no thread, no retry. A peer's size never decides how much memory is taken: the bound does.
//!
//! # Limits
//! `spec::vfio_user::limits`: bytes and descriptors of a message.
//!
//! # Read first
//! `stream.rs`.
#![forbid(unsafe_code)]

mod stream;

pub use stream::{Message, Stream, WireError};
