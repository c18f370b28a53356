//! Every bound of the bridge, with its reason.

use core::time::Duration;

/// Commands in flight over the engine's queue pair unless the caller says otherwise: twice the 128 that the deepest
/// documented run asks for, so that a long request among them does not hold the others up.
pub const DEPTH: u32 = 256;

/// Commands in flight at most: units are counted in 16 bits, and the last number means "none".
pub const DEPTH_MAX: u32 = 4096;

/// Bytes of one command unless the caller says otherwise. Times [`DEPTH`] it is 32 MiB of addresses, of which only what
/// was used takes memory.
pub const PIECE_BYTES: u32 = 128 << 10;

/// Bytes of one read or write of the kernel's at most: 256 pages, what it grants without a change of
/// `/proc/sys/fs/fuse/max_pages_limit`.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;

/// Patience with commands in flight of which none completes: Linux's figure for its own NVMe driver.
pub const IO_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a stalled engine looks at the controller's health: it may be a trip over a socket.
pub const HEALTH_PERIOD: Duration = Duration::from_millis(100);

/// Completions taken in one go. Few, since the place for them is made anew in each turn and most turns bring one; what is
/// left is taken in the next round.
pub const REAP_BATCH: usize = 8;

/// Threads that serve the mount unless the caller says otherwise. One of them may wait for the device while the other
/// takes the next requests; more only wake each other on a small machine.
pub const THREADS: usize = 2;

/// Threads at most. Each has a buffer of 16 MiB of addresses for the kernel's requests.
pub const THREADS_MAX: usize = 64;

/// Requests that the kernel may have outstanding without anybody waiting for them: asynchronous direct I/O is these. With
/// fewer than [`DEPTH`], the kernel and not the device would bound the depth.
pub const BACKGROUND_MAX: u16 = 512;

/// Looks at the device before a waiter offers its CPU to others: a few microseconds, within which a fast device answers.
pub const SPINS: u32 = 64;

/// Time between two looks of a waiter from which on it has lost its CPU to strangers. The mount's other threads and the
/// program that asks are done sooner (1 MiB is copied in a quarter of it), and so is a nap; a time slice is 3 ms.
pub const LOST_AFTER: Duration = Duration::from_millis(1);

/// Waits that are naps after a thread lost its CPU, before it waits awake again: at least 20 ms, so that it gives one slice in
/// seven away at most to find out whether it is still crowded. Where nobody else is there any more, it is over soon.
pub const CROWDED_WAITS: u32 = 1000;

/// When nothing completed for so long, the waiter naps between its looks, crowded or not: no fast device is so slow.
pub const PATIENT_AFTER: Duration = Duration::from_millis(1);

/// How long a nap is: the time of a fast device, so that one that is waited for in naps takes twice as long at worst, and far
/// longer than the look that follows.
pub const NAP: Duration = Duration::from_micros(20);

/// What the kernel may add to a nap to save a wake-up. Its own choice is 50 us, more than the nap itself.
pub const NAP_SLACK_NS: u64 = 1000;

/// How long the kernel may keep names and attributes before it asks again. They change through this mount only.
pub const ATTRIBUTES_TTL: Duration = Duration::from_secs(60);

/// How long an unmount waits for the threads after the kernel's side is gone. They have nothing to do then but to notice.
pub const FAREWELL: Duration = Duration::from_secs(10);

/// The size that files say is good for transfers (`st_blksize`).
pub const BLKSIZE: u32 = 4096;

/// Looks at a turn that another thread has before this one sleeps until it is over: about half a microsecond, as long as the
/// turn for a small request. Longer turns are rare, copies of 1 MiB for instance, or those of a thread that lost its CPU.
pub const TURN_SPINS: u32 = 50;
