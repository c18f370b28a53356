//! Loom model of the ring between two threads, around its end.
//!
//! Four messages of one word through a ring of two, so every slot is used twice: a missing order
//! on the consumer's index cannot show before the third message.
//!
//! Preemption bound: none. 130,000 executions, 4 s optimised.
#![cfg(ring_loom)]

mod loom_support;

use loom::thread;
use loom_support::{Shared, Weak, explore};
use ring::limits::PAD_WORDS;
use ring::spsc::{Consumer, Producer, words_needed};

const CAPACITY: usize = 2;
const MESSAGES: u64 = 4;
const TAIL_WORD: usize = 0;
const HEAD_WORD: usize = PAD_WORDS;

fn pass_messages(weak: Weak) {
    explore(None, move || {
        let words = Shared::new(words_needed::<1>(CAPACITY), weak);
        let mut producer = Producer::<_, 1>::new(words.clone(), CAPACITY);
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while sent < MESSAGES {
                let batch = [[sent + 1], [sent + 2]];
                let left = usize::try_from(MESSAGES - sent).unwrap().min(2);
                let done = producer.push_batch(&batch[..left]).unwrap();
                sent += done as u64;
                if done == 0 {
                    thread::yield_now();
                }
            }
        });
        let mut consumer = Consumer::<_, 1>::new(words, CAPACITY);
        let mut received = 0;
        while received < MESSAGES {
            match consumer.pop().unwrap() {
                Some([found]) => {
                    received += 1;
                    assert_eq!(found, received, "an entry was lost, repeated or stale");
                }
                None => thread::yield_now(),
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn every_message_arrives_once_and_in_order() {
    pass_messages(Weak::Nothing);
}

#[test]
#[should_panic(expected = "an entry was lost, repeated or stale")]
fn a_producer_index_without_release_is_caught() {
    pass_messages(Weak::Store(TAIL_WORD));
}

#[test]
#[should_panic(expected = "an entry was lost, repeated or stale")]
fn a_producer_index_without_acquire_is_caught() {
    pass_messages(Weak::Load(TAIL_WORD));
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_consumer_index_without_release_is_caught() {
    pass_messages(Weak::Store(HEAD_WORD));
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_consumer_index_without_acquire_is_caught() {
    pass_messages(Weak::Load(HEAD_WORD));
}
