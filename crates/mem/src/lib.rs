//! Guest and DMA memory: regions, the IOVA table, ordered words, bulk copies.
//!
//! # For
//! Everybody who touches bytes that another thread, process, guest or device may touch too.
//!
//! # In
//! Lengths and backings ([`Region::allocate`]), I/O virtual addresses from guests ([`IovaTable`]).
//!
//! # Out
//! Checked views: [`Window`] (owned), [`Span`] (borrowed), [`MappedWords`] and [`MappedRegister`]
//! (atomic), [`DmaBuffer`] and [`BufferPool`] (memory that has an I/O virtual address).
//!
//! # Never
//! A Rust reference to shared bytes, an unchecked address, a panic on an address or a length that a
//! guest chose, an allocation or a system call on the path of [`IovaTable::span`].
//!
//! # Limits
//! See [`limits`]. Bytes moved by bulk copies may be torn when the other side breaks its protocol
//! and writes at the same time; they are copied, never interpreted in place.
//!
//! # Read first
//! `region.rs` (what keeps memory alive), then `table.rs` (how an address becomes a span).

// Words are copied between wire formats and memory as they are, and addresses are kept in `usize`.
#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("mem is written for 64-bit little-endian machines");

mod dma;
mod list;
mod map;
#[cfg_attr(miri, path = "mapping_heap.rs")]
mod mapping;
mod pointer;
mod region;
mod span;
mod table;
mod window;
mod words;

pub mod limits;

pub use dma::{BufferPool, DmaBuffer, PoolBuffer};
pub use list::{Full, SpanList};
pub use map::{Iova, IovaMap, MapError};
pub use region::{Backing, Region, RegionError};
pub use span::Span;
pub use table::IovaTable;
pub use window::{OutOfRange, Window};
pub use words::{MappedRegister, MappedWords, WordsView};
