//! Benchmarks, tiny, through the binary: so that they cannot rot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Runs the program; returns its exit code and what it said.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A tiny bench that must pass; returns what it printed.
fn bench(uri: &str, flags: &[&str]) -> String {
    let (code, text) = run(&[&["bench", uri, "--ios", "2000", "--repeat", "2"], flags].concat());
    assert_eq!(code, Some(0), "{uri} {flags:?}: {text}");
    text
}

/// A file of this test alone.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the build folder's name is text")
}

#[test]
fn a_null_drive_says_that_no_data_moved() {
    let text = bench("null:1G", &["--bs", "512", "--qd", "128"]);
    assert!(
        text.contains("no data moved") || text.contains("no data"),
        "{text}"
    );
}

#[test]
fn figures_without_a_fair_ceiling_say_why() {
    let text = bench("ram:4M", &[]);
    assert!(
        text.contains("not run: blocks that were never written"),
        "{text}"
    );
    assert!(!text.contains("reached"), "{text}");
    let text = bench("null:4M", &[]);
    assert!(
        text.contains("not run: the bare queue pair runs between two cores"),
        "{text}"
    );
}

#[test]
fn every_pattern_verifies_on_both_block_sizes() {
    for lba in ["512", "4096"] {
        let uri = format!("ram:8M?lba={lba}");
        for rw in ["randread", "randwrite", "randrw", "read", "write"] {
            let flags = ["--rw", rw, "--bs", "4K", "--qd", "16", "--verify"];
            bench(&uri, &flags);
        }
    }
}

#[test]
fn a_controller_in_its_own_thread_verifies() {
    bench(
        "ram:4M?controller=thread",
        &["--rw", "randrw", "--qd", "8", "--verify"],
    );
}

#[test]
fn threads_share_a_device_whose_controller_has_its_own() {
    bench(
        "ram:4M?controller=thread",
        &["--threads", "2", "--qd", "4", "--rw", "randrw", "--verify"],
    );
}

#[test]
fn devices_are_dealt_to_threads() {
    bench(
        "ram:4M",
        &[
            "--devices",
            "3",
            "--threads",
            "2",
            "--qd",
            "4",
            "--rw",
            "randrw",
            "--verify",
        ],
    );
}

