//! What a scorecard says. The JSON form is this, field by field.

use serde::{Deserialize, Serialize};

/// Version of the JSON form; a reader refuses others.
pub const SCHEMA: u32 = 1;

/// A whole scorecard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scorecard {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What all rows share.
    pub header: Header,
    /// One row for each path and queue depth, paths in the order of [`RowId`], depths as asked for.
    pub rows: Vec<Row>,
    /// Rows held against each other, where that means something.
    pub comparisons: Vec<Comparison>,
}

/// What all rows share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the program.
    pub version: String,
    /// The command line.
    pub command: String,
    /// Seconds since 1970 when the last row ended.
    pub timestamp: u64,
    /// What kind of drive this is: always `emulated`.
    pub honesty: String,
    /// The machine.
    pub machine: Machine,
    /// Where the parts ran, in a sentence.
    pub placement: String,
    /// The device, as a URI.
    pub device: String,
    /// How long the device takes.
    pub model: DeviceModel,
    /// The load.
    pub load: Load,
    /// The file that went through the drive before anything was measured.
    pub file_check: Option<String>,
    /// The kernel's block paths in the order in which they were tried, the one that ran last.
    pub kernel_paths: Vec<KernelPath>,
    /// The programs used, with their versions.
    pub programs: Vec<String>,
}

/// The machine that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// The kernel's release.
    pub kernel: String,
}

/// The device's own time: what no path can beat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceModel {
    /// The profile's name; `instant` has no time of its own.
    pub profile: String,
    /// Where the profile's numbers come from.
    pub source: String,
    /// What the model makes of this load, in virtual time and with nothing else in the way; empty without time of its own.
    pub points: Vec<ModelPoint>,
}

/// What a device model makes of the load at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPoint {
    /// Commands kept in flight.
    pub qd: u32,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
}

impl DeviceModel {
    /// A device without time of its own.
    #[must_use]
    pub fn instant() -> Self {
        Self {
            profile: "instant".into(),
            source: "no device time".into(),
            points: Vec::new(),
        }
    }

    /// What the model makes of a depth; `None` where it sets no bound.
    #[must_use]
    pub fn at(&self, qd: u32) -> Option<&ModelPoint> {
        self.points.iter().find(|point| point.qd == qd)
    }
}

/// What every row was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Percent of reads, 0 to 100; the rest are writes.
    pub rwmixread: u8,
    /// Bytes of one I/O.
    pub bs: u32,
    /// Bytes of the working set, every one of them written before.
    pub size: u64,
    /// Queue depths, in the order measured.
    pub qds: Vec<u32>,
    /// Seconds of each repeat.
    pub runtime_s: f64,
    /// Repeats of each cell.
    pub repeats: u32,
}

/// A block path of the kernel that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPath {
    /// Its name.
    pub path: String,
    /// Why it did not run; absent for the one that did.
    pub not_run: Option<String>,
}

/// The four kinds of row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowId {
    /// The load generator on an engine that does nothing.
    Harness,
    /// A file system on the kernel's block layer.
    Kernel,
    /// The FUSE mount.
    Fuse,
    /// The user-space driver, in the measuring process.
    Driver,
}

impl RowId {
    /// All, in the order of a scorecard.
    pub const ALL: [Self; 4] = [Self::Harness, Self::Kernel, Self::Fuse, Self::Driver];

    /// The word in the JSON form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Harness => "harness",
            Self::Kernel => "kernel",
            Self::Fuse => "fuse",
            Self::Driver => "driver",
        }
    }

    /// The row's number on the scorecard, which is its stage too.
    #[must_use]
    pub const fn stage(self) -> u32 {
        match self {
            Self::Harness => 0,
            Self::Kernel => 1,
            Self::Fuse => 2,
            Self::Driver => 3,
        }
    }
}

/// The program that makes the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// fio, in a process of its own.
    Fio,
    /// Our own bench, in this process.
    Bench,
}

impl Generator {
    /// The word in the JSON form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Bench => "bench",
        }
    }
}

