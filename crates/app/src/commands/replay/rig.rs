//! A device, its queue pair and buffers put together for a replay.

use anyhow::{Context as _, anyhow};
use bench::clock::Clock;
use bench::replay::engine::{Facts, buffer_bytes};
use bench::replay::layout::Layout;
use bench::replay::report::DeviceCounts;
use bench::replay::run::{self, Outcome, Plan, ReplayError, Rig, Sample};
use bench::replay::survey::Survey;
use bench::report::Figure;
use bench::runner::Turn;
use driver::{Device, Link, QueuePair};
use local::{Inline, Threaded};
use mem::DmaBuffer;
use spec::NamespaceId;

use super::{ReplayArguments, of_trace, open};
use crate::device;
use crate::failure::Failure;
use crate::uri::Emulated;

/// What is to be done.
pub(super) struct Job<'j> {
    pub(super) wanted: &'j ReplayArguments,
    pub(super) survey: &'j Survey,
    pub(super) plan: &'j Plan,
    pub(super) clock: &'j Clock,
}

/// What was done, and on what.
pub(super) struct Replayed {
    pub(super) outcome: Outcome,
    pub(super) layout: Layout,
    pub(super) facts: Facts,
}

/// What the controller counted, if that can be known.
pub(super) type Counts = Figure<DeviceCounts>;

/// A controller in the driving thread.
struct Here(Device<Inline>);

impl Turn for Here {
    #[inline]
    fn turn(&mut self, _device: usize) {
        self.0.link_mut().turn();
    }
}

/// A controller in a thread of its own needs no turns, only a CPU.
struct Elsewhere {
    device: Device<Threaded>,
    /// Set where the driver shares its CPU: spinning would keep the controller from answering for a time slice.
    yields: bool,
}

impl Turn for Elsewhere {
    #[inline]
    fn turn(&mut self, _device: usize) {
        if self.yields {
            std::thread::yield_now();
        }
    }
}

/// Replays on a controller in the driving thread.
pub(super) fn inline(
    device: &Emulated,
    job: &Job<'_>,
    observe: &mut dyn FnMut(Sample),
) -> Result<(Replayed, Counts), Failure> {
    let mut device = device::open_inline(device)?;
    let prepared = prepare(&mut device, job)?;
    let before = counts(&mut device);
    let (replayed, Here(mut device)) = replay(Here(device), prepared, job, observe)?;
    let after = counts(&mut device);
    part(device)?;
    let counts = Figure::Value(DeviceCounts {
        commands: after.commands - before.commands,
        reads: after.reads - before.reads,
        writes: after.writes - before.writes,
        flushes: after.flushes - before.flushes,
        refused: after.refused - before.refused,
    });
    Ok((replayed, counts))
}

/// Replays on a controller in a thread of its own.
pub(super) fn threaded(
    device: &Emulated,
    job: &Job<'_>,
    observe: &mut dyn FnMut(Sample),
) -> Result<(Replayed, Counts), Failure> {
    let mut device = device::open_threaded(device, None)?;
    let prepared = prepare(&mut device, job)?;
    let turn = Elsewhere {
        device,
        yields: bench::ceiling::placement::allowed().len() < 2,
    };
    let (replayed, Elsewhere { device, .. }) = replay(turn, prepared, job, observe)?;
    part(device)?;
    let counts = Figure::NotRun("the controller's thread keeps its counters".to_owned());
    Ok((replayed, counts))
}

/// What a replay needs of its device.
struct Prepared {
    layout: Layout,
    facts: Facts,
    pair: QueuePair,
    memory: DmaBuffer,
}

/// Lays the trace out and creates a queue pair with its buffers.
fn prepare<L: Link>(device: &mut Device<L>, job: &Job<'_>) -> Result<Prepared, Failure> {
    let nsid = NamespaceId::new(job.wanted.nsid);
    let namespace = device.namespace(nsid).ok_or_else(|| {
        Failure::usage(anyhow!(
            "--nsid: {} is not possible; allowed: 1 to the device's namespaces, {}",
            job.wanted.nsid,
            device.namespaces().len()
        ))
    })?;
    let (block_bytes, blocks) = (namespace.block_bytes(), namespace.blocks.get());
    let facts = Facts {
        namespace: nsid,
        block_bytes,
        blocks,
        transfer_bytes_max: device.transfer_bytes_max(),
        discard_blocks_max: device.discard_blocks_max(),
    };
    let layout = Layout::new(
        job.survey,
        &job.wanted.maps,
        (block_bytes.into(), blocks),
        job.wanted.outside(),
    )
    .map_err(Failure::usage)?;
    if job.survey.ios.discard > 0 && !device.identify().oncs.dataset_management() {
        return Err(Failure::environment(anyhow!(
            "the trace holds {} discards, the device has no Dataset Management; replay it on one that has",
            job.survey.ios.discard
        )));
    }
    // One entry of a queue always stays empty.
    let pair = device
        .create_queue_pair(job.plan.qd + 1)
        .context("wanted a queue pair; lower --qd")
        .map_err(Failure::environment)?;
    let bytes = buffer_bytes(&facts, job.plan.qd, job.survey.longest);
    let memory = device
        .allocate(bytes)
        .with_context(|| format!("wanted {bytes} bytes of data buffers; lower --qd"))
        .map_err(Failure::environment)?;
    Ok(Prepared {
        layout,
        facts,
        pair,
        memory,
    })
}

/// Drives the device through the trace.
fn replay<T: Turn + Send>(
    turn: T,
    prepared: Prepared,
    job: &Job<'_>,
    observe: &mut dyn FnMut(Sample),
) -> Result<(Replayed, T), Failure> {
    let trace = open(job.wanted).map_err(of_trace)?;
    let Prepared {
        layout,
        facts,
        pair,
        memory,
    } = prepared;
    let mut rig = Rig {
        pair,
        memory,
        facts,
        turn,
    };
    let result = run::replay(
        &mut rig,
        trace,
        &layout,
        job.plan,
        job.survey.longest,
        job.clock,
        observe,
    );
    match result {
        Ok(outcome) => Ok((
            Replayed {
                outcome,
                layout,
                facts,
            },
            rig.turn,
        )),
        Err(ReplayError::Trace(error)) => Err(of_trace(error)),
        Err(error @ ReplayError::Lane(_)) => Err(Failure::environment(error)),
        Err(error @ ReplayError::Stalled { .. }) => Err(Failure::Short(error.into())),
    }
}

fn counts(device: &mut Device<Inline>) -> controller::Counters {
    *device.link_mut().controller().counters()
}

/// Shuts the device down, so that what was written is durable where it can be.
fn part<L: Link>(device: Device<L>) -> Result<(), Failure> {
    match device.shutdown() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Short(
            anyhow!(error).context("wanted to shut the device down after the replay"),
        )),
    }
}
