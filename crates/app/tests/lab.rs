//! `lab`: its check makes nothing and finds everything, its schema and its example are right.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}"));
    let _ = fs::remove_dir_all(&folder); // it may be the first run
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn program(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Checks a lab; the exit code and all that was said.
fn check(folder: &Path, lab: &str) -> (Option<i32>, String) {
    fs::write(folder.join("lab.toml"), lab).expect("a lab");
    let output = program(folder, &["lab", "check", "lab.toml"]);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn the_example_is_as_it_should_be_where_its_folder_is() {
    let folder = scratch("example");
    let example = program(&folder, &["lab", "example"]);
    assert!(example.status.success());
    let example = String::from_utf8(example.stdout).expect("text");
    let (code, said) = check(&folder, &example);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("mount.path: mnt: wanted an empty directory"),
        "{said}"
    );
    fs::create_dir(folder.join("mnt")).expect("a folder");
    let (code, said) = check(&folder, &example);
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "namespace 1: nvme_raw_0, 1 GiB, file:disk.img?profile=aws-c7gd&size=1G",
        "  disk.img will be made",
        "namespace 2: nvme_raw_1, 256 MiB, ram:256M?lba=4096",
        "mount: mnt",
        "lab.toml: as it should be",
    ] {
        assert!(
            said.lines().any(|found| found == line),
            "{line:?} is missing in {said}"
        );
    }
    assert_eq!(names(&folder), ["lab.toml", "mnt"], "a check makes nothing");
}

#[test]
fn everything_that_is_wrong_is_found_in_one_go_and_nothing_is_made() {
    let folder = scratch("wrong");
    fs::write(folder.join("odd.img"), [0; 700]).expect("a file");
    fs::write(folder.join("bad-profile.toml"), "version = 9").expect("a file");
    fs::write(
        folder.join("bad-script.toml"),
        "version = 1\n[[rule]]\ndo = \"explode\"",
    )
    .expect("a file");
    fs::create_dir(folder.join("full")).expect("a folder");
    fs::write(folder.join("full/file"), "").expect("a file");
    let devices = [
        ("file:missing.img", "missing.img"),
        (
            "file:nowhere/disk.img?size=1M",
            "nowhere/disk.img: wanted to make it",
        ),
        ("file:odd.img", "odd.img"),
        ("file:full", "full"),
        ("ram:1M?profile=no-profile.toml", "no-profile.toml"),
        ("ram:1M?profile=bad-profile.toml", "bad-profile.toml"),
        ("ram:1M?fault=bad-script.toml", "explode"),
        (
            "file:fresh.img?size=1M&fault=no-script.toml",
            "no-script.toml",
        ),
        ("ram:1M?log=nowhere/log", "nowhere/log: wanted to make it"),
    ];
    let mut lab = "version = 1\n[[mount]]\npath = \"full\"\n".to_owned();
    for (device, _) in devices {
        lab += &format!("[[namespace]]\ndevice = \"{device}\"\n");
    }
    let before = names(&folder);
    let (code, said) = check(&folder, &lab);
    assert_eq!(code, Some(2), "{said}");
    for (number, (device, words)) in (1..).zip(devices) {
        let start = format!(
            "error: lab.toml: line {}: namespace {number}: ",
            3 + 2 * number
        );
        let line = said.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains(words)),
            "{device}: {said}"
        );
    }
    assert!(
        said.contains("lab.toml: line 3: mount.path: full: wanted an empty directory"),
        "{said}"
    );
    let after: Vec<String> = names(&folder)
        .into_iter()
        .filter(|name| name != "lab.toml")
        .collect();
    assert_eq!(after, before, "a check makes nothing");
}

#[test]
fn mistakes_of_the_file_and_of_what_it_names_are_found_together() {
    let folder = scratch("together");
    fs::write(folder.join("disk.img"), [0; 4096]).expect("a file");
    fs::hard_link(folder.join("disk.img"), folder.join("hard")).expect("a link");
    fs::create_dir(folder.join("folder")).expect("a folder");
    fs::write(folder.join("notes"), "notes").expect("a file");
    let lab = |telemetry: &str| {
        format!(
            "version = 1\n[[namespace]]\ndevice = \"rom:1G\"\n[[namespace]]\ndevice = \"file:disk.img\"\n\
             [[namespace]]\ndevice = \"file:./hard\"\n[[namespace]]\ndevice = \"ram:1M\"\nid = 5000\n\
             [[mount]]\npath = \"nowhere\"\nthreads = 99\n[telemetry]\n{telemetry}"
        )
    };
    let (code, said) = check(&folder, &lab("v1 = \"page\"\nv2 = \"./page\"\n"));
    assert_eq!(code, Some(2), "{said}");
    for words in [
        "lab.toml: line 3: namespace.device: ",
        "lab.toml: line 7: hard: wanted as the blocks of file:hard, found that it is disk.img",
        "lab.toml: line 10: namespace.id: it is 5000",
        "lab.toml: line 12: mount.path: nowhere: wanted an empty directory",
        "lab.toml: line 13: mount.threads: it is 99",
        "lab.toml: line 16: page: wanted as the telemetry of version 2, found that it is page",
    ] {
        let words = words.replace("./", "");
        let plain = said.replace("./", "");
        assert!(plain.contains(&words), "{words:?} is missing in {said}");
    }
    for (telemetry, words) in [
        (
            "v1 = \"folder\"",
            "line 15: telemetry.v1: folder: wanted a regular file, found a directory",
        ),
        (
            "v2 = \"none\"\nv1 = \"nowhere/v1\"",
            "line 16: telemetry.v1: nowhere/v1: wanted to make it",
        ),
        (
            "v2 = \"notes\"",
            "line 15: telemetry.v2: notes: wanted a file",
        ),
    ] {
        let (code, said) = check(&folder, &lab(telemetry));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(words), "{words:?} is missing in {said}");
    }
    assert_eq!(
        names(&folder),
        ["disk.img", "folder", "hard", "lab.toml", "notes"],
        "a check makes nothing"
    );
    let notes = fs::read_to_string(folder.join("notes")).expect("text");
    assert_eq!(notes, "notes");
}

