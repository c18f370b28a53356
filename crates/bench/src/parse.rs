//! The small grammars of a job's values: times and core sets. Every refusal names the key, the value
//! and what is allowed. Sizes have the grammar of device URIs, which `app` reads.

use crate::limits;
use crate::workload::InvalidJob;

/// Parses a time in milliseconds: a number (decimals allowed) with a unit `ms`, `s`, `m` or `h`;
/// without a unit it means seconds, as in fio.
///
/// # Errors
/// [`InvalidJob`] naming `key` if the text is not a time or is longer than a year.
pub fn milliseconds(key: &'static str, text: &str) -> Result<u64, InvalidJob> {
    let refuse = || InvalidJob::new(key, text, "a time such as 500ms, 10s, 2m, 1h");
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| refuse())?;
    let factor = match unit {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3600e3,
        _ => return Err(refuse()),
    };
    let time = (number * factor).round();
    const YEAR_MS: f64 = 366.0 * 24.0 * 3600e3;
    if (0.0..=YEAR_MS).contains(&time) {
        Ok(time as u64)
    } else {
        Err(refuse())
    }
}

/// Parses a set of cores: a hexadecimal mask (`0x5`) or a list (`0,2-3`). The result is sorted and
/// without repetition.
///
/// # Errors
/// [`InvalidJob`] naming `key` if the text is neither, is empty, or names a core above
/// [`limits::CORES_MAX`].
pub fn cores(key: &'static str, text: &str) -> Result<Vec<usize>, InvalidJob> {
    let refuse = || {
        let allowed = format!(
            "a mask such as 0x5 or a list such as 0,2-3 of cores below {}",
            limits::CORES_MAX
        );
        InvalidJob::new(key, text, &allowed)
    };
    let mut cores = match text.strip_prefix("0x") {
        Some(mask) => cores_of_mask(mask),
        None => cores_of_list(text),
    }
    .ok_or_else(refuse)?;
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        Err(refuse())
    } else {
        Ok(cores)
    }
}

fn cores_of_mask(mask: &str) -> Option<Vec<usize>> {
    if mask.len() > limits::CORES_MAX / 4 {
        return None;
    }
    let mut cores = Vec::new();
    for (index, digit) in mask.chars().rev().enumerate() {
        let digit = digit.to_digit(16)?;
        cores.extend(
            (0..4)
                .filter(|bit| digit >> bit & 1 == 1)
                .map(|bit| index * 4 + bit),
        );
    }
    Some(cores)
}

fn cores_of_list(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for item in list.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= limits::CORES_MAX {
            return None;
        }
        cores.extend(first..=last);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_refusal_names_key_value_and_what_is_allowed() {
        let refusal = milliseconds("runtime", "4q").unwrap_err().to_string();
        assert!(
            refusal.contains("runtime") && refusal.contains("4q") && refusal.contains("500ms"),
            "{refusal}"
        );
    }

    #[test]
    fn times_without_a_unit_are_seconds() {
        assert_eq!(milliseconds("runtime", "10"), Ok(10_000));
        assert_eq!(milliseconds("runtime", "0.5s"), Ok(500));
        assert_eq!(milliseconds("runtime", "2m"), Ok(120_000));
        assert!(milliseconds("runtime", "1e9").is_err());
    }

    #[test]
    fn core_sets_are_masks_or_lists() {
        assert_eq!(cores("core-mask", "0x5"), Ok(vec![0, 2]));
        assert_eq!(cores("core-mask", "3,0-1,1"), Ok(vec![0, 1, 3]));
        for bad in ["", "0x", "0x0", "2-1", "9999", "a"] {
            assert!(cores("core-mask", bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = milliseconds("runtime", &text);
            let _ = cores("core-mask", &text);
        }
    }
}
