//! Shared memory as words and registers: everything here is an atomic access.

use core::marker::PhantomData;

use ring::sync::Ordering;
use ring::{Register32, Words};

use crate::pointer::HostPointer;
use crate::region::Region;

/// A window seen as 64-bit words, for rings and queues. Keeps its region alive.
///
/// While words are shared between threads, all of them must reach these bytes as 64-bit words.
#[derive(Clone, Debug)]
pub struct MappedWords {
    /// Aligned to eight; `count` words from here lie in `region`.
    start: HostPointer,
    count: usize,
    _region: Region,
}

impl MappedWords {
    /// # Safety
    /// `start` must be aligned to eight, and `count` words from it must lie in `region`.
    pub(crate) unsafe fn from_raw(start: HostPointer, count: usize, region: Region) -> Self {
        Self {
            start,
            count,
            _region: region,
        }
    }
}

// SAFETY: the window's words lie in a region that stays as it is; a view has the same start and count.
unsafe impl Words for MappedWords {
    type View<'v> = WordsView<'v>;

    #[inline(always)]
    fn view(&self) -> WordsView<'_> {
        WordsView {
            start: self.start,
            count: self.count,
            _region: PhantomData,
        }
    }

    #[inline(always)]
    fn word_count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn load_relaxed(&self, index: usize) -> u64 {
        self.view().load_relaxed(index)
    }

    #[inline(always)]
    fn load_acquire(&self, index: usize) -> u64 {
        self.view().load_acquire(index)
    }

    #[inline(always)]
    fn store_relaxed(&self, index: usize, value: u64) {
        self.view().store_relaxed(index, value);
    }

    #[inline(always)]
    fn store_release(&self, index: usize, value: u64) {
        self.view().store_release(index, value);
    }

    #[inline(always)]
    fn load_entry<const N: usize>(&self, entry: usize) -> [u64; N] {
        self.view().load_entry(entry)
    }

    #[inline(always)]
    fn store_entry<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        self.view().store_entry(entry, words);
    }
}

/// The words of a [`MappedWords`], borrowed.
#[derive(Clone, Copy, Debug)]
pub struct WordsView<'m> {
    /// Aligned to eight; `count` words from here lie in the region, which the borrowed [`MappedWords`] keeps alive.
    start: HostPointer,
    count: usize,
    _region: PhantomData<&'m Region>,
}

impl WordsView<'_> {
    /// Word `index`, which the caller has not checked yet.
    #[inline(always)]
    fn word(&self, index: usize) -> &ring::sync::AtomicU64 {
        assert!(index < self.count, "no word {index} among {}", self.count);
        // SAFETY: `index` was checked on the line above.
        unsafe { self.word_unchecked(index) }
    }

    /// # Safety
    /// `index` must be less than `count`.
    #[inline(always)]
    unsafe fn word_unchecked(&self, index: usize) -> &ring::sync::AtomicU64 {
        // SAFETY: the index is in range, so the sum lies in the region (`from_raw`).
        let pointer = unsafe { self.start.add(index * size_of::<u64>()) };
        // SAFETY: aligned and mapped by `from_raw`, alive as long as the `MappedWords` is borrowed.
        unsafe { pointer.atomic_u64() }
    }

    /// The one bounds check of an entry of `N` words.
    #[inline(always)]
    fn check_entry<const N: usize>(&self, entry: usize) {
        const { assert!(N > 0, "an entry has words") };
        assert!(
            entry < self.count / N,
            "no entry {entry} among {}",
            self.count / N
        );
    }
}

