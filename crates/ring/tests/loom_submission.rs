//! Loom model of the submission queue: push and publish against observe and take, around its end.
//!
//! Three commands through a queue of two entries (one in flight) and, for batches, of three
//! entries. The device returns its head in a register, released as a completion's phase tag is.
//!
//! Preemption bound: none. 20,000 executions, 1 s optimised.
#![cfg(ring_loom)]

mod loom_support;

use loom::thread;
use loom_support::{Doorbell, EVERY_WORD, Shared, Weak, explore, register};
use ring::Register32;
use ring::queue::{SubmissionHead, SubmissionTail};

const COMMANDS: u32 = 3;

fn pass_commands(depth: u32, doorbell: Weak) {
    explore(None, move || {
        let words = Shared::new(depth as usize * 8, Weak::Nothing);
        let doorbell = Doorbell::new(doorbell);
        let taken = register();
        let mut host = SubmissionTail::new(words.clone(), depth);
        let (host_doorbell, host_taken) = (doorbell.clone(), taken.clone());
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while sent < COMMANDS {
                let free = depth - 1 - (sent - host_taken.load_acquire());
                for _ in 0..free.min(COMMANDS - sent) {
                    sent += 1;
                    host.push(&[u64::from(sent); 8]);
                }
                host.publish(&host_doorbell);
                if free == 0 {
                    thread::yield_now();
                }
            }
        });
        let mut device = SubmissionHead::new(words, depth);
        let mut received = 0;
        while received < COMMANDS {
            let pending = device.observe(doorbell.load_acquire()).unwrap();
            for _ in 0..pending {
                received += 1;
                assert_eq!(
                    device.take(),
                    [u64::from(received); 8],
                    "a command was lost, repeated or torn"
                );
            }
            if pending == 0 {
                thread::yield_now();
            } else {
                taken.store_release(received);
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn every_command_arrives_whole_and_in_order_one_at_a_time() {
    pass_commands(2, Weak::Nothing);
}

#[test]
fn every_command_arrives_whole_and_in_order_in_batches() {
    pass_commands(3, Weak::Nothing);
}

#[test]
#[should_panic(expected = "a command was lost, repeated or torn")]
fn a_tail_doorbell_without_release_is_caught() {
    pass_commands(2, Weak::Store(EVERY_WORD));
}

#[test]
#[should_panic(expected = "a command was lost, repeated or torn")]
fn a_tail_doorbell_without_acquire_is_caught() {
    pass_commands(2, Weak::Load(EVERY_WORD));
}
