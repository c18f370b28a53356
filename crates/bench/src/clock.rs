//! The bench's clocks: a counter that costs a few nanoseconds to read, calibrated once against the
//! monotonic clock, and the calling thread's CPU time.
//!
//! On x86-64 with an invariant time-stamp counter [Intel SDM Vol. 3 §18.17 Time-Stamp Counter] the
//! counter is `rdtsc`; everywhere else it is the monotonic clock in nanoseconds. `rdtsc` does not
//! wait for earlier instructions, so a stamp may be early by the depth of the pipeline (some tens of
//! nanoseconds), which is below the resolution claimed anywhere in a report.

use core::time::Duration;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Where ticks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockSource {
    /// The invariant time-stamp counter of an x86-64 core.
    Tsc,
    /// The kernel's monotonic clock, one tick per nanosecond.
    Monotonic,
}

impl ClockSource {
    /// The source's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsc => "TSC",
            Self::Monotonic => "monotonic clock",
        }
    }
}

/// A calibrated counter. Copies of one clock share its origin and may be read from any thread.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: ClockSource,
    origin: Instant,
    ticks_per_second: f64,
}

impl Clock {
    /// Calibrates the best counter of this machine during `window` (20 ms gives about 1 in 10,000;
    /// nothing is waited for when the counter is the monotonic clock).
    #[must_use]
    pub fn calibrate(window: Duration) -> Self {
        if !tsc_is_invariant() {
            return Self::monotonic();
        }
        let origin = monotonic_now();
        let first = bracketed_pair(origin);
        while origin.elapsed() < window {
            core::hint::spin_loop();
        }
        let last = bracketed_pair(origin);
        let seconds = (last.1 - first.1).as_secs_f64();
        let ticks = last.0.wrapping_sub(first.0);
        if seconds <= 0.0 || ticks == 0 {
            return Self::monotonic();
        }
        Self {
            source: ClockSource::Tsc,
            origin,
            ticks_per_second: ticks as f64 / seconds,
        }
    }

    /// A clock of one tick per nanosecond on the kernel's monotonic clock.
    #[must_use]
    pub fn monotonic() -> Self {
        Self {
            source: ClockSource::Monotonic,
            origin: monotonic_now(),
            ticks_per_second: 1e9,
        }
    }

    /// The counter now, in ticks.
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        match self.source {
            ClockSource::Tsc => read_tsc(),
            ClockSource::Monotonic => self.origin.elapsed().as_nanos() as u64,
        }
    }

    /// Where ticks come from.
    #[must_use]
    pub const fn source(&self) -> ClockSource {
        self.source
    }

    /// Ticks in one second.
    #[must_use]
    pub const fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// Nanoseconds in one tick.
    #[must_use]
    pub fn nanoseconds_per_tick(&self) -> f64 {
        1e9 / self.ticks_per_second
    }

    /// A number of ticks in seconds.
    #[must_use]
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }

    /// A number of seconds in whole ticks.
    #[must_use]
    pub fn ticks_in(&self, seconds: f64) -> u64 {
        (seconds * self.ticks_per_second) as u64
    }
}

/// CPU seconds that the calling thread has used, in user and kernel mode together.
#[must_use]
pub fn thread_cpu_seconds() -> f64 {
    seconds_of(rustix::time::ClockId::ThreadCPUTime)
}

/// CPU seconds that all threads of this process have used, in user and kernel mode together. The kernel
/// brings those of running threads up to date at its timer tick, so each may be 1 to 10 ms behind.
#[must_use]
pub fn process_cpu_seconds() -> f64 {
    seconds_of(rustix::time::ClockId::ProcessCPUTime)
}

fn seconds_of(clock: rustix::time::ClockId) -> f64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The share of the calling thread's CPU time spent in the kernel so far, in 0..=1, from the
/// kernel's own 10 ms accounting. `None` where that accounting cannot be read.
#[must_use]
pub fn thread_cpu_ticks() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The command name in parentheses may hold blanks, so fields are counted behind it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user = fields.next()?.parse().ok()?;
    let system = fields.next()?.parse().ok()?;
    Some((user, system))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bench owns a clock; this is the one place that reads it"
)]
fn monotonic_now() -> Instant {
    Instant::now()
}

/// A counter value and the time since `origin` read together: the tightest of a few brackets, so
/// that an interruption between the two reads does not spoil the calibration.
fn bracketed_pair(origin: Instant) -> (u64, Duration) {
    let mut best = (u64::MAX, 0, Duration::ZERO);
    for _ in 0..16 {
        let before = read_tsc();
        let at = origin.elapsed();
        let after = read_tsc();
        let width = after.wrapping_sub(before);
        if width < best.0 {
            best = (width, before.wrapping_add(width / 2), at);
        }
    }
    (best.1, best.2)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_tsc() -> u64 {
    // SAFETY: `rdtsc` has no memory effects and every x86-64 core has it; Linux user space may
    // execute it unless the process asked for PR_TSC_SIGSEGV, which nothing in this program does.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const ADVANCED_POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER_MANAGEMENT
        && __cpuid(ADVANCED_POWER_MANAGEMENT).edx & INVARIANT_TSC != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn read_tsc() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibrated_clock_agrees_with_the_monotonic_clock_within_one_percent() {
        let clock = Clock::calibrate(Duration::from_millis(20));
        let wall = monotonic_now();
        let start = clock.ticks();
        while wall.elapsed() < Duration::from_millis(20) {}
        let ticks = clock.ticks() - start;
        let ratio = clock.seconds(ticks) / wall.elapsed().as_secs_f64();
        assert!((0.95..1.05).contains(&ratio), "ratio {ratio}");
    }

    #[test]
    fn the_monotonic_clock_never_runs_backwards() {
        let clock = Clock::monotonic();
        let mut last = clock.ticks();
        for _ in 0..1000 {
            let now = clock.ticks();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn thread_cpu_time_grows_while_the_thread_spins() {
        let before = thread_cpu_seconds();
        let wall = monotonic_now();
        while wall.elapsed() < Duration::from_millis(5) {}
        assert!(thread_cpu_seconds() > before);
        assert!(process_cpu_seconds() >= thread_cpu_seconds() - before);
        assert!(thread_cpu_ticks().is_some());
    }
}
