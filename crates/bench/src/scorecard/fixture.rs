//! Made-up scorecards for tests.

use super::model::{
    CounterPair, Counters, CpuUse, DeviceModel, Generator, Header, KernelPath, Load, Machine,
    ModelPoint, RowId, SCHEMA, Scorecard,
};
use super::row::{Basis, Measured, row, row_not_run};

/// The depths of every fixture.
pub(super) const QDS: [u32; 3] = [1, 16, 128];

/// A drive of 22 us and 69 k IOPS.
pub(super) fn model() -> DeviceModel {
    let point = |qd, iops| ModelPoint {
        qd,
        iops,
        mean_us: f64::from(qd) * 1e6 / iops,
    };
    DeviceModel {
        profile: "aws-c7gd".into(),
        source: "made up for tests".into(),
        points: vec![
            point(1, 45_000.0),
            point(16, 69_000.0),
            point(128, 69_000.0),
        ],
    }
}

/// A basis as the program makes them.
pub(super) fn basis<'a>(id: RowId, qd: u32, model: &'a DeviceModel) -> Basis<'a> {
    let (label, generator) = match id {
        RowId::Harness => ("harness: fio null engine", Generator::Fio),
        RowId::Kernel => ("kernel: XFS + fio", Generator::Fio),
        RowId::Fuse => ("FUSE bridge + fio", Generator::Fio),
        RowId::Driver => ("user-space driver", Generator::Bench),
    };
    Basis {
        id,
        label,
        generator,
        path: "from here to there",
        contains: if id == RowId::Kernel {
            &[RowId::Fuse]
        } else {
            &[]
        },
        cpu_counted: "this process",
        qd,
        moved_per_io: if id == RowId::Harness { 0 } else { 4096 },
        harness_iops: (id != RowId::Harness).then_some(1_500_000.0),
        model,
        cpus: 2,
    }
}

/// A repeat that obeys Little's law.
pub(super) fn measured(qd: u32, iops: f64) -> Measured {
    Measured {
        ios: iops as u64,
        iops,
        seconds: 1.0,
        mean_us: f64::from(qd) * 1e6 / iops,
        p99_us: f64::from(qd) * 2e6 / iops,
        cpu: CpuUse {
            generator: 0.4,
            process: 0.6,
            elsewhere: Some(0.1),
            stolen: Some(0.0),
        },
        fio_json: None,
    }
}

/// Counters that saw so many I/Os of 4 KiB, half of them writes.
pub(super) fn counted(ios: u64) -> CounterPair {
    let before = Counters {
        commands: 70_000,
        writes: 70_000,
        ..Counters::default()
    };
    CounterPair {
        before,
        after: Counters {
            commands: before.commands + ios,
            reads: ios / 2,
            read_bytes: ios / 2 * 4096,
            writes: before.writes + ios - ios / 2,
            written_bytes: (ios - ios / 2) * 4096,
            ..before
        },
    }
}

/// A whole scorecard; without root, if so wanted, so that its kernel row did not run.
pub(super) fn card(with_kernel: bool) -> Scorecard {
    let model = model();
    let mut rows = Vec::new();
    for (id, rates) in [
        (RowId::Harness, [1_700_000.0, 1_900_000.0, 1_800_000.0]),
        (RowId::Kernel, [12_000.0, 41_000.0, 52_000.0]),
        (RowId::Fuse, [20_000.0, 60_000.0, 68_500.0]),
        (RowId::Driver, [44_000.0, 69_000.0, 69_000.0]),
    ] {
        for (qd, rate) in QDS.into_iter().zip(rates) {
            let basis = basis(id, qd, &model);
            let repeats = [0.99, 1.0, 1.01].map(|factor| measured(qd, rate * factor));
            let ios = repeats.iter().map(|repeat| repeat.ios).sum();
            rows.push(match id {
                RowId::Kernel if !with_kernel => {
                    row_not_run(&basis, "needs root, run <as root> & again")
                }
                RowId::Harness => row(&basis, &repeats, None),
                _ => row(&basis, &repeats, Some(counted(ios))),
            });
        }
    }
    let mut card = Scorecard {
        schema: SCHEMA,
        header: header(model),
        rows,
        comparisons: Vec::new(),
    };
    card.compare();
    card
}

fn header(model: DeviceModel) -> Header {
    Header {
        version: "0.1.0".into(),
        command: "dataplane-emu demo".into(),
        timestamp: 1_790_000_000,
        honesty: "emulated".into(),
        machine: Machine {
            processor: "A processor".into(),
            cpus: 2,
            kernel: "6.18".into(),
        },
        placement: "nothing is pinned".into(),
        device: "ram:512M?lba=4096&profile=aws-c7gd".into(),
        model,
        load: Load {
            rwmixread: 50,
            bs: 4096,
            size: 256 << 20,
            qds: QDS.to_vec(),
            runtime_s: 1.0,
            repeats: 3,
        },
        file_check: Some("1 byte, equal".into()),
        kernel_paths: vec![
            KernelPath {
                path: "KVM guest".into(),
                not_run: Some("no guest".into()),
            },
            KernelPath {
                path: "loop".into(),
                not_run: None,
            },
        ],
        programs: vec!["fio-3.33".into()],
    }
}
