//! Whole numbers as people type them.

use core::fmt::Display;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// Reads a whole number within bounds.
///
/// # Errors
/// What is allowed; who asks has named flag and value.
pub(crate) fn whole<N>(text: &str, allowed: RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display,
{
    text.parse()
        .ok()
        .filter(|number| allowed.contains(number))
        .ok_or_else(|| {
            format!(
                "allowed: a whole number from {} to {}",
                allowed.start(),
                allowed.end()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_within_bounds_is_answered_with_the_bounds() {
        assert_eq!(whole("16", 1..=16_u16), Ok(16));
        for text in [
            "",
            ",",
            "nan",
            "-1",
            "1.5",
            "0",
            "17",
            "99999999999999999999",
        ] {
            let refused = whole(text, 1..=16_u16).expect_err(text);
            assert_eq!(refused, "allowed: a whole number from 1 to 16");
        }
    }
}
