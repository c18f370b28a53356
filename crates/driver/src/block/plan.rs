//! How a range of bytes becomes commands: pure arithmetic.

use spec::Lba;

/// The blocks of one command, and the part of them that the caller means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first block.
    pub(crate) lba: Lba,
    /// Blocks.
    pub(crate) blocks: u32,
    /// Bytes of the first block before the caller's.
    pub(crate) skip: u64,
    /// Bytes of the caller's, from `skip` on.
    pub(crate) take: u64,
    /// Where in the caller's range they begin.
    pub(crate) at: u64,
}

impl Piece {
    /// A command without blocks.
    pub(crate) const NO_BLOCKS: Self = Self {
        lba: Lba::new(0),
        blocks: 0,
        skip: 0,
        take: 0,
        at: 0,
    };

    /// Bytes of the blocks.
    pub(crate) fn bytes(&self, block_shift: u32) -> u64 {
        u64::from(self.blocks) << block_shift
    }

    /// Whether the caller means all bytes of the blocks.
    pub(crate) fn is_whole(&self, block_shift: u32) -> bool {
        self.take == self.bytes(block_shift)
    }
}

/// Cuts a range of bytes, piece by piece, in rising order.
///
/// With blocks of 512 bytes, at most 4 in a piece, and edges alone, 1000..4700 becomes (block, blocks): (1, 1) from byte 488
/// on, (2, 4), (6, 3), (9, 1) up to byte 92.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    begin: u64,
    next: u64,
    end: u64,
    block_shift: u32,
    blocks_max: u32,
    edges_alone: bool,
}

impl Plan {
    /// A plan for `len` bytes from `offset` on, which end within the namespace. With `edges_alone`, a block that is covered
    /// in part is a piece by itself, so that it can be read, modified and written.
    pub(crate) fn new(offset: u64, len: u64, block_shift: u32, blocks_max: u32) -> Self {
        assert!(blocks_max > 0, "a piece has a block");
        let end = offset
            .checked_add(len)
            .expect("the range was checked against the capacity");
        Self {
            begin: offset,
            next: offset,
            end,
            block_shift,
            blocks_max,
            edges_alone: false,
        }
    }

    /// The same, with a block that is covered in part a piece by itself, so that it can be read, modified and written.
    pub(crate) fn with_edges_alone(self) -> Self {
        Self {
            edges_alone: true,
            ..self
        }
    }

    /// The part of the range that is whole blocks.
    pub(crate) fn inner(self) -> Self {
        let mask = (1 << self.block_shift) - 1;
        let end = self.end & !mask;
        let next = self
            .next
            .checked_next_multiple_of(mask + 1)
            .map_or(end, |next| next.min(end));
        Self {
            next,
            end: end.max(next),
            ..self
        }
    }

    /// No pieces at all.
    pub(crate) fn nothing() -> Self {
        Self::new(0, 0, 0, 1)
    }
}

impl Iterator for Plan {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.next >= self.end {
            return None;
        }
        let shift = self.block_shift;
        let first = self.next >> shift;
        let last = (self.end - 1) >> shift;
        let skip = self.next - (first << shift);
        let mut blocks = (last - first + 1).min(self.blocks_max.into());
        if self.edges_alone && skip > 0 {
            blocks = 1;
        }
        let reaches_edge = first + blocks > last && self.end < ((last + 1) << shift);
        if self.edges_alone && reaches_edge && blocks > 1 {
            blocks -= 1;
        }
        let end = ((first + blocks) << shift).min(self.end);
        let piece = Piece {
            lba: Lba::new(first),
            blocks: blocks as u32,
            skip,
            take: end - self.next,
            at: self.next - self.begin,
        };
        self.next = end;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(plan: Plan) -> Vec<(u64, u32, u64, u64)> {
        plan.map(|piece| (piece.lba.get(), piece.blocks, piece.skip, piece.take))
            .collect()
    }

    #[test]
    fn edges_stand_alone_where_asked() {
        let plan = Plan::new(1000, 3700, 9, 4);
        assert_eq!(
            shape(plan.clone()),
            [(1, 4, 488, 1560), (5, 4, 0, 2048), (9, 1, 0, 92)]
        );
        assert_eq!(
            shape(plan.with_edges_alone()),
            [
                (1, 1, 488, 24),
                (2, 4, 0, 2048),
                (6, 3, 0, 1536),
                (9, 1, 0, 92)
            ]
        );
    }

    #[test]
    fn a_few_bytes_within_one_block_are_one_piece() {
        assert_eq!(
            shape(Plan::new(10, 3, 12, 8).with_edges_alone()),
            [(0, 1, 10, 3)]
        );
        assert_eq!(shape(Plan::new(10, 3, 12, 8).inner()), []);
        assert_eq!(shape(Plan::new(10, 0, 12, 8)), []);
    }

    #[test]
    fn the_inner_part_is_whole_blocks() {
        assert_eq!(shape(Plan::new(100, 2000, 9, 8).inner()), [(1, 3, 0, 1536)]);
        assert_eq!(shape(Plan::new(512, 1024, 9, 8).inner()), [(1, 2, 0, 1024)]);
    }

    proptest! {
        #[test]
        fn pieces_tile_the_range(
            offset in 0_u64..1 << 40,
            len in 0_u64..100_000,
            shift in 9_u32..=16,
            blocks_max in 1_u32..40,
            edges_alone: bool,
        ) {
            let plan = Plan::new(offset, len, shift, blocks_max);
            let plan = if edges_alone { plan.with_edges_alone() } else { plan };
            let mut next = offset;
            for piece in plan {
                prop_assert_eq!((piece.lba.get() << shift) + piece.skip, next);
                prop_assert_eq!(piece.at, next - offset);
                prop_assert!((1..=blocks_max).contains(&piece.blocks) && piece.take > 0);
                prop_assert!(piece.skip + piece.take <= piece.bytes(shift));
                prop_assert!(piece.bytes(shift) - piece.skip - piece.take < 1 << shift);
                prop_assert!(!edges_alone || piece.is_whole(shift) || piece.blocks == 1);
                next += piece.take;
            }
            prop_assert_eq!(next, offset + len);
        }
    }
}
