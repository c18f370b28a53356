//! Replays on whole devices: the right blocks, the right order, honest times.

use core::time::Duration;

use media::Operation;
use proptest::prelude::*;

use super::super::layout::{Layout, Outside};
use super::super::report::{Circumstances, DeviceCounts, ReplayReport, parse};
use super::super::run::Plan;
use super::super::trace::Stage;
use super::super::{Kind, Op, text};
use super::emit::{self, op};
use super::rig::{Backwards, Replayed, Saw, clock, fast, play, ram, recorded, try_play};
use crate::pattern::Stamp;
use crate::report::{DeviceFacts, Figure};

const BLOCK: u64 = 512;

/// What every block must hold after the I/Os ran one after another: which write it is from; zero for none.
fn model(ops: &[Op], layout: &Layout, blocks: u64) -> Vec<Option<u32>> {
    let mut held = vec![None; blocks as usize];
    let mut writes = 0;
    for op in ops {
        let io = layout.place(op);
        let range = io.lba as usize..(io.lba + io.blocks) as usize;
        match op.kind {
            Kind::Write => {
                writes += 1;
                held[range].fill(Some(writes));
            }
            Kind::Discard => held[range].fill(None),
            Kind::Read | Kind::Flush => {}
        }
    }
    held
}

fn check(replayed: Replayed, ops: &[Op], seed: u64) {
    let contents_of = replayed.layout.clone();
    let contents = replayed.contents();
    let stamp = Stamp::new(seed, BLOCK as u32);
    let held = model(ops, &contents_of, contents.len() as u64 / BLOCK);
    for (lba, (block, held)) in (0..).zip(contents.chunks(BLOCK as usize).zip(held)) {
        match held {
            Some(write) => assert_eq!(stamp.check(lba, write, block), Ok(())),
            None => assert!(
                block.iter().all(|&byte| byte == 0),
                "block {lba} was never written"
            ),
        }
    }
}

/// I/Os that overlap all the time: up to 12 blocks somewhere on 48.
fn crowded() -> impl Strategy<Value = Vec<Op>> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let one = (kind, 0u64..36, 1u64..12);
    let one = one.prop_map(|(kind, block, blocks)| match kind {
        Kind::Flush => op(kind, 0, 0, 0),
        kind => op(kind, block * BLOCK, blocks * BLOCK, 0),
    });
    prop::collection::vec(one, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn blocks_hold_what_the_trace_wrote_last_on_a_device_that_runs_commands_backwards(
        ops in crowded(), qd in 1u32..33, timed: bool,
    ) {
        let plan = if timed { Plan { qd, ..recorded(1.0) } } else { fast(qd) };
        let (medium, _seen) = Backwards::new(48, Duration::ZERO);
        let replayed = play(medium, emit::iolog(3, &ops).as_bytes(), &plan);
        check(replayed, &ops, plan.seed);
    }
}

/// Some of everything.
fn mixed(count: u64) -> Vec<Op> {
    let one = |at: u64| match at % 7 {
        0 | 3 | 5 => op(Kind::Read, at * 4096, 4096, at),
        6 => op(Kind::Flush, 0, 0, at),
        4 => op(Kind::Discard, at * 4096, 8192, at),
        _ => op(Kind::Write, at * 4096, 4096 * (1 + at % 2), at),
    };
    (0..count).map(one).collect()
}

#[test]
fn the_device_counts_what_the_trace_holds() {
    let ops = mixed(700);
    for log in [emit::iolog(2, &ops), emit::iolog(3, &ops)] {
        let replayed = play(ram(8192), log.as_bytes(), &fast(32));
        let (ios, counters) = (replayed.survey.ios, replayed.counters);
        assert_eq!(
            (ios.read, ios.write, ios.flush, ios.discard),
            (300, 200, 100, 100)
        );
        assert_eq!(
            (counters.reads, counters.writes, counters.flushes),
            (300, 200, 100)
        );
        assert_eq!(counters.commands, ios.sum());
        let done = replayed.outcome.kinds.map(|_, kind| (kind.ios, kind.bytes));
        let bytes = replayed.survey.bytes;
        assert_eq!(done.read, (300, bytes.read));
        assert_eq!(done.write, (200, bytes.write));
        assert_eq!(counters.written_bytes, bytes.write);
        check(replayed, &ops, 1);
    }
}

