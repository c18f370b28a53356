//! Media: what keeps a namespace's blocks.
//!
//! # For
//! The [`Media`] trait, through which the controller moves blocks without knowing where they live; media that need nothing
//! but memory, [`RamMedia`] and [`NullMedia`], and one that lasts, [`FileMedia`]; and wrappers around any of them, which add a
//! drive's time ([`timing`]), faults ([`fault`]) or a record of what was asked ([`log`]).
//!
//! # In
//! A checked [`Request`] (range and size are already right) and the host's memory as a list of spans.
//!
//! # Out
//! An NVMe status, now ([`Progress::Done`]) or later, under the token that came with the request ([`Media::poll`]).
//!
//! # Never
//! Media know no queues, no commands and no clock (time is handed in); they never see an address that a host chose.
//!
//! # Limits
//! One request moves at most what a span list holds (`mem::limits::SPANS_MAX` pages).
//!
//! # Read first
//! The trait [`Media`], then `ram.rs`; for media that answer later, `file/mod.rs`.
#![deny(unsafe_code)]

mod block;
mod by_token;
pub mod fault;
pub mod file;
pub mod log;
mod names;
mod null;
mod ram;
mod random;
pub mod timing;
mod written;

pub use block::{
    BlockSize, Landing, Media, MediaCounts, Operation, Piece, Progress, Request, RunEnd,
    TOKENS_MAX, Token,
};
pub use file::{FileError, FileMedia, FileOptions};
pub use null::NullMedia;
pub use ram::{RamError, RamMedia};
