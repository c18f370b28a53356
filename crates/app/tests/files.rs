//! The files that a command names: none is written that it reads, none is left by a command that means nothing, and none is waited
//! for without a word.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// An empty folder of one test alone.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
    let _ = fs::remove_dir_all(&folder); // it may be the first run
    fs::create_dir_all(folder.join("mnt")).expect("a folder");
    folder
}

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"));
    command.args(arguments).current_dir(folder);
    command
}

/// Runs the program, which must end by itself and soon; its exit code and all that it said.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = program(folder, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let end = SystemTime::now() + Duration::from_secs(60);
    while child.try_wait().expect("our child").is_none() {
        if SystemTime::now() > end {
            child.kill().expect("it is ours");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    said(&child.wait_with_output().expect("what it said"))
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

/// Runs the program and expects a refusal with exit code and words; every file is as it was.
fn refuses(folder: &Path, arguments: &[&str], code: i32, words: &[&str]) {
    let before = contents(folder);
    let (found, said) = run(folder, arguments);
    assert_eq!(found, Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no {word:?} in {said}");
    }
    assert!(contents(folder) == before, "{arguments:?} changed a file");
}

/// Name and content of every file.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(PathBuf, Vec<u8>)> = paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(&path).expect("a file")))
        .collect();
    files.sort();
    files
}

const SCRIPT: &str = "version = 1\n[[rule]]\ndo = \"delay\"\ndelay_us = 1\n";

const LOG: &str = "fio version 3 iolog\n0 /a add\n5 /a open\n10 /a write 0 8192\n30 /a close\n";

/// What fio says of one job at depth 1.
const MEASURED: &str = r#"{"jobs": [{"jobname": "a", "job options": {"bs": "4k", "iodepth": "1", "rw": "randread"},
 "read": {"total_ios": 1000, "iops": 10000.0, "bw_bytes": 40960000, "runtime": 100,
  "lat_ns": {"min": 90000, "max": 110000, "mean": 100000.0, "stddev": 1000.0, "N": 1000},
  "clat_ns": {"min": 90000, "max": 110000, "mean": 100000.0, "stddev": 1000.0, "N": 1000}},
 "write": {"total_ios": 0}}]}"#;

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
}

#[test]
fn a_drive_is_never_its_own_log_whatever_the_log_is_called() {
    let folder = scratch("log");
    fs::write(folder.join("v.img"), vec![7; 1 << 20]).expect("a file");
    symlink("v.img", folder.join("soft")).expect("a link");
    fs::hard_link(folder.join("v.img"), folder.join("hard")).expect("a link");
    for log in ["v.img", "./v.img", "mnt/../v.img", "soft", "hard"] {
        let device = format!("file:v.img?log={log}");
        let words = [log, "the blocks of file:v.img", "name another file"];
        refuses(&folder, &["serve", &device, "--mount", "mnt"], 2, &words);
        refuses(&folder, &["bench", &device], 2, &words);
    }
    let device = "file:new.img?size=1M&log=./new.img";
    refuses(&folder, &["bench", device], 2, &["new.img"]);
    refuses(
        &folder,
        &["serve", "ram:1M?log=l", "ram:1M?log=./l", "--mount", "mnt"],
        2,
        &["./l", "the log of ram:1M?log=l"],
    );
    refuses(
        &folder,
        &["serve", "file:v.img", "file:./hard", "--mount", "mnt"],
        2,
        &["./hard", "v.img"],
    );
    // Several namespaces write several logs.
    fs::write(folder.join("l.2"), SCRIPT).expect("a script");
    let device = "ram:1M?ns=2&log=l&fault=l.2";
    refuses(&folder, &["bench", device], 2, &["l.2", "the fault script"]);
}

