//! How a range of bytes is cut into commands: pure arithmetic.

use spec::Lba;

/// The blocks of one command, and which of their bytes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first block.
    pub(super) lba: Lba,
    /// Blocks.
    pub(super) blocks: u32,
    /// Bytes of the first block that are not meant.
    pub(super) skip: usize,
    /// Bytes that are meant.
    pub(super) take: usize,
    /// Where in the request these begin.
    pub(super) at: usize,
}

impl Piece {
    /// A command without blocks.
    pub(super) const NONE: Self = Self {
        lba: Lba::new(0),
        blocks: 0,
        skip: 0,
        take: 0,
        at: 0,
    };

    /// Bytes of the blocks.
    pub(super) fn bytes(&self, shift: u32) -> usize {
        (self.blocks as usize) << shift
    }

    /// Whether all bytes of the blocks are meant.
    pub(super) fn is_whole(&self, shift: u32) -> bool {
        self.take == self.bytes(shift)
    }
}

/// What is left of a range of bytes that is being cut, from its beginning to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    begin: u64,
    next: u64,
    end: u64,
    shift: u32,
    blocks_max: u32,
    edges_alone: bool,
}

impl Cuts {
    /// No bytes.
    pub(super) const NONE: Self = Self {
        begin: 0,
        next: 0,
        end: 0,
        shift: 0,
        blocks_max: 1,
        edges_alone: false,
    };

    /// Cuts for reading: blocks that are meant in part are read whole with their neighbours.
    pub(super) fn to_read(begin: u64, end: u64, shift: u32, blocks_max: u32) -> Self {
        Self {
            begin,
            next: begin,
            end,
            shift,
            blocks_max,
            edges_alone: false,
        }
    }

    /// Cuts for writing: a block that is meant in part is a piece by itself, to be read, changed and written.
    pub(super) fn to_write(begin: u64, end: u64, shift: u32, blocks_max: u32) -> Self {
        Self {
            edges_alone: true,
            ..Self::to_read(begin, end, shift, blocks_max)
        }
    }
}

impl Iterator for Cuts {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.next >= self.end {
            return None;
        }
        let block = 1 << self.shift;
        let first = self.next >> self.shift;
        let skip = self.next & (block - 1);
        let in_part = skip != 0 || self.end - self.next < block;
        let last = if self.edges_alone && in_part {
            first + 1
        } else if self.edges_alone {
            self.end >> self.shift
        } else {
            ((self.end - 1) >> self.shift) + 1
        };
        let blocks = (last - first).min(self.blocks_max.into());
        let stop = self.end.min((first + blocks) << self.shift);
        let piece = Piece {
            lba: Lba::new(first),
            blocks: blocks as u32,
            skip: skip as usize,
            take: (stop - self.next) as usize,
            at: (self.next - self.begin) as usize,
        };
        self.next = stop;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(cuts: Cuts) -> Vec<(u64, u32, usize, usize, usize)> {
        cuts.map(|piece| {
            (
                piece.lba.get(),
                piece.blocks,
                piece.skip,
                piece.take,
                piece.at,
            )
        })
        .collect()
    }

    #[test]
    fn a_read_takes_partial_blocks_along_and_a_write_sets_them_apart() {
        assert_eq!(
            shape(Cuts::to_read(700, 4200, 9, 4)),
            [(1, 4, 188, 1860, 0), (5, 4, 0, 1640, 1860)]
        );
        assert_eq!(
            shape(Cuts::to_write(700, 4200, 9, 4)),
            [
                (1, 1, 188, 324, 0),
                (2, 4, 0, 2048, 324),
                (6, 2, 0, 1024, 2372),
                (8, 1, 0, 104, 3396)
            ]
        );
    }

    #[test]
    fn bytes_within_one_block_are_one_piece_and_no_bytes_are_none() {
        assert_eq!(shape(Cuts::to_write(4097, 4100, 12, 8)), [(1, 1, 1, 3, 0)]);
        assert_eq!(
            shape(Cuts::to_write(4096, 8192, 12, 8)),
            [(1, 1, 0, 4096, 0)]
        );
        assert_eq!(shape(Cuts::to_read(5, 5, 12, 8)), []);
    }

    #[test]
    fn pieces_tile_the_range_whatever_its_edges() {
        for begin in 0..40_u64 {
            for end in begin..80 {
                for blocks_max in 1..5 {
                    let mut next = begin;
                    for piece in Cuts::to_write(begin, end, 3, blocks_max) {
                        assert_eq!((piece.lba.get() << 3) + piece.skip as u64, next);
                        assert_eq!(piece.at as u64, next - begin);
                        assert!((1..=blocks_max).contains(&piece.blocks) && piece.take > 0);
                        assert!(piece.is_whole(3) || piece.blocks == 1);
                        assert!(piece.skip + piece.take <= piece.bytes(3));
                        next += piece.take as u64;
                    }
                    assert_eq!(next, end);
                }
            }
        }
    }
}
