//! The virtual-time world: one seed replays one run.
//!
//! # For
//! Finding what no test was written for: controller, driver and media under one clock and one seed, random commands on the
//! same few blocks, resets and faults in the middle of everything, and an oracle that knows what each block may hold.
//!
//! # In
//! A seed, and for the proof that the alarm works a bug to plant.
//!
//! # Out
//! A [`Summary`] with the hash of all that happened, or a [`Failure`]: what was seen, the world, the last events, and the
//! arguments that replay it.
//!
//! # Never
//! No real time, no thread, no randomness but the seed's, nothing that depends on an address: the same seed is the same
//! run, everywhere. No faults that no host or drive may show; `media.rs` and `trouble.rs` say which are fair.
//!
//! # Limits
//! `limits.rs`. One controller, one driver, one thread. Media do their work when a command is fetched, and only answer
//! late; the controller is given whole turns, so no race within a turn is seen (loom and Miri look there).
//!
//! # Read first
//! `world.rs` (queue pairs), `judge.rs` and `oracle.rs`, then `trouble.rs`, then `bytes.rs` (the block layer).
#![forbid(unsafe_code)]

pub mod accounts;
pub mod bytes;
pub mod command;
mod judge;
mod lane;
pub mod limits;
pub mod link;
pub mod media;
pub mod oracle;
pub mod plan;
pub mod random;
pub mod report;
pub mod seeds;
pub mod stamp;
pub mod trace;
pub mod trouble;
pub mod world;

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use media::Plant;
pub use report::{Alarm, Failure, Summary};
pub use seeds::{Kept, kept};
pub use trace::{Event, Listener, line};

use bytes::ByteWorld;
use plan::{Plan, Style};
use random::Random;
use report::Caught;
use trace::Trace;
use world::World;

/// The seed that must fail when writes are lost: the proof that the alarm works.
pub const CANARY_SEED: u64 = 2;

/// The bug of the canary.
pub const CANARY_PLANT: Plant = Plant::LostWrite;

/// How a run is to be made.
#[derive(Default)]
pub struct Options {
    /// A bug to plant.
    pub plant: Option<Plant>,
    /// Hears each event as it happens.
    pub listener: Option<Listener>,
}

impl core::fmt::Debug for Options {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Options")
            .field("plant", &self.plant)
            .finish_non_exhaustive()
    }
}

/// What is known of a run even when it fails.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    time: Duration,
    commands: u64,
    given_up: u64,
    troubles: u64,
}

/// Runs one seed.
///
/// # Errors
/// The failure, with all that is known about it. A panic in driver or controller is one.
pub fn run(seed: u64, options: Options) -> Result<Summary, Failure> {
    let Options { plant, listener } = options;
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random);
    let mut trace = Trace::new(listener);
    let mut progress = Progress::default();
    let lived = catch_unwind(AssertUnwindSafe(|| match plan.style {
        Style::Queues => live(plan.clone(), plant, random, &mut trace, &mut progress),
        Style::Bytes => live_by_bytes(plan.clone(), plant, random, &mut trace, &mut progress),
    }));
    let lived = lived.unwrap_or_else(|panic| {
        Err(Caught {
            alarm: Alarm::Panic,
            what: words_of(panic.as_ref()),
        })
    });
    match lived {
        Ok(()) => Ok(Summary {
            seed,
            commands: progress.commands,
            given_up: progress.given_up,
            troubles: progress.troubles,
            time: progress.time,
            hash: trace.hash(),
        }),
        Err(Caught { alarm, what }) => Err(Failure {
            seed,
            plant,
            alarm,
            what,
            time: progress.time,
            plan: plan.to_string(),
            events: trace.recent(),
        }),
    }
}

fn live(
    plan: Plan,
    plant: Option<Plant>,
    random: Random,
    trace: &mut Trace,
    progress: &mut Progress,
) -> Result<(), Caught> {
    let mut world = World::new(plan, plant, random, trace)?;
    let lived = world.run();
    *progress = Progress {
        time: world.now(),
        commands: world.commands(),
        given_up: world.given_up(),
        troubles: world.troubles(),
    };
    lived.and_then(|()| world.part())
}

fn live_by_bytes(
    plan: Plan,
    plant: Option<Plant>,
    random: Random,
    trace: &mut Trace,
    progress: &mut Progress,
) -> Result<(), Caught> {
    let mut world = ByteWorld::new(plan, plant, random, trace)?;
    let lived = world.run();
    *progress = Progress {
        time: world.now(),
        commands: world.calls(),
        given_up: 0,
        troubles: world.troubles(),
    };
    lived.and_then(|()| world.part())
}

/// What a panic said.
fn words_of(panic: &(dyn core::any::Any + Send)) -> String {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    words.unwrap_or("a panic without words").to_owned()
}
