//! Data that says where it belongs: every 8-byte word is computed from the seed, its logical block,
//! that block's generation and its place, so that wrong, stale, shifted or flipped data cannot pass.

use crate::access::mix;

const WORD: usize = 8;

/// The first byte run that is not what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mismatch {
    /// Logical block that holds the wrong word.
    pub lba: u64,
    /// Offset of the wrong word inside that block, in bytes.
    pub byte_offset: u32,
    /// Generation of the block that was expected.
    pub generation: u32,
    /// The word that must be there, little endian.
    pub wanted: u64,
    /// The word that is there, little endian.
    pub found: u64,
    /// What the found word looks like.
    pub looks_like: Likeness,
}

/// What a wrong word resembles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Likeness {
    /// Data of an earlier generation of the same block: a write was lost or came late.
    Stale(u32),
    /// Zeros: never written or deallocated.
    Zeros,
    /// The right word with this many bits flipped (at most 8).
    Flipped(u32),
    /// None of these: another block's data or no stamped data at all.
    Foreign,
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "block {} byte {}: wanted {:016x} (generation {}), found {:016x}: ",
            self.lba, self.byte_offset, self.wanted, self.generation, self.found
        )?;
        match self.looks_like {
            Likeness::Stale(generation) => write!(f, "stale data of generation {generation}"),
            Likeness::Zeros => f.write_str("zeros"),
            Likeness::Flipped(bits) => write!(f, "{bits} bit(s) flipped"),
            Likeness::Foreign => f.write_str("data that belongs elsewhere"),
        }
    }
}

/// Makes and checks stamped blocks of one size under one seed.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    seed: u64,
    block_bytes: usize,
}

impl Stamp {
    /// Stamps for blocks of `block_bytes` bytes.
    ///
    /// # Panics
    /// If `block_bytes` is zero or not a multiple of 8.
    #[must_use]
    pub fn new(seed: u64, block_bytes: u32) -> Self {
        let block_bytes = block_bytes as usize;
        assert!(
            block_bytes > 0 && block_bytes.is_multiple_of(WORD),
            "block of {block_bytes} bytes"
        );
        Self { seed, block_bytes }
    }

    /// Fills `data` with consecutive blocks from `first_lba` on, all of one generation.
    ///
    /// # Panics
    /// If `data` is not a whole number of blocks.
    pub fn fill(&self, first_lba: u64, generation: u32, data: &mut [u8]) {
        assert!(data.len().is_multiple_of(self.block_bytes), "whole blocks");
        for (lba, block) in (first_lba..).zip(data.chunks_exact_mut(self.block_bytes)) {
            let key = self.key(lba, generation);
            for (index, word) in (0..).zip(block.as_chunks_mut::<WORD>().0) {
                *word = stamped_word(key, index).to_le_bytes();
            }
        }
    }

    /// Compares `data` with what [`fill`](Self::fill) would have put there.
    ///
    /// # Errors
    /// The first [`Mismatch`].
    ///
    /// # Panics
    /// If `data` is not a whole number of blocks.
    pub fn check(&self, first_lba: u64, generation: u32, data: &[u8]) -> Result<(), Mismatch> {
        assert!(data.len().is_multiple_of(self.block_bytes), "whole blocks");
        for (lba, block) in (first_lba..).zip(data.chunks_exact(self.block_bytes)) {
            let key = self.key(lba, generation);
            for (index, word) in (0..).zip(block.as_chunks::<WORD>().0) {
                let found = u64::from_le_bytes(*word);
                if found != stamped_word(key, index) {
                    return Err(self.mismatch(lba, generation, index, found));
                }
            }
        }
        Ok(())
    }

    fn key(&self, lba: u64, generation: u32) -> u64 {
        mix(mix(self.seed ^ lba).wrapping_add(u64::from(generation)))
    }

    #[cold]
    fn mismatch(&self, lba: u64, generation: u32, index: u64, found: u64) -> Mismatch {
        /// Earlier generations tried when naming a wrong word.
        const LOOK_BACK: u32 = 64;
        let wanted = stamped_word(self.key(lba, generation), index);
        let stale = (generation.saturating_sub(LOOK_BACK)..generation)
            .rev()
            .find(|&earlier| stamped_word(self.key(lba, earlier), index) == found);
        let flipped = (wanted ^ found).count_ones();
        let looks_like = match stale {
            Some(earlier) => Likeness::Stale(earlier),
            None if found == 0 => Likeness::Zeros,
            None if flipped <= 8 => Likeness::Flipped(flipped),
            None => Likeness::Foreign,
        };
        Mismatch {
            lba,
            byte_offset: index as u32 * WORD as u32,
            generation,
            wanted,
            found,
            looks_like,
        }
    }
}

#[inline]
fn stamped_word(key: u64, index: u64) -> u64 {
    mix(key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(seed: u64, lba: u64, generation: u32) -> Vec<u8> {
        let mut data = vec![0; 1024];
        Stamp::new(seed, 512).fill(lba, generation, &mut data);
        data
    }

    #[test]
    fn data_of_another_block_generation_or_seed_is_refused() {
        let stamp = Stamp::new(1, 512);
        assert_eq!(stamp.check(10, 3, &filled(1, 10, 3)), Ok(()));
        let likeness = |data: &[u8]| stamp.check(10, 3, data).unwrap_err().looks_like;
        assert_eq!(likeness(&filled(1, 10, 2)), Likeness::Stale(2));
        assert_eq!(likeness(&filled(1, 11, 3)), Likeness::Foreign);
        assert_eq!(likeness(&filled(2, 10, 3)), Likeness::Foreign);
        assert_eq!(likeness(&[0; 1024]), Likeness::Zeros);
    }

    proptest! {
        #[test]
        fn one_flipped_bit_is_found_where_it_is(
            seed in any::<u64>(), lba in 0u64..1 << 50, generation in any::<u32>(), bit in 0usize..1024 * 8,
        ) {
            let mut data = filled(seed, lba, generation);
            data[bit / 8] ^= 1 << (bit % 8);
            let mismatch = Stamp::new(seed, 512).check(lba, generation, &data).unwrap_err();
            prop_assert_eq!(mismatch.lba, lba + (bit / 4096) as u64);
            prop_assert_eq!(mismatch.byte_offset as usize, bit % 4096 / 64 * 8);
            prop_assert_eq!(mismatch.looks_like, Likeness::Flipped(1));
        }

        #[test]
        fn blocks_filled_together_equal_blocks_filled_alone(seed in any::<u64>(), lba in 0u64..1 << 50) {
            let together = filled(seed, lba, 9);
            let mut alone = vec![0; 512];
            Stamp::new(seed, 512).fill(lba + 1, 9, &mut alone);
            prop_assert_eq!(&together[512..], &alone[..]);
        }
    }
}
