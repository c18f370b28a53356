//! What a rule does, on media that answer at once.

use core::time::Duration;

use media::{Media, Operation};
use spec::nvme::Status;

use crate::support::{BLOCK, World, ram, wrong_bits};

fn world(rules: &str) -> World {
    World::new(Box::new(ram()), &format!("[[rule]]\n{rules}"))
}

const FINE: Option<Status> = Some(Status::SUCCESS);

#[test]
fn a_failed_write_is_done_not_at_all_or_wholly_or_in_its_first_blocks() {
    let rules = |effect: &str| {
        format!("op = \"write\"\nskip = 1\ndo = \"fail\"\nstatus = \"write-fault\"\n{effect}")
    };
    let cases = [
        ("", [1, 1, 1, 1]),
        ("effect = \"none\"", [1, 1, 1, 1]),
        ("effect = \"full\"", [2, 2, 2, 2]),
        ("effect = \"partial\"", [2, 2, 1, 1]),
        ("effect = \"partial\"\ndone_blocks = 1", [2, 1, 1, 1]),
        ("effect = \"partial\"\ndone_blocks = 0", [1, 1, 1, 1]),
        // A part is never the whole.
        ("effect = \"partial\"\ndone_blocks = 100", [2, 2, 2, 1]),
    ];
    for (effect, wanted) in cases {
        let mut world = world(&rules(effect));
        assert_eq!(world.write(10, 4, 1), FINE);
        assert_eq!(world.write(10, 4, 2), Some(Status::WRITE_FAULT));
        for (block, value) in (10..).zip(wanted) {
            assert!(world.holds(block, value), "{effect}: block {block}");
        }
        assert!(world.holds(9, 0) && world.holds(14, 0));
        assert_eq!(world.medium.counts().faults, 1);
    }
}

#[test]
fn commands_without_data_are_done_in_part_as_well() {
    for op in [
        Operation::Deallocate,
        Operation::WriteZeroes { deallocate: false },
    ] {
        let mut world =
            world("skip = 1\ncount = 1\ndo = \"fail\"\nsct = 0\nsc = 6\neffect = \"partial\"");
        world.write(0, 4, 7);
        assert_eq!(world.run(op, 0, 4), Some(Status::INTERNAL_ERROR));
        let left = [0, 1, 2, 3].map(|block| world.holds(block, 7));
        assert_eq!(left, [false, false, true, true]);
    }
}

#[test]
fn a_failed_read_moves_nothing_or_all_or_the_first_blocks() {
    for (effect, moved) in [("none", 0), ("full", 4), ("partial", 2)] {
        let mut world = world(&format!(
            "op = \"read\"\ndo = \"fail\"\nstatus = \"unrecovered-read-error\"\neffect = \"{effect}\""
        ));
        world.write(0, 4, 5);
        let (status, bytes) = world.read(0, 4);
        assert_eq!(status, Some(Status::UNRECOVERED_READ_ERROR));
        let (there, not) = bytes.split_at(moved * BLOCK);
        assert!(there.iter().all(|&byte| byte == 5), "{effect}");
        assert!(not.iter().all(|&byte| byte == 0xEE), "{effect}");
    }
}

#[test]
fn a_status_is_named_or_numbered_and_may_forbid_to_try_again() {
    let answer = |keys: &str| world(&format!("do = \"fail\"\n{keys}")).run(Operation::Verify, 0, 1);
    assert_eq!(
        answer("status = \"capacity-exceeded\""),
        Some(Status::CAPACITY_EXCEEDED)
    );
    assert_eq!(
        answer("sct = 2\nsc = 0x81"),
        Some(Status::UNRECOVERED_READ_ERROR)
    );
    assert_eq!(answer("sct = 7\nsc = 1"), Some(Status::new(7, 1)));
    assert_eq!(
        answer("status = \"write-fault\"\ndnr = true"),
        Some(Status::WRITE_FAULT.with_dnr())
    );
    assert_eq!(
        answer("status = \"write-fault\"\ndnr = false"),
        Some(Status::WRITE_FAULT)
    );
}

#[test]
fn a_delayed_answer_comes_when_it_is_due_and_not_before() {
    let mut world = world("op = \"write\"\ndo = \"delay\"\ndelay_us = 2500");
    let token = world.start(Operation::Write, 0, 1);
    for _ in 0..2 {
        world.advance(Duration::from_millis(1));
        assert_eq!(world.answer(token), None);
    }
    world.advance(Duration::from_micros(499));
    assert_eq!(world.answer(token), None);
    world.advance(Duration::from_micros(1));
    assert_eq!(world.answer(token), FINE);
    assert_eq!(world.run(Operation::Read, 0, 1), FINE);
}

