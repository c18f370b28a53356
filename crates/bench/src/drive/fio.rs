//! fio as the other side of a comparison.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What one run of fio came to, over all its jobs and both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) iops: f64,
    /// Mean of the whole latency in microseconds.
    pub(super) mean_us: f64,
}

/// Runs fio for `seconds` on a file: 4 KiB direct random reads, with these further arguments.
pub(super) fn random_reads(
    file: &Path,
    seconds: f64,
    arguments: &[&str],
) -> Result<Outcome, String> {
    let output = Command::new("fio")
        .arg("--name=drive")
        .arg(format!("--filename={}", file.display()))
        .args(["--rw=randread", "--bs=4k", "--direct=1", "--norandommap"])
        .args([
            "--time_based",
            "--group_reporting",
            "--allow_file_create=0",
            "--output-format=json",
        ])
        .arg(format!("--runtime={}ms", (seconds * 1e3) as u64))
        .args(arguments)
        .output()
        .map_err(|error| format!("fio: {error}; install the package fio"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        return Err(format!("fio ended with {}: {last}", output.status));
    }
    outcome(&output.stdout)
}

fn outcome(json: &[u8]) -> Result<Outcome, String> {
    // fio may print warnings before the object.
    let start = json.iter().position(|&byte| byte == b'{').unwrap_or(0);
    let report: Value = serde_json::from_slice(json.get(start..).unwrap_or_default())
        .map_err(|error| format!("fio's result: {error}"))?;
    let read = |path: &str| report.pointer(&format!("/jobs/0/read/{path}"));
    let number = |path: &str| {
        read(path)
            .and_then(Value::as_f64)
            .filter(|&value| value > 0.0)
            .ok_or_else(|| format!("fio's result has no {path}"))
    };
    Ok(Outcome {
        iops: number("iops")?,
        mean_us: number("lat_ns/mean")? / 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_behind_warnings_and_nonsense_is_refused() {
        let text =
            b"fio: a warning\n{\"jobs\":[{\"read\":{\"iops\":5.0,\"lat_ns\":{\"mean\":2000.0}}}]}";
        let found = outcome(text).expect("a result");
        assert_eq!((found.iops, found.mean_us), (5.0, 2.0));
        for text in [&b""[..], b"{}", b"{\"jobs\":[{\"read\":{\"iops\":0}}]}"] {
            assert!(outcome(text).is_err());
        }
    }
}
