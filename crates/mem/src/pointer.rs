//! The one raw pointer of this crate. Everything else is checked arithmetic around it.

use core::ptr::NonNull;

use ring::sync::{AtomicU32, AtomicU64};

/// The host address of a byte in (or, for an empty view, just behind) a mapping.
///
/// Holding one allows nothing; whoever uses it keeps the mapping alive and stays inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct HostPointer(NonNull<u8>);

// SAFETY: an address is only a number until one of the unsafe functions below is called, and each
// of these names what its caller keeps. A mapping belongs to no thread.
unsafe impl Send for HostPointer {}
// SAFETY: as above; the type has no interior that could be changed through a shared reference.
unsafe impl Sync for HostPointer {}

impl HostPointer {
    /// A pointer that is never followed, for views of no bytes.
    pub(crate) const DANGLING: Self = Self(NonNull::dangling());

    pub(crate) const fn new(pointer: NonNull<u8>) -> Self {
        Self(pointer)
    }

    #[inline(always)]
    pub(crate) fn addr(self) -> usize {
        self.0.addr().get()
    }

    #[inline(always)]
    pub(crate) const fn as_ptr(self) -> *mut u8 {
        self.0.as_ptr()
    }

    #[inline(always)]
    pub(crate) fn is_aligned_to(self, bytes: usize) -> bool {
        self.addr().is_multiple_of(bytes)
    }

    /// # Safety
    /// `offset` bytes from here must lie in the same mapping, or be its end.
    #[inline(always)]
    pub(crate) const unsafe fn add(self, offset: usize) -> Self {
        // SAFETY: the caller keeps the sum inside the mapping, which is one allocation.
        Self(unsafe { self.0.add(offset) })
    }

    /// # Safety
    /// The eight bytes here must be mapped for all of `'m`, aligned to eight, and reached by nothing
    /// but 64-bit atomics while two threads of this process use them at once.
    #[inline(always)]
    pub(crate) unsafe fn atomic_u64<'m>(self) -> &'m AtomicU64 {
        let pointer = self.0.cast::<u64>().as_ptr();
        // SAFETY: mapped, aligned and atomic-only by the caller's promise.
        unsafe { AtomicU64::from_ptr(pointer) }
    }

    /// # Safety
    /// As [`Self::atomic_u64`], with four bytes and 32-bit atomics.
    #[inline(always)]
    pub(crate) unsafe fn atomic_u32<'m>(self) -> &'m AtomicU32 {
        let pointer = self.0.cast::<u32>().as_ptr();
        // SAFETY: mapped, aligned and atomic-only by the caller's promise.
        unsafe { AtomicU32::from_ptr(pointer) }
    }
}

impl core::fmt::Debug for HostPointer {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "{:#x}", self.addr())
    }
}
