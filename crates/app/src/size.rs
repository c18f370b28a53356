//! Sizes as people type them: `4096`, `4K`, `1GiB`.

use core::fmt;

/// The units, largest first: what is printed, and how many bits it shifts.
const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// What every size error says is allowed.
pub const ALLOWED: &str = "a whole number of bytes, or of K, M, G or T (powers of 1024; KiB, MiB, GiB and TiB mean the same)";

/// A size could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// There is no text.
    #[error("no size is given")]
    Empty,
    /// It does not begin with a digit, or holds a fraction.
    #[error("it is not a whole number")]
    Number,
    /// `KB`, `MB`...: powers of 1000 to some, of 1024 to others.
    #[error("{found:?} means a power of 1000 to some and of 1024 to others; write {instead}")]
    Ambiguous {
        /// The unit as typed.
        found: String,
        /// The unit without doubt.
        instead: String,
    },
    /// The unit is none of ours.
    #[error("{0:?} is no unit")]
    Unit(String),
    /// More bytes than 64 bits count.
    #[error("it is more than 64 bits can count")]
    TooLarge,
}

/// Reads a size in bytes: digits, then nothing, `K`, `M`, `G` or `T` (powers of 1024), or `KiB` and so on, in either case.
///
/// # Errors
/// What is wrong with the text; [`ALLOWED`] says what would be right.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    if text.is_empty() {
        return Err(SizeError::Empty);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.starts_with(['.', ',']) {
        return Err(SizeError::Number);
    }
    let number: u64 = number.parse().map_err(|_| SizeError::TooLarge)?;
    let factor = 1_u64 << shift_of(unit)?;
    number.checked_mul(factor).ok_or(SizeError::TooLarge)
}

fn shift_of(unit: &str) -> Result<u32, SizeError> {
    let Some(first) = unit.chars().next() else {
        return Ok(0);
    };
    let letter = first.to_ascii_uppercase();
    let known = UNITS.iter().find(|(name, _)| *name == letter);
    let Some(&(name, shift)) = known else {
        return Err(SizeError::Unit(unit.to_owned()));
    };
    match unit[first.len_utf8()..].to_ascii_lowercase().as_str() {
        "" | "ib" => Ok(shift),
        "b" => Err(SizeError::Ambiguous {
            found: unit.to_owned(),
            instead: format!("{name} or {name}iB"),
        }),
        _ => Err(SizeError::Unit(unit.to_owned())),
    }
}

/// A number of bytes, shown in the largest unit that divides it, so that [`parse`] reads it back unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let unit = UNITS
            .iter()
            .find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
        match unit {
            Some((name, shift)) => write!(f, "{}{name}", bytes >> shift),
            None => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_powers_of_1024_in_either_case() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4K", 4096),
            ("4k", 4096),
            ("4KiB", 4096),
            ("1m", 1 << 20),
            ("3GiB", 3 << 30),
            ("2T", 2 << 40),
            ("2tib", 2 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_its_reason() {
        assert_eq!(parse(""), Err(SizeError::Empty));
        assert_eq!(parse("G"), Err(SizeError::Number));
        assert_eq!(parse("-1G"), Err(SizeError::Number));
        assert_eq!(parse("1.5G"), Err(SizeError::Number));
        assert_eq!(parse("1X"), Err(SizeError::Unit("X".into())));
        assert_eq!(parse("1Gig"), Err(SizeError::Unit("Gig".into())));
        assert_eq!(parse("1é"), Err(SizeError::Unit("é".into())));
        assert_eq!(parse("18446744073709551616"), Err(SizeError::TooLarge));
        assert_eq!(parse("16777216T"), Err(SizeError::TooLarge));
        let message = parse("1GB").unwrap_err().to_string();
        assert!(message.contains("write G or GiB"), "{message}");
    }

    proptest! {
        #[test]
        fn a_size_that_is_shown_reads_back(bytes: u64) {
            prop_assert_eq!(parse(&Size(bytes).to_string()), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
