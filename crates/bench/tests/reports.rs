//! Reports: what they claim, how they are printed, saved and compared.

mod support;

use bench::diff::{Verdict, compare};
use bench::fio_json;
use bench::lane::Verified;
use bench::report::{Figure, Report};
use bench::runner::FellBehind;
use bench::text;
use bench::workload::{Distribution, Job, Pattern, Timestamps};
use proptest::prelude::*;
use support::{circumstances, little, report, run};

fn job(rw: Pattern) -> Job {
    Job {
        rw,
        qd: 4,
        precondition: true,
        ..Job::default()
    }
}

const RATES: [u64; 3] = [10_000, 11_000, 10_500];

#[test]
fn figures_follow_from_counts() {
    let report = report(&job(Pattern::RandRw), &RATES);
    let repeat = report.median_repeat().unwrap();
    assert_eq!(repeat.iops, 10_500.0);
    assert_eq!(repeat.read.ios + repeat.write.ios, 10_500);
    assert_eq!(repeat.read.bytes, 5250 * 4096);
    assert!((repeat.mib_per_second - 10_500.0 / 256.0).abs() < 1e-6);
    assert_eq!(repeat.doorbells_per_io.value(), Some(&(1312.0 / 10_500.0)));
    assert!(
        (little(&report).ratio() - 1.0).abs() < 0.02,
        "{:?}",
        little(&report)
    );
    let latency = repeat.read.latency.value().unwrap();
    assert_eq!(latency.classes.iter().sum::<u64>(), latency.count);
    assert!(latency.percentile(50.0) <= latency.percentile(99.9));
    assert!(latency.percentile(99.99).unwrap() <= latency.most_ns);
}

#[test]
fn a_report_survives_its_file() {
    for timestamps in [Timestamps::None, Timestamps::Poll] {
        let job = Job {
            timestamps,
            random: Distribution::Zipf(1.1),
            ..job(Pattern::RandRead)
        };
        let report = report(&job, &RATES);
        assert_eq!(fio_json::parse(&fio_json::render(&report)).unwrap(), report);
    }
}

#[test]
fn the_file_has_every_field_that_fios_readers_need() {
    let report = report(&job(Pattern::RandRead), &RATES);
    let root: serde_json::Value = serde_json::from_str(&fio_json::render(&report)).unwrap();
    for key in ["fio version", "timestamp", "time", "global options", "jobs"] {
        assert!(root.get(key).is_some(), "{key}");
    }
    for key in ["bs", "rw", "iodepth", "numjobs", "runtime", "ioengine"] {
        assert!(root["global options"][key].is_string(), "{key}");
    }
    let job = &root["jobs"][0];
    for key in [
        "job options",
        "usr_cpu",
        "sys_cpu",
        "latency_ns",
        "latency_us",
        "latency_ms",
    ] {
        assert!(job.get(key).is_some(), "{key}");
    }
    for direction in ["read", "write"] {
        for key in ["iops", "iops_stddev", "bw", "total_ios"] {
            assert!(job[direction][key].is_number(), "{direction} {key}");
        }
        for key in ["/lat_ns/mean", "/lat_ns/stddev", "/clat_ns/mean"] {
            assert!(
                job[direction].pointer(key).unwrap().is_number(),
                "{direction} {key}"
            );
        }
    }
    assert!(job["read"]["clat_ns"]["percentile"]["99.000000"].is_u64());
    let shares: f64 = ["latency_ns", "latency_us", "latency_ms"]
        .iter()
        .flat_map(|key| job[key].as_object().unwrap().values())
        .map(|share| share.as_f64().unwrap())
        .sum();
    assert!((shares - 100.0).abs() < 1e-6, "{shares}");
    assert_eq!(fio_json::file_name(&report), "randread-4-1.json");
}

