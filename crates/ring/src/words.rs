//! What a ring stands on: words and registers that two sides share.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Shared 64-bit words, addressed by index in words.
///
/// The words may be heap cells, loom cells or mapped memory. An implementation never hands out a
/// reference to a word. An index out of range is a bug of the caller, not of a peer: rings check
/// the size once, when they are made, and compute every index themselves.
///
/// # Panics
/// Every checked access panics if its index is not below [`word_count`](Words::word_count).
///
/// # Safety
/// Rings check a queue's memory once and then reach it unchecked, so an implementation keeps two promises: the accesses are
/// valid for every index below `word_count()`, which never becomes less; and a [`view`](Words::view) has the same words, as
/// many of them.
pub unsafe trait Words {
    /// The words as a value that fits into registers. What is held behind a reference must be read again
    /// after every access to shared memory; a view need not.
    type View<'v>: Words + Copy
    where
        Self: 'v;

    /// The words as such a value.
    fn view(&self) -> Self::View<'_>;

    /// How many words there are; it never becomes less, since rings check it once, when they are
    /// made, and rely on it in the unchecked accesses below ever after.
    fn word_count(&self) -> usize;

    /// Reads one word, without order.
    fn load_relaxed(&self, index: usize) -> u64;

    /// Reads one word before all that follows it in this thread.
    fn load_acquire(&self, index: usize) -> u64;

    /// Writes one word, without order.
    fn store_relaxed(&self, index: usize, value: u64);

    /// Writes one word after all that precedes it in this thread.
    fn store_release(&self, index: usize, value: u64);

    /// Reads the `N` words of entry number `entry`, each once and without order.
    #[inline(always)]
    fn load_entry<const N: usize>(&self, entry: usize) -> [u64; N] {
        core::array::from_fn(|word| self.load_relaxed(entry * N + word))
    }

    /// Writes the `N` words of entry number `entry`, each with one 64-bit store without order.
    #[inline(always)]
    fn store_entry<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        for (word, value) in words.iter().enumerate() {
            self.store_relaxed(entry * N + word, *value);
        }
    }

    /// [`load_entry`](Words::load_entry) without the check of the index, which a ring makes once for
    /// all: it is one instruction in five of taking an entry.
    ///
    /// # Safety
    /// `entry` is below `word_count() / N`.
    #[inline(always)]
    unsafe fn load_entry_unchecked<const N: usize>(&self, entry: usize) -> [u64; N] {
        self.load_entry(entry)
    }

    /// Reads one word of entry number `entry`, without order and without the check of the index.
    ///
    /// # Safety
    /// `entry` is below `word_count() / N`, and `word` below `N`.
    #[inline(always)]
    unsafe fn load_word_unchecked<const N: usize>(&self, entry: usize, word: usize) -> u64 {
        self.load_relaxed(entry * N + word)
    }

    /// [`store_entry`](Words::store_entry) without the check of the index.
    ///
    /// # Safety
    /// `entry` is below `word_count() / N`.
    #[inline(always)]
    unsafe fn store_entry_unchecked<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        self.store_entry(entry, words);
    }

    /// Reads the two words of entry number `entry`: the second with acquire order, then the first, so
    /// that a reader who finds news in the second also sees the first.
    ///
    /// # Safety
    /// `entry` is below `word_count() / 2`.
    #[inline(always)]
    unsafe fn load_pair_acquire(&self, entry: usize) -> [u64; 2] {
        // pairs with `store_pair_release` of the same words by the writer of the pair
        let second = self.load_acquire(entry * 2 + 1);
        [self.load_relaxed(entry * 2), second]
    }

    /// Writes the two words of entry number `entry`: the first without order, then the second
    /// with release order, so that whoever acquires the second also sees the first.
    ///
    /// # Safety
    /// `entry` is below `word_count() / 2`.
    #[inline(always)]
    unsafe fn store_pair_release(&self, entry: usize, first: u64, second: u64) {
        self.store_relaxed(entry * 2, first);
        // pairs with `load_acquire` of the same word by the reader of the pair
        self.store_release(entry * 2 + 1, second);
    }
}

/// One shared 32-bit register, such as a doorbell: one side writes it, the other reads it.
pub trait Register32 {
    /// Reads the register, without order.
    fn load_relaxed(&self) -> u32;

    /// Reads the register before all that follows it in this thread.
    fn load_acquire(&self) -> u32;

    /// Writes the register after all that precedes it in this thread.
    fn store_release(&self, value: u32);
}

// SAFETY: everything is the referent's, which keeps the promises.
unsafe impl<W: Words> Words for &W {
    type View<'v>
        = W::View<'v>
    where
        Self: 'v;

