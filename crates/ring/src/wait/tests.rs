use std::cell::{Cell, RefCell};

use super::*;

/// One processor: the peer runs only while the waiter has given the processor away.
struct OneProcessor<F> {
    peer: RefCell<F>,
    wakes: Cell<u32>,
    slept: Cell<u32>,
}

impl<F: FnMut(Moment)> OneProcessor<F> {
    fn new(peer: F) -> Self {
        Self {
            peer: RefCell::new(peer),
            wakes: Cell::new(0),
            slept: Cell::new(0),
        }
    }
}

/// When the peer gets to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    GivenWay,
    Asleep,
}

/// A sleeper that only counts the wake-ups asked of it.
struct Wakes<'c>(&'c Cell<u32>);

impl Sleeper for Wakes<'_> {
    fn sleep(&self, _word: &AtomicU32, _expected: u32) {
        unreachable!("the peer never waits");
    }

    fn wake(&self, _word: &AtomicU32) {
        self.0.set(self.0.get() + 1);
    }

    fn give_way(&self) {}
}

impl<F: FnMut(Moment)> Sleeper for OneProcessor<F> {
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        if word.load(Ordering::Relaxed) == expected {
            self.slept.set(self.slept.get() + 1);
            (self.peer.borrow_mut())(Moment::Asleep);
        }
    }

    fn wake(&self, _word: &AtomicU32) {
        self.wakes.set(self.wakes.get() + 1);
    }

    fn give_way(&self) {
        (self.peer.borrow_mut())(Moment::GivenWay);
    }
}

#[test]
fn a_condition_that_holds_costs_nothing() {
    let gate = Gate::new();
    let mut waiter = Waiter::new(Strategy::adaptive());
    let processor = OneProcessor::new(|_| panic!("the peer is not needed"));
    waiter.wait(&gate, &processor, || true);
    assert_eq!(waiter.counts(), WaitCounts::default());
    assert!(!gate.notify(&processor), "nobody sleeps, nobody is woken");
    assert_eq!(processor.wakes.get(), 0);
}

#[test]
fn spinning_polls_until_the_condition_holds() {
    let gate = Gate::new();
    let mut waiter = Waiter::new(Strategy::Spin);
    let processor = OneProcessor::new(|_| panic!("spinning gives nothing away"));
    let mut polls = 0;
    waiter.wait(&gate, &processor, || {
        polls += 1;
        polls == 1000
    });
    assert_eq!(waiter.counts(), WaitCounts::default());
}

#[test]
fn on_one_processor_giving_way_lets_the_peer_finish() {
    let gate = Gate::new();
    let done = Cell::new(false);
    let wakes = Cell::new(0);
    let processor = OneProcessor::new(|_| {
        done.set(true);
        assert!(!gate.notify(&Wakes(&wakes)));
    });
    let mut waiter = Waiter::new(Strategy::adaptive());
    waiter.wait(&gate, &processor, || done.get());
    assert_eq!(
        waiter.counts(),
        WaitCounts {
            yields: 1,
            sleeps: 0
        }
    );
    assert_eq!(wakes.get(), 0);
}

#[test]
fn on_one_processor_sleeping_lets_a_slow_peer_finish_and_wake_us_once() {
    let gate = Gate::new();
    let done = Cell::new(false);
    let wakes = Cell::new(0);
    let processor = OneProcessor::new(|moment| {
        if moment == Moment::Asleep {
            done.set(true);
            assert!(gate.notify(&Wakes(&wakes)));
            assert!(!gate.notify(&Wakes(&wakes)), "one wake-up is enough");
        }
    });
    let strategy = Strategy::Adaptive {
        spins: 2,
        yields: 3,
    };
    let mut waiter = Waiter::new(strategy);
    waiter.wait(&gate, &processor, || done.get());
    assert_eq!(
        waiter.counts(),
        WaitCounts {
            yields: 3,
            sleeps: 1
        }
    );
    assert_eq!(wakes.get(), 1);
    assert_eq!(gate.word.load(Ordering::Relaxed), AWAKE);
}

#[test]
fn a_sleep_that_returns_early_is_followed_by_another() {
    let gate = Gate::new();
    let naps = Cell::new(0);
    let processor = OneProcessor::new(|_| naps.set(naps.get() + 1));
    let strategy = Strategy::Adaptive {
        spins: 0,
        yields: 0,
    };
    let mut waiter = Waiter::new(strategy);
    waiter.wait(&gate, &processor, || naps.get() == 7);
    assert_eq!(waiter.counts().sleeps, 7);
    assert_eq!(gate.word.load(Ordering::Relaxed), AWAKE);
}

#[test]
fn a_notification_between_the_last_look_and_the_sleep_prevents_the_sleep() {
    let gate = Gate::new();
    let done = Cell::new(false);
    let looks = Cell::new(0);
    let wakes = Cell::new(0);
    let processor = OneProcessor::new(|_| panic!("the peer has finished; no reason to sleep"));
    let strategy = Strategy::Adaptive {
        spins: 0,
        yields: 0,
    };
    let mut waiter = Waiter::new(strategy);
    waiter.wait(&gate, &processor, || {
        let seen = done.get();
        looks.set(looks.get() + 1);
        if looks.get() == 2 {
            // the peer comes right after the last look before the sleep
            done.set(true);
            assert!(gate.notify(&Wakes(&wakes)));
        }
        seen
    });
    assert_eq!(waiter.counts().sleeps, 1, "asked to sleep");
    assert_eq!(processor.slept.get(), 0, "did not sleep");
    assert_eq!(wakes.get(), 1);
}
