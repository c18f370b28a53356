//! A fixed-capacity list of spans: the bytes of one command.

use core::mem::MaybeUninit;

use crate::limits::SPANS_MAX;
use crate::span::Span;

/// A list had no room for one more span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a list of {SPANS_MAX} spans is full; split the transfer")]
pub struct Full;

/// Up to [`SPANS_MAX`] spans, in the order of the data. Lives on the stack; making one writes two
/// words.
pub struct SpanList<'m> {
    /// The first `count` are initialised.
    spans: [MaybeUninit<Span<'m>>; SPANS_MAX],
    count: usize,
    bytes: usize,
}

impl<'m> SpanList<'m> {
    /// An empty list.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            spans: [const { MaybeUninit::uninit() }; SPANS_MAX],
            count: 0,
            bytes: 0,
        }
    }

    /// Appends a span. One that continues the previous span in host memory lengthens it instead, and
    /// an empty one changes nothing; neither takes room.
    ///
    /// # Errors
    /// [`Full`] when there is no room; the list is unchanged.
    #[inline]
    pub fn push(&mut self, span: Span<'m>) -> Result<(), Full> {
        if span.is_empty() {
            return Ok(());
        }
        if let Some(last) = self.count.checked_sub(1)
            && let Some(joined) = self.as_slice()[last].joined(span)
        {
            self.spans[last].write(joined);
        } else {
            self.spans.get_mut(self.count).ok_or(Full)?.write(span);
            self.count += 1;
        }
        self.bytes += span.len();
        Ok(())
    }

    /// Forgets all spans.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.bytes = 0;
    }

    /// Sum of the lengths.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The spans.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Span<'m>] {
        // SAFETY: `push` has written the first `count`, and nothing raises `count` without a write.
        unsafe { self.spans[..self.count].assume_init_ref() }
    }

    /// The spans, in order.
    #[inline]
    pub fn iter(&self) -> core::slice::Iter<'_, Span<'m>> {
        self.as_slice().iter()
    }
}

impl Default for SpanList<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for SpanList<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_list().entries(self.as_slice()).finish()
    }
}

impl<'l, 'm> IntoIterator for &'l SpanList<'m> {
    type Item = &'l Span<'m>;
    type IntoIter = core::slice::Iter<'l, Span<'m>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backing, Region};

    #[test]
    fn spans_that_continue_each_other_become_one() {
        let window = Region::allocate(8192, Backing::Anonymous).unwrap().whole();
        let mut list = SpanList::new();
        assert!(list.is_empty() && list.as_slice().is_empty());
        for at in [0, 512, 1024] {
            list.push(window.span(at, 512).unwrap()).unwrap();
        }
        assert_eq!((list.as_slice().len(), list.bytes()), (1, 1536));
        list.push(window.span(4096, 512).unwrap()).unwrap();
        list.push(window.span(4000, 96).unwrap()).unwrap();
        let lengths: Vec<_> = list.iter().map(Span::len).collect();
        assert_eq!((lengths, list.bytes()), (vec![1536, 512, 96], 2144));
        let mut bytes = [1; 1536];
        list.as_slice()[0].read_into(&mut bytes);
        assert_eq!(bytes, [0; 1536]);
        list.clear();
        assert_eq!((list.is_empty(), list.bytes()), (true, 0));
    }

    #[test]
    fn an_empty_span_takes_no_room() {
        let window = Region::allocate(4096, Backing::Anonymous).unwrap().whole();
        let mut list = SpanList::new();
        list.push(window.span(4096, 0).unwrap()).unwrap();
        assert!(list.is_empty());
        list.push(window.span(0, 4).unwrap()).unwrap();
        list.push(window.span(100, 0).unwrap()).unwrap();
        list.push(window.span(4, 4).unwrap()).unwrap();
        assert_eq!((list.as_slice().len(), list.bytes()), (1, 8));
    }

    #[test]
    fn spans_of_different_regions_stay_apart() {
        let regions = [(); 4].map(|()| Region::allocate(4096, Backing::Anonymous).unwrap().whole());
        let mut sorted: Vec<_> = regions
            .iter()
            .map(|window| window.span(0, 4096).unwrap())
            .collect();
        sorted.sort_by_key(Span::host_address);
        let mut list = SpanList::new();
        for span in sorted {
            list.push(span).unwrap();
        }
        assert_eq!(list.as_slice().len(), 4);
    }

    #[test]
    fn a_full_list_refuses_but_still_lengthens_its_last_span() {
        let window = Region::allocate(SPANS_MAX * 16 + 32, Backing::Anonymous)
            .unwrap()
            .whole();
        let mut list = SpanList::default();
        for at in 0..SPANS_MAX {
            list.push(window.span(at * 16, 8).unwrap()).unwrap();
        }
        let next = window.span(SPANS_MAX * 16, 8).unwrap();
        assert_eq!(list.push(next), Err(Full));
        assert_eq!(list.bytes(), SPANS_MAX * 8);
        list.push(window.span(SPANS_MAX * 16 - 8, 8).unwrap())
            .unwrap();
        list.push(next).unwrap();
        assert_eq!(
            (list.as_slice().len(), list.bytes()),
            (SPANS_MAX, SPANS_MAX * 8 + 16)
        );
        assert_eq!((&list).into_iter().count(), SPANS_MAX);
    }
}