#[test]
fn what_a_lab_names_is_not_written_over_the_lab_or_what_it_reads() {
    let folder = scratch("lab");
    let lab =
        "version = 1\n[[namespace]]\ndevice = \"ram:1M?log=lab.toml\"\n[[mount]]\npath = \"mnt\"\n";
    fs::write(folder.join("lab.toml"), lab).expect("a lab");
    let words = ["lab.toml", "the lab file"];
    refuses(&folder, &["serve", "lab.toml"], 2, &words);
    let (code, said) = run(&folder, &["lab", "check", "lab.toml"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("line 3: ") && said.contains("the lab file"),
        "{said}"
    );

    fs::write(folder.join("script.toml"), SCRIPT).expect("a script");
    let device = "ram:1M?fault=script.toml&log=./script.toml";
    let words = ["./script.toml", "the fault script"];
    refuses(&folder, &["serve", device, "--mount", "mnt"], 2, &words);
    fs::write(folder.join("page"), b"").expect("a file");
    refuses(
        &folder,
        &[
            "serve",
            "ram:1M",
            "--mount",
            "mnt",
            "--telemetry-v1",
            "page",
            "--telemetry-v2",
            "./page",
        ],
        2,
        &["./page", "the telemetry of version 1"],
    );
}

#[test]
fn reports_are_not_written_over_what_the_command_reads() {
    let folder = scratch("reports");
    fs::write(folder.join("v.img"), vec![7; 1 << 20]).expect("a file");
    fs::write(folder.join("f.log"), LOG).expect("a trace");
    fs::write(folder.join("f1.json"), MEASURED).expect("measurements");
    fs::write(folder.join("notes.txt"), "notes").expect("a file");
    let cases: [(&[&str], &[&str]); 9] = [
        (
            &["bench", "file:v.img", "--json", "./v.img"],
            &["./v.img", "file:v.img"],
        ),
        (
            &["bench", "file:v.img", "--series", "v.img"],
            &["--series", "file:v.img"],
        ),
        (
            &["bench", "ram:1M?log=l", "--json", "l"],
            &["--json", "the log of"],
        ),
        (
            &["bench", "ram:1M", "--json", "r", "--series", "./r"],
            &["--json", "--series"],
        ),
        (
            &["bench", "ram:1M?log=l", "--devices", "2"],
            &["--devices", "allowed: 1"],
        ),
        (
            &["replay", "f.log", "ram:1M", "--json", "f.log"],
            &["--json", "the trace"],
        ),
        (
            &["replay", "f.log", "ram:1M?log=./f.log"],
            &["./f.log", "the trace"],
        ),
        (
            &["profile", "fit", "f1.json", "-o", "f1.json"],
            &["--output", "measurements"],
        ),
        (
            &["profile", "fit", "f1.json", "-o", "notes.txt"],
            &["notes.txt", "something else"],
        ),
    ];
    for (arguments, words) in cases {
        refuses(&folder, arguments, 2, words);
    }
}

#[test]
fn a_fitted_profile_is_written_over_an_earlier_one_and_to_what_holds_nothing() {
    let folder = scratch("fit");
    fs::write(folder.join("f1.json"), MEASURED).expect("measurements");
    for output in ["new.toml", "new.toml", "/dev/null"] {
        let (code, said) = run(&folder, &["profile", "fit", "f1.json", "-o", output]);
        assert_eq!(code, Some(0), "{output}: {said}");
    }
}

#[test]
fn a_command_that_means_nothing_makes_and_empties_no_file() {
    let folder = scratch("first");
    fs::write(folder.join("keep.txt"), "keep").expect("a file");
    fs::write(folder.join("f.log"), LOG).expect("a trace");
    let far = "fio version 3 iolog\n0 /a add\n5 /a open\n10 /a write 8388608 8192\n30 /a close\n";
    fs::write(folder.join("far.log"), far).expect("a trace");
    let logged = "file:new.img?size=1M&log=keep.txt";
    let cases: [(&[&str], i32, &str); 8] = [
        (&["bench", logged, "--nsid", "4"], 2, "--nsid"),
        (
            &["bench", "ram:1M?log=keep.txt", "--nsid", "4"],
            2,
            "--nsid",
        ),
        (&["bench", logged, "--size", "64G"], 2, "--size"),
        (&["bench", logged, "--threads", "2"], 2, "--threads"),
        (
            &["bench", "file:new.img?size=1M&profile=optane"],
            2,
            "optane",
        ),
        (&["replay", "f.log", logged, "--nsid", "2"], 2, "--nsid"),
        (&["replay", "far.log", logged], 2, "far.log"),
        (
            &[
                "serve",
                "file:new.img?size=1G",
                "ram:1M?log=keep.txt",
                "file:missing.img",
                "--mount",
                "mnt",
            ],
            3,
            "missing.img",
        ),
    ];
    for (arguments, code, word) in cases {
        refuses(&folder, arguments, code, &[word]);
    }
}

#[test]
fn a_fifo_is_refused_and_not_waited_for() {
    let folder = scratch("fifo");
    fifo(&folder.join("pipe"));
    fifo(&folder.join("pipe.toml"));
    let cases: [(&[&str], i32); 8] = [
        (&["bench", "ram:1M?fault=pipe"], 3),
        (&["bench", "ram:1M?profile=pipe.toml"], 3),
        (&["serve", "ram:1M?fault=pipe", "--mount", "mnt"], 3),
        (&["serve", "pipe.toml"], 2),
        (&["lab", "check", "pipe"], 2),
        (&["replay", "pipe", "ram:1M"], 3),
        (&["profile", "fit", "pipe"], 3),
        (&["bench", "diff", "pipe", "pipe"], 3),
    ];
    for (arguments, code) in cases {
        let words = ["wanted a regular file, found a FIFO", "pipe"];
        refuses(&folder, arguments, code, &words);
    }
}

#[test]
fn what_is_piped_in_is_read_under_the_name_of_the_standard_input() {
    use std::io::Write as _;
    let folder = scratch("stdin");
    let lab = "version = 1\n[[namespace]]\ndevice = \"ram:1M\"\n";
    for (arguments, text) in [
        (["lab", "check", "/dev/stdin"], lab),
        (["profile", "fit", "/dev/stdin"], MEASURED),
    ] {
        let mut child = program(&folder, &arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        let (code, said) = said(&child.wait_with_output().expect("what it said"));
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
    }
}

#[test]
fn a_script_or_profile_that_is_no_text_is_named_with_its_line() {
    let folder = scratch("utf8");
    fs::write(folder.join("bad.toml"), b"version = 1\n# \xff\n").expect("a file");
    for option in ["fault", "profile"] {
        let device = format!("ram:1M?{option}=./bad.toml");
        refuses(
            &folder,
            &["bench", &device],
            2,
            &["bad.toml: line 2: ", "UTF-8"],
        );
    }
}

#[test]
fn a_file_of_a_trace_is_mapped_once() {
    let folder = scratch("maps");
    fs::write(folder.join("f.log"), LOG).expect("a trace");
    refuses(
        &folder,
        &[
            "replay", "f.log", "ram:64M", "--map", "/a=63M", "--map", "/a=2M",
        ],
        2,
        &["--map", "/a", "63M", "2M", "each name once"],
    );
}

#[test]
fn numbers_that_are_none_are_answered_with_what_is_allowed() {
    let folder = scratch("numbers");
    fs::write(folder.join("f.log"), LOG).expect("a trace");
    let year = "999999999999s";
    let cases: [(&[&str], &str); 8] = [
        (
            &["bench", "ram:1M", "--rate", "nan"],
            "a whole number from 1 to",
        ),
        (
            &["bench", "ram:1M", "--seed", "999999999999999999999999"],
            "from 0 to 18446744073709551615",
        ),
        (
            &["bench", "ram:1M", "--qd", ","],
            "a whole number from 1 to 1024",
        ),
        (&["bench", "ram:1M", "--runtime", year], "at most 366 days"),
        (
            &["replay", "f.log", "ram:1M", "--qd", ","],
            "a whole number from 1 to 1024",
        ),
        (
            &["replay", "f.log", "ram:1M", "--runtime", year],
            "at most 366 days",
        ),
        (
            &["serve", "ram:1M", "--mount", "mnt", "--duration", "1e30s"],
            "500ms, 10s, 2m",
        ),
        (
            &["serve", "ram:1M", "--mount", "mnt", "--duration", year],
            "at most 366 days",
        ),
    ];
    for (arguments, words) in cases {
        refuses(&folder, arguments, 2, &["allowed", words]);
    }
}
