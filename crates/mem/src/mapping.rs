//! Memory from the system: the only system calls of this crate.
//!
//! Every mapping sits inside a larger reservation that nobody can read or write, so that a guard
//! follows it. Hence two regions never touch, and bytes that touch belong to one region; `span.rs`
//! relies on that when it joins spans. Miri cannot map memory; it uses `mapping_heap.rs` instead.
//!
//! A mapping is a part of its reservation that was opened, and never a second one put over it: when
//! that fails, the kernel may have unmapped the first, and what another thread mapped into the hole
//! meanwhile would be torn when the reservation is given back.

use core::ptr::{self, NonNull};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ring::sync::Ordering;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use crate::limits::GUARD_BYTES;
use crate::pointer::HostPointer;
use crate::region::{Backing, RegionError};

const TWO_MIB: usize = 2 << 20;
const ONE_GIB: usize = 1 << 30;
/// What `statfs` calls a file system of huge pages.
const HUGETLBFS_MAGIC: rustix::fs::FsWord = 0x9584_58f6;

/// Mapped memory; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Lies in `reservation`; `len` bytes from here can be read and written.
    start: HostPointer,
    len: usize,
    backing: Backing,
    file: Option<OwnedFd>,
    _reservation: Reservation,
}

impl Mapping {
    /// Maps `len` bytes of zeros; `len` must be a multiple of the backing's page.
    pub(crate) fn new(len: usize, backing: Backing) -> Result<Self, RegionError> {
        let file = match backing {
            Backing::Memfd => {
                Some(memfd(len).map_err(|errno| system("create a memory file", len, errno))?)
            }
            _ => None,
        };
        // Whatever was taken is given back before the error says how much is free.
        Self::map(len, backing, file).map_err(|errno| match backing {
            Backing::Anonymous | Backing::Memfd => system("map memory", len, errno),
            Backing::HugePages2M => huge_page_error(len, TWO_MIB, errno),
            Backing::HugePages1G => huge_page_error(len, ONE_GIB, errno),
        })
    }

    /// Maps a part of somebody else's memory file, in which it lies: `offset` and `len` are multiples of its page.
    pub(crate) fn of_file(file: OwnedFd, offset: u64, len: usize) -> Result<Self, Errno> {
        let page = file_page_bytes(&file)?;
        if !offset.is_multiple_of(page as u64) || !len.is_multiple_of(page) {
            return Err(Errno::INVAL);
        }
        let total = len + GUARD_BYTES.next_multiple_of(page);
        // Huge pages are the peer's; none is set aside for the guard.
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        let start =
            // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
            unsafe { rustix::mm::mmap(ptr::null_mut(), total, ProtFlags::empty(), flags, &file, offset) }?;
        let reservation = Reservation::of(start, total);
        let start = reservation.start;
        Self::open(len, Backing::Memfd, Some(file), reservation, start)
    }

    fn map(len: usize, backing: Backing, file: Option<OwnedFd>) -> Result<Self, Errno> {
        let (reservation, start) = Reservation::new(len, backing, file.as_ref())?;
        Self::open(len, backing, file, reservation, start)
    }

    /// Opens `len` bytes from `start` on, which lie in the reservation with a guard behind them.
    fn open(
        len: usize,
        backing: Backing,
        file: Option<OwnedFd>,
        reservation: Reservation,
        start: HostPointer,
    ) -> Result<Self, Errno> {
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the range lies in a reservation of ours that nobody uses yet.
        unsafe { rustix::mm::mprotect(start.as_ptr().cast(), len, rights) }?;
        let mapping = Self {
            start,
            len,
            backing,
            file,
            _reservation: reservation,
        };
        match backing {
            Backing::Anonymous if len >= TWO_MIB => {
                // A wish: where the kernel has no transparent huge pages, ordinary ones do.
                let _ = mapping.advise(0, len, Advice::LinuxHugepage);
            }
            Backing::Anonymous | Backing::Memfd => {}
            // A huge page that is missing when it is touched kills the process; asked for so, it is an error.
            Backing::HugePages2M | Backing::HugePages1G => {
                mapping.advise(0, len, Advice::LinuxPopulateWrite)?;
            }
        }
        Ok(mapping)
    }

    /// Bytes in one page of `backing`.
    pub(crate) fn page_bytes(backing: Backing) -> usize {
        match backing {
            Backing::Anonymous | Backing::Memfd => rustix::param::page_size(),
            Backing::HugePages2M => TWO_MIB,
            Backing::HugePages1G => ONE_GIB,
        }
    }

    #[inline(always)]
    pub(crate) const fn start(&self) -> HostPointer {
        self.start
    }

    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn backing(&self) -> Backing {
        self.backing
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Gives every page memory now, without changing its bytes.
    pub(crate) fn prefault(&self) -> Result<(), RegionError> {
        match self.advise(0, self.len, Advice::LinuxPopulateWrite) {
            Ok(()) => Ok(()),
            // Linux before 5.14 does not know the advice.
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.touch_pages();
                Ok(())
            }
            Err(errno) => Err(system("populate memory", self.len, errno)),
        }
    }

    /// Gives pages back to the system, so that they read as zeros. Says whether that was done; the
    /// range must be inside and made of whole pages.
    pub(crate) fn release(&self, offset: usize, len: usize) -> bool {
        match (self.backing, &self.file) {
            (Backing::Anonymous, _) => self.advise(offset, len, Advice::LinuxDontNeed).is_ok(),
            (Backing::Memfd, Some(file)) => {
                let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(file, how, offset as u64, len as u64).is_ok()
            }
            // A huge page that is given back may be taken by another process, and the next access
            // here would then kill this one.
            (Backing::HugePages2M | Backing::HugePages1G | Backing::Memfd, _) => false,
        }
    }

