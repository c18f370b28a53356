//! The loop against a device that reorders, corrupts, fails, loses data or hangs.

use mem::{Backing, DmaBuffer, Iova, Region};
use proptest::prelude::*;
use spec::nvme::Status;

use super::*;
use crate::access::{Random, scale};
use crate::lane::{buffer_bytes, buffer_stride};
use crate::pattern::Likeness;
use crate::queue::{Busy, IoBuffer};
use crate::workload::{Distribution, Geometry, Pattern};

const BASE: u64 = 0x10_0000;
const BLOCK: u32 = 512;

/// What is wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// One bit of the n-th read's data is flipped.
    FlipInRead(u64),
    /// The n-th write is acknowledged but not kept.
    LoseWrite(u64),
    /// The n-th read moves no data.
    SkipRead(u64),
    /// Every n-th command fails.
    Fail(u64),
    /// The n-th read fails.
    FailRead(u64),
    /// At most n commands complete per poll.
    Slow(usize),
}

#[derive(Debug, Clone, Copy)]
struct Command {
    write: bool,
    lba: u64,
    blocks: u32,
    buffer: IoBuffer,
    tag: u64,
}

/// A device that executes whatever it has in a random order.
#[derive(Debug)]
struct Shuffler {
    data: Vec<u8>,
    memory: DmaBuffer,
    waiting: Vec<Command>,
    published: usize,
    capacity: u32,
    random: Random,
    fault: Fault,
    reads: u64,
    writes: u64,
    doorbells: u64,
}

impl Shuffler {
    fn execute(&mut self, command: Command) -> Status {
        let number = if command.write {
            &mut self.writes
        } else {
            &mut self.reads
        };
        *number += 1;
        let number = *number;
        if matches!(self.fault, Fault::Fail(every) if number.is_multiple_of(every)) {
            return if command.write {
                Status::WRITE_FAULT
            } else {
                Status::UNRECOVERED_READ_ERROR
            };
        }
        if !command.write && self.fault == Fault::FailRead(number) {
            return Status::UNRECOVERED_READ_ERROR;
        }
        let start = (command.lba * u64::from(BLOCK)) as usize;
        let bytes = (command.blocks * BLOCK) as usize;
        assert_eq!(bytes, command.buffer.len() as usize);
        let offset = (command.buffer.iova() - BASE) as usize;
        let data = &mut self.data[start..start + bytes];
        if command.write {
            if self.fault != Fault::LoseWrite(number) {
                self.memory.window().read_bytes(offset, data).unwrap();
            }
        } else if self.fault != Fault::SkipRead(number) {
            let mut copy = data.to_vec();
            if self.fault == Fault::FlipInRead(number) {
                copy[bytes / 2 + 3] ^= 0x10;
            }
            self.memory.window().write_bytes(offset, &copy).unwrap();
        }
        Status::SUCCESS
    }

    fn put(&mut self, command: Command) -> Result<(), Busy> {
        if self.waiting.len() >= self.capacity as usize {
            return Err(Busy);
        }
        self.waiting.push(command);
        Ok(())
    }
}