#[test]
fn a_mistake_in_the_file_itself_is_found_with_file_and_line() {
    let folder = scratch("mistake");
    let (code, said) = check(&folder, "version = 1\n[[namespace]]\ndevice = \"ram:1X\"\n");
    assert_eq!(code, Some(2), "{said}");
    for word in ["lab.toml: line 3: namespace.device", "1X", "KiB"] {
        assert!(said.contains(word), "{word:?} is missing in {said}");
    }
    let (code, said) = check(&folder, "version = 1\n[[namespace]\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("lab.toml: ") && said.contains("line 2"),
        "{said}"
    );
    let output = program(&folder, &["lab", "check", "missing.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing.toml: wanted a lab file"));
    fs::write(folder.join("lab.toml"), vec![b'#'; (1 << 20) + 1]).expect("a long file");
    let output = program(&folder, &["lab", "check", "lab.toml"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("longer than"));
}

/// Reads a schema, then JSON documents, one a line, and says for each whether the schema allows it.
const VALIDATOR: &str = "\
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in sys.stdin:
    print(validator.is_valid(json.loads(line)))
";

#[test]
#[expect(clippy::print_stdout, reason = "what does not run says so")]
fn the_published_schema_is_a_schema_and_agrees_with_the_parser() {
    let known = Command::new("python3")
        .args(["-c", "import jsonschema"])
        .output();
    if !known.is_ok_and(|output| output.status.success()) {
        println!("not run: no python3 with the package jsonschema");
        return;
    }
    let namespace = "[[namespace]]\ndevice = \"ram:1M\"\n";
    let cases = [
        (dataplane_emu::lab::EXAMPLE.to_owned(), true),
        (format!("version = 1\n{namespace}"), true),
        (format!("version = 1\n{namespace}id = 1024\n"), true),
        (format!("version = 2\n{namespace}"), false),
        ("version = 1\n".to_owned(), false),
        (namespace.to_owned(), false),
        (format!("version = 1\n{namespace}id = 1025\n"), false),
        (format!("version = 1\n{namespace}size = 3\n"), false),
        (format!("version = 1\ncolour = 3\n{namespace}"), false),
        (
            format!("version = 1\n{namespace}[[mount]]\nthreads = 2\n"),
            false,
        ),
        (
            format!("version = 1\n{namespace}[[mount]]\npath = \"m\"\nthreads = 17\n"),
            false,
        ),
        (
            format!("version = 1\n{namespace}[controller]\nqueue_pairs = 0\n"),
            false,
        ),
        (
            format!("version = 1\n{namespace}[controller]\nserial = \"\\u00e4\"\n"),
            false,
        ),
        (
            format!("version = 1\n{namespace}[telemetry]\nv3 = \"x\"\n"),
            false,
        ),
    ];
    let mut documents = String::new();
    for (lab, right) in &cases {
        assert_eq!(
            dataplane_emu::lab::Lab::parse(lab).is_ok(),
            *right,
            "the parser on {lab}"
        );
        let value: toml::Value = toml::from_str(lab).expect("TOML");
        documents += &serde_json::to_string(&value).expect("JSON");
        documents.push('\n');
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.schema.json");
    let mut python = Command::new("python3")
        .args(["-c", VALIDATOR])
        .arg(schema)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut stdin = python.stdin.take().expect("a pipe");
    stdin.write_all(documents.as_bytes()).expect("it reads");
    drop(stdin);
    let output = python.wait_with_output().expect("its answer");
    assert!(output.status.success(), "the schema is none");
    let answers = String::from_utf8(output.stdout).expect("text");
    assert_eq!(answers.lines().count(), cases.len());
    for ((lab, right), answer) in cases.iter().zip(answers.lines()) {
        assert_eq!(answer == "True", *right, "the schema on {lab}");
    }
}
