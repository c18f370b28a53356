//! Borrowed, checked, host-contiguous bytes.

use core::marker::PhantomData;
use core::ptr;

use ring::sync::Ordering;

use crate::limits::CHUNK_BYTES;
use crate::mapping::Mapping;
use crate::pointer::HostPointer;

/// Host-contiguous bytes of one region, checked when the span was made.
///
/// A span borrows the [`Window`](crate::Window) or [`IovaTable`](crate::IovaTable) it came from,
/// which keeps the region mapped. It is never a Rust slice, because another process, a guest or a
/// device may write the same bytes at any time. The bulk operations are plain memory copies: when
/// the other side breaks its protocol and writes meanwhile, the bytes that arrive may be a mixture
/// of old and new, and nothing else follows from it, because they are copied first and interpreted
/// afterwards. Two threads of *this* process must order their accesses, as the queue protocols do
/// with their release stores and acquire loads.
#[derive(Clone, Copy, Debug)]
pub struct Span<'m> {
    start: HostPointer,
    len: usize,
    mapping: PhantomData<&'m Mapping>,
}

impl<'m> Span<'m> {
    /// # Safety
    /// `len` bytes from `start` must lie in one mapping that lives for `'m`.
    #[inline(always)]
    pub(crate) const unsafe fn from_raw(start: HostPointer, len: usize) -> Self {
        Self {
            start,
            len,
            mapping: PhantomData,
        }
    }

