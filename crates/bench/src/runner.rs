//! The loop that is measured, and the threads that run it.
//!
//! Per poll: the in-line controller gets its turn, completions are taken, free slots are refilled,
//! one doorbell is rung. Per I/O nothing else happens than the generator's step, the slot's
//! bookkeeping and what `timestamps` asks for. The clock for the end of the run is looked at only
//! once per [`limits::CLOCK_WORK`] of work.

use core::time::Duration;
use std::sync::{Barrier, mpsc};

use thiserror::Error;

use crate::access::Direction;
use crate::clock::{self, Clock};
use crate::lane::{Failures, IoStamps, Lane, NoStamps, PollStamps, Stamps, Verified};
use crate::latency::Latency;
use crate::limits;
use crate::pacing::{Closed, Open, Pacing};
use crate::progress::{Progress, Sample, Sampler};
use crate::queue::{Done, Queue};
use crate::workload::{Job, Plan, Timestamps};

/// Gives an in-line controller its turn; a device on another thread or machine needs none, but may
/// use the call to wait politely when the poll before found nothing.
pub trait Turn {
    /// Lets the device of this number (of the job, from zero) work.
    fn turn(&mut self, device: usize);
}

impl<F: FnMut(usize)> Turn for F {
    #[inline(always)]
    fn turn(&mut self, device: usize) {
        self(device);
    }
}

/// One thread's share of a job.
#[derive(Debug)]
pub struct Worker<Q, T> {
    /// Its queue pairs.
    pub lanes: Vec<Lane<Q>>,
    /// The turn of the controllers behind them.
    pub turn: T,
    /// The core that it is pinned to.
    pub core: Option<usize>,
}

/// Why a run did not finish.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RunError {
    /// A thread could not be pinned.
    #[error(
        "wanted to run on core {core}, the kernel said: {reason}; name cores that this process may use"
    )]
    Pin {
        /// The core.
        core: usize,
        /// The kernel's answer.
        reason: String,
    },
    /// The device stopped answering.
    #[error(
        "no completion for {seconds:.0} s with {in_flight} commands in flight; the device or its \
         thread hangs"
    )]
    Stalled {
        /// Commands in flight.
        in_flight: usize,
        /// Seconds without completion.
        seconds: f64,
    },
    /// Writing the working set before the measurement failed.
    #[error("{count} commands failed while the working set was prepared, the first with: {first}")]
    Prepare {
        /// Commands that failed.
        count: u64,
        /// The first status.
        first: String,
    },
    /// Reading everything back after the measurement failed, so that nobody can say whether the data is right.
    #[error("{count} commands failed while the working set was read back, the first with: {first}")]
    ReadBack {
        /// Commands that failed.
        count: u64,
        /// The first status.
        first: String,
    },
}

/// An open loop that could not keep its schedule and stopped offering.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FellBehind {
    /// Seconds after the start when offering stopped.
    pub after_seconds: f64,
    /// Seconds that the schedule was ahead of the device then.
    pub lag_seconds: f64,
}

/// What one direction did.
#[derive(Debug, Clone, Default)]
pub struct DirectionOutcome {
    /// I/Os completed.
    pub ios: u64,
    /// Their latencies in ticks; empty without timestamps.
    pub latency: Latency,
}

/// What one measured run did, over all threads.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Seconds from the first submission to the last completion.
    pub seconds: f64,
    /// Clock ticks spent, summed over threads.
    pub thread_ticks: u64,
    /// CPU seconds of the submitting threads.
    pub cpu_seconds: f64,
    /// CPU seconds of the whole process meanwhile: of controllers on threads of their own too.
    pub process_cpu_seconds: f64,
    /// Share of the CPU time spent in the kernel, from its 10 ms accounting; absent if too short.
    pub system_share: Option<f64>,
    /// Looks at a completion queue.
    pub polls: u64,
    /// Looks that found nothing.
    pub empty_polls: u64,
    /// Doorbells rung, of both kinds.
    pub doorbells: u64,
    /// Reads.
    pub read: DirectionOutcome,
    /// Writes.
    pub write: DirectionOutcome,
    /// Commands that failed.
    pub failures: Failures,
    /// What verification saw.
    pub verified: Verified,
    /// Present when an open loop gave up offering.
    pub fell_behind: Option<FellBehind>,
}

