//! The demo from beginning to end: one device, filled once, then reached over each path in turn.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bench::clock::Clock;
use bench::scorecard::fio::{self, FioError, FioJob};
use bench::scorecard::model::{
    CounterPair, Counters, DeviceModel, Header, KernelPath, Load, Machine, ModelPoint, RowId,
    SCHEMA, Scorecard,
};
use bench::scorecard::{Measured, row, row_not_run};
use bench::text;
use bench::workload::{Job, Pattern, Timestamps};
use bridge::fuse::{Mount, MountOptions};
use driver::Device;
use local::Inline;
use media::timing;

use super::guards::{Interrupt, WorkDir};
use super::kernel::{self, LoopXfs};
use super::progress::Progress;
use super::rows::{Cells, Kind};
use super::{copy, load};
use crate::doctor::probe;
use crate::failure::Failure;
use crate::size::Size;
use crate::uri::{Emulated, Uri};
use crate::{clock, device};

/// What was asked for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) profile: String,
    pub(super) qds: Vec<u32>,
    pub(super) rwmixread: u8,
    pub(super) bs: u32,
    pub(super) size: u64,
    pub(super) runtime_ms: u64,
    pub(super) repeats: u32,
    pub(super) seed: u64,
    pub(super) file: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) card: Scorecard,
    /// Rows that could have run here and did not.
    pub(super) failed: Vec<String>,
}

impl Wanted {
    /// The URI of a device in memory with room for the working set in a file system: XFS wants 300 MiB at least, and up to
    /// 64 MiB and an eighth for itself.
    fn device(&self) -> String {
        let room = self.size + self.size / 8 + (128 << 20);
        let bytes = room.max(384 << 20).next_multiple_of(1 << 20);
        let mut uri = format!("ram:{}?lba={}", Size(bytes), self.block_bytes());
        if self.profile != "instant" {
            uri.push_str(&format!("&profile={}&seed={}", self.profile, self.seed));
        }
        uri
    }

    /// Bytes of a logical block.
    fn block_bytes(&self) -> u64 {
        if self.bs < 4096 { 512 } else { 4096 }
    }

    /// The load of our own bench.
    fn job(&self, qd: u32) -> Job {
        Job {
            rw: Pattern::RandRw,
            rwmixread: Some(self.rwmixread),
            bs: self.bs,
            qd,
            size: Some(self.size),
            runtime_ms: Some(self.runtime_ms),
            timestamps: Timestamps::Io,
            seed: self.seed,
            repeats: 1,
            ..Job::default()
        }
    }
}

/// Runs everything.
pub(super) fn run(wanted: &Wanted, work: &WorkDir) -> Result<Outcome, Failure> {
    let uri = Uri::parse(&wanted.device()).map_err(Failure::usage)?;
    let emulated = device::require_built(&uri)?;
    enough_memory(emulated)?;
    let model = model(wanted, emulated)?;
    let file = copy::Original::read(wanted.file.as_deref())?;
    let mut demo = Demo::new(wanted, work, &model)?;
    demo.harness()?;
    let (device, said) = file.round_trip(device::open_inline(emulated)?)?;
    demo.progress.say(0, &format!("file: {said}"));
    let device = demo.fill(device)?;
    let device = match demo.mounted(device) {
        Ok(device) => device,
        Err(Lost::End(failure)) => return Err(failure),
        Err(Lost::Mount(reason)) => {
            // The device went with the mount; another of the same kind takes its place for what is left.
            demo.without_mount(&reason);
            demo.fill(device::open_inline(emulated)?)?
        }
    };
    demo.driver(device)?;
    let mut card = Scorecard {
        schema: SCHEMA,
        header: header(wanted, &uri, &demo, said, &model),
        rows: demo.cells.rows,
        comparisons: Vec::new(),
    };
    card.rows.sort_by_key(|row| (row.id, row.generator));
    if !work.stays() {
        // The files go with the private folder.
        card.rows.iter_mut().for_each(|row| row.fio_json = None);
    }
    card.compare();
    Ok(Outcome {
        card,
        failed: demo.failed,
    })
}

/// Refuses a working set that would drive the machine out of its memory.
fn enough_memory(device: &Emulated) -> Result<(), Failure> {
    let wanted = device.namespace_bytes().unwrap_or(0);
    match probe::available_bytes() {
        Some(available) if wanted > available / 4 * 3 => {
            Err(Failure::environment(anyhow::anyhow!(
                "the drive is in memory and takes {}; found {} available, of which three quarters may be used; lower --size",
                text::bytes(wanted),
                text::bytes(available)
            )))
        }
        _ => Ok(()),
    }
}

