//! Bytes and lines of one file of a trace, read piece by piece.

use core::fmt;
use std::io::Read;

use super::limits;
use super::trace::{Source, TraceError, Where, unreadable};

/// A file that is read from its beginning to its end, holding at most [`limits::INPUT_BYTES`] of it.
pub(super) struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    /// Bytes of the file before `begin`.
    passed: u64,
    /// Lines taken so far.
    lines: u64,
    ended: bool,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("passed", &self.passed)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl Input {
    pub(super) fn new(source: Source) -> Self {
        Self {
            name: source.name,
            reader: source.reader,
            buffer: vec![0; limits::INPUT_BYTES].into_boxed_slice(),
            begin: 0,
            end: 0,
            passed: 0,
            lines: 0,
            ended: false,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes taken so far: where the next one stands in the file.
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Lines taken so far: the number of the last one.
    pub(super) const fn lines(&self) -> u64 {
        self.lines
    }

    /// An error at this place.
    pub(super) fn error(&self, place: Where, found: String, allowed: &str) -> TraceError {
        TraceError {
            file: self.name.clone(),
            place,
            found,
            allowed: allowed.to_owned(),
            unreadable: false,
        }
    }

    /// An error in the last line taken.
    pub(super) fn line_error(&self, found: String, allowed: &str) -> TraceError {
        self.error(Where::Line(self.lines), found, allowed)
    }

    /// The next bytes without taking them: `wanted` of them or more, fewer only at the end of the file.
    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], TraceError> {
        debug_assert!(wanted <= limits::INPUT_BYTES);
        if self.end - self.begin < wanted {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        while self.end < self.begin + wanted && !self.ended {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let place = Where::Byte(self.passed + (self.end - self.begin) as u64);
                    let error = self.error(place, error.to_string(), "a file that can be read");
                    return Err(unreadable(error));
                }
            }
        }
        Ok(&self.buffer[self.begin..self.end])
    }

    /// Takes bytes that were seen by [`peek`](Self::peek).
    pub(super) fn take(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.begin);
        self.begin += count;
        self.passed += count as u64;
    }

    /// Takes `count` bytes unseen; returns how many there were.
    pub(super) fn skip(&mut self, count: usize) -> Result<usize, TraceError> {
        let mut skipped = 0;
        while skipped < count {
            let part = self.peek(1)?.len().min(count - skipped);
            if part == 0 {
                break;
            }
            self.take(part);
            skipped += part;
        }
        Ok(skipped)
    }

    /// Takes the next line, without its end; `None` at the end of the file.
    pub(super) fn line(&mut self) -> Result<Option<&str>, TraceError> {
        let mut seen = 0;
        let (len, ending) = loop {
            let bytes = self.peek(seen + 1)?;
            if bytes.len() == seen {
                if seen == 0 {
                    return Ok(None);
                }
                break (seen, 0);
            }
            let newline = bytes.iter().skip(seen).position(|&byte| byte == b'\n');
            match newline {
                Some(more) => break (seen + more, 1),
                None => seen = bytes.len(),
            }
            if seen > limits::LINE_BYTES_MAX {
                break (seen, 0);
            }
        };
        self.lines += 1;
        if len > limits::LINE_BYTES_MAX {
            let most = limits::LINE_BYTES_MAX;
            let allowed = format!("lines of at most {most} bytes");
            return Err(self.line_error("a line that does not end".to_owned(), &allowed));
        }
        let begin = self.begin;
        self.take(len + ending);
        let line = &self.buffer[begin..begin + len];
        match core::str::from_utf8(line) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(TraceError {
                file: self.name.clone(),
                place: Where::Line(self.lines),
                found: "bytes that are no text".to_owned(),
                allowed: "UTF-8".to_owned(),
                unreadable: false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands out few bytes at a time.
    struct Dribble(Vec<u8>, usize);

    impl Read for Dribble {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    fn input(bytes: &[u8], step: usize) -> Input {
        Input::new(Source::new("test", Dribble(bytes.to_vec(), step)))
    }

    #[test]
    fn a_line_longer_than_allowed_is_refused_by_number() {
        let text = format!("short\n{}\n", "x".repeat(limits::LINE_BYTES_MAX + 1));
        let mut input = input(text.as_bytes(), 100);
        assert_eq!(input.line().unwrap(), Some("short"));
        let error = input.line().unwrap_err().to_string();
        assert!(error.contains("test line 2"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_by_line() {
        let error = input(b"a\n\xff\n", 9);
        let mut input = error;
        input.line().unwrap();
        assert!(input.line().unwrap_err().to_string().contains("line 2"));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text_however_it_arrives(
            lines in prop::collection::vec("[a-z ]{0,40}", 0..40), step in 1usize..50, last in any::<bool>(),
        ) {
            let mut text = lines.join("\n");
            if last { text.push('\n'); }
            let mut input = input(text.as_bytes(), step);
            let mut found = Vec::new();
            while let Some(line) = input.line().unwrap() { found.push(line.to_owned()); }
            let wanted: Vec<&str> = text.lines().collect();
            prop_assert_eq!(found, wanted);
            prop_assert_eq!(input.passed(), text.len() as u64);
        }

        #[test]
        fn skipping_and_taking_reach_the_same_place(
            bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1usize..50, cut in 0usize..400,
        ) {
            let mut input = input(&bytes, step);
            let skipped = input.skip(cut).unwrap();
            prop_assert_eq!(skipped, cut.min(bytes.len()));
            let rest = input.peek(400).unwrap().to_vec();
            prop_assert_eq!(&rest[..], &bytes[skipped..]);
        }
    }
}
