//! Random scripts and random requests: every request is answered once, dropped ones when nobody waits.

use core::time::Duration;

use media::{Media, Operation, Token};
use proptest::prelude::*;

use crate::support::{Late, World, ram};

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        Just(Operation::Read),
        Just(Operation::Write),
        Just(Operation::Flush),
        Just(Operation::Compare),
        Just(Operation::WriteZeroes { deallocate: true }),
        Just(Operation::Deallocate),
        Just(Operation::Verify),
    ]
}

fn matching() -> impl Strategy<Value = String> {
    let window = (0..20_u64, 1..20_u64);
    (0..200_u64, 0..100_u64, 0..3_u64, 1..4_u64, 0.0..=1.0_f64, 1..30_u64, window).prop_map(
        |(at, width, skip, every, share, count, (after, length))| {
            format!(
                "lba = \"{at}-{}\"\nskip = {skip}\nevery = {every}\nprobability = {share:.3}\ncount = {count}\n\
                 after_ms = {after}\nuntil_ms = {}\n",
                at + width,
                after + length
            )
        },
    )
}

fn deed() -> impl Strategy<Value = String> {
    let effect = prop_oneof![Just("none"), Just("full"), Just("partial")];
    let way = prop_oneof![Just("read"), Just("write")];
    prop_oneof![
        (effect.clone(), 1..9000_u64).prop_map(|(effect, delay)| format!(
            "do = \"fail\"\nstatus = \"internal-error\"\neffect = \"{effect}\"\ndelay_us = {delay}\n"
        )),
        effect.prop_map(|effect| format!("do = \"drop\"\neffect = \"{effect}\"\n")),
        (1..9000_u64).prop_map(|delay| format!("do = \"delay\"\ndelay_us = {delay}\n")),
        (way.clone(), 1..65_u64)
            .prop_map(|(op, bits)| format!("op = \"{op}\"\ndo = \"flip\"\nbits = {bits}\n")),
        (way, 0..400_u64)
            .prop_map(|(op, to)| format!("op = \"{op}\"\ndo = \"misdirect\"\nto = {to}\n")),
        Just("op = \"write\"\ndo = \"lose\"\n".to_owned()),
    ]
}

fn rules() -> impl Strategy<Value = String> {
    let rule = (prop_oneof![Just(String::new()), matching()], deed());
    let rule = rule.prop_map(|(when, deed)| format!("[[rule]]\n{when}{deed}"));
    proptest::collection::vec(rule, 0..6).prop_map(|rules| rules.concat())
}

/// A request: operation, first block, number of blocks, milliseconds until the next, whether nobody waits for it.
type Step = (Operation, u64, u64, u64, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (operation(), 0..255_u64, 1..20_u64, 0..3_u64, any::<bool>());
    proptest::collection::vec(step, 1..80)
}

fn play(late: bool, rules: &str, seed: u64, steps: &[Step]) -> World {
    let inner: Box<dyn Media> = if late {
        Box::new(Late::new())
    } else {
        Box::new(ram())
    };
    let mut world = World::seeded(inner, rules, seed);
    for &(op, at, count, wait_ms, hurried) in steps {
        let count = match op {
            Operation::Flush => 0,
            _ => count.min(256 - at),
        };
        // Flush and Deallocate may use a token that is in use.
        let token = match op {
            Operation::Flush => 7000 % 4096,
            Operation::Deallocate => 7001 % 4096,
            _ => world.host_token() + 1,
        };
        match op {
            Operation::Flush | Operation::Deallocate => world.start_as(token, op, at, count),
            _ => {
                world.start(op, at, count);
            }
        }
        if hurried {
            world.medium.hurry(Token(token));
        }
        world.advance(Duration::from_millis(wait_ms));
    }
    world
}

proptest! {
    #[test]
    fn every_request_is_answered_once(
        late in any::<bool>(), rules in rules(), seed in any::<u64>(), steps in steps()
    ) {
        // An answer that nobody waits for, a second one, and blocks after an answer are panics of the host.
        let mut world = play(late, &rules, seed, &steps);
        world.advance(Duration::from_secs(10));
        let dropped = world.unanswered();
        let drops = rules.contains("do = \"drop\"");
        prop_assert!(drops || dropped == 0, "{dropped} unanswered without a rule that drops");
        for token in 0..4096 {
            world.medium.hurry(Token(token));
        }
        // Twice: what a late medium is done with in the first turn is answered in it, or in the next.
        world.advance(Duration::ZERO);
        world.advance(Duration::ZERO);
        prop_assert_eq!(world.unanswered(), 0);
        let acted: u64 = world.acted().iter().sum();
        prop_assert!(world.medium.counts().faults <= acted);
    }

    #[test]
    fn the_same_seed_gives_the_same_answers_counts_and_bytes(
        late in any::<bool>(), rules in rules(), seed in any::<u64>(), steps in steps()
    ) {
        let worlds = [(); 2].map(|()| play(late, &rules, seed, &steps));
        let [one, other] = &worlds;
        prop_assert_eq!(&one.host.answers, &other.host.answers);
        prop_assert_eq!(one.acted(), other.acted());
        for token in 0..8 {
            prop_assert_eq!(one.host_bytes(token, 256), other.host_bytes(token, 256));
        }
    }
}