#[test]
fn the_block_names_every_promised_figure() {
    let text = text::block(&report(&job(Pattern::RandRead), &RATES));
    for wanted in [
        "IOPS",
        "MiB/s",
        "read mean",
        "read p50",
        "read p90",
        "read p99 ",
        "read p99.9",
        "read max",
        "ticks per I/O",
        "doorbells/I/O",
        "CPU per I/O",
        "effective depth",
        "working set",
        "moved",
        "ceiling",
        "ping-pong",
        "not run: needs two CPUs",
        "repeats",
        "known to about",
        "not run: --verify was not given",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(!text.contains("write"), "{text}");
}

#[test]
fn what_was_not_measured_says_so_and_is_never_zero() {
    let job = Job {
        timestamps: Timestamps::None,
        ..job(Pattern::RandRead)
    };
    let report = report(&job, &RATES);
    let text = text::block(&report);
    assert!(
        text.contains("read latency     not run: --timestamps none"),
        "{text}"
    );
    assert!(text.contains("effective depth  not run"), "{text}");
    let table = text::table(&[report]);
    assert!(table.lines().nth(1).unwrap().contains(" - "), "{table}");
}

fn warned(report: &Report, about: &str) -> bool {
    report
        .warnings
        .iter()
        .any(|warning| warning.hides.contains(about))
}

/// A report whose circumstances or outcomes were changed before it was made.
fn changed(
    job: &Job,
    change: impl Fn(&mut bench::report::Circumstances, &mut bench::runner::JobRun),
) -> Report {
    let (mut around, mut run) = (circumstances(), run(job, &RATES));
    change(&mut around, &mut run);
    let geometry = bench::workload::Geometry {
        block_bytes: 512,
        blocks: 1 << 17,
        transfer_bytes_max: 1 << 20,
        moves_data: true,
    };
    let plan = job.plan(geometry).unwrap();
    Report::new(around, job, &plan, &run, &bench::clock::Clock::monotonic())
}

#[test]
fn a_quiet_run_warns_only_about_its_clock() {
    let report = report(&job(Pattern::RandRead), &RATES);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.is_clean());
}

#[test]
fn each_doubt_is_printed_with_advice() {
    let base = job(Pattern::RandRead);
    let null = changed(&base, |around, _| around.device.moves_data = false);
    assert!(warned(&null, "no data moved") && text::block(&null).contains("no data moved"));
    let cold = changed(
        &Job {
            precondition: false,
            ..base.clone()
        },
        |_, _| {},
    );
    assert!(warned(&cold, "never written"));
    let tiny = changed(
        &Job {
            size: Some(1 << 18),
            ..base.clone()
        },
        |_, _| {},
    );
    assert!(warned(&tiny, "cache"));
    let noisy = changed(&base, |_, run| run.outcomes[0].seconds = 2.0);
    assert!(warned(&noisy, "spreads") && warned(&noisy, "Little"));
    let short = changed(&base, |_, run| run.outcomes[0].seconds = 0.01);
    assert!(warned(&short, "tenth of a second"));
    let starved = changed(&base, |_, run| run.outcomes[0].cpu_seconds = 0.5);
    assert!(warned(&starved, "off their cores"));
    let behind = changed(
        &Job {
            rate: Some(5),
            ..base.clone()
        },
        |_, run| {
            run.outcomes[0].fell_behind = Some(FellBehind {
                after_seconds: 2.0,
                lag_seconds: 1.0,
            });
        },
    );
    assert!(warned(&behind, "offering stopped after 2.0 s"));
    let moved = changed(&base, |around, _| {
        around.ping_pong = Figure::Value(bench::regime::PingPong {
            before_ns: 60.0,
            after_ns: 400.0,
        });
    });
    assert!(warned(&moved, "60 ns (near) before, 400 ns (far) after"));
    let wrong = changed(
        &Job {
            verify: true,
            ..base
        },
        |_, run| {
            run.outcomes[0].verified = Verified {
                ios_checked: 9,
                ios_wrong: 2,
                ..Verified::default()
            };
        },
    );
    assert!(!wrong.is_clean() && text::block(&wrong).contains("WRONG DATA in 2 of 9"));
    for report in [
        null, cold, tiny, noisy, short, starved, behind, moved, wrong,
    ] {
        assert!(
            report
                .warnings
                .iter()
                .all(|warning| !warning.advice.is_empty())
        );
    }
}

