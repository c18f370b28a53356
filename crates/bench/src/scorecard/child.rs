//! Programs of the system as children that do not outlive us.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::clock::Clock;

/// How often a running child is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Bytes of what a program says that are read. It says at most what a pipe holds (64 KiB), or it waits and is given up.
const SAID_BYTES_MAX: u64 = 64 << 10;

/// A child that does not outlive us: dropping it kills it.
#[derive(Debug)]
pub struct Guarded(Child);

impl Guarded {
    /// Starts a program in a process group of its own, so that a Ctrl-C of the terminal reaches us and not it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Self)
    }

    /// Waits for its end; `None` if `stop` said so first, or the time is over.
    ///
    /// # Errors
    /// When the system does not let us wait.
    pub fn wait(
        &mut self,
        patience: Duration,
        stop: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<ExitStatus>> {
        let clock = Clock::monotonic();
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if stop() || clock.seconds(clock.ticks()) > patience.as_secs_f64() {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program that says little to its end and returns what it printed. `package` has it on Debian and its relatives.
///
/// # Errors
/// In a sentence: it is not installed, failed, took longer than `patience`, or `stop` said so.
pub fn run(
    command: &mut Command,
    package: &str,
    patience: Duration,
    stop: &mut dyn FnMut() -> bool,
) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let machine = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{name} is not installed; do: apt-get install {package}")
        }
        _ => format!("{name}: {error}"),
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guarded::start(command).map_err(machine)?;
    let status = child
        .wait(patience, stop)
        .map_err(machine)?
        .ok_or_else(|| format!("{name} was stopped: it took too long, or an interrupt came"))?;
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    if let Some(pipe) = child.0.stdout.take() {
        pipe.take(SAID_BYTES_MAX)
            .read_to_end(&mut printed)
            .map_err(machine)?;
    }
    if let Some(pipe) = child.0.stderr.take() {
        pipe.take(SAID_BYTES_MAX)
            .read_to_end(&mut complained)
            .map_err(machine)?;
    }
    if status.success() {
        Ok(String::from_utf8_lossy(&printed).into_owned())
    } else {
        let said = String::from_utf8_lossy(&complained).into_owned();
        Err(format!("{name} ended with {status}: {}", last_lines(&said)))
    }
}

/// The last lines of what a program said, in one.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(3);
    match lines[from..].join("; ") {
        said if said.is_empty() => "it said nothing".into(),
        said => said.chars().take(400).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_child_is_killed_when_nobody_wants_it_any_more() {
        let mut child = Guarded::start(Command::new("sleep").arg("60")).unwrap();
        let id = child.0.id();
        assert!(
            child
                .wait(Duration::from_secs(600), &mut || true)
                .unwrap()
                .is_none()
        );
        assert!(child.wait(Duration::ZERO, &mut || false).unwrap().is_none());
        let clock = Clock::monotonic();
        drop(child);
        // Killed, not waited for.
        assert!(clock.seconds(clock.ticks()) < 30.0);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }

    #[test]
    fn what_a_program_says_is_passed_on_and_what_is_missing_is_named() {
        let patience = Duration::from_secs(60);
        let run = |command: &mut Command| run(command, "the-package", patience, &mut || false);
        assert_eq!(run(Command::new("echo").arg("hello")).unwrap(), "hello\n");
        let failed = run(Command::new("sh").args(["-c", "echo reason >&2; exit 3"])).unwrap_err();
        assert!(failed.contains("exit status: 3: reason"), "{failed}");
        let missing = run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(missing.contains("apt-get install the-package"), "{missing}");
    }
}
