//! The language: what is read, and how each refusal is worded.

use media::fault::{Script, ScriptError, limits};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Script, ScriptError> {
    Script::from_toml(text)
}

/// The words of the error that a rule of these lines gives; its first line is the fourth of the script.
fn refusal(lines: &str) -> String {
    let text = format!("version = 1\n\n[[rule]]\n{lines}\n");
    match parse(&text) {
        Err(error) => error.to_string(),
        Ok(script) => panic!("{lines:?} was read as {script}"),
    }
}

#[test]
fn a_script_of_every_key_is_read_and_written_back() {
    let text = r#"
        version = 1
        seed = 99
        [[rule]]
        name = "worn \"block\""
        op = "write"
        lba = "100-199"
        after_ms = 5
        until_ms = 70
        skip = 1
        every = 2
        count = 3
        probability = 0.125
        do = "fail"
        status = "write-fault"
        dnr = true
        effect = "partial"
        done_blocks = 3
        delay_us = 12
        [[rule]]
        do = "fail"
        sct = 7
        sc = 0xC1
        [[rule]]
        op = "read"
        lba = 7
        do = "flip"
        at_bits = [1, 4095]
        [[rule]]
        op = "read"
        do = "flip"
        bits = 64
        [[rule]]
        op = "read"
        do = "misdirect"
        to = 9223372036854775807
        [[rule]]
        op = "any"
        do = "drop"
        effect = "full"
        [[rule]]
        op = "flush"
        do = "lose"
        [[rule]]
        do = "delay"
        delay_us = 1
    "#;
    let script = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(script.seed(), 99);
    let names: Vec<&str> = script.names().collect();
    assert_eq!(names[..2], ["worn \"block\"", "rule 2"]);
    assert_eq!(names.len(), 8);
    let written = script.to_string();
    assert_eq!(parse(&written).as_ref(), Ok(&script), "{written}");
}

#[test]
fn an_empty_script_has_no_rules_and_a_seed() {
    let script = parse("version = 1").expect("a script");
    assert_eq!((script.names().count(), script.seed()), (0, 1));
}

/// Lines of a rule, joined by `&`; the line that is wrong, the key, what was found, what is allowed.
const REFUSALS: &str = r#"
op = "reed" & do = "drop" | 4 | op | "reed" | read, write, flush, compare, write-zeroes, deallocate, verify, any
op = 3 & do = "drop" | 4 | op | 3 | read, write
do = "explode" | 4 | do | "explode" | fail, delay, drop, flip, misdirect, lose
op = "read" | 3 | do | no such key | fail, delay, drop
do = "drop" & lba = "9-3" | 5 | lba | "9-3" | 100-199
do = "drop" & lba = -1 | 5 | lba | -1 | a block such as 100
do = "drop" & lba = "a-b" | 5 | lba | "a-b" | a range
do = "drop" & probability = 1.5 | 5 | probability | 1.5 | from 0.0 to 1.0
do = "drop" & probability = nan | 5 | probability | nan | from 0.0 to 1.0
do = "drop" & probability = 2 | 5 | probability | 2 | from 0.0 to 1.0
do = "drop" & every = 0 | 5 | every | 0 | at least 1
do = "drop" & count = 0 | 5 | count | 0 | at least 1
do = "drop" & skip = -3 | 5 | skip | -3 | at least 0
do = "drop" & skip = "3" | 5 | skip | "3" | a whole number
do = "drop" & after_ms = 9 & until_ms = 9 | 6 | until_ms | 9 | from 10 to
do = "drop" & name = "" | 5 | name | "" | 1 to 64 bytes
do = "drop" & name = "a\nb" | 5 | name | a | one line
do = "delay" | 4 | delay_us | no such key | with do = "delay"
do = "delay" & delay_us = 0 | 5 | delay_us | 0 | from 1 to 3600000000
do = "delay" & delay_us = 3600000001 | 5 | delay_us | 3600000001 | from 1 to 3600000000
do = "drop" & delay_us = 5 | 5 | delay_us | 5 | only with do = fail or delay
do = "drop" & status = "write-fault" | 5 | status | "write-fault" | only with do = fail
do = "drop" & to = 5 | 5 | to | 5 | only with do = misdirect
do = "drop" & bits = 5 | 5 | bits | 5 | only with do = flip
do = "fail" | 4 | status | no such key | unrecovered-read-error
do = "fail" & status = "oops" | 5 | status | "oops" | write-fault
do = "fail" & status = "successful-completion" | 5 | status | successful | do = "lose"
do = "fail" & sct = 0 & sc = 0 | 6 | sc | 0 | do = "lose"
do = "fail" & sct = 8 & sc = 0 | 5 | sct | 8 | from 0 to 7
do = "fail" & sct = 2 & sc = 256 | 6 | sc | 256 | from 0 to 255
do = "fail" & sct = 2 | 4 | sc | no such key | with do = "fail"
do = "fail" & status = "write-fault" & sct = 2 | 6 | sct | 2 | either status, or sct and sc
do = "fail" & status = "write-fault" & sc = 2 | 6 | sc | 2 | either status, or sct and sc
do = "fail" & status = "write-fault" & dnr = 1 | 6 | dnr | 1 | true, false
do = "drop" & effect = "half" | 5 | effect | "half" | none, partial, full
do = "drop" & done_blocks = 1 | 5 | done_blocks | 1 | only with effect = "partial"
do = "flip" | 3 | op | no such key | with do = "flip": read, write
do = "flip" & op = "flush" | 5 | op | "flush" | with do = "flip": read, write
do = "misdirect" & op = "compare" & to = 1 | 5 | op | "compare" | read, write
do = "misdirect" & op = "read" | 4 | to | no such key | with do = "misdirect"
do = "lose" & op = "read" | 5 | op | "read" | write, write-zeroes, deallocate, flush
do = "flip" & op = "read" & bits = 65 | 6 | bits | 65 | from 1 to 64
do = "flip" & op = "read" & at_bits = [4096] | 6 | at_bits | 4096 | from 0 to 4095
do = "flip" & op = "read" & at_bits = [5, 5] | 6 | at_bits | 5 | different
do = "flip" & op = "read" & at_bits = [] | 6 | at_bits | [] | 1 to 64
do = "flip" & op = "read" & bits = 1 & at_bits = [5] | 6 | bits | 1 | either bits or at_bits
"#;

