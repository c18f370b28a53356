//! A queue pair without NVMe meaning: 64-byte entries one way, 16-byte entries with a phase the other way, both sides
//! batching. Nothing is checked, nothing is looked up, nothing moves but the entries; no controller can be faster.

use core::time::Duration;
use std::time::Instant;

use mem::{Backing, MappedWords, Region};
use ring::Words;

use super::placement;

/// Where the indices live: each on lines of its own, clear of adjacent-line prefetch.
const TAIL: usize = 0;
const HEAD: usize = 16;
const STOP: u64 = u64::MAX;

/// The shared memory of one bare loop.
#[derive(Clone)]
struct Rings {
    submissions: MappedWords,
    completions: MappedWords,
    indices: MappedWords,
    mask: u64,
}

impl Rings {
    fn new(depth: u32) -> Result<Self, String> {
        let entries = (depth as usize + 1).next_power_of_two();
        let words = |bytes: usize| {
            let region = Region::allocate(bytes, Backing::Anonymous).map_err(|e| e.to_string())?;
            region.prefault().map_err(|error| error.to_string())?;
            region
                .whole()
                .words()
                .ok_or_else(|| "a page is aligned".to_string())
        };
        Ok(Self {
            submissions: words(entries * 64)?,
            completions: words(entries * 16)?,
            indices: words(4096)?,
            mask: entries as u64 - 1,
        })
    }

    /// The phase of a round: one in the first, then in turns.
    #[inline(always)]
    fn phase(&self, head: u64) -> u64 {
        u64::from(head & (self.mask + 1) == 0)
    }

    /// The device: takes what is there, answers each entry with its first word, until told to stop.
    fn serve(&self) {
        let mut head = 0_u64;
        loop {
            let tail = self.indices.load_acquire(TAIL); // pairs with the host's release of the tail
            if tail == STOP {
                return;
            }
            while head != tail {
                let entry: [u64; 8] = self.submissions.load_entry((head & self.mask) as usize);
                let entry = core::hint::black_box(entry);
                let slot = (head & self.mask) as usize * 2;
                let phase = self.phase(head);
                self.completions.store_relaxed(slot, entry[0]);
                // Release pairs with the host's acquire of the phase.
                self.completions
                    .store_release(slot + 1, entry[0] << 1 | phase);
                head += 1;
            }
        }
    }

    /// The host: keeps `depth` entries under way for about `window`; returns round trips per second.
    #[expect(
        clippy::disallowed_methods,
        reason = "a ceiling is measured against the real clock"
    )]
    fn drive(&self, depth: u32, window: Duration) -> f64 {
        let (mut tail, mut head) = (0_u64, 0_u64);
        let (mut begin, mut first) = (Instant::now(), 0);
        let mut warm = false;
        loop {
            for _ in 0..256 {
                let room = u64::from(depth) - (tail - head);
                for _ in 0..room {
                    let entry = [tail, 1, 2, 3, 4, 5, 6, 7];
                    self.submissions
                        .store_entry((tail & self.mask) as usize, &entry);
                    tail += 1;
                }
                if room > 0 {
                    self.indices.store_release(TAIL, tail); // pairs with the device's acquire
                }
                let reaped = head;
                loop {
                    let slot = (head & self.mask) as usize * 2;
                    let phase = self.phase(head);
                    // Acquire pairs with the device's release of the phase.
                    if self.completions.load_acquire(slot + 1) & 1 != phase {
                        break;
                    }
                    core::hint::black_box(self.completions.load_relaxed(slot));
                    head += 1;
                }
                if head != reaped {
                    self.indices.store_release(HEAD, head); // what a completion doorbell would cost
                }
            }
            let elapsed = begin.elapsed();
            if !warm && elapsed >= window / 10 {
                (begin, first, warm) = (Instant::now(), head, true);
            } else if elapsed >= window {
                self.indices.store_release(TAIL, STOP); // pairs with the device's acquire
                return (head - first) as f64 / elapsed.as_secs_f64();
            }
        }
    }
}

/// Round trips per second of a bare queue pair that keeps `depth` entries under way between two CPUs.
///
/// # Errors
/// When memory or threads are refused: the reason.
pub fn rate(depth: u32, cpus: (usize, usize), window: Duration) -> Result<f64, String> {
    let rings = Rings::new(depth)?;
    std::thread::scope(|scope| {
        let device = rings.clone();
        scope.spawn(move || {
            placement::pin(cpus.1);
            device.serve();
        });
        let host = scope.spawn(move || {
            placement::pin(cpus.0);
            rings.drive(depth, window)
        });
        host.join()
            .map_err(|_| "the host thread panicked".to_string())
    })
}
