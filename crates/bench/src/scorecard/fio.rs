//! fio as a load generator: what it is told, what it says, and its life as a child process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::child::{Guarded, last_lines};
use super::cpu::Watch;
use super::model::CpuUse;
use super::row::Measured;

/// The package that has it, on Debian and its relatives.
pub const PACKAGE: &str = "fio";

/// Seconds beyond its run time after which fio is taken for stuck.
const PATIENCE_S: f64 = 60.0;

/// Bytes of fio's result at most; with its latency maps it takes about 12 KiB.
const RESULT_BYTES_MAX: u64 = 4 << 20;

/// A random mixed load on a file, or on nothing.
#[derive(Debug, Clone)]
pub struct FioJob<'a> {
    /// The file; absent: fio's null engine, which completes each I/O without doing anything.
    pub file: Option<&'a Path>,
    /// Percent of reads.
    pub rwmixread: u8,
    /// Bytes of one I/O.
    pub bs: u32,
    /// Bytes of the working set, from the file's beginning.
    pub size: u64,
    /// I/Os kept in flight.
    pub qd: u32,
    /// Milliseconds.
    pub runtime_ms: u64,
    /// Seed of places and directions.
    pub seed: u64,
}

impl FioJob<'_> {
    /// fio's arguments. The result goes to `output`.
    #[must_use]
    pub fn arguments(&self, output: &Path) -> Vec<OsString> {
        let plain = [
            "--name=scorecard".to_owned(),
            // A thread, so that ending one process ends the load.
            "--thread".into(),
            "--rw=randrw".into(),
            format!("--rwmixread={}", self.rwmixread),
            format!("--bs={}", self.bs),
            format!("--size={}", self.size),
            format!("--iodepth={}", self.qd),
            "--time_based".into(),
            format!("--runtime={}ms", self.runtime_ms),
            format!("--randseed={}", self.seed),
            // As the driver's row: any place at any time, and buffers as they are.
            "--norandommap".into(),
            "--scramble_buffers=0".into(),
            // One figure over reads and writes, weighted by count, of the whole time from submission to completion.
            "--unified_rw_reporting=both".into(),
            "--lat_percentiles=1".into(),
            "--clat_percentiles=0".into(),
            "--percentile_list=50:99:99.9".into(),
            "--output-format=json".into(),
        ];
        let mut arguments: Vec<OsString> = plain.into_iter().map(OsString::from).collect();
        match self.file {
            None => arguments.push("--ioengine=null".into()),
            Some(file) => {
                // A file that fio had to make would not be the one under test.
                for fixed in ["--ioengine=libaio", "--direct=1", "--allow_file_create=0"] {
                    arguments.push(fixed.into());
                }
                arguments.push(prefixed("--filename=", file));
            }
        }
        arguments.push(prefixed("--output=", output));
        arguments
    }
}

fn prefixed(flag: &str, path: &Path) -> OsString {
    let mut text = OsString::from(flag);
    text.push(path);
    text
}

/// Why fio brought no figures.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// It is not there.
    #[error("fio is not installed; apt-get install {PACKAGE}")]
    Missing,
    /// It could not be started, or its files could not be used.
    #[error("{what}: {error}")]
    Machine {
        /// What was wanted.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// It ended with an error.
    #[error("fio ended with {status}: {said}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// The end of what it said.
        said: String,
    },
    /// Its result is not as expected.
    #[error("fio's result {}: {reason}", file.display())]
    Result {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It did not end in time.
    #[error("fio was still running {PATIENCE_S:.0} s after its time and was killed")]
    Stuck,
    /// Whoever waited no longer wants it.
    #[error("interrupted")]
    Interrupted,
}

