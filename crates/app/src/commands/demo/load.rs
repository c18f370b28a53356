//! Our own bench as the load, in this process: on a device, or on one that moves nothing.

use anyhow::Context as _;
use bench::clock::Clock;
use bench::lane::{Lane, buffer_bytes};
use bench::queue::NamespaceQueue;
use bench::runner::{self, Event, JobRun, Worker};
use bench::scorecard::Measured;
use bench::scorecard::cpu::Watch;
use bench::scorecard::model::{CounterPair, Counters};
use bench::workload::{Geometry, Job, Plan};
use driver::Device;
use local::Inline;
use spec::NamespaceId;

use crate::failure::Failure;

/// The namespace of every demo.
const NAMESPACE: NamespaceId = NamespaceId::new(1);

/// Bytes of one write while the device is filled.
const FILL_BYTES: u32 = 128 << 10;

/// Writes in flight while the device is filled.
const FILL_DEPTH: u32 = 32;

/// What the device and its media have counted.
pub(super) fn counters(device: &mut Device<Inline>) -> Counters {
    let controller = device.link_mut().controller();
    let counted = *controller.counters();
    Counters {
        commands: counted.commands,
        reads: counted.reads,
        read_bytes: counted.read_bytes,
        writes: counted.writes,
        written_bytes: counted.written_bytes,
        flushes: counted.flushes,
        refused: counted.refused,
        unwritten_reads: controller.media_counts().unwritten_reads,
    }
}

/// Writes every block of the device once, through the driver.
pub(super) fn fill(device: &mut Device<Inline>, clock: &Clock) -> Result<(), Failure> {
    let job = Job {
        rw: bench::workload::Pattern::Write,
        bs: FILL_BYTES,
        qd: FILL_DEPTH,
        precondition: true,
        // The pass that writes everything comes before what is measured, of which the least is asked for.
        runtime_ms: None,
        ios: Some(1),
        repeats: 1,
        ..Job::default()
    };
    with_lane(device, &job, |worker, plan| {
        runner::run_job(worker, &job, plan, clock, &mut |_| ())
            .context("filling the drive")
            .map_err(Failure::Short)
    })
    .map(drop)
}

/// Measures a job of one repeat, as often as asked; `between` is told before each and may end it.
pub(super) fn measure(
    device: &mut Device<Inline>,
    job: &Job,
    repeats: u32,
    clock: &Clock,
    between: &mut dyn FnMut(u32) -> Result<(), Failure>,
) -> Result<(Vec<Measured>, CounterPair), Failure> {
    let before = counters(device);
    let measured = with_lane(device, job, |worker, plan| {
        let mut all = Vec::new();
        for repeat in 0..repeats {
            between(repeat)?;
            let watch = Watch::start();
            let run = one(worker, job, plan, clock)?;
            let used = watch.used();
            all.extend(
                run.outcomes
                    .iter()
                    .map(|o| Measured::of_bench(o, clock, &used)),
            );
        }
        Ok(all)
    })?;
    let after = counters(device);
    Ok((measured, CounterPair { before, after }))
}

fn one<T: runner::Turn + Send>(
    worker: &mut [Worker<NamespaceQueue, T>],
    job: &Job,
    plan: &Plan,
    clock: &Clock,
) -> Result<JobRun, Failure> {
    let run = runner::run_job(worker, job, plan, clock, &mut |_: Event| ())
        .context("measuring through the driver")
        .map_err(Failure::Short)?;
    let failure = run
        .outcomes
        .iter()
        .find_map(|outcome| outcome.failures.first);
    match failure {
        None => Ok(run),
        Some(status) => Err(Failure::Short(anyhow::anyhow!(
            "measuring through the driver: the device answered {status}"
        ))),
    }
}

/// Lends a job its queue pair and buffers, and the controller its turns.
fn with_lane<R>(
    device: &mut Device<Inline>,
    job: &Job,
    work: impl FnOnce(&mut [Worker<NamespaceQueue, TurnOf<'_>>], &Plan) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let wanted = || format!("wanted a queue pair for {} commands in flight", job.qd);
    let namespace = device
        .namespace(NAMESPACE)
        .with_context(wanted)
        .map_err(Failure::environment)?;
    let geometry = Geometry {
        block_bytes: namespace.block_bytes(),
        blocks: namespace.blocks.get(),
        transfer_bytes_max: device.transfer_bytes_max(),
        moves_data: true,
    };
    let plan = job
        .plan(geometry)
        .map_err(|error| Failure::usage(anyhow::anyhow!("--{error}")))?;
    // One entry of a queue always stays empty.
    let pair = device
        .create_queue_pair(job.qd + 1)
        .with_context(wanted)
        .map_err(Failure::environment)?;
    let memory = device
        .allocate(buffer_bytes(job))
        .with_context(wanted)
        .map_err(Failure::environment)?;
    let queue = NamespaceQueue {
        pair,
        namespace: NAMESPACE,
    };
    let place = job.lanes(&plan)[0]; // a job has at least one
    let lane = Lane::new(queue, memory.clone(), job, plan, place)
        .with_context(wanted)
        .map_err(Failure::environment)?;
    let mut workers = [Worker {
        lanes: vec![lane],
        turn: TurnOf(device),
        core: None,
    }];
    let result = work(&mut workers, &plan);
    let [worker] = workers;
    let TurnOf(device) = worker.turn;
    let mut deleted = Ok(());
    for lane in worker.lanes {
        deleted = device.delete_queue_pair(lane.into_queue().pair);
    }
    device.free(memory);
    // What went wrong first is what is told.
    let result = result?;
    deleted
        .context("wanted the queue pair back")
        .map_err(Failure::environment)?;
    Ok(result)
}

/// Gives the controller behind a borrowed device its turns.
#[derive(Debug)]
struct TurnOf<'a>(&'a mut Device<Inline>);

impl runner::Turn for TurnOf<'_> {
    #[inline]
    fn turn(&mut self, _device: usize) {
        self.0.link_mut().turn();
    }
}