/// What the profile makes of the load, in virtual time.
fn model(wanted: &Wanted, emulated: &Emulated) -> Result<DeviceModel, Failure> {
    /// Enough for a mean within half a percent, little enough for a moment.
    const REQUESTS: u32 = 20_000;
    let Some(profile) = device::profile(emulated)? else {
        return Ok(DeviceModel::instant());
    };
    let point = |&qd: &u32| {
        let load = timing::Load {
            depth: qd,
            block_bytes: wanted.bs,
            read_percent: f64::from(wanted.rwmixread),
            requests: REQUESTS,
        };
        let seen = timing::closed_loop(&profile, &load, wanted.seed);
        ModelPoint {
            qd,
            iops: seen.iops,
            mean_us: seen.mean_us,
        }
    };
    Ok(DeviceModel {
        profile: profile.name().to_owned(),
        source: format!(
            "{}. {}",
            profile.summary(),
            profile
                .source()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        ),
        points: wanted.qds.iter().map(point).collect(),
    })
}

fn header(
    wanted: &Wanted,
    uri: &Uri,
    demo: &Demo<'_>,
    said: String,
    model: &DeviceModel,
) -> Header {
    let threads = MountOptions::default().threads;
    Header {
        version: crate::VERSION.to_owned(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        timestamp: clock::seconds_since_1970(),
        honesty: "emulated".into(),
        machine: Machine {
            processor: probe::processor().unwrap_or_else(|| "unnamed processor".into()),
            cpus: demo.cells.cpus,
            kernel: probe::kernel_release(),
        },
        placement: format!(
            "rows 1 and 2: fio in its own process, driver and controller in line in the mount's {threads} threads; row 3: \
             generator, driver and controller in one thread; nothing is pinned"
        ),
        device: uri.to_string(),
        model: model.clone(),
        load: Load {
            rwmixread: wanted.rwmixread,
            bs: wanted.bs,
            size: wanted.size,
            qds: wanted.qds.clone(),
            runtime_s: wanted.runtime_ms as f64 / 1e3,
            repeats: wanted.repeats,
        },
        file_check: Some(said),
        kernel_paths: demo.kernel_paths.clone(),
        programs: demo.fio.iter().cloned().collect(),
    }
}

/// Why the device did not come back from the mount.
enum Lost {
    /// The demo is over.
    End(Failure),
    /// There is no mount, for this reason; the rest can go on.
    Mount(String),
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Self::End(failure)
    }
}

/// A demo under way.
struct Demo<'a> {
    wanted: &'a Wanted,
    work: &'a WorkDir,
    interrupt: Interrupt,
    progress: Progress,
    clock: Clock,
    cells: Cells<'a>,
    /// fio's version, or why there is none.
    fio: Result<String, String>,
    kernel_paths: Vec<KernelPath>,
    failed: Vec<String>,
}

impl<'a> Demo<'a> {
    fn new(wanted: &'a Wanted, work: &'a WorkDir, model: &'a DeviceModel) -> Result<Self, Failure> {
        const CALIBRATION: core::time::Duration = core::time::Duration::from_millis(20);
        let cells = wanted.qds.len() as u64 * Kind::ALL.len() as u64;
        Ok(Self {
            wanted,
            work,
            interrupt: Interrupt::new()?,
            progress: Progress::new(cells * u64::from(wanted.repeats)),
            clock: Clock::calibrate(CALIBRATION),
            cells: Cells::new(model, wanted.bs),
            fio: fio::version().map_err(|error| error.to_string()),
            kernel_paths: kernel::better(),
            failed: Vec::new(),
        })
    }

    /// Row 0: the load generators on nothing.
    fn harness(&mut self) -> Result<(), Failure> {
        self.progress.say(0, "the load generators alone");
        self.fio_row(
            Kind::HarnessFio,
            None,
            "fio → its null engine",
            &mut |_| None,
        )?;
        let uri = format!(
            "null:{}?lba={}",
            Size(self.wanted.size),
            self.wanted.block_bytes()
        );
        let uri = Uri::parse(&uri).map_err(Failure::usage)?;
        let mut null = device::open_inline(device::require_built(&uri)?)?;
        self.bench_row(
            Kind::HarnessBench,
            &mut null,
            "bench → our driver → our controller → nothing",
        )?;
        Ok(())
    }

