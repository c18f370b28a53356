//! What file media promise, where it can fail: on a disk that records, reorders, fails, lies and loses power.

mod answers;
mod caller;
mod crash;
mod disk;
mod history;
mod meanings;
mod random;

use caller::Caller;
use disk::{Faults, Honesty};
use random::Random;

const STEPS: usize = 250;

/// Runs one workload; says which promise a loss of power breaks.
fn run(seed: u64, durable_writes: bool, honesty: Honesty, faults: Faults) -> Option<String> {
    let mut caller = Caller::new(seed, durable_writes);
    caller.media.disk_mut().honesty = honesty;
    caller.media.disk_mut().faults = faults;
    for _ in 0..STEPS {
        caller.step();
    }
    caller.settle();
    crash::broken_promise(&caller, 8, &mut Random(seed))
}

fn is_found(honesty: Honesty, durable_writes: bool) -> bool {
    (0..20).any(|seed| run(seed, durable_writes, honesty, Faults::default()).is_some())
}

#[test]
fn what_was_flushed_or_forced_survives_every_loss_of_power() {
    for seed in 0..60 {
        for durable_writes in [false, true] {
            let broken = run(seed, durable_writes, Honesty::Honest, Faults::default());
            assert_eq!(broken, None, "seed {seed}, durable writes {durable_writes}");
        }
    }
}

#[test]
fn it_survives_on_a_disk_that_fails_too() {
    let faults = Faults {
        error: 4,
        short: 10,
        interrupted: 10,
        sync_error: 10,
        ..Faults::default()
    };
    for seed in 0..60 {
        for durable_writes in [false, true] {
            let broken = run(seed, durable_writes, Honesty::Honest, faults);
            assert_eq!(broken, None, "seed {seed}, durable writes {durable_writes}");
        }
    }
}

#[test]
fn a_disk_that_skips_fdatasync_is_found_out() {
    assert!(is_found(Honesty::SkipsSync, false));
    assert!(is_found(Honesty::SkipsSync, true));
}

#[test]
fn a_disk_that_ignores_force_unit_access_is_found_out() {
    assert!(is_found(Honesty::IgnoresDurable, true));
}
