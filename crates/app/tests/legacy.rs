//! The first dataplane-emu's command line, as docs/old-interface.md says that it behaves here.

#[expect(dead_code, reason = "the old flags know no --ready-fd")]
mod served;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use served::{Served, can_mount, is_mounted, scratch, text, wait_until};

/// Runs the program to its end; its exit code, stdout and stderr.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut served = Served::spawn_plainly(folder, arguments);
    let code = served.wait().code();
    (code, served.stdout(), served.stderr())
}

/// Asserts that lines come in this order, whatever lies between them.
fn assert_order(text: &str, wanted: &[&str]) {
    let mut lines = text.lines();
    for line in wanted {
        assert!(
            lines.any(|found| found == *line),
            "{line:?} is missing or late in {text}"
        );
    }
}

#[test]
fn the_benchmark_prints_the_old_lines_and_its_figures_and_ends() {
    let folder = scratch("old-bench");
    let (code, said, errors) = run(&folder, &["-b"]);
    assert_eq!(code, Some(0), "{said}{errors}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.first(), Some(&"Starting kernel-bypass benchmark..."));
    assert_eq!(
        lines.get(1),
        Some(&"Successfully submitted and polled 1000000 I/Os using lock-free atomics.")
    );
    let figures = said.split("atomics.").nth(1).expect("more lines");
    for word in [
        "randread 512 B, depth 32",
        "IOPS",
        "64 MiB",
        "moved            488 MiB",
    ] {
        assert!(figures.contains(word), "{word:?} is missing in {said}");
    }
    let end = [
        "Benchmark complete. Waiting for control plane signal...",
        "Execution complete.",
    ];
    assert_eq!(lines[lines.len() - 2..], end);
}

#[test]
fn the_bridge_serves_until_a_signal_and_prints_the_markers() {
    if !can_mount() {
        return;
    }
    let folder = scratch("old-bridge");
    let mnt = text(&folder.join("mnt"));
    let mounting = format!("Mounting FUSE bridge at {mnt}...");
    for signal in [Signal::INT, Signal::TERM] {
        let mut served = Served::spawn_plainly(&folder, &["-k", "-m", &mnt]);
        wait_until("the marker", || served.stdout().contains("Interceptor..."));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(served.file(0))
            .expect("a file");
        assert_eq!(file.metadata().expect("its size").len(), 1 << 30);
        file.write_all_at(b"real bytes", 12345).expect("a write");
        file.sync_all().expect("a flush");
        let mut found = [0; 10];
        file.read_exact_at(&mut found, 12345).expect("a read");
        assert_eq!(&found, b"real bytes");
        drop(file);
        served.signal(signal);
        assert_eq!(served.wait().code(), Some(0), "{}", served.said());
        assert!(!is_mounted(&folder.join("mnt")));
        let order = [
            "Starting kernel-bypass backend...",
            &mounting,
            "Starting FUSE POSIX Interceptor...",
            "Execution complete.",
        ];
        assert_order(&served.stdout(), &order);
    }
}

#[test]
fn the_bridge_keeps_what_is_written_on_the_device_that_is_named() {
    if !can_mount() {
        return;
    }
    let folder = scratch("old-device");
    let disk = text(&folder.join("disk 1.img"));
    fs::write(&disk, vec![0; 1 << 20]).expect("a file");
    let mut served = Served::spawn_plainly(&folder, &["-km", "mnt", "-d", &disk]);
    let marker = format!("Starting FUSE POSIX Interceptor... {disk}, 1048576 bytes\n");
    wait_until("the marker", || served.stdout().contains(&marker));
    let file = OpenOptions::new()
        .write(true)
        .open(served.file(0))
        .expect("a file");
    file.write_all_at(b"kept", 512).expect("a write");
    file.sync_all().expect("a flush");
    drop(file);
    assert!(!served.stderr().contains("page cache"), "{}", served.said());
    served.signal(Signal::TERM);
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    assert_eq!(fs::read(&disk).expect("the file")[512..516], *b"kept");
}

#[test]
fn a_benchmark_goes_before_a_bridge_and_the_last_line_comes_once() {
    if !can_mount() {
        return;
    }
    let folder = scratch("old-both");
    let mut served = Served::spawn_plainly(&folder, &["-b", "-k", "-m", "mnt"]);
    wait_until("the marker", || served.stdout().contains("Interceptor..."));
    served.signal(Signal::INT);
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    let said = served.stdout();
    let order = [
        "Starting kernel-bypass benchmark...",
        "Benchmark complete. Waiting for control plane signal...",
        "Starting kernel-bypass backend...",
        "Execution complete.",
    ];
    assert_order(&said, &order);
    assert_eq!(said.matches("Execution complete.").count(), 1, "{said}");
}

#[test]
fn what_is_not_built_or_not_understood_says_so() {
    let folder = scratch("old-refused");
    let cases: [(&[&str], i32, &[&str]); 8] = [
        (
            &["-s"],
            3,
            &["pci:", "not built yet", "dataplane-emu bench ram:1G"],
        ),
        (&["-b", "-s"], 3, &["pci:"]),
        (&["-m", "mnt"], 2, &["-k says what", "usage"]),
        (&["-d", "/dev/null"], 2, &["-k says what", "usage"]),
        (&["-b", "-x"], 2, &["\"-x\"", "usage", "-m DIR"]),
        (&["-k", "--core-mask", "1"], 2, &["--core-mask", "usage"]),
        (&["-k", "-m"], 2, &["-m needs a value"]),
        (&["-k", "-m", "missing"], 3, &["mount point missing"]),
    ];
    for (arguments, code, words) in cases {
        let (found, said, errors) = run(&folder, arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {said}{errors}");
        for word in words {
            assert!(
                errors.contains(word),
                "{arguments:?}: no {word:?} in {errors}"
            );
        }
        assert!(!said.contains("complete"), "{arguments:?}: {said}");
    }
}

/// A demo that has mounts to take down when it is asked to end, and says whether its folder was there then.
const SLOW_TO_END: &str = r#"#!/bin/sh
while [ "$1" != --work-dir ]; do shift; done
trap 'sleep 0.5; test -d "$2" && echo there >seen; exit 1' TERM
touch started
while :; do sleep 0.02; done
"#;

#[test]
#[expect(clippy::print_stdout, reason = "what does not run says so")]
fn the_old_launcher_waits_for_the_end_of_its_demo_before_its_folder_goes() {
    if Command::new("bash").arg("--version").output().is_err() {
        println!("not run: no bash");
        return;
    }
    let folder = scratch("launcher");
    let stand_in = folder.join("stand-in");
    fs::write(&stand_in, SLOW_TO_END).expect("a script");
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::create_dir(folder.join("tmp")).expect("a folder");
    let launcher = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo_QD_1_32_128.sh");
    let mut child = Command::new("bash")
        .arg(launcher)
        .current_dir(&folder)
        .env("TMPDIR", folder.join("tmp"))
        .env("DATAPLANE_BINARY", &stand_in)
        .env("DEMO_SIZE", "64M")
        .spawn()
        .expect("bash starts");
    wait_until("the demo runs", || folder.join("started").exists());
    let id = i32::try_from(child.id()).expect("a process");
    let id = rustix::process::Pid::from_raw(id).expect("a process");
    rustix::process::kill_process(id, Signal::TERM).expect("it is ours");
    let status = child.wait().expect("its end");
    assert_eq!(status.code(), Some(143));
    let seen = fs::read_to_string(folder.join("seen")).expect("the demo came to its end");
    assert_eq!(seen, "there\n");
    let left = fs::read_dir(folder.join("tmp")).expect("a folder").count();
    assert_eq!(left, 0, "its own folder is gone then");
}
