//! # For
//! Measuring an NVMe path honestly: seeded workloads, checked data, statistics, reports and comparisons.
//!
//! # In
//! A [`workload::Job`], queue pairs of the driver (through [`queue::Queue`]), data buffers, and a
//! [`runner::Turn`] that lets an in-line controller work.
//!
//! # Out
//! [`report::Report`] and its renderings: text ([`text`]), fio's JSON ([`fio_json`]), a time series
//! ([`series`]) and the comparison of two reports ([`diff`]). Strings and data only; callers print.
//!
//! # Never
//! No allocation, lock, system call or unasked-for timestamp per I/O in the measured loop. No figure
//! without what it may hide: a part that did not run says "not run: reason".
//!
//! # Limits
//! [`limits`]: block sizes, depth, devices, threads, repeats and the sums behind them.
//!
//! # Read first
//! [`workload`] (what is asked), [`runner`] (the loop that is measured), [`report`] (what is claimed).

pub mod access;
pub mod bars;
pub mod ceiling;
pub mod clock;
pub mod diff;
pub mod drive;
pub mod fio_json;
pub mod lane;
pub mod latency;
pub mod limits;
pub mod pacing;
pub mod parse;
pub mod pattern;
pub mod progress;
pub mod queue;
pub mod regime;
pub mod replay;
pub mod report;
pub mod runner;
pub mod scorecard;
pub mod series;
pub mod shadow;
pub mod spine;
pub mod stats;
pub mod text;
pub mod warnings;
pub mod workload;
pub mod zipf;