/// A job's whole run.
#[derive(Debug, Clone, Default)]
pub struct JobRun {
    /// One outcome per repeat.
    pub outcomes: Vec<Outcome>,
    /// What reading everything back at the end saw, for a verified job that writes.
    pub read_back: Option<Verified>,
}

/// What an observer of a running job is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// The working set is being written; nothing is measured.
    Preparing(Sample),
    /// A repeat, counted from zero, is being measured.
    Measuring(u32, Sample),
    /// The working set is being read back and checked.
    ReadingBack(Sample),
}

/// Everything that the loop of one thread reads but does not own.
#[derive(Debug, Clone, Copy)]
struct Surroundings<'a> {
    clock: Clock,
    progress: &'a Progress,
    /// Tick at which submission ends.
    deadline: u64,
}

/// What a thread's loop counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    start: u64,
    end: u64,
    polls: u64,
    empty_polls: u64,
    fell_behind: Option<FellBehind>,
}

/// Notices a device that no longer answers.
#[derive(Debug)]
struct StallWatch {
    clock: Clock,
    completed: u64,
    since: u64,
}

impl StallWatch {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            completed: 0,
            since: clock.ticks(),
        }
    }

    fn look(&mut self, now: u64, completed: u64, in_flight: usize) -> Result<(), RunError> {
        if completed != self.completed || in_flight == 0 {
            (self.completed, self.since) = (completed, now);
        }
        let seconds = self.clock.seconds(now.saturating_sub(self.since));
        if seconds > limits::STALL_SECONDS {
            return Err(RunError::Stalled { in_flight, seconds });
        }
        Ok(())
    }
}

fn in_flight<Q: Queue>(lanes: &[Lane<Q>]) -> usize {
    lanes.iter().map(Lane::in_flight).sum()
}

/// The measured loop of one thread.
fn measured_loop<S: Stamps, P: Pacing, Q: Queue, T: Turn>(
    lanes: &mut [Lane<Q>],
    turn: &mut T,
    pacings: &mut [P],
    around: &Surroundings<'_>,
    io_bytes: u32,
) -> Result<Counted, RunError> {
    const PAGE: u64 = 4096;
    let Surroundings {
        clock,
        progress,
        deadline,
    } = *around;
    let work_per_io = 1 + u64::from(io_bytes) / PAGE;
    let mut done = [Done::EMPTY; limits::REAP_BATCH];
    let mut counted = Counted {
        start: clock.ticks(),
        ..Counted::default()
    };
    let mut stall = StallWatch::new(clock);
    let (mut work, mut completed) = (0, 0);
    for (lane, pacing) in lanes.iter_mut().zip(&mut *pacings) {
        lane.refill::<S, P>(pacing, &clock, 0);
    }
    loop {
        let mut finished = true;
        for (lane, pacing) in lanes.iter_mut().zip(&mut *pacings) {
            turn.turn(lane.device());
            let (found, now) = lane.poll::<S>(&mut done, &clock, progress);
            lane.refill::<S, P>(pacing, &clock, now);
            counted.polls += 1;
            counted.empty_polls += u64::from(found == 0);
            completed += found as u64;
            work += 1 + found as u64 * work_per_io;
            finished &= lane.is_finished();
        }
        if finished {
            break;
        }
        if work >= limits::CLOCK_WORK {
            work = 0;
            let now = clock.ticks();
            stall.look(now, completed, in_flight(lanes))?;
            let lag = pacings
                .iter()
                .map(|pacing| pacing.lag(now))
                .max()
                .unwrap_or(0);
            let behind = clock.seconds(lag) > limits::OPEN_LOOP_LAG_SECONDS_MAX;
            if behind && counted.fell_behind.is_none() && now < deadline {
                counted.fell_behind = Some(FellBehind {
                    after_seconds: clock.seconds(now - counted.start),
                    lag_seconds: clock.seconds(lag),
                });
            }
            if behind || now >= deadline || progress.asked_to_stop() {
                lanes.iter_mut().for_each(Lane::end_submission);
            }
        }
    }
    counted.end = clock.ticks();
    Ok(counted)
}

