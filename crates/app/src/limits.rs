//! Every bound of the program's own, with its reason.

/// Bytes of a device URI at most: the longest path (4096) with every byte percent-encoded, and its options.
pub const URI_BYTES_MAX: usize = 3 * 4096 + 1024;

/// Bytes of one namespace at most: 2^60, so that the bytes of all namespaces stay below 2^64 in any sum but the longest,
/// and every byte offset inside one fits a signed 64-bit file offset.
pub const NAMESPACE_BYTES_MAX: u64 = 1 << 60;

/// Bytes of a path at most: the system's own bound (PATH_MAX, with its final zero).
pub const PATH_BYTES_MAX: usize = 4095;

/// Bytes of an NVMe qualified name at most [NVMe Base 2.0 §4.5 NVMe Qualified Names].
pub const NQN_BYTES_MAX: usize = 223;

/// Letters of a timing profile's name at most: enough for maker, model and interface.
pub const PROFILE_LETTERS_MAX: usize = 64;

/// Bytes of a file that the demo sends through its drive at most: enough for a program, little enough for a moment.
pub const DEMO_FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a report that `bench diff` reads at most: a thousand repeats take less than a tenth of it.
pub const REPORT_FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes read of one file under /proc or /sys at most: the largest, cpuinfo, takes about 2 KiB for each CPU.
pub const PROBE_FILE_BYTES_MAX: u64 = 8 << 20;

/// Pairs of CPUs that the doctor bounces a cache line between at most: each takes some milliseconds.
pub const PING_PONG_PAIRS_MAX: usize = 8;

/// Bytes of a lab file, a profile or a fault script at most: thousands of sections; longer ones are a mistake.
pub const LAB_FILE_BYTES_MAX: u64 = 1 << 20;

/// Threads of one FUSE mount at most: more than CPUs can serve at once only queue up for the device.
pub const MOUNT_THREADS_MAX: usize = 16;
