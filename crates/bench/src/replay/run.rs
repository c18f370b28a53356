//! The replay as a whole: one thread reads the trace ahead, one drives the device, and the caller's watches.

use core::time::Duration;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError};

use driver::QueuePair;
use mem::DmaBuffer;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::engine::{Counted, Engine, Facts, Live, Sent};
use super::layout::{Io, Layout};
use super::trace::{Trace, TraceError};
use super::{Kind, PerKind, limits};
use crate::clock::{self, Clock};
use crate::lane::LaneError;
use crate::latency::Latency;
use crate::limits::{SAMPLE_MS, STALL_SECONDS};
use crate::runner::Turn;

/// When I/Os are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// At their recorded times, whether the device keeps up or not. One without a time goes after the one before it.
    Recorded {
        /// How many times faster than recorded, [`limits::SPEED_MIN`] to [`limits::SPEED_MAX`].
        speed: f64,
    },
    /// Each as soon as there is room.
    Fast,
}

/// How to replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// When I/Os are sent.
    pub pace: Pace,
    /// Commands in flight at most, 1 to [`crate::limits::QUEUE_DEPTH_MAX`].
    pub qd: u32,
    /// I/Os of the trace to replay at most; absent: all.
    pub ios: Option<u64>,
    /// Milliseconds after which no more are sent; absent: no end.
    pub runtime_ms: Option<u64>,
    /// Whether each written block is stamped with its address and with which write of the trace this is.
    pub stamp: bool,
    /// Seed of the data.
    pub seed: u64,
}

/// A device ready to be driven.
#[derive(Debug)]
pub struct Rig<T> {
    /// A queue pair of at least the plan's depth.
    pub pair: QueuePair,
    /// Data buffers, as [`super::engine::buffer_bytes`] says.
    pub memory: DmaBuffer,
    /// The namespace.
    pub facts: Facts,
    /// The turn of the controller.
    pub turn: T,
}

/// Why a replay did not reach its end.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The queue pair or its memory is too small.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The device stopped answering.
    #[error(
        "no completion for {seconds:.0} s with {in_flight} I/Os in flight; the device or its thread hangs"
    )]
    Stalled {
        /// I/Os in flight.
        in_flight: usize,
        /// Seconds without a completion.
        seconds: f64,
    },
}

/// What one kind of I/O did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindOutcome {
    /// I/Os that ended, failed ones too.
    pub ios: u64,
    /// Bytes of those that succeeded.
    pub bytes: u64,
    /// Latencies in ticks: from the recorded time, or where there is none from sending.
    pub latency: Latency,
}

/// What a replay did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Seconds from the first I/O's time to the last completion.
    pub seconds: f64,
    /// The kinds of I/O.
    pub kinds: PerKind<KindOutcome>,
    /// How late I/Os with a recorded time were sent, in ticks.
    pub lag: Latency,
    /// The engine's counts.
    pub counted: Counted,
    /// I/Os in flight on average.
    pub depth: f64,
    /// Looks at the completion queue.
    pub polls: u64,
    /// Seconds that the driving thread slept because nothing was due.
    pub asleep_seconds: f64,
    /// Doorbells rung.
    pub doorbells: u64,
    /// CPU seconds of the driving thread.
    pub cpu_seconds: f64,
    /// CPU seconds of the whole process meanwhile: reading the trace, and controllers on threads of their own, included.
    pub process_cpu_seconds: f64,
    /// Times that the next I/O was not read from the trace yet when it was wanted.
    pub starved: u64,
    /// Whether the runtime was over before the trace.
    pub cut: bool,
}

/// A look at a running replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since the beginning.
    pub seconds: f64,
    /// I/Os ended so far.
    pub ios: u64,
    /// I/Os per second since the last look.
    pub iops: f64,
    /// MiB read and written per second since the last look.
    pub mib_per_second: f64,
    /// 99th percentile of how late I/Os were sent since the last look, in nanoseconds; absent without recorded times.
    pub lag_p99_ns: Option<f64>,
}

/// I/Os as the reading thread hands them over.
type Batch = Result<Vec<Io>, TraceError>;

/// The driving thread's end of the trace.
#[derive(Debug)]
struct Feed {
    batches: Receiver<Batch>,
    used: SyncSender<Vec<Io>>,
    current: Vec<Io>,
    taken: usize,
    ended: bool,
    /// Whether the last look found nothing.
    dry: bool,
    starved: u64,
}

impl Feed {
    /// The next I/O; `None` if it is not read yet, or at the end.
    fn next(&mut self) -> Result<Option<Io>, TraceError> {
        while self.taken == self.current.len() && !self.ended {
            match self.batches.try_recv() {
                Ok(batch) => self.change(batch?),
                Err(TryRecvError::Disconnected) => self.ended = true,
                Err(TryRecvError::Empty) => {
                    self.starved += u64::from(!self.dry);
                    self.dry = true;
                    return Ok(None);
                }
            }
        }
        let io = self.current.get(self.taken).copied();
        self.taken += usize::from(io.is_some());
        Ok(io)
    }