/// A pass of one thread over its lanes' own units.
fn sweep<Q: Queue, T: Turn>(
    worker: &mut Worker<Q, T>,
    direction: Direction,
    clock: Clock,
    progress: &Progress,
) -> Result<(), RunError> {
    let mut done = [Done::EMPTY; limits::REAP_BATCH];
    let mut stall = StallWatch::new(clock);
    let (mut polls, mut completed) = (0_u64, 0);
    for index in 0..worker.lanes.len() {
        let mut next = worker.lanes[index].own().first;
        let device = worker.lanes[index].device();
        while let Some(found) =
            worker.lanes[index].sweep_once(direction, &mut next, &mut done, progress)
        {
            worker.turn.turn(device);
            completed += found as u64;
            polls += 1;
            if polls.is_multiple_of(limits::CLOCK_WORK) {
                stall.look(clock.ticks(), completed, in_flight(&worker.lanes))?;
            }
        }
    }
    Ok(())
}

/// What one thread brings home from a measured run.
#[derive(Debug)]
struct ThreadOutcome {
    counted: Counted,
    cpu_seconds: f64,
    /// The process's CPU seconds when this thread began and when it ended.
    process_cpu_seconds: (f64, f64),
    cpu_ticks: Option<(u64, u64)>,
    doorbells: u64,
    failures: Failures,
    verified: Verified,
}

/// Measures one repeat on the calling thread.
fn measure<Q: Queue, T: Turn>(
    worker: &mut Worker<Q, T>,
    job: &Job,
    clock: Clock,
    progress: &Progress,
) -> Result<ThreadOutcome, RunError> {
    let doorbells = |lanes: &[Lane<Q>]| lanes.iter().map(|l| l.queue().doorbells()).sum::<u64>();
    let doorbells_before = doorbells(&worker.lanes);
    worker.lanes.iter_mut().for_each(Lane::begin_run);
    let ticks_before = clock::thread_cpu_ticks();
    let process_cpu_before = clock::process_cpu_seconds();
    let cpu_before = clock::thread_cpu_seconds();
    let start = clock.ticks();
    let around = Surroundings {
        clock,
        progress,
        deadline: job
            .runtime_ms
            .map_or(u64::MAX, |ms| start + clock.ticks_in(ms as f64 / 1e3)),
    };
    let counted = match job.rate {
        None => {
            let mut pacings: Vec<Closed> = worker.lanes.iter().map(|_| Closed).collect();
            dispatch(worker, &mut pacings, &around, job)
        }
        Some(rate) => {
            let step = clock.ticks_per_second() * f64::from(job.lane_count()) / rate as f64;
            let mut pacings: Vec<Open> = worker
                .lanes
                .iter()
                .map(|_| Open::new(start, step))
                .collect();
            dispatch(worker, &mut pacings, &around, job)
        }
    }?;
    let cpu_seconds = clock::thread_cpu_seconds() - cpu_before;
    let process_cpu_seconds = (process_cpu_before, clock::process_cpu_seconds());
    let cpu_ticks = match (ticks_before, clock::thread_cpu_ticks()) {
        (Some(before), Some(after)) => Some((after.0 - before.0, after.1 - before.1)),
        _ => None,
    };
    let mut outcome = ThreadOutcome {
        counted,
        cpu_seconds,
        process_cpu_seconds,
        cpu_ticks,
        doorbells: doorbells(&worker.lanes) - doorbells_before,
        failures: Failures::default(),
        verified: Verified::default(),
    };
    for lane in &mut worker.lanes {
        let failures = lane.take_failures();
        outcome.failures.count += failures.count;
        outcome.failures.first = outcome.failures.first.or(failures.first);
        outcome.verified.add(&lane.take_verified());
    }
    Ok(outcome)
}