#[test]
fn more_threads_that_never_sleep_than_cpus_are_warned_about() {
    let crowded = |core_mask: &[usize], threads, controller_threads| {
        let job = Job {
            core_mask: core_mask.to_vec(),
            threads,
            ..job(Pattern::RandRead)
        };
        let report = changed(&job, |around, _| {
            around.device.controller_threads = controller_threads;
        });
        warned(&report, "share")
    };
    // The made-up machine has two CPUs.
    assert!(crowded(&[1], 1, 1) && crowded(&[1], 2, 0) && crowded(&[], 2, 1));
    assert!(!crowded(&[1], 1, 0) && !crowded(&[0, 1], 1, 1) && !crowded(&[], 1, 1));
}

#[test]
fn a_faster_run_is_called_faster_and_its_reverse_slower() {
    let job = job(Pattern::RandRead);
    let (old, new) = (
        report(&job, &[10_000, 10_100, 9_900]),
        report(&job, &[12_000, 12_100, 11_900]),
    );
    let forth = compare(&old, &new).unwrap();
    assert!(
        matches!(forth.entries[0].verdict, Verdict::Faster(_)),
        "{forth:?}"
    );
    assert!(!forth.has_regression());
    let back = compare(&new, &old).unwrap();
    assert!(
        back.has_regression() && text::diff(&back).contains("slower"),
        "{}",
        text::diff(&back)
    );
    let same = compare(&old, &old).unwrap();
    assert!(
        same.entries
            .iter()
            .all(|e| matches!(e.verdict, Verdict::NoDifference(_))),
        "{same:?}"
    );
}

/// A report whose figures differ from those of `base` by chance alone, each for itself.
fn by_chance(base: &Report, random: &mut bench::access::Random) -> Report {
    let mut noise = || {
        let sum: f64 = (0..12)
            .map(|_| random.next() as f64 / u64::MAX as f64)
            .sum();
        (0.1 * (sum - 6.0)).exp()
    };
    let mut report = base.clone();
    for repeat in &mut report.repeats {
        repeat.iops *= noise();
        for direction in [&mut repeat.read, &mut repeat.write] {
            direction.iops *= noise();
            if let Figure::Value(latency) = &mut direction.latency {
                latency.mean_ns *= noise();
                for percentile in &mut latency.percentiles {
                    percentile.ns = (percentile.ns as f64 * noise()) as u64;
                }
            }
        }
        repeat.ticks_per_io = Figure::Value(90_000.0 * noise());
        repeat.process_cpu_seconds_per_io = Figure::Value(1e-6 * noise());
    }
    report
}

#[test]
fn runs_that_differ_by_chance_alone_differ_in_no_figure_19_times_of_20() {
    const COMPARISONS: usize = 1000;
    let mut random = bench::access::Random::new(7);
    let base = report(&job(Pattern::RandRw), &[1000; 5]);
    let alarms = (0..COMPARISONS)
        .filter(|_| {
            let (old, new) = (by_chance(&base, &mut random), by_chance(&base, &mut random));
            let diff = compare(&old, &new).unwrap();
            assert_eq!(diff.entries.len(), 15);
            diff.entries
                .iter()
                .any(|entry| !matches!(entry.verdict, Verdict::NoDifference(_)))
        })
        .count();
    assert!(alarms <= COMPARISONS * 65 / 1000, "{alarms} false alarms");
}

#[test]
fn repeats_that_agree_do_not_make_a_tiny_difference_certain() {
    let mut old = report(&job(Pattern::RandRead), &RATES);
    old.repeats = vec![old.repeats[0].clone(); 3];
    let scaled = |by: f64| {
        let mut new = old.clone();
        for repeat in &mut new.repeats {
            repeat.iops *= by;
        }
        compare(&old, &new).unwrap()
    };
    for tiny in [0.995, 1.0, 1.005] {
        let diff = scaled(tiny);
        assert!(
            matches!(diff.entries[0].verdict, Verdict::NoDifference(_)),
            "{diff:?}"
        );
    }
    assert!(scaled(0.97).has_regression() && !scaled(1.03).has_regression());
    // One nanosecond of forty is what the clock resolves, not a difference.
    let with_mean = |ns: f64| {
        let mut new = old.clone();
        for repeat in &mut new.repeats {
            if let Figure::Value(latency) = &mut repeat.read.latency {
                latency.mean_ns = ns;
            }
        }
        new
    };
    let diff = compare(&with_mean(40.0), &with_mean(41.0)).unwrap();
    assert!(!diff.has_regression(), "{diff:?}");
    assert!(
        compare(&with_mean(40.0), &with_mean(43.0))
            .unwrap()
            .has_regression()
    );
}

