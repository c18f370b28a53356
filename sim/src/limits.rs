//! Every bound of a world, with its reason.

use core::time::Duration;

/// Virtual time after which a command that was not answered counts as lost. Far beyond the slowest medium's longest delay
/// times the deepest queue.
pub const LOST_AFTER: Duration = Duration::from_secs(10);

/// Queue pairs at most: enough for four masters of the same blocks, few enough to keep each busy.
pub const LANES_MAX: u64 = 4;

/// Entries of a queue at most. Small, so that queues wrap and fill many times in a short run.
pub const DEPTH_MAX: u64 = 64;

/// Blocks of a namespace at least: room for a range before and behind another.
pub const BLOCKS_MIN: u64 = 8;

/// Blocks of 512 bytes at most. Small, so that commands keep meeting on the same blocks.
pub const BLOCKS_512_MAX: u64 = 200;

/// Blocks of 4096 bytes at most.
pub const BLOCKS_4096_MAX: u64 = 48;

/// The largest MDTS as a power of two of pages: 128 KiB, more than any namespace here is worth in one command.
pub const TRANSFER_PAGES_SHIFT_MAX: u64 = 5;

/// Actions of one run at most. Ten thousand seeds have to fit in a coffee break.
pub const STEPS_MAX: u64 = 600;

/// Attempts at a block in the final pass before a failing medium counts as broken: at five failures in a hundred, the
/// chance of as many in a row is below 10^-60.
pub const FINAL_ATTEMPTS: u32 = 50;

/// Turns in which an event has to arrive. Media answers never hold events up, so a few are plenty.
pub const EVENT_TURNS: u32 = 20;

/// Bytes before and behind each buffer that nobody may touch.
pub const GUARD_BYTES: usize = 64;

/// Events that a failing run tells at the end of its story.
pub const STORY_EVENTS: usize = 16;
