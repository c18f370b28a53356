//! The bounds of fault scripts, each with its reason.

/// Bytes of a script at most: far more than `RULES_MAX` rules with comments need.
pub const SCRIPT_BYTES_MAX: usize = 64 << 10;

/// Rules at most: every request is held against every rule.
pub const RULES_MAX: usize = 64;

/// Bytes of a rule's name at most: it is printed in one line with its counts.
pub const NAME_BYTES_MAX: usize = 64;

/// Bits that one act flips at most.
pub const BITS_MAX: usize = 64;

/// A bit position below this lies in the first block whatever its size: 512 bytes of 8 bits.
pub const BIT_POSITIONS: u16 = 4096;

/// One rule's delay in microseconds at most: an hour, longer than any host waits.
pub const DELAY_US_MAX: u64 = 3_600_000_000;

/// The end of a time window in milliseconds at most: a year.
pub const TIME_MS_MAX: u64 = 366 * 86_400_000;

/// Requests under a rule that were not yet answered at most: every token once, and as many ranges of Dataset Management
/// commands again. Beyond, requests pass untouched and are counted.
pub const FLIGHTS_MAX: u32 = 2 * crate::TOKENS_MAX;

/// Bytes of a transfer whose bits can be flipped at most: what one request moves.
pub const FLIP_BYTES_MAX: usize = mem::limits::SPANS_MAX * 4096;