#[test]
fn a_comparison_says_how_sure_it_is_of_all_figures_together() {
    let report = report(&job(Pattern::RandRead), &RATES);
    let diff = compare(&report, &report).unwrap();
    let text = text::diff(&diff);
    // IOPS, five latencies, ticks and CPU: 1 - 0.05 / 8.
    assert_eq!(diff.entries.len(), 8, "{text}");
    for words in [
        "holds with 99.38 %",
        "together hold with 95 %",
        "less than 1 %",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_report_of_an_earlier_version_is_read_without_the_cpu_time_that_it_did_not_count() {
    let report = report(&job(Pattern::RandRead), &RATES);
    let now = fio_json::render(&report);
    let mut file: serde_json::Value = serde_json::from_str(&now).unwrap();
    let own = &mut file["dataplane-emu"];
    own["job"]["rwmixread"] = 50.into();
    own["device"]
        .as_object_mut()
        .unwrap()
        .remove("controller_threads");
    for repeat in own["repeats"].as_array_mut().unwrap() {
        let repeat = repeat.as_object_mut().unwrap();
        repeat.remove("process_cpu_seconds_per_io");
        repeat.insert(
            "cpu_seconds_per_io".to_owned(),
            serde_json::json!({"value": 1e-6}),
        );
    }
    let earlier = fio_json::parse(&file.to_string()).unwrap();
    let diff = compare(&earlier, &report).unwrap();
    let cpu = diff
        .entries
        .iter()
        .find(|entry| entry.figure == "CPU s per I/O");
    assert!(
        cpu.is_some_and(|entry| matches!(entry.verdict, Verdict::Undecided(_))),
        "{diff:?}"
    );
}

#[test]
fn one_repeat_is_undecided_and_says_what_to_do() {
    let job = job(Pattern::RandRead);
    let diff = compare(&report(&job, &[10_000]), &report(&job, &[20_000])).unwrap();
    assert!(
        text::diff(&diff).contains("undecided: 1 and 1 repeats"),
        "{}",
        text::diff(&diff)
    );
}

#[test]
fn different_work_is_refused_by_key() {
    let base = job(Pattern::RandRead);
    for (key, other) in [
        (
            "bs",
            Job {
                bs: 512,
                ..base.clone()
            },
        ),
        (
            "qd",
            Job {
                qd: 8,
                ..base.clone()
            },
        ),
        ("rw", job(Pattern::RandWrite)),
        (
            "size",
            Job {
                size: Some(1 << 20),
                ..base.clone()
            },
        ),
        (
            "random",
            Job {
                random: Distribution::Zipf(0.5),
                ..base.clone()
            },
        ),
        (
            "timestamps",
            Job {
                timestamps: Timestamps::Io,
                ..base.clone()
            },
        ),
    ] {
        let error = compare(&report(&base, &RATES), &report(&other, &RATES)).unwrap_err();
        assert!(
            error.differences.iter().any(|d| d.key == key),
            "{key}: {error}"
        );
    }
    let reseeded = Job {
        seed: 9,
        repeats: 7,
        ..base.clone()
    };
    assert!(compare(&report(&base, &RATES), &report(&reseeded, &RATES)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_comparison_turned_round_says_the_opposite(
        old in prop::collection::vec(1000u64..1500, 2..5),
        new in prop::collection::vec(1000u64..2000, 2..5),
    ) {
        let job = job(Pattern::RandRw);
        let (old, new) = (report(&job, &old), report(&job, &new));
        let (forth, back) = (compare(&old, &new).unwrap(), compare(&new, &old).unwrap());
        for (a, b) in forth.entries.iter().zip(&back.entries) {
            let opposite = matches!(
                (&a.verdict, &b.verdict),
                (Verdict::Faster(_), Verdict::Slower(_))
                    | (Verdict::Slower(_), Verdict::Faster(_))
                    | (Verdict::NoDifference(_), Verdict::NoDifference(_))
                    | (Verdict::Undecided(_), Verdict::Undecided(_))
            );
            prop_assert!(opposite, "{:?} against {:?}", a, b);
        }
    }
}
