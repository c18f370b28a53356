//! Loom model of sleeping: no wake-up is lost, with one notifier and with two.
//!
//! The futex is a mutex and a condition variable, so a wake-up that is lost leaves the waiter
//! blocked for ever, which loom reports as a deadlock.
//!
//! Preemption bound: none for one notifier (190,000 executions); 5 for two notifiers (130,000;
//! without a bound 2.4 million pass in 90 s). About 12 s optimised in all.
#![cfg(ring_loom)]

mod loom_support;

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};
use loom::thread;
use loom_support::{Shared, Weak, explore};
use ring::spsc::{Consumer, Producer, words_needed};
use ring::sync::{AtomicU32, Ordering, fence};
use ring::wait::{Gate, Sleeper, Strategy, Waiter};

const TWO_NOTIFIERS_PREEMPTIONS: Option<usize> = Some(5);

const SLEEP_AT_ONCE: Strategy = Strategy::Adaptive {
    spins: 0,
    yields: 0,
};

/// A futex with one sleeper: comparing and going to sleep are one step under the mutex.
struct Futex {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: Mutex::new(()),
            woken: Condvar::new(),
        })
    }
}

impl Sleeper for Futex {
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        let guard = self.lock.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    fn wake(&self, _word: &AtomicU32) {
        let _guard = self.lock.lock().unwrap();
        self.woken.notify_one();
    }

    fn give_way(&self) {
        thread::yield_now();
    }
}

#[test]
fn a_consumer_that_sleeps_gets_every_entry() {
    explore(None, || {
        let words = Shared::new(words_needed::<1>(2), Weak::Nothing);
        let gate = Arc::new(Gate::new());
        let futex = Futex::new();
        let mut producer = Producer::<_, 1>::new(words.clone(), 2);
        let (producer_gate, producer_futex) = (gate.clone(), futex.clone());
        let thread = thread::spawn(move || {
            for number in 1..=2 {
                assert_eq!(producer.push(&[number]), Ok(true));
                producer_gate.notify(&*producer_futex);
            }
        });
        let mut consumer = Consumer::<_, 1>::new(words, 2);
        let mut waiter = Waiter::new(SLEEP_AT_ONCE);
        for number in 1..=2 {
            waiter.wait(&gate, &*futex, || consumer.ready().unwrap());
            assert_eq!(consumer.pop(), Ok(Some([number])));
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_waiter_with_two_notifiers_sees_both() {
    explore(TWO_NOTIFIERS_PREEMPTIONS, || {
        let flags = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let gate = Arc::new(Gate::new());
        let futex = Futex::new();
        let threads = [0, 1].map(|number| {
            let (flags, gate, futex) = (flags.clone(), gate.clone(), futex.clone());
            thread::spawn(move || {
                flags[number].store(1, Ordering::Relaxed);
                gate.notify(&*futex);
            })
        });
        let mut waiter = Waiter::new(SLEEP_AT_ONCE);
        waiter.wait(&gate, &*futex, || {
            flags.iter().all(|flag| flag.load(Ordering::Relaxed) == 1)
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// The announcement and the notification as in `ring::wait`, each with its fence or without.
fn announce_and_notify(waiter_fence: bool, notifier_fence: bool) {
    explore(None, move || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let futex = Futex::new();
        let (notifier, notifier_futex) = (shared.clone(), futex.clone());
        let thread = thread::spawn(move || {
            let (asleep, done) = &*notifier;
            done.store(1, Ordering::Relaxed);
            if notifier_fence {
                // pairs with the waiter's fence below
                fence(Ordering::SeqCst);
            }
            // the swaps pair with each other
            if asleep.load(Ordering::Relaxed) == 1 && asleep.swap(0, Ordering::AcqRel) == 1 {
                notifier_futex.wake(asleep);
            }
        });
        let (asleep, done) = &*shared;
        loop {
            asleep.swap(1, Ordering::AcqRel);
            if waiter_fence {
                // pairs with the notifier's fence above
                fence(Ordering::SeqCst);
            }
            if done.load(Ordering::Relaxed) == 1 {
                break;
            }
            futex.sleep(asleep, 1);
        }
        thread.join().unwrap();
    });
}

#[test]
fn the_copy_with_both_fences_loses_nothing() {
    announce_and_notify(true, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_waiter_without_its_fence_is_caught() {
    announce_and_notify(false, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_notifier_without_its_fence_is_caught() {
    announce_and_notify(true, false);
}