    /// Length in bytes.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies all bytes of the span to `bytes`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn read_into(&self, bytes: &mut [u8]) {
        assert_eq!(
            bytes.len(),
            self.len,
            "a span is read into as many bytes as it has"
        );
        // SAFETY: the span is mapped for its length (`from_raw`); no slice overlaps a mapping,
        // because this crate never hands out references to one.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr(), bytes.as_mut_ptr(), self.len) };
    }

    /// Copies `bytes` to the span.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn write_from(&self, bytes: &[u8]) {
        assert_eq!(
            bytes.len(),
            self.len,
            "a span is written from as many bytes as it has"
        );
        // SAFETY: as in `read_into`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr(), self.len) };
    }

    /// Copies all bytes to `target`; the two may overlap.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn copy_to(&self, target: Span<'_>) {
        assert_eq!(
            target.len, self.len,
            "a span is copied to a span of its length"
        );
        // SAFETY: both spans are mapped for the same length; `ptr::copy` allows overlap.
        unsafe { ptr::copy(self.start.as_ptr(), target.start.as_ptr(), self.len) };
    }

    /// Sets every byte to `value`.
    #[inline]
    pub fn fill(&self, value: u8) {
        // SAFETY: the span is mapped for its length.
        unsafe { ptr::write_bytes(self.start.as_ptr(), value, self.len) };
    }

    /// The first `len` bytes.
    ///
    /// # Panics
    /// If the span is shorter.
    #[inline]
    #[must_use]
    pub fn prefix(&self, len: usize) -> Span<'m> {
        self.split_at(len).0
    }

    /// The bytes before `middle` and those from it on.
    ///
    /// # Panics
    /// If `middle` lies beyond the end.
    #[inline]
    #[must_use]
    pub fn split_at(&self, middle: usize) -> (Span<'m>, Span<'m>) {
        assert!(
            middle <= self.len,
            "a span of {} bytes has no byte {middle}",
            self.len
        );
        // SAFETY: `middle` is at most the length, so the sum stays in the mapping or at its end.
        let second = unsafe { self.start.add(middle) };
        // SAFETY: a part of this span is mapped as long as this span is.
        let before = unsafe { Self::from_raw(self.start, middle) };
        // SAFETY: as above.
        let after = unsafe { Self::from_raw(second, self.len - middle) };
        (before, after)
    }

    /// One relaxed 64-bit load at `offset` bytes.
    ///
    /// # Panics
    /// If the eight bytes are not all inside.
    #[inline]
    #[must_use]
    pub fn load_u64(&self, offset: usize) -> u64 {
        let (_, rest) = self.split_at(offset);
        assert!(
            rest.len >= 8,
            "a word needs eight bytes, {} are left",
            rest.len
        );
        if !rest.start.is_aligned_to(8) {
            // Whoever mapped this memory chose its address. Such a word may be torn, as every copy may.
            let mut bytes = [0; 8];
            rest.prefix(8).read_into(&mut bytes);
            return u64::from_le_bytes(bytes);
        }
        // SAFETY: eight mapped, aligned bytes; racing writers of words use atomics (type's rule).
        unsafe { rest.start.atomic_u64() }.load(Ordering::Relaxed)
    }

    /// Whether every byte is `value`. An empty span is.
    #[must_use]
    pub fn is_all(&self, value: u8) -> bool {
        let pattern = [value; CHUNK_BYTES];
        let mut copy = [0; CHUNK_BYTES];
        self.chunks().all(|chunk| {
            let bytes = &mut copy[..chunk.len];
            chunk.read_into(bytes);
            *bytes == pattern[..chunk.len]
        })
    }

    /// Whether both spans hold the same bytes.
    ///
    /// # Panics
    /// If the lengths differ.
    #[must_use]
    pub fn compare(&self, other: Span<'_>) -> bool {
        assert_eq!(
            other.len, self.len,
            "a span is compared with a span of its length"
        );
        let (mut left, mut right) = ([0; CHUNK_BYTES], [0; CHUNK_BYTES]);
        self.chunks().zip(other.chunks()).all(|(here, there)| {
            let (here_bytes, there_bytes) = (&mut left[..here.len], &mut right[..there.len]);
            here.read_into(here_bytes);
            there.read_into(there_bytes);
            here_bytes == there_bytes
        })
    }

    /// Pieces small enough to be copied to the stack, so that what is judged cannot change meanwhile.
    fn chunks(self) -> impl Iterator<Item = Span<'m>> {
        let mut rest = self;
        core::iter::from_fn(move || {
            let (chunk, after) = rest.split_at(rest.len.min(CHUNK_BYTES));
            rest = after;
            (!chunk.is_empty()).then_some(chunk)
        })
    }

    /// This span and `next` as one, if `next` begins where this one ends.
    ///
    /// Regions never touch in host memory (see `mapping.rs`), so spans that do belong to one region.
    #[inline(always)]
    pub(crate) fn joined(&self, next: Span<'m>) -> Option<Span<'m>> {
        if self.start.addr() + self.len != next.start.addr() {
            return None;
        }
        // SAFETY: both parts lie in one mapping, hence so does their sum, and it lives for `'m`.
        Some(unsafe { Self::from_raw(self.start, self.len + next.len) })
    }

    /// The host address of the first byte, for diagnostics and tests.
    #[inline]
    #[must_use]
    pub fn host_address(&self) -> usize {
        self.start.addr()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backing, Region, Window};

    fn window() -> Window {
        let region = Region::allocate(8192, Backing::Anonymous).unwrap();
        let pattern: Vec<u8> = (0..8192).map(|at| (at % 251) as u8).collect();
        region.whole().write_bytes(0, &pattern).unwrap();
        region.whole()
    }

    #[test]
    fn bytes_go_in_and_out_unchanged() {
        let window = window();
        let span = window.span(100, 5).unwrap();
        span.write_from(b"hello");
        let mut bytes = [0; 7];
        window.read_bytes(99, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\x63hello\x69");
        let mut back = [0; 5];
        span.read_into(&mut back);
        assert_eq!(&back, b"hello");
    }

    #[test]
    fn overlapping_spans_are_copied_as_if_through_a_buffer() {
        let window = window();
        window
            .span(0, 200)
            .unwrap()
            .copy_to(window.span(50, 200).unwrap());
        let mut bytes = [0; 200];
        window.read_bytes(50, &mut bytes).unwrap();
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(at, byte)| *byte as usize == at)
        );
    }

    #[test]
    fn parts_cover_the_whole() {
        let window = window();
        let span = window.span(10, 30).unwrap();
        let (before, after) = span.split_at(12);
        assert_eq!((before.len(), after.len()), (12, 18));
        assert_eq!(after.host_address(), span.host_address() + 12);
        assert!(span.split_at(30).1.is_empty() && span.prefix(0).is_empty());
        assert_eq!(before.joined(after).unwrap().len(), 30);
        assert!(after.joined(before).is_none());
    }

    #[test]
    fn is_all_looks_at_every_byte() {
        let window = window();
        for len in [0, 1, 511, 512, 513, 4096] {
            let span = window.span(3, len).unwrap();
            span.fill(0xa5);
            assert!(span.is_all(0xa5));
            if len > 0 {
                assert!(!span.is_all(0));
                span.split_at(len - 1).1.fill(0);
                assert!(!span.is_all(0xa5));
            }
        }
    }

    #[test]
    fn compare_looks_at_every_byte() {
        let window = window();
        for len in [0, 1, 512, 513, 2000] {
            let (left, right) = (
                window.span(1, len).unwrap(),
                window.span(4096, len).unwrap(),
            );
            left.copy_to(right);
            assert!(left.compare(right));
            if len > 0 {
                let last = right.split_at(len - 1).1;
                let mut byte = [0];
                last.read_into(&mut byte);
                last.fill(!byte[0]);
                assert!(!left.compare(right));
            }
        }
    }

    #[test]
    fn a_word_is_loaded_from_an_aligned_place() {
        let window = window();
        assert_eq!(
            window.span(0, 16).unwrap().load_u64(8),
            0x0f0e_0d0c_0b0a_0908
        );
        assert_eq!(
            window.span(4, 12).unwrap().load_u64(4),
            0x0f0e_0d0c_0b0a_0908
        );
    }

    #[test]
    fn a_word_at_an_odd_host_address_is_read_all_the_same() {
        let window = Region::allocate(4096, Backing::Anonymous).unwrap().whole();
        window.write_bytes(4, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let word = window.span(4, 16).unwrap().load_u64(0);
        assert_eq!(word, 0x0807_0605_0403_0201);
    }

    #[test]
    #[should_panic(expected = "eight bytes")]
    fn a_word_beyond_the_end_is_our_bug() {
        let _ = window().span(0, 15).unwrap().load_u64(8);
    }

    #[test]
    #[should_panic(expected = "no byte")]
    fn a_split_beyond_the_end_is_our_bug() {
        let _ = window().span(0, 16).unwrap().split_at(usize::MAX);
    }

    #[test]
    #[should_panic(expected = "as many bytes as it has")]
    fn a_write_of_another_length_is_our_bug() {
        window().span(0, 16).unwrap().write_from(&[0; 15]);
    }
}
