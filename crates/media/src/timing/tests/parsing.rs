//! Profiles as text: what is read, what is refused and how.

use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"version = 1
name = "mine"
summary = "a drive"
source = "a page"
units = 8

[read]
mean_us = 80
iops_max = 500000

[write]
quantiles_us = [[0, 10], [50, 12.5], [100, 90]]
bytes_per_second_max = 2e9

[flush]
mean_us = 5

[deallocate]
mean_us = 5

[[measured]]
depth = 1
block_bytes = 4096
read_percent = 100
iops = 12500
"#;

/// The refusal of the good text with one piece replaced.
fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    match Profile::from_toml(&GOOD.replacen(from, to, 1)) {
        Err(error) => error.to_string(),
        Ok(profile) => panic!("{to:?} was taken: {profile:?}"),
    }
}

#[test]
fn a_good_text_is_read() {
    let profile = Profile::from_toml(GOOD).expect("good");
    assert_eq!(profile.name(), "mine");
    assert_eq!(profile.measured().len(), 1);
    assert!(!profile.is_instant());
    assert!(Profile::named("instant").expect("published").is_instant());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of refusals")]
fn a_refusal_names_line_key_value_and_what_is_allowed() {
    let cases: [(&str, &str, &[&str]); 16] = [
        (
            "version = 1",
            "version = 2",
            &["line 1", "version", "found 2", "1 to 1"],
        ),
        (
            "\"mine\"",
            "\"a b\"",
            &["line 2", "name", "a b", "64 letters"],
        ),
        (
            "units = 8",
            "units = 0",
            &["line 5", "units", "found 0", "1 to 1024"],
        ),
        (
            "units = 8",
            "units = 8.5",
            &["line 5", "units", "8.5", "whole number"],
        ),
        (
            "mean_us = 80",
            "mean_us = -1",
            &["line 8", "read.mean_us", "-1", "0 to 10000000"],
        ),
        (
            "mean_us = 80",
            "mean_us = nan",
            &["line 8", "read.mean_us", "nan"],
        ),
        (
            "mean_us = 80",
            "mean_us = \"x\"",
            &["line 8", "read.mean_us", "x"],
        ),
        (
            "mean_us = 80",
            "mean_us = 80\nsigma = 3",
            &["line 9", "read.sigma", "0 to 2"],
        ),
        (
            "mean_us = 80\n",
            "",
            &["line 7", "read", "neither", "mean_us or quantiles_us"],
        ),
        (
            "iops_max = 500000",
            "iops_max = 0",
            &["line 9", "read.iops_max", "1 to 1000000000"],
        ),
        (
            "[50, 12.5]",
            "[50, 9]",
            &["line 12", "write.quantiles_us", "[50, 9]", "not falling"],
        ),
        (
            "[100, 90]",
            "[99, 90]",
            &["line 12", "write.quantiles_us", "100 percent"],
        ),
        (
            "2e9",
            "1",
            &["line 13", "write.bytes_per_second_max", "100000 to"],
        ),
        (
            "depth = 1",
            "depth = 5000",
            &["line 22", "measured.depth", "1 to 4096"],
        ),
        (
            "4096\n",
            "4097\n",
            &["line 23", "measured.block_bytes", "multiple of 512"],
        ),
        (
            "units = 8",
            "unit = 8",
            &["line 5", "unit", "units", "found"],
        ),
    ];
    for (from, to, wanted) in cases {
        let refusal = refusal(from, to);
        for wanted in wanted {
            assert!(
                refusal.contains(wanted),
                "{to:?}: wanted {wanted:?} in {refusal:?}"
            );
        }
    }
}

#[test]
fn a_missing_table_and_broken_toml_are_refused_with_their_place() {
    let missing = refusal("[flush]\nmean_us = 5\n", "");
    assert!(missing.contains("flush"), "{missing}");
    let broken = refusal("[write]", "[write");
    assert!(broken.contains("line 11"), "{broken}");
    let long = format!("{GOOD}#{}", "x".repeat(limits::PROFILE_BYTES_MAX));
    assert!(matches!(
        Profile::from_toml(&long),
        Err(ProfileError::TooLong { .. })
    ));
}

#[test]
fn the_example_of_the_documentation_is_a_profile() {
    let page = include_str!("../../../../../docs/profiles.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the page has an example");
    let profile = Profile::from_toml(example).expect("the example is good");
    for row in profile.measured() {
        let seen = closed_loop(&profile, &Load::of(row, 50_000), 1);
        assert!(
            (seen.iops / row.iops - 1.0).abs() < 0.05,
            "{row:?} {seen:?}"
        );
    }
}

#[test]
fn the_documentation_explains_every_key() {
    let page = include_str!("../../../../../docs/profiles.md");
    for key in [
        "version",
        "name",
        "summary",
        "source",
        "inferred",
        "units",
        "mean_us",
        "sigma",
        "quantiles_us",
        "iops_max",
        "bytes_per_second_max",
        "depth",
        "block_bytes",
        "read_percent",
        "iops",
    ] {
        assert!(page.contains(&format!("| `{key}`")), "{key}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = Profile::from_toml(&text);
    }

    /// A good text with a piece of nonsense in it.
    #[test]
    fn no_mutilated_profile_panics(at in 0..GOOD.len(), cut in 0..20_usize, insert in "[-0-9a-z\"\\[\\]=., \n]{0,12}") {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{insert}{}", &GOOD[..at], &GOOD[end..]);
        let _ = Profile::from_toml(&text);
    }

    /// Whatever is taken can be run.
    #[test]
    fn every_profile_that_is_taken_runs(
        units in 1..=1024_u32,
        mean in prop_oneof![Just(0.0), 0.001..1e7_f64],
        sigma in 0.0..=2.0_f64,
        iops in prop_oneof![Just(None), (1.0..1e9_f64).prop_map(Some)],
        bytes in prop_oneof![Just(None), (1e5..1e13_f64).prop_map(Some)],
        depth in 1..200_u32,
    ) {
        let cap = |key: &str, cap: Option<f64>| cap.map_or(String::new(), |cap| format!("\n{key} = {cap:?}"));
        let text = format!("mean_us = {mean:?}\nsigma = {sigma:?}{}{}", cap("iops_max", iops), cap("bytes_per_second_max", bytes));
        let profile = uniform(units, &text);
        let load = Load { depth, block_bytes: 65536, read_percent: 40.0, requests: 500 };
        let seen = closed_loop(&profile, &load, 1);
        prop_assert!(seen.mean_us > 0.0 && seen.mean_us.is_finite());
    }
}