    /// Waits for the first batch, so that opening the trace is not taken for a late device.
    fn begin(&mut self) -> Result<(), TraceError> {
        match self.batches.recv() {
            Ok(batch) => self.change(batch?),
            Err(_) => self.ended = true,
        }
        Ok(())
    }

    fn change(&mut self, batch: Vec<Io>) {
        let used = core::mem::replace(&mut self.current, batch);
        (self.taken, self.dry) = (0, false);
        // Full or gone: then the reader has enough, or has ended.
        let _ = self.used.try_send(used);
    }
}

/// Reads a trace ahead of the driving thread until that has enough.
fn read_ahead(
    mut trace: Trace,
    layout: &Layout,
    ios_max: Option<u64>,
    batches: &SyncSender<Batch>,
    used: &Receiver<Vec<Io>>,
) {
    let mut left = ios_max.unwrap_or(u64::MAX);
    loop {
        let mut batch = used
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(limits::BATCH_IOS));
        batch.clear();
        let mut error = None;
        while batch.len() < limits::BATCH_IOS && left > 0 {
            match trace.next() {
                Ok(Some(op)) => batch.push(layout.place(&op)),
                Ok(None) => left = 1,
                Err(found) => {
                    error = Some(found);
                    left = 1;
                }
            }
            left -= 1;
        }
        if !batch.is_empty() && batches.send(Ok(batch)).is_err() {
            return;
        }
        if let Some(error) = error {
            let _ = batches.send(Err(error)); // the driving thread may have ended by itself
            return;
        }
        if left == 0 {
            return;
        }
    }
}

/// What the driving loop counted besides the engine.
#[derive(Clone, Copy, Debug, Default)]
struct Loop {
    start: u64,
    end: u64,
    polls: u64,
    asleep: u64,
    cut: bool,
}

/// The loop that is measured.
fn drive<T: Turn>(
    engine: &mut Engine<'_>,
    feed: &mut Feed,
    turn: &mut T,
    live: &Live,
    clock: &Clock,
    runtime_ms: Option<u64>,
) -> Result<Loop, ReplayError> {
    let start = clock.ticks();
    engine.start_at(start);
    let deadline = runtime_ms.map_or(u64::MAX, |ms| start + clock.ticks_in(ms as f64 / 1e3));
    let awake = clock.ticks_in(limits::AWAKE_NS as f64 / 1e9);
    let mut counted = Loop {
        start,
        ..Loop::default()
    };
    let mut answered = start;
    loop {
        turn.turn(0);
        let (found, now) = engine.poll(clock, live);
        counted.polls += 1;
        if now >= deadline && !counted.cut {
            counted.cut = !feed.ended || !engine.wants_io();
            feed.ended = true;
            (feed.taken, feed.current) = (0, Vec::new());
            engine.drop_next();
        }
        let waiting = loop {
            if engine.wants_io() {
                match feed.next()? {
                    Some(io) => engine.set_next(io),
                    None => break None,
                }
            }
            match engine.send_next(now, live) {
                Sent::All => {}
                Sent::Waits => break None,
                Sent::DueAt(tick) => break Some(tick),
            }
        };
        engine.publish();
        if engine.in_flight() == 0 {
            answered = now;
            if engine.wants_io() {
                if feed.ended {
                    break;
                }
                std::thread::yield_now(); // for the reading thread
            }
            let wake = waiting.unwrap_or(now).min(deadline).saturating_sub(awake);
            if wake > now + awake {
                let most = clock.ticks_in(limits::SLEEP_NS_MAX as f64 / 1e9);
                let seconds = clock.seconds((wake - now).min(most));
                std::thread::sleep(Duration::from_secs_f64(seconds));
                counted.asleep += clock.ticks() - now;
            }
        } else if found > 0 {
            answered = now;
        } else {
            let seconds = clock.seconds(now.saturating_sub(answered));
            if seconds > STALL_SECONDS {
                let in_flight = engine.in_flight();
                return Err(ReplayError::Stalled { in_flight, seconds });
            }
        }
    }
    counted.end = clock.ticks();
    Ok(counted)
}

