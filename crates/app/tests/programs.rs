//! Programs that know nothing of NVMe, on a served drive: fio with its own checks, the lines of the guide, file systems.
//! Among them are the checks that the first dataplane-emu failed: verified data, one Flush per fsync, one CPU, forks,
//! more than 128 threads.
#![expect(clippy::print_stdout, reason = "what does not run says so")]

#[expect(dead_code, reason = "other tests use more of it")]
mod served;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use served::{Served, can_mount, scratch, text};

/// Whether these programs are there; if not, says which is missing.
fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let missing = programs
        .iter()
        .find(|program| !folders.iter().any(|folder| folder.join(program).is_file()));
    if let Some(program) = missing {
        println!("not run: no program {program}");
    }
    missing.is_none() && can_mount()
}

/// Ends fio if it hangs: a test that waits for ever tells nothing.
const FIO: [&str; 3] = ["--kill-after=1", "120", "fio"];

fn fio(folder: &Path, file: &Path, arguments: &[&str]) -> Output {
    Command::new("timeout")
        .args(FIO)
        .args(["--name=check", "--verify_fatal=1", "--verify_state_save=0"])
        .arg(format!("--filename={}", text(file)))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("fio starts")
}

fn assert_well(output: &Output, what: &str) {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        said(&output.stdout),
        said(&output.stderr)
    );
}

/// Reads and writes of all sizes from one sector to 256 KiB, each read checked against what was written.
const MIXED: [&str; 4] = [
    "--rw=randrw",
    "--bsrange=512-256k",
    "--size=32M",
    "--verify=crc32c",
];

#[test]
fn fio_finds_what_it_wrote_with_every_engine_direct_or_not() {
    if !has(&["fio"]) {
        return;
    }
    let folder = scratch("engines");
    let served = Served::start(&folder, &["ram:64M"]);
    for engine in ["psync", "libaio", "io_uring"] {
        for direct in ["0", "1"] {
            let how = [
                format!("--ioengine={engine}"),
                format!("--direct={direct}"),
                "--iodepth=16".to_owned(),
            ];
            let how: Vec<&str> = how.iter().map(String::as_str).collect();
            let output = fio(&folder, &served.file(0), &[&MIXED, &how[..]].concat());
            assert_well(&output, &how.join(" "));
        }
    }
    let said = served.end(Signal::TERM);
    assert!(said.contains("refused 0"), "{said}");
}

#[test]
fn the_drive_counts_as_many_flushes_as_fio_made_syncs() {
    if !has(&["fio"]) {
        return;
    }
    let folder = scratch("syncs");
    let served = Served::start(&folder, &["ram:64M"]);
    let load = ["--rw=randwrite", "--bs=4k", "--size=8M", "--ioengine=psync"];
    let how = ["--number_ios=300", "--fsync=1", "--output-format=json"];
    let output = fio(
        &folder,
        &served.file(0),
        &[load, ["--direct=1", how[0], how[1], how[2]]].concat(),
    );
    assert_well(&output, "fsync=1");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("fio's JSON");
    let count = |path: &str| report.pointer(path).and_then(serde_json::Value::as_u64);
    let writes = count("/jobs/0/write/total_ios").expect("a count of writes");
    let syncs = count("/jobs/0/sync/total_ios").expect("a count of syncs");
    assert_eq!(writes, 300);
    // fio leaves out the one after the last write.
    assert!(syncs >= 299, "{syncs}");
    let said = served.end(Signal::TERM);
    let wanted = format!("writes {writes} (1228800 bytes), flushes {syncs} and 1 at the end");
    assert!(said.contains(&wanted), "{wanted:?} is missing in {said}");
}

#[test]
fn processes_and_more_than_128_threads_use_one_drive() {
    if !has(&["fio"]) {
        return;
    }
    let folder = scratch("crowd");
    let served = Served::start(&folder, &["ram:64M"]);
    let load = ["--rw=randrw", "--bs=4k", "--verify=crc32c", "--direct=1"];
    let crowds: [&[&str]; 2] = [
        &[
            "--numjobs=4",
            "--size=8M",
            "--offset_increment=8M",
            "--ioengine=libaio",
            "--iodepth=32",
        ],
        &[
            "--thread",
            "--numjobs=150",
            "--size=256k",
            "--offset_increment=256k",
            "--ioengine=psync",
        ],
    ];
    for crowd in crowds {
        let output = fio(&folder, &served.file(0), &[&load, crowd].concat());
        assert_well(&output, &crowd.join(" "));
    }
    let said = served.end(Signal::TERM);
    assert!(said.contains("refused 0"), "{said}");
}

