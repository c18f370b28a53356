//! What a running job shows to others: per-thread counters that the thread writes with plain stores,
//! and samples taken of them.

use ring::sync::{AtomicBool, AtomicU64, Ordering};

use crate::access::Direction;
use crate::clock::Clock;
use crate::latency::{Latency, LiveLatency, add_alone};

/// One direction's counters of one thread.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct LiveDirection {
    ios: AtomicU64,
    /// Latencies of the I/Os, unless timestamps are off.
    pub latency: LiveLatency,
}

impl LiveDirection {
    /// Counts completed I/Os. Only the owning thread may call this.
    #[inline]
    pub fn add_ios(&self, ios: u64) {
        add_alone(&self.ios, ios);
    }

    /// I/Os completed so far.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.ios.load(Ordering::Relaxed)
    }
}

/// One thread's counters.
#[derive(Debug, Default)]
pub struct Progress {
    /// Reads.
    pub read: LiveDirection,
    /// Writes.
    pub write: LiveDirection,
    stop: AtomicBool,
}

impl Progress {
    /// The counters of a direction.
    #[inline]
    #[must_use]
    pub fn direction(&self, direction: Direction) -> &LiveDirection {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    /// Asks the thread to stop submitting and to finish what is in flight.
    pub fn ask_to_stop(&self) {
        // Relaxed: the flag carries no data with it.
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the thread was asked to stop.
    #[must_use]
    pub fn asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Starts again from nothing; for the time between two runs, when no thread counts.
    pub fn clear(&self) {
        for direction in [&self.read, &self.write] {
            direction.ios.store(0, Ordering::Relaxed);
            direction.latency.clear();
        }
        self.stop.store(false, Ordering::Relaxed);
    }
}

/// What happened between two looks at a running job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// End of the interval, in seconds since the run began.
    pub seconds: f64,
    /// Length of the interval in seconds.
    pub interval_seconds: f64,
    /// Reads completed in the interval.
    pub read_ios: u64,
    /// Writes completed in the interval.
    pub write_ios: u64,
    /// Bytes of one I/O.
    pub io_bytes: u32,
    /// 99th percentile of the latencies of the interval in nanoseconds; absent without timestamps
    /// or completions.
    pub p99_ns: Option<f64>,
}

impl Sample {
    /// I/Os per second in the interval.
    #[must_use]
    pub fn iops(&self) -> f64 {
        (self.read_ios + self.write_ios) as f64 / self.interval_seconds.max(1e-9)
    }

    /// MiB per second in the interval.
    #[must_use]
    pub fn mib_per_second(&self) -> f64 {
        self.iops() * f64::from(self.io_bytes) / f64::from(1 << 20)
    }
}

/// Takes samples of a set of threads. All memory is taken at the start.
#[derive(Debug)]
pub struct Sampler {
    clock: Clock,
    io_bytes: u32,
    start: u64,
    last: u64,
    ios: [u64; 2],
    before: Latency,
    now: Latency,
}

impl Sampler {
    /// A sampler of a run that begins now.
    #[must_use]
    pub fn new(clock: Clock, io_bytes: u32) -> Self {
        let start = clock.ticks();
        Self {
            clock,
            io_bytes,
            start,
            last: start,
            ios: [0; 2],
            before: Latency::default(),
            now: Latency::default(),
        }
    }

    /// What happened since the last sample.
    pub fn sample(&mut self, threads: &[Progress]) -> Sample {
        let ticks = self.clock.ticks();
        self.now.clear();
        let mut ios = [0; 2];
        for thread in threads {
            for (sum, direction) in ios.iter_mut().zip([&thread.read, &thread.write]) {
                *sum += direction.ios();
                direction.latency.add_to(&mut self.now);
            }
        }
        let p99 = self.now.quantile_since(&self.before, 0.99);
        let sample = Sample {
            seconds: self.clock.seconds(ticks.saturating_sub(self.start)),
            interval_seconds: self.clock.seconds(ticks.saturating_sub(self.last)),
            read_ios: ios[0] - self.ios[0],
            write_ios: ios[1] - self.ios[1],
            io_bytes: self.io_bytes,
            p99_ns: p99.map(|ticks| ticks as f64 * self.clock.nanoseconds_per_tick()),
        };
        core::mem::swap(&mut self.before, &mut self.now);
        (self.last, self.ios) = (ticks, ios);
        sample
    }
}
