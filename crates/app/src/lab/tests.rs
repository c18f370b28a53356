use proptest::prelude::*;

use super::*;

fn refusal(text: &str) -> String {
    Lab::parse(text).expect_err("it is wrong").to_string()
}

#[test]
fn the_example_is_right_and_says_what_it_says() {
    let lab = Lab::parse(EXAMPLE).expect("the example");
    let ids: Vec<u32> = lab.namespaces.iter().map(|line| line.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(lab.mount.map(|mount| mount.path), Some("mnt".into()));
    assert_eq!(lab.controller.serial.as_deref(), Some("LAB0001"));
}

#[test]
fn the_published_schema_is_this_formats() {
    let published = include_str!("../../../../docs/lab.schema.json");
    assert_eq!(
        published,
        schema(),
        "run: dataplane-emu lab schema > docs/lab.schema.json"
    );
}

/// Labs that are wrong, and words that the answer must hold: the line, the key, what is allowed.
const WRONG: [(&str, &[&str]); 20] = [
    ("", &["line 1", "version"]),
    (
        "version = 2\n[[namespace]]\ndevice = \"ram:1G\"",
        &["line 1", "version", "it is 2", "1"],
    ),
    ("version = \"1\"", &["line 1", "string", "version"]),
    (
        "version = 1\n[[namespace]]\n\ndevice = \"rom:1G\"",
        &["line 4", "namespace.device", "ram"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1G?lbs=512\"",
        &["line 3", "namespace.device", "\"lbs\"", "lba"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1G?profile=aws\"",
        &["line 3", "namespace.device", "\"aws\"", "aws-c7gd"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"pci:0000:00:01.0\"",
        &["line 3", "elsewhere", "ram:SIZE"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1M\"\n[[namespace]]\ndevice = \"ram:1M\"\nid = 1",
        &["line 6", "namespace.id", "taken", "1 to 1024"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1M\"\nid = 0",
        &["line 4", "namespace.id", "1 to 1024"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"file:a\"\n[[namespace]]\ndevice = \"file:a?lba=4096\"",
        &["line 5", "namespace.device", "a is in use by file:a"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1M?log=l\"\n[[namespace]]\ndevice = \"ram:1M?log=l\"",
        &["line 5", "l is in use by"],
    ),
    (
        "version = 1\n[[namespace]]\ndevise = \"ram:1M\"",
        &["line 3", "devise", "device"],
    ),
    ("version = 1\nnamespace = 3", &["line 2", "namespace"]),
    ("version = 1", &["namespace", "at least one"]),
    (
        "version = 1\n[controller]\nserial = \"123456789012345678901\"\n[[namespace]]\ndevice = \"ram:1M\"",
        &["line 3", "controller.serial", "at most 20"],
    ),
    (
        "version = 1\n[controller]\nmodel = \"dr\u{e4}ve\"\n[[namespace]]\ndevice = \"ram:1M\"",
        &["line 3", "controller.model", "ASCII"],
    ),
    (
        "version = 1\n[controller]\nqueue_pairs = 129\n[[namespace]]\ndevice = \"ram:1M\"",
        &["line 3", "controller.queue_pairs", "1 to 128"],
    ),
    (
        "version = 1\n[controller]\ntransfer_pages_shift = 0\n[[namespace]]\ndevice = \"ram:1M\"",
        &["line 3", "controller.transfer_pages_shift", "1 to 9"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1M\"\n[[mount]]\npath = \"m\"\nthreads = 17",
        &["line 6", "mount.threads", "1 to 16"],
    ),
    (
        "version = 1\n[[namespace]]\ndevice = \"ram:1M\"\n[[mount]]\npath = \"m\"\n[[mount]]\npath = \"n\"",
        &["line 6", "mount", "one [[mount]]"],
    ),
];

#[test]
fn a_mistake_is_named_with_line_key_and_what_is_allowed() {
    for (text, wanted) in WRONG {
        let found = refusal(text);
        for word in wanted {
            assert!(found.contains(word), "{word:?} is missing in: {found}");
        }
    }
}

#[test]
fn all_mistakes_of_a_lab_are_named_in_the_order_of_their_lines() {
    let text = "version = 1
[[namespace]]
device = \"rom:1G\"
[[namespace]]
device = \"ram:1M\"
id = 0
[[namespace]]
device = \"ram:1M\"
id = 5000
[[namespace]]
device = \"ram:1M?lba=7\"
id = -1
[[mount]]
path = \"m\"
threads = 99
[controller]
queue_pairs = 0
transfer_pages_shift = 77
serial = \"a serial number that is much too long\"
";
    let found = refusal(text);
    let wanted = [
        "line 3: namespace.device",
        "line 6: namespace.id: it is 0; allowed: 1 to 1024",
        "line 9: namespace.id: it is 5000; allowed: 1 to 1024",
        "line 11: namespace.device",
        "line 12: namespace.id: it is -1",
        "line 15: mount.threads: it is 99; allowed: 1 to 16",
        "line 17: controller.queue_pairs: it is 0; allowed: 1 to 128",
        "line 18: controller.transfer_pages_shift: it is 77; allowed: 1 to 9",
        "line 19: controller.serial",
    ];
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), wanted.len(), "{found}");
    for (line, wanted) in lines.iter().zip(wanted) {
        assert!(line.contains(wanted), "no {wanted:?} in {line:?}");
    }
    assert!(lines.iter().skip(1).all(|line| line.starts_with("error: ")));
}

#[test]
fn a_long_line_is_shortened_and_what_is_allowed_is_kept() {
    let long = "x".repeat(20_000);
    for text in [
        format!("version = 1\n[[namespace]]\ndevise = \"{long}\""),
        format!("version = 1\n[[namespace]]\ndevice = \"ram:{long}\""),
        format!(
            "version = 1\n[[namespace]]\ndevice = \"ram:{}\"",
            &long[..9000]
        ),
        format!(
            "version = 1\n[controller]\nserial = \"{long}\"\n[[namespace]]\ndevice = \"ram:1M\""
        ),
    ] {
        let found = refusal(&text);
        assert!(found.len() < 1000, "{} bytes", found.len());
        assert!(found.contains("line 3"), "{found}");
        assert!(
            ["allowed", "expected"]
                .iter()
                .any(|word| found.contains(word)),
            "{found}"
        );
    }
}

#[test]
fn identifiers_follow_on_and_never_meet() {
    let text = "version = 1\n[[namespace]]\ndevice = \"ram:1M?ns=3\"\nid = 5\n[[namespace]]\ndevice = \"ram:1M\"";
    let lab = Lab::parse(text).expect("right");
    let ids: Vec<u32> = lab.namespaces.iter().map(|line| line.id).collect();
    assert_eq!(ids, [5, 8]);
    let text = "version = 1\n[[namespace]]\ndevice = \"ram:1M?ns=3\"\nid = 1023";
    assert!(refusal(text).contains("do not fit"));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*", cut in 0..EXAMPLE.len(), junk in "\\PC{0,8}") {
        let _ = Lab::parse(&text);
        if EXAMPLE.is_char_boundary(cut) {
            let (head, tail) = EXAMPLE.split_at(cut);
            let _ = Lab::parse(&format!("{head}{junk}{tail}"));
        }
    }
}
