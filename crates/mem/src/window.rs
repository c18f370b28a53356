//! Owned, checked ranges of a region.

use crate::pointer::HostPointer;
use crate::region::Region;
use crate::span::Span;
use crate::words::{MappedRegister, MappedWords};

/// A range did not fit into a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "wanted {len} bytes at offset {offset}, found a window of {window} bytes; ask for a range inside it"
)]
pub struct OutOfRange {
    /// First byte asked for.
    pub offset: usize,
    /// Bytes asked for.
    pub len: usize,
    /// Bytes that there are.
    pub window: usize,
}

/// Contiguous bytes of one region. Keeps the region alive; cloning copies a handle, not bytes.
#[derive(Clone, Debug)]
pub struct Window {
    region: Region,
    /// Bytes from the region's start; `offset + len` is at most the region's length.
    offset: usize,
    len: usize,
    /// Host address of `offset`.
    start: HostPointer,
}

impl Window {
    /// The range of `region`, if it is inside.
    pub(crate) fn of(region: &Region, offset: usize, len: usize) -> Option<Self> {
        let start = checked(region.start(), region.len(), offset, len)?;
        Some(Self {
            region: region.clone(),
            offset,
            len,
            start,
        })
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The region that these bytes belong to.
    #[must_use]
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// Offset of the first byte in its region: what a peer that maps the region's file needs.
    #[must_use]
    pub const fn region_offset(&self) -> usize {
        self.offset
    }

    /// A part of this window, or nothing if it is not inside.
    #[must_use]
    pub fn window(&self, offset: usize, len: usize) -> Option<Self> {
        let start = checked(self.start, self.len, offset, len)?;
        Some(Self {
            region: self.region.clone(),
            offset: self.offset + offset,
            len,
            start,
        })
    }

    /// The window as 64-bit words; nothing unless it begins on a multiple of eight and is a whole
    /// number of words long.
    #[must_use]
    pub fn words(&self) -> Option<MappedWords> {
        if !self.start.is_aligned_to(8) || !self.len.is_multiple_of(8) {
            return None;
        }
        // SAFETY: aligned; `len / 8` words fill this window, which lies in the region.
        Some(unsafe { MappedWords::from_raw(self.start, self.len / 8, self.region.clone()) })
    }

    /// The 32-bit register at `offset`; nothing unless it is inside and begins on a multiple of four.
    #[must_use]
    pub fn register32(&self, offset: usize) -> Option<MappedRegister> {
        let start = checked(self.start, self.len, offset, size_of::<u32>())?;
        if !start.is_aligned_to(4) {
            return None;
        }
        // SAFETY: aligned; the four bytes were checked to lie in this window, hence in the region.
        Some(unsafe { MappedRegister::from_raw(start, self.region.clone()) })
    }

    /// A borrowed view of a part, or nothing if it is not inside.
    #[inline]
    #[must_use]
    pub fn span(&self, offset: usize, len: usize) -> Option<Span<'_>> {
        let start = checked(self.start, self.len, offset, len)?;
        // SAFETY: `checked` keeps the range in this window, and the window keeps the region mapped
        // for as long as it is borrowed.
        Some(unsafe { Span::from_raw(start, len) })
    }

    /// Copies bytes out of the window.
    ///
    /// # Errors
    /// [`OutOfRange`] if they are not all inside; `bytes` is unchanged then.
    #[inline]
    pub fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<(), OutOfRange> {
        self.range(offset, bytes.len())?.read_into(bytes);
        Ok(())
    }

    /// Copies bytes into the window.
    ///
    /// # Errors
    /// [`OutOfRange`] if they do not fit; the window is unchanged then.
    #[inline]
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.range(offset, bytes.len())?.write_from(bytes);
        Ok(())
    }

    /// Sets bytes to `value`.
    ///
    /// # Errors
    /// [`OutOfRange`] if they are not all inside; the window is unchanged then.
    #[inline]
    pub fn fill(&self, offset: usize, len: usize, value: u8) -> Result<(), OutOfRange> {
        self.range(offset, len)?.fill(value);
        Ok(())
    }

    /// Makes bytes zero and gives whole pages of long ranges back to the system; see
    /// [`Region::discard`].
    ///
    /// # Errors
    /// [`OutOfRange`] if they are not all inside; the window is unchanged then.
    pub fn discard(&self, offset: usize, len: usize) -> Result<(), OutOfRange> {
        self.range(offset, len)?;
        self.region.discard(self.offset + offset, len)
    }

    /// Whether both are the same bytes of the same region.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.region.is_same(&other.region) && self.offset == other.offset && self.len == other.len
    }

    /// This window and `next` as one, if `next` follows in the same region.
    pub(crate) fn joined(&self, next: &Self) -> Option<Self> {
        if !self.region.is_same(&next.region) || self.offset + self.len != next.offset {
            return None;
        }
        Self::of(&self.region, self.offset, self.len + next.len)
    }

    /// Host address of the first byte.
    pub(crate) const fn start(&self) -> HostPointer {
        self.start
    }

    #[inline(always)]
    fn range(&self, offset: usize, len: usize) -> Result<Span<'_>, OutOfRange> {
        self.span(offset, len).ok_or(OutOfRange {
            offset,
            len,
            window: self.len,
        })
    }
}

/// The address of byte `offset` of `room` mapped bytes at `start`, if `len` bytes from it are inside.
#[inline(always)]
fn checked(start: HostPointer, room: usize, offset: usize, len: usize) -> Option<HostPointer> {
    if len > room.checked_sub(offset)? {
        return None;
    }
    // SAFETY: `offset` is at most `room`, and both callers' fields keep `room` bytes mapped.
    Some(unsafe { start.add(offset) })
}