/// One path at one queue depth. Where there are repeats, the figures are those of one of them, the one with the median rate, so
/// that they belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Which kind of row.
    pub id: RowId,
    /// What people call it.
    pub label: String,
    /// What made the load.
    pub generator: Generator,
    /// What the I/Os went through, from the generator to the blocks.
    pub path: String,
    /// Rows whose whole path is a part of this one's.
    pub contains: Vec<RowId>,
    /// Commands kept in flight.
    pub qd: u32,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Mean microseconds from submission to completion, reads and writes together.
    pub mean_us: Option<f64>,
    /// 99th percentile of the same in microseconds.
    pub p99_us: Option<f64>,
    /// IOPS times mean latency: the commands that were in flight on average.
    pub effective_qd: Option<f64>,
    /// CPU seconds per million I/Os of the processes that took part.
    pub cpu_s_per_million: Option<f64>,
    /// Whose CPU time that is.
    pub cpu_counted: String,
    /// CPUs kept busy during the repeat shown.
    pub cpu: Option<CpuUse>,
    /// Bytes that the generator moved, all repeats together; zero where no data moved.
    pub bytes: u64,
    /// What the device counted.
    pub counters: Option<CounterPair>,
    /// Which layer is the limit.
    pub limit: Option<Limit>,
    /// Every repeat, in the order measured.
    pub repeats: Vec<Repeat>,
    /// Distance between the slowest and the fastest repeat as a share of the median; absent with one repeat.
    pub spread: Option<f64>,
    /// What is wrong or odd about the figures.
    pub flags: Vec<String>,
    /// fio's own result of the repeat shown, where it was kept.
    pub fio_json: Option<String>,
    /// Why there are no figures.
    pub not_run: Option<String>,
}

/// CPUs kept busy, as a number of CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuUse {
    /// By the load generator's thread (where it runs in this process: by that whole process).
    pub generator: f64,
    /// By this process beside it: the mount's threads with driver and controller.
    pub process: f64,
    /// By the kernel's own threads and other programs; absent where it could not be told.
    pub elsewhere: Option<f64>,
    /// Taken away by the machine below this virtual one.
    pub stolen: Option<f64>,
}

impl CpuUse {
    /// All CPUs that were not idle.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.generator + self.process + self.elsewhere.unwrap_or(0.0) + self.stolen.unwrap_or(0.0)
    }
}

/// One repeat.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// CPU seconds per million I/Os.
    pub cpu_s_per_million: f64,
}

/// The device's counters around a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterPair {
    /// Before its first repeat.
    pub before: Counters,
    /// After its last.
    pub after: Counters,
}

impl CounterPair {
    /// What one counter grew by.
    #[must_use]
    pub fn grew(&self, counter: fn(&Counters) -> u64) -> u64 {
        counter(&self.after).saturating_sub(counter(&self.before))
    }
}

/// What the device has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// I/O commands.
    pub commands: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes that reads asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that writes brought.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Commands answered with an error.
    pub refused: u64,
    /// Reads that touched a block that was never written.
    pub unwritten_reads: u64,
}

/// The layer that keeps a row from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The device's own time.
    DeviceModel,
    /// The load generator.
    Generator,
    /// None is told: others had the CPUs meanwhile.
    Disturbed,
    /// The processors.
    Cpu,
    /// Handing over and waiting, between programs and in the kernel.
    Path,
}

impl Layer {
    /// As people read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeviceModel => "device model",
            Self::Generator => "generator",
            Self::Disturbed => "disturbed",
            Self::Cpu => "CPU",
            Self::Path => "path",
        }
    }
}

/// A layer, and which rule found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The layer.
    pub layer: Layer,
    /// Why, with the figures that the rule looked at.
    pub why: String,
}

/// Two rows at one depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The row that is measured against.
    pub base: RowId,
    /// The row that is held against it.
    pub other: RowId,
    /// The depth.
    pub qd: u32,
    /// `other` over `base`; absent with the reason in `verdict`.
    pub iops_ratio: Option<f64>,
    /// The interval that holds the ratio with 95 % confidence; absent with fewer than two repeats.
    pub interval: Option<[f64; 2]>,
    /// In words.
    pub verdict: String,
}

impl Scorecard {
    /// The row of a kind, a generator and a depth.
    #[must_use]
    pub fn row(&self, id: RowId, generator: Generator, qd: u32) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.id == id && row.generator == generator && row.qd == qd)
    }

    /// The rows of a depth, in order.
    pub fn at(&self, qd: u32) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.qd == qd)
    }

    /// The JSON form, readable.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every field is a plain value, so this cannot fail; if it could, the text would say so rather than be empty.
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// What is wrong, with line and column; another version's form is refused by its number.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let card: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if card.schema == SCHEMA {
            Ok(card)
        } else {
            Err(format!(
                "schema: found {}, wanted {SCHEMA}; read it with the version that wrote it",
                card.schema
            ))
        }
    }
}