#[test]
fn a_block_trace_replays_with_its_forced_unit_access() {
    let mut ops = mixed(70);
    for op in ops
        .iter_mut()
        .filter(|op| op.kind == Kind::Write)
        .step_by(2)
    {
        op.fua = true;
    }
    let (medium, seen) = Backwards::new(1024, Duration::ZERO);
    let trace = emit::blktrace(&ops, 1, true).remove(0);
    let replayed = play(medium, &trace, &fast(8));
    check(replayed, &ops, 1);
    let (mut with, mut without) = (0, 0);
    for saw in seen.try_iter() {
        if let Saw::Started(request) = saw
            && request.op == Operation::Write
        {
            *(if request.fua { &mut with } else { &mut without }) += 1;
        }
    }
    assert_eq!((with, without), (10, 10));
}

/// Writes in flight at the medium when each flush came.
fn writes_under_flushes(seen: impl Iterator<Item = Saw>) -> Vec<u32> {
    let (mut writes, mut found) = (0, Vec::new());
    for saw in seen {
        match saw {
            Saw::Started(request) if request.op == Operation::Write => writes += 1,
            Saw::Ended(Operation::Write) => writes -= 1,
            Saw::Started(request) if request.op == Operation::Flush => found.push(writes),
            _ => {}
        }
    }
    found
}

#[test]
fn a_sync_covers_the_writes_before_it_and_a_block_layers_flush_does_not_wait_unless_times_are_dropped()
 {
    let mut ops: Vec<Op> = (0..40)
        .map(|at| op(Kind::Write, at * 4096, 4096, 0))
        .collect();
    for at in [10, 20, 30] {
        ops.insert(at, op(Kind::Flush, 0, 0, 0));
    }
    let log = emit::iolog(3, &ops).into_bytes();
    let blocks = emit::blktrace(&ops, 1, false).remove(0);
    for (trace, plan, waits) in [
        (&log, fast(64), true),
        (&log, recorded(1.0), true),
        (&blocks, fast(64), true),
        (&blocks, recorded(1.0), false),
    ] {
        let (medium, seen) = Backwards::new(1024, Duration::ZERO);
        let counted = play(medium, trace, &plan).outcome.counted;
        let under = writes_under_flushes(seen.try_iter());
        assert_eq!(under.len(), 3);
        if waits {
            assert_eq!((under, counted.overtaking), (vec![0; 3], 0));
            assert_eq!(counted.held_back, 3);
        } else {
            assert!(under.iter().all(|&writes| writes > 0), "{under:?}");
            assert_eq!((counted.overtaking, counted.held_back), (3, 0));
        }
    }
}

#[test]
fn an_io_longer_than_a_command_takes_several_and_counts_once() {
    let ops = [
        op(Kind::Write, 512, 5 << 20, 0),
        op(Kind::Read, 0, 5 << 20, 0),
        op(Kind::Discard, 1024, 3 << 20, 0),
    ];
    let replayed = play(ram(16 << 10), emit::iolog(3, &ops).as_bytes(), &fast(2));
    let counted = &replayed.outcome.counted;
    assert!(counted.commands.write >= 5, "{counted:?}");
    assert_eq!(replayed.counters.commands, counted.commands.sum());
    assert_eq!(replayed.outcome.kinds.map(|_, kind| kind.ios).sum(), 3);
    assert_eq!(replayed.outcome.kinds.write.latency.count(), 1);
    check(replayed, &ops, 1);
}

#[test]
fn ios_inside_blocks_grow_and_are_counted() {
    let ops = [
        op(Kind::Write, 100, 1000, 0),
        op(Kind::Read, 1, 1, 0),
        op(Kind::Discard, 1, 510, 0),
    ];
    let replayed = play(ram(64), emit::iolog(3, &ops).as_bytes(), &fast(4));
    let counted = &replayed.outcome.counted;
    assert_eq!((counted.aligned, counted.dropped), (3, 1));
    assert_eq!(replayed.counters.written_bytes, 3 * BLOCK);
    check(replayed, &ops, 1);
}

