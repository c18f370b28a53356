//! Devices, queue pairs, buffers and threads put together for a job.

use anyhow::{Context as _, anyhow};
use bench::clock::Clock;
use bench::lane::{Lane, buffer_bytes};
use bench::queue::NamespaceQueue;
use bench::runner::{self, JobRun, RunError, Turn, Worker};
use bench::workload::{Geometry, InvalidJob, Job, LanePlan, Plan};
use driver::{Device, Link};
use local::{Inline, Threaded};
use spec::NamespaceId;

use super::arguments::refuse;
use super::live::Live;
use crate::device;
use crate::failure::Failure;
use crate::uri::{Emulated, Placement};

/// What a job did, and on what.
pub(super) struct Measured {
    pub(super) run: JobRun,
    pub(super) plan: Plan,
    /// Logical blocks of each device's namespace.
    pub(super) blocks: u64,
    /// Where drivers and controllers ran, in a few words.
    pub(super) placement: String,
}

/// Gives in-line controllers their turns. A device stands at its number in the job; other threads' places are empty.
struct OwnDevices(Vec<Option<Device<Inline>>>);

impl Turn for OwnDevices {
    #[inline]
    fn turn(&mut self, device: usize) {
        if let Some(Some(device)) = self.0.get_mut(device) {
            device.link_mut().turn();
        }
    }
}

