//! What this machine could do at best, measured just after the job.

use core::time::Duration;

use bench::ceiling::{bare, copy, ping_pong, placement};
use bench::regime::PingPong;
use bench::report::{Ceiling, Figure};
use bench::runner::{JobRun, Outcome};
use bench::stats::Summary;
use bench::text;
use bench::workload::{Job, Plan};

use crate::doctor::probe;
use crate::uri::{Emulated, Placement};

/// How long a word bounces between two cores: some ten thousand round trips.
const PING_PONG_WINDOW: Duration = Duration::from_millis(5);

/// How long a ceiling is measured at least and at most: a tenth of the job's run time between them.
const WINDOW_MS: (u64, u64) = (10, 200);

/// The two CPUs that ceilings run on: the job's own, if it names two.
fn cpus(job: &Job) -> Result<(usize, usize), String> {
    match job.core_mask[..] {
        [first, second, ..] => Ok((first, second)),
        _ => placement::two(),
    }
}

/// Nanoseconds of a word's round trip between two cores.
pub(super) fn ping_pong(job: &Job) -> Result<f64, String> {
    ping_pong::round_trip_ns(cpus(job)?, PING_PONG_WINDOW)
}

/// The round trips before and after a job.
pub(super) fn around(
    before: Result<f64, String>,
    after: impl FnOnce() -> Result<f64, String>,
) -> Figure<PingPong> {
    match before.and_then(|before_ns| {
        Ok(PingPong {
            before_ns,
            after_ns: after()?,
        })
    }) {
        Ok(both) => Figure::Value(both),
        Err(reason) => Figure::NotRun(reason),
    }
}

/// The best that anything could have done in the device's place: copies over the same working set where data moves, a bare
/// queue pair between two cores where none does. Where neither bounds the job, the reason instead.
pub(super) fn of(device: &Emulated, job: &Job, plan: &Plan, run: &JobRun) -> Figure<Ceiling> {
    let (least, most) = WINDOW_MS;
    let window = Duration::from_millis((job.runtime_ms.unwrap_or(0) / 10).clamp(least, most));
    let measured = comparable(device, job).and_then(|()| {
        if device.moves_data() {
            copies(job, plan, window)
        } else {
            bare_queue_pair(job, window)
        }
    });
    match measured.and_then(|ceiling| unbeaten(ceiling, median_rate(run))) {
        Ok(ceiling) => Figure::Value(ceiling),
        Err(reason) => Figure::NotRun(reason),
    }
}

/// Whether a ceiling of ours bounds such a job at all.
fn comparable(device: &Emulated, job: &Job) -> Result<(), String> {
    if device.moves_data() && job.read_percent() > 0 && !job.preconditions() {
        // Memory that was never written is one page of zeros, which stays in the cache whatever the working set.
        return Err("blocks that were never written are read from one page of zeros, which copies of real memory do not bound; add --precondition".into());
    }
    if !device.moves_data() && device.controller == Placement::Inline {
        return Err("the bare queue pair runs between two cores and does not bound a controller in the driver's thread; add controller=thread to the URI".into());
    }
    if job.threads > 1 || job.devices > 1 {
        return Err("ceilings are measured for one thread and one device".into());
    }
    Ok(())
}

/// The ceiling, unless the device went through it: then the two were measured on a machine in different states.
fn unbeaten(ceiling: Ceiling, rate: f64) -> Result<Ceiling, String> {
    /// What two runs of the same loop differ by on a quiet machine.
    const NOISE: f64 = 1.05;
    if rate <= ceiling.per_second * NOISE {
        return Ok(ceiling);
    }
    let found = text::rate(ceiling.per_second);
    Err(format!(
        "found {found}/s ({}), less than the device itself: the machine was disturbed during one of the two; repeat",
        ceiling.name
    ))
}

/// The median over repeats of I/Os per second.
fn median_rate(run: &JobRun) -> f64 {
    let rate = |o: &Outcome| (o.read.ios + o.write.ios) as f64 / o.seconds.max(1e-9);
    let rates: Vec<f64> = run.outcomes.iter().map(rate).collect();
    Summary::of(&rates).map_or(0.0, |summary| summary.median)
}

/// The best of a few windows: a disturbance can only lower a rate.
fn best(mut measure: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
    const WINDOWS: usize = 3;
    (0..WINDOWS).try_fold(0.0_f64, |best, _| Ok(best.max(measure()?)))
}

fn copies(job: &Job, plan: &Plan, window: Duration) -> Result<Ceiling, String> {
    let bytes = plan.working_set_bytes();
    let available = probe::available_bytes().unwrap_or(0);
    if bytes.saturating_add(1 << 28) > available {
        let (wanted, found) = (bytes >> 20, available >> 20);
        return Err(format!(
            "a second working set of {wanted} MiB wants more than the {found} MiB available"
        ));
    }
    let bytes = usize::try_from(bytes).map_err(|_| "the working set exceeds an address space")?;
    let cpu = job.core_mask.first().copied();
    // On a thread of its own, so that it can be bound to the CPU that the job ran on.
    let per_second = std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let _ = cpu.map(placement::pin); // unpinned it is still what one thread copies
            let mut copies =
                copy::CopyLoop::new(bytes, job.bs as usize, job.qd as usize, job.seed)?;
            best(|| Ok(copies.run(window)))
        });
        thread
            .join()
            .map_err(|_| "the copying thread panicked".to_owned())?
    })?;
    Ok(Ceiling {
        name: "memcpy of one I/O at random places of the same working set, one thread".into(),
        per_second,
    })
}

fn bare_queue_pair(job: &Job, window: Duration) -> Result<Ceiling, String> {
    let cpus = cpus(job)?;
    Ok(Ceiling {
        name: "bare queue pair between two cores: no NVMe meaning, no data moved".into(),
        per_second: best(|| bare::rate(job.qd, cpus, window))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri::Uri;
    use bench::workload::Pattern;

    fn refusal(uri: &str, job: &Job) -> Option<String> {
        match Uri::parse(uri) {
            Ok(Uri::Emulated(device)) => comparable(&device, job).err(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_of_memory_that_was_never_written_have_no_ceiling() {
        let unwritten = Job::default();
        assert!(refusal("ram:1G", &unwritten).is_some_and(|why| why.contains("--precondition")));
        assert_eq!(
            refusal(
                "ram:1G",
                &Job {
                    precondition: true,
                    ..Job::default()
                }
            ),
            None
        );
        assert_eq!(
            refusal(
                "ram:1G",
                &Job {
                    verify: true,
                    ..Job::default()
                }
            ),
            None
        );
        assert_eq!(
            refusal(
                "ram:1G",
                &Job {
                    rw: Pattern::RandWrite,
                    ..Job::default()
                }
            ),
            None
        );
    }

    #[test]
    fn a_two_core_loop_does_not_bound_one_core() {
        let job = Job::default();
        assert!(refusal("null:1G", &job).is_some_and(|why| why.contains("controller=thread")));
        assert_eq!(refusal("null:1G?controller=thread", &job), None);
    }

    #[test]
    fn a_ceiling_that_the_device_went_through_is_not_reported_as_one() {
        let ceiling = Ceiling {
            name: "copies".into(),
            per_second: 1e6,
        };
        assert!(unbeaten(ceiling.clone(), 0.9e6).is_ok());
        assert!(unbeaten(ceiling.clone(), 1.04e6).is_ok());
        assert!(unbeaten(ceiling, 1.89e6).is_err_and(|why| why.contains("repeat")));
    }
}
