//! A list of gates that all run, whatever the others say, and one count at the end.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

use crate::libtest::Tally;
use crate::tools::MachineLacks;

/// How one gate ended.
#[derive(Debug)]
enum Verdict {
    Passed,
    Failed(String),
    NotRun(String),
    /// It was many tests, counted one by one in [`Steps::tests`].
    Counted {
        passed: u64,
        failed: u64,
    },
}

/// Runs gates one after the other and keeps what they said.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    gates: Vec<(String, Verdict, Duration)>,
    tests: Tally,
}

impl Steps {
    /// Runs a gate that passes or fails as a whole; a gate for which the machine lacks something counts as not run.
    pub(crate) fn gate(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        let (result, took) = timed(name, work);
        let verdict = match result {
            Ok(()) => Verdict::Passed,
            Err(error) => verdict_of(&error),
        };
        self.gates.push((name.to_owned(), verdict, took));
    }

    /// Runs a gate that counts its own tests.
    pub(crate) fn tests(&mut self, name: &str, work: impl FnOnce() -> Result<Tally>) {
        let (result, took) = timed(name, work);
        let verdict = match result {
            Err(error) => verdict_of(&error),
            Ok(tally) => {
                let verdict = Verdict::Counted {
                    passed: tally.passed,
                    failed: tally.failed,
                };
                self.tests.absorb(tally);
                verdict
            }
        };
        self.gates.push((name.to_owned(), verdict, took));
    }

    /// Prints every gate, every skip, and last the line `N passed, N failed`.
    ///
    /// # Errors
    /// When something failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!();
        for (name, verdict, took) in &self.gates {
            let seconds = took.as_secs_f64();
            match verdict {
                Verdict::Passed => println!("{name:28} ok      {seconds:6.1} s"),
                Verdict::Failed(why) => println!("{name:28} FAILED  {seconds:6.1} s  {why}"),
                Verdict::NotRun(why) => println!("{name:28} not run: {why}"),
                Verdict::Counted { passed, failed: 0 } => {
                    println!("{name:28} ok      {seconds:6.1} s  {passed} tests");
                }
                Verdict::Counted { passed, failed } => {
                    let tests = passed + failed;
                    println!("{name:28} FAILED  {seconds:6.1} s  {failed} of {tests} tests");
                }
            }
        }
        for test in &self.tests.failures {
            println!("failed test: {test}");
        }
        for skip in &self.tests.not_run {
            println!("not run: {skip}");
        }
        let (passed, failed, skipped) = self.count();
        println!("skipped: {skipped}");
        println!("{passed} passed, {failed} failed");
        if failed > 0 {
            bail!("{failed} failed");
        }
        Ok(())
    }

    /// Tests and gates together: passed, failed, skipped.
    fn count(&self) -> (u64, u64, u64) {
        let (mut passed, mut failed) = (self.tests.passed, self.tests.failed);
        let mut skipped = self.tests.ignored + count(&self.tests.not_run);
        for (_, verdict, _) in &self.gates {
            match verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed(_) => failed += 1,
                Verdict::NotRun(_) => skipped += 1,
                Verdict::Counted { .. } => {}
            }
        }
        (passed, failed, skipped)
    }
}

impl Tally {
    fn absorb(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.not_run.extend(other.not_run);
        self.failures.extend(other.failures);
    }
}

fn count<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}

fn verdict_of(error: &anyhow::Error) -> Verdict {
    match error.downcast_ref::<MachineLacks>() {
        Some(lacks) => Verdict::NotRun(lacks.to_string()),
        None => Verdict::Failed(format!("{error:#}")),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a developer command says how long its gates took"
)]
fn timed<T>(name: &str, work: impl FnOnce() -> T) -> (T, Duration) {
    println!("\n== {name}");
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_gate_does_not_stop_the_others_and_is_counted() {
        let mut steps = Steps::default();
        steps.gate("red", || bail!("no"));
        steps.gate("green", || Ok(()));
        assert_eq!(steps.count(), (1, 1, 0));
        assert!(steps.finish().is_err());
    }

    #[test]
    fn what_the_machine_lacks_is_a_skip_and_no_failure() {
        let mut steps = Steps::default();
        let lacks = MachineLacks {
            wanted: "x".into(),
            found: "y".into(),
            remedy: "z".into(),
        };
        steps.gate("lacking", || Err(lacks.into()));
        assert_eq!(steps.count(), (0, 0, 1));
        assert!(steps.finish().is_ok());
    }

    #[test]
    fn tests_are_counted_one_by_one_with_their_skips() {
        let mut steps = Steps::default();
        let tally = Tally {
            passed: 7,
            ignored: 1,
            not_run: vec!["a: b".into()],
            ..Tally::default()
        };
        steps.tests("unit", || Ok(tally));
        assert_eq!(steps.count(), (7, 0, 2));
    }
}
