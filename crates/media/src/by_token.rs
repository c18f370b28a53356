//! What a wrapper remembers about requests that its inner medium answers later.

use crate::{TOKENS_MAX, Token};

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    next: u32,
}

/// Entries by token, the oldest of a token first, in a table that never grows.
#[derive(Debug)]
pub(crate) struct ByToken<T> {
    heads: Box<[u32]>,
    slots: Box<[Slot<T>]>,
    free: u32,
    len: usize,
}

impl<T> ByToken<T> {
    /// A table for at most `entries_max` entries, over all tokens.
    pub(crate) fn new(entries_max: u32) -> Self {
        let slot = |index| Slot {
            value: None,
            next: if index + 1 < entries_max {
                index + 1
            } else {
                NONE
            },
        };
        Self {
            heads: vec![NONE; TOKENS_MAX as usize].into_boxed_slice(),
            slots: (0..entries_max).map(slot).collect(),
            free: if entries_max > 0 { 0 } else { NONE },
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry behind those of the same token. False when there is no room, or the token is none.
    pub(crate) fn push(&mut self, token: Token, value: T) -> bool {
        let Some(&head) = self.heads.get(token.0 as usize) else {
            return false;
        };
        let index = self.free;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return false;
        };
        self.free = slot.next;
        *slot = Slot {
            value: Some(value),
            next: NONE,
        };
        let last = self.last(head);
        if let Some(last) = self.slots.get_mut(last as usize) {
            last.next = index;
        } else if let Some(head) = self.heads.get_mut(token.0 as usize) {
            *head = index;
        }
        self.len += 1;
        true
    }

    /// The last slot of a list, `NONE` of an empty one.
    fn last(&self, head: u32) -> u32 {
        let (mut last, mut next) = (NONE, head);
        while let Some(slot) = self.slots.get(next as usize) {
            (last, next) = (next, slot.next);
        }
        last
    }

    /// The oldest entry of a token.
    pub(crate) fn first(&self, token: Token) -> Option<&T> {
        let head = *self.heads.get(token.0 as usize)?;
        self.slots.get(head as usize)?.value.as_ref()
    }

    /// Takes the oldest entry of a token.
    pub(crate) fn take(&mut self, token: Token) -> Option<T> {
        let head = self.heads.get_mut(token.0 as usize)?;
        let index = *head;
        let slot = self.slots.get_mut(index as usize)?;
        *head = slot.next;
        slot.next = self.free;
        self.free = index;
        self.len -= 1;
        slot.value.take()
    }

    /// Visits the entries of a token, the oldest first.
    pub(crate) fn each(&mut self, token: Token, mut visit: impl FnMut(&mut T)) {
        let mut next = self.heads.get(token.0 as usize).copied().unwrap_or(NONE);
        while let Some(slot) = self.slots.get_mut(next as usize) {
            next = slot.next;
            slot.value.as_mut().map(&mut visit);
        }
    }

    /// All entries, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_token_come_back_in_order_and_those_of_others_stay() {
        let mut table = ByToken::new(4);
        for (token, value) in [(7, 1), (9, 2), (7, 3), (7, 4)] {
            assert!(table.push(Token(token), value));
        }
        assert!(!table.push(Token(7), 5), "full");
        assert_eq!(table.first(Token(7)), Some(&1));
        table.each(Token(7), |value| *value *= 10);
        assert_eq!(table.take(Token(7)), Some(10));
        assert!(table.push(Token(9), 6));
        assert_eq!(table.len(), 4);
        assert_eq!(table.take(Token(7)), Some(30));
        assert_eq!(table.take(Token(7)), Some(40));
        assert_eq!(table.take(Token(7)), None);
        assert_eq!(table.values().sum::<i32>(), 8);
        assert_eq!(table.take(Token(9)), Some(2));
        assert_eq!(table.take(Token(9)), Some(6));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_token_beyond_the_bound_is_refused() {
        let mut table = ByToken::new(1);
        assert!(!table.push(Token(TOKENS_MAX), 1));
        assert_eq!(table.take(Token(TOKENS_MAX)), None);
        assert!(table.push(Token(TOKENS_MAX - 1), 1));
    }
}