#[test]
fn delays_add_up_and_go_together_with_what_a_later_rule_does() {
    let mut world = world(
        "
        do = \"delay\"
        delay_us = 1000
        [[rule]]
        do = \"delay\"
        delay_us = 2000
        [[rule]]
        op = \"read\"
        do = \"fail\"
        status = \"internal-error\"
        delay_us = 4000
    ",
    );
    let (read, write) = (
        world.start(Operation::Read, 0, 1),
        world.start(Operation::Write, 8, 1),
    );
    world.advance(Duration::from_micros(2999));
    assert_eq!(world.answer(write), None);
    world.advance(Duration::from_micros(1));
    assert_eq!(world.answer(write), FINE);
    world.advance(Duration::from_micros(3999));
    assert_eq!(world.answer(read), None);
    world.advance(Duration::from_micros(1));
    assert_eq!(world.answer(read), Some(Status::INTERNAL_ERROR));
    assert_eq!(world.acted(), [2, 2, 1]);
    assert_eq!(world.medium.counts().faults, 2, "requests, not acts");
}

#[test]
fn answers_that_are_due_together_come_in_the_order_of_their_requests() {
    let mut world = world("do = \"delay\"\ndelay_us = 1000");
    let tokens: Vec<u32> = (0..20)
        .map(|at| world.start(Operation::Read, at, 1))
        .collect();
    world.advance(Duration::from_secs(1));
    let order: Vec<u32> = world.host.answers.iter().map(|answer| answer.0).collect();
    assert_eq!(order, tokens);
}

#[test]
fn a_dropped_request_is_answered_only_when_nobody_waits_any_more() {
    for (effect, value) in [("none", 0), ("full", 3), ("partial", 3)] {
        let mut world = world(&format!(
            "op = \"write\"\ndo = \"drop\"\neffect = \"{effect}\""
        ));
        assert_eq!(world.write(0, 2, 3), None);
        let token = world.host_token();
        world.advance(Duration::from_secs(100_000));
        assert_eq!(world.answer(token), None);
        world.medium.hurry(media::Token(token + 1));
        world.advance(Duration::ZERO);
        assert_eq!(world.answer(token), None, "somebody else's");
        world.medium.hurry(media::Token(token));
        world.advance(Duration::ZERO);
        assert_eq!(world.answer(token), Some(Status::ABORT_REQUESTED));
        assert_eq!(world.unanswered(), 0);
        assert!(world.holds(0, value), "{effect}");
    }
}

#[test]
fn a_delayed_request_that_nobody_waits_for_is_answered_at_once() {
    let mut world = world("do = \"delay\"\ndelay_us = 3600000000");
    let token = world.start(Operation::Read, 0, 1);
    world.advance(Duration::from_millis(1));
    world.medium.hurry(media::Token(token));
    world.advance(Duration::ZERO);
    assert_eq!(world.answer(token), FINE);
}

#[test]
fn bits_of_a_read_are_flipped_on_the_way_and_the_blocks_stay_right() {
    let mut world = world("op = \"read\"\ncount = 1\ndo = \"flip\"\nbits = 3");
    world.write(20, 4, 0xA5);
    let (status, bytes) = world.read(20, 4);
    assert_eq!(status, FINE);
    assert_eq!(wrong_bits(&bytes, 0xA5).len(), 3);
    let (_, bytes) = world.read(20, 4);
    assert_eq!(wrong_bits(&bytes, 0xA5).len(), 0);
}

#[test]
fn bits_of_a_write_are_flipped_on_the_way_and_the_hosts_memory_stays_right() {
    let mut world = world("op = \"write\"\ndo = \"flip\"\nat_bits = [0, 801, 4095]");
    assert_eq!(world.write(20, 4, 0xA5), FINE);
    let token = world.host_token();
    assert!(world.host_bytes(token, 4).iter().all(|&byte| byte == 0xA5));
    let (_, bytes) = world.read(20, 4);
    assert_eq!(wrong_bits(&bytes, 0xA5), [0, 801, 4095]);
}

#[test]
fn flips_stay_within_the_blocks_that_rule_and_request_share() {
    for bits in ["bits = 64", "at_bits = [0, 4095]"] {
        let rule = format!("op = \"read\"\nlba = \"22-22\"\ndo = \"flip\"\n{bits}");
        let mut world = world(&rule);
        world.write(20, 4, 0);
        let (_, bytes) = world.read(20, 4);
        let wrong = wrong_bits(&bytes, 0);
        assert!(
            wrong.len() == 64 || wrong == [2 * 4096, 3 * 4096 - 1],
            "{wrong:?}"
        );
        assert!(wrong.iter().all(|bit| bit / 4096 == 2), "{wrong:?}");
    }
}