/// The version of the fio that is found, as it names itself.
///
/// # Errors
/// When it is missing or says nothing.
pub fn version() -> Result<String, FioError> {
    let output = Command::new("fio")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FioError::Missing,
        _ => FioError::Machine {
            what: "wanted to run fio --version".into(),
            error,
        },
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs fio once. Its result stays in `output`, what it says on the side in a file beside it with the ending `.log`.
///
/// # Errors
/// When it does not run to its end, fails, or says nothing that can be read.
pub fn run(
    job: &FioJob<'_>,
    output: &Path,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Measured, FioError> {
    let log = output.with_extension("log");
    let machine = |what: &str, path: &Path| {
        let what = format!("wanted to {what} {}", path.display());
        move |error| FioError::Machine { what, error }
    };
    let file = File::create(&log).map_err(machine("write", &log))?;
    let other = file.try_clone().map_err(machine("write", &log))?;
    let watch = Watch::start();
    let mut command = Command::new("fio");
    command
        .args(job.arguments(output))
        .stdout(file)
        .stderr(other);
    let mut child = Guarded::start(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FioError::Missing,
        _ => machine("start", Path::new("fio"))(error),
    })?;
    let mut stopped = false;
    let mut look = || {
        stopped = stopped || stop();
        stopped
    };
    let patience = Duration::from_secs_f64(job.runtime_ms as f64 / 1e3 + PATIENCE_S);
    let ended = child
        .wait(patience, &mut look)
        .map_err(machine("wait for", Path::new("fio")))?;
    let used = watch.used();
    let status = match ended {
        Some(status) => status,
        None if stopped => return Err(FioError::Interrupted),
        None => return Err(FioError::Stuck),
    };
    if !status.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        return Err(FioError::Failed {
            status,
            said: last_lines(&said),
        });
    }
    let text = read_bounded(output).map_err(machine("read", output))?;
    let result = parse(&text).map_err(|reason| FioError::Result {
        file: output.to_path_buf(),
        reason,
    })?;
    Ok(Measured {
        cpu: CpuUse {
            generator: result.cpus,
            process: used.process / result.job_seconds.max(1e-9),
            elsewhere: used.elsewhere,
            stolen: used.stolen,
        },
        fio_json: Some(output.display().to_string()),
        ..result.measured
    })
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut file = io::Read::take(File::open(path)?, RESULT_BYTES_MAX);
    io::Read::read_to_string(&mut file, &mut text)?;
    Ok(text)
}

/// What is used of fio's result.
#[derive(Debug, Clone, PartialEq)]
pub struct FioResult {
    /// The figures, without those of other processes.
    pub measured: Measured,
    /// CPUs that fio's thread kept busy.
    pub cpus: f64,
    /// Seconds that its job took.
    pub job_seconds: f64,
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    mixed: Mixed,
    job_runtime: f64,
    usr_cpu: f64,
    sys_cpu: f64,
}

#[derive(Deserialize)]
struct Mixed {
    total_ios: u64,
    /// Milliseconds.
    runtime: f64,
    lat_ns: Latency,
}

#[derive(Deserialize)]
struct Latency {
    mean: f64,
    #[serde(default)]
    percentile: std::collections::BTreeMap<String, f64>,
}