#[test]
fn recorded_times_are_kept_at_any_speed_and_an_idle_device_is_slept_over() {
    let ops = [
        op(Kind::Write, 0, 512, 0),
        op(Kind::Read, 0, 512, 300_000),
        op(Kind::Flush, 0, 0, 600_000),
    ];
    for version in [2, 3] {
        for (speed, wanted) in [(1.0, 0.600), (4.0, 0.150)] {
            let log = emit::iolog(version, &ops);
            let replayed = play(ram(64), log.as_bytes(), &recorded(speed));
            let outcome = &replayed.outcome;
            // A loaded machine makes it longer, nothing makes it shorter.
            assert!(outcome.seconds >= wanted * 0.999, "{}", outcome.seconds);
            assert!(outcome.seconds < wanted + 5.0, "{}", outcome.seconds);
            assert_eq!(outcome.lag.count(), 3);
            assert!(
                outcome.asleep_seconds > wanted / 10.0,
                "{}",
                outcome.asleep_seconds
            );
        }
        let replayed = play(ram(64), emit::iolog(version, &ops).as_bytes(), &fast(8));
        assert_eq!(
            (
                replayed.outcome.lag.count(),
                replayed.outcome.asleep_seconds
            ),
            (0, 0.0)
        );
    }
}

#[test]
fn a_higher_speed_shortens_what_was_recorded() {
    let ops = [
        op(Kind::Read, 0, 512, 0),
        op(Kind::Read, 0, 512, 10_000_000),
    ];
    let replayed = play(ram(64), emit::iolog(3, &ops).as_bytes(), &recorded(200.0));
    // Ten seconds become a twentieth of one; the rest is room for a loaded machine.
    let seconds = replayed.outcome.seconds;
    assert!((0.0499..5.0).contains(&seconds), "{seconds}");
}

fn circumstances() -> Circumstances {
    Circumstances {
        version: "0".to_owned(),
        timestamp: 0,
        path: "trace".to_owned(),
        events: Stage::Queue,
        outside: Outside::Refuse,
        device: DeviceFacts {
            uri: "ram:1M".to_owned(),
            placement: "here".to_owned(),
            controller_threads: 0,
            block_bytes: 512,
            blocks: 2048,
            moves_data: true,
        },
        processor: "processor".to_owned(),
        processors: 1,
        kernel: "6".to_owned(),
        device_counts: Figure::NotRun("a test".to_owned()),
    }
}

fn report(replayed: &Replayed, plan: &Plan) -> ReplayReport {
    let (survey, layout) = (&replayed.survey, &replayed.layout);
    ReplayReport::new(
        circumstances(),
        survey,
        layout,
        plan,
        &replayed.outcome,
        &clock(),
    )
}

#[test]
fn a_device_that_counts_something_else_is_reported() {
    let ops = mixed(7);
    let replayed = play(ram(1024), emit::iolog(3, &ops).as_bytes(), &fast(4));
    let commands = &replayed.outcome.counted.commands;
    let honest = DeviceCounts {
        commands: commands.sum(),
        reads: 3,
        writes: 2,
        flushes: 1,
        refused: 0,
    };
    let lost = DeviceCounts {
        flushes: 0,
        ..honest
    };
    for (counts, warned) in [(honest, false), (lost, true)] {
        let mut around = circumstances();
        around.device_counts = Figure::Value(counts);
        let (survey, layout) = (&replayed.survey, &replayed.layout);
        let outcome = &replayed.outcome;
        let report = ReplayReport::new(around, survey, layout, &fast(4), outcome, &clock());
        let hides = |w: &crate::report::Warning| w.hides.contains("the device counted");
        assert_eq!(report.warnings.iter().any(hides), warned);
    }
}

