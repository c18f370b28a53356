//! File media on real files: on a disk's file system, in shared memory, on block devices, and on what is full, short or taken.
#![expect(clippy::print_stdout, reason = "says what was not run")]

mod contents;
mod host;
mod trouble;
