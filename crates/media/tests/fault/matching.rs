//! Which requests a rule acts on.

use core::time::Duration;

use media::Operation;
use spec::nvme::Status;

use crate::support::{World, ram};

const FAIL: &str = "do = \"fail\"\nstatus = \"internal-error\"\n";

fn world(keys: &str) -> World {
    World::new(Box::new(ram()), &format!("[[rule]]\n{keys}\n{FAIL}"))
}

/// Which of so many one-block reads of block 0 fail.
fn failing(world: &mut World, reads: usize) -> Vec<usize> {
    let fails = |_: &usize| world.run(Operation::Read, 0, 1) == Some(Status::INTERNAL_ERROR);
    (0..reads).filter(fails).collect()
}

const ALL: [Operation; 7] = [
    Operation::Read,
    Operation::Write,
    Operation::Flush,
    Operation::Compare,
    Operation::WriteZeroes { deallocate: false },
    Operation::Deallocate,
    Operation::Verify,
];

#[test]
fn a_rule_acts_on_its_operation_and_on_no_other() {
    let names = [
        "read",
        "write",
        "flush",
        "compare",
        "write-zeroes",
        "deallocate",
        "verify",
    ];
    for (index, name) in names.iter().enumerate() {
        let mut world = world(&format!("op = \"{name}\""));
        for (other, op) in ALL.into_iter().enumerate() {
            let count = u64::from(op != Operation::Flush);
            let wanted = if other == index {
                Status::INTERNAL_ERROR
            } else {
                Status::SUCCESS
            };
            assert_eq!(world.run(op, 0, count), Some(wanted), "{name} and {op:?}");
        }
    }
}

#[test]
fn a_rule_of_any_operation_acts_on_all_and_so_does_one_that_names_none() {
    for keys in ["op = \"any\"", ""] {
        let mut world = world(keys);
        for op in ALL {
            let count = u64::from(op != Operation::Flush);
            assert_eq!(world.run(op, 0, count), Some(Status::INTERNAL_ERROR));
        }
        assert_eq!(
            world.medium.rule_counts().next().expect("a rule").matched,
            7
        );
    }
}

#[test]
fn a_range_of_blocks_is_met_by_overlap_at_either_end() {
    let mut world = world("lba = \"100-109\"");
    let cases = [
        (99, 1, false),
        (90, 10, false),
        (90, 11, true),
        (100, 1, true),
        (109, 1, true),
        (109, 20, true),
        (110, 20, false),
        (0, 256, true),
    ];
    for (at, count, fails) in cases {
        let failed = world.run(Operation::Read, at, count) == Some(Status::INTERNAL_ERROR);
        assert_eq!(failed, fails, "{count} blocks from {at}");
    }
    let flush = world.run(Operation::Flush, 0, 0);
    assert_eq!(flush, Some(Status::SUCCESS), "a flush touches no block");
}

#[test]
fn a_single_block_is_a_range() {
    for lba in ["7", "\"7\"", "\"7-7\""] {
        let mut world = world(&format!("lba = {lba}"));
        let answers = [6, 7, 8].map(|at| world.run(Operation::Verify, at, 1));
        let fine = Some(Status::SUCCESS);
        assert_eq!(answers, [fine, Some(Status::INTERNAL_ERROR), fine]);
    }
}

#[test]
fn skip_lets_the_first_pass_and_count_ends_it() {
    assert_eq!(failing(&mut world("skip = 3"), 6), [3, 4, 5]);
    assert_eq!(failing(&mut world("count = 2"), 6), [0, 1]);
    assert_eq!(failing(&mut world("skip = 2\ncount = 1"), 6), [2]);
}

#[test]
fn every_takes_each_nth_of_those_that_were_not_skipped() {
    assert_eq!(failing(&mut world("every = 3"), 10), [2, 5, 8]);
    assert_eq!(
        failing(&mut world("skip = 2\nevery = 3\ncount = 2"), 12),
        [4, 7]
    );
}

#[test]
fn a_probability_is_a_share_and_the_same_share_under_the_same_seed() {
    let share = |seed| {
        let rules = format!("[[rule]]\nprobability = 0.25\n{FAIL}");
        failing(&mut World::seeded(Box::new(ram()), &rules, seed), 4000)
    };
    let one = share(1);
    assert!((900..1100).contains(&one.len()), "{} of 4000", one.len());
    assert_eq!(one, share(1));
    assert_ne!(one, share(2));
    assert_eq!(failing(&mut world("probability = 0"), 100), []);
    assert_eq!(failing(&mut world("probability = 1.0"), 100).len(), 100);
}