// SAFETY: as for the `MappedWords` that it was taken from; a view of it is itself.
unsafe impl Words for WordsView<'_> {
    type View<'v>
        = Self
    where
        Self: 'v;

    #[inline(always)]
    fn view(&self) -> Self {
        *self
    }

    #[inline(always)]
    fn word_count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn load_relaxed(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_acquire(&self, index: usize) -> u64 {
        // Acquire pairs with the other side's `store_release` of the same word.
        self.word(index).load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store_relaxed(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn store_release(&self, index: usize, value: u64) {
        // Release pairs with the other side's `load_acquire` of the same word.
        self.word(index).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn load_entry<const N: usize>(&self, entry: usize) -> [u64; N] {
        self.check_entry::<N>(entry);
        // SAFETY: the entry was checked on the line above.
        unsafe { self.load_entry_unchecked(entry) }
    }

    #[inline(always)]
    fn store_entry<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        self.check_entry::<N>(entry);
        // SAFETY: the entry was checked on the line above.
        unsafe { self.store_entry_unchecked(entry, words) };
    }

    #[inline(always)]
    unsafe fn load_entry_unchecked<const N: usize>(&self, entry: usize) -> [u64; N] {
        core::array::from_fn(|word| {
            // SAFETY: the caller keeps the entry, and so each of its words, in range.
            unsafe { self.word_unchecked(entry * N + word) }.load(Ordering::Relaxed)
        })
    }

    #[inline(always)]
    unsafe fn load_word_unchecked<const N: usize>(&self, entry: usize, word: usize) -> u64 {
        // SAFETY: the caller keeps the entry and the word in range.
        unsafe { self.word_unchecked(entry * N + word) }.load(Ordering::Relaxed)
    }

    #[inline(always)]
    unsafe fn store_entry_unchecked<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        for (word, value) in words.iter().enumerate() {
            // SAFETY: the caller keeps the entry, and so each of its words, in range.
            unsafe { self.word_unchecked(entry * N + word) }.store(*value, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    unsafe fn load_pair_acquire(&self, entry: usize) -> [u64; 2] {
        // SAFETY: the caller keeps the entry, and so both of its words, in range.
        let last = unsafe { self.word_unchecked(entry * 2 + 1) };
        // Acquire pairs with `store_pair_release` by the writer of the pair.
        let second = last.load(Ordering::Acquire);
        // SAFETY: as above.
        let first = unsafe { self.word_unchecked(entry * 2) };
        [first.load(Ordering::Relaxed), second]
    }

    #[inline(always)]
    unsafe fn store_pair_release(&self, entry: usize, first: u64, second: u64) {
        // SAFETY: the caller keeps the entry, and so both of its words, in range.
        unsafe { self.word_unchecked(entry * 2) }.store(first, Ordering::Relaxed);
        // SAFETY: as above.
        let last = unsafe { self.word_unchecked(entry * 2 + 1) };
        // Release pairs with `load_pair_acquire` of the same entry by the reader of the pair.
        last.store(second, Ordering::Release);
    }
}

/// A 32-bit register in shared memory, such as a doorbell. Keeps its region alive.
#[derive(Clone, Debug)]
pub struct MappedRegister {
    /// Aligned to four; four bytes from here lie in `region`.
    start: HostPointer,
    _region: Region,
}

impl MappedRegister {
    /// # Safety
    /// `start` must be aligned to four, and four bytes from it must lie in `region`.
    pub(crate) unsafe fn from_raw(start: HostPointer, region: Region) -> Self {
        Self {
            start,
            _region: region,
        }
    }

    #[inline(always)]
    fn register(&self) -> &ring::sync::AtomicU32 {
        // SAFETY: aligned and mapped by `from_raw`, alive through `_region`.
        unsafe { self.start.atomic_u32() }
    }
}

impl Register32 for MappedRegister {
    #[inline(always)]
    fn load_relaxed(&self) -> u32 {
        self.register().load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_acquire(&self) -> u32 {
        // Acquire pairs with the writer's `store_release` of this register.
        self.register().load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store_release(&self, value: u32) {
        // Release pairs with the reader's `load_acquire` of this register.
        self.register().store(value, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backing;

    fn words(count: usize) -> MappedWords {
        let region = Region::allocate(4096, Backing::Anonymous).unwrap();
        region.window(0, count * 8).unwrap().words().unwrap()
    }

    #[test]
    fn words_and_bytes_are_the_same_little_endian_memory() {
        let region = Region::allocate(4096, Backing::Anonymous).unwrap();
        let words = region.window(8, 32).unwrap().words().unwrap();
        assert_eq!(words.word_count(), 4);
        words.store_relaxed(1, 0x0807_0605_0403_0201);
        words.store_release(3, u64::MAX);
        let mut bytes = [0; 8];
        region.whole().read_bytes(16, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(words.load_acquire(3), u64::MAX);
        assert_eq!(words.load_relaxed(0), 0);
    }

    #[test]
    fn an_entry_is_its_words_in_order() {
        let words = words(16);
        words.store_entry(1, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(words.load_entry::<8>(1), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(words.load_entry::<8>(0), [0; 8]);
        assert_eq!(words.load_relaxed(8), 1);
        let words = words.view();
        // SAFETY: sixteen words are eight pairs.
        unsafe { words.store_pair_release(7, 70, 71) };
        // SAFETY: as above.
        assert_eq!(unsafe { words.load_pair_acquire(7) }, [70, 71]);
        assert_eq!(words.load_entry::<2>(7), [70, 71]);
    }

    #[test]
    fn words_outlive_the_region_they_came_from() {
        let words = words(4);
        words.store_relaxed(3, 9);
        assert_eq!(words.clone().load_relaxed(3), 9);
    }

    #[test]
    #[should_panic(expected = "no word 4 among 4")]
    fn a_word_out_of_range_is_our_bug() {
        words(4).load_relaxed(4);
    }

    #[test]
    #[should_panic(expected = "no entry 1 among 1")]
    fn an_entry_that_is_partly_outside_is_our_bug() {
        words(15).load_entry::<8>(1);
    }

    #[test]
    #[should_panic(expected = "no entry")]
    fn an_entry_index_that_would_overflow_is_our_bug() {
        words(16).store_entry(usize::MAX / 8 + 1, &[0; 8]);
    }

    #[test]
    fn words_need_alignment_and_whole_words() {
        let region = Region::allocate(4096, Backing::Anonymous).unwrap();
        assert!(region.window(4, 8).unwrap().words().is_none());
        assert!(region.window(8, 12).unwrap().words().is_none());
        assert_eq!(
            region
                .window(4096, 0)
                .unwrap()
                .words()
                .unwrap()
                .word_count(),
            0
        );
    }

    #[test]
    fn a_register_is_four_aligned_bytes_inside() {
        let region = Region::allocate(4096, Backing::Anonymous).unwrap();
        let window = region.window(16, 16).unwrap();
        let register = window.register32(12).unwrap();
        register.store_release(0x0102_0304);
        assert_eq!(
            (register.load_relaxed(), register.load_acquire()),
            (0x0102_0304, 0x0102_0304)
        );
        let mut bytes = [0; 4];
        region.whole().read_bytes(28, &mut bytes).unwrap();
        assert_eq!(bytes, [4, 3, 2, 1]);
        for refused in [2, 13, 16, usize::MAX, usize::MAX - 3] {
            assert!(window.register32(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn what_is_stored_before_a_release_is_seen_after_the_acquire() {
        let words = words(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                words.store_relaxed(0, 7);
                words.store_release(1, 1);
            });
            while words.load_acquire(1) == 0 {
                core::hint::spin_loop();
            }
            assert_eq!(words.load_relaxed(0), 7);
        });
    }
}
