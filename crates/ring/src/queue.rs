//! The two NVMe queues, each seen from its two sides, in memory that both sides share.
//!
//! | queue | host side | device side |
//! | --- | --- | --- |
//! | submission | [`SubmissionTail`] writes entries, then the tail doorbell | [`SubmissionHead`] reads |
//! | completion | [`CompletionHead`] reads entries, then writes the head doorbell | [`CompletionTail`] writes |
//!
//! Depth is any number from 2 to 65,536, so an index is advanced by one, compared with the depth
//! and set to zero: no division, no mask. A queue is full with `depth - 1` entries, which is how
//! full is told from empty. `[NVMe Base 2.0 §3.3.1 Memory-based Transport Queue Model]`
//!
//! Order, in three pairs: the tail doorbell is released by the host and acquired by the device
//! (the entries come with it); the second word of a completion, which holds the phase tag, is
//! released by the device and acquired by the host (the first word comes with it); the head
//! doorbell is released by the host and acquired by the device (the host has finished reading
//! before a slot is written again). A submission slot is written again only after a completion
//! that the device posted after it had copied that slot, so the phase tag orders this too.
//!
//! The state of a side is its words' handle and at most 24 bytes: with a handle of up to 40 bytes
//! it fits one 64-byte line.

mod completion;
mod submission;

pub use completion::{BadHead, CompletionHead, CompletionRun, CompletionTail, Position};
pub use submission::{BadTail, SubmissionHead, SubmissionSlot, SubmissionTail};

use crate::Words;
use crate::limits::{QUEUE_DEPTH_MAX, QUEUE_DEPTH_MIN};

/// The index after `index` in a queue of `depth` entries.
#[inline(always)]
const fn next(index: u32, depth: u32) -> u32 {
    let next = index + 1;
    if next == depth { 0 } else { next }
}

/// How many steps lead forward from `from` to `to` in a queue of `depth` entries.
#[inline(always)]
const fn distance(from: u32, to: u32, depth: u32) -> u32 {
    let steps = to.wrapping_sub(from);
    if to < from {
        steps.wrapping_add(depth)
    } else {
        steps
    }
}

/// An index as the standard carries it: indices are below 65,536, so nothing is cut off.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "an index is below the depth, which is at most 65,536"
)]
const fn narrow(index: u32) -> u16 {
    index as u16
}

/// Checks a queue's depth and memory, once, so that the hot path need not.
fn check<W: Words>(words: &W, depth: u32, entry_words: usize) {
    assert!(
        (QUEUE_DEPTH_MIN..=QUEUE_DEPTH_MAX).contains(&depth),
        "queue depth {depth} is not in {QUEUE_DEPTH_MIN}..={QUEUE_DEPTH_MAX}"
    );
    let wanted = depth as usize * entry_words;
    let found = words.word_count();
    assert!(
        found >= wanted,
        "a queue of {depth} entries needs {wanted} words, found {found}"
    );
}
#[cfg(all(test, not(ring_loom)))]
mod tests;
