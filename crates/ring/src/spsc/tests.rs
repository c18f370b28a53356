use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::HeapWords;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn entry<const N: usize>(number: u64) -> [u64; N] {
    core::array::from_fn(|word| number * N as u64 + word as u64)
}

/// Runs random batches against a plain queue; a side that has seen an old index may only be
/// pessimistic.
fn run<const N: usize>(capacity: usize, steps: &[(bool, usize)]) {
    let words = HeapWords::new(words_needed::<N>(capacity));
    let mut producer = Producer::<_, N>::new(&words, capacity);
    let mut consumer = Consumer::<_, N>::new(&words, capacity);
    let mut model = VecDeque::new();
    let mut pushed = 0;
    for &(push, count) in steps {
        if push {
            let entries: Vec<[u64; N]> = (pushed..pushed + count as u64).map(entry).collect();
            let room = capacity - model.len();
            let done = producer.push_batch(&entries).unwrap();
            assert_eq!(done, count.min(room), "all the room is used");
            model.extend(&entries[..done]);
            pushed += done as u64;
        } else {
            let mut out = vec![[0; N]; count];
            let done = consumer.pop_batch(&mut out).unwrap();
            assert_eq!(done == 0, count == 0 || model.is_empty());
            for found in &out[..done] {
                assert_eq!(Some(*found), model.pop_front());
            }
        }
    }
    while let Some(found) = consumer.pop().unwrap() {
        assert_eq!(Some(found), model.pop_front());
    }
    assert!(model.is_empty());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_ring_behaves_like_a_plain_queue(
        exponent in 0_u32..7,
        steps in prop::collection::vec((any::<bool>(), 0_usize..70), 1..if cfg!(miri) { 20 } else { 200 }),
    ) {
        run::<1>(1 << exponent, &steps);
        run::<3>(1 << exponent, &steps);
        run::<8>(1 << exponent, &steps);
    }

    #[test]
    fn no_index_in_shared_memory_breaks_either_side(
        values in prop::collection::vec(prop_oneof![0_u64..20, any::<u64>()], 1..40),
    ) {
        let words = HeapWords::new(words_needed::<2>(4));
        let mut producer = Producer::<_, 2>::new(&words, 4);
        let mut consumer = Consumer::<_, 2>::new(&words, 4);
        for value in values {
            words.store_relaxed(HEAD_WORD, value);
            let _ = producer.push_batch(&[[1; 2]; 3]);
            words.store_relaxed(TAIL_WORD, value);
            let mut out = [[0; 2]; 3];
            prop_assert!(consumer.pop_batch(&mut out).unwrap_or(0) <= 3);
        }
    }
}

#[test]
fn an_index_that_jumps_or_goes_back_is_named() {
    let words = HeapWords::new(words_needed::<1>(2));
    let mut consumer = Consumer::<_, 1>::new(&words, 2);
    words.store_relaxed(TAIL_WORD, 3);
    let bad = consumer.pop().unwrap_err();
    assert_eq!((bad.index, bad.own, bad.capacity), (3, 0, 2));
    assert_eq!(
        bad.to_string(),
        "peer's ring index 3 does not fit ours, 0, in a ring of 2 entries"
    );
    words.store_relaxed(TAIL_WORD, 2);
    assert_eq!(consumer.pop(), Ok(Some([0])));
    assert_eq!(consumer.pop(), Ok(Some([0])));
    words.store_relaxed(TAIL_WORD, 1);
    assert!(consumer.pop().is_err());

    let mut producer = Producer::<_, 1>::new(&words, 2);
    words.store_relaxed(HEAD_WORD, 1);
    assert_eq!(producer.push_batch(&[[1], [2]]), Ok(2), "room was known");
    words.store_relaxed(HEAD_WORD, 9);
    assert!(producer.push(&[3]).is_err());
}

#[test]
fn indices_and_entries_lie_a_pad_apart_and_entries_are_whole() {
    assert_eq!(HEAD_WORD - TAIL_WORD, PAD_WORDS);
    assert!(header_entries::<8>() * 8 >= HEAD_WORD + PAD_WORDS);
    assert!(header_entries::<3>() * 3 >= HEAD_WORD + PAD_WORDS);
    assert_eq!(words_needed::<8>(4), header_entries::<8>() * 8 + 32);
}

#[test]
#[should_panic(expected = "is not a power of two")]
fn a_capacity_of_three_is_our_bug() {
    let words = HeapWords::new(1000);
    let _ = Producer::<_, 1>::new(&words, 3);
}

#[test]
fn two_threads_pass_every_entry_in_order() {
    let total: u64 = if cfg!(miri) { 60 } else { 200_000 };
    let words = HeapWords::new(words_needed::<4>(8));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = Producer::<_, 4>::new(&words, 8);
            let mut next = 0;
            while next < total {
                let last = total.min(next + 1 + next % 5);
                let batch: Vec<[u64; 4]> = (next..last).map(entry).collect();
                next += producer.push_batch(&batch).unwrap() as u64;
                std::thread::yield_now();
            }
        });
        let mut consumer = Consumer::<_, 4>::new(&words, 8);
        let mut next = 0;
        while next < total {
            let mut out = [[0; 4]; 3];
            let count = consumer.pop_batch(&mut out).unwrap();
            for found in &out[..count] {
                assert_eq!(*found, entry(next));
                next += 1;
            }
            if count == 0 {
                std::thread::yield_now();
            }
        }
    });
}
