//! Whether a file can be read and written past the page cache in logical blocks.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use rustix::io::Errno;

use super::limits::MEMORY_ALIGN;
use crate::BlockSize;

/// Turns the page cache off for the file, or says why that cannot be; it is as before then.
pub(super) fn turn_on(file: &File, block_size: BlockSize, bytes: u64) -> Result<(), String> {
    match alignments(file) {
        Some((0, _) | (_, 0)) => return Err("its file system has no direct I/O".to_owned()),
        Some((_, offset)) if u64::from(offset) > block_size.bytes() => {
            return Err(format!(
                "its device wants direct I/O in multiples of {offset} bytes, and the logical blocks have {}",
                block_size.bytes()
            ));
        }
        Some((memory, _)) if memory > MEMORY_ALIGN => {
            return Err(format!(
                "its device wants memory at multiples of {memory} bytes for direct I/O"
            ));
        }
        _ => {}
    }
    let refused = |errno: Errno| format!("direct I/O is refused: {}", std::io::Error::from(errno));
    let flags = rustix::fs::fcntl_getfl(file).map_err(refused)?;
    rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT).map_err(refused)?;
    // What the system says about alignments is not always there and not always so.
    probe(file, block_size, bytes).map_err(|error| {
        let _ = rustix::fs::fcntl_setfl(file, flags);
        format!("a direct read of one logical block fails: {error}")
    })
}

/// What direct I/O asks of addresses and of offsets, in bytes; zero if it is impossible. Nothing where the kernel (before 6.1)
/// or the file system does not say.
fn alignments(file: &File) -> Option<(u32, u32)> {
    let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN);
    told.then_some((found.stx_dio_mem_align, found.stx_dio_offset_align))
}

/// Reads one block at the most awkward place there is.
fn probe(file: &File, block_size: BlockSize, bytes: u64) -> std::io::Result<()> {
    let block = block_size.bytes() as usize;
    let align = MEMORY_ALIGN as usize;
    let mut room = vec![0; align + 2 * block];
    // A block behind an aligned address, as the rest of a read that came short is.
    let start = room.as_ptr().align_offset(align) + if block < align { block } else { 0 };
    let Some(buffer) = room.get_mut(start..start + block) else {
        return Err(std::io::Error::other("no memory at an aligned address"));
    };
    let at = if bytes > block_size.bytes() {
        block_size.bytes()
    } else {
        0
    };
    match file.read_at(buffer, at)? {
        read if read == block => Ok(()),
        read => Err(std::io::Error::other(format!("{read} bytes came"))),
    }
}
