//! `fuzz`: random bytes; how it is done is in [`crate::fuzzing`].

use anyhow::Result;
use std::time::Duration;

use crate::fuzzing;
use crate::workshop::Workshop;

/// Random bytes against every parser and the controller
///
/// Without an option: every target for a minute each, starting from the committed corpus
/// in fuzz/corpus/TARGET. What is found on the way goes to the build folder, never into the
/// tree; a crash is kept in fuzz/artifacts/TARGET.
///
/// fuzz/parsers.toml says which parser each target is for:
///
///   [targets.submission_entry]
///   files = ["crates/spec/src/nvme/submission.rs"]  # what --coverage judges
///   functions = ["parse", "emit"]  # only these functions of them; left out = all
///   planted = true                 # has a bug under cfg(fuzz_planted_bug) to find
///
/// Needs the nightly toolchain and cargo-fuzz; installs what is missing.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Options {
    /// How long each target runs: 60s, 10m, 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    each: Duration,
    /// Instead of fuzzing, run the corpus and print the line coverage of each parser; fails under 85 %
    #[arg(long, conflicts_with = "planted")]
    coverage: bool,
    /// Instead of fuzzing the true code, build it with a planted bug, which has to be found within 60 s
    #[arg(long)]
    planted: bool,
    /// Instead of fuzzing, run the committed corpus once on stable Rust, as `cargo xtask test` does
    #[arg(long, conflicts_with_all = ["planted", "coverage"])]
    replay: bool,
    /// Only this target
    target: Option<String>,
}

impl Options {
    /// Does one of the four.
    ///
    /// # Errors
    /// When a crash is found, a parser is not covered, or the planted bug is not found.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let target = self.target.as_deref();
        if self.replay {
            fuzzing::replay::run(workshop)
        } else if self.coverage {
            fuzzing::coverage::run(workshop, target)
        } else if self.planted {
            fuzzing::planted(workshop, target)
        } else {
            fuzzing::explore(workshop, target, self.each)
        }
    }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds_per_unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        unit => return Err(format!("the unit '{unit}' is none of s, m, h")),
    };
    match digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(seconds_per_unit))
    {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("a time is a whole number above 0 and a unit: 60s, 10m, 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!(parse_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("7"), Ok(Duration::from_secs(7)));
        assert!(parse_time("0s").is_err());
        assert!(parse_time("3d").is_err());
        assert!(parse_time("s").is_err());
    }
}
