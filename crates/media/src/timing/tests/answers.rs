//! Answers: each once, in order, not before its time, and at once when nobody waits.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const WIDE: &str = "quantiles_us = [[0, 5], [50, 30], [99, 400], [100, 30000]]\niops_max = 1e6";

/// Tokens and times of answers to one request in each microsecond, polled at some times.
fn trace(seed: u64, polls: impl Iterator<Item = Duration>) -> Vec<(Duration, u32)> {
    let mut media = TimedMedia::new(null(), &uniform(16, WIDE), seed);
    for token in 0..2000 {
        let op = if token % 3 == 0 {
            Operation::Write
        } else {
            Operation::Read
        };
        start(&mut media, us(f64::from(token) * 0.001), token, op, 8);
    }
    polls
        .flat_map(|at| {
            let tokens = poll(&mut media, at);
            tokens.into_iter().map(move |token| (at, token))
        })
        .collect()
}

fn every_microsecond() -> impl Iterator<Item = Duration> {
    (3..400_000).map(|at| us(f64::from(at)))
}

#[test]
fn one_seed_is_one_sequence_and_another_seed_another() {
    let first = trace(1, every_microsecond());
    assert_eq!(first.len(), 2000);
    assert_eq!(first, trace(1, every_microsecond()));
    assert_ne!(first, trace(2, every_microsecond()));
}

#[test]
fn answers_come_in_the_order_in_which_they_are_due_however_late_the_poll() {
    let fine = trace(1, every_microsecond());
    let due: BTreeMap<u32, Duration> = fine.iter().map(|&(at, token)| (token, at)).collect();
    for rest in [us(1000.0), us(20_000.0), us(1_000_000.0)] {
        let coarse = trace(1, (1..=1000).map(|step| rest * step));
        assert_eq!(coarse.len(), 2000);
        let times: Vec<Duration> = coarse.iter().map(|(_, token)| due[token]).collect();
        assert!(times.is_sorted(), "polled each {rest:?}");
    }
}

#[test]
fn within_a_tick_who_came_first_is_answered_first() {
    // Each tick of 2 us holds many of these.
    let mut media = TimedMedia::new(null(), &uniform(1024, "mean_us = 20"), 1);
    for token in 0..1000 {
        start(&mut media, Duration::ZERO, token, Operation::Read, 8);
    }
    let mut seen = 0;
    for step in 0..64 {
        let tokens = poll(&mut media, us(f64::from(step)));
        assert!(tokens.is_sorted(), "{tokens:?}");
        seen += tokens.len();
    }
    assert_eq!(seen, 1000);
}

#[test]
fn nothing_is_answered_early_and_what_is_due_is_answered() {
    let mut media = TimedMedia::new(null(), &uniform(16, "mean_us = 80"), 1);
    for round in 0..2000_u32 {
        let now = us(f64::from(round) * 1000.37);
        start(&mut media, now, round % 7, Operation::Read, 8);
        let due = media.next_due().expect("one is in flight");
        assert!(due > now + us(70.0) && due < now + us(90.0), "{round}");
        assert!(poll(&mut media, due - Duration::from_nanos(1)).is_empty());
        assert_eq!(poll(&mut media, due), [round % 7]);
        assert_eq!(media.next_due(), None);
    }
}

#[test]
fn requests_due_far_ahead_come_at_their_time() {
    // Two seconds of backlog, more than a hundred turns of the wheel.
    let mut media = TimedMedia::new(null(), &uniform(16, "mean_us = 10\niops_max = 100"), 1);
    for token in 0..200 {
        start(&mut media, Duration::ZERO, token, Operation::Read, 8);
    }
    for token in 0..200 {
        let begin = Duration::from_millis(10) * token;
        assert!(poll(&mut media, begin + us(8.0)).is_empty(), "{token}");
        assert_eq!(poll(&mut media, begin + us(12.0)), [token]);
    }
}

#[test]
fn a_poll_tells_the_time_too() {
    let mut media = TimedMedia::new(null(), &uniform(16, "mean_us = 10\niops_max = 1e5"), 1);
    let mut heard = Heard::default();
    for round in 1..50 {
        let now = us(1e5 * f64::from(round));
        media.poll(now, &mut heard);
        let _ = media.start(Token(1), &request(Operation::Read, 8), &[]);
        media.poll(now + us(8.0), &mut heard);
        assert!(heard.answers.is_empty());
        media.poll(now + us(12.0), &mut heard);
        assert_eq!(heard.tokens(), [1]);
    }
}

#[test]
fn a_drive_without_latency_answers_at_the_next_tick() {
    let mut media = TimedMedia::new(null(), &uniform(1, "mean_us = 0"), 1);
    for round in 0..100 {
        let now = us(f64::from(round) * 100.0);
        assert!(poll(&mut media, now).is_empty());
        start(&mut media, now, 5, Operation::Read, 8);
        assert_eq!(poll(&mut media, now + us(1.0)), [5]);
    }
}

