//! Rust source taken apart just enough for the rules: per line, the code without comments and without what is
//! inside string and character literals, and the comment.

/// One line of a Rust file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The code; a literal keeps its quotes and loses what is in them.
    pub(super) code: String,
    /// The comment, with its slashes.
    pub(super) comment: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    LineComment,
    /// How many comments are open; they nest.
    BlockComment(usize),
    /// A string; for a raw one, how many hashes end it.
    Text(Option<usize>),
}

/// Takes a file apart.
pub(super) fn lines(source: &str) -> Vec<Line> {
    let mut reader = Reader {
        rest: source.chars().collect(),
        at: 0,
        inside: Inside::Code,
        lines: vec![Line::default()],
    };
    while reader.at < reader.rest.len() {
        reader.step();
    }
    if source.ends_with('\n') {
        reader.lines.pop();
    }
    reader.lines
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    inside: Inside,
    lines: Vec<Line>,
}

impl Reader {
    fn step(&mut self) {
        let letter = self.peek(0);
        if letter == '\n' {
            if self.inside == Inside::LineComment {
                self.inside = Inside::Code;
            }
            self.lines.push(Line::default());
            self.at += 1;
            return;
        }
        match self.inside {
            Inside::Code => self.step_in_code(letter),
            Inside::LineComment => self.take_comment(1),
            Inside::BlockComment(open) => self.step_in_comment(open),
            Inside::Text(None) => match letter {
                // What is escaped never ends the string; an escaped line end is left to be counted.
                '\\' => self.at += if self.peek(1) == '\n' { 1 } else { 2 },
                '"' => self.end_text(1),
                _ => self.at += 1,
            },
            Inside::Text(Some(hashes)) => {
                if letter == '"' && self.hashes(1) >= hashes {
                    self.end_text(1 + hashes);
                } else {
                    self.at += 1;
                }
            }
        }
    }

    fn step_in_code(&mut self, letter: char) {
        match (letter, self.peek(1)) {
            ('/', '/') => {
                self.inside = Inside::LineComment;
                self.take_comment(2);
            }
            ('/', '*') => {
                self.inside = Inside::BlockComment(1);
                self.take_comment(2);
            }
            ('"', _) => {
                self.take_code(1);
                self.inside = Inside::Text(None);
            }
            ('r', '"' | '#') if self.begins_raw_text() => {
                let hashes = self.hashes(1);
                self.take_code(1);
                self.at += hashes;
                self.take_code(1);
                self.inside = Inside::Text(Some(hashes));
            }
            ('\'', _) => self.step_over_character(),
            _ => self.take_code(1),
        }
    }

    fn step_in_comment(&mut self, open: usize) {
        match (self.peek(0), self.peek(1)) {
            ('*', '/') => {
                self.inside = match open {
                    1 => Inside::Code,
                    _ => Inside::BlockComment(open - 1),
                };
                self.take_comment(2);
            }
            ('/', '*') => {
                self.inside = Inside::BlockComment(open + 1);
                self.take_comment(2);
            }
            _ => self.take_comment(1),
        }
    }

    /// A quote begins a character literal or a lifetime; only the former has a second quote where it must be.
    fn step_over_character(&mut self) {
        let length = match (self.peek(1), self.peek(2)) {
            ('\\', _) => (3..12).find(|ahead| self.peek(*ahead) == '\''),
            (_, '\'') => Some(2),
            _ => None,
        };
        self.take_code(1);
        if let Some(length) = length {
            self.at += length - 1;
            self.take_code(1);
        }
    }

    /// `r"` and `r#"` begin a raw string, unless the r ends a name; `r#name` is a name. `br` and `cr` do as well.
    fn begins_raw_text(&self) -> bool {
        let before = |back: usize| {
            self.at
                .checked_sub(back)
                .and_then(|at| self.rest.get(at))
                .copied()
        };
        let is_name =
            |letter: Option<char>| letter.is_some_and(|l| l.is_alphanumeric() || l == '_');
        let own_word = match before(1) {
            Some('b' | 'c') => !is_name(before(2)),
            letter => !is_name(letter),
        };
        own_word && self.peek(1 + self.hashes(1)) == '"'
    }

    fn hashes(&self, from: usize) -> usize {
        self.rest
            .iter()
            .skip(self.at + from)
            .take_while(|letter| **letter == '#')
            .count()
    }

    /// A letter ahead; past the end, a letter that means nothing.
    fn peek(&self, ahead: usize) -> char {
        self.rest.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn take_code(&mut self, count: usize) {
        let taken: String = self.rest.iter().skip(self.at).take(count).collect();
        if let Some(line) = self.lines.last_mut() {
            line.code.push_str(&taken);
        }
        self.at += count;
    }

    fn take_comment(&mut self, count: usize) {
        let taken: String = self.rest.iter().skip(self.at).take(count).collect();
        if let Some(line) = self.lines.last_mut() {
            line.comment.push_str(&taken);
        }
        self.at += count;
    }

    fn end_text(&mut self, length: usize) {
        self.take_code(1);
        self.at += length - 1;
        self.inside = Inside::Code;
    }
}

/// Where `word` stands in `code` as a word of its own.
pub(super) fn words_at<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code[..*at].chars().next_back();
            let after = code[*at + word.len()..].chars().next();
            let begins = word.starts_with(in_name) && before.is_some_and(in_name);
            let ends = word.ends_with(in_name) && after.is_some_and(in_name);
            !begins && !ends
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> Vec<String> {
        lines(source).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_are_kept_apart_from_code() {
        let taken = lines("let a = 1; // one\n/* two /* nested */\nstill */ let b;\n");
        assert_eq!(
            taken[0],
            Line {
                code: "let a = 1; ".into(),
                comment: "// one".into()
            }
        );
        assert_eq!(
            taken[1],
            Line {
                code: String::new(),
                comment: "/* two /* nested */".into()
            }
        );
        assert_eq!(taken[2].code, " let b;");
        assert_eq!(taken.len(), 3);
    }

    #[test]
    fn literals_lose_their_content() {
        assert_eq!(code(r#"f("unsafe // \" {", 'x')"#), [r#"f("", '')"#]);
        assert_eq!(
            code("r#\"unsafe \" \"#; br\"a\"; r#type"),
            ["r\"\"; br\"\"; r#type"]
        );
        assert_eq!(code("'\\n' '\\'' '\\u{1f600}' '\"' b"), ["'' '' '' '' b"]);
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), ["fn f<'a>(x: &'a str) {}"]);
    }

    #[test]
    fn a_string_over_several_lines_keeps_the_line_numbers() {
        assert_eq!(
            code("a(\"one\\\n two\n three\");\nb"),
            ["a(\"", "", "\");", "b"]
        );
    }

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert_eq!(
            words_at("unsafe_code unsafe{} not_unsafe", "unsafe").collect::<Vec<_>>(),
            [12]
        );
        assert_eq!(words_at("panic!(x)", "panic!").count(), 1);
    }
}
