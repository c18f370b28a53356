//! Instructions per I/O, counted by callgrind: the same on a loaded machine as on a quiet one.
//!
//! The figure is the difference between a run of 2N and a run of N, so that bring-up and the first touches drop out.

use std::path::Path;
use std::process::Command;

use super::{Bar, Effort, Samples, Sense};

/// What is counted: the functions of `counted.rs` whose names match.
const DRIVER: &[&str] = &["counted_driver_submit", "counted_driver_reap"];
const CALLER: &[&str] = &["counted_caller"];
const CONTROLLER: &[&str] = &["counted_controller"];

/// Repeats of each count. Counts repeat to the instruction but for the addresses that the system happens to choose.
const REPEATS: usize = 3;

pub(super) fn bars(effort: Effort) -> Vec<Bar> {
    let one = driver(1, effort);
    let sixteen = driver(16, effort);
    let controller = per_command(CONTROLLER, 1, effort);
    let growth = match (&one, &sixteen) {
        (Ok(one), Ok(sixteen)) => Ok(growth(one, sixteen)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
    };
    vec![
        Bar::judge(
            "driver, one I/O, QD 128",
            "instr",
            (Sense::AtMost, 60.0),
            true,
            one,
        ),
        Bar::judge(
            "driver, 16 devices / 1 device",
            "x",
            (Sense::AtMost, 1.10),
            true,
            growth,
        ),
        Bar::judge(
            "controller, 512 B read from null media, QD 128",
            "instr",
            (Sense::AtMost, 90.0),
            true,
            controller,
        ),
        Bar::judge(
            "system calls per I/O, driver and controller",
            "calls",
            (Sense::AtMost, 0.0),
            true,
            system_calls(effort),
        ),
    ]
}

fn growth(one: &Samples, sixteen: &Samples) -> Samples {
    let values = one
        .values
        .iter()
        .zip(&sixteen.values)
        .map(|(one, many)| many / one);
    let detail = format!("{:.1} / {:.1} instr", median_of(sixteen), median_of(one));
    Samples {
        values: values.collect(),
        discarded: 0,
        detail,
    }
}

fn median_of(samples: &Samples) -> f64 {
    samples.median().unwrap_or(0.0)
}

/// Instructions of the driver: its two halves, less the walk through the caller's plan that the first half contains.
fn driver(devices: usize, effort: Effort) -> Result<Samples, String> {
    let whole = per_command(DRIVER, devices, effort)?;
    let caller = per_command(CALLER, devices, effort)?;
    let values = whole
        .values
        .iter()
        .zip(&caller.values)
        .map(|(whole, caller)| whole - caller);
    let detail = format!(
        "{:.1} with the caller's loop, which takes {:.1}; {}",
        median_of(&whole),
        median_of(&caller),
        whole.detail
    );
    Ok(Samples {
        values: values.collect(),
        discarded: 0,
        detail,
    })
}

/// Instructions of the named functions, with all that they call, per command.
fn per_command(functions: &[&str], devices: usize, effort: Effort) -> Result<Samples, String> {
    let values = (0..REPEATS)
        .map(|_| {
            let short = count(functions, devices, effort.counted)?;
            let long = count(functions, devices, 2 * effort.counted)?;
            Ok((long.0 - short.0) as f64 / (long.1 - short.1) as f64)
        })
        .collect::<Result<_, String>>()?;
    let detail = format!(
        "{devices} device(s), in line, 2N - N with N = {}",
        effort.counted
    );
    Ok(Samples {
        values,
        discarded: 0,
        detail,
    })
}

/// The subject of a count, under valgrind.
fn subject(tool: &[String], devices: usize, commands: u64) -> Result<std::process::Output, String> {
    let (devices, commands) = (devices.to_string(), commands.to_string());
    under_valgrind(
        tool,
        &["counted", "--devices", &devices, "--commands", &commands],
    )
}

/// This program with these arguments, under valgrind.
fn under_valgrind(tool: &[String], arguments: &[&str]) -> Result<std::process::Output, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(tool)
        .arg(exe)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind: {error} (Debian and Ubuntu package it as valgrind)"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error
            .lines()
            .rfind(|line| !line.starts_with("=="))
            .unwrap_or_default();
        return Err(format!(
            "the counted loop failed under valgrind ({}) {last}",
            output.status
        ));
    }
    Ok(output)
}

/// The commands that the subject says it did.
fn commands_done(output: &std::process::Output) -> Result<u64, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .map_err(|_| format!("wanted a count of commands, found {text:?}"))
}

/// Instructions collected, and commands done.
fn count(functions: &[&str], devices: usize, commands: u64) -> Result<(u64, u64), String> {
    let (devices, commands) = (devices.to_string(), commands.to_string());
    let arguments = ["counted", "--devices", &devices, "--commands", &commands];
    collect(functions, &arguments)
}

/// Instructions of the named functions, with all that they call, in a run of this program with these arguments; and the
/// commands that it says it did.
pub(crate) fn collect(functions: &[&str], arguments: &[&str]) -> Result<(u64, u64), String> {
    let file = std::env::temp_dir().join(format!("dpe-callgrind-{}", std::process::id()));
    let mut tool = vec![
        "--tool=callgrind".to_string(),
        "--collect-atstart=no".to_string(),
        format!("--callgrind-out-file={}", file.display()),
    ];
    tool.extend(
        functions
            .iter()
            .map(|name| format!("--toggle-collect=*{name}*")),
    );
    let output = under_valgrind(&tool, arguments)?;
    let collected = totals(&file);
    let _ = std::fs::remove_file(&file); // a leftover in the temporary folder harms nobody
    Ok((collected?, commands_done(&output)?))
}

/// The line of totals in callgrind's file.
fn totals(file: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    text.lines()
        .find_map(|line| {
            line.strip_prefix("totals: ")
                .or_else(|| line.strip_prefix("summary: "))
        })
        .and_then(|figure| figure.trim().parse().ok())
        .filter(|&collected| collected > 0)
        .ok_or_else(|| "callgrind collected nothing: were the counted functions inlined?".into())
}

/// System calls that 2N commands make more than N do, per command.
fn system_calls(effort: Effort) -> Result<Samples, String> {
    let calls = |commands: u64| {
        let tool = [
            "--tool=none".to_string(),
            "--trace-syscalls=yes".to_string(),
        ];
        let output = subject(&tool, 1, commands)?;
        let text = String::from_utf8_lossy(&output.stderr);
        let calls = text
            .lines()
            .filter(|line| line.starts_with("SYSCALL["))
            .count();
        if calls == 0 {
            return Err(String::from(
                "valgrind traced no system call, not even those of start-up",
            ));
        }
        Ok((calls as f64, commands_done(&output)?))
    };
    let (short, long) = (calls(effort.counted)?, calls(2 * effort.counted)?);
    let value = (long.0 - short.0).max(0.0) / (long.1 - short.1) as f64;
    let detail = format!(
        "{:.0} calls in both runs, all before the first I/O",
        short.0
    );
    Ok(Samples {
        values: vec![value],
        discarded: 0,
        detail,
    })
}
