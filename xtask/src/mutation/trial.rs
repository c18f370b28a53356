//! One run of some tests in the copy: built by cargo, then started one by one, so that only running is timed.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::HANG_AFTER;
use super::tree::Copy;
use crate::process::Run;
use crate::workshop::Workshop;

/// How often a running test is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How the tests took it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No test noticed.
    Survived,
    /// This test failed first.
    Failed(String),
    /// A test program ended without saying which test failed.
    Died(String),
    /// A test program did not end in time.
    Hung(String),
}

impl Outcome {
    /// True when a test noticed.
    pub(super) fn is_caught(&self) -> bool {
        *self != Self::Survived
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Survived => write!(f, "SURVIVED"),
            Self::Failed(test) => write!(f, "caught by {test}"),
            Self::Died(how) => write!(f, "caught: {how}"),
            Self::Hung(program) => {
                write!(
                    f,
                    "caught: {program} did not end in {} s",
                    HANG_AFTER.as_secs()
                )
            }
        }
    }
}

/// Some tests, ready to be built and run.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    workshop: &'a Workshop,
    copy: &'a Copy,
    /// What follows `cargo test`.
    selection: &'a [String],
    /// What the test programs are told.
    arguments: &'a [String],
}

/// What cargo says about one thing that it built.
#[derive(Debug, Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    #[serde(default)]
    profile: Profile,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
struct Profile {
    #[serde(default)]
    test: bool,
}

/// A test program that cargo built.
#[derive(Debug)]
struct Program {
    name: String,
    path: PathBuf,
    /// The folder of its package, where cargo would start it.
    folder: PathBuf,
}

impl<'a> Trial<'a> {
    pub(super) fn new(workshop: &'a Workshop, copy: &'a Copy, tests: &'a [String]) -> Self {
        let middle = tests
            .iter()
            .position(|argument| argument == "--")
            .unwrap_or(tests.len());
        let (selection, arguments) = tests.split_at(middle);
        Self {
            workshop,
            copy,
            selection,
            arguments: arguments.get(1..).unwrap_or_default(),
        }
    }

    /// Builds, then runs one test program after the other until one fails.
    ///
    /// # Errors
    /// When the build fails: a mutant that does not build shows nothing about the tests.
    pub(super) fn run(&self) -> Result<Outcome> {
        let mut left = HANG_AFTER;
        for program in self.build()? {
            let (outcome, took) = self.run_program(&program, left)?;
            if outcome.is_caught() {
                return Ok(outcome);
            }
            left = left.saturating_sub(took);
        }
        Ok(Outcome::Survived)
    }

    fn build(&self) -> Result<Vec<Program>> {
        let mut programs = Vec::new();
        let status = self
            .workshop
            .cargo("test")
            .args(self.selection)
            .args([
                "--quiet",
                "--no-run",
                "--message-format=json-render-diagnostics",
            ])
            .dir(&self.copy.root)
            .env(
                "CARGO_TARGET_DIR",
                self.workshop.target.join("mutants/build"),
            )
            .lines(|line| programs.extend(program_of(line)))?;
        if !status.success() {
            bail!("it does not build ({status}), so it shows nothing about the tests");
        }
        if programs.is_empty() {
            bail!("`cargo test {}` builds no test", self.selection.join(" "));
        }
        Ok(programs)
    }

    fn run_program(&self, program: &Program, left: Duration) -> Result<(Outcome, Duration)> {
        // A file, not a pipe: nobody reads while the program runs.
        let log = self.workshop.target.join("mutants/log");
        let mut child = Run::new(&program.path)
            .args(self.arguments)
            .dir(&program.folder)
            .into_command()
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.path.display()))?;
        let printed = || fs::read_to_string(&log).unwrap_or_default();
        // One failed test is enough; others of the same bug may hang.
        let (status, took) = wait(&mut child, left, || first_failed(&printed()).is_some())?;
        let outcome = match (first_failed(&printed()), status) {
            (Some(test), _) => Outcome::Failed(format!("{}: {test}", program.name)),
            (None, None) => Outcome::Hung(program.name.clone()),
            (None, Some(status)) if status.success() => Outcome::Survived,
            (None, Some(status)) => Outcome::Died(format!("{} ended with {status}", program.name)),
        };
        Ok((outcome, took))
    }
}

/// Waits for a program, and ends it when the time is over or `enough` is known: then there is no status.
#[expect(
    clippy::disallowed_methods,
    reason = "a hang is seen by a clock; tests run in real time"
)]
fn wait(
    child: &mut Child,
    left: Duration,
    enough: impl Fn() -> bool,
) -> Result<(Option<ExitStatus>, Duration)> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), start.elapsed()));
        }
        if start.elapsed() >= left || enough() {
            child.kill()?;
            child.wait()?;
            return Ok((None, start.elapsed()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The test program that a line of cargo's messages tells of, if it does.
fn program_of(line: &str) -> Option<Program> {
    let message: Message = serde_json::from_str(line).ok()?;
    let path = message.executable.filter(|_| message.profile.test)?;
    let folder = message
        .manifest_path
        .as_deref()
        .and_then(Path::parent)?
        .to_owned();
    Some(Program {
        name: message.target?.name,
        path,
        folder,
    })
}

fn first_failed(printed: &str) -> Option<&str> {
    printed.lines().find_map(|line| {
        line.strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failing_test_is_named() {
        let printed = "running 2 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n";
        assert_eq!(first_failed(printed), Some("b::c"));
        assert_eq!(first_failed("test a ... ok\n"), None);
    }

    #[test]
    fn only_test_programs_are_taken_from_cargos_messages() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/x/a/Cargo.toml",
            "target":{"name":"a"},"profile":{"test":true},"executable":"/t/a-1"}"#;
        let program = program_of(line).unwrap();
        assert_eq!(
            (program.name.as_str(), program.folder.as_path()),
            ("a", Path::new("/x/a"))
        );
        assert!(program_of(&line.replace("true", "false")).is_none());
        assert!(program_of("{\"reason\":\"build-finished\",\"success\":true}").is_none());
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let mut child = Run::new("sleep").arg("60").into_command().spawn().unwrap();
        let (status, took) = wait(&mut child, Duration::from_millis(50), || false).unwrap();
        assert!(status.is_none());
        assert!(took < Duration::from_secs(30));
    }

    #[test]
    fn a_program_is_ended_when_enough_is_known() {
        let mut child = Run::new("sleep").arg("60").into_command().spawn().unwrap();
        let (_, took) = wait(&mut child, Duration::from_secs(60), || true).unwrap();
        assert!(took < Duration::from_secs(30));
    }
}
