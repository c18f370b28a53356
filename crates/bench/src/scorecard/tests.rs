//! The scorecard as a whole, on made-up results.

use super::fixture::{QDS, basis, card, counted, measured, model};
use super::model::{CpuUse, DeviceModel, Generator, Layer, ModelPoint, RowId, Scorecard};
use super::row::{row, row_not_run};
use super::{comparisons, html, old_layout, text};

#[test]
fn the_json_form_reads_back_unchanged_and_other_schemas_are_refused() {
    let card = card(true);
    let json = card.to_json();
    assert_eq!(Scorecard::from_json(&json).unwrap(), card);
    let other = json.replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert!(
        Scorecard::from_json(&other)
            .unwrap_err()
            .contains("found 2")
    );
    assert!(Scorecard::from_json("{}").is_err());
}

#[test]
fn a_row_shows_the_repeat_with_the_median_rate_whole() {
    let model = DeviceModel::instant();
    let mut repeats = [30_000.0, 10_000.0, 20_000.0].map(|rate| measured(16, rate));
    repeats[2].p99_us = 12.5;
    let row = row(&basis(RowId::Fuse, 16, &model), &repeats, None);
    assert_eq!((row.iops, row.p99_us), (Some(20_000.0), Some(12.5)));
    assert!((row.effective_qd.unwrap() - 16.0).abs() < 1e-9);
    assert!((row.spread.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(row.bytes, 60_000 * 4096);
    // One CPU second for 20,000 I/Os is 50 for a million.
    assert!((row.cpu_s_per_million.unwrap() - 50.0).abs() < 1e-9);
    assert!(
        row.flags.iter().any(|flag| flag.starts_with("spread: ")),
        "{:?}",
        row.flags
    );
}

#[test]
fn one_repeat_has_no_spread_and_none_is_not_run() {
    let model = DeviceModel::instant();
    let basis = basis(RowId::Driver, 1, &model);
    assert_eq!(row(&basis, &[measured(1, 9000.0)], None).spread, None);
    let none = row(&basis, &[], None);
    assert!(none.not_run.is_some() && none.iops.is_none());
}

#[test]
fn a_depth_that_is_off_by_more_than_a_tenth_is_flagged() {
    let model = DeviceModel::instant();
    let basis = basis(RowId::Fuse, 16, &model);
    let with = |factor: f64| {
        let mut one = measured(16, 50_000.0);
        one.mean_us *= factor;
        row(&basis, &[one], None).flags
    };
    assert!(with(0.91).is_empty() && with(1.09).is_empty());
    let below = with(0.81);
    assert!(
        below[0].starts_with("depth: 12.96 of 16 in flight"),
        "{below:?}"
    );
    assert!(with(1.2)[0].contains("do not belong together"));
}

#[test]
fn bytes_that_never_reached_the_device_are_flagged() {
    let model = DeviceModel::instant();
    let basis = basis(RowId::Fuse, 1, &model);
    let with = |ios: u64, unwritten: u64| {
        let mut pair = counted(ios);
        pair.after.unwritten_reads = unwritten;
        row(&basis, &[measured(1, 20_000.0)], Some(pair)).flags
    };
    assert!(with(20_000, 0).is_empty());
    let cached = with(10_000, 0);
    assert!(cached[0].starts_with("cache: "), "{cached:?}");
    let unwritten = with(20_000, 7);
    assert!(
        unwritten[0].starts_with("unwritten: 7 reads"),
        "{unwritten:?}"
    );
}

#[test]
fn cpus_used_by_others_are_flagged() {
    let model = DeviceModel::instant();
    let mut one = measured(1, 20_000.0);
    one.cpu = CpuUse {
        elsewhere: Some(0.5),
        stolen: Some(0.4),
        ..one.cpu
    };
    let flags = row(&basis(RowId::Kernel, 1, &model), &[one], None).flags;
    assert!(flags[0].starts_with("elsewhere: 0.50 of 2"), "{flags:?}");
    assert!(flags[1].starts_with("stolen: "), "{flags:?}");
}

#[test]
fn no_ratio_is_made_with_a_row_that_contains_another() {
    let card = card(true);
    let about = |base| card.comparisons.iter().filter(move |c| c.base == base);
    assert_eq!(about(RowId::Kernel).count(), 6);
    assert!(
        about(RowId::Kernel)
            .all(|c| c.iops_ratio.is_none() && c.verdict.contains("contains the fuse row"))
    );
    // At 128, both are held by the device.
    let compared = about(RowId::Fuse).filter(|c| c.qd != 128);
    assert!(compared.clone().count() == 2 && compared.clone().all(|c| c.iops_ratio.is_some()));
    let mut apart = card.rows;
    for row in &mut apart {
        row.contains.clear();
    }
    assert!(
        comparisons(&apart, &QDS)
            .iter()
            .filter(|c| c.qd != 128)
            .all(|c| c.iops_ratio.is_some())
    );
}

#[test]
fn rows_that_the_device_holds_back_alike_are_no_evidence_about_paths() {
    let card = card(true);
    let of = |qd| {
        let found = card
            .comparisons
            .iter()
            .find(|c| c.base == RowId::Fuse && c.qd == qd);
        &found.unwrap().verdict
    };
    assert!(of(1).starts_with("2.20 times the IOPS ("), "{}", of(1));
    assert!(
        of(128).starts_with("the device is the limit of both"),
        "{}",
        of(128)
    );
}

#[test]
fn the_text_has_every_row_its_limit_and_the_reason_of_what_did_not_run() {
    let card = card(false);
    let text = text::render(&card);
    for words in [
        "QD 128",
        "44,000",
        "not run: needs root",
        "device model",
        "kernel path KVM guest: not run: no guest",
        "emulated",
        "by the first rule that holds",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let widest = text
        .lines()
        .filter(|line| line.contains("CPU s/M "))
        .map(str::len)
        .max();
    assert!(widest.unwrap() <= 100);
}

#[test]
fn a_scorecard_without_figures_renders() {
    let mut card = card(false);
    for row in &mut card.rows {
        let model = model();
        *row = row_not_run(&basis(row.id, row.qd, &model), "nothing ran");
    }
    card.compare();
    assert!(card.comparisons.is_empty());
    assert!(text::render(&card).contains("not run: nothing ran"));
    assert!(html::render(&card).contains("not run: nothing ran"));
    assert!(old_layout::render(&card, &[]).contains("N/A"));
    card.header.load.qds.clear();
    card.rows.clear();
    assert!(text::render(&card).contains("scorecard"));
    assert!(html::render(&card).contains("</html>"));
    assert!(old_layout::render(&card, &[]).contains("SCORECARD"));
}

#[test]
fn the_old_layout_keeps_its_columns_and_claims_nothing_that_did_not_run() {
    let text = old_layout::render(&card(false), &["x_qd1.json".into()]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "═".repeat(76));
    assert_eq!(
        lines[1].trim(),
        "DETERMINISTIC SILICON DATA PLANE SCORECARD"
    );
    for title in [
        "Latency (QD=1)",
        "Knee-of-Curve (QD=16)",
        "Throughput (QD=128)",
    ] {
        assert!(text.contains(title), "{title}");
    }
    let boxed: Vec<&&str> = lines
        .iter()
        .filter(|line| line.contains(['│', '┌', '└']))
        .collect();
    assert!(
        boxed.iter().all(|line| line.chars().count() == 76),
        "{text}"
    );
    let kernel = lines
        .iter()
        .find(|line| line.contains("1. Kernel (XFS + fio)"))
        .unwrap();
    // A name of 32 columns, then two numbers of 12, two blanks between.
    let cells: Vec<char> = kernel.chars().collect();
    let cell = |from: usize| cells[from..from + 12].iter().collect::<String>();
    assert_eq!((cell(38).trim(), cell(52).trim()), ("N/A", "N/A"));
    let driver = lines.iter().find(|line| line.contains("3. ")).unwrap();
    assert!(driver.contains("22.73         44000"), "{driver}");
    // What ran here is not what ran there.
    assert!(
        !text.contains("bdevperf") && !text.contains("Zero-Copy"),
        "{text}"
    );
    assert!(text.contains("no SPDK"), "{text}");
    assert!(text.trim_end().ends_with("x_qd1.json"));
}

#[test]
fn the_page_needs_nobody_and_every_plot_has_a_mark_for_every_figure() {
    let card = card(true);
    let page = html::render(&card);
    for word in [
        "http:",
        "https:",
        "src=",
        "@import",
        "url(",
        "<link rel=\"stylesheet",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    let marks = |id: &str| {
        let begin = page.find(&format!("id=\"plot-{id}\"")).unwrap();
        let end = begin + page[begin..].find("</figure>").unwrap();
        page[begin..end].matches("class=\"mark\"").count()
    };
    assert_eq!((marks("iops"), marks("latency"), marks("cpu")), (12, 9, 12));
    // Every colour follows the theme.
    assert!(!page.contains("\"#0"), "a colour of plotters' own is left");
}

#[test]
fn what_a_reason_says_cannot_become_part_of_the_page() {
    let page = html::render(&card(false));
    assert!(page.contains("run &lt;as root&gt; &amp; again"));
    let mut card = card(false);
    card.header.placement = "</script><script>alert(1)</script>".into();
    let page = html::render(&card);
    assert!(!page.contains("</script><script>"));
}

#[test]
fn a_flag_of_every_kind_is_explained_where_it_is_shown() {
    let model = DeviceModel::instant();
    let mut card = card(true);
    let model = DeviceModel {
        points: vec![ModelPoint {
            qd: 16,
            iops: 100.0,
            mean_us: 160_000.0,
        }],
        ..model
    };
    let mut one = measured(16, 500.0);
    one.mean_us /= 2.0;
    one.cpu.elsewhere = Some(1.0);
    one.cpu.stolen = Some(1.0);
    let mut pair = counted(10);
    pair.after.unwritten_reads = 1;
    pair.after.refused = 1;
    let two = measured(16, 900.0);
    card.rows.push(row(
        &basis(RowId::Fuse, 16, &model),
        &[one, two],
        Some(pair),
    ));
    let kinds = super::flags::MEANINGS.map(|(kind, _)| kind);
    let found = &card.rows.last().unwrap().flags;
    let of = |flag: &String| {
        kinds
            .iter()
            .position(|kind| flag.starts_with(&format!("{kind}: ")))
    };
    let mut seen: Vec<usize> = found.iter().map(|flag| of(flag).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..kinds.len()).collect::<Vec<_>>(), "{found:?}");
    let (text, page) = (text::render(&card), html::render(&card));
    for (kind, meaning) in super::flags::MEANINGS {
        let begin = &meaning[..20];
        assert!(text.contains(&format!("  {kind}: {begin}")), "{text}");
        assert!(page.contains(&format!("<b>{kind}</b>: ")), "{kind}");
    }
}

#[test]
fn repeats_that_differ_too_much_decide_nothing() {
    let model = DeviceModel::instant();
    let of = |id, rates: [f64; 2]| {
        row(
            &basis(id, 1, &model),
            &rates.map(|rate| measured(1, rate)),
            None,
        )
    };
    let rows = [
        of(RowId::Fuse, [1000.0, 9000.0]),
        of(RowId::Driver, [4000.0, 5000.0]),
    ];
    let found = &comparisons(&rows, &[1])[0];
    assert!(
        found.verdict.starts_with("not decided"),
        "{}",
        found.verdict
    );
}

#[test]
fn a_row_that_others_disturbed_decides_nothing() {
    let model = DeviceModel::instant();
    let of = |id, rate, others| {
        let repeats = [1.0, 1.01].map(|factor| {
            let mut one = measured(1, rate * factor);
            one.cpu.elsewhere = Some(others);
            one
        });
        row(&basis(id, 1, &model), &repeats, None)
    };
    let verdict = |others| {
        let rows = [
            of(RowId::Fuse, 10_000.0, 0.05),
            of(RowId::Driver, 20_000.0, others),
        ];
        comparisons(&rows, &[1])[0].verdict.clone()
    };
    assert!(verdict(0.05).starts_with("2.00 times"), "{}", verdict(0.05));
    assert!(
        verdict(1.5).contains("other programs used the CPUs"),
        "{}",
        verdict(1.5)
    );
}

#[test]
fn one_repeat_is_no_way_to_a_ratio_that_more_would_not_have() {
    let (drive, instant) = (model(), DeviceModel::instant());
    let of = |id, qd, rate, others, model| {
        let mut one = measured(qd, rate);
        one.cpu.elsewhere = Some(others);
        row(&basis(id, qd, model), &[one], None)
    };
    let compared = |fuse, driver| comparisons(&[fuse, driver], &[16]).remove(0);
    let held = compared(
        of(RowId::Fuse, 16, 66_000.0, 0.05, &drive),
        of(RowId::Driver, 16, 69_000.0, 0.05, &drive),
    );
    let disturbed = compared(
        of(RowId::Fuse, 16, 20_000.0, 0.05, &instant),
        of(RowId::Driver, 16, 69_000.0, 0.99, &instant),
    );
    for (found, said) in [
        (held, "the device is the limit of both, which"),
        (disturbed, "not decided: other programs used the CPUs"),
    ] {
        assert!(found.verdict.starts_with(said), "{}", found.verdict);
        assert_eq!((found.iops_ratio, found.interval), (None, None), "{said}");
    }
    let neither = compared(
        of(RowId::Fuse, 16, 20_000.0, 0.05, &instant),
        of(RowId::Driver, 16, 69_000.0, 0.05, &instant),
    );
    assert!(neither.iops_ratio.is_some() && neither.verdict.contains("no interval"));
}

#[test]
fn a_disturbed_row_says_so_in_place_of_a_limit_everywhere() {
    let mut card = card(true);
    let model = DeviceModel::instant();
    let mut one = measured(16, 20_000.0);
    one.cpu.elsewhere = Some(0.99);
    let place = card
        .rows
        .iter()
        .position(|row| row.id == RowId::Fuse && row.qd == 16);
    card.rows[place.unwrap()] = row(&basis(RowId::Fuse, 16, &model), &[one], None);
    card.compare();
    let json = card.to_json();
    assert!(json.contains("\"layer\": \"disturbed\""));
    assert_eq!(Scorecard::from_json(&json).unwrap(), card);
    let text = text::render(&card);
    assert!(text.contains("disturbed *"), "{text}");
    assert!(text.contains("driver against fuse: not decided"), "{text}");
    assert!(html::render(&card).contains("<b>disturbed</b>: elsewhere: 0.99 of 2 CPUs"));
}

#[test]
fn the_text_says_of_every_row_whose_processor_time_is_counted() {
    let card = card(true);
    let text = text::render(&card);
    let (_, legend) = text
        .split_once("CPU s/M, CPU seconds per million I/Os, of:")
        .unwrap();
    for row in &card.rows {
        let line = format!("  {} {}: {}\n", row.id.stage(), row.label, row.cpu_counted);
        assert_eq!(legend.matches(&line).count(), 1, "{line}{text}");
    }
}

#[test]
fn rows_are_found_by_kind_generator_and_depth() {
    let card = card(true);
    assert!(card.row(RowId::Driver, Generator::Bench, 16).is_some());
    assert!(card.row(RowId::Driver, Generator::Fio, 16).is_none());
    let limit = |qd| {
        card.row(RowId::Driver, Generator::Bench, qd)
            .unwrap()
            .limit
            .clone()
    };
    assert_eq!(limit(128).unwrap().layer, Layer::DeviceModel);
    assert_eq!(card.at(16).count(), 4);
}