    fn advise(&self, offset: usize, len: usize, advice: Advice) -> Result<(), Errno> {
        assert!(
            offset <= self.len && len <= self.len - offset,
            "advice stays in its mapping"
        );
        // SAFETY: `offset` was checked against the length just now.
        let start = unsafe { self.start.add(offset) };
        // SAFETY: the range is ours. Of the advice given here only "don't need" changes bytes, to
        // zero, which is what its caller promises to everybody who reads them.
        unsafe { rustix::mm::madvise(start.as_ptr().cast(), len, advice) }
    }

    fn touch_pages(&self) {
        for offset in (0..self.len).step_by(Self::page_bytes(self.backing)) {
            // SAFETY: `offset` is less than the length.
            let page = unsafe { self.start.add(offset) };
            // SAFETY: a page is aligned and holds more than eight bytes.
            let word = unsafe { page.atomic_u64() };
            // Relaxed: the value does not change, so nobody can observe the order.
            word.fetch_or(0, Ordering::Relaxed);
        }
    }
}

/// Address space that holds one mapping and its guard.
#[derive(Debug)]
struct Reservation {
    start: HostPointer,
    len: usize,
}

impl Reservation {
    /// Reserves room for `len` bytes and a guard; returns it with the first aligned address in it.
    fn new(
        len: usize,
        backing: Backing,
        file: Option<&OwnedFd>,
    ) -> Result<(Self, HostPointer), Errno> {
        let page = Mapping::page_bytes(backing);
        let alignment = alignment(len, backing);
        // The kernel aligns to the page by itself.
        let total = len + (alignment - page) + GUARD_BYTES.next_multiple_of(page);
        let start = match file {
            // A mapping may go beyond the end of its file; there is the guard, which nobody touches.
            Some(file) => {
                let (anywhere, flags) = (ptr::null_mut(), MapFlags::SHARED);
                // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
                unsafe { rustix::mm::mmap(anywhere, total, ProtFlags::empty(), flags, file, 0) }
            }
            None => {
                let flags = MapFlags::PRIVATE | huge_page_flags(backing);
                // SAFETY: as above.
                unsafe {
                    rustix::mm::mmap_anonymous(ptr::null_mut(), total, ProtFlags::empty(), flags)
                }
            }
        }?;
        let reservation = Self::of(start, total);
        let start = reservation.start.as_ptr();
        let skipped = start.addr().next_multiple_of(alignment) - start.addr();
        // SAFETY: `skipped` is at most `alignment - page`, so `len` and the guard still fit behind it.
        let aligned = unsafe { reservation.start.add(skipped) };
        Ok((reservation, aligned))
    }
}

impl Reservation {
    /// What the kernel just mapped.
    fn of(start: *mut core::ffi::c_void, len: usize) -> Self {
        let start = NonNull::new(start.cast::<u8>()).expect("the kernel maps nothing at zero");
        Self {
            start: HostPointer::new(start),
            len,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping that owns this reservation is going away, and every view of it kept
        // it alive until now.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        debug_assert_eq!(unmapped, Ok(()), "a reservation unmaps as it was mapped");
    }
}

fn alignment(len: usize, backing: Backing) -> usize {
    match backing {
        Backing::Anonymous if len >= TWO_MIB => TWO_MIB,
        _ => Mapping::page_bytes(backing),
    }
}

/// The guard takes no huge page from the pool: none is set aside before it is touched.
fn huge_page_flags(backing: Backing) -> MapFlags {
    let flags = MapFlags::HUGETLB | MapFlags::NORESERVE;
    match backing {
        Backing::Anonymous | Backing::Memfd => MapFlags::empty(),
        Backing::HugePages2M => flags | MapFlags::HUGE_2MB,
        Backing::HugePages1G => flags | MapFlags::HUGE_1GB,
    }
}

/// A memory file whose size is sealed: a peer that gets the descriptor cannot shorten it, which
/// would make our next access fatal.
fn memfd(len: usize) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("dataplane-emu", flags)?;
    rustix::fs::ftruncate(&file, len as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Bytes in a page of a file, which is larger than usual on a file system of huge pages.
fn file_page_bytes(file: &OwnedFd) -> Result<usize, Errno> {
    let system = rustix::fs::fstatfs(file)?;
    if system.f_type == HUGETLBFS_MAGIC {
        return usize::try_from(system.f_bsize).map_err(|_| Errno::INVAL);
    }
    Ok(rustix::param::page_size())
}

fn system(doing: &'static str, bytes: usize, errno: Errno) -> RegionError {
    RegionError::System {
        doing,
        bytes,
        source: errno.into(),
    }
}

/// Says why huge pages could not be mapped, from what the kernel has.
fn huge_page_error(len: usize, page_bytes: usize, errno: Errno) -> RegionError {
    let page_kib = page_bytes / 1024;
    let path = format!("/sys/kernel/mm/hugepages/hugepages-{page_kib}kB/free_hugepages");
    let free = std::fs::read_to_string(path)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match (free, errno) {
        // Populating says FAULT where touching would have been fatal.
        (Some(found), Errno::NOMEM | Errno::FAULT) => RegionError::HugePages {
            wanted: len / page_bytes,
            page_kib,
            found,
        },
        (None, Errno::NOMEM | Errno::INVAL | Errno::NODEV | Errno::NOSYS) => {
            RegionError::HugePageSize { page_kib }
        }
        _ => system("map huge pages, which needs Linux 5.14", len, errno),
    }
}
