//! The crate's maxima, each with its reason.

/// Percent of reads in a mixed job that names none: fio's.
pub const MIX_READ_PERCENT: u8 = 50;

/// Smallest I/O in bytes: the smallest logical block.
pub const IO_BYTES_MIN: u32 = 512;

/// Largest I/O in bytes: the controller's largest transfer (MDTS).
pub const IO_BYTES_MAX: u32 = 1 << 20;

/// Most commands in flight per queue pair: beyond it a depth only adds waiting, and
/// 1024 x 1 MiB of buffers is already 1 GiB.
pub const QUEUE_DEPTH_MAX: u32 = 1024;

/// Most devices in one run: four times the sixteen drives of the published comparison.
pub const DEVICES_MAX: u32 = 64;

/// Most threads in one run. Each costs two latency histograms of [`crate::latency::BUCKETS`] words
/// (about 74 KiB).
pub const THREADS_MAX: u32 = 64;

/// Most repeats of one job: intervals stop shrinking visibly long before.
pub const REPEATS_MAX: u32 = 1000;

/// Highest core number that a core mask may name (the kernel's set holds 1024).
pub const CORES_MAX: usize = 1024;

/// Largest exponent of a zipf distribution: at 5 the first block takes 96 % of all accesses.
pub const ZIPF_THETA_MAX: f64 = 5.0;

/// Smallest exponent of a zipf distribution: below it the skew cannot be told from uniform.
pub const ZIPF_THETA_MIN: f64 = 0.01;

/// Completions taken per poll: bounds the array on the loop's stack (64 x 16 B) and the delay
/// between a completion and the refill of its slot.
pub const REAP_BATCH: usize = 64;

/// Work (polls plus 4 KiB moved) between two looks at the clock for the end of the run. About
/// 0.1 to 1 ms of a memory-speed device, so a run overshoots by no more than that.
pub const CLOCK_WORK: u64 = 4096;

/// Seconds without any completion, while commands are in flight, after which a run is given up.
pub const STALL_SECONDS: f64 = 30.0;

/// Seconds that an open loop may lag behind its schedule before it stops offering.
pub const OPEN_LOOP_LAG_SECONDS_MAX: f64 = 1.0;

/// Mismatches kept with their details; further ones are only counted.
pub const MISMATCHES_KEPT: usize = 8;

/// Milliseconds between two samples of a running job (live progress and time series).
pub const SAMPLE_MS: u64 = 100;

/// Rows of a time series: 24 hours at ten per second; later rows are dropped and counted.
pub const SERIES_ROWS_MAX: usize = 864_000;

/// Share by which IOPS x latency may differ from the queue depth before it is flagged.
pub const LITTLE_TOLERANCE: f64 = 0.10;

/// Spread over repeats, as a share of the median, above which a warning is printed.
pub const SPREAD_WARN: f64 = 0.10;

/// Share below which two figures are one: a latency's bucket is up to 0.8 % wide, and repeats that
/// agree by chance must not make a smaller difference look certain.
pub const RESOLUTION_SHARE: f64 = 0.01;

/// How sure a comparison is of all its intervals together.
pub const CONFIDENCE: f64 = 0.95;

/// Seconds below which a measured interval is called short.
pub const SHORT_RUN_SECONDS: f64 = 0.1;

/// Bytes below which a working set is said to fit a core's cache.
pub const CACHE_WORKING_SET_BYTES: u64 = 1 << 20;

/// Accesses covered by one rank bin of a zipf table relative to its first rank: 1/16, so that the
/// probability inside a bin varies by at most `theta` x 6 %.
pub const ZIPF_BIN_SHARE: u64 = 16;
