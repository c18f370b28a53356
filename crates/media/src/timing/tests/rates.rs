//! Rates and latencies: what the published figures, the caps and the distributions demand.

use super::*;

fn within(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() <= share
}

#[test]
fn each_published_profile_gives_its_sources_figures_within_five_percent() {
    let mut rows = 0;
    for name in Profile::names() {
        let profile = Profile::named(name).expect("a published profile");
        assert_eq!(profile.name(), name);
        for row in profile.measured() {
            let seen = closed_loop(&profile, &Load::of(row, 100_000), 1);
            assert!(within(seen.iops, row.iops, 0.05), "{name} {row:?} {seen:?}");
            if let Some(mean_us) = row.mean_us {
                assert!(
                    within(seen.mean_us, mean_us, 0.05),
                    "{name} {row:?} {seen:?}"
                );
            }
            rows += 1;
        }
    }
    assert_eq!(
        rows, 8,
        "three depths of two drives, and two rates of a third"
    );
}

#[test]
fn published_rows_obey_littles_law() {
    for name in Profile::names() {
        for row in Profile::named(name).expect("published").measured() {
            if let Some(mean_us) = row.mean_us {
                let depth = row.iops * mean_us / 1e6;
                assert!(within(depth, f64::from(row.depth), 0.01), "{name} {row:?}");
            }
        }
    }
}

#[test]
fn the_request_cap_does_not_drift_over_ten_million_requests() {
    let profile = Profile::named("aisio-gen5").expect("published");
    let load = Load {
        depth: 128,
        block_bytes: 512,
        read_percent: 100.0,
        requests: 10_000_000,
    };
    let seen = closed_loop(&profile, &load, 3);
    // A whole gap of 259 ns gained or lost in each million requests would be a part in a million.
    assert!(within(seen.iops, 3_857_938.0, 1e-6), "{seen:?}");
}

#[test]
fn the_byte_cap_holds_at_every_size() {
    let profile = uniform(256, "mean_us = 20\nbytes_per_second_max = 2e9");
    for block_bytes in [32 << 10, 128 << 10, 1 << 20] {
        let load = Load {
            depth: 32,
            block_bytes,
            read_percent: 50.0,
            requests: 20_000,
        };
        let seen = closed_loop(&profile, &load, 1);
        let bytes = seen.iops * f64::from(block_bytes);
        assert!(within(bytes, 2e9, 1e-4), "{block_bytes} {bytes}");
    }
}

#[test]
fn a_lone_large_request_takes_as_long_as_its_bytes() {
    let profile = uniform(
        64,
        "mean_us = 20\niops_max = 1e5\nbytes_per_second_max = 1e9",
    );
    let mut media = TimedMedia::new(null(), &profile, 1);
    for round in 1..4 {
        let now = us(1e4 * f64::from(round));
        start(&mut media, now, 5, Operation::Read, 2048);
        // A mebibyte at a gigabyte in a second.
        assert!(poll(&mut media, now + us(1040.0)).is_empty());
        assert_eq!(poll(&mut media, now + us(1056.0)), [5]);
    }
}

#[test]
fn reads_and_writes_share_the_drive_each_at_its_own_price() {
    let text = "version = 1\nname = \"t\"\nsummary = \"\"\nsource = \"\"\nunits = 1024\n\
        [read]\nmean_us = 20\niops_max = 400000\n[write]\nmean_us = 10\niops_max = 100000\n\
        [flush]\nmean_us = 1\n[deallocate]\nmean_us = 1\n";
    let profile = Profile::from_toml(text).expect("a profile");
    let iops = |read_percent| {
        let load = Load {
            depth: 64,
            block_bytes: 4096,
            read_percent,
            requests: 50_000,
        };
        closed_loop(&profile, &load, 1).iops
    };
    assert!(within(iops(100.0), 400_000.0, 0.001));
    assert!(within(iops(0.0), 100_000.0, 0.001));
    // Half at 2.5 us and half at 10 us.
    assert!(within(iops(50.0), 160_000.0, 0.01));
}

