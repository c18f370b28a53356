//! Doors for programs that know nothing of NVMe: the FUSE mount.
//!
//! # For
//! Whoever wants a namespace as a file: fio, dd, cp, cmp, hexdump, losetup, or a program that maps it.
//!
//! # In
//! An opened [`driver::Device`], and a directory to mount on.
//!
//! # Out
//! [`fuse::Mount`]: `MOUNT/nvme_raw_0`, `nvme_raw_1` and so on, one regular file for each namespace, which behaves as a
//! block device does. [`engine::Engine`]: many requests for bytes at any offset in flight over one queue pair.
//!
//! # Never
//! No page cache between a program and the queue (but for memory maps, which are made of it). No allocation per request
//! after the start. No controller of its own: it sees a [`driver::Link`] and nothing behind it.
//!
//! # Limits
//! `limits.rs`. Linux with FUSE 7.23 or later. Namespaces without metadata.
//!
//! # Read first
//! `engine/mod.rs` for how bytes become commands, then `fuse/turns.rs` for how several threads share one queue pair, then
//! `fuse/door.rs` for what each file operation means.
#![forbid(unsafe_code)]

pub mod engine;
pub mod errno;
pub mod fuse;
pub mod limits;
