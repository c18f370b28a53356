//! Which pages of a medium in memory were ever written.

/// The grain in bytes as a power of two: what a flash translation layer commonly maps as one unit.
const PAGE_SHIFT: u32 = 12;

/// A bit for each 4 KiB page, and how many are still clear: once none is, nobody has to look any more.
#[derive(Debug)]
pub(crate) struct WrittenPages {
    bits: Box<[u64]>,
    clear: u64,
}

impl WrittenPages {
    /// All pages of `len` bytes, none written.
    pub(crate) fn new(len: usize) -> Self {
        let pages = len.div_ceil(1 << PAGE_SHIFT);
        Self {
            bits: vec![0; pages.div_ceil(64)].into_boxed_slice(),
            clear: pages as u64,
        }
    }

    /// Whether every page was written.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.clear == 0
    }

    /// Notes a write of `len` bytes (at least one) at `offset`. A page counts as written when any byte of it is.
    #[inline]
    pub(crate) fn set(&mut self, offset: usize, len: usize) {
        for page in offset >> PAGE_SHIFT..=(offset + len - 1) >> PAGE_SHIFT {
            if let Some((word, bit)) = self.word(page) {
                let news = *word & bit == 0;
                *word |= bit;
                self.clear -= u64::from(news);
            }
        }
    }

    /// Forgets the pages that lie wholly within `len` bytes at `offset`: their storage was given back.
    pub(crate) fn forget(&mut self, offset: usize, len: usize) {
        let first = offset.div_ceil(1 << PAGE_SHIFT);
        for page in first..(offset + len) >> PAGE_SHIFT {
            if let Some((word, bit)) = self.word(page) {
                let news = *word & bit != 0;
                *word &= !bit;
                self.clear += u64::from(news);
            }
        }
    }

    /// Whether `len` bytes (at least one) at `offset` touch a page that was never written.
    #[inline]
    pub(crate) fn misses(&self, offset: usize, len: usize) -> bool {
        (offset >> PAGE_SHIFT..=(offset + len - 1) >> PAGE_SHIFT).any(|page| {
            let word = self.bits.get(page / 64).copied().unwrap_or_default();
            word >> (page % 64) & 1 == 0
        })
    }

    #[inline]
    fn word(&mut self, page: usize) -> Option<(&mut u64, u64)> {
        self.bits
            .get_mut(page / 64)
            .map(|word| (word, 1 << (page % 64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_by_any_byte_and_forgotten_only_as_a_whole() {
        let mut pages = WrittenPages::new(5 * 4096);
        assert!(pages.misses(0, 1));
        pages.set(4095, 2);
        assert!(!pages.misses(0, 8192) && pages.misses(0, 8193));
        pages.set(8192, 3 * 4096);
        assert!(pages.is_full());
        pages.forget(1, 2 * 4096);
        assert!(!pages.is_full());
        assert!(!pages.misses(0, 4096) && pages.misses(4096, 1) && !pages.misses(8192, 4096));
    }
}
