//! The demo, tiny, through the binary: what it says, what it measures, and what it leaves behind.
#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use bench::scorecard::Scorecard;
use bench::scorecard::model::{Generator, Row, RowId};

/// A folder of one test alone, empty.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("demo")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the build folder can be written");
    path
}

/// A demo that takes no longer than it must.
fn demo(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"));
    command
        .args([
            "demo",
            "--size",
            "8M",
            "--runtime",
            "30ms",
            "--repeats",
            "1",
        ])
        .args(flags);
    command
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn run(flags: &[&str]) -> (Option<i32>, String) {
    let output = demo(flags).output().expect("the program starts");
    (output.status.code(), said(&output))
}

/// Everything that is mounted below a folder.
fn mounted_below(folder: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = folder.display().to_string();
    mounts
        .lines()
        .filter(|line| {
            line.split(' ')
                .nth(1)
                .is_some_and(|point| point.starts_with(&folder))
        })
        .map(str::to_owned)
        .collect()
}

/// Loop devices over files of file systems that are mounted nowhere: what a demo that forgot to detach would leave, for its
/// mount is gone by then, and the file's name with it.
fn orphaned_loops() -> Vec<String> {
    let list = Command::new("losetup")
        .args(["--list", "--noheadings", "--output", "NAME,BACK-MAJ:MIN"])
        .output();
    let Ok(list) = list else {
        return Vec::new();
    };
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_mounted = |device: &str| {
        mounts
            .lines()
            .any(|line| line.split(' ').nth(2) == Some(device))
    };
    let all = String::from_utf8_lossy(&list.stdout).into_owned();
    all.lines()
        .filter(|line| {
            let device = line.split_whitespace().nth(1);
            device.is_some_and(|device| !is_mounted(device))
        })
        .map(str::to_owned)
        .collect()
}

/// The same, once they are as wanted or some seconds are over: a device that somebody looks at goes when he has looked.
fn settled(wanted: &[String]) -> Vec<String> {
    for _ in 0..50 {
        if orphaned_loops() == wanted {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    orphaned_loops()
}

/// Why the rows with fio on the mount cannot run here, if they cannot.
fn cannot_mount() -> Option<&'static str> {
    let has = |program: &str, flag: &str| Command::new(program).arg(flag).output().is_ok();
    match () {
        () if !rustix::process::geteuid().is_root() => Some("not root"),
        () if !Path::new("/dev/fuse").exists() => Some("no /dev/fuse"),
        () if !has("fio", "--version") => Some("fio is not installed"),
        () if !has("mkfs.xfs", "-V") => Some("xfsprogs is not installed"),
        () => None,
    }
}

fn row(card: &Scorecard, id: RowId, generator: Generator, qd: u32) -> &Row {
    card.row(id, generator, qd)
        .expect("every row is there, run or not")
}

#[test]
fn the_demo_sends_a_file_through_the_drive_and_back() {
    let folder = scratch("file");
    let file = folder.join("demo.bin");
    let bytes: Vec<u8> = (0..300_001_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let (code, text) = run(&["--file", file, "--profile", "instant", "--qd", "1"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("300001 bytes") && text.contains("all equal"),
        "{text}"
    );
}

#[test]
fn the_demo_says_which_file_it_cannot_read() {
    let (code, text) = run(&["--file", "/no/such/file"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("/no/such/file") && text.contains("--file"),
        "{text}"
    );
    assert!(!text.contains("IOPS"), "nothing was measured first: {text}");
}

#[test]
fn every_row_that_can_run_runs_on_one_device_and_nothing_stays_mounted() {
    let before = orphaned_loops();
    let folder = scratch("rows");
    let work = folder.join("work");
    let json = folder.join("card.json");
    let html = folder.join("card.html");
    // Short, so that it is not the file that writes the working set.
    let file = folder.join("file");
    fs::write(&file, "x").unwrap();
    let flags = [
        "--profile",
        "instant",
        "--qd",
        "1,16",
        "--json",
        json.to_str().unwrap(),
        "--html",
        html.to_str().unwrap(),
        "--file",
        file.to_str().unwrap(),
        "--work-dir",
        work.to_str().unwrap(),
    ];
    let (code, text) = run(&flags);
    assert_eq!(code, Some(0), "{text}");
    for stage in 0..4 {
        assert!(
            text.contains(&format!("[Stage {stage}] ")),
            "{stage}: {text}"
        );
    }
    assert!(fs::read_to_string(&html).unwrap().contains("</html>"));
    let card = Scorecard::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(card.rows.len(), 10);
    assert_eq!(card.header.honesty, "emulated");
    let driver = row(&card, RowId::Driver, Generator::Bench, 16);
    let counters = driver.counters.expect("the driver's row always runs");
    assert!(driver.iops.unwrap() > 0.0 && driver.limit.is_some());
    assert_eq!(
        driver.bytes,
        counters.grew(|c| c.read_bytes) + counters.grew(|c| c.written_bytes)
    );
    assert_eq!(
        counters.grew(|c| c.unwritten_reads),
        0,
        "the working set was written before"
    );
    // The drive has 384 MiB at least, each of which is written before any row begins.
    let counted = card.rows.iter().filter_map(|row| row.counters);
    let written = counted.map(|pair| pair.before.written_bytes).min();
    assert!(written.unwrap() >= 384 << 20, "{written:?}");
    match cannot_mount() {
        Some(reason) => println!("rows over the mount not run: {reason}"),
        None => through_the_mount(&card, &work),
    }
    assert_eq!(mounted_below(&folder), Vec::<String>::new());
    assert_eq!(settled(&before), before);
    assert!(!work.join("mnt").exists() && !work.join("xfs").exists());
}

/// What holds of the rows that fio measured.
fn through_the_mount(card: &Scorecard, work: &Path) {
    for id in [RowId::Kernel, RowId::Fuse] {
        for qd in [1, 16] {
            let row = row(card, id, Generator::Fio, qd);
            assert_eq!(row.not_run, None);
            let counters = row.counters.unwrap();
            let seen = counters.grew(|c| c.read_bytes) + counters.grew(|c| c.written_bytes);
            assert!(
                row.bytes > 0 && seen >= row.bytes,
                "{id:?} QD {qd}: {seen} of {}",
                row.bytes
            );
            assert_eq!(counters.grew(|c| c.unwritten_reads), 0, "{id:?} QD {qd}");
            let fio = row
                .fio_json
                .as_deref()
                .expect("a named folder keeps fio's results");
            assert!(Path::new(fio).starts_with(work), "{fio}");
            assert!(fs::read_to_string(fio).unwrap().contains("\"mixed\""));
        }
    }
    let kernel = row(card, RowId::Kernel, Generator::Fio, 1);
    assert_eq!(kernel.contains, [RowId::Fuse]);
    let with_kernel = card.comparisons.iter().filter(|c| c.base == RowId::Kernel);
    assert!(with_kernel.clone().count() > 0 && with_kernel.clone().all(|c| c.iops_ratio.is_none()));
    let used = card
        .header
        .kernel_paths
        .iter()
        .filter(|path| path.not_run.is_none());
    assert_eq!(used.count(), 1);
    // The device is one: what a row found, the row before had left.
    let before = |id, qd, generator| {
        row(card, id, generator, qd)
            .counters
            .unwrap()
            .before
            .commands
    };
    let after = |id, qd, generator| {
        row(card, id, generator, qd)
            .counters
            .unwrap()
            .after
            .commands
    };
    assert!(before(RowId::Fuse, 1, Generator::Fio) >= after(RowId::Kernel, 16, Generator::Fio));
    assert!(before(RowId::Driver, 1, Generator::Bench) >= after(RowId::Fuse, 16, Generator::Fio));
}

#[test]
fn the_profile_bounds_the_rows_and_the_old_layout_shows_them() {
    let (code, text) = run(&["--layout", "old", "--qd", "1,8,32"]);
    assert_eq!(code, Some(0), "{text}");
    for words in [
        "DETERMINISTIC SILICON DATA PLANE SCORECARD",
        "Config: bs=4k",
        "Latency (QD=1)",
        "Knee-of-Curve (QD=8)",
        "Throughput (QD=32)",
        "2. User-Space Bridge (FUSE)",
        "profile=aws-c7gd",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn json_takes_the_texts_place_on_the_standard_output() {
    let output = demo(&["--profile", "instant", "--qd", "1", "--json", "-"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let card = Scorecard::from_json(&text).unwrap();
    assert_eq!(card.header.load.qds, [1]);
    // The private folder is gone, and so is the way to it.
    assert!(card.rows.iter().all(|row| row.fio_json.is_none()));
}

#[test]
fn a_page_is_not_printed_and_no_file_gets_the_name_of_the_standard_output() {
    let folder = scratch("dash");
    let output = demo(&["--html", "-", "--json", "card.json"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--html -: the page is not printed"), "{text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{text}");
}

#[test]
fn without_fio_and_file_systems_the_rows_say_what_to_install_and_the_driver_runs() {
    let output = demo(&["--profile", "instant", "--qd", "1"])
        .env("PATH", "/no/such/folder")
        .output()
        .unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("not run: fio is not installed; apt-get install fio"),
        "{text}"
    );
    assert!(text.contains("3 user-space driver"), "{text}");
}

#[test]
fn nonsense_is_refused_with_what_is_allowed() {
    for (flags, words) in [
        (["--qd", "0"], "1..=1024"),
        (["--bs", "3000"], "power of two"),
        (["--size", "1"], "whole MiB"),
        (["--runtime", "soon"], "500ms"),
        (["--runtime", "1ms"], "at least 10ms"),
        (["--rwmixread", "101"], "0..=100"),
        (["--repeats", "0"], "1..="),
        (["--layout", "newest"], "old"),
        (["--profile", "fast"], "aws-c7gd"),
    ] {
        // Each flag may be given once, so the tiny defaults of the other tests stay away.
        let output = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
            .arg("demo")
            .args(flags)
            .output()
            .unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {text}");
        assert!(text.contains(words), "{flags:?}: {text}");
    }
    let (code, text) = run(&["--html", "/no/such/folder/card.html"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("/no/such/folder/card.html"), "{text}");
}

/// Ends a child that a failed assertion left.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_interrupt_in_the_middle_leaves_no_mount_no_loop_device_and_no_fio() {
    if let Some(reason) = cannot_mount() {
        println!("not run: {reason}");
        return;
    }
    let before = orphaned_loops();
    let folder = scratch("interrupt");
    let work = folder.join("work");
    for (stage, qd) in [("[Stage 1] kernel", "1"), ("[Stage 2]", "1")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"));
        command
            .args(["demo", "--size", "8M", "--profile", "instant", "--qd"])
            .args([qd, "--repeats", "1", "--runtime", "2s", "--work-dir"])
            .arg(&work)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = Ended(command.spawn().unwrap());
        let lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
        let mut said = String::new();
        for line in lines.map_while(Result::ok) {
            said.push_str(&line);
            said.push('\n');
            if line.starts_with(stage)
                || line.starts_with("[Stage 1] XFS") && stage.contains("kernel")
            {
                // Somewhere in the middle of what takes seconds.
                std::thread::sleep(Duration::from_millis(700));
                let id = rustix::process::Pid::from_child(&child.0);
                rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
            }
        }
        assert_eq!(child.0.wait().unwrap().code(), Some(1), "{stage}: {said}");
        assert!(said.contains("interrupted"), "{stage}: {said}");
        assert_eq!(mounted_below(&folder), Vec::<String>::new(), "{stage}");
        assert_eq!(settled(&before), before, "{stage}");
        let left = fio_below(&work);
        assert!(left.is_empty(), "{stage}: {left:?}");
    }
}

/// Running fio processes that name a folder.
fn fio_below(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.starts_with("fio ") && line.contains(&folder))
        .collect()
}