#[test]
fn a_slow_device_is_late_and_its_latency_counts_from_the_recorded_time() {
    let ops: Vec<Op> = (0..40)
        .map(|at| op(Kind::Write, at * 512, 512, at))
        .collect();
    let (medium, _seen) = Backwards::new(64, Duration::from_millis(1));
    let plan = Plan {
        qd: 2,
        ..recorded(1.0)
    };
    let replayed = play(medium, emit::iolog(3, &ops).as_bytes(), &plan);
    let outcome = &replayed.outcome;
    let clock = clock();
    let late = clock.seconds(outcome.counted.last_lag);
    assert!(late >= 0.035, "{late}");
    let (_, longest) = outcome.kinds.write.latency.extremes().unwrap();
    assert!(clock.seconds(longest) >= 0.038, "{longest}");
    // Two at a time, each in flight for 2 ms at most but the one that is always passed over: without their wait in front of
    // the device the mean would be that.
    let latency = &outcome.kinds.write.latency;
    let mean = clock.seconds(latency.sum()) / latency.count() as f64;
    assert!(mean >= 0.015, "{mean}");
    assert!((1.0..=2.05).contains(&outcome.depth), "{}", outcome.depth);
    let report = report(&replayed, &plan);
    let hides = |words: &str| report.warnings.iter().any(|w| w.hides.contains(words));
    assert!(hides("did not keep up"), "{:?}", report.warnings);
    let shown = text::block(&report);
    assert!(
        shown.contains("sent late by") && shown.contains("40 writes"),
        "{shown}"
    );
    assert_eq!(parse(&report.render()), Ok(report));
}

#[test]
fn a_replay_ends_where_it_was_told_to() {
    let ops: Vec<Op> = (0..100)
        .map(|at| op(Kind::Read, 0, 512, at * 10_000))
        .collect();
    let log = emit::iolog(3, &ops);
    let plan = Plan {
        ios: Some(7),
        ..fast(4)
    };
    let replayed = play(ram(64), log.as_bytes(), &plan);
    assert_eq!((replayed.counters.reads, replayed.outcome.cut), (7, false));
    let plan = Plan {
        runtime_ms: Some(45),
        ..recorded(1.0)
    };
    let replayed = play(ram(64), log.as_bytes(), &plan);
    assert!(replayed.outcome.cut);
    assert!(
        (1..=5).contains(&replayed.counters.reads),
        "{}",
        replayed.counters.reads
    );
    assert!(!report(&replayed, &plan).complete);
}

#[test]
fn a_version_2_log_without_waits_runs_in_its_order_and_says_that_it_has_no_times() {
    let log =
        "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf sync 0 0\nf read 0 4096\nf close\n";
    let plan = recorded(1.0);
    let replayed = play(ram(64), log.as_bytes(), &plan);
    assert_eq!(replayed.counters.commands, 3);
    let report = report(&replayed, &plan);
    let reason = |w: &crate::report::Warning| w.hides.contains("3 of 3 I/Os have no recorded time");
    assert!(report.warnings.iter().any(reason), "{:?}", report.warnings);
    assert!(matches!(&report.lag, Figure::NotRun(reason) if reason.contains("records no times")));
}

#[test]
fn a_trace_that_changed_since_it_was_surveyed_ends_the_replay_with_its_line() {
    let good = emit::iolog(3, &mixed(20));
    let bad = format!("{good}9 f jump 0 0\n");
    let result = try_play(
        ram(1024),
        good.as_bytes(),
        bad.as_bytes(),
        &fast(4),
        Outside::Refuse,
    );
    let error = result.err().expect("refused").to_string();
    assert!(
        error.contains("trace line 25: found the action \"jump\""),
        "{error}"
    );
    // What has come to lie beyond the device is not sent.
    let far = format!("{good}9 f write 1000000000 4096\n");
    let replayed = try_play(
        ram(1024),
        good.as_bytes(),
        far.as_bytes(),
        &fast(4),
        Outside::Refuse,
    );
    let counted = replayed
        .unwrap_or_else(|error| panic!("{error}"))
        .outcome
        .counted;
    assert_eq!((counted.failures, counted.dropped), (0, 1));
}