/// Picks the loop that was compiled for the job's timestamps.
fn dispatch<P: Pacing, Q: Queue, T: Turn>(
    worker: &mut Worker<Q, T>,
    pacings: &mut [P],
    around: &Surroundings<'_>,
    job: &Job,
) -> Result<Counted, RunError> {
    let (lanes, turn) = (&mut worker.lanes[..], &mut worker.turn);
    match job.timestamps {
        Timestamps::None => {
            measured_loop::<NoStamps, P, Q, T>(lanes, turn, pacings, around, job.bs)
        }
        Timestamps::Poll => {
            measured_loop::<PollStamps, P, Q, T>(lanes, turn, pacings, around, job.bs)
        }
        Timestamps::Io => measured_loop::<IoStamps, P, Q, T>(lanes, turn, pacings, around, job.bs),
    }
}

fn pin(core: usize) -> Result<(), RunError> {
    let refuse = |reason: String| RunError::Pin { core, reason };
    if core >= rustix::thread::CpuSet::MAX_CPU {
        return Err(refuse("no such core".to_owned()));
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).map_err(|errno| refuse(errno.to_string()))
}

/// Runs `work` for each worker on a thread of its own, all starting together, and calls `observe`
/// about every [`limits::SAMPLE_MS`] and once at the end.
fn on_threads<Q: Queue + Send, T: Turn + Send, R: Send>(
    workers: &mut [Worker<Q, T>],
    progress: &[Progress],
    sampler: &mut Sampler,
    work: &(impl Fn(&mut Worker<Q, T>, &Progress) -> Result<R, RunError> + Sync),
    observe: &mut dyn FnMut(Sample),
) -> Result<Vec<R>, RunError> {
    let start = &Barrier::new(workers.len());
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel::<()>();
        let threads: Vec<_> = workers
            .iter_mut()
            .zip(progress)
            .map(|(worker, progress)| {
                let done = done.clone();
                scope.spawn(move || {
                    let pinned = worker.core.map_or(Ok(()), pin);
                    // Everybody passes the barrier, pinned or not, so that nobody waits for ever.
                    start.wait();
                    let result = pinned.and_then(|()| work(worker, progress));
                    // Dropped last: the observer wakes up when the last thread has let go of it.
                    drop(done);
                    result
                })
            })
            .collect();
        drop(done);
        let interval = Duration::from_millis(limits::SAMPLE_MS);
        while let Err(mpsc::RecvTimeoutError::Timeout) = finished.recv_timeout(interval) {
            observe(sampler.sample(progress));
        }
        observe(sampler.sample(progress));
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

fn merge(threads: Vec<ThreadOutcome>, progress: &[Progress], clock: &Clock) -> Outcome {
    let mut outcome = Outcome::default();
    let start = threads
        .iter()
        .map(|thread| thread.counted.start)
        .min()
        .unwrap_or(0);
    let end = threads
        .iter()
        .map(|thread| thread.counted.end)
        .max()
        .unwrap_or(0);
    outcome.seconds = clock.seconds(end.saturating_sub(start));
    let cpu = threads.iter().map(|thread| thread.process_cpu_seconds);
    let (cpu_start, cpu_end) = cpu.fold((f64::INFINITY, 0.0_f64), |(start, end), cpu| {
        (start.min(cpu.0), end.max(cpu.1))
    });
    outcome.process_cpu_seconds = (cpu_end - cpu_start).max(0.0);
    let (mut user, mut system) = (0, 0);
    for thread in threads {
        let counted = thread.counted;
        outcome.thread_ticks += counted.end - counted.start;
        outcome.polls += counted.polls;
        outcome.empty_polls += counted.empty_polls;
        outcome.fell_behind = outcome.fell_behind.or(counted.fell_behind);
        outcome.cpu_seconds += thread.cpu_seconds;
        outcome.doorbells += thread.doorbells;
        outcome.failures.count += thread.failures.count;
        outcome.failures.first = outcome.failures.first.or(thread.failures.first);
        outcome.verified.add(&thread.verified);
        let ticks = thread.cpu_ticks.unwrap_or((0, 0));
        (user, system) = (user + ticks.0, system + ticks.1);
    }
    outcome.system_share = (user + system > 0).then(|| system as f64 / (user + system) as f64);
    for thread in progress {
        for (sum, live) in [
            (&mut outcome.read, &thread.read),
            (&mut outcome.write, &thread.write),
        ] {
            sum.ios += live.ios();
            live.latency.add_to(&mut sum.latency);
        }
    }
    outcome
}

/// Runs a whole job: writes the working set if asked, measures every repeat, and reads everything
/// back if the job verifies and writes. `observe` is called on the calling thread.
///
/// # Errors
/// [`RunError`]; what had been measured is lost then.
///
/// # Panics
/// If there are no workers, or a worker's thread panics.
pub fn run_job<Q: Queue + Send, T: Turn + Send>(
    workers: &mut [Worker<Q, T>],
    job: &Job,
    plan: &Plan,
    clock: &Clock,
    observe: &mut dyn FnMut(Event),
) -> Result<JobRun, RunError> {
    assert!(!workers.is_empty(), "a job has at least one thread");
    let progress: Vec<Progress> = workers.iter().map(|_| Progress::default()).collect();
    let sampler = || Sampler::new(*clock, plan.io_bytes());
    let mut run = JobRun::default();
    if job.preconditions() {
        let work = |worker: &mut Worker<Q, T>, progress: &Progress| {
            sweep(worker, Direction::Write, *clock, progress)
        };
        on_threads(workers, &progress, &mut sampler(), &work, &mut |sample| {
            observe(Event::Preparing(sample));
        })?;
        refuse_failures(workers, |count, first| RunError::Prepare { count, first })?;
    }
    for repeat in 0..job.repeats {
        progress.iter().for_each(Progress::clear);
        let work =
            |worker: &mut Worker<Q, T>, progress: &Progress| measure(worker, job, *clock, progress);
        let threads = on_threads(workers, &progress, &mut sampler(), &work, &mut |sample| {
            observe(Event::Measuring(repeat, sample));
        })?;
        run.outcomes.push(merge(threads, &progress, clock));
    }
    if job.verify && job.rw.writes() {
        progress.iter().for_each(Progress::clear);
        let work = |worker: &mut Worker<Q, T>, progress: &Progress| {
            sweep(worker, Direction::Read, *clock, progress)
        };
        on_threads(workers, &progress, &mut sampler(), &work, &mut |sample| {
            observe(Event::ReadingBack(sample));
        })?;
        refuse_failures(workers, |count, first| RunError::ReadBack { count, first })?;
        let mut verified = Verified::default();
        for lane in workers.iter_mut().flat_map(|worker| &mut worker.lanes) {
            verified.add(&lane.take_verified());
        }
        run.read_back = Some(verified);
    }
    Ok(run)
}

/// Makes an error of the failures since they were last looked at.
fn refuse_failures<Q: Queue, T>(
    workers: &mut [Worker<Q, T>],
    error: fn(u64, String) -> RunError,
) -> Result<(), RunError> {
    let mut count = 0;
    let mut first = None;
    for lane in workers.iter_mut().flat_map(|worker| &mut worker.lanes) {
        let failures = lane.take_failures();
        count += failures.count;
        first = first.or(failures.first);
    }
    match first {
        None => Ok(()),
        Some(status) => Err(error(count, status.to_string())),
    }
}

#[cfg(test)]
mod tests;
