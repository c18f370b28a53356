//! The launcher of the first project, run with a program in the place of ours that writes down what it was asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says what it was called with on standard output, and writes three results where `--json` says.
const STAND_IN: &str = r#"#!/bin/sh
echo "called with: $*"
printf '  Logs:\n    a file that goes away\n'
echo "[Stage 2] FUSE bridge: not run: no /dev/fuse" >&2
while [ "$1" != --json ]; do shift; done
echo '{"fio version":"fio-3.33"}' >"$2.fio"
cat >"$2" <<END
{"rows": [
  {"id": "harness", "label": "null engine", "qd": 1, "iops": 1e6, "mean_us": 0.5},
  {"id": "kernel", "label": "XFS over loop", "qd": 1, "iops": 19357.4, "mean_us": 51.29, "fio_json": "$2.fio"},
  {"id": "fuse", "label": "FUSE bridge", "qd": 1, "not_run": "no /dev/fuse"},
  {"id": "driver", "label": "own driver", "qd": 32, "iops": 70158, "mean_us": 226.02, "not_run": null}
]}
END
"#;

/// An empty folder to run in, with the stand-in.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("launcher-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let stand_in = path.join("stand-in");
        fs::write(&stand_in, STAND_IN).unwrap();
        fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    /// Runs the launcher here; `None`, with the reason printed, where it cannot.
    #[expect(clippy::print_stdout, reason = "how a test says why it was not run")]
    fn launch(&self, variables: &[(&str, &str)]) -> Option<Output> {
        for program in ["bash", "python3"] {
            if Command::new(program).arg("--version").output().is_err() {
                println!("not run: the launcher needs {program}");
                return None;
            }
        }
        let launcher = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo_QD_1_32_128.sh");
        let mut command = Command::new("bash");
        command.arg(launcher).current_dir(&self.0).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("TMPDIR", &self.0);
        command.env("DATAPLANE_BINARY", self.0.join("stand-in"));
        Some(command.envs(variables.iter().copied()).output().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // of no interest to the test
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_documented_command_without_variables_runs_the_old_job() {
    let place = Place::new("plain");
    let Some(output) = place.launch(&[("DEMO_SIZE", "4G")]) else {
        return;
    };
    let said = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{said}{}",
        text(&output.stderr)
    );
    let job = "demo --layout old --profile aws-c7gd --qd 1,32,128 --repeats 3 --runtime 10000ms --size 4G --rwmixread 50 --bs 4k";
    assert!(said.contains(&format!("called with: {job}")), "{said}");
    assert_eq!(text(&output.stderr), "", "nothing to complain of");
}

#[test]
fn variables_become_flags() {
    let place = Place::new("flags");
    let variables = [
        ("DEMO_RUNTIME_SEC", "1"),
        ("DEMO_IODEPTH", "64"),
        ("DEMO_MID_IODEPTH", "016"),
        ("DEMO_BS", "512"),
        ("DEMO_SIZE", "64M"),
        ("DEMO_RWMIXREAD", "70"),
        ("DEMO_INSTANCE_TYPE", "Standard_D4pds_v6"),
    ];
    let Some(output) = place.launch(&variables) else {
        return;
    };
    let said = text(&output.stdout);
    let job = "--profile azure-d4pds-v6 --qd 1,16,64 --repeats 3 --runtime 333ms --size 64M --rwmixread 70 --bs 512";
    assert!(said.contains(job), "{said}{}", text(&output.stderr));
}

#[test]
fn results_come_under_the_old_names_and_what_did_not_run_says_so() {
    let place = Place::new("results");
    fs::write(place.0.join("fuse_qd1.json"), "of an earlier run").unwrap();
    let Some(output) = place.launch(&[("DEMO_SIZE", "64M")]) else {
        return;
    };
    let said = text(&output.stdout);
    for line in [
        "[Stage 0] ",
        "[Stage 2] FUSE bridge: not run: no /dev/fuse",
        "/arm_neoverse_base.log",
        "/arm_neoverse_bdevperf_mid.log",
        "/arm_neoverse_engine.log",
        "/arm_neoverse_demo.json",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    for (log, line) in [
        (
            "base",
            "[Stage 1] XFS over loop, QD=1: 19357 IOPS, 51.29 us mean",
        ),
        ("fuse", "[Stage 2] FUSE bridge, QD=1: not run: no /dev/fuse"),
        (
            "bdevperf_mid",
            "[Stage 3] own driver, QD=32: 70158 IOPS, 226.02 us mean",
        ),
        ("engine", "called with: demo"),
    ] {
        let log = fs::read_to_string(place.0.join(format!("arm_neoverse_{log}.log"))).unwrap();
        assert!(log.contains(line), "{line}: {log}");
    }
    assert!(!said.contains("goes away"), "{said}");
    let kernel = fs::read_to_string(place.0.join("x_qd1.json")).unwrap();
    assert!(kernel.contains("fio-3.33"), "fio's own words: {kernel}");
    assert!(!place.0.join("fuse_qd1.json").exists(), "a stale result");
}

#[test]
fn a_real_drive_is_refused_with_and_without_the_interlock() {
    let place = Place::new("drive");
    let device = ("DEMO_NVME_DEVICE", "/dev/nvme1n1");
    for (confirm, code, words) in [
        (None, 2, "ARM_NEOVERSE_DEMO_CONFIRM=YES"),
        (
            Some(("ARM_NEOVERSE_DEMO_CONFIRM", "yes")),
            2,
            "would overwrite all its data",
        ),
        (
            Some(("ARM_NEOVERSE_DEMO_CONFIRM", "YES")),
            3,
            "(pci:) are not built yet",
        ),
        (
            Some(("COBALT_DEMO_CONFIRM", "YES")),
            3,
            "nothing was touched",
        ),
    ] {
        let variables: Vec<_> = [Some(device), confirm].into_iter().flatten().collect();
        let Some(output) = place.launch(&variables) else {
            return;
        };
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{complaint}");
        assert!(complaint.contains(words), "{complaint}");
        assert_eq!(text(&output.stdout), "", "nothing was started");
    }
}

#[test]
fn a_variable_that_changes_nothing_is_answered_with_one_line() {
    let place = Place::new("idle");
    let variables = [
        "ARM_NEOVERSE_DEMO_CONFIRM",
        "COBALT_DEMO_CONFIRM",
        "DEMO_MOUNT_DIR",
        "DEMO_MAX_STAGE",
        "DEMO_STAGE3_DRIVER",
        "DEMO_BDEVPERF_BIN",
        "DEMO_AUTOBUILD_BDEVPERF",
        "DEMO_BRIDGE_SIZE_BYTES",
        "DEMO_NO_CLEAR",
        "DEMO_RIGHT_PANE_PERCENT",
    ];
    let mut set: Vec<_> = variables.iter().map(|name| (*name, "1")).collect();
    set.push(("DEMO_SIZE", "64M"));
    let Some(output) = place.launch(&set) else {
        return;
    };
    let complaint = text(&output.stderr);
    for name in variables {
        let lines = complaint
            .lines()
            .filter(|line| line.contains(&format!("{name}=1: changes nothing")));
        assert_eq!(lines.count(), 1, "{name}: {complaint}");
    }
    assert_eq!(complaint.lines().count(), variables.len(), "{complaint}");
}

#[test]
fn nonsense_in_a_variable_names_it_its_value_and_what_is_allowed() {
    let place = Place::new("nonsense");
    for (name, value) in [
        ("DEMO_RUNTIME_SEC", "0"),
        ("DEMO_IODEPTH", "a[$(touch gotcha)]"),
        ("DEMO_MID_IODEPTH", "-1"),
        ("DEMO_RWMIXREAD", "101"),
        ("DEMO_RUNTIME_SEC", "99999999999999999999"),
    ] {
        let Some(output) = place.launch(&[(name, value)]) else {
            return;
        };
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(
            complaint.contains(name) && complaint.contains(value),
            "{complaint}"
        );
        assert!(complaint.contains("a whole number from"), "{complaint}");
    }
    assert!(
        !place.0.join("gotcha").exists(),
        "a value was run as a program"
    );
}