/// Runs the loop and measures what surrounds it.
fn driving_thread<T: Turn>(
    rig: &mut Rig<T>,
    mut feed: Feed,
    plan: &Plan,
    longest: u64,
    live: &Live,
    clock: &Clock,
) -> Result<Outcome, ReplayError> {
    let doorbells = |pair: &QueuePair| {
        let counters = pair.counters();
        counters.submission_doorbells + counters.completion_doorbells
    };
    let doorbells_before = doorbells(&rig.pair);
    let mut engine = Engine::new(&mut rig.pair, &rig.memory, rig.facts, plan, longest, clock)?;
    feed.begin()?;
    let (cpu, process_cpu) = (clock::thread_cpu_seconds(), clock::process_cpu_seconds());
    let counted = drive(
        &mut engine,
        &mut feed,
        &mut rig.turn,
        live,
        clock,
        plan.runtime_ms,
    )?;
    let (cpu, process_cpu) = (
        clock::thread_cpu_seconds() - cpu,
        clock::process_cpu_seconds() - process_cpu,
    );
    let engine_counted = engine.into_counted();
    let ticks = (counted.end - counted.start).max(1);
    let mut outcome = Outcome {
        seconds: clock.seconds(ticks),
        depth: engine_counted.in_flight_ticks as f64 / ticks as f64,
        counted: engine_counted,
        polls: counted.polls,
        asleep_seconds: clock.seconds(counted.asleep),
        doorbells: doorbells(&rig.pair) - doorbells_before,
        cpu_seconds: cpu,
        process_cpu_seconds: process_cpu.max(0.0),
        starved: feed.starved,
        cut: counted.cut,
        ..Outcome::default()
    };
    for kind in Kind::ALL {
        let (sum, of) = (outcome.kinds.of_mut(kind), live.kinds.of(kind));
        sum.ios = of.direction.ios();
        sum.bytes = of.bytes();
        of.direction.latency.add_to(&mut sum.latency);
    }
    live.lag.add_to(&mut outcome.lag);
    Ok(outcome)
}

/// Takes samples of a running replay.
#[derive(Debug)]
struct Sampler {
    clock: Clock,
    start: u64,
    last: u64,
    ios: u64,
    bytes: u64,
    before: Latency,
    now: Latency,
}

impl Sampler {
    fn new(clock: Clock) -> Self {
        let start = clock.ticks();
        Self {
            clock,
            start,
            last: start,
            ios: 0,
            bytes: 0,
            before: Latency::default(),
            now: Latency::default(),
        }
    }

    fn sample(&mut self, live: &Live) -> Sample {
        let ticks = self.clock.ticks();
        self.now.clear();
        live.lag.add_to(&mut self.now);
        let ios = live.kinds.map(|_, kind| kind.direction.ios()).sum();
        let bytes = live.kinds.read.bytes() + live.kinds.write.bytes();
        let seconds = self
            .clock
            .seconds(ticks.saturating_sub(self.last))
            .max(1e-9);
        let lag = self.now.quantile_since(&self.before, 0.99);
        let sample = Sample {
            seconds: self.clock.seconds(ticks.saturating_sub(self.start)),
            ios,
            iops: (ios - self.ios) as f64 / seconds,
            mib_per_second: (bytes - self.bytes) as f64 / f64::from(1 << 20) / seconds,
            lag_p99_ns: lag.map(|ticks| ticks as f64 * self.clock.nanoseconds_per_tick()),
        };
        core::mem::swap(&mut self.before, &mut self.now);
        (self.last, self.ios, self.bytes) = (ticks, ios, bytes);
        sample
    }
}

/// Replays a trace that was surveyed before (its longest read or write has `longest` bytes). `observe` is called on the
/// calling thread, about every [`SAMPLE_MS`].
///
/// # Errors
/// [`ReplayError`]; what had been measured is lost then.
///
/// # Panics
/// If one of the threads panics.
pub fn replay<T: Turn + Send>(
    rig: &mut Rig<T>,
    trace: Trace,
    layout: &Layout,
    plan: &Plan,
    longest: u64,
    clock: &Clock,
    observe: &mut dyn FnMut(Sample),
) -> Result<Outcome, ReplayError> {
    let live = &Live::default();
    let (send_batch, batches) = mpsc::sync_channel(limits::BATCHES_AHEAD);
    let (used, recycle) = mpsc::sync_channel(limits::BATCHES_AHEAD + 2);
    let feed = Feed {
        batches,
        used,
        current: Vec::new(),
        taken: 0,
        ended: false,
        dry: false,
        starved: 0,
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            read_ahead(trace, layout, plan.ios, &send_batch, &recycle);
        });
        let (done, finished) = mpsc::channel::<()>();
        let driver = scope.spawn(move || {
            let result = driving_thread(rig, feed, plan, longest, live, clock);
            drop(done);
            result
        });
        let mut sampler = Sampler::new(*clock);
        let interval = Duration::from_millis(SAMPLE_MS);
        while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(interval) {
            observe(sampler.sample(live));
        }
        observe(sampler.sample(live));
        let result = driver.join();
        if let Err(panic) = reader.join() {
            std::panic::resume_unwind(panic);
        }
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