#[test]
fn a_driver_and_a_controller_on_one_cpu_make_progress_and_warn() {
    let cpu = bench::ceiling::placement::allowed()[0].to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args(["bench", "null:4M?controller=thread", "--core-mask", &cpu])
        .args(["--qd", "1", "--ios", "500", "--repeat", "1", "--json", "-"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let words = "2 threads that never sleep (1 driving, 1 of controllers) share 1 CPU(s)";
    assert!(
        said.contains(words) && said.contains("--core-mask"),
        "{said}"
    );
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let own = &json["dataplane-emu"];
    let warnings = own["warnings"].as_array().unwrap();
    let hidden = |w: &Value| w["hides"].as_str().unwrap().contains(words);
    assert!(warnings.iter().any(hidden), "{warnings:?}");
    // A driver that does not give way spins for a time slice, about 4 ms, before each answer. CPU time, not time: others may be
    // at work on that CPU.
    let cpu = own["repeats"][0]
        .pointer("/process_cpu_seconds_per_io/value")
        .and_then(Value::as_f64);
    assert!(cpu.is_some_and(|seconds| seconds < 1e-3), "{cpu:?} s");
}

#[test]
fn a_controller_of_its_own_is_in_the_cpu_time_and_the_set_up_is_not() {
    let file = scratch("cpu.json");
    // Writing 128 MiB first takes tens of milliseconds on both threads, the reads take one.
    let (code, text) = run(&[
        "bench",
        "ram:128M?controller=thread",
        "--precondition",
        "--repeat",
        "1",
        "--ios",
        "200",
        "--json",
        path(&file),
    ]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("the whole process: 1 driving thread(s), 1 controller thread(s)"),
        "{text}"
    );
    let short = repeat(&file);
    let cpu = short.process_cpu;
    assert!(cpu < 2.0 * short.seconds + 0.02, "{short:?}");
    // Where others hold the CPUs, a short run may go by without the controller's thread: it gets more than one.
    let runs: Vec<Repeat> = (0..5).map(|_| long_run(&file)).collect();
    let counted = |run: &Repeat| run.process_cpu > 1.1 * run.cpu_share * run.seconds;
    assert!(runs.iter().any(counted), "{runs:?}");
}

/// Half a second of reads with a controller on a thread of its own.
fn long_run(file: &Path) -> Repeat {
    let (code, text) = run(&[
        "bench",
        "ram:4M?controller=thread",
        "--repeat",
        "1",
        "--runtime",
        "500ms",
        "--json",
        path(file),
    ]);
    assert_eq!(code, Some(0), "{text}");
    repeat(file)
}

/// What the first repeat of a report took.
#[derive(Debug)]
struct Repeat {
    seconds: f64,
    cpu_share: f64,
    process_cpu: f64,
}

fn repeat(report: &Path) -> Repeat {
    let json: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    let repeat = &json["dataplane-emu"]["repeats"][0];
    let number = |key: &str| repeat.pointer(key).and_then(Value::as_f64).expect(key);
    let ios = number("/read/ios") + number("/write/ios");
    Repeat {
        seconds: number("/seconds"),
        cpu_share: number("/cpu_share"),
        process_cpu: number("/process_cpu_seconds_per_io/value") * ios,
    }
}

#[test]
fn another_namespace_can_be_named() {
    bench("ram:4M?ns=3", &["--nsid", "3", "--verify"]);
}

#[test]
fn an_open_loop_runs_for_its_time() {
    let (code, text) = run(&[
        "bench",
        "ram:4M",
        "--rate",
        "2000",
        "--runtime",
        "200ms",
        "--repeat",
        "1",
    ]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn the_json_report_has_what_fio_plot_reads() {
    let file = scratch("report.json");
    bench("ram:4M", &["--json", path(&file)]);
    let json: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).expect("JSON");
    for key in ["fio version", "timestamp", "time", "global options", "jobs"] {
        assert!(!json[key].is_null(), "{key}");
    }
    for key in ["bs", "rw", "iodepth", "numjobs", "runtime", "ioengine"] {
        assert!(json["global options"][key].is_string(), "{key}");
    }
    let job = &json["jobs"][0];
    for key in [
        "job options",
        "usr_cpu",
        "sys_cpu",
        "latency_ns",
        "latency_us",
        "latency_ms",
    ] {
        assert!(!job[key].is_null(), "{key}");
    }
    for key in ["iops", "iops_stddev", "bw", "total_ios"] {
        assert!(job["read"][key].is_number(), "{key}");
    }
    for key in ["mean", "stddev", "percentile"] {
        assert!(!job["read"]["clat_ns"][key].is_null(), "{key}");
    }
}

#[test]
fn json_on_the_standard_output_is_json_alone() {
    let output = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args([
            "bench", "null:4M", "--ios", "1000", "--repeat", "1", "--json", "-",
        ])
        .output()
        .unwrap();
    let json: Result<Value, _> = serde_json::from_slice(&output.stdout);
    assert!(json.is_ok(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_series_is_csv_with_a_header() {
    let file = scratch("series.csv");
    let (code, text) = run(&[
        "bench",
        "ram:4M",
        "--runtime",
        "300ms",
        "--repeat",
        "1",
        "--series",
        path(&file),
    ]);
    assert_eq!(code, Some(0), "{text}");
    let csv = fs::read_to_string(&file).unwrap();
    let mut lines = csv.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(columns > 3, "{csv}");
    assert!(
        lines.all(|line| line.split(',').count() == columns),
        "{csv}"
    );
}

#[test]
fn two_reports_of_the_same_work_are_compared() {
    let (first, second) = (scratch("first.json"), scratch("second.json"));
    bench("ram:4M", &["--json", path(&first)]);
    bench("ram:4M", &["--json", path(&second)]);
    let (code, text) = run(&["bench", "diff", path(&first), path(&second)]);
    assert!(matches!(code, Some(0 | 1)), "{text}");
    assert!(text.contains("IOPS"), "{text}");
    let (code, text) = run(&["bench", "diff", path(&first), path(&first)]);
    assert_eq!(
        code,
        Some(0),
        "a report does not differ from itself: {text}"
    );
}

#[test]
fn reports_of_different_work_are_not_compared() {
    let (first, second) = (scratch("depth-1.json"), scratch("depth-2.json"));
    bench("ram:4M", &["--qd", "1", "--json", path(&first)]);
    bench("ram:4M", &["--qd", "2", "--json", path(&second)]);
    let (code, text) = run(&["bench", "diff", path(&first), path(&second)]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("qd"), "{text}");
}

#[test]
fn a_file_that_is_no_report_is_refused_by_its_name() {
    let file = scratch("nonsense.json");
    fs::write(&file, "{}").unwrap();
    let (code, text) = run(&["bench", "diff", path(&file), path(&file)]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("nonsense.json"), "{text}");
    let (code, text) = run(&["bench", "diff", "/no/such/a.json", path(&file)]);
    assert_eq!(code, Some(3), "{text}");
}
