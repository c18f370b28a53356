//! `bench`: measures a device and prints what was found, or compares two earlier reports.

mod arguments;
mod ceiling;
mod compare;
mod files;
pub(crate) mod live;
mod rig;

use std::io::Write;
use std::path::PathBuf;

use bench::clock::Clock;
use bench::report::{Circumstances, DeviceFacts, Report};
use bench::workload::Job;
use bench::{fio_json, text, warnings};

use crate::clock;
use crate::device;
use crate::doctor::probe;
use crate::failure::{Exit, Failure};
use crate::files::Uses;
use crate::uri::{Emulated, Keeps, Placement};

pub(crate) use arguments::BenchArguments;
use arguments::{BenchCommand, MeasureArguments};
use live::Live;
use rig::Measured;

/// How long the clock is compared with the system's: an error of about 1 in 10,000.
const CALIBRATION: core::time::Duration = core::time::Duration::from_millis(20);

/// Measures or compares.
pub(crate) fn run(arguments: BenchArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    match (arguments.command, arguments.measure) {
        (Some(BenchCommand::Diff(reports)), _) => compare::run(&reports, out),
        (None, Some(wanted)) => measure(&wanted, out),
        (None, None) => Err(Failure::usage(anyhow::anyhow!(
            "bench: which device? for example: dataplane-emu bench ram:1G"
        ))),
    }
}

fn measure(wanted: &MeasureArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let device = device::require_built(&wanted.device)?;
    let job = wanted.job()?;
    files::check_folder(wanted.json.as_deref())?;
    files::check_folder(wanted.series.as_deref())?;
    let stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(files::is_stdout);
    if stdout(&wanted.json) && stdout(&wanted.series) {
        return Err(Failure::usage(anyhow::anyhow!(
            "--series: \"-\" is not possible; allowed: a file, since --json prints to the standard output already"
        )));
    }
    check_uses(device, &job, wanted)?;
    rig::lay_out(device, &job, wanted.nsid)?;
    let mut live = Live::new(job.repeats);
    let report = report(device, &job, wanted.nsid, &mut live)?;
    if let Some(path) = &wanted.series {
        files::write(path, &live.series().to_csv(), out)?;
    }
    let to_stdout = wanted.json.as_deref().is_some_and(files::is_stdout);
    if let Some(path) = &wanted.json {
        files::write(path, &fio_json::render(&report), out)?;
    }
    if !to_stdout {
        write!(out, "{}", text::block(&report))?;
    }
    Ok(if report.is_clean() {
        Exit::Pass
    } else {
        Exit::Short
    })
}

/// Refuses to write a file that is used for something else.
fn check_uses(device: &Emulated, job: &Job, wanted: &MeasureArguments) -> Result<(), Failure> {
    let mut uses = Uses::default();
    uses.device(device);
    if let Some(path) = &wanted.json {
        uses.write(path, "the report (--json)");
    }
    if let Some(path) = &wanted.series {
        uses.write(path, "the time series (--series)");
    }
    uses.check()?;
    let kept = match &device.keeps {
        Keeps::File { path, .. } => Some(path),
        Keeps::Ram { .. } | Keeps::Null(_) => device.log.as_ref(),
    };
    match kept {
        Some(path) if job.devices > 1 => Err(Failure::usage(anyhow::anyhow!(
            "--devices: {} is not possible; allowed: 1, since {} can be used by one device only",
            job.devices,
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Runs a job on a device and says how it went, beside the ceilings of this machine.
pub(crate) fn report(
    device: &Emulated,
    job: &Job,
    nsid: u32,
    live: &mut Live,
) -> Result<Report, Failure> {
    let clock = Clock::calibrate(CALIBRATION);
    let processors = bench::ceiling::placement::allowed().len();
    let controllers = match device.controller {
        Placement::Inline => 0,
        Placement::Thread => job.devices,
    };
    if let Some(warning) = warnings::shared_cpus(job, controllers, processors) {
        live.warn(&warning);
    }
    let before = ceiling::ping_pong(job);
    let measured = match device.controller {
        Placement::Inline => rig::run_inline(device, job, nsid, &clock, live)?,
        Placement::Thread => rig::run_threaded(device, job, nsid, &clock, live)?,
    };
    live.finish();
    let ping_pong = ceiling::around(before, || ceiling::ping_pong(job));
    let ceiling = ceiling::of(device, job, &measured.plan, &measured.run);
    let around = Circumstances {
        version: crate::VERSION.to_owned(),
        timestamp: clock::seconds_since_1970(),
        device: device_facts(device, controllers, &measured),
        processor: probe::processor().unwrap_or_else(|| "unnamed processor".to_owned()),
        processors,
        kernel: probe::kernel_release(),
        ceiling,
        ping_pong,
    };
    Ok(Report::new(
        around,
        job,
        &measured.plan,
        &measured.run,
        &clock,
    ))
}

fn device_facts(device: &Emulated, controllers: u32, measured: &Measured) -> DeviceFacts {
    DeviceFacts {
        uri: device.to_string(),
        placement: measured.placement.clone(),
        controller_threads: controllers,
        block_bytes: measured.plan.block_bytes,
        blocks: measured.blocks,
        moves_data: device.moves_data(),
    }
}
