//! Copies of random blocks out of a working set: what the memory under a RAM device allows.

use core::time::Duration;
use std::time::Instant;

use mem::{Backing, Region};
use ring::sync::{Ordering, fence};

use crate::lane::buffer_stride;

/// A source of blocks and a set of buffers, as many as commands would be in flight.
#[derive(Debug)]
pub struct CopyLoop {
    source: Region,
    buffers: Region,
    block: usize,
    blocks: u64,
    depth: usize,
    /// Each copy ends before the next begins, as commands at depth 1 do.
    one_by_one: bool,
    state: u64,
}

impl CopyLoop {
    /// Copies of `block` bytes from a working set of `bytes`, touched beforehand, into `depth` buffers in turn.
    ///
    /// # Errors
    /// When memory is refused: the reason.
    ///
    /// # Panics
    /// If the working set holds no block, or `depth` is zero.
    pub fn new(bytes: usize, block: usize, depth: usize, seed: u64) -> Result<Self, String> {
        assert!(
            block > 0 && depth > 0 && bytes >= block,
            "at least one block and one buffer"
        );
        let allocate = |len| {
            let region = Region::allocate(len, Backing::Anonymous).map_err(|e| e.to_string())?;
            region.prefault().map_err(|error| error.to_string())?;
            region
                .whole()
                .fill(0, len, 0x5A)
                .map_err(|_| "a fill within the region")?;
            Ok::<_, String>(region)
        };
        Ok(Self {
            source: allocate(bytes)?,
            buffers: allocate(depth * buffer_stride(block as u32))?,
            block,
            blocks: (bytes / block) as u64,
            depth,
            one_by_one: false,
            state: seed | 1,
        })
    }

    /// The same, where no copy begins before the one before it has ended: nothing hides the way to memory.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self {
            one_by_one: true,
            ..self
        }
    }

    /// Copies for about `window`; returns copies per second.
    ///
    /// # Panics
    /// Never: every block and buffer lies in its region.
    #[expect(
        clippy::disallowed_methods,
        reason = "a ceiling is measured against the real clock"
    )]
    pub fn run(&mut self, window: Duration) -> f64 {
        let (source, buffers) = (self.source.whole(), self.buffers.whole());
        let (begin, mut copies, mut buffer) = (Instant::now(), 0_u64, 0);
        loop {
            for _ in 0..1024 {
                self.state = self
                    .state
                    .wrapping_mul(0x5851_F42D_4C95_7F2D)
                    .wrapping_add(1);
                let at = ((u128::from(self.state) * u128::from(self.blocks)) >> 64) as usize;
                let from = source
                    .span(at * self.block, self.block)
                    .expect("in the source");
                let to = buffers
                    .span(buffer * buffer_stride(self.block as u32), self.block)
                    .expect("in range");
                from.copy_to(to);
                if self.one_by_one {
                    fence(Ordering::SeqCst); // pairs with nothing: it is here for the time that it takes
                }
                buffer = if buffer + 1 == self.depth {
                    0
                } else {
                    buffer + 1
                };
            }
            copies += 1024;
            let elapsed = begin.elapsed();
            if elapsed >= window {
                return copies as f64 / elapsed.as_secs_f64();
            }
        }
    }
}
