//! What the models share: words and registers that two model threads hold, that can be made
//! weaker on purpose, and that notice when a slot is written again before it was read.
#![allow(dead_code, reason = "each model uses its own part")]
#![allow(unreachable_pub, reason = "a test's module has no outside")]

use std::sync::Arc;

use ring::{HeapRegister, HeapWords, Register32, Words};

/// One ordering that a model removes, to show that the model would object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// Nothing is removed: the rings as they are.
    Nothing,
    /// Stores with release order to this word become relaxed. For a queue's words, which hold
    /// phase tags in every odd word, any number stands for all of them.
    Store(usize),
    /// Loads with acquire order of this word become relaxed.
    Load(usize),
}

/// Stands for every word in [`Weak`].
pub const EVERY_WORD: usize = usize::MAX;

impl Weak {
    fn store(self, index: usize) -> bool {
        self == Self::Store(index) || self == Self::Store(EVERY_WORD)
    }

    fn load(self, index: usize) -> bool {
        self == Self::Load(index) || self == Self::Load(EVERY_WORD)
    }
}

/// Words that both model threads hold.
///
/// Loom does not explore load buffering: a reader that lets go of a slot too early would still
/// be seen to read the old value. So every relaxed read leaves a mark, relaxed too, and every
/// relaxed write checks that the mark of the value it replaces is visible to the writer. It is if
/// and only if the read happens before the write.
#[derive(Clone)]
pub struct Shared {
    words: Arc<HeapWords>,
    marks: Arc<HeapWords>,
    weak: Weak,
}

impl Shared {
    pub fn new(words: usize, weak: Weak) -> Self {
        Self {
            words: Arc::new(HeapWords::new(words)),
            marks: Arc::new(HeapWords::new(words)),
            weak,
        }
    }
}

// SAFETY: every access goes through the vector's own check, its length never changes, and a view is the words themselves.
unsafe impl Words for Shared {
    type View<'v>
        = &'v Self
    where
        Self: 'v;

    #[inline(always)]
    fn view(&self) -> Self::View<'_> {
        self
    }

    fn word_count(&self) -> usize {
        self.words.word_count()
    }

    fn load_relaxed(&self, index: usize) -> u64 {
        let value = self.words.load_relaxed(index);
        self.marks.store_relaxed(index, value);
        value
    }

    fn load_acquire(&self, index: usize) -> u64 {
        if self.weak.load(index) {
            self.words.load_relaxed(index)
        } else {
            self.words.load_acquire(index)
        }
    }

    fn store_relaxed(&self, index: usize, value: u64) {
        // Only this thread writes entries, so this is the value that the slot really holds.
        let replaced = self.words.load_relaxed(index);
        assert_eq!(
            self.marks.load_relaxed(index),
            replaced,
            "a slot was written again before it was read"
        );
        self.words.store_relaxed(index, value);
    }

    fn store_release(&self, index: usize, value: u64) {
        if self.weak.store(index) {
            self.words.store_relaxed(index, value);
        } else {
            self.words.store_release(index, value);
        }
    }
}

/// A doorbell that both model threads hold.
#[derive(Clone)]
pub struct Doorbell {
    register: Arc<ring::sync::AtomicU32>,
    weak: Weak,
}

impl Doorbell {
    pub fn new(weak: Weak) -> Self {
        Self {
            register: Arc::new(ring::sync::AtomicU32::new(0)),
            weak,
        }
    }
}

impl Register32 for Doorbell {
    fn load_relaxed(&self) -> u32 {
        self.register.load(ring::sync::Ordering::Relaxed)
    }

    fn load_acquire(&self) -> u32 {
        if self.weak.load(0) {
            return self.load_relaxed();
        }
        // pairs with `store_release` below
        self.register.load(ring::sync::Ordering::Acquire)
    }

    fn store_release(&self, value: u32) {
        let order = if self.weak.store(0) {
            ring::sync::Ordering::Relaxed
        } else {
            // pairs with `load_acquire` above
            ring::sync::Ordering::Release
        };
        self.register.store(value, order);
    }
}

/// A register that is never weakened.
pub fn register() -> Arc<HeapRegister> {
    Arc::new(HeapRegister::new())
}

/// Explores every execution of `model`, or with `preemptions` only those with at most so many
/// forced switches between threads.
pub fn explore(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(model);
}
