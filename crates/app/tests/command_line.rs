//! The program as a user meets it: help, mistakes, exit codes. The binary itself is run.

use std::process::{Command, Output};

/// Runs the program with arguments.
fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the program, expects an exit code, and returns what it said on both streams.
fn said(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

#[test]
fn help_of_every_command_succeeds_and_teaches_by_examples() {
    assert!(said(&["--help"], 0).contains("ram:1G"));
    for command in [
        "bench",
        "serve",
        "lab",
        "replay",
        "profile",
        "doctor",
        "demo",
        "completions",
        "man",
    ] {
        let help = said(&[command, "--help"], 0);
        assert!(help.contains("Example"), "{command}: {help}");
        assert!(help.contains("dataplane-emu "), "{command}: {help}");
    }
    assert!(said(&["bench", "diff", "--help"], 0).contains("before.json"));
}

#[test]
fn the_help_of_bench_names_every_flag_with_its_unit() {
    let help = said(&["bench", "--help"], 0);
    for flag in [
        "--rw",
        "--rwmixread",
        "--bs",
        "--qd",
        "--size",
        "--offset",
        "--random",
        "--precondition",
        "--runtime",
        "--ios",
        "--devices",
        "--threads",
        "--core-mask",
        "--rate",
        "--timestamps",
        "--verify",
        "--seed",
        "--repeat",
        "--json",
        "--series",
        "--nsid",
    ] {
        assert!(help.contains(flag), "{flag} is missing");
    }
    for unit in [
        "<SIZE>",
        "<TIME>",
        "<PERCENT>",
        "<IOPS>",
        "<CPUS>",
        "<FILE>",
    ] {
        assert!(help.contains(unit), "{unit} is missing");
    }
}

#[test]
fn the_version_is_printed() {
    assert!(said(&["--version"], 0).starts_with("dataplane-emu 0."));
}

#[test]
fn nonsense_in_a_uri_names_key_value_and_what_is_allowed() {
    let text = said(&["bench", "ram:1G?lbs=512"], 2);
    assert!(
        text.contains("\"lbs\"") && text.contains("\"512\""),
        "{text}"
    );
    assert!(
        text.contains("lba, ns, profile") && text.contains("did you mean \"lba\""),
        "{text}"
    );
    let text = said(&["bench", "ram:1G?lba=100"], 2);
    assert!(
        text.contains("lba") && text.contains("\"100\"") && text.contains("512, 4096"),
        "{text}"
    );
    assert!(said(&["bench", "rma:1G"], 2).contains("did you mean \"ram\""));
    assert!(said(&["bench", "ram:1GB"], 2).contains("GiB"));
}

#[test]
fn nonsense_in_flags_names_flag_value_and_what_is_allowed() {
    let cases: [(&[&str], [&str; 3]); 15] = [
        (&["--rw", "randraed"], ["--rw", "randraed", "randread"]),
        (&["--rwmixread", "101"], ["--rwmixread", "101", "0 to 100"]),
        (&["--bs", "4GB"], ["--bs", "4GB", "GiB"]),
        (&["--bs", "1000"], ["--bs", "1000", "multiple"]),
        (&["--qd", "0"], ["--qd", "0", "1 to 1024"]),
        (&["--random", "zipf:9"], ["--random", "zipf:9", "THETA"]),
        (
            &["--rw", "read", "--random", "zipf:1.2"],
            ["--random", "zipf:1.2", "since rw read goes in order"],
        ),
        (
            &["--rw", "write", "--random", "zipf:1.2"],
            ["--random", "zipf:1.2", "zipf with rw randread"],
        ),
        (
            &["--rwmixread", "50"],
            ["--rwmixread", "\"50\"", "rw randrw"],
        ),
        (&["--runtime", "soon"], ["--runtime", "soon", "10s"]),
        (&["--core-mask", "5-1"], ["--core-mask", "5-1", "0x5"]),
        (&["--timestamps", "all"], ["--timestamps", "all", "poll"]),
        (&["--size", "64G"], ["--size", "68719476736", "multiple"]),
        (&["--nsid", "2"], ["--nsid", "2", "namespaces"]),
        (&["--threads", "2"], ["--threads", "2", "controller=thread"]),
    ];
    for (flags, words) in cases {
        let text = said(&[&["bench", "ram:1M"], flags].concat(), 2);
        for word in words {
            assert!(text.contains(word), "{flags:?}: no {word:?} in {text}");
        }
    }
}

#[test]
fn a_unit_that_some_count_in_thousands_is_refused_wherever_a_size_is_typed() {
    for unit in ["KB", "mb", "Gb", "tB"] {
        let size = format!("1{unit}");
        let letter = unit[..1].to_uppercase();
        let words = [format!("{unit:?} means"), format!("{letter}iB")];
        let uri = format!("ram:{size}");
        for arguments in [
            &["bench", &uri][..],
            &["bench", "ram:1M", "--bs", &size],
            &["bench", "ram:1M", "--size", &size],
            &["bench", "ram:1M", "--offset", &size],
        ] {
            let text = said(arguments, 2);
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }
}

#[test]
fn contradicting_flags_are_refused() {
    let text = said(&["bench", "ram:1M", "--runtime", "1s", "--ios", "10"], 2);
    assert!(
        text.contains("--runtime") && text.contains("--ios"),
        "{text}"
    );
    let text = said(
        &["bench", "ram:1M", "--rate", "10", "--timestamps", "none"],
        2,
    );
    assert!(text.contains("--timestamps"), "{text}");
}

#[test]
fn a_missing_device_or_command_is_a_usage_error() {
    assert!(said(&["bench"], 2).contains("URI"));
    said(&[], 2);
    assert!(said(&["benhc"], 2).contains("bench"));
}

#[test]
fn what_is_not_built_yet_says_so_and_exits_with_3() {
    for (uri, missing) in [
        ("vfio-user:/run/nvme.sock", "vfio-user:"),
        (
            "nvme-tcp://localhost:4420/nqn.2026-11.io.example:drive",
            "nvme-tcp:",
        ),
        ("pci:0000:01:00.0", "pci:"),
    ] {
        let text = said(&["bench", uri], 3);
        assert!(
            text.contains(&format!("{missing} is not built yet")),
            "{text}"
        );
        assert!(text.contains(uri), "{text}");
    }
}

#[test]
fn an_unknown_profile_is_answered_with_those_there_are() {
    let text = said(&["bench", "ram:1M?profile=optane"], 2);
    assert!(
        text.contains("aws-c7gd") && text.contains(".toml"),
        "{text}"
    );
}

#[test]
fn memory_that_the_machine_lacks_is_a_typed_refusal() {
    let text = said(&["bench", "ram:4096T"], 3);
    assert!(text.contains("wanted") && text.contains("found"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_runs() {
    let begin = std::time::SystemTime::now();
    let text = said(
        &[
            "bench",
            "ram:1M",
            "--runtime",
            "60s",
            "--json",
            "/no/such/folder/a.json",
        ],
        3,
    );
    assert!(text.contains("/no/such/folder"), "{text}");
    assert!(begin.elapsed().is_ok_and(|time| time.as_secs() < 30));
}

#[test]
fn doctor_prints_rows_and_valid_json() {
    let text = said(&["doctor"], 0);
    for name in [
        "cpus",
        "hugepages-2m",
        "kvm",
        "fuse",
        "io-uring",
        "valgrind",
        "fio",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&said(&["doctor", "--json"], 0)).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    assert!(rows.len() > 15);
    for row in rows {
        for key in ["name", "status", "found", "checked"] {
            assert!(row[key].is_string(), "{row}");
        }
        assert_eq!(row["status"] != "have", row["do"].is_string(), "{row}");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            said(&["completions", shell], 0).contains("core-mask"),
            "{shell}"
        );
    }
    assert!(said(&["man"], 0).contains(".TH dataplane-emu"));
    assert!(said(&["man", "bench"], 0).contains("core\\-mask"));
    assert!(said(&["man", "nothing"], 2).contains("bench"));
}

#[test]
fn no_colour_codes_reach_a_pipe() {
    let output = run(&["bench", "ram:1G?lbs=1"]);
    assert!(!stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
    let output = run(&["bench", "--help"]);
    assert!(!stdout(&output).contains('\u{1b}'));
}