    /// Writes every block of the device.
    fn fill(&mut self, mut device: Device<Inline>) -> Result<Device<Inline>, Failure> {
        self.interrupt.check()?;
        let before = clock::now();
        self.progress.now("filling the drive".into());
        load::fill(&mut device, &self.clock)?;
        let counted = load::counters(&mut device);
        self.progress.say(
            0,
            &format!(
                "drive filled through the driver: {} in {:.1} s",
                text::bytes(counted.written_bytes),
                (clock::now() - before).as_secs_f64()
            ),
        );
        Ok(device)
    }

    /// Rows 1 and 2, through the mount.
    fn mounted(&mut self, device: Device<Inline>) -> Result<Device<Inline>, Lost> {
        self.interrupt.check()?;
        if let Err(reason) = &self.fio {
            let reason = reason.clone();
            self.kernel_paths.push(kernel::looped(Some(&reason)));
            self.not_run(Kind::Kernel, &reason);
            self.not_run(Kind::Fuse, &reason);
            return Ok(device);
        }
        let point = self.work.mount_point("mnt").map_err(Lost::Mount)?;
        let mount = Mount::start(device, point.path(), &MountOptions::default())
            .map_err(|error| Lost::Mount(error.to_string()))?;
        let raw = mount.point().join("nvme_raw_0");
        let result = self
            .kernel(&mount, &raw)
            .and_then(|()| self.fuse(&mount, &raw));
        let device = mount
            .unmount()
            .context("wanted the drive back from its mount")
            .map_err(Failure::environment)?;
        result?;
        Ok(device)
    }

    fn without_mount(&mut self, reason: &str) {
        self.kernel_paths.push(kernel::looped(Some(reason)));
        self.not_run(Kind::Kernel, reason);
        self.not_run(Kind::Fuse, reason);
    }

    /// Row 1: XFS on a loop device over the mounted file.
    fn kernel(&mut self, mount: &Mount<Inline>, raw: &Path) -> Result<(), Failure> {
        self.progress.say(
            1,
            "XFS on a loop device over the FUSE file, which contains row 2",
        );
        self.progress.now("making the file system".into());
        let interrupt = &mut self.interrupt;
        let stop = &mut || interrupt.came();
        let block_bytes = self.wanted.block_bytes();
        let xfs = match LoopXfs::open(raw, block_bytes, self.wanted.size, self.work, stop) {
            Ok(xfs) => xfs,
            Err(reason) => {
                self.interrupt.check()?;
                self.kernel_paths.push(kernel::looped(Some(&reason)));
                self.not_run(Kind::Kernel, &reason);
                return Ok(());
            }
        };
        self.kernel_paths.push(kernel::looped(None));
        let path = xfs.path();
        self.fio_row(Kind::Kernel, Some(&xfs.file()), &path, &mut |_| {
            Some(of_mount(mount))
        })
    }

    /// Row 2: the mounted file.
    fn fuse(&mut self, mount: &Mount<Inline>, raw: &Path) -> Result<(), Failure> {
        self.progress.say(2, "fio on the FUSE file");
        let path = "fio, libaio, O_DIRECT → nvme_raw_0 → FUSE → our driver → our controller";
        self.fio_row(Kind::Fuse, Some(raw), path, &mut |_| Some(of_mount(mount)))
    }

    /// Row 3: the same device, in this process.
    fn driver(&mut self, mut device: Device<Inline>) -> Result<(), Failure> {
        self.progress.say(3, "our driver in this process");
        self.bench_row(
            Kind::Driver,
            &mut device,
            "bench → our driver → our controller",
        )?;
        device
            .shutdown()
            .map(drop)
            .context("wanted to shut the drive down")
            .map_err(Failure::environment)
    }

    fn not_run(&mut self, kind: Kind, reason: &str) {
        self.progress
            .say(kind.id().stage(), &format!("not run: {reason}"));
        for &qd in &self.wanted.qds {
            self.progress.done(self.wanted.repeats);
            let basis = self.cells.basis(kind, qd, "");
            self.cells.rows.push(row_not_run(&basis, reason));
        }
    }

