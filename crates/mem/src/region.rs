//! Regions: memory that lives as long as somebody looks at it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::FileType;

use crate::limits::{DISCARD_BYTES_MIN, REGION_BYTES_MAX};
use crate::mapping::Mapping;
use crate::pointer::HostPointer;
use crate::window::{OutOfRange, Window};

/// Where a region's bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// Private memory. From 2 MiB on it is aligned for transparent huge pages and asks for them.
    Anonymous,
    /// A memory file of fixed size, whose descriptor other processes can map.
    Memfd,
    /// Private memory in reserved huge pages of 2 MiB, all of which are taken at once.
    HugePages2M,
    /// Private memory in reserved huge pages of 1 GiB, all of which are taken at once.
    HugePages1G,
}

/// A region could not be had from this machine.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// The length is zero or too large.
    #[error(
        "wanted a region of {wanted} bytes, found that 1 to {REGION_BYTES_MAX} are possible; choose a length between them"
    )]
    Length {
        /// Bytes asked for.
        wanted: usize,
    },
    /// Too few huge pages are free.
    #[error(
        "wanted {wanted} huge pages of {page_kib} KiB, found {found} free; reserve more, for example: echo {wanted} | sudo tee /sys/kernel/mm/hugepages/hugepages-{page_kib}kB/nr_hugepages, or choose ordinary pages"
    )]
    HugePages {
        /// Pages asked for.
        wanted: usize,
        /// Size of one page in KiB.
        page_kib: usize,
        /// Pages that were free a moment later.
        found: usize,
    },
    /// This kernel or processor has no huge pages of the size.
    #[error(
        "wanted huge pages of {page_kib} KiB, found that this machine has none of that size; see /sys/kernel/mm/hugepages, or choose ordinary pages"
    )]
    HugePageSize {
        /// Size of one page in KiB.
        page_kib: usize,
    },
    /// A peer's file is no memory, or too short.
    #[error(
        "wanted {bytes} bytes at offset {offset} of a peer's memory file, found {found}; pass a memory file or a file of shared memory that holds them"
    )]
    File {
        /// Where the bytes were to begin.
        offset: u64,
        /// How many.
        bytes: usize,
        /// What the file is.
        found: String,
    },
    /// A system call failed.
    #[error(
        "wanted to {doing} ({bytes} bytes), found: {source}; ask for less, or raise the limit (ulimit -v, vm.overcommit_memory, vm.max_map_count, the size of shared memory)"
    )]
    System {
        /// What was being done.
        doing: &'static str,
        /// How much of it.
        bytes: usize,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Zeroed, page-aligned, host-contiguous memory. Cloning copies a handle; the memory is unmapped
/// when the last region, [`Window`] or other view of it is dropped.
#[derive(Clone, Debug)]
pub struct Region(Arc<Mapping>);

impl Region {
    /// Allocates `len` bytes of zeros, rounded up to whole pages of `backing`.
    ///
    /// # Errors
    /// [`RegionError`] when the length is impossible or the machine has not got the memory.
    pub fn allocate(len: usize, backing: Backing) -> Result<Self, RegionError> {
        if len == 0 || len > REGION_BYTES_MAX {
            return Err(RegionError::Length { wanted: len });
        }
        let len = len.next_multiple_of(Mapping::page_bytes(backing));
        Ok(Self(Arc::new(Mapping::new(len, backing)?)))
    }

    /// Maps memory that a peer shares: `len` bytes from `offset` on of its memory file, both multiples of the file's page.
    ///
    /// A peer that shortens its file afterwards makes accesses beyond the new end fatal, unless the file's size is sealed.
    ///
    /// # Errors
    /// [`RegionError`] when the file is not one that holds memory, the bytes do not lie in it, or it cannot be mapped for
    /// reading and writing.
    pub fn of_file(file: OwnedFd, offset: u64, len: usize) -> Result<Self, RegionError> {
        if len == 0 || len > REGION_BYTES_MAX {
            return Err(RegionError::Length { wanted: len });
        }
        let system = |source: rustix::io::Errno| RegionError::System {
            doing: "map a peer's memory file",
            bytes: len,
            source: source.into(),
        };
        let wrong = |found| RegionError::File {
            offset,
            bytes: len,
            found,
        };
        let stat = rustix::fs::fstat(&file).map_err(system)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(wrong(format!("no regular file but {kind:?}")));
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if offset.checked_add(len as u64).is_none_or(|end| end > size) {
            return Err(wrong(format!("a file of {size} bytes")));
        }
        let mapping = Mapping::of_file(file, offset, len).map_err(system)?;
        Ok(Self(Arc::new(mapping)))
    }

    /// Length in bytes, a multiple of the page.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never true: a region has at least one page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.0.backing()
    }

    /// The memory file, for peers to map; only [`Backing::Memfd`] has one. The size of one of ours is sealed.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.fd()
    }

    /// Gives every page memory now, so that no later access meets a page fault. Changes no byte.
    ///
    /// # Errors
    /// [`RegionError::System`] when the machine has not got the memory.
    pub fn prefault(&self) -> Result<(), RegionError> {
        self.0.prefault()
    }

    /// A part of the region, or nothing if it is not inside.
    #[must_use]
    pub fn window(&self, offset: usize, len: usize) -> Option<Window> {
        Window::of(self, offset, len)
    }

    /// All of the region.
    ///
    /// # Panics
    /// Never: the whole is inside.
    #[must_use]
    pub fn whole(&self) -> Window {
        Window::of(self, 0, self.len()).expect("the whole of a region is inside it")
    }

    /// Makes bytes zero. Whole pages of a range of [`DISCARD_BYTES_MIN`] or more are given back to
    /// the system, except huge pages; the rest is overwritten.
    ///
    /// # Errors
    /// [`OutOfRange`] if the bytes are not all inside; nothing is changed then.
    pub fn discard(&self, offset: usize, len: usize) -> Result<(), OutOfRange> {
        let out_of_range = OutOfRange {
            offset,
            len,
            window: self.len(),
        };
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= self.len())
            .ok_or(out_of_range)?;
        let page = Mapping::page_bytes(self.backing());
        let (first, last) = (offset.next_multiple_of(page), end - end % page);
        if len < DISCARD_BYTES_MIN || first >= last || !self.0.release(first, last - first) {
            return self.zero(offset, end);
        }
        self.zero(offset, first)?;
        self.zero(last, end)
    }

    /// Whether both are handles of the same memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn zero(&self, from: usize, to: usize) -> Result<(), OutOfRange> {
        self.whole().fill(from, to - from, 0)
    }

    #[inline]
    pub(crate) fn start(&self) -> HostPointer {
        self.0.start()
    }
}

#[cfg(test)]
#[path = "region_tests.rs"]
mod tests;
