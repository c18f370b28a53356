//! Runs other programs: shows the line, hands the terminal through, turns a failure into an error.

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// What `cargo run` tells the program that it starts. A cargo started from here must not inherit it: another
/// toolchain would take our cargo for its own, and a changed variable makes build scripts run again.
const CARGO_VARIABLES: [&str; 5] = [
    "CARGO",
    "RUSTC",
    "RUSTDOC",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
];

/// One program run in preparation.
#[derive(Debug)]
pub(crate) struct Run {
    command: Command,
    /// What a person would type to do the same.
    line: String,
}

impl Run {
    /// Prepares a run of `program`.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(&program);
        for (name, _) in std::env::vars_os() {
            if is_cargos_own(&name) {
                command.env_remove(name);
            }
        }
        let name = Path::new(program.as_ref())
            .file_name()
            .unwrap_or(program.as_ref());
        Self {
            command,
            line: name.display().to_string(),
        }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.line.push(' ');
        self.line.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    /// Adds several arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets an environment variable, shown in the line.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.line = format!("{name}='{}' {}", value.as_ref().display(), self.line);
        self.command.env(name, value);
        self
    }

    /// Sets the folder to run in.
    pub(crate) fn dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs with the terminal handed through.
    ///
    /// # Errors
    /// When the program cannot start or ends badly.
    pub(crate) fn run(self) -> Result<()> {
        let line = self.line.clone();
        let status = self.status()?;
        judge(&line, status)
    }

    /// Runs with the terminal handed through and says how it ended.
    ///
    /// # Errors
    /// When the program cannot start.
    pub(crate) fn status(mut self) -> Result<ExitStatus> {
        println!("$ {}", self.line);
        self.command
            .status()
            .with_context(|| format!("cannot start: {}", self.line))
    }

    /// Runs silently and returns what it wrote to standard output.
    ///
    /// # Errors
    /// When the program cannot start, ends badly (its standard error becomes part of the error) or writes no UTF-8.
    pub(crate) fn capture(mut self) -> Result<String> {
        let output = self
            .command
            .output()
            .with_context(|| format!("cannot start: {}", self.line))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{} ({}): {}", self.line, output.status, said.trim());
        }
        String::from_utf8(output.stdout).with_context(|| format!("not text: {}", self.line))
    }

    /// Runs and hands every line of standard output to `each`, as it comes.
    ///
    /// # Errors
    /// When the program cannot start or its output cannot be read.
    pub(crate) fn lines(mut self, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
        println!("$ {}", self.line);
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start: {}", self.line))?;
        if let Some(stdout) = child.stdout.take() {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line)? > 0 {
                each(String::from_utf8_lossy(&line).trim_end_matches('\n'));
                line.clear();
            }
        }
        Ok(child.wait()?)
    }

    /// The command itself, for callers that need more than this type offers.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

fn is_cargos_own(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    CARGO_VARIABLES.contains(&name.as_ref())
        || name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_BIN_")
}

fn judge(line: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("failed ({status}): {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_a_person_would_type_it() {
        let run = Run::new("/usr/bin/env").env("A", "1 2").args(["b", "c"]);
        assert_eq!(run.line, "A='1 2' env b c");
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_the_line() {
        let error = Run::new("false").arg("x").run().unwrap_err();
        assert!(error.to_string().contains("false x"), "{error}");
    }

    #[test]
    fn output_arrives_line_by_line_without_its_line_ends() {
        let mut seen = Vec::new();
        let status = Run::new("printf")
            .arg("a\\nb")
            .lines(|line| seen.push(line.to_owned()));
        assert!(status.unwrap().success());
        assert_eq!(seen, ["a", "b"]);
    }

    #[test]
    fn the_variables_of_our_own_cargo_do_not_reach_another() {
        assert!(is_cargos_own(&"CARGO_PKG_NAME".into()));
        assert!(is_cargos_own(&"CARGO".into()));
        assert!(!is_cargos_own(&"CARGO_TARGET_DIR".into()));
        assert!(!is_cargos_own(&"CARGO_HOME".into()));
    }
}