#[test]
fn drive_and_program_share_one_cpu() {
    if !has(&["fio"]) {
        return;
    }
    let folder = scratch("one-cpu");
    // What a thread starts runs where it runs.
    let allowed = sched_getaffinity(None).expect("the CPUs of this thread");
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(first.expect("a CPU"));
    sched_setaffinity(None, &one).expect("a CPU of ours");
    for controller in ["inline", "thread"] {
        let served = Served::start(&folder, &["ram:64M", "--controller", controller]);
        let how = ["--ioengine=libaio", "--iodepth=16", "--direct=1"];
        let output = fio(&folder, &served.file(0), &[&MIXED[..], &how].concat());
        assert_well(&output, controller);
        served.end(Signal::TERM);
    }
}

/// The shell lines of the guide's section, with another folder for the mount and without the wait.
fn lines_of_the_guide(mount: &Path) -> String {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/serve.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let section = guide.split("## Lines to try").nth(1).expect("a section");
    let lines = section.split("```").nth(1).expect("shell lines");
    assert!(lines.contains("e2fsck") && lines.contains("--verify=crc32c"));
    let folder = mount.parent().expect("a folder");
    format!("set -e\n{lines}")
        .replace("/tmp/drive", &text(mount))
        .replace("/tmp/fs", &text(&folder.join("fs")))
        .replace("--runtime=10", "--runtime=1")
}

#[test]
fn the_lines_of_the_guide_work_as_they_are_written() {
    if !has(&["fio", "hexdump", "losetup", "mkfs.ext4", "e2fsck"]) {
        return;
    }
    if !Path::new("/dev/loop-control").exists() {
        println!("not run: no /dev/loop-control");
        return;
    }
    let folder = scratch("guide");
    let served = Served::start(&folder, &["ram:1G"]);
    let lines = lines_of_the_guide(&folder.join("mnt"));
    let shell = ["--kill-after=1", "120", "bash", "-c", &lines];
    let output = Command::new("timeout")
        .args(shell)
        .current_dir(&folder)
        .output()
        .expect("a shell");
    assert_well(&output, &lines);
    served.end(Signal::TERM);
}

/// A fault script among the examples: its fio line, which stands in it, how that ends, and what it says.
struct Broken {
    script: &'static str,
    code: i32,
    says: &'static str,
}

/// All but the one whose fio waits for the host's time-out.
const BROKEN: [Broken; 5] = [
    Broken {
        script: "media-read-error",
        code: 1,
        says: "Input/output error: read offset=2097152, buflen=4096",
    },
    Broken {
        script: "write-fault-after-1000",
        code: 1,
        says: "Input/output error: write offset=4096000, buflen=4096",
    },
    Broken {
        script: "silent-read-corruption",
        code: 1,
        says: "crc32c: verify failed at file MOUNT/nvme_raw_0 offset 4194304, length 4096",
    },
    Broken {
        script: "lost-write",
        code: 1,
        says: "verify: bad magic header 0, wanted acca at file MOUNT/nvme_raw_0 offset 6291456, length 4096",
    },
    Broken {
        script: "stalls",
        code: 0,
        says: "99.90th=[20",
    },
];

fn breaks_fio(broken: &Broken) {
    let folder = scratch(broken.script);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/faults");
    let path = format!("{examples}/{}.toml", broken.script);
    let script = fs::read_to_string(&path).expect("an example");
    let comment = script
        .lines()
        .map(|line| line.trim_start_matches('#').trim());
    let command: Vec<&str> = comment
        .skip_while(|line| !line.starts_with("fio --name"))
        .take_while(|line| !line.is_empty())
        .map(|line| line.trim_end_matches('\\'))
        .collect();
    let served = Served::start(&folder, &[&format!("ram:64M?fault={path}")]);
    let mount = text(&folder.join("mnt"));
    let line = command.join(" ").replace("MOUNT", &mount);
    let arguments = line.split_whitespace().skip(1);
    let output = Command::new("timeout")
        .args(FIO)
        .args(arguments)
        .arg("--verify_state_save=0")
        .current_dir(&folder)
        .output()
        .expect("fio starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(broken.code), "{line}: {said}");
    let wanted = broken.says.replace("MOUNT", &mount);
    assert!(
        said.contains(&wanted),
        "{line}: {wanted:?} is missing in {said}"
    );
    let counted = served.end(Signal::TERM);
    assert!(!counted.contains("faults injected 0"), "{counted}");
}

#[test]
fn each_example_of_a_fault_breaks_fio_as_it_says() {
    if !has(&["fio"]) {
        return;
    }
    for broken in &BROKEN {
        breaks_fio(broken);
    }
}

#[test]
fn a_dropped_command_is_an_error_when_the_host_has_waited_long_enough() {
    if !has(&["fio"]) {
        return;
    }
    breaks_fio(&Broken {
        script: "dropped-command",
        code: 1,
        says: "Input/output error: read offset=",
    });
}
