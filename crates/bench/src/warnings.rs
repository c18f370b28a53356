//! Numbers that warn about themselves: each warning says what a number may hide and what to do.

use crate::clock::ClockSource;
use crate::limits;
use crate::regime::Regime;
use crate::report::{RepeatFigures, Report, Warning};
use crate::stats::Little;
use crate::workload::{Job, Timestamps};

/// Everything that the report's numbers may hide.
#[must_use]
pub fn of(report: &Report) -> Vec<Warning> {
    let mut list = Vec::new();
    let mut warn = |holds: bool, hides: String, advice: &str| {
        if holds {
            list.push(Warning {
                hides,
                advice: advice.to_owned(),
            });
        }
    };
    work_warnings(report, &mut warn);
    run_warnings(report, &mut warn);
    let controllers = report.device.controller_threads;
    list.extend(shared_cpus(
        &report.job,
        controllers,
        report.machine.processors,
    ));
    list
}

/// Threads that never sleep on fewer CPUs, of those that the job names or, if none, those of the
/// `processors` that the process may use. Known before anything runs.
#[must_use]
pub fn shared_cpus(job: &Job, controller_threads: u32, processors: usize) -> Option<Warning> {
    let (cpus, more) = match job.core_mask.len() {
        0 => (processors, "use a machine with more CPUs"),
        named => (named, "name more CPUs in --core-mask"),
    };
    let threads = (job.threads + controller_threads) as usize;
    if cpus == 0 || threads <= cpus {
        return None; // none: the system does not say how many
    }
    let (wait, or) = match controller_threads {
        0 => ("each waits while another runs", "fewer --threads"),
        _ => (
            "a command waits until the scheduler lets its controller run, and its completion until it lets the driver",
            "controller=inline in the URI",
        ),
    };
    Some(Warning {
        hides: format!(
            "{threads} threads that never sleep ({} driving, {controller_threads} of controllers) share {cpus} CPU(s): {wait}",
            job.threads
        ),
        advice: format!("{more}, or {or}"),
    })
}

type Warn<'a> = dyn FnMut(bool, String, &str) + 'a;

/// Warnings about what the job does.
fn work_warnings(report: &Report, warn: &mut Warn<'_>) {
    let job = &report.job;
    let reads = job.read_percent() > 0;
    warn(
        !report.device.moves_data,
        "no data moved: the media completes commands without touching their buffers".to_owned(),
        "compare with a ram: device before calling this a storage speed",
    );
    warn(
        report.device.moves_data && reads && !job.preconditions(),
        "reads may hit blocks that were never written, which some media serve from one zero page"
            .to_owned(),
        "add --precondition",
    );
    warn(
        report.device.moves_data && report.working_set_bytes <= limits::CACHE_WORKING_SET_BYTES,
        format!(
            "the working set, {} KiB, fits a core's cache",
            report.working_set_bytes >> 10
        ),
        "raise --size to see the memory behind it",
    );
    warn(
        job.verify,
        "the rate includes writing, spoiling and comparing every byte".to_owned(),
        "measure without --verify",
    );
    warn(
        report.machine.clock == ClockSource::Monotonic,
        "ticks are nanoseconds of the kernel's clock; reading it costs 20 to 60 ns".to_owned(),
        "use --timestamps none for speed",
    );
}

/// Warnings about how the run went.
fn run_warnings(report: &Report, warn: &mut Warn<'_>) {
    let job = &report.job;
    let count = report.repeats.len();
    warn(
        count < 3,
        format!("{count} repeat(s) show no spread worth the name"),
        "use --repeats 3 or more",
    );
    if let Some(rate) = report.summary(|repeat| Some(repeat.iops)) {
        warn(
            rate.relative_spread() > limits::SPREAD_WARN,
            format!(
                "the rate of the repeats spreads by {:.0} %",
                rate.relative_spread() * 100.0
            ),
            "quieten the machine, pin threads with --core-mask, run longer",
        );
    }
    let any = |test: &dyn Fn(&RepeatFigures) -> bool| report.repeats.iter().any(test);
    warn(
        any(&|repeat| repeat.seconds < limits::SHORT_RUN_SECONDS),
        "a repeat lasted less than a tenth of a second".to_owned(),
        "raise --runtime or --ios",
    );
    let off = |little: &Little| job.rate.is_none() && little.is_off();
    warn(
        any(&|repeat| repeat.little.value().is_some_and(off)),
        "IOPS x mean latency is not the queue depth (Little's law): slots stood empty between \
         I/Os, or commands were not counted"
            .to_owned(),
        match job.timestamps {
            Timestamps::Io => {
                "at memory speed the stamps themselves take that time; use --timestamps poll"
            }
            _ => "run longer; raise --size if --verify holds overlapping accesses back",
        },
    );
    warn(
        any(&|repeat| repeat.cpu_share < 0.9),
        "the threads were off their cores for more than a tenth of the time".to_owned(),
        "use fewer threads than cores, or a quieter machine; compare CPU seconds per I/O instead",
    );
    trouble_warnings(report, warn);
}

/// Warnings about what went wrong.
fn trouble_warnings(report: &Report, warn: &mut Warn<'_>) {
    for behind in report
        .repeats
        .iter()
        .filter_map(|repeat| repeat.fell_behind)
    {
        warn(
            true,
            format!(
                "the device fell {:.1} s behind the offered rate; offering stopped after {:.1} s",
                behind.lag_seconds, behind.after_seconds
            ),
            "lower --rate; latencies show the queue in front of the device",
        );
    }
    for repeat in report.repeats.iter().filter(|repeat| repeat.failures > 0) {
        let first = repeat.first_failure.as_deref().unwrap_or("unknown");
        warn(
            true,
            format!(
                "{} commands failed, the first with: {first}",
                repeat.failures
            ),
            "a failed command is quick; do not trust the rate",
        );
    }
    if let Some(pair) = report.ping_pong.value() {
        let (before, after) = (Regime::of(pair.before_ns), Regime::of(pair.after_ns));
        warn(
            pair.changed(),
            format!(
                "the cores' distance changed during the run: {:.0} ns ({}) before, {:.0} ns ({}) after",
                pair.before_ns,
                before.name(),
                pair.after_ns,
                after.name()
            ),
            "repeat the measurement",
        );
    }
}
