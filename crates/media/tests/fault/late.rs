//! The same over media that answer late: their data pass through the landing.

use core::time::Duration;

use media::{Media, Operation};
use spec::nvme::Status;

use crate::support::{LATE, Late, World, wrong_bits};

fn world(rules: &str) -> World {
    World::new(Box::new(Late::new()), &format!("[[rule]]\n{rules}"))
}

const FINE: Option<Status> = Some(Status::SUCCESS);

#[test]
fn requests_without_a_rule_pass_through_with_their_data() {
    let mut world = world("lba = 200\ndo = \"drop\"");
    assert_eq!(world.write(3, 2, 7), FINE);
    assert!(world.holds(3, 7) && world.holds(4, 7) && world.holds(5, 0));
    assert_eq!(
        world.run(Operation::Compare, 3, 1),
        Some(Status::COMPARE_FAILURE)
    );
    assert_eq!(world.medium.counts().faults, 0);
}

#[test]
fn a_failure_comes_no_sooner_than_what_the_medium_does_for_it() {
    let mut world =
        world("skip = 1\ncount = 1\ndo = \"fail\"\nstatus = \"write-fault\"\neffect = \"partial\"");
    world.write(0, 4, 1);
    let token = world.start(Operation::WriteZeroes { deallocate: false }, 0, 4);
    assert_eq!(world.answer(token), None);
    world.advance(LATE);
    assert_eq!(world.answer(token), Some(Status::WRITE_FAULT));
    assert_eq!(
        [0, 1, 2, 3].map(|block| world.holds(block, 1)),
        [false, false, true, true]
    );
}

#[test]
fn a_part_of_a_late_read_is_not_handed_over() {
    let mut world = world(
        "op = \"read\"\ncount = 1\ndo = \"fail\"\nstatus = \"unrecovered-read-error\"\neffect = \"partial\"",
    );
    world.write(0, 4, 1);
    let (status, bytes) = world.read(0, 4);
    assert_eq!(status, Some(Status::UNRECOVERED_READ_ERROR));
    assert!(bytes.iter().all(|&byte| byte == 0xEE));
}

#[test]
fn a_delay_counts_from_the_start_and_hides_in_a_slower_medium() {
    for (delay, answered_after_ms) in [(400, 1), (1500, 2), (5000, 5)] {
        let mut world = world(&format!("do = \"delay\"\ndelay_us = {delay}"));
        let token = world.start(Operation::Read, 0, 1);
        let mut ms = 0;
        while world.answer(token).is_none() {
            world.advance(LATE);
            ms += 1;
        }
        assert_eq!(ms, answered_after_ms, "{delay} us");
    }
}

#[test]
fn bits_of_a_late_read_are_flipped_and_the_blocks_stay_right() {
    let mut world = world("op = \"read\"\ncount = 2\nlba = 21\ndo = \"flip\"\nat_bits = [17]");
    world.write(20, 4, 0xA5);
    for _ in 0..2 {
        let (status, bytes) = world.read(20, 4);
        assert_eq!(status, FINE);
        assert_eq!(wrong_bits(&bytes, 0xA5), [4096 + 17]);
    }
    let (_, bytes) = world.read(20, 4);
    assert_eq!(wrong_bits(&bytes, 0xA5).len(), 0);
}

#[test]
fn bits_of_a_write_to_a_late_medium_are_flipped() {
    let mut world = world("op = \"write\"\ndo = \"flip\"\nbits = 64");
    assert_eq!(world.write(0, 8, 0), FINE);
    let token = world.host_token();
    assert!(world.host_bytes(token, 8).iter().all(|&byte| byte == 0));
    let (_, bytes) = world.read(0, 8);
    assert_eq!(wrong_bits(&bytes, 0).len(), 64);
}

#[test]
fn misdirection_and_loss_work_on_late_media() {
    let mut world = world(
        "op = \"write\"\nlba = 1\ndo = \"misdirect\"\nto = 50\n[[rule]]\nop = \"write\"\nlba = 2\ndo = \"lose\"",
    );
    assert_eq!(world.write(1, 1, 4), FINE);
    assert_eq!(world.write(2, 1, 5), FINE);
    assert!(world.holds(1, 0) && world.holds(2, 0) && world.holds(50, 4));
}

#[test]
fn a_dropped_request_that_the_medium_still_works_on_is_hurried_below_as_well() {
    let mut world = world("op = \"write\"\ndo = \"drop\"\neffect = \"full\"");
    let token = world.start(Operation::Write, 0, 1);
    world.advance(Duration::ZERO);
    assert_eq!(world.answer(token), None);
    world.medium.hurry(media::Token(token));
    world.advance(Duration::ZERO);
    assert_eq!(world.answer(token), Some(Status::ABORT_REQUESTED));
    assert_eq!(world.unanswered(), 0);
}

#[test]
fn a_dropped_request_whose_effect_is_over_waits_until_nobody_does() {
    let mut world = world("op = \"write\"\ndo = \"drop\"\neffect = \"full\"");
    let token = world.start(Operation::Write, 0, 1);
    world.advance(LATE * 100);
    assert_eq!(world.answer(token), None);
    world.medium.hurry(media::Token(token));
    world.advance(Duration::ZERO);
    assert_eq!(world.answer(token), Some(Status::ABORT_REQUESTED));
}

#[test]
fn two_scripts_one_behind_the_other_act_both() {
    let inner = "version = 1\n[[rule]]\ndo = \"delay\"\ndelay_us = 3000";
    let inner = media::fault::Script::from_toml(inner).expect("a script");
    let inner = media::fault::FaultyMedia::new(Box::new(Late::new()), inner, 1).expect("memory");
    let rules = "[[rule]]\nop = \"read\"\ndo = \"flip\"\nbits = 2";
    let mut world = World::new(Box::new(inner), rules);
    world.write(0, 2, 0);
    let begin = world.now;
    let (status, bytes) = world.read(0, 2);
    assert_eq!(status, FINE);
    assert_eq!(world.now - begin, Duration::from_millis(3));
    assert_eq!(wrong_bits(&bytes, 0).len(), 2);
}
