//! One word bounced between two cores: what a hand-over costs at this moment.

use core::time::Duration;
use std::time::Instant;

use mem::{Backing, Region};
use ring::Words;

use super::placement;

/// The words used: the answer lies 128 bytes after the question, clear of adjacent-line prefetch.
const QUESTION: usize = 0;
const ANSWER: usize = 16;
const STOP: u64 = u64::MAX;

/// Nanoseconds for one round trip between two CPUs, averaged over `window`.
///
/// # Errors
/// When memory is refused: the reason.
#[expect(
    clippy::disallowed_methods,
    reason = "a ceiling is measured against the real clock"
)]
pub fn round_trip_ns(cpus: (usize, usize), window: Duration) -> Result<f64, String> {
    let words = Region::allocate(4096, Backing::Anonymous)
        .map_err(|error| error.to_string())?
        .whole()
        .words()
        .ok_or("a page is aligned")?;
    let echo = words.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            placement::pin(cpus.1);
            let mut last = 0;
            while last != STOP {
                // Acquire pairs with the release of the question below, release with its acquire of the answer.
                let question = echo.load_acquire(QUESTION);
                if question != last {
                    last = question;
                    echo.store_release(ANSWER, question);
                }
            }
        });
        let asker = scope.spawn(move || {
            placement::pin(cpus.0);
            let turn = |trips: u64, from: u64| {
                for trip in from..from + trips {
                    words.store_release(QUESTION, trip); // pairs with the echo's acquire
                    while words.load_acquire(ANSWER) != trip {} // pairs with the echo's release
                }
                from + trips
            };
            let mut next = turn(1000, 1); // until the echo runs on its CPU
            let (begin, first) = (Instant::now(), next);
            while begin.elapsed() < window {
                next = turn(256, next);
            }
            let ns = begin.elapsed().as_secs_f64() * 1e9 / (next - first) as f64;
            words.store_release(QUESTION, STOP); // pairs with the echo's acquire
            ns
        });
        asker
            .join()
            .map_err(|_| "the asking thread panicked".to_string())
    })
}