    /// Measures a row with fio, on a file or on nothing.
    fn fio_row(
        &mut self,
        kind: Kind,
        file: Option<&Path>,
        path: &str,
        counters: &mut dyn FnMut(u32) -> Option<Counters>,
    ) -> Result<(), Failure> {
        if let Err(reason) = &self.fio {
            let reason = reason.clone();
            self.not_run(kind, &reason);
            return Ok(());
        }
        for &qd in &self.wanted.qds {
            let before = counters(qd);
            let measured = self.fio_cell(kind, file, qd)?;
            let after = counters(qd);
            let pair = before.zip(after);
            let pair = pair.map(|(before, after)| CounterPair { before, after });
            match measured {
                Ok(repeats) => self.finish(kind, qd, path, &repeats, pair),
                Err(reason) => {
                    let basis = self.cells.basis(kind, qd, path);
                    self.cells.rows.push(row_not_run(&basis, &reason));
                    self.progress
                        .say(kind.id().stage(), &format!("QD {qd}: failed: {reason}"));
                    self.failed
                        .push(format!("{}, QD {qd}: {reason}", kind.label()));
                }
            }
        }
        Ok(())
    }

    /// All repeats of a cell; the inner error is fio's.
    fn fio_cell(
        &mut self,
        kind: Kind,
        file: Option<&Path>,
        qd: u32,
    ) -> Result<Result<Vec<Measured>, String>, Failure> {
        let wanted = self.wanted;
        let mut all = Vec::new();
        for repeat in 0..wanted.repeats {
            self.interrupt.check()?;
            self.announce(kind, qd, repeat);
            let job = FioJob {
                file,
                rwmixread: wanted.rwmixread,
                bs: wanted.bs,
                size: wanted.size,
                qd,
                runtime_ms: wanted.runtime_ms,
                seed: wanted.seed,
            };
            // The first project's names, of which the last repeat keeps the plain one.
            let name = match repeat + 1 == wanted.repeats {
                true => format!("{}_qd{qd}.json", kind.prefix()),
                false => format!("{}_qd{qd}.{}.json", kind.prefix(), repeat + 1),
            };
            let output = self.work.path().join(name);
            let interrupt = &mut self.interrupt;
            match fio::run(&job, &output, &mut || interrupt.came()) {
                Ok(measured) => all.push(measured),
                Err(FioError::Interrupted) => self.interrupt.check()?,
                Err(error) => {
                    self.progress.done(wanted.repeats - repeat);
                    return Ok(Err(error.to_string()));
                }
            }
            self.progress.done(1);
        }
        Ok(Ok(all))
    }

    /// Measures a row with our own bench.
    fn bench_row(
        &mut self,
        kind: Kind,
        device: &mut Device<Inline>,
        path: &str,
    ) -> Result<(), Failure> {
        for &qd in &self.wanted.qds {
            let job = self.wanted.job(qd);
            let (interrupt, progress) = (&mut self.interrupt, &self.progress);
            let repeats = self.wanted.repeats;
            let (measured, pair) =
                load::measure(device, &job, repeats, &self.clock, &mut |repeat| {
                    interrupt.check()?;
                    progress.done(u32::from(repeat > 0));
                    progress.now(now(kind, qd, repeat, repeats));
                    Ok(())
                })?;
            self.progress.done(1);
            let pair = (kind.id() != RowId::Harness).then_some(pair);
            self.finish(kind, qd, path, &measured, pair);
        }
        Ok(())
    }

    fn announce(&self, kind: Kind, qd: u32, repeat: u32) {
        self.progress
            .now(now(kind, qd, repeat, self.wanted.repeats));
    }

    /// Makes a cell's row and says what it holds.
    fn finish(
        &mut self,
        kind: Kind,
        qd: u32,
        path: &str,
        repeats: &[Measured],
        counters: Option<CounterPair>,
    ) {
        let basis = self.cells.basis(kind, qd, path);
        let row = row(&basis, repeats, counters);
        let said = match (&row.not_run, row.iops, row.mean_us) {
            (None, Some(iops), Some(mean)) => format!("{iops:.0} IOPS, {mean:.2} us mean"),
            (reason, ..) => format!("not run: {}", reason.as_deref().unwrap_or("no figures")),
        };
        self.progress.say(
            kind.id().stage(),
            &format!("{}, QD {qd}: {said}", kind.label()),
        );
        if kind.id() == RowId::Harness
            && let Some(iops) = row.iops
        {
            self.cells.harness.push((kind.generator(), qd, iops));
        }
        self.cells.rows.push(row);
    }
}

fn now(kind: Kind, qd: u32, repeat: u32, repeats: u32) -> String {
    format!(
        "{}, QD {qd}, repeat {} of {repeats}",
        kind.label(),
        repeat + 1
    )
}

/// What the device behind a mount has counted.
fn of_mount(mount: &Mount<Inline>) -> Counters {
    mount.with_engine(|engine| load::counters(engine.device_mut()))
}
