//! Loom model of the completion queue: post against take, through two changes of the phase tag.
//!
//! Five completions through a queue of two entries: both slots are used with phase one, zero and
//! one again.
//!
//! Preemption bound: 3; 13 s optimised. With 5, above five minutes: an empty poll reads both words.
#![cfg(ring_loom)]

mod loom_support;

use loom::thread;
use loom_support::{Doorbell, EVERY_WORD, Shared, Weak, explore};
use ring::Register32;
use ring::queue::{CompletionHead, CompletionTail};

const PREEMPTIONS: Option<usize> = Some(3);
const PHASE: u64 = 1 << 48;

fn pass_completions(depth: u32, total: u64, phase: Weak, doorbell: Weak) {
    explore(PREEMPTIONS, move || {
        let words = Shared::new(depth as usize * 2, phase);
        let doorbell = Doorbell::new(doorbell);
        let mut device = CompletionTail::new(words.clone(), depth);
        let device_doorbell = doorbell.clone();
        let thread = thread::spawn(move || {
            let mut posted = 0;
            while posted < total {
                device.observe_head(device_doorbell.load_acquire()).unwrap();
                if device.room() == 0 {
                    thread::yield_now();
                }
                for _ in 0..u64::from(device.room()).min(total - posted) {
                    posted += 1;
                    device.post(posted, posted);
                }
            }
        });
        let mut host = CompletionHead::new(words, depth);
        let mut reaped = 0;
        while reaped < total {
            let Some([word0, word1]) = host.take() else {
                thread::yield_now();
                continue;
            };
            reaped += 1;
            assert_eq!(word1 & !PHASE, reaped, "a completion was lost or repeated");
            assert_eq!(word0, reaped, "a completion was torn");
            host.publish(&doorbell);
        }
        thread.join().unwrap();
    });
}

#[test]
fn every_completion_arrives_whole_through_two_phases() {
    pass_completions(2, 5, Weak::Nothing, Weak::Nothing);
}

#[test]
fn every_completion_arrives_whole_in_batches() {
    pass_completions(3, 4, Weak::Nothing, Weak::Nothing);
}

#[test]
#[should_panic(expected = "a completion was torn")]
fn a_phase_tag_without_release_is_caught() {
    pass_completions(2, 3, Weak::Store(EVERY_WORD), Weak::Nothing);
}

#[test]
#[should_panic(expected = "a completion was torn")]
fn a_phase_tag_without_acquire_is_caught() {
    pass_completions(2, 3, Weak::Load(EVERY_WORD), Weak::Nothing);
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_head_doorbell_without_release_is_caught() {
    pass_completions(2, 4, Weak::Nothing, Weak::Store(EVERY_WORD));
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_head_doorbell_without_acquire_is_caught() {
    pass_completions(2, 4, Weak::Nothing, Weak::Load(EVERY_WORD));
}
