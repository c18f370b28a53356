//! What Miri uses in place of `mapping.rs`: zeroed, aligned heap memory with a guard behind it.

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::limits::GUARD_BYTES;
use crate::pointer::HostPointer;
use crate::region::{Backing, RegionError};

const PAGE_BYTES: usize = 4096;

/// Heap memory that behaves like a mapping.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: HostPointer,
    len: usize,
}

impl Mapping {
    pub(crate) fn new(len: usize, backing: Backing) -> Result<Self, RegionError> {
        if backing != Backing::Anonymous {
            let source = std::io::ErrorKind::Unsupported.into();
            return Err(RegionError::System {
                doing: "map memory under Miri",
                bytes: len,
                source,
            });
        }
        let layout = layout(len);
        // SAFETY: the layout holds at least a guard, so it is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        Ok(Self {
            start: HostPointer::new(start),
            len,
        })
    }

    pub(crate) fn of_file(_file: OwnedFd, _offset: u64, _len: usize) -> Result<Self, Errno> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn page_bytes(_backing: Backing) -> usize {
        PAGE_BYTES
    }

    pub(crate) const fn start(&self) -> HostPointer {
        self.start
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn backing(&self) -> Backing {
        Backing::Anonymous
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    pub(crate) fn prefault(&self) -> Result<(), RegionError> {
        Ok(())
    }

    pub(crate) fn release(&self, _offset: usize, _len: usize) -> bool {
        false
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; every view kept the mapping alive until now.
        unsafe { dealloc(self.start.as_ptr(), layout(self.len)) };
    }
}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len + GUARD_BYTES, PAGE_BYTES).expect("a region is far below the limit")
}
