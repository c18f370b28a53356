//! Programs of others that tests and comparisons use.

use super::super::facts::Program;
use super::super::{Row, Status};

pub(super) fn rows(programs: &[Program]) -> Vec<Row> {
    programs.iter().map(row).collect()
}

fn row(program: &Program) -> Row {
    let name = program.name;
    let checked = format!("{name} in the folders of PATH");
    match &program.version {
        Some(version) if version.is_empty() => Row::have(name, "present", checked),
        Some(version) => Row::have(name, format!("version {version}"), checked),
        None => {
            let (cost, package) = needed_for(name);
            let remedy = format!("install the package {package}");
            Row::have(name, "not found", checked).but(Status::Lacks, cost, remedy)
        }
    }
}

/// What a program is used for, and the package that has it on Debian and Ubuntu.
fn needed_for(program: &str) -> (&'static str, &str) {
    match program {
        "valgrind" => (
            "instructions per I/O cannot be counted, so those bars do not run",
            "valgrind",
        ),
        "fio" => ("no comparison with fio on the same machine", "fio"),
        "nvme" => ("no check against nvme-cli", "nvme-cli"),
        other => ("tests that use it are skipped", other),
    }
}