/// Controllers with threads of their own need no turns, only a CPU.
struct Elsewhere {
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

/// Deals devices to the threads that drive them, as [`Job::lanes`] deals their queue pairs.
fn turns(devices: Vec<Device<Inline>>, threads: usize) -> Vec<OwnDevices> {
    let count = devices.len();
    let empty = || OwnDevices(std::iter::repeat_with(|| None).take(count).collect());
    let mut turns: Vec<OwnDevices> = std::iter::repeat_with(empty).take(threads).collect();
    for (number, device) in devices.into_iter().enumerate() {
        turns[number % threads].0[number] = Some(device);
    }
    turns
}

/// Refuses a job that does not fit a device, before a file of the device is made or emptied for it.
pub(super) fn lay_out(device: &Emulated, job: &Job, nsid: u32) -> Result<(), Failure> {
    if device.controller == Placement::Inline && job.threads > job.devices {
        let allowed = format!(
            "at most the number of devices, {}, since controller=inline ties a device to one thread; or controller=thread in the URI",
            job.devices
        );
        return Err(refuse(&InvalidJob::new("threads", job.threads, &allowed)));
    }
    device::check_nsid(device, nsid)?;
    let (block_bytes, blocks) = device::shape(device)?;
    let geometry = Geometry {
        block_bytes,
        blocks,
        // Only the opened device knows.
        transfer_bytes_max: u32::MAX,
        moves_data: device.moves_data(),
    };
    match job.plan(geometry) {
        Ok(_) => Ok(()),
        Err(error) => Err(refuse(&error)),
    }
}

/// Runs a job on controllers in the driving threads.
pub(super) fn run_inline(
    device: &Emulated,
    job: &Job,
    nsid: u32,
    clock: &Clock,
    live: &mut Live,
) -> Result<Measured, Failure> {
    let mut devices = Vec::new();
    for _ in 0..job.devices {
        devices.push(device::open_inline(device)?);
    }
    let (geometry, plan) = plan(&devices, job, nsid, device.moves_data())?;
    let lanes = lanes_per_thread(&mut devices, job, nsid, plan)?;
    let turns = turns(devices, job.threads as usize);
    let mut workers = Vec::new();
    for (thread, (lanes, turn)) in lanes.into_iter().zip(turns).enumerate() {
        workers.push(Worker {
            lanes,
            turn,
            core: core(job, thread),
        });
    }
    let run = run(&mut workers, job, &plan, clock, live)?;
    let placement = "controller in the driver's thread".to_owned();
    Ok(Measured {
        run,
        plan,
        blocks: geometry.blocks,
        placement,
    })
}

/// Runs a job on controllers in threads of their own.
pub(super) fn run_threaded(
    device: &Emulated,
    job: &Job,
    nsid: u32,
    clock: &Clock,
    live: &mut Live,
) -> Result<Measured, Failure> {
    let mut devices: Vec<Device<Threaded>> = Vec::new();
    for number in 0..job.devices {
        let cpu = controller_core(job, number)?;
        devices.push(device::open_threaded(device, cpu)?);
    }
    let (geometry, plan) = plan(&devices, job, nsid, device.moves_data())?;
    let cpus = bench::ceiling::placement::allowed().len();
    let lanes = lanes_per_thread(&mut devices, job, nsid, plan)?;
    let mut workers = Vec::new();
    for (thread, lanes) in lanes.into_iter().enumerate() {
        workers.push(Worker {
            lanes,
            turn: Elsewhere {
                yields: shares_cpu(job, thread, cpus),
            },
            core: core(job, thread),
        });
    }
    let run = run(&mut workers, job, &plan, clock, live)?;
    let placement = match core(job, job.threads as usize) {
        Some(cpu) => format!("controller in its own thread on CPU {cpu}"),
        None => "controller in its own thread, not pinned".to_owned(),
    };
    Ok(Measured {
        run,
        plan,
        blocks: geometry.blocks,
        placement,
    })
}

/// The CPU of a thread: drivers take the mask's CPUs first, controllers those that follow, in turn.
fn core(job: &Job, thread: usize) -> Option<usize> {
    let count = job.core_mask.len();
    (count > 0).then(|| job.core_mask[thread % count])
}

/// Whether a driving thread shares its CPU with another thread that never sleeps, where controllers have threads too.
fn shares_cpu(job: &Job, thread: usize, cpus: usize) -> bool {
    let spinning = (job.threads + job.devices) as usize;
    match core(job, thread) {
        None => spinning > cpus,
        own => (0..spinning).any(|other| other != thread && core(job, other) == own),
    }
}

/// The CPU of a device's controller; refused before anything runs if this process may not use it, since the report names it.
fn controller_core(job: &Job, number: u32) -> Result<Option<usize>, Failure> {
    let cpu = core(job, (job.threads + number) as usize);
    match cpu {
        Some(core) if !bench::ceiling::placement::allowed().contains(&core) => {
            let reason = "not among the CPUs of this process".to_owned();
            Err(Failure::environment(RunError::Pin { core, reason }))
        }
        _ => Ok(cpu),
    }
}

fn run<T: Turn + Send>(
    workers: &mut [Worker<NamespaceQueue, T>],
    job: &Job,
    plan: &Plan,
    clock: &Clock,
    live: &mut Live,
) -> Result<JobRun, Failure> {
    let result = runner::run_job(workers, job, plan, clock, &mut |event| live.observe(event));
    result.map_err(|error| match error {
        RunError::Pin { .. } => Failure::environment(error),
        _ => Failure::Short(error.into()),
    })
}

/// Lays the job out on the namespace, which every device of the URI has alike.
fn plan<L: Link>(
    devices: &[Device<L>],
    job: &Job,
    nsid: u32,
    moves_data: bool,
) -> Result<(Geometry, Plan), Failure> {
    let device = devices
        .first()
        .ok_or_else(|| Failure::usage(anyhow!("--devices: at least 1")))?;
    let namespace = device.namespace(NamespaceId::new(nsid)).ok_or_else(|| {
        let allowed = format!(
            "1 to the device's namespaces, {}",
            device.namespaces().len()
        );
        refuse(&InvalidJob::new("nsid", nsid, &allowed))
    })?;
    let geometry = Geometry {
        block_bytes: namespace.block_bytes(),
        blocks: namespace.blocks.get(),
        transfer_bytes_max: device.transfer_bytes_max(),
        moves_data,
    };
    let plan = job.plan(geometry).map_err(|error| refuse(&error))?;
    Ok((geometry, plan))
}

/// Creates every queue pair of a job with its buffers, sorted by the thread that owns it.
fn lanes_per_thread<L: Link>(
    devices: &mut [Device<L>],
    job: &Job,
    nsid: u32,
    plan: Plan,
) -> Result<Vec<Vec<Lane<NamespaceQueue>>>, Failure> {
    let mut threads: Vec<Vec<_>> = (0..job.threads).map(|_| Vec::new()).collect();
    for place in job.lanes(&plan) {
        let device = &mut devices[place.device as usize];
        let thread = place.thread as usize;
        let lane = lane(device, job, nsid, plan, place)
            .with_context(|| format!("wanted queue pair {} of the job", place.lane))
            .map_err(Failure::environment)?;
        threads[thread].push(lane);
    }
    Ok(threads)
}

fn lane<L: Link>(
    device: &mut Device<L>,
    job: &Job,
    nsid: u32,
    plan: Plan,
    place: LanePlan,
) -> anyhow::Result<Lane<NamespaceQueue>> {
    // One entry of a queue always stays empty.
    let pair = device.create_queue_pair(job.qd + 1)?;
    let memory = device.allocate(buffer_bytes(job))?;
    let queue = NamespaceQueue {
        pair,
        namespace: NamespaceId::new(nsid),
    };
    Ok(Lane::new(queue, memory, job, plan, place)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_gives_way_exactly_where_another_thread_spins_on_its_cpu() {
        let on = |core_mask: &[usize]| Job {
            core_mask: core_mask.to_vec(),
            threads: 2,
            ..Job::default()
        };
        let shared = |job: &Job| [0, 1].map(|thread| shares_cpu(job, thread, 4));
        assert_eq!(shared(&on(&[0])), [true, true]);
        // The controller comes third, and so onto the first driver's CPU.
        assert_eq!(shared(&on(&[0, 1])), [true, false]);
        assert_eq!(shared(&on(&[0, 1, 2])), [false, false]);
        assert_eq!(shared(&on(&[])), [false, false]);
        assert!(shares_cpu(&on(&[]), 0, 2) && !shares_cpu(&on(&[]), 0, 3));
    }
}
