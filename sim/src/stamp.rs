//! What stands in a block: who wrote it, and where it belongs, at every byte.
//!
//! A block is a row of cells of sixteen bytes: the stamp of the write, then the place: namespace, block, number of the cell
//! within the block. A block that is torn, shifted by any number of bytes, or another block's, shows it wherever it is hit.

/// What was written into a block: zero for never or zeroed, the write's number otherwise.
pub type Stamp = u64;

/// The stamp of a block that holds zeroes.
pub const ZEROES: Stamp = 0;

const CELL_BYTES: usize = 16;

/// Namespace in the upper 16 bits, block in 32, cell in 16: worlds are small.
fn place(namespace: u32, lba: u64, cell: usize) -> u64 {
    u64::from(namespace) << 48 | lba << 16 | cell as u64
}

/// Writes one block of `stamp` as it belongs to its place.
pub fn fill(block: &mut [u8], namespace: u32, lba: u64, stamp: Stamp) {
    if stamp == ZEROES {
        block.fill(0);
        return;
    }
    for (cell, bytes) in block.chunks_exact_mut(CELL_BYTES).enumerate() {
        let (head, tail) = bytes.split_at_mut(8);
        head.copy_from_slice(&stamp.to_le_bytes());
        tail.copy_from_slice(&place(namespace, lba, cell).to_le_bytes());
    }
}

/// Reads the stamp of a block, and checks that every byte of it belongs there.
///
/// # Errors
/// In words: which cell held what.
pub fn check(block: &[u8], namespace: u32, lba: u64) -> Result<Stamp, String> {
    let word = |bytes: &[u8]| {
        bytes
            .try_into()
            .map_or(0, |bytes: [u8; 8]| u64::from_le_bytes(bytes))
    };
    let stamp = word(&block[..8]);
    for (cell, bytes) in block.chunks_exact(CELL_BYTES).enumerate() {
        let (head, tail) = bytes.split_at(8);
        let found = (word(head), word(tail));
        let wanted = match stamp {
            ZEROES => (0, 0),
            _ => (stamp, place(namespace, lba, cell)),
        };
        if found != wanted {
            return Err(format!(
                "namespace {namespace} LBA {lba}, byte {}: found stamp {} of namespace {} LBA {} cell {}, \
                 in a block that begins with stamp {stamp}",
                cell * CELL_BYTES,
                found.0,
                found.1 >> 48,
                found.1 >> 16 & 0xffff_ffff,
                found.1 & 0xffff,
            ));
        }
    }
    Ok(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Vec<u8> {
        let mut block = vec![0xff; 512];
        fill(&mut block, 2, 7, 99);
        block
    }

    #[test]
    fn a_block_shows_its_stamp_and_zeroes_are_a_stamp() {
        assert_eq!(check(&block(), 2, 7), Ok(99));
        assert_eq!(check(&[0; 512], 2, 7), Ok(ZEROES));
    }

    #[test]
    fn a_torn_shifted_or_misplaced_block_is_seen() {
        let whole = block();
        assert!(check(&whole, 2, 8).is_err(), "another block's");
        assert!(check(&whole, 1, 7).is_err(), "another namespace's");
        for byte in 0..512 {
            let mut torn = whole.clone();
            torn[byte] ^= 1;
            assert!(check(&torn, 2, 7).is_err(), "byte {byte}");
        }
        let mut shifted = whole.clone();
        shifted.rotate_left(16);
        assert!(check(&shifted, 2, 7).is_err());
        let mut torn = whole;
        torn[256..].fill(0);
        assert!(check(&torn, 2, 7).is_err());
    }
}
