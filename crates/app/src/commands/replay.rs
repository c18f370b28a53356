//! `replay`: sends what fio or the kernel recorded to a device, and says how the device coped.

mod arguments;
mod rig;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use bench::clock::Clock;
use bench::replay::layout::Layout;
use bench::replay::limits;
use bench::replay::report::{Circumstances, ReplayReport};
use bench::replay::survey::Survey;
use bench::replay::text;
use bench::replay::trace::{Trace, TraceError};
use bench::report::DeviceFacts;
use indicatif::{ProgressBar, ProgressStyle};

use crate::clock;
use crate::device;
use crate::doctor::probe;
use crate::failure::{Exit, Failure};
use crate::files::{self, Uses};
use crate::uri::{Emulated, Placement};

pub(crate) use arguments::ReplayArguments;

/// How long the clock is compared with the system's: an error of about 1 in 10,000.
const CALIBRATION: core::time::Duration = core::time::Duration::from_millis(20);

/// Replays a trace.
pub(crate) fn run(wanted: &ReplayArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let device = device::require_built(&wanted.device)?;
    wanted.check_maps()?;
    check_uses(wanted, device)?;
    device::check_nsid(device, wanted.nsid)?;
    if let Some(path) = wanted.json.as_deref().filter(|path| !is_stdout(path)) {
        check_folder(path)?;
    }
    let line = progress_line();
    line.set_message(format!("reading {}", wanted.trace.display()));
    line.tick();
    let survey = open(wanted).and_then(|trace| Survey::of(trace, wanted.ios));
    let survey = survey.map_err(of_trace)?;
    if survey.ios.sum() == 0 {
        let hint = match survey.skipped.others {
            0 => String::new(),
            others => {
                format!(" among {others} other records; --events names the stage of a block trace")
            }
        };
        return Err(Failure::usage(anyhow!(
            "{}: no I/O to replay{hint}",
            wanted.trace.display()
        )));
    }
    lay_out(wanted, device, &survey)?;
    let report = report(wanted, device, &survey, &line)?;
    let to_stdout = wanted.json.as_deref().is_some_and(is_stdout);
    match &wanted.json {
        Some(_) if to_stdout => writeln!(out, "{}", report.render())?,
        Some(path) => fs::write(path, report.render()).map_err(|error| {
            Failure::environment(anyhow!(
                "wanted to write {}, found: {error}; name a file that can be written",
                path.display()
            ))
        })?,
        None => {}
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

/// Refuses a trace that is no file that can be read twice, and to write a file that is used for something else.
fn check_uses(wanted: &ReplayArguments, device: &Emulated) -> Result<(), Failure> {
    let mut uses = Uses::default();
    for path in trace_files(&wanted.trace) {
        files::require(&path).map_err(|unreadable| unreadable.failure(&path, "a trace"))?;
        uses.read(&path, "the trace");
    }
    uses.device(device);
    if let Some(path) = &wanted.json {
        uses.write(path, "the report (--json)");
    }
    uses.check()
}

/// The files that a trace may consist of: the one named, or the set that blktrace writes.
fn trace_files(trace: &Path) -> Vec<PathBuf> {
    if trace.exists() {
        return vec![trace.to_owned()];
    }
    let of_cpu = |cpu: usize| {
        let mut name = trace.as_os_str().to_owned();
        name.push(format!(".blktrace.{cpu}"));
        PathBuf::from(name)
    };
    let all = (0..limits::SOURCES_MAX).map(of_cpu);
    all.filter(|path| path.exists()).collect()
}

/// Refuses a trace that does not fit a device, before a file of the device is made or emptied for it.
fn lay_out(wanted: &ReplayArguments, device: &Emulated, survey: &Survey) -> Result<(), Failure> {
    let (block_bytes, blocks) = device::shape(device)?;
    let shape = (block_bytes.into(), blocks);
    match Layout::new(survey, &wanted.maps, shape, wanted.outside()) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(error)),
    }
}

fn report(
    wanted: &ReplayArguments,
    device: &Emulated,
    survey: &Survey,
    line: &ProgressBar,
) -> Result<ReplayReport, Failure> {
    let clock = Clock::calibrate(CALIBRATION);
    let total = survey.ios.sum();
    let mut observe = |sample| {
        line.set_message(text::live(&sample, total));
        line.tick();
    };
    let plan = wanted.plan();
    let job = rig::Job {
        wanted,
        survey,
        plan: &plan,
        clock: &clock,
    };
    let (replayed, device_counts) = match device.controller {
        Placement::Inline => rig::inline(device, &job, &mut observe)?,
        Placement::Thread => rig::threaded(device, &job, &mut observe)?,
    };
    let (placement, controller_threads) = match device.controller {
        Placement::Inline => ("controller in the driver's thread", 0),
        Placement::Thread => ("controller in its own thread, not pinned", 1),
    };
    line.finish_and_clear();
    let around = Circumstances {
        version: crate::VERSION.to_owned(),
        timestamp: clock::seconds_since_1970(),
        path: wanted.trace.display().to_string(),
        events: wanted.events,
        outside: wanted.outside(),
        device: DeviceFacts {
            uri: device.to_string(),
            placement: placement.to_owned(),
            controller_threads,
            block_bytes: replayed.facts.block_bytes,
            blocks: replayed.facts.blocks,
            moves_data: device.moves_data(),
        },
        processor: probe::processor().unwrap_or_else(|| "unnamed processor".to_owned()),
        processors: bench::ceiling::placement::allowed().len(),
        kernel: probe::kernel_release(),
        device_counts,
    };
    Ok(ReplayReport::new(
        around,
        survey,
        &replayed.layout,
        &plan,
        &replayed.outcome,
        &clock,
    ))
}

fn open(wanted: &ReplayArguments) -> Result<Trace, TraceError> {
    Trace::open(&wanted.trace, wanted.events)
}

/// A trace that cannot be read, in the program's exit codes.
fn of_trace(error: TraceError) -> Failure {
    if error.unreadable {
        Failure::environment(error)
    } else {
        Failure::usage(error)
    }
}

/// One line on stderr, only where that is a terminal.
fn progress_line() -> ProgressBar {
    let line = ProgressBar::new_spinner();
    line.set_style(ProgressStyle::default_spinner().tick_chars("-\\|/ "));
    line
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Finds out, before anything takes time, that the report could not be written.
fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let problem = match folder {
        Some(folder) if !folder.is_dir() => format!("no folder {}", folder.display()),
        _ if path.is_dir() => "a folder of that name".to_owned(),
        _ => return Ok(()),
    };
    Err(Failure::environment(anyhow!(
        "wanted to write {}, found {problem}; name a file in a folder that exists",
        path.display()
    )))
}