impl Queue for Shuffler {
    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn read(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy> {
        self.put(Command {
            write: false,
            lba,
            blocks,
            buffer,
            tag,
        })
    }

    fn write(&mut self, lba: u64, blocks: u32, buffer: IoBuffer, tag: u64) -> Result<(), Busy> {
        self.put(Command {
            write: true,
            lba,
            blocks,
            buffer,
            tag,
        })
    }

    fn publish(&mut self) {
        self.doorbells += u64::from(self.published != self.waiting.len());
        self.published = self.waiting.len();
    }

    fn reap(&mut self, done: &mut [Done]) -> usize {
        let most = match self.fault {
            Fault::Slow(most) => most,
            _ => scale(self.random.next(), done.len() as u64 + 1) as usize,
        };
        let count = most.min(done.len()).min(self.published);
        for place in &mut done[..count] {
            let index = scale(self.random.next(), self.published as u64) as usize;
            let command = self.waiting.remove(index);
            self.published -= 1;
            let status = self.execute(command);
            *place = Done {
                tag: command.tag,
                status,
                ..Done::EMPTY
            };
        }
        count
    }

    fn doorbells(&self) -> u64 {
        self.doorbells
    }
}

fn geometry(units: u64, job: &Job) -> Geometry {
    Geometry {
        block_bytes: BLOCK,
        blocks: units * u64::from(job.bs / BLOCK),
        transfer_bytes_max: 1 << 20,
        moves_data: true,
    }
}

fn workers(
    job: &Job,
    units: u64,
    fault: Fault,
) -> (Plan, Vec<Worker<Shuffler, impl Turn + use<>>>) {
    let geometry = geometry(units, job);
    let plan = job.plan(geometry).unwrap();
    let mut workers: Vec<_> = (0..job.threads)
        .map(|_| Worker {
            lanes: Vec::new(),
            turn: |_: usize| {},
            core: None,
        })
        .collect();
    for place in job.lanes(&plan) {
        let region = Region::allocate(buffer_bytes(job), Backing::Anonymous).unwrap();
        let memory = DmaBuffer::new(region.whole(), Iova::new(BASE));
        let queue = Shuffler {
            data: vec![0; (geometry.blocks * u64::from(BLOCK)) as usize],
            memory: memory.clone(),
            waiting: Vec::new(),
            published: 0,
            capacity: job.qd,
            random: Random::new(job.seed + u64::from(place.lane)),
            fault,
            reads: 0,
            writes: 0,
            doorbells: 0,
        };
        let lane = Lane::new(queue, memory, job, plan, place).unwrap();
        workers[place.thread as usize].lanes.push(lane);
    }
    (plan, workers)
}

fn run(job: &Job, units: u64, fault: Fault) -> JobRun {
    let (plan, mut workers) = workers(job, units, fault);
    run_job(&mut workers, job, &plan, &Clock::monotonic(), &mut |_| {}).unwrap()
}

fn small(rw: Pattern, ios: u64) -> Job {
    Job {
        rw,
        bs: BLOCK,
        qd: 8,
        runtime_ms: None,
        ios: Some(ios),
        repeats: 1,
        ..Job::default()
    }
}

fn verified(rw: Pattern, ios: u64) -> Job {
    Job {
        verify: true,
        ..small(rw, ios)
    }
}

fn wrong(run: &JobRun) -> u64 {
    run.outcomes
        .iter()
        .map(|outcome| outcome.verified.ios_wrong)
        .sum::<u64>()
        + run
            .read_back
            .as_ref()
            .map_or(0, |verified| verified.ios_wrong)
}

#[test]
fn a_run_by_count_submits_exactly_that_many() {
    for timestamps in [Timestamps::None, Timestamps::Poll, Timestamps::Io] {
        let job = Job {
            timestamps,
            ..small(Pattern::RandRw, 1001)
        };
        let run = run(&job, 64, Fault::None);
        let outcome = &run.outcomes[0];
        assert_eq!(outcome.read.ios + outcome.write.ios, 1001);
        let stamped = outcome.read.latency.count() + outcome.write.latency.count();
        assert_eq!(
            stamped,
            if timestamps == Timestamps::None {
                0
            } else {
                1001
            }
        );
        assert!(outcome.doorbells > 0 && outcome.seconds > 0.0 && outcome.cpu_seconds > 0.0);
    }
}

#[test]
fn a_run_by_time_ends_and_reports_samples() {
    let job = Job {
        ios: None,
        runtime_ms: Some(250),
        ..small(Pattern::RandRead, 1)
    };
    let (plan, mut workers) = workers(&job, 64, Fault::None);
    let mut sampled = 0;
    let run = run_job(
        &mut workers,
        &job,
        &plan,
        &Clock::monotonic(),
        &mut |event| {
            if let Event::Measuring(0, sample) = event {
                sampled += sample.read_ios;
            }
        },
    )
    .unwrap();
    assert!((0.2..5.0).contains(&run.outcomes[0].seconds));
    assert_eq!(sampled, run.outcomes[0].read.ios);
}

#[test]
fn several_devices_and_threads_share_the_count() {
    for (devices, threads) in [(3, 1), (1, 2), (4, 2), (3, 2)] {
        let job = Job {
            devices,
            threads,
            ..verified(Pattern::RandRw, 2000)
        };
        let run = run(&job, 64, Fault::None);
        let outcome = &run.outcomes[0];
        assert_eq!(
            outcome.read.ios + outcome.write.ios,
            2000,
            "{devices} devices"
        );
        assert_eq!(outcome.verified.ios_checked, outcome.read.ios);
        assert_eq!(wrong(&run), 0);
    }
}

#[test]
fn a_flipped_bit_in_one_read_is_found_and_named() {
    let run = run(
        &verified(Pattern::RandRead, 2000),
        64,
        Fault::FlipInRead(1234),
    );
    let verified = &run.outcomes[0].verified;
    assert_eq!((verified.ios_checked, verified.ios_wrong), (2000, 1));
    assert_eq!(verified.mismatches[0].looks_like, Likeness::Flipped(1));
    assert_eq!(verified.mismatches[0].byte_offset, 256);
}

#[test]
fn a_read_that_moves_nothing_is_found_even_where_the_buffer_was_right_before() {
    let job = Job {
        qd: 1,
        ..verified(Pattern::RandRead, 100)
    };
    assert_eq!(wrong(&run(&job, 1, Fault::SkipRead(50))), 1);
}

#[test]
fn a_lost_write_is_found_as_stale_data() {
    // The first 64 writes prepare the working set.
    let run = run(
        &verified(Pattern::Write, 640),
        64,
        Fault::LoseWrite(64 + 640 - 5),
    );
    let read_back = run
        .read_back
        .expect("a verified job that writes reads back");
    assert_eq!((read_back.ios_checked, read_back.ios_wrong), (64, 1));
    assert_eq!(read_back.mismatches[0].looks_like, Likeness::Stale(10));
}

#[test]
fn failed_commands_are_counted_and_their_content_is_not_guessed() {
    let run_failing = run(&small(Pattern::RandRw, 1000), 64, Fault::Fail(10));
    let failures = run_failing.outcomes[0].failures;
    assert!((90..=100).contains(&failures.count), "{failures:?}");
    assert!(failures.first.is_some_and(|status| !status.is_success()));
    let (plan, mut workers) = workers(&verified(Pattern::RandRw, 10), 64, Fault::Fail(10));
    let job = verified(Pattern::RandRw, 10);
    let error = run_job(&mut workers, &job, &plan, &Clock::monotonic(), &mut |_| {}).unwrap_err();
    assert!(
        matches!(error, RunError::Prepare { count: 6, .. }),
        "{error}"
    );
}

#[test]
fn a_read_back_that_fails_is_no_proof_of_right_data() {
    // Nothing but the pass at the end reads.
    let job = verified(Pattern::RandWrite, 10);
    let (plan, mut workers) = workers(&job, 64, Fault::FailRead(5));
    let error = run_job(&mut workers, &job, &plan, &Clock::monotonic(), &mut |_| {}).unwrap_err();
    assert!(
        matches!(error, RunError::ReadBack { count: 1, .. }),
        "{error}"
    );
}

#[test]
fn an_open_loop_keeps_its_rate_and_counts_latency_from_the_schedule() {
    let job = Job {
        rate: Some(20_000),
        ..small(Pattern::RandRead, 4000)
    };
    let run = run(&job, 64, Fault::None);
    let outcome = &run.outcomes[0];
    assert_eq!(outcome.read.ios, 4000);
    assert!(
        (0.19..2.0).contains(&outcome.seconds),
        "{}",
        outcome.seconds
    );
}

#[test]
fn an_open_loop_stops_offering_to_a_device_that_falls_behind() {
    let job = Job {
        rate: Some(1_000_000_000),
        runtime_ms: Some(20_000),
        ios: None,
        qd: 1,
        ..small(Pattern::RandRead, 1)
    };
    let run = run(&job, 64, Fault::Slow(1));
    let behind = run.outcomes[0]
        .fell_behind
        .expect("no device here does 10^9 per second");
    assert!(behind.lag_seconds >= 1.0 && run.outcomes[0].seconds < 15.0);
    // The schedule ran ahead, and the latency shows it although each command itself was quick.
    let (_, most) = run.outcomes[0].read.latency.extremes().unwrap();
    assert!(most > 500_000_000, "{most} ns");
}

#[test]
fn a_queue_or_buffer_that_is_too_small_is_refused() {
    let job = small(Pattern::RandRead, 10);
    let (_, mut made) = workers(&job, 64, Fault::None);
    let queue = made[0].lanes.remove(0).into_queue();
    let memory = queue.memory.clone();
    let deeper = Job {
        qd: 9,
        ..job.clone()
    };
    let plan = deeper.plan(geometry(64, &job)).unwrap();
    let place = deeper.lanes(&plan)[0];
    let error = Lane::new(queue, memory, &deeper, plan, place).unwrap_err();
    assert!(error.to_string().contains('9'), "{error}");
    assert_eq!(buffer_stride(512), 512);
    assert_eq!(buffer_stride(1536), 2048);
    assert_eq!(buffer_stride(12_288), 12_288);
}

#[test]
fn a_core_that_does_not_exist_is_an_error_for_every_thread_together() {
    let job = Job {
        threads: 2,
        ..small(Pattern::RandRead, 10)
    };
    let (plan, mut workers) = workers(&job, 64, Fault::None);
    workers[1].core = Some(1023);
    let error = run_job(&mut workers, &job, &plan, &Clock::monotonic(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RunError::Pin { core: 1023, .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn verification_passes_on_a_right_device_at_any_depth_and_pattern(
        kind in 0usize..5, qd in 1u32..200, units in 1u64..100, zipf in any::<bool>(),
        blocks in prop::sample::select(vec![1u32, 2, 8, 24]), seed in any::<u32>(),
    ) {
        let patterns =
            [Pattern::RandRead, Pattern::RandWrite, Pattern::RandRw, Pattern::Read, Pattern::Write];
        let rw = patterns[kind];
        let skewed = zipf && rw.is_random();
        let job = Job {
            qd,
            bs: blocks * BLOCK,
            seed: seed.into(),
            random: if skewed { Distribution::Zipf(1.0) } else { Distribution::Uniform },
            repeats: 2,
            ..verified(rw, 500)
        };
        let run = run(&job, units, Fault::None);
        prop_assert_eq!(wrong(&run), 0);
        for outcome in &run.outcomes {
            prop_assert_eq!(outcome.read.ios + outcome.write.ios, 500);
            prop_assert_eq!(outcome.verified.ios_checked, outcome.read.ios);
        }
    }
}
