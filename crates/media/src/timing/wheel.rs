//! A timing wheel: tokens by the tick in which they are due.
//!
//! One bucket for each of the next [`TICKS`] ticks, a bit that says whether anybody is in it, and a far list for who is due
//! later. Putting in and taking out cost the same however many wait, and memory is what it was at the start.
//!
//! A bucket holds one token, or (its bit in `lists` is set) a ring of tokens through `next`, of which the bucket names the
//! last. Within a tick, who came first is answered first.

use crate::TOKENS_MAX;

/// Ticks that the wheel reaches ahead: in the published profiles some milliseconds, more than they keep 128 requests.
const TICKS: usize = 1 << 14;
const WORDS: usize = TICKS / 64;
const TOKENS: usize = TOKENS_MAX as usize;

/// No token.
const NONE: u16 = u16::MAX;

/// Who hears of the tokens that are due.
pub(super) trait Due {
    /// One that was put in by [`Wheel::put`] and shares its tick with nobody.
    fn plain(&mut self, token: u16);
    /// Any.
    fn any(&mut self, token: u16);
}

pub(super) struct Wheel {
    /// The first tick that was not yet called out.
    cursor: u64,
    /// When the first tick begins that the wheel does not reach, as a time that wraps around.
    end: u64,
    /// The tick of the time that was told.
    now: u64,
    buckets: [u16; TICKS],
    occupied: [u64; WORDS],
    lists: [u64; WORDS],
    next: Box<[u16; TOKENS]>,
    /// The last of the ring of those who are due beyond the wheel's reach.
    far: u16,
    far_tick: Box<[u64; TOKENS]>,
    /// The first tick in which one of them is due.
    far_first: u64,
    /// The last of the ring of those whom nobody has to wait for.
    hurried: u16,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            cursor: 0,
            end: (TICKS as u64) << 32,
            now: 0,
            buckets: [NONE; TICKS],
            occupied: [0; WORDS],
            lists: [0; WORDS],
            next: Box::new([NONE; TOKENS]),
            far: NONE,
            far_tick: Box::new([0; TOKENS]),
            far_first: u64::MAX,
            hurried: NONE,
        }
    }

    /// The tick of the time, before tokens are put in at that time.
    pub(super) fn set_now(&mut self, tick: u64) {
        self.now = tick;
        // After a long pause the wheel would not reach to the present.
        if tick >= self.cursor + TICKS as u64 && self.is_empty() {
            self.move_to(tick);
        }
    }

    fn move_to(&mut self, tick: u64) {
        self.cursor = tick;
        self.end = (tick + TICKS as u64) << 32;
    }

    /// Whether the wheel reaches a due time.
    #[inline(always)]
    pub(super) fn reaches(&self, due: u64) -> bool {
        due.wrapping_sub(self.end).cast_signed() < 0
    }

    /// Puts in a token that is due in a tick that the wheel reaches, of which the lower half of the bits is given. False, and
    /// nothing is done, if somebody has that tick.
    #[inline(always)]
    pub(super) fn put(&mut self, token: u16, tick: u32) -> bool {
        let bucket = tick as usize % TICKS;
        let before = self.occupied[bucket / 64];
        let after = before | 1 << (bucket % 64);
        if after == before {
            return false;
        }
        self.occupied[bucket / 64] = after;
        self.buckets[bucket] = token;
        true
    }

    /// Puts in a token that must be called out by [`Due::any`], or that shares its tick, or that is due beyond the wheel.
    #[inline(never)]
    pub(super) fn put_in_list(&mut self, token: u16, tick: u32) {
        // Nothing is due before the time at which it is put in.
        let ahead = tick.wrapping_sub(self.now as u32);
        let tick = self.now + u64::from(ahead);
        self.put_at(token, tick.max(self.cursor));
    }

    fn put_at(&mut self, token: u16, tick: u64) {
        if tick >= self.cursor + TICKS as u64 {
            self.far_tick[index(token)] = tick;
            self.far_first = self.far_first.min(tick);
            self.far = append(&mut self.next, self.far, token);
            return;
        }
        let bucket = tick as usize % TICKS;
        let (word, bit) = (bucket / 64, 1 << (bucket % 64));
        let last = if self.occupied[word] & bit == 0 {
            NONE
        } else if self.lists[word] & bit == 0 {
            append(&mut self.next, NONE, self.buckets[bucket])
        } else {
            self.buckets[bucket]
        };
        self.occupied[word] |= bit;
        self.lists[word] |= bit;
        self.buckets[bucket] = append(&mut self.next, last, token);
    }

    /// Has a token that was [`put`](Self::put) called out by [`Due::any`].
    pub(super) fn mark(&mut self, token: u16) {
        for (bucket, held) in self.buckets.iter().enumerate() {
            let (word, bit) = (bucket / 64, 1 << (bucket % 64));
            let alone = self.occupied[word] & bit != 0 && self.lists[word] & bit == 0;
            if alone && *held == token {
                self.lists[word] |= bit;
                append(&mut self.next, NONE, token);
                return;
            }
        }
    }

    /// Takes a token out, wherever it is. False if it is nowhere.
    pub(super) fn take_out(&mut self, token: u16) -> bool {
        if let Some(last) = remove(&mut self.next, self.hurried, token) {
            self.hurried = last;
            return true;
        }
        if let Some(last) = remove(&mut self.next, self.far, token) {
            self.far = last;
            if last == NONE {
                self.far_first = u64::MAX;
            }
            return true;
        }
        for word in 0..WORDS {
            let mut bits = self.occupied[word];
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                bits ^= bit;
                let last = if self.lists[word] & bit != 0 {
                    remove(&mut self.next, self.buckets[bucket], token)
                } else {
                    (self.buckets[bucket] == token).then_some(NONE)
                };
                let Some(last) = last else { continue };
                self.buckets[bucket] = last;
                if last == NONE {
                    self.occupied[word] ^= bit;
                    self.lists[word] &= !bit;
                }
                return true;
            }
        }
        false
    }

    /// Puts in a token that is called out whatever the time.
    pub(super) fn put_hurried(&mut self, token: u16) {
        self.hurried = append(&mut self.next, self.hurried, token);
    }

    /// Whether nobody waits for a tick.
    pub(super) fn is_empty(&self) -> bool {
        self.far == NONE && self.occupied.iter().all(|word| *word == 0)
    }

    /// The first tick in which something is due; the cursor's if somebody was hurried.
    pub(super) fn first(&self) -> Option<u64> {
        if self.hurried != NONE {
            return Some(self.cursor);
        }
        let from = self.cursor;
        let near = (0..=WORDS as u64).find_map(|step| {
            let base = (from / 64 + step) * 64;
            let word = self.occupied[base as usize / 64 % WORDS];
            // The cursor's own word is looked at twice: its upper bits first, and those below a turn later.
            let masked = match step {
                0 => word & (u64::MAX << (from % 64)),
                _ => word,
            };
            (masked != 0).then(|| base + u64::from(masked.trailing_zeros()))
        });
        match near {
            Some(near) => Some(near.min(self.far_first)),
            None => (self.far != NONE).then_some(self.far_first),
        }
    }

    /// Calls out all that is due in ticks up to `tick`, earlier ticks first.
    pub(super) fn call(&mut self, tick: u64, due: &mut impl Due) {
        if self.hurried != NONE {
            let last = core::mem::replace(&mut self.hurried, NONE);
            each(&self.next, last, |token| due.any(token));
        }
        while self.cursor <= tick {
            let reach = self.cursor + TICKS as u64;
            // Half the wheel early, so that the far list is walked once in half a turn and not for each of its tokens.
            if self.far_first <= tick.max(reach - TICKS as u64 / 2) {
                self.fetch_far();
            }
            if tick < reach {
                self.call_near(tick, due);
                return;
            }
            self.call_near(reach - 1, due);
            // The wheel is empty now: nothing is due before the first of the far ones.
            self.move_to(self.far_first.min(tick + 1).max(self.cursor));
        }
    }

    /// Calls out the ticks from the cursor to `end`, which the wheel reaches.
    #[inline(always)]
    fn call_near(&mut self, end: u64, due: &mut impl Due) {
        let last = end / 64;
        let mut base = self.cursor / 64;
        let mut mask = u64::MAX << (self.cursor % 64);
        self.move_to(end + 1);
        while base < last {
            self.call_word(base, mask, due);
            mask = u64::MAX;
            base += 1;
        }
        self.call_word(last, mask & u64::MAX >> (63 - end % 64), due);
    }

    #[inline(always)]
    fn call_word(&mut self, base: u64, mask: u64, due: &mut impl Due) {
        let word = base as usize % WORDS;
        let bits = self.occupied[word] & mask;
        if bits == 0 {
            return;
        }
        self.occupied[word] ^= bits;
        if self.lists[word] & bits != 0 {
            return self.call_lists(word, bits, due);
        }
        let mut rest = bits;
        while rest != 0 {
            let bucket = word * 64 + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            due.plain(self.buckets[bucket]);
        }
    }

    #[cold]
    #[inline(never)]
    fn call_lists(&mut self, word: usize, bits: u64, due: &mut impl Due) {
        let lists = self.lists[word] & bits;
        self.lists[word] ^= lists;
        let mut rest = bits;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            let last = self.buckets[word * 64 + rest.trailing_zeros() as usize];
            rest ^= bit;
            if lists & bit != 0 {
                each(&self.next, last, |token| due.any(token));
            } else {
                due.plain(last);
            }
        }
    }

    /// Brings those into the wheel whom it reaches.
    #[inline(never)]
    fn fetch_far(&mut self) {
        let last = core::mem::replace(&mut self.far, NONE);
        self.far_first = u64::MAX;
        if last == NONE {
            return;
        }
        let mut token = self.next[index(last)];
        loop {
            // Read before the token goes into another ring.
            let following = self.next[index(token)];
            let tick = self.far_tick[index(token)].max(self.cursor);
            self.put_at(token, tick);
            if token == last {
                return;
            }
            token = following;
        }
    }
}

