//! Replays through the binary: of traces that fio writes here, and of some that cannot be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .arg("replay")
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// Expects an exit code; returns what was said on both streams.
fn said(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

/// The JSON report of a replay that passes.
fn report(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--json", "-"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "nothing is drawn where stderr is no terminal");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// An empty folder of one test alone.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str()
        .expect("the build folder's name is text")
        .to_owned()
}

const LOG: &str = "fio version 3 iolog\n0 /a add\n0 /b add\n5 /a open\n7 /b open\n\
    10 /a write 0 8192\n20 /b write 4096 4096\n30 /a sync 0 0\n40 /b read 4096 4096\n50 /a trim 0 4096\n60 /a close\n";

/// Reads, writes, flushes and discards of a report's `trace`, or the counts of another object.
fn counts(value: &Value) -> [u64; 4] {
    ["read", "write", "flush", "discard"].map(|kind| value[kind].as_u64().unwrap())
}

#[test]
fn a_log_is_replayed_and_the_report_says_what_and_where() {
    let log = written(&folder("log"), "log", LOG);
    let text = said(&[&log, "ram:1M", "--stamp"], 0);
    for words in [
        "fio version 3 iolog: 1 read, 2 writes, 1 flush, 1 discard, 40.0 us as recorded",
        "/a: 3 I/Os, bytes 0 to 8192 of the device",
        "/b: 2 I/Os, bytes 8192 to 16384 of the device",
        "at recorded times, at most 256 commands in flight",
        "4 KiB read, 12 KiB written",
        "5 commands: 1 reads, 2 writes, 1 flushes; 0 refused",
        "sent late by",
        "effective depth",
        "CPU per I/O",
    ] {
        assert!(text.contains(words), "{words:?} is missing: {text}");
    }
    let text = said(
        &[
            &log, "ram:1M", "--map", "/b=512K", "--map", "/a=64K", "--fast",
        ],
        0,
    );
    assert!(text.contains("/a: 3 I/Os, bytes 65536 to 73728"), "{text}");
    assert!(
        text.contains("/b: 2 I/Os, bytes 524288 to 532480"),
        "{text}"
    );
    assert!(text.contains("not run: --fast keeps no times"), "{text}");
}

#[test]
fn every_device_is_replayed_to_and_counts_what_it_got() {
    let log = written(&folder("devices"), "log", LOG);
    for uri in ["ram:1M", "null:1M", "ram:1M?lba=4096", "ram:1M?ns=2"] {
        let nsid = if uri.contains("ns=2") { "2" } else { "1" };
        let report = report(&[&log, uri, "--nsid", nsid]);
        assert_eq!(counts(&report["trace"]["ios"]), [1, 2, 1, 1], "{uri}");
        assert_eq!(counts(&report["commands"]), [1, 2, 1, 1], "{uri}");
        let device = &report["device_counts"]["value"];
        let device = ["reads", "writes", "flushes", "commands"].map(|name| device[name].as_u64());
        assert_eq!(device, [Some(1), Some(2), Some(1), Some(5)], "{uri}");
        assert_eq!(report["failures"], 0);
    }
    let report = report(&[&log, "ram:1M?controller=thread", "--ios", "3"]);
    assert_eq!(counts(&report["commands"]), [0, 2, 1, 0]);
    assert!(report["device_counts"]["not_run"].is_string());
}

#[test]
fn what_reaches_beyond_the_device_is_refused_by_line_unless_told_otherwise() {
    let log = written(&folder("beyond"), "log", LOG);
    let text = said(&[&log, "ram:8K"], 2);
    for words in [
        "log line 7: write of 4096 bytes at offset 4096 of /b",
        "8192 bytes",
        "16384",
        "--wrap",
    ] {
        assert!(text.contains(words), "{words:?} is missing: {text}");
    }
    assert_eq!(text, said(&[&log, "ram:8K", "--refuse"], 2));
    let wrapped = said(&[&log, "ram:8K", "--wrap"], 0);
    assert!(wrapped.contains("2 moved into the device"), "{wrapped}");
    let clipped = said(&[&log, "ram:8K", "--clip"], 0);
    assert!(clipped.contains("2 of which nothing was left"), "{clipped}");
    said(&[&log, "ram:8K", "--clip", "--wrap"], 2);
}

#[test]
fn nonsense_is_refused_with_file_place_and_what_is_allowed() {
    let folder = folder("nonsense");
    let bad = written(&folder, "bad", format!("{LOG}61 /a jump 0 0\n"));
    let text = said(&[&bad, "ram:1M"], 2);
    assert!(
        text.contains("bad line 12: found the action \"jump\"; allowed: "),
        "{text}"
    );
    let other = written(&folder, "other", "#!/bin/sh\n");
    assert!(said(&[&other, "ram:1M"], 2).contains("fio version 3 iolog"));
    let empty = written(&folder, "empty", "fio version 3 iolog\n0 /a add\n");
    assert!(said(&[&empty, "ram:1M"], 2).contains("no I/O to replay"));
    let absent = folder.join("absent");
    let absent = absent.to_str().unwrap();
    assert!(said(&[absent, "ram:1M"], 3).contains("absent: found no such file; allowed: "));
    let log = written(&folder, "log", LOG);
    for (flags, words) in [
        (&["--map", "/c=0"][..], "it has: /a, /b"),
        (&["--map", "/a=100"], "multiples of 512"),
        (&["--map", "/a"], "NAME=OFFSET"),
        (&["--speed", "0"], "0.0001 to 100000"),
        (&["--speed", "2", "--fast"], "cannot be used with"),
        (&["--qd", "1025"], "1 to 1024"),
        (&["--nsid", "2"], "allowed: 1 to"),
        (&["--events", "both"], "queue, issue"),
    ] {
        let text = said(&[&[log.as_str(), "ram:1M"], flags].concat(), 2);
        assert!(text.contains(words), "{flags:?}: {text}");
    }
    let text = said(&[&log, "ram:1M", "--json", "/nowhere/report.json"], 3);
    assert!(text.contains("no folder /nowhere"), "{text}");
}

/// A queued write of one block in the kernel's binary form.
fn record(time: u64, sector: u64, cpu: u32) -> Vec<u8> {
    const QUEUED_WRITE: u32 = 1 | 1 << 17 | 1 << 20 | 1 << 24;
    let words = [
        &0x6561_7407_u32.to_le_bytes()[..],
        &1_u32.to_le_bytes(),
        &time.to_le_bytes(),
        &sector.to_le_bytes(),
        &512_u32.to_le_bytes(),
        &QUEUED_WRITE.to_le_bytes(),
        &7_u32.to_le_bytes(),
        &(8_u32 << 20).to_le_bytes(),
        &cpu.to_le_bytes(),
        &0_u32.to_le_bytes(),
    ];
    words.concat()
}

#[test]
fn a_set_of_block_traces_is_named_by_its_common_name() {
    let folder = folder("set");
    // CPU 1 was offline.
    for cpu in [0, 2] {
        let records = (0..50).map(|at| record(1000 * (2 * at + u64::from(cpu)), 8 * at, cpu));
        let records: Vec<u8> = records.flatten().collect();
        written(&folder, &format!("sda.blktrace.{cpu}"), records);
    }
    let name = folder.join("sda");
    let report = report(&[name.to_str().unwrap(), "ram:1M"]);
    assert_eq!(report["trace"]["sources"], 2);
    assert_eq!(report["trace"]["format"], "blktrace");
    assert_eq!(report["trace"]["events"], "queue");
    assert_eq!(report["trace"]["out_of_order"], 0);
    assert_eq!(counts(&report["commands"]), [0, 100, 0, 0]);
    let none = said(&[name.to_str().unwrap(), "ram:1M", "--events", "issue"], 2);
    assert!(
        none.contains("no I/O to replay among 100 other records; --events"),
        "{none}"
    );
}

#[test]
fn a_log_that_fio_wrote_replays_with_as_many_ios_as_it_has_lines() {
    let folder = folder("fio");
    let fio = Command::new("fio")
        .args([
            "--name=job",
            "--rw=randrw",
            "--size=1M",
            "--bs=4k",
            "--fsync=8",
            "--filename=data",
        ])
        .args([
            "--ioengine=psync",
            "--write_iolog=log",
            "--output=/dev/null",
        ])
        .current_dir(&folder)
        .status();
    match fio {
        Ok(status) => assert!(status.success(), "fio: {status}"),
        #[expect(clippy::print_stdout, reason = "says why nothing was tested")]
        Err(error) => {
            println!("not run: wanted fio to write a log, found: {error}");
            return;
        }
    }
    let path = folder.join("log");
    let log = fs::read_to_string(&path).unwrap();
    let lines = |action: &str| log.lines().filter(|line| line.contains(action)).count() as u64;
    let wanted = [lines(" read "), lines(" write "), lines(" sync "), 0];
    assert!(
        wanted[0] > 50 && wanted[1] > 50 && wanted[2] > 5,
        "{wanted:?}"
    );
    for flags in [
        &["--fast", "--qd", "8"][..],
        &["--speed", "50"],
        &["--stamp"],
    ] {
        let report = report(&[&[path.to_str().unwrap(), "ram:1M"], flags].concat());
        assert_eq!(counts(&report["trace"]["ios"]), wanted, "{flags:?}");
        let device = &report["device_counts"]["value"];
        let device = ["reads", "writes", "flushes"].map(|name| device[name].as_u64().unwrap());
        assert_eq!(device, wanted[..3], "{flags:?}");
        assert_eq!(report["kinds"]["write"]["bytes"], wanted[1] * 4096);
        assert_eq!(report["changes"]["overtaking"], 0);
    }
}