#[test]
fn a_read_that_the_medium_refused_is_not_touched() {
    // An inner script that refuses stands for a medium that does.
    let inner = "version = 1\n[[rule]]\nop = \"read\"\ndo = \"fail\"\nstatus = \"access-denied\"";
    let inner = media::fault::Script::from_toml(inner).expect("a script");
    let inner = media::fault::FaultyMedia::new(Box::new(ram()), inner, 1).expect("memory");
    let rules = "[[rule]]\nop = \"read\"\ndo = \"flip\"";
    let mut world = World::new(Box::new(inner), rules);
    let (status, bytes) = world.read(0, 1);
    assert_eq!(status, Some(Status::ACCESS_DENIED));
    assert!(bytes.iter().all(|&byte| byte == 0xEE));
    assert_eq!(world.medium.counts().faults, 2, "both scripts count");
}

#[test]
fn a_misdirected_write_lands_elsewhere_and_is_acknowledged() {
    let mut world = world("op = \"write\"\nskip = 1\ndo = \"misdirect\"\nto = 100");
    world.write(10, 2, 1);
    assert_eq!(world.write(10, 2, 2), FINE);
    assert!(world.holds(10, 1) && world.holds(11, 1));
    assert!(world.holds(100, 2) && world.holds(101, 2) && world.holds(102, 0));
}

#[test]
fn a_misdirected_read_comes_from_elsewhere_and_never_from_beyond_the_end() {
    let mut world = world("op = \"read\"\nlba = 10\ndo = \"misdirect\"\nto = 1000000");
    world.write(254, 2, 9);
    let (status, bytes) = world.read(10, 2);
    assert_eq!(status, FINE);
    assert!(bytes.iter().all(|&byte| byte == 9));
}

#[test]
fn a_lost_write_is_acknowledged_and_leaves_what_was_there() {
    for op in ["write", "deallocate", "write-zeroes"] {
        let mut world = world(&format!(
            "op = \"{op}\"\nskip = {}\ndo = \"lose\"",
            u8::from(op == "write")
        ));
        world.write(0, 1, 1);
        let status = match op {
            "write" => world.write(0, 1, 2),
            "deallocate" => world.run(Operation::Deallocate, 0, 1),
            _ => world.run(Operation::WriteZeroes { deallocate: true }, 0, 1),
        };
        assert_eq!(status, FINE);
        assert!(world.holds(0, 1), "{op}");
    }
}

#[test]
fn a_lost_flush_never_reaches_the_medium() {
    // The inner script fails each flush that reaches it.
    let inner = "version = 1\n[[rule]]\nop = \"flush\"\ndo = \"fail\"\nstatus = \"write-fault\"";
    let inner = media::fault::Script::from_toml(inner).expect("a script");
    let inner = media::fault::FaultyMedia::new(Box::new(ram()), inner, 1).expect("memory");
    let rules = "[[rule]]\nop = \"flush\"\ncount = 1\ndo = \"lose\"";
    let mut world = World::new(Box::new(inner), rules);
    assert_eq!(world.run(Operation::Flush, 0, 0), FINE);
    assert_eq!(world.run(Operation::Flush, 0, 0), Some(Status::WRITE_FAULT));
}

#[test]
fn each_piece_of_a_command_under_one_token_is_answered() {
    let mut world = world("every = 2\ndo = \"drop\"");
    for at in 0..6 {
        world.start_as(5, Operation::Deallocate, at, 1);
    }
    assert_eq!(world.unanswered(), 3);
    world.medium.hurry(media::Token(5));
    world.advance(Duration::ZERO);
    assert_eq!(world.unanswered(), 0);
    let aborted = world
        .host
        .answers
        .iter()
        .filter(|answer| answer.1 == Status::ABORT_REQUESTED);
    assert_eq!(aborted.count(), 3);
}

#[test]
fn requests_beyond_the_bound_of_flights_pass_and_are_counted() {
    let mut world = world("do = \"drop\"");
    let bound = u64::from(media::fault::limits::FLIGHTS_MAX);
    for _ in 0..bound + 3 {
        world.start_as(5, Operation::Deallocate, 0, 1);
    }
    assert_eq!(world.unanswered() as u64, bound);
    assert_eq!(world.medium.unwatched(), 3);
    world.medium.hurry(media::Token(5));
    world.advance(Duration::ZERO);
    assert_eq!(world.unanswered(), 0);
}

#[test]
fn the_counts_of_each_rule_are_told_when_the_medium_is_dropped() {
    let (to_test, told) = std::sync::mpsc::channel();
    let mut world = world(
        "name = \"one\"\nskip = 1\ndo = \"delay\"\ndelay_us = 1\n[[rule]]\ndo = \"drop\"\nop = \"flush\"",
    );
    world.medium.report_to(Box::new(move |rule| {
        let line = (rule.name.to_owned(), rule.matched, rule.acted);
        to_test.send(line).expect("the test waits");
    }));
    world.run(Operation::Read, 0, 1);
    world.run(Operation::Read, 0, 1);
    drop(world);
    let told: Vec<_> = told.iter().collect();
    assert_eq!(
        told,
        [("one".to_owned(), 2, 1), ("rule 2".to_owned(), 0, 0)]
    );
}
