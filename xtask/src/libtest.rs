//! Reads what `cargo test` prints, so that tests can be counted and skips are never silent.
//!
//! A test that lacks a device prints `not run: REASON` and passes. Tests therefore run with `--show-output`; this
//! module keeps the output of passing tests off the screen and picks those lines out of it.

use anyhow::Result;

use crate::process::Run;

/// What one or several runs of `cargo test` added up to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed; a build that fails counts as one.
    pub(crate) failed: u64,
    /// Tests that were ignored, and doc examples that are not compiled.
    pub(crate) ignored: u64,
    /// Why tests did not really run, each with the name of its test.
    pub(crate) not_run: Vec<String>,
    /// The names of the tests that failed, in order.
    pub(crate) failures: Vec<String>,
}

/// Runs a `cargo test` line (which must not contain ` -- ` yet) and counts.
///
/// # Errors
/// When cargo cannot start. Failing tests are no error: see [`Tally::failed`].
pub(crate) fn run_counted(run: Run) -> Result<Tally> {
    let mut reader = Reader::default();
    let status = run.args(["--", "--show-output"]).lines(|line| {
        if reader.read(line) {
            println!("{line}");
        }
    })?;
    let mut tally = reader.tally;
    if !status.success() && tally.failed == 0 {
        // It did not build, or a test took its whole process with it.
        tally.failed = 1;
        tally.failures.push(format!("cargo test itself ({status})"));
    }
    Ok(tally)
}

#[derive(Debug, Default)]
struct Reader {
    tally: Tally,
    /// The test whose output is being read, while that of passing tests is.
    showing: Option<String>,
}

impl Reader {
    /// Takes one line in; true when it is for the screen.
    fn read(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.showing = Some(String::new()),
            "failures:" => self.showing = None,
            _ if line.starts_with("test result: ") => {
                self.showing = None;
                self.add_result(line);
                return true;
            }
            _ => {}
        }
        if self.showing.is_some() {
            self.read_output_of_success(line);
            return false;
        }
        let failed = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED"));
        self.tally.failures.extend(failed.map(str::to_owned));
        true
    }

    fn read_output_of_success(&mut self, line: &str) {
        let heading = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(test) = heading {
            self.showing = Some(test.to_owned());
        } else if let Some(reason) = line.trim().strip_prefix("not run: ") {
            let test = self.showing.as_deref().unwrap_or_default();
            self.tally.not_run.push(format!("{test}: {reason}"));
        }
    }

    fn add_result(&mut self, line: &str) {
        self.tally.passed += number_before(line, " passed");
        self.tally.failed += number_before(line, " failed");
        self.tally.ignored += number_before(line, " ignored");
    }
}

/// The number that stands before `word`, or 0.
fn number_before(line: &str, word: &str) -> u64 {
    let before = line
        .split(word)
        .next()
        .filter(|before| before.len() < line.len());
    before
        .and_then(|text| text.rsplit(' ').next())
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
running 3 tests
test a ... ok
test b ... ok

successes:

---- a stdout ----
not run: no hugepages
---- b stdout ----
hello

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test c ... FAILED

failures:

---- c stdout ----
not run: this one failed, so it is shown and not counted

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn results_add_up_and_skips_are_named() {
        let mut reader = Reader::default();
        let shown: Vec<&str> = PRINTED.lines().filter(|line| reader.read(line)).collect();
        let tally = reader.tally;
        assert_eq!((tally.passed, tally.failed, tally.ignored), (2, 1, 1));
        assert_eq!(tally.not_run, ["a: no hugepages"]);
        assert_eq!(tally.failures, ["c"]);
        assert!(!shown.contains(&"hello"));
        assert!(shown.iter().any(|line| line.contains("this one failed")));
    }

    #[test]
    fn a_number_is_read_only_where_its_word_is() {
        assert_eq!(number_before("ok. 12 passed; 3 failed", " passed"), 12);
        assert_eq!(number_before("ok. 12 passed; 3 failed", " failed"), 3);
        assert_eq!(number_before("nothing", " failed"), 0);
    }
}
