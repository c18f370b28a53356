//! The rows of the demo's scorecard: what each is called, what makes its load, whose CPU time is counted.

use bench::ceiling::placement;
use bench::scorecard::Basis;
use bench::scorecard::model::{DeviceModel, Generator, Row, RowId};

/// A row, whatever its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    HarnessFio,
    HarnessBench,
    Kernel,
    Fuse,
    Driver,
}

impl Kind {
    /// All, in the order measured.
    pub(super) const ALL: [Self; 5] = [
        Self::HarnessFio,
        Self::HarnessBench,
        Self::Kernel,
        Self::Fuse,
        Self::Driver,
    ];

    pub(super) const fn id(self) -> RowId {
        match self {
            Self::HarnessFio | Self::HarnessBench => RowId::Harness,
            Self::Kernel => RowId::Kernel,
            Self::Fuse => RowId::Fuse,
            Self::Driver => RowId::Driver,
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::HarnessFio => "harness: fio, null engine",
            Self::HarnessBench => "harness: bench, null drive",
            Self::Kernel => "kernel: XFS over loop, fio",
            Self::Fuse => "FUSE bridge, fio",
            Self::Driver => "user-space driver, bench",
        }
    }

    pub(super) const fn generator(self) -> Generator {
        match self {
            Self::HarnessFio | Self::Kernel | Self::Fuse => Generator::Fio,
            Self::HarnessBench | Self::Driver => Generator::Bench,
        }
    }

    /// How the names of fio's results begin, as in the first project.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Kernel => "x",
            Self::Fuse => "fuse",
            _ => "null",
        }
    }

    const fn contains(self) -> &'static [RowId] {
        match self {
            Self::Kernel => &[RowId::Fuse],
            _ => &[],
        }
    }

    const fn cpu_counted(self) -> &'static str {
        match self {
            Self::HarnessFio => "fio's thread",
            Self::Kernel => {
                "fio's thread with the system calls it makes, and this process (the mount's threads, driver, controller); the \
                 kernel's own threads for loop and XFS are not in it, see CPU elsewhere"
            }
            Self::Fuse => {
                "fio's thread with the system calls it makes, and this process (the mount's threads, driver, controller)"
            }
            Self::HarnessBench | Self::Driver => {
                "this process: one thread that never sleeps, so all the CPU time that the machine gives it"
            }
        }
    }
}

/// The rows so far, and what every new one needs to know.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) rows: Vec<Row>,
    /// What each generator reached alone: generator, depth, IOPS.
    pub(super) harness: Vec<(Generator, u32, f64)>,
    pub(super) cpus: usize,
    model: &'a DeviceModel,
    bs: u32,
}

impl<'a> Cells<'a> {
    pub(super) fn new(model: &'a DeviceModel, bs: u32) -> Self {
        Self {
            rows: Vec::new(),
            harness: Vec::new(),
            cpus: placement::allowed().len(),
            model,
            bs,
        }
    }

    /// What a cell is, before it has figures.
    pub(super) fn basis<'b>(&self, kind: Kind, qd: u32, path: &'b str) -> Basis<'b>
    where
        'a: 'b,
    {
        let harness = self
            .harness
            .iter()
            .find(|(generator, depth, _)| *generator == kind.generator() && *depth == qd);
        Basis {
            id: kind.id(),
            label: kind.label(),
            generator: kind.generator(),
            path,
            contains: kind.contains(),
            cpu_counted: kind.cpu_counted(),
            qd,
            moved_per_io: if kind.id() == RowId::Harness {
                0
            } else {
                self.bs
            },
            harness_iops: harness.map(|(_, _, iops)| *iops),
            model: self.model,
            cpus: self.cpus,
        }
    }
}
