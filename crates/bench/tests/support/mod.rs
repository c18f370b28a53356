//! Made-up runs with known figures.

use bench::access::Random;
use bench::clock::Clock;
use bench::latency::LiveLatency;
use bench::report::{Ceiling, Circumstances, DeviceFacts, Figure, Report};
use bench::runner::{DirectionOutcome, JobRun, Outcome};
use bench::stats::Little;
use bench::workload::{Geometry, Job, Timestamps};

/// Where a made-up run took place.
pub(crate) fn circumstances() -> Circumstances {
    Circumstances {
        version: "0.1.0".to_owned(),
        timestamp: 1_780_000_000,
        device: DeviceFacts {
            uri: "ram:64M".to_owned(),
            placement: "in this thread".to_owned(),
            controller_threads: 0,
            block_bytes: 512,
            blocks: 1 << 17,
            moves_data: true,
        },
        processor: "Made-up processor".to_owned(),
        processors: 2,
        kernel: "6.1".to_owned(),
        ceiling: Figure::Value(Ceiling {
            name: "memcpy over the same working set".to_owned(),
            per_second: 4e6,
        }),
        ping_pong: Figure::NotRun("needs two CPUs that this process may use".to_owned()),
    }
}

fn direction(ios: u64, mean_ns: u64, stamped: bool, random: &mut Random) -> DirectionOutcome {
    let live = LiveLatency::default();
    for _ in 0..if stamped { ios } else { 0 } {
        live.record(mean_ns / 2 + random.next() % mean_ns);
    }
    let mut outcome = DirectionOutcome {
        ios,
        ..DirectionOutcome::default()
    };
    live.add_to(&mut outcome.latency);
    outcome
}

/// Outcomes of one second each at the given rates, with latencies that obey Little's law.
pub(crate) fn run(job: &Job, rates: &[u64]) -> JobRun {
    let mut random = Random::new(job.seed);
    let depth = u64::from(job.qd * job.lane_count());
    let outcomes = rates.iter().map(|&rate| {
        let mean_ns = depth * 1_000_000_000 / rate;
        let reads = rate * u64::from(job.read_percent()) / 100;
        let stamped = job.timestamps != Timestamps::None;
        Outcome {
            seconds: 1.0,
            thread_ticks: 1_000_000_000 * u64::from(job.threads),
            cpu_seconds: 0.99 * f64::from(job.threads),
            process_cpu_seconds: 0.99 * f64::from(job.threads),
            system_share: Some(0.25),
            polls: rate / 4,
            empty_polls: rate / 40,
            doorbells: rate / 8,
            read: direction(reads, mean_ns, stamped, &mut random),
            write: direction(rate - reads, mean_ns, stamped, &mut random),
            ..Outcome::default()
        }
    });
    JobRun {
        outcomes: outcomes.collect(),
        read_back: None,
    }
}

/// The report of a made-up run.
pub(crate) fn report(job: &Job, rates: &[u64]) -> Report {
    let around = circumstances();
    let geometry = Geometry {
        block_bytes: around.device.block_bytes,
        blocks: around.device.blocks,
        transfer_bytes_max: 1 << 20,
        moves_data: true,
    };
    let plan = job
        .plan(geometry)
        .expect("the made-up job fits the made-up device");
    Report::new(around, job, &plan, &run(job, rates), &Clock::monotonic())
}

/// The effective depth of a report's median repeat.
#[allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]
pub(crate) fn little(report: &Report) -> Little {
    *report
        .median_repeat()
        .and_then(|repeat| repeat.little.value())
        .expect("measured")
}
