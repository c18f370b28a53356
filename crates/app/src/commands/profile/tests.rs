use super::*;
use proptest::prelude::*;

/// fio's output of a job, as far as it is read.
fn fio(rw: &str, bs: &str, depth: u32, iops: f64, mean_us: f64) -> String {
    let side = |at_work: bool| {
        let (iops, ios) = if at_work { (iops, 1000) } else { (0.0, 0) };
        let ns = |share: f64| mean_us * 1e3 * share;
        format!(
            r#"{{"total_ios": {ios}, "iops": {iops}, "bw_bytes": {}, "lat_ns": {{"mean": {}, "stddev": 100}},
            "clat_ns": {{"min": {}, "max": {}, "mean": {}, "percentile": {{"1.000000": {}, "50.000000": {}, "99.000000": {}}}}}}}"#,
            iops * if bs == "128k" { 131_072.0 } else { 4096.0 },
            ns(1.0),
            ns(0.8),
            ns(2.0),
            ns(0.95),
            ns(0.85),
            ns(0.94),
            ns(1.2)
        )
    };
    let read = rw != "randwrite";
    let write = rw != "randread";
    format!(
        r#"note: something
        {{"fio version": "fio-3.33", "global options": {{"ioengine": "libaio", "rw": "{rw}"}},
        "jobs": [{{"jobname": "j", "job options": {{"bs": "{bs}", "iodepth": "{depth}"}}, "read": {}, "write": {}}}]}}"#,
        side(read),
        side(write)
    )
}

/// A drive of 80 us and 400 k IOPS, 3 GB/s; writes 20 us, 100 k IOPS.
fn drive() -> Vec<Point> {
    let texts = [
        fio("randread", "4k", 1, 12_500.0, 80.0),
        fio("randread", "4k", 64, 400_000.0, 160.0),
        fio("randread", "128k", 32, 22_888.0, 1398.0),
        fio("randwrite", "4k", 1, 50_000.0, 20.0),
        fio("randwrite", "4k", 32, 100_000.0, 320.0),
    ];
    let files = texts.iter().enumerate();
    files
        .flat_map(|(index, text)| fio::points(&format!("f{index}"), text).expect("fio's output"))
        .collect()
}

#[test]
fn a_fitted_profile_gives_back_what_it_was_fitted_to() {
    let points = drive();
    let text = fit::text("mine", &points).expect("points");
    let profile = Profile::from_toml(&text).expect("what fit writes is a profile");
    assert_eq!(profile.name(), "mine");
    assert_eq!(profile.measured().len(), 5);
    for row in profile.measured() {
        let seen = closed_loop(&profile, &Load::of(row, 50_000), 1);
        let off = |found: f64, wanted: f64| (found / wanted - 1.0).abs();
        assert!(off(seen.iops, row.iops) < 0.03, "{row:?} {seen:?}");
        assert!(
            off(seen.mean_us, row.mean_us.expect("fio has it")) < 0.03,
            "{row:?} {seen:?}"
        );
    }
    let table = comparison(&profile, &points);
    assert_eq!(table.lines().count(), 6);
    assert!(table.contains('%') && table.contains("f4"), "{table}");
}

#[test]
fn what_was_not_measured_is_said() {
    let points = fio::points("only", &fio("randread", "4k", 4, 50_000.0, 80.0)).expect("fio's");
    let text = fit::text("x", &points).expect("points");
    let profile = Profile::from_toml(&text).expect("a profile");
    for note in [
        "write: not measured",
        "one depth only",
        "lowest depth is 4",
        "flush",
    ] {
        assert!(
            profile.inferred().contains(note),
            "{note}: {}",
            profile.inferred()
        );
    }
}

#[test]
fn a_depth_that_was_not_kept_is_remarked() {
    let full = fio::points("x", &fio("randread", "4k", 4, 50_000.0, 80.0)).expect("fio's");
    assert_eq!(full[0].remark(), "");
    let starved = fio::points("x", &fio("randread", "4k", 4, 10_000.0, 80.0)).expect("fio's");
    assert!(
        starved[0].remark().contains("0.80"),
        "{}",
        starved[0].remark()
    );
}

#[test]
fn clones_and_synchronous_engines_are_counted_as_the_depth_they_have() {
    let one = fio("randrw", "4k", 8, 1000.0, 100.0);
    let depth = |text: &str| {
        fio::points("x", text)
            .expect("fio's")
            .iter()
            .map(|p| p.depth)
            .collect::<Vec<_>>()
    };
    assert_eq!(depth(&one), [8]);
    assert_eq!(depth(&one.replace("libaio", "psync")), [1]);
    let many = one.replace(r#""iodepth": "8""#, r#""iodepth": "8", "numjobs": "3""#);
    assert_eq!(depth(&many), [24], "one entry for all, by group_reporting");
    let begin = many.find(r#"[{"jobname"#).expect("jobs") + 1;
    let job = many[begin..].trim_end_matches("]}").to_owned();
    let apart = many.replace(&job, &format!("{job}, {job}, {job}"));
    assert_eq!(depth(&apart), [24]);
    assert_eq!(fio::points("x", &apart).expect("fio's")[0].iops(), 6000.0);
}

#[test]
fn a_file_that_is_not_fios_is_refused_with_the_key() {
    let good = fio("randread", "4k", 1, 1000.0, 100.0);
    let cases = [
        ("{", "[", "wanted fio's JSON"),
        ("\"jobs\"", "\"work\"", "jobs: missing"),
        ("\"4k\"", "\"4k,8k\"", "jobs[0].job options.bs: found 4k,8k"),
        ("\"4k\"", "\"1000\"", "multiple of 512"),
        ("\"bs\"", "\"bssplit\"", "job options.bssplit"),
        (
            "\"iodepth\": \"1\"",
            "\"iodepth\": \"0\"",
            "job options.iodepth: found 0; wanted 1 to 4096",
        ),
        (
            "\"iops\": 1000",
            "\"iops\": \"many\"",
            "jobs[0].read.iops: found \"many\"",
        ),
        (
            "\"lat_ns\"",
            "\"slat_ns\"",
            "jobs[0].read.lat_ns.mean: found nothing",
        ),
    ];
    for (from, to, wanted) in cases {
        assert!(good.contains(from), "{from}");
        let error = fio::points("x", &good.replacen(from, to, 1)).expect_err(to);
        assert!(
            error.contains(wanted),
            "{to}: wanted {wanted:?} in {error:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_file_panics_and_what_is_read_can_be_fitted(at in 0..900_usize, insert in "[-0-9a-z\"{}\\[\\],.: ]{0,8}") {
        let good = fio("randrw", "4k", 4, 50_000.0, 80.0);
        let at = at.min(good.len());
        let text = format!("{}{insert}{}", &good[..at], &good[at..]);
        if let Ok(points) = fio::points("x", &text)
            && let Ok(text) = fit::text("x", &points)
        {
            let _ = Profile::from_toml(&text);
        }
    }
}
