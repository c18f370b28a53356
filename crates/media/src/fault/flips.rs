//! Flipping bits of data on their way.

use mem::{Backing, Region, RegionError, Span, Window};

use super::limits;
use super::script::Bits;
use crate::random::Random;

/// Where in a request's data which rule flips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flip {
    /// The rule's index.
    pub(super) rule: usize,
    /// What chance is drawn from.
    pub(super) seed: u64,
    /// The first byte of the request's data that may change.
    pub(super) from: usize,
    /// How many bytes may change.
    pub(super) len: usize,
}

impl Flip {
    /// Flips bits of the data that these spans hold one after the other.
    pub(super) fn apply(&self, bits: &Bits, data: &[Span<'_>]) {
        match bits {
            Bits::Given(positions) => {
                for &bit in positions {
                    self.turn(u64::from(bit), data);
                }
            }
            Bits::Random(count) => {
                let mut random = Random::new(self.seed);
                let (all, parts) = (self.len as u64 * 8, *count as u64);
                // One bit of each of as many equal parts: no bit is drawn twice and turned back.
                for part in 0..parts {
                    let place = |part: u64| all / parts * part;
                    self.turn(random.between(place(part), place(part + 1)), data);
                }
            }
        }
    }

    fn turn(&self, bit: u64, data: &[Span<'_>]) {
        let byte = (bit / 8) as usize;
        if byte >= self.len {
            return;
        }
        let mut offset = self.from + byte;
        for span in data {
            if offset < span.len() {
                let place = span.split_at(offset).1.prefix(1);
                let mut value = [0];
                place.read_into(&mut value);
                place.write_from(&value.map(|value| value ^ 1 << (bit % 8)));
                return;
            }
            offset -= span.len();
        }
    }
}

/// Memory for data that change on their way, so that neither the host's memory nor the blocks see it early.
#[derive(Debug)]
pub(super) struct Detour(Option<Window>);

impl Detour {
    /// Memory for one transfer, if it is `needed`.
    pub(super) fn new(needed: bool) -> Result<Self, RegionError> {
        let region = || Region::allocate(limits::FLIP_BYTES_MAX, Backing::Anonymous);
        let region = needed.then(region).transpose()?;
        Ok(Self(region.map(|region| region.whole())))
    }

    /// Copies the data and hands the copy over. `None`: there is no room for them.
    pub(super) fn copy<T>(&self, data: &[Span<'_>], with: impl FnOnce(Span<'_>) -> T) -> Option<T> {
        let len = data.iter().map(Span::len).sum();
        let copy = self.0.as_ref()?.span(0, len)?;
        let mut rest = copy;
        for span in data {
            let (here, after) = rest.split_at(span.len());
            span.copy_to(here);
            rest = after;
        }
        Some(with(copy))
    }
}