    #[inline(always)]
    fn view(&self) -> Self::View<'_> {
        (**self).view()
    }

    #[inline(always)]
    fn word_count(&self) -> usize {
        (**self).word_count()
    }

    #[inline(always)]
    fn load_relaxed(&self, index: usize) -> u64 {
        (**self).load_relaxed(index)
    }

    #[inline(always)]
    fn load_acquire(&self, index: usize) -> u64 {
        (**self).load_acquire(index)
    }

    #[inline(always)]
    fn store_relaxed(&self, index: usize, value: u64) {
        (**self).store_relaxed(index, value);
    }

    #[inline(always)]
    fn store_release(&self, index: usize, value: u64) {
        (**self).store_release(index, value);
    }

    #[inline(always)]
    fn load_entry<const N: usize>(&self, entry: usize) -> [u64; N] {
        (**self).load_entry(entry)
    }

    #[inline(always)]
    fn store_entry<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        (**self).store_entry(entry, words);
    }

    #[inline(always)]
    unsafe fn load_entry_unchecked<const N: usize>(&self, entry: usize) -> [u64; N] {
        // SAFETY: the caller keeps the entry in range.
        unsafe { (**self).load_entry_unchecked(entry) }
    }

    #[inline(always)]
    unsafe fn load_word_unchecked<const N: usize>(&self, entry: usize, word: usize) -> u64 {
        // SAFETY: the caller keeps the entry and the word in range.
        unsafe { (**self).load_word_unchecked::<N>(entry, word) }
    }

    #[inline(always)]
    unsafe fn store_entry_unchecked<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        // SAFETY: the caller keeps the entry in range.
        unsafe { (**self).store_entry_unchecked(entry, words) };
    }

    #[inline(always)]
    unsafe fn load_pair_acquire(&self, entry: usize) -> [u64; 2] {
        // SAFETY: the caller keeps the entry in range.
        unsafe { (**self).load_pair_acquire(entry) }
    }

    #[inline(always)]
    unsafe fn store_pair_release(&self, entry: usize, first: u64, second: u64) {
        // SAFETY: the caller keeps the entry in range.
        unsafe { (**self).store_pair_release(entry, first, second) };
    }
}

impl<R: Register32> Register32 for &R {
    #[inline(always)]
    fn load_relaxed(&self) -> u32 {
        (**self).load_relaxed()
    }

    #[inline(always)]
    fn load_acquire(&self) -> u32 {
        (**self).load_acquire()
    }

    #[inline(always)]
    fn store_release(&self, value: u32) {
        (**self).store_release(value);
    }
}

/// Zeroed words on the heap, for tests and for rings that never leave the process.
#[derive(Debug)]
pub struct HeapWords(Box<[AtomicU64]>);

impl HeapWords {
    /// Allocates `words` words, all zero.
    #[must_use]
    pub fn new(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }
}

// SAFETY: every access goes through the slice's own check, its length never changes, and a view is the words themselves.
unsafe impl Words for HeapWords {
    type View<'v>
        = &'v Self
    where
        Self: 'v;

    #[inline(always)]
    fn view(&self) -> Self::View<'_> {
        self
    }

    #[inline(always)]
    fn word_count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn load_relaxed(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_acquire(&self, index: usize) -> u64 {
        // pairs with `HeapWords::store_release` of the same word
        self.0[index].load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store_relaxed(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn store_release(&self, index: usize, value: u64) {
        // pairs with `HeapWords::load_acquire` of the same word
        self.0[index].store(value, Ordering::Release);
    }

    #[inline(always)]
    fn load_entry<const N: usize>(&self, entry: usize) -> [u64; N] {
        let words = &self.0[entry * N..][..N];
        core::array::from_fn(|word| words[word].load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn store_entry<const N: usize>(&self, entry: usize, words: &[u64; N]) {
        for (cell, value) in self.0[entry * N..][..N].iter().zip(words) {
            cell.store(*value, Ordering::Relaxed);
        }
    }
}

/// A register on the heap or the stack, zero at first, for tests and in-process use.
#[derive(Debug)]
pub struct HeapRegister(AtomicU32);

impl HeapRegister {
    /// Makes a register that reads as zero.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl Default for HeapRegister {
    fn default() -> Self {
        Self::new()
    }
}

impl Register32 for HeapRegister {
    #[inline(always)]
    fn load_relaxed(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_acquire(&self) -> u32 {
        // pairs with `HeapRegister::store_release`
        self.0.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store_release(&self, value: u32) {
        // pairs with `HeapRegister::load_acquire`
        self.0.store(value, Ordering::Release);
    }
}