#[test]
fn every_wrong_value_is_refused_with_line_key_value_and_what_is_allowed() {
    let mut rows = 0;
    for row in REFUSALS.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [lines, line, key, found, allowed] = cells[..] else {
            panic!("{row}: five cells");
        };
        let words = refusal(&lines.replace(" & ", "\n"));
        let begin = format!("fault script, line {line}: {key}: found ");
        assert!(words.starts_with(&begin), "{lines:?}: {words}");
        let (value, rest) = words.split_once("; allowed: ").expect("what is allowed");
        assert!(
            value.contains(found) && rest.contains(allowed),
            "{lines:?}: {words}"
        );
        assert!(!words.contains('\n'), "{words}");
        rows += 1;
    }
    assert_eq!(rows, 46);
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_keys_there_are() {
    let words = refusal("op = \"read\"\nlbas = 3\ndo = \"drop\"");
    for part in [
        "line 5",
        "unknown field `lbas`",
        "`lba`",
        "`at_bits`",
        "\"lbas = 3\"",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let words = parse("version = 1\nsed = 4")
        .expect_err("a typing error")
        .to_string();
    assert!(
        words.contains("line 2") && words.contains("`seed`"),
        "{words}"
    );
}

#[test]
fn a_text_that_is_no_toml_is_refused_with_its_line() {
    for text in [
        "version = 1\n[[rule]\n",
        "version = 1\n= 4",
        "version = 1\nversion = 1",
    ] {
        let words = parse(text).expect_err(text).to_string();
        assert!(words.starts_with("fault script, line 2: "), "{words}");
        assert!(!words.contains('\n'), "{words}");
    }
}

#[test]
fn a_missing_or_other_version_is_refused() {
    let missing = parse("seed = 4").expect_err("no version").to_string();
    assert!(missing.contains("missing field `version`"), "{missing}");
    let other = parse("\nversion = 2").expect_err("version 2").to_string();
    assert_eq!(other, "fault script, line 2: version: found 2; allowed: 1");
}

#[test]
fn a_script_beyond_its_bounds_is_refused() {
    let rule = "[[rule]]\ndo = \"drop\"\n";
    let of = |rules: usize| format!("version = 1\n{}", rule.repeat(rules));
    assert!(parse(&of(limits::RULES_MAX)).is_ok());
    let words = parse(&of(limits::RULES_MAX + 1))
        .expect_err("too many")
        .to_string();
    assert!(words.contains("at most 64 rules"), "{words}");
    let long = format!("version = 1\n#{}", " ".repeat(limits::SCRIPT_BYTES_MAX));
    assert!(matches!(parse(&long), Err(ScriptError::TooLong { .. })));
}

#[test]
fn two_rules_of_one_name_are_refused() {
    let rule = "[[rule]]\nname = \"a\"\ndo = \"drop\"\n";
    let words = parse(&format!("version = 1\n{rule}{rule}"))
        .expect_err("twice")
        .to_string();
    assert!(
        words.contains("line 5: name: found a second rule named"),
        "{words}"
    );
}

proptest! {
    #[test]
    fn no_text_is_a_panic_and_what_was_read_reads_back(text in "(?s).{0,200}") {
        check(&text);
    }

    /// Lines that are nearly right reach further than any text does.
    #[test]
    fn no_lines_of_known_keys_are_a_panic_and_what_was_read_reads_back(
        lines in proptest::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..12)
    ) {
        let mut text = "version = 1\n".to_owned();
        for (key, value) in lines {
            let line = match KEYS[key] {
                "[[rule]]" => "[[rule]]\n".to_owned(),
                key => format!("{key} = {}\n", VALUES[value]),
            };
            text.push_str(&line);
        }
        check(&text);
    }
}

const KEYS: [&str; 22] = [
    "[[rule]]",
    "[[rule]]",
    "name",
    "op",
    "lba",
    "after_ms",
    "until_ms",
    "skip",
    "every",
    "probability",
    "count",
    "do",
    "do",
    "status",
    "sct",
    "sc",
    "effect",
    "done_blocks",
    "bits",
    "at_bits",
    "to",
    "delay_us",
];

const VALUES: [&str; 18] = [
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "0.5",
    "nan",
    "inf",
    "\"read\"",
    "\"write\"",
    "\"fail\"",
    "\"flip\"",
    "\"drop\"",
    "\"write-fault\"",
    "\"0-18446744073709551615\"",
    "\"partial\"",
    "[1, 2]",
    "{ a = 1 }",
    "1979-05-27",
];

fn check(text: &str) {
    match parse(text) {
        Ok(script) => assert_eq!(parse(&script.to_string()), Ok(script)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
