//! Two threads on one processor, with a real futex: adaptive waiting makes progress and loses no
//! wake-up.
#![cfg(all(target_os = "linux", not(miri), not(ring_loom)))]

use ring::HeapWords;
use ring::spsc::{Consumer, Producer, words_needed};
use ring::sync::AtomicU32;
use ring::wait::{Gate, Sleeper, Strategy, Waiter};
use rustix::thread::{CpuSet, futex, sched_getaffinity, sched_setaffinity};

/// The kernel's futex, private to this process.
struct Futex;

impl Sleeper for Futex {
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        // An error means "look again": the word has changed, or a signal came.
        let _ = futex::wait(word, futex::Flags::PRIVATE, expected, None);
    }

    fn wake(&self, word: &AtomicU32) {
        futex::wake(word, futex::Flags::PRIVATE, 1).expect("waking a private futex cannot fail");
    }

    fn give_way(&self) {
        std::thread::yield_now();
    }
}

/// Restricts this thread, and the threads it starts, to one processor that it may use.
fn stay_on_one_processor() {
    let allowed = sched_getaffinity(None).expect("the kernel tells the allowed processors");
    let first = (0..CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .expect("some processor is allowed");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("an allowed processor can be chosen");
}

/// Sends `total` entries through a ring of four, one at a time, and back through another.
fn ping_pong(strategy: Strategy, total: u64) {
    stay_on_one_processor();
    let there = HeapWords::new(words_needed::<1>(4));
    let back = HeapWords::new(words_needed::<1>(4));
    let (there_gate, back_gate) = (Gate::new(), Gate::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut input = Consumer::<_, 1>::new(&there, 4);
            let mut output = Producer::<_, 1>::new(&back, 4);
            let mut waiter = Waiter::new(strategy);
            for number in 0..total {
                waiter.wait(&there_gate, &Futex, || input.ready().unwrap());
                assert_eq!(input.pop(), Ok(Some([number])));
                assert_eq!(output.push(&[number]), Ok(true));
                back_gate.notify(&Futex);
            }
        });
        let mut output = Producer::<_, 1>::new(&there, 4);
        let mut input = Consumer::<_, 1>::new(&back, 4);
        let mut waiter = Waiter::new(strategy);
        for number in 0..total {
            assert_eq!(output.push(&[number]), Ok(true));
            there_gate.notify(&Futex);
            waiter.wait(&back_gate, &Futex, || input.ready().unwrap());
            assert_eq!(input.pop(), Ok(Some([number])));
        }
    });
}

#[test]
fn adaptive_waiting_makes_progress_on_one_processor() {
    ping_pong(Strategy::adaptive(), 20_000);
}

#[test]
fn sleeping_at_once_loses_no_wake_up_on_one_processor() {
    let strategy = Strategy::Adaptive {
        spins: 0,
        yields: 0,
    };
    ping_pong(strategy, 20_000);
}