#[test]
fn no_more_requests_are_at_work_than_there_are_units() {
    let profile = uniform(4, "mean_us = 100");
    for (depth, iops, mean_us) in [(1, 1e4, 100.0), (4, 4e4, 100.0), (32, 4e4, 800.0)] {
        let load = Load {
            depth,
            block_bytes: 4096,
            read_percent: 100.0,
            requests: 20_000,
        };
        let seen = closed_loop(&profile, &load, 1);
        assert!(
            within(seen.iops, iops, 0.01) && within(seen.mean_us, mean_us, 0.01),
            "depth {depth}: {seen:?}"
        );
    }
}

#[test]
fn latencies_follow_the_distribution_to_its_tail() {
    let profile = uniform(
        1024,
        "quantiles_us = [[0, 40], [50, 60], [99, 100], [99.9, 2000], [100, 20000]]",
    );
    let mut media = TimedMedia::new(null(), &profile, 9);
    let mut now = Duration::ZERO;
    let mut latencies: Vec<f64> = (0..40_960)
        .map(|_| {
            start(&mut media, now, 0, Operation::Read, 8);
            let due = media.next_due().expect("one is in flight");
            assert_eq!(poll(&mut media, due), [0]);
            let latency = due - now;
            now = due + Duration::from_nanos(137);
            latency.as_secs_f64() * 1e6
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    let at = |percent: f64| latencies[(percent / 100.0 * latencies.len() as f64) as usize];
    for (percent, wanted) in [(1.0, 40.4), (50.0, 60.0), (90.0, 92.65), (99.5, 1155.0)] {
        assert!(
            within(at(percent), wanted, 0.06),
            "p{percent} {}",
            at(percent)
        );
    }
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    let wanted = 0.5 * 50.0 + 0.49 * 80.0 + 0.009 * 1050.0 + 0.001 * 11_000.0;
    assert!(within(mean, wanted, 0.01), "{mean} {wanted}");
}

#[test]
fn flush_and_deallocate_pass_by_a_queue_of_writes_and_zeroes_move_no_bytes() {
    let profile = uniform(
        64,
        "mean_us = 20\niops_max = 10000\nbytes_per_second_max = 1e6",
    );
    let mut media = TimedMedia::new(null(), &profile, 1);
    for token in 0..10 {
        start(&mut media, Duration::ZERO, token, Operation::Write, 8);
    }
    start(&mut media, Duration::ZERO, 20, Operation::Flush, 0);
    start(
        &mut media,
        Duration::ZERO,
        21,
        Operation::Deallocate,
        1 << 30,
    );
    assert_eq!(poll(&mut media, us(15.0)), [20, 21]);

    let mut media = TimedMedia::new(null(), &profile, 1);
    let zeroes = Operation::WriteZeroes { deallocate: false };
    for token in 0..3 {
        start(&mut media, Duration::ZERO, token, zeroes, 1 << 20);
    }
    start(&mut media, Duration::ZERO, 3, Operation::Verify, 1 << 20);
    // Four requests at 10,000 in a second; their bytes would take a quarter of an hour.
    assert_eq!(poll(&mut media, us(340.0)), [0, 1, 2, 3]);
}

#[test]
fn an_idle_drive_saves_nothing_up() {
    let profile = uniform(16, "mean_us = 20\niops_max = 100000");
    let mut media = TimedMedia::new(null(), &profile, 1);
    start(&mut media, Duration::ZERO, 0, Operation::Read, 8);
    let mut now = Duration::ZERO;
    // Times wrap around after some hours; no pause may look like a backlog.
    for pause in 0..60 {
        now += Duration::from_secs(pause * 1000 + 1);
        media.set_time(now);
        let mut before = poll(&mut media, now);
        before.sort_unstable();
        assert_eq!(before.len(), if pause == 0 { 1 } else { 0 });
        for token in 0..8 {
            start(&mut media, now, token, Operation::Read, 8);
        }
        // The eighth begins 70 us later.
        assert_eq!(poll(&mut media, now + us(85.0)).len(), 7);
        assert_eq!(poll(&mut media, now + us(95.0)).len(), 1);
    }
}