#[test]
fn hurried_requests_are_answered_at_the_next_poll_and_others_wait() {
    let mut media = TimedMedia::new(null(), &uniform(16, "mean_us = 1000"), 1);
    let now = us(5.0);
    for token in 0..5 {
        start(&mut media, now, token, Operation::Read, 8);
    }
    media.hurry(Token(3));
    media.hurry(Token(1));
    media.hurry(Token(77));
    media.hurry(Token(u32::MAX));
    assert_eq!(poll(&mut media, now), [3, 1]);
    assert!(poll(&mut media, now).is_empty());
    // The token is free at once.
    start(&mut media, now, 3, Operation::Read, 8);
    let mut rest = poll(&mut media, us(1300.0));
    rest.sort_unstable();
    assert_eq!(rest, [0, 2, 3, 4]);
}

#[test]
fn a_reset_leaves_no_backlog_behind() {
    let mut media = TimedMedia::new(null(), &uniform(1, "mean_us = 50\niops_max = 1000"), 1);
    for token in 0..100 {
        start(&mut media, Duration::ZERO, token, Operation::Read, 8);
    }
    for token in 0..100 {
        media.hurry(Token(token));
    }
    assert_eq!(poll(&mut media, us(1.0)).len(), 100);
    start(&mut media, us(2.0), 0, Operation::Read, 8);
    assert_eq!(poll(&mut media, us(70.0)), [0]);
}

#[test]
fn a_late_mediums_blocks_go_on_at_once_and_its_answer_when_it_is_due() {
    let (late, say, hurried) = Late::new();
    let mut media = TimedMedia::new(late, &uniform(16, "mean_us = 100"), 1);
    let mut heard = Heard::default();
    let at = |media: &mut TimedMedia, heard: &mut Heard, now: f64| {
        media.set_time(us(now));
        media.poll(us(now), heard);
        heard.tokens()
    };
    // 1 is done early, 2 late.
    start(&mut media, us(1.0), 1, Operation::Read, 8);
    start(&mut media, us(1.0), 2, Operation::Read, 8);
    say.send((1, Status::SUCCESS)).expect("the medium listens");
    assert!(at(&mut media, &mut heard, 2.0).is_empty());
    assert_eq!(heard.blocks, [(1, 512)]);
    assert_eq!(at(&mut media, &mut heard, 120.0), [1]);
    assert!(at(&mut media, &mut heard, 900.0).is_empty());
    say.send((2, Status::SUCCESS)).expect("the medium listens");
    assert_eq!(at(&mut media, &mut heard, 901.0), [2]);
    // Nobody waits for 3: the model is skipped, the inner medium is not.
    start(&mut media, us(1000.0), 3, Operation::Read, 8);
    media.hurry(Token(3));
    assert_eq!(hurried.try_recv(), Ok(3));
    assert!(at(&mut media, &mut heard, 1001.0).is_empty());
    say.send((3, Status::ABORT_REQUESTED))
        .expect("the medium listens");
    media.poll(us(1002.0), &mut heard);
    assert_eq!(heard.answers, [(3, Status::ABORT_REQUESTED)]);
}

#[test]
fn a_failure_is_told_at_the_time_of_an_answer() {
    // Many in a tick, alone in a tick, and far beyond the wheel.
    for profile in ["mean_us = 20", "mean_us = 20\niops_max = 10000", WIDE] {
        let mut media = TimedMedia::new(Box::new(OddFails), &uniform(1024, profile), 1);
        let mut heard = Heard::default();
        for round in 0..4 {
            let now = us(1e6 * f64::from(round));
            for token in 0..500 {
                start(&mut media, now, token, Operation::Write, 8);
            }
            media.hurry(Token(3));
            media.hurry(Token(4));
            let end = now + us(900_000.0);
            media.poll(now, &mut heard);
            assert!(heard.answers.len() <= 2, "before their time");
            media.set_time(end);
            media.poll(end, &mut heard);
            let mut answers = core::mem::take(&mut heard.answers);
            answers.sort_by_key(|answer| answer.0);
            let wanted = (0..500).map(|token| (token, odd_fails(token)));
            assert!(answers.into_iter().eq(wanted), "{profile}");
        }
    }
}

#[test]
fn each_range_of_a_deallocation_is_answered() {
    let mut media = TimedMedia::new(Box::new(OddFails), &uniform(16, "mean_us = 20"), 1);
    for token in [8, 9] {
        for _ in 0..256 {
            start(&mut media, us(1.0), token, Operation::Deallocate, 8);
        }
    }
    let mut heard = Heard::default();
    media.poll(us(5.0), &mut heard);
    assert!(heard.answers.is_empty());
    media.poll(us(15.0), &mut heard);
    for token in [8, 9] {
        let answers = heard.answers.iter().filter(|answer| answer.0 == token);
        assert!(answers.clone().all(|answer| answer.1 == odd_fails(token)));
        assert_eq!(answers.count(), 256);
    }
}