impl core::fmt::Debug for Wheel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wheel")
            .field("cursor", &self.cursor)
            .field("first", &self.first())
            .finish_non_exhaustive()
    }
}

/// Tokens are below [`TOKENS_MAX`]; the remainder says so to the compiler.
fn index(token: u16) -> usize {
    usize::from(token) % TOKENS
}

/// Adds a token behind the last of a ring, `NONE` if it is empty. Returns the last.
fn append(next: &mut [u16; TOKENS], last: u16, token: u16) -> u16 {
    if last == NONE {
        next[index(token)] = token;
    } else {
        next[index(token)] = next[index(last)];
        next[index(last)] = token;
    }
    token
}

/// Takes a token out of a ring and returns its last, or nothing if the token is not in it.
fn remove(next: &mut [u16; TOKENS], last: u16, token: u16) -> Option<u16> {
    if last == NONE {
        return None;
    }
    let mut before = last;
    while next[index(before)] != token {
        before = next[index(before)];
        if before == last {
            return None;
        }
    }
    if before == token {
        return Some(NONE);
    }
    next[index(before)] = next[index(token)];
    Some(if token == last { before } else { last })
}

/// Visits a ring from its first to its last.
fn each(next: &[u16; TOKENS], last: u16, mut visit: impl FnMut(u16)) {
    let mut token = last;
    loop {
        token = next[index(token)];
        visit(token);
        if token == last {
            return;
        }
    }
}
