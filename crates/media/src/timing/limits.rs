//! Every bound of the timing wrapper and of its profiles, with its reason.

use core::ops::RangeInclusive;

/// Bytes of a profile's text at most: a full table of quantiles for four operations and every measured row take a tenth.
pub const PROFILE_BYTES_MAX: usize = 256 << 10;

/// Letters of a profile's name at most, as in device URIs.
pub const NAME_LETTERS_MAX: usize = 64;

/// Letters of each of a profile's notes at most: some pages.
pub const NOTE_LETTERS_MAX: usize = 16 << 10;

/// Latencies in microseconds: up to ten seconds, more than any drive's own time-out allows.
pub const LATENCY_US: RangeInclusive<f64> = 0.0..=1e7;

/// Spread of the logarithm of latencies: at 2 the 99.9th percentile is five hundred times the median.
pub const SIGMA: RangeInclusive<f64> = 0.0..=2.0;

/// Points of a table of quantiles: more than fio prints.
pub const QUANTILES: RangeInclusive<usize> = 2..=64;

/// Requests per second: from one to more than an interface of today carries.
pub const IOPS: RangeInclusive<f64> = 1.0..=1e9;

/// Bytes per second: from a floppy disk's 100 KB to 10 TB.
pub const BYTES_PER_SECOND: RangeInclusive<f64> = 1e5..=1e13;

/// Requests that a drive works on at once.
pub const UNITS: RangeInclusive<u64> = 1..=1024;

/// Measured rows of a profile at most.
pub const MEASURED_MAX: usize = 256;

/// Depth of a measured row: as many tokens as there are.
pub const DEPTH: RangeInclusive<u64> = 1..=crate::TOKENS_MAX as u64;

/// Bytes of one request of a measured row: from a block to the controller's largest transfer.
pub const BLOCK_BYTES: RangeInclusive<u64> = 512..=1 << 20;

/// Mean latency of a measured row in microseconds: that of the slowest profile at the greatest depth.
pub const MEASURED_US: RangeInclusive<f64> = 1e-3..=1e11;
