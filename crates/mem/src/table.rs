//! The reader's side of I/O virtual addresses: from an address to bytes, in about 17 instructions.
//!
//! The table has two levels. A directory entry stands for 4 GiB of addresses and holds a leaf, if
//! anything is mapped there, and a leaf of nothing if not; an entry of a leaf stands for one page of
//! 2 MiB and holds the piece that begins where the page begins, if there is one. A page wholly inside
//! one mapping, the usual case, is thus answered with one comparison of offsets. Whatever the entry
//! does not answer (a page that begins with a hole or has several pieces, a range that leaves its
//! page, an address that nobody mapped) goes to a binary search among the extents, which alone
//! decides what is valid.

use std::sync::Arc;

use crate::limits::{TABLE_LEAF_BITS, TABLE_LOW_PAGES_MAX, TABLE_PAGE_BITS};
use crate::pointer::HostPointer;
use crate::span::Span;
use crate::window::Window;

const PAGE_BYTES: u64 = 1 << TABLE_PAGE_BITS;
const SMALL_PAGE_BYTES: u64 = 4096;
const LEAF_ENTRIES: usize = 1 << TABLE_LEAF_BITS;

/// The mapped piece that begins with one page of addresses.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Host address of the page's first byte.
    host: HostPointer,
    /// Length of the piece in bytes; 0 if the page begins unmapped.
    len: u64,
}

impl Entry {
    const UNMAPPED: Self = Self {
        host: HostPointer::DANGLING,
        len: 0,
    };
}

type Leaf = [Entry; LEAF_ENTRIES];

/// Addresses and host bytes that are contiguous in both.
#[derive(Debug)]
struct Extent {
    start: u64,
    /// Not empty. Keeps the region alive, also for the entries made from this extent.
    window: Window,
}

/// An immutable snapshot of an [`IovaMap`](crate::IovaMap), for any number of threads. Keeps the
/// mapped regions alive.
///
/// Any 64-bit address and any length may be asked for. What is not mapped is never valid, whatever
/// the length; a length of 0 is valid at mapped addresses.
#[derive(Debug)]
pub struct IovaTable {
    directory: Box<[Arc<Leaf>]>,
    /// The entries of the lowest pages once more, up to the highest that is mapped, in one piece: where most hosts have
    /// their memory, two loads are saved.
    low: Box<[Entry]>,
    /// By address; neither overlapping nor continuing each other.
    extents: Box<[Extent]>,
}

impl IovaTable {
    /// Builds the table of `mappings`, which come by address, are not empty, do not overlap and end
    /// below `1 << IOVA_BITS`.
    pub(crate) fn build<'w>(mappings: impl Iterator<Item = (u64, &'w Window)>) -> Self {
        let mut extents: Vec<Extent> = Vec::new();
        for (start, window) in mappings {
            if let Some(last) = extents.last_mut()
                && last.start + last.window.len() as u64 == start
                && let Some(joined) = last.window.joined(window)
            {
                last.window = joined;
            } else {
                extents.push(Extent {
                    start,
                    window: window.clone(),
                });
            }
        }
        let mut directory = Vec::new();
        for extent in &extents {
            enter(&mut directory, extent);
        }
        let hole: Arc<Leaf> = empty_leaf().into();
        let leaf = |leaf: Option<Box<Leaf>>| leaf.map_or_else(|| Arc::clone(&hole), Arc::from);
        let directory: Box<[_]> = directory.into_iter().map(leaf).collect();
        let low = directory
            .iter()
            .flat_map(|leaf| leaf.iter().copied())
            .take(low_pages(&extents));
        Self {
            low: low.collect(),
            directory,
            extents: extents.into(),
        }
    }

    /// The `len` bytes at `iova`, if all are mapped and contiguous in host memory. Fastest within
    /// one page of 2 MiB.
    #[inline]
    #[must_use]
    pub fn span(&self, iova: u64, len: usize) -> Option<Span<'_>> {
        let Some(leaf) = self.directory.get(directory_index(iova)) else {
            return self.span_by_search(iova, len);
        };
        let entry = &leaf[leaf_index(iova)];
        let offset = offset_in_page(iova);
        match offset.checked_add(len as u64) {
            Some(end) if end <= entry.len && offset < entry.len => {}
            _ => return self.span_by_search(iova, len),
        }
        // SAFETY: `offset` is less than the length of the piece.
        let start = unsafe { entry.host.add(offset as usize) };
        // SAFETY: `len` bytes are left of the piece, which lies in the window of an extent
        // (`enter`); the extent keeps it mapped as long as this table is borrowed.
        Some(unsafe { Span::from_raw(start, len) })
    }

    /// The same for bytes that stay within one 4 KiB page of addresses, which saves a third of the work. Nothing if they
    /// leave it.
    #[inline(always)]
    #[must_use]
    pub fn span_in_page(&self, iova: u64, len: u32) -> Option<Span<'_>> {
        if iova % SMALL_PAGE_BYTES + u64::from(len) > SMALL_PAGE_BYTES {
            return None;
        }
        let len = len as usize;
        let Some(entry) = self.low.get(page_index(iova)) else {
            return self.span_high(iova, len);
        };
        let offset = offset_in_page(iova);
        if offset >= entry.len {
            return self.span_by_search(iova, len);
        }
        // SAFETY: `offset` is less than the length of the piece.
        let start = unsafe { entry.host.add(offset as usize) };
        // SAFETY: the piece begins at a 2 MiB page and is whole 4 KiB pages long (`enter`), so that it holds the rest of
        // the 4 KiB page in which the offset lies; the extent keeps it mapped as long as this table is borrowed.
        Some(unsafe { Span::from_raw(start, len) })
    }

    /// The `len` bytes at `iova` as a window, if all are mapped and contiguous in one region. It
    /// outlives this table; queues are mapped with it.
    #[must_use]
    pub fn window(&self, iova: u64, len: usize) -> Option<Window> {
        let (extent, offset) = self.find(iova)?;
        extent.window.window(offset, len)
    }

    /// Copies the bytes at `iova` into `bytes`, across pages and mappings.
    ///
    /// Nothing is copied, and nothing returned, unless all of them are mapped.
    #[inline]
    #[must_use = "the bytes may not have been mapped"]
    pub fn copy_in(&self, iova: u64, bytes: &mut [u8]) -> Option<()> {
        if let Some(span) = self.span(iova, bytes.len()) {
            span.read_into(bytes);
            return Some(());
        }
        self.walk(iova, bytes.len(), |_, _| {})?;
        self.walk(iova, bytes.len(), |at, piece| {
            piece.read_into(&mut bytes[at..at + piece.len()]);
        })
    }

    /// Copies `bytes` to the bytes at `iova`, across pages and mappings.
    ///
    /// Nothing is copied, and nothing returned, unless all of them are mapped.
    #[inline]
    #[must_use = "the bytes may not have been mapped"]
    pub fn copy_out(&self, iova: u64, bytes: &[u8]) -> Option<()> {
        if let Some(span) = self.span(iova, bytes.len()) {
            span.write_from(bytes);
            return Some(());
        }
        self.walk(iova, bytes.len(), |_, _| {})?;
        self.walk(iova, bytes.len(), |at, piece| {
            piece.write_from(&bytes[at..at + piece.len()])
        })
    }

    /// [`span`](Self::span) out of line, for addresses that are too high for the short table.
    #[inline(never)]
    fn span_high(&self, iova: u64, len: usize) -> Option<Span<'_>> {
        self.span(iova, len)
    }

    #[cold]
    #[inline(never)]
    fn span_by_search(&self, iova: u64, len: usize) -> Option<Span<'_>> {
        let (extent, offset) = self.find(iova)?;
        extent.window.span(offset, len)
    }

    /// The extent that `iova` lies in, and the offset there.
    fn find(&self, iova: u64) -> Option<(&Extent, usize)> {
        let behind = self.extents.partition_point(|extent| extent.start <= iova);
        let extent = self.extents.get(behind.checked_sub(1)?)?;
        let offset = usize::try_from(iova - extent.start).ok()?;
        (offset < extent.window.len()).then_some((extent, offset))
    }

    /// Visits `len` bytes from `iova` in contiguous pieces, each with its offset from the first
    /// byte, until the end or an address that is not mapped.
    #[cold]
    #[inline(never)]
    fn walk<'t>(
        &'t self,
        iova: u64,
        len: usize,
        mut visit: impl FnMut(usize, Span<'t>),
    ) -> Option<()> {
        let mut done = 0;
        while done < len {
            let (extent, offset) = self.find(iova.checked_add(done as u64)?)?;
            let piece = (extent.window.len() - offset).min(len - done);
            visit(done, extent.window.span(offset, piece)?);
            done += piece;
        }
        Some(())
    }
}