#[test]
fn a_rule_draws_for_itself_whatever_other_rules_draw() {
    let second = "[[rule]]\nname = \"second\"\nop = \"verify\"\nprobability = 0.5\n";
    let verifies = |first: &str| {
        let rules = format!("{first}{second}{FAIL}");
        let mut world = World::new(Box::new(ram()), &rules);
        let mut answers = Vec::new();
        for at in 0..100 {
            world.run(Operation::Read, at, 1);
            answers.push(world.run(Operation::Verify, at, 1));
        }
        answers
    };
    let first = |p: &str| format!("[[rule]]\nop = \"read\"\nprobability = {p}\n{FAIL}");
    let always = first("0.5");
    let sometimes = format!("{}{}", first("0.5").trim(), "\nevery = 3\n");
    assert_eq!(verifies(&always), verifies(&sometimes));
}

#[test]
fn two_rules_of_one_script_are_not_drawn_alike() {
    let rule = |op| format!("[[rule]]\nop = \"{op}\"\nprobability = 0.5\n{FAIL}");
    let rules = format!("{}{}", rule("read"), rule("verify"));
    let mut world = World::new(Box::new(ram()), &rules);
    let mut alike = 0;
    for at in 0..200 {
        let read = world.run(Operation::Read, at, 1);
        alike += u32::from(read == world.run(Operation::Verify, at, 1));
    }
    assert!((60..140).contains(&alike), "{alike} of 200");
}

#[test]
fn a_window_of_time_counts_from_the_first_time_told() {
    let mut world = world("after_ms = 10\nuntil_ms = 20");
    // The clock that is handed in began long before.
    world.advance(Duration::ZERO);
    let mut failed = Vec::new();
    for ms in 0..30 {
        if world.run(Operation::Read, 0, 1) == Some(Status::INTERNAL_ERROR) {
            failed.push(ms);
        }
        world.advance(Duration::from_millis(1));
    }
    assert_eq!(failed, (10..20).collect::<Vec<_>>());
}

#[test]
fn a_clock_that_does_not_begin_at_zero_shifts_no_window() {
    use media::fault::{FaultyMedia, Script};
    use media::{Media, Progress, Request, Token};
    use spec::{BlockCount, Lba};
    let text = format!("version = 1\n[[rule]]\nafter_ms = 10\n{FAIL}");
    let script = Script::from_toml(&text).expect("a script");
    let mut medium = FaultyMedia::new(Box::new(ram()), script, 1).expect("memory");
    let request = Request {
        op: Operation::Verify,
        at: Lba::new(0),
        count: BlockCount::new(1),
        fua: false,
    };
    let fine = Progress::Done(Status::SUCCESS);
    assert_eq!(
        medium.start(Token(0), &request, &[]),
        fine,
        "before any time was told"
    );
    for (ms, wanted) in [
        (5000, Status::SUCCESS),
        (5009, Status::SUCCESS),
        (5010, Status::INTERNAL_ERROR),
    ] {
        medium.set_time(Duration::from_millis(ms));
        assert_eq!(
            medium.start(Token(0), &request, &[]),
            Progress::Done(wanted),
            "{ms}"
        );
    }
}

#[test]
fn the_first_rule_that_acts_ends_the_search_and_one_that_passes_does_not() {
    let rules = "
        [[rule]]
        count = 1
        do = \"fail\"
        status = \"write-fault\"
        [[rule]]
        do = \"fail\"
        status = \"internal-error\"
    ";
    let mut world = World::new(Box::new(ram()), rules);
    assert_eq!(world.run(Operation::Read, 0, 1), Some(Status::WRITE_FAULT));
    assert_eq!(world.acted(), [1, 0]);
    assert_eq!(
        world.run(Operation::Read, 0, 1),
        Some(Status::INTERNAL_ERROR)
    );
    assert_eq!(world.acted(), [1, 1]);
    let matched: Vec<u64> = world
        .medium
        .rule_counts()
        .map(|rule| rule.matched)
        .collect();
    assert_eq!(
        matched,
        [2, 1],
        "the second rule never saw the first request"
    );
}
