//! From measured repeats to a row.

use super::cpu::Used;
use super::flags;
use super::limit::{Seen, limit};
use super::model::{CounterPair, CpuUse, DeviceModel, Generator, Repeat, Row, RowId};
use crate::clock::Clock;
use crate::latency::Latency;
use crate::runner::Outcome;
use crate::stats::Summary;

/// What one repeat measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// I/Os completed, reads and writes together.
    pub ios: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Seconds that the rate was taken over.
    pub seconds: f64,
    /// Mean latency in microseconds, from submission to completion.
    pub mean_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// CPUs kept busy.
    pub cpu: CpuUse,
    /// fio's own result, if that was the generator.
    pub fio_json: Option<String>,
}

impl Measured {
    /// A repeat of our own bench, in whose process everything ran.
    #[must_use]
    pub fn of_bench(outcome: &Outcome, clock: &Clock, used: &Used) -> Self {
        let mut latency = outcome.read.latency.clone();
        latency.add(&outcome.write.latency);
        let ios = outcome.read.ios + outcome.write.ios;
        let seconds = outcome.seconds.max(1e-9);
        let us = |ticks: f64| ticks * clock.nanoseconds_per_tick() / 1e3;
        let p99 = latency.quantile_since(&Latency::default(), 0.99);
        Self {
            ios,
            iops: ios as f64 / seconds,
            seconds,
            mean_us: us(latency.sum() as f64 / latency.count().max(1) as f64),
            p99_us: us(p99.unwrap_or(0) as f64),
            cpu: CpuUse {
                generator: outcome.process_cpu_seconds / seconds,
                process: 0.0,
                elsewhere: used.elsewhere,
                stolen: used.stolen,
            },
            fio_json: None,
        }
    }

    fn cpu_s_per_million(&self) -> f64 {
        let seconds = (self.cpu.generator + self.cpu.process) * self.seconds;
        seconds * 1e6 / self.ios.max(1) as f64
    }

    fn repeat(&self) -> Repeat {
        Repeat {
            iops: self.iops,
            mean_us: self.mean_us,
            p99_us: self.p99_us,
            cpu_s_per_million: self.cpu_s_per_million(),
        }
    }
}

/// What a row is, before it has figures.
#[derive(Debug, Clone)]
pub struct Basis<'a> {
    /// Which kind.
    pub id: RowId,
    /// What people call it.
    pub label: &'a str,
    /// What makes the load.
    pub generator: Generator,
    /// What the I/Os go through.
    pub path: &'a str,
    /// Rows that are part of it.
    pub contains: &'a [RowId],
    /// Whose CPU time is counted.
    pub cpu_counted: &'a str,
    /// Commands kept in flight.
    pub qd: u32,
    /// Bytes of one I/O; zero where no data moves.
    pub moved_per_io: u32,
    /// The generator on its null engine, if that ran: IOPS.
    pub harness_iops: Option<f64>,
    /// The device's own time.
    pub model: &'a DeviceModel,
    /// CPUs of the machine.
    pub cpus: usize,
}

/// A row without figures, for this reason.
#[must_use]
pub fn row_not_run(basis: &Basis<'_>, reason: &str) -> Row {
    Row {
        id: basis.id,
        label: basis.label.into(),
        generator: basis.generator,
        path: basis.path.into(),
        contains: basis.contains.to_vec(),
        qd: basis.qd,
        iops: None,
        mean_us: None,
        p99_us: None,
        effective_qd: None,
        cpu_s_per_million: None,
        cpu_counted: basis.cpu_counted.into(),
        cpu: None,
        bytes: 0,
        counters: None,
        limit: None,
        repeats: Vec::new(),
        spread: None,
        flags: Vec::new(),
        fio_json: None,
        not_run: Some(reason.into()),
    }
}

/// The row of these repeats. Without any, it says so.
#[must_use]
pub fn row(basis: &Basis<'_>, repeats: &[Measured], counters: Option<CounterPair>) -> Row {
    let mut sorted: Vec<&Measured> = repeats.iter().filter(|repeat| repeat.ios > 0).collect();
    sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    let Some(&shown) = sorted.get(sorted.len().saturating_sub(1) / 2) else {
        return row_not_run(
            basis,
            "no I/O completed in the time given; give it more with --runtime",
        );
    };
    let mut cpu = shown.cpu;
    // The others were watched for longer than the load, and cannot have had what it used.
    let left = (basis.cpus as f64 - cpu.generator - cpu.process).max(0.0);
    cpu.elsewhere = cpu.elsewhere.map(|others| others.min(left));
    let rates: Vec<f64> = repeats.iter().map(|repeat| repeat.iops).collect();
    let spread = Summary::of(&rates).filter(|all| all.count > 1);
    let limit = limit(&Seen {
        id: basis.id,
        qd: basis.qd,
        iops: shown.iops,
        harness_iops: basis.harness_iops,
        model: basis.model,
        cpu,
        cpus: basis.cpus,
    });
    let mut row = Row {
        iops: Some(shown.iops),
        mean_us: Some(shown.mean_us),
        p99_us: Some(shown.p99_us),
        effective_qd: Some(shown.iops * shown.mean_us / 1e6),
        cpu_s_per_million: Some(shown.cpu_s_per_million()),
        cpu: Some(cpu),
        bytes: repeats.iter().map(|repeat| repeat.ios).sum::<u64>() * u64::from(basis.moved_per_io),
        counters,
        limit: Some(limit),
        repeats: repeats.iter().map(Measured::repeat).collect(),
        spread: spread.map(|all| all.relative_spread()),
        fio_json: shown.fio_json.clone(),
        not_run: None,
        ..row_not_run(basis, "")
    };
    let device = (basis.id != RowId::Harness).then(|| basis.model.at(basis.qd));
    let ceiling = device.flatten().map(|point| point.iops);
    row.flags = flags::of(&row, shown.ios, basis.cpus, ceiling);
    row
}
