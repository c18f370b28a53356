//! The program's clock: what the rooms below are handed as "now".

use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time since the program first asked.
#[expect(
    clippy::disallowed_methods,
    reason = "the program owns the clock that it hands to the rooms below"
)]
pub(crate) fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Seconds since 1970, for the date of a report.
pub(crate) fn seconds_since_1970() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// Nanoseconds since 1970, for readers of telemetry.
pub(crate) fn nanoseconds_since_1970() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos() as u64)
}
