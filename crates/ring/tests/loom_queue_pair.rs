//! Loom model of both queues together: the phase tag alone tells the host that a submission slot
//! may be written again.
//!
//! Preemption bound: 3; 6 s optimised.
#![cfg(ring_loom)]

mod loom_support;

use loom::thread;
use loom_support::{Doorbell, EVERY_WORD, Shared, Weak, explore};
use ring::Register32;
use ring::queue::{CompletionHead, CompletionTail, SubmissionHead, SubmissionTail};

const SQ_DEPTH: u32 = 2;
/// Deeper than there are commands, so that no completion slot is used twice and only the
/// submission queue's slots are put to the test.
const CQ_DEPTH: u32 = 4;
const COMMANDS: u64 = 3;

fn run_commands(phase: Weak) {
    explore(Some(3), move || {
        let sq = Shared::new(SQ_DEPTH as usize * 8, Weak::Nothing);
        let cq = Shared::new(CQ_DEPTH as usize * 2, phase);
        let tail = Doorbell::new(Weak::Nothing);
        let mut device_sq = SubmissionHead::new(sq.clone(), SQ_DEPTH);
        let mut device_cq = CompletionTail::new(cq.clone(), CQ_DEPTH);
        let device_tail = tail.clone();
        let thread = thread::spawn(move || {
            let mut done = 0;
            while done < COMMANDS {
                if device_sq.observe(device_tail.load_acquire()).unwrap() == 0 {
                    thread::yield_now();
                    continue;
                }
                done += 1;
                assert_eq!(device_sq.take(), [done; 8], "a command was torn");
                device_cq.post(done, done);
            }
        });
        let mut host_sq = SubmissionTail::new(sq, SQ_DEPTH);
        let mut host_cq = CompletionHead::new(cq, CQ_DEPTH);
        for number in 1..=COMMANDS {
            host_sq.push(&[number; 8]);
            host_sq.publish(&tail);
            while host_cq.take().is_none() {
                thread::yield_now();
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_slot_is_reused_only_after_its_command_was_copied() {
    run_commands(Weak::Nothing);
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_phase_tag_without_acquire_lets_a_slot_be_reused_too_early() {
    run_commands(Weak::Load(EVERY_WORD));
}

#[test]
#[should_panic(expected = "a slot was written again before it was read")]
fn a_phase_tag_without_release_lets_a_slot_be_reused_too_early() {
    run_commands(Weak::Store(EVERY_WORD));
}