/// Enters every page that begins inside an extent.
fn enter(directory: &mut Vec<Option<Box<Leaf>>>, extent: &Extent) {
    let len = extent.window.len() as u64;
    let mut done = PAGE_BYTES - 1 - offset_in_page(extent.start.wrapping_sub(1));
    while done < len {
        let offset = usize::try_from(done).expect("a window's length is a usize");
        // SAFETY: `done` is less than the window's length.
        let host = unsafe { extent.window.start().add(offset) };
        // Whole 4 KiB pages, which `span_in_page` relies on; what is left over is found by search.
        let len = PAGE_BYTES.min(len - done) & !(SMALL_PAGE_BYTES - 1);
        *entry_mut(directory, extent.start + done) = Entry { host, len };
        done += PAGE_BYTES;
    }
}

fn entry_mut(directory: &mut Vec<Option<Box<Leaf>>>, iova: u64) -> &mut Entry {
    let index = directory_index(iova);
    if directory.len() <= index {
        directory.resize_with(index + 1, || None);
    }
    &mut directory[index].get_or_insert_with(empty_leaf)[leaf_index(iova)]
}

/// A leaf made on the heap; an array expression would pass through the stack.
fn empty_leaf() -> Box<Leaf> {
    let entries = vec![Entry::UNMAPPED; LEAF_ENTRIES].into_boxed_slice();
    entries.try_into().expect("made with the length of a leaf")
}

/// Pages that the short table covers.
fn low_pages(extents: &[Extent]) -> usize {
    let end = |extent: &Extent| extent.start + extent.window.len() as u64;
    let below = |extent: &&Extent| page_index(extent.start) < TABLE_LOW_PAGES_MAX;
    let highest = extents.iter().rev().find(below).map_or(0, end);
    page_index(highest.div_ceil(PAGE_BYTES) * PAGE_BYTES).min(TABLE_LOW_PAGES_MAX)
}

#[inline(always)]
const fn page_index(iova: u64) -> usize {
    (iova >> TABLE_PAGE_BITS) as usize
}

#[inline(always)]
const fn offset_in_page(iova: u64) -> u64 {
    iova & (PAGE_BYTES - 1)
}

#[inline(always)]
const fn leaf_index(iova: u64) -> usize {
    (iova >> TABLE_PAGE_BITS) as usize & (LEAF_ENTRIES - 1)
}

#[inline(always)]
const fn directory_index(iova: u64) -> usize {
    (iova >> (TABLE_PAGE_BITS + TABLE_LEAF_BITS)) as usize
}