#[test]
fn data_move_when_the_request_is_started() {
    let ram = RamMedia::new(BlockCount::new(64), BlockSize::B512, Backing::Anonymous);
    let mut media = TimedMedia::new(
        Box::new(ram.expect("32 KiB of memory")),
        &uniform(16, "mean_us = 20"),
        1,
    );
    let host = Region::allocate(4096, Backing::Anonymous)
        .expect("a page")
        .whole();
    let block = |at| host.span(at, 512).expect("in range");
    host.fill(0, 512, 0x5A).expect("in range");
    media.start(Token(0), &request(Operation::Write, 1), &[block(0)]);
    host.fill(0, 512, 0).expect("in range");
    media.start(Token(1), &request(Operation::Read, 1), &[block(512)]);
    assert!(block(512).is_all(0x5A));
    assert!(media.moves_data() && !media.is_instant());
}

/// One step of a random life.
#[derive(Clone, Copy, Debug)]
enum Step {
    Start(u32, u8, u64),
    Hurry(u32),
    /// The late medium answers its oldest request.
    Say,
    Wait(u64),
    Poll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..40_u32, 0..7_u8, 1..2000_u64).prop_map(|(t, op, blocks)| Step::Start(t, op, blocks)),
        1 => (0..42_u32).prop_map(Step::Hurry),
        4 => Just(Step::Say),
        3 => (0..200_000_u64).prop_map(Step::Wait),
        1 => (0..20_000_000_000_u64).prop_map(Step::Wait),
        3 => Just(Step::Poll),
    ]
}

fn operation(number: u8) -> Operation {
    match number {
        0 => Operation::Flush,
        1 => Operation::Deallocate,
        2 => Operation::WriteZeroes { deallocate: true },
        3 => Operation::Compare,
        4 => Operation::Write,
        _ => Operation::Read,
    }
}

/// Which requests may share a token that is in use.
fn shares(op: Operation) -> bool {
    matches!(op, Operation::Flush | Operation::Deallocate)
}

fn live(steps: &[Step], profile: &Profile, late: bool) {
    let (medium, say, _hurried) = Late::new();
    let inner: Box<dyn Media> = if late { medium } else { Box::new(OddFails) };
    let mut media = TimedMedia::new(inner, profile, 1);
    let mut owed: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    let mut unsaid: Vec<u32> = Vec::new();
    let mut now = Duration::from_secs(40);
    let settle = |media: &mut TimedMedia, owed: &mut BTreeMap<u32, (u32, bool)>, now| {
        for token in poll(media, now) {
            let Some(count) = owed.get_mut(&token) else {
                panic!("token {token} was answered and not in use");
            };
            count.0 -= 1;
            if count.0 == 0 {
                owed.remove(&token);
            }
        }
    };
    for &step in steps {
        match step {
            Step::Start(token, op, blocks) => {
                let op = operation(op);
                if owed
                    .get(&token)
                    .is_none_or(|&(_, sharing)| sharing && shares(op))
                {
                    start(&mut media, now, token, op, blocks);
                    owed.entry(token).or_insert((0, shares(op))).0 += 1;
                    unsaid.push(token);
                }
            }
            Step::Hurry(token) => media.hurry(Token(token)),
            Step::Say if late && !unsaid.is_empty() => {
                say.send((unsaid.remove(0), Status::SUCCESS))
                    .expect("the medium listens");
            }
            Step::Say => {}
            Step::Wait(ns) => now += Duration::from_nanos(ns),
            Step::Poll => settle(&mut media, &mut owed, now),
        }
    }
    for token in unsaid.drain(..).filter(|_| late) {
        say.send((token, Status::SUCCESS))
            .expect("the medium listens");
    }
    settle(&mut media, &mut owed, now + Duration::from_secs(100_000));
    assert!(owed.is_empty(), "never answered: {owed:?}");
    assert_eq!(media.next_due(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
    #[test]
    fn no_answer_is_lost_or_doubled(
        steps in proptest::collection::vec(step(), 1..400),
        which in 0..5_usize,
        late: bool,
    ) {
        let profile = match which {
            0 => uniform(16, WIDE),
            1 => uniform(1, "mean_us = 300\nsigma = 1"),
            2 => uniform(64, "mean_us = 20\niops_max = 50000\nbytes_per_second_max = 1e7"),
            3 => uniform(4, "quantiles_us = [[0, 0], [100, 1e7]]\niops_max = 1"),
            _ => uniform(1, "mean_us = 0"),
        };
        live(&steps, &profile, late);
    }
}