/// Reads fio's JSON, with reads and writes reported together too (`--unified_rw_reporting=both`).
///
/// # Errors
/// What is missing or wrong.
pub fn parse(text: &str) -> Result<FioResult, String> {
    // fio may say something before it.
    let begin = text.find('{').ok_or("there is no JSON in it")?;
    let mut document: Document = serde_json::from_str(&text[begin..])
        .map_err(|error| format!("{error}; wanted the JSON of fio 3.27 or later"))?;
    let [job] = &mut document.jobs[..] else {
        return Err(format!("found {} jobs, wanted 1", document.jobs.len()));
    };
    if job.error != 0 {
        let error = io::Error::from_raw_os_error(i32::try_from(job.error).unwrap_or(0));
        return Err(format!("the job failed: {error}"));
    }
    let mixed = &job.mixed;
    let p99 = mixed
        .lat_ns
        .percentile
        .iter()
        .find_map(|(percent, ns)| (percent.parse() == Ok(99.0)).then_some(*ns));
    let seconds = mixed.runtime / 1e3;
    let positive = |value: f64| value.is_finite() && value >= 0.0;
    if !(positive(mixed.lat_ns.mean) && positive(job.usr_cpu + job.sys_cpu) && positive(seconds)) {
        return Err("a figure is negative or none".into());
    }
    let p99_ns = match p99 {
        Some(ns) => ns,
        None if mixed.total_ios == 0 => 0.0,
        None => return Err("the 99th percentile is missing".into()),
    };
    Ok(FioResult {
        measured: Measured {
            ios: mixed.total_ios,
            iops: mixed.total_ios as f64 / seconds.max(1e-3),
            seconds,
            mean_us: mixed.lat_ns.mean / 1e3,
            p99_us: p99_ns / 1e3,
            cpu: CpuUse::default(),
            fio_json: None,
        },
        cpus: (job.usr_cpu + job.sys_cpu) / 100.0,
        job_seconds: job.job_runtime / 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"note: something was said before
{ "fio version" : "fio-3.33", "jobs" : [ { "error" : 0, "job_runtime" : 1000,
  "usr_cpu" : 30.0, "sys_cpu" : 20.5,
  "mixed" : { "total_ios" : 40000, "runtime" : 1000, "iops" : 40000.0,
    "lat_ns" : { "mean" : 24500.0, "percentile" : { "50.000000" : 20000, "99.000000" : 90000 } } } } ] }"#;

    #[test]
    fn the_figures_of_reads_and_writes_together_are_taken() {
        let result = parse(RESULT).unwrap();
        assert_eq!(result.measured.ios, 40_000);
        assert_eq!(result.measured.iops, 40_000.0);
        assert_eq!(
            (result.measured.mean_us, result.measured.p99_us),
            (24.5, 90.0)
        );
        assert!((result.cpus - 0.505).abs() < 1e-12);
    }

    #[test]
    fn a_result_that_is_none_says_what_is_wrong() {
        for (from, to, words) in [
            ("\"error\" : 0", "\"error\" : 28", "No space left"),
            ("99.000000", "98.000000", "99th percentile"),
            ("\"mixed\"", "\"missed\"", "mixed"),
            ("{", "", "wanted the JSON"),
            ("24500.0", "-1", "negative"),
        ] {
            let said = parse(&RESULT.replacen(from, to, 1)).unwrap_err();
            assert!(said.contains(words), "{from}: {said}");
        }
        assert!(parse("").unwrap_err().contains("no JSON"));
        assert!(parse("{\"jobs\":[]}").unwrap_err().contains("0 jobs"));
    }

    #[test]
    fn a_load_on_a_file_never_makes_the_file_and_never_uses_the_page_cache() {
        let job = FioJob {
            file: Some(Path::new("/m/nvme_raw_0")),
            rwmixread: 70,
            bs: 4096,
            size: 1 << 20,
            qd: 16,
            runtime_ms: 1500,
            seed: 3,
        };
        let words = |job: &FioJob<'_>| -> Vec<String> {
            let arguments = job.arguments(Path::new("/out.json"));
            arguments
                .iter()
                .map(|a| a.to_string_lossy().into_owned())
                .collect()
        };
        let all = words(&job);
        for wanted in [
            "--filename=/m/nvme_raw_0",
            "--direct=1",
            "--allow_file_create=0",
            "--ioengine=libaio",
            "--iodepth=16",
            "--rwmixread=70",
            "--runtime=1500ms",
            "--output=/out.json",
        ] {
            assert!(
                all.iter().any(|found| found == wanted),
                "{wanted} in {all:?}"
            );
        }
        let null = words(&FioJob { file: None, ..job });
        assert!(null.iter().any(|found| found == "--ioengine=null"));
        assert!(!null.iter().any(|found| found.starts_with("--filename")));
    }
}
