//! What is asked of a device: the job, its checks, and the plan for one namespace.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::access::Share;
use crate::limits;

/// A value of a job that cannot be run: which key, what was given, what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {value:?} is not possible; allowed: {allowed}")]
pub struct InvalidJob {
    /// The key, as on the command line, without dashes in front.
    pub key: &'static str,
    /// The value that was given.
    pub value: String,
    /// What would have been possible.
    pub allowed: String,
}

impl InvalidJob {
    /// A refusal of `value` for `key`.
    #[must_use]
    pub fn new(key: &'static str, value: impl fmt::Display, allowed: &str) -> Self {
        Self {
            key,
            value: value.to_string(),
            allowed: allowed.to_owned(),
        }
    }
}

/// The order and direction of accesses, in fio's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Reads at random places.
    RandRead,
    /// Writes at random places.
    RandWrite,
    /// Reads and writes at random places, mixed as `rwmixread` says.
    RandRw,
    /// Reads in ascending order, again from the start at the end.
    Read,
    /// Writes in ascending order, again from the start at the end.
    Write,
}

impl Pattern {
    const NAMES: [(&'static str, Self); 5] = [
        ("randread", Self::RandRead),
        ("randwrite", Self::RandWrite),
        ("randrw", Self::RandRw),
        ("read", Self::Read),
        ("write", Self::Write),
    ];

    /// The name on the command line and in fio's files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::RandRw => "randrw",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Whether places are random.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }

    /// Whether anything is written.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::RandRead | Self::Read)
    }
}

impl FromStr for Pattern {
    type Err = InvalidJob;

    fn from_str(text: &str) -> Result<Self, InvalidJob> {
        named("rw", text, &Self::NAMES)
    }
}

fn named<T: Copy>(key: &'static str, text: &str, names: &[(&str, T)]) -> Result<T, InvalidJob> {
    match names.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            Err(InvalidJob::new(key, text, &all.join(", ")))
        }
    }
}

/// How random places are distributed over the working set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Distribution {
    /// Every place is equally likely.
    Uniform,
    /// The r-th most popular place has weight r^-theta; popular places are spread over the set.
    Zipf(f64),
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(theta) => write!(f, "zipf:{theta}"),
        }
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.to_string()
    }
}

impl TryFrom<String> for Distribution {
    type Error = InvalidJob;

    fn try_from(text: String) -> Result<Self, InvalidJob> {
        text.parse()
    }
}

impl FromStr for Distribution {
    type Err = InvalidJob;

    fn from_str(text: &str) -> Result<Self, InvalidJob> {
        let theta = match text.split_once(':') {
            None if text == "uniform" => return Ok(Self::Uniform),
            Some(("zipf", theta)) => theta.parse().ok(),
            _ => None,
        };
        match theta {
            Some(theta) if (limits::ZIPF_THETA_MIN..=limits::ZIPF_THETA_MAX).contains(&theta) => {
                Ok(Self::Zipf(theta))
            }
            _ => {
                let allowed = format!(
                    "uniform, or zipf:THETA with {} <= THETA <= {} (1 included)",
                    limits::ZIPF_THETA_MIN,
                    limits::ZIPF_THETA_MAX
                );
                Err(InvalidJob::new("random", text, &allowed))
            }
        }
    }
}

/// Which timestamps the measured loop takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timestamps {
    /// None: no latency, least disturbance.
    None,
    /// One per poll that found something; latency has the resolution of a poll.
    Poll,
    /// One when an I/O is submitted and one when it is found complete.
    Io,
}

impl Timestamps {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Poll => "poll",
            Self::Io => "io",
        }
    }
}

impl FromStr for Timestamps {
    type Err = InvalidJob;

    fn from_str(text: &str) -> Result<Self, InvalidJob> {
        let names = [("none", Self::None), ("poll", Self::Poll), ("io", Self::Io)];
        named("timestamps", text, &names)
    }
}

/// One measurement, as asked for. Field names are the command line's keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Order and direction of accesses.
    pub rw: Pattern,
    /// Percent of reads in a `randrw` job, 0 to 100; absent: [`limits::MIX_READ_PERCENT`]. Other
    /// patterns have no mix.
    pub rwmixread: Option<u8>,
    /// Bytes of one I/O: a multiple of the logical block, [`limits::IO_BYTES_MIN`] to
    /// [`limits::IO_BYTES_MAX`].
    pub bs: u32,
    /// Commands in flight per queue pair, 1 to [`limits::QUEUE_DEPTH_MAX`]; in an open loop the most
    /// there may be.
    pub qd: u32,
    /// Bytes of the working set per device, a multiple of `bs`; absent: all that follows `offset`.
    pub size: Option<u64>,
    /// First byte of the working set, a multiple of the logical block.
    pub offset: u64,
    /// Distribution of random places.
    pub random: Distribution,
    /// Whether the working set is written once, with checkable data, before anything is measured.
    pub precondition: bool,
    /// Milliseconds to submit for; exclusive with `ios`.
    pub runtime_ms: Option<u64>,
    /// I/Os to submit over all queue pairs; exclusive with `runtime_ms`.
    pub ios: Option<u64>,
    /// Devices driven, 1 to [`limits::DEVICES_MAX`].
    pub devices: u32,
    /// Threads that submit, 1 to [`limits::THREADS_MAX`].
    pub threads: u32,
    /// Cores that the threads are pinned to, in turn; empty: not pinned.
    pub core_mask: Vec<usize>,
    /// I/Os per second to offer over all queue pairs (open loop); absent: closed loop.
    pub rate: Option<u64>,
    /// Timestamps taken in the loop.
    pub timestamps: Timestamps,
    /// Whether every byte read is compared with what must be there. Implies `precondition`.
    pub verify: bool,
    /// Seed of places, directions and data.
    pub seed: u64,
    /// How often the job is measured, 1 to [`limits::REPEATS_MAX`].
    pub repeats: u32,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            rw: Pattern::RandRead,
            rwmixread: None,
            bs: 4096,
            qd: 32,
            size: None,
            offset: 0,
            random: Distribution::Uniform,
            precondition: false,
            runtime_ms: Some(2000),
            ios: None,
            devices: 1,
            threads: 1,
            core_mask: Vec::new(),
            rate: None,
            timestamps: Timestamps::Poll,
            verify: false,
            seed: 1,
            repeats: 3,
        }
    }
}

/// The shape of the namespaces under test; all of one run have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks of the namespace.
    pub blocks: u64,
    /// Largest transfer of the controller in bytes.
    pub transfer_bytes_max: u32,
    /// Whether the media keeps and returns data (null media does not).
    pub moves_data: bool,
}

/// A checked job, laid out on a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks of one I/O.
    pub blocks_per_io: u32,
    /// Logical block where the working set begins.
    pub first_lba: u64,
    /// I/O-sized units in the working set.
    pub units: u64,
}

impl Plan {
    /// Bytes of one I/O.
    #[must_use]
    pub const fn io_bytes(&self) -> u32 {
        self.block_bytes * self.blocks_per_io
    }

    /// Bytes of the working set of one device.
    #[must_use]
    pub const fn working_set_bytes(&self) -> u64 {
        self.units * self.io_bytes() as u64
    }
}

/// Which part of which device one queue pair of one thread works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanePlan {
    /// Number of the queue pair in the job, from zero.
    pub lane: u32,
    /// Thread that owns it.
    pub thread: u32,
    /// Device that it drives.
    pub device: u32,
    /// The share that it alone prepares and, when verifying or sequential, alone accesses.
    pub own: Share,
    /// The share that its measured accesses are drawn from.
    pub drawn: Share,
    /// I/Os that it may submit.
    pub ios: u64,
}

impl Job {
    /// Percent of reads that the pattern means.
    #[must_use]
    pub fn read_percent(&self) -> u8 {
        match self.rw {
            Pattern::RandRead | Pattern::Read => 100,
            Pattern::RandWrite | Pattern::Write => 0,
            Pattern::RandRw => self.rwmixread.unwrap_or(limits::MIX_READ_PERCENT),
        }
    }

    /// Whether the working set is written before measuring.
    #[must_use]
    pub const fn preconditions(&self) -> bool {
        self.precondition || self.verify
    }

    /// Queue pairs of the job: at least one per thread and one per device.
    #[must_use]
    pub const fn lane_count(&self) -> u32 {
        if self.devices > self.threads {
            self.devices
        } else {
            self.threads
        }
    }

    /// The core that a thread is pinned to; threads take the cores in turn.
    #[must_use]
    pub fn core_of(&self, thread: u32) -> Option<usize> {
        let count = self.core_mask.len().max(1);
        self.core_mask.get(thread as usize % count).copied()
    }

    /// Checks everything that does not depend on the device.
    ///
    /// # Errors
    /// [`InvalidJob`] for the first value that cannot be run.
    pub fn check(&self) -> Result<(), InvalidJob> {
        self.check_pattern()?;
        range(
            "bs",
            self.bs.into(),
            limits::IO_BYTES_MIN.into(),
            limits::IO_BYTES_MAX.into(),
        )?;
        range("qd", self.qd.into(), 1, limits::QUEUE_DEPTH_MAX.into())?;
        range(
            "devices",
            self.devices.into(),
            1,
            limits::DEVICES_MAX.into(),
        )?;
        range(
            "threads",
            self.threads.into(),
            1,
            limits::THREADS_MAX.into(),
        )?;
        range(
            "repeats",
            self.repeats.into(),
            1,
            limits::REPEATS_MAX.into(),
        )?;
        match (self.runtime_ms, self.ios) {
            (Some(0), None) => Err(InvalidJob::new("runtime", 0, "at least 1ms")),
            (None, Some(ios)) if ios < u64::from(self.lane_count()) => {
                let allowed = format!("at least one per queue pair, {}", self.lane_count());
                Err(InvalidJob::new("ios", ios, &allowed))
            }
            (Some(_), Some(ios)) => Err(InvalidJob::new("ios", ios, "only one of runtime and ios")),
            (None, None) => Err(InvalidJob::new("runtime", "none", "one of runtime and ios")),
            _ => Ok(()),
        }?;
        match self.rate {
            Some(rate) if !(1..=1_000_000_000).contains(&rate) => Err(InvalidJob::new(
                "rate",
                rate,
                "1 to 1000000000 I/Os per second",
            )),
            Some(_) if self.timestamps == Timestamps::None => Err(InvalidJob::new(
                "timestamps",
                "none",
                "poll or io together with rate, whose latency counts from the intended start",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what the pattern would leave without effect, and values out of range.
    fn check_pattern(&self) -> Result<(), InvalidJob> {
        if let Some(percent) = self.rwmixread {
            range("rwmixread", percent.into(), 0, 100)?;
            if self.rw != Pattern::RandRw {
                let allowed = format!("only with rw randrw; rw {} has no mix", self.rw.name());
                return Err(InvalidJob::new("rwmixread", percent, &allowed));
            }
        }
        if let Distribution::Zipf(_) = self.random {
            let _: Distribution = self.random.to_string().parse()?;
            if !self.rw.is_random() {
                let allowed = format!(
                    "uniform, since rw {} goes in order; or zipf with rw randread, randwrite, randrw",
                    self.rw.name()
                );
                return Err(InvalidJob::new("random", self.random, &allowed));
            }
        }
        Ok(())
    }

    /// Checks the job against a namespace and lays it out there.
    ///
    /// # Errors
    /// [`InvalidJob`] for the first value that cannot be run, here or anywhere.
    pub fn plan(&self, geometry: Geometry) -> Result<Plan, InvalidJob> {
        self.check()?;
        if self.verify && !geometry.moves_data {
            let allowed = "false on media that keeps no data (null:)";
            return Err(InvalidJob::new("verify", self.verify, allowed));
        }
        let block = u64::from(geometry.block_bytes);
        let capacity = geometry.blocks.saturating_mul(block);
        let bs = u64::from(self.bs);
        if !bs.is_multiple_of(block) {
            let allowed = format!("a multiple of the namespace's logical block, {block} bytes");
            return Err(InvalidJob::new("bs", bs, &allowed));
        }
        if self.bs > geometry.transfer_bytes_max {
            let allowed = format!(
                "at most the controller's largest transfer, {} bytes",
                geometry.transfer_bytes_max
            );
            return Err(InvalidJob::new("bs", bs, &allowed));
        }
        if !self.offset.is_multiple_of(block) || self.offset >= capacity {
            let allowed = format!("a multiple of {block} below the capacity, {capacity} bytes");
            return Err(InvalidJob::new("offset", self.offset, &allowed));
        }
        let available = capacity - self.offset;
        let size = self.size.unwrap_or(available - available % bs);
        let lanes_per_device = u64::from(self.threads.div_ceil(self.devices));
        let least = bs * lanes_per_device;
        if size > available || size < least || !size.is_multiple_of(bs) {
            let allowed = format!("a multiple of bs, {bs}, from {least} to {available} bytes");
            return Err(InvalidJob::new("size", size, &allowed));
        }
        Ok(Plan {
            block_bytes: geometry.block_bytes,
            blocks_per_io: self.bs / geometry.block_bytes,
            first_lba: self.offset / block,
            units: size / bs,
        })
    }

    /// Deals devices to threads. With more devices than threads each thread drives several; with
    /// more threads than devices several threads share a device, each with a queue pair of its own.
    /// Shared devices are split when the job verifies or is sequential, so that no thread touches
    /// another's blocks; otherwise every queue pair draws from the whole working set.
    #[must_use]
    pub fn lanes(&self, plan: &Plan) -> Vec<LanePlan> {
        let count = self.lane_count();
        let split = self.verify || !self.rw.is_random();
        (0..count)
            .map(|lane| {
                let device = lane % self.devices;
                let parts = (count - device).div_ceil(self.devices);
                let own = Share::of(plan.units, lane / self.devices, parts);
                let whole = Share {
                    first: 0,
                    units: plan.units,
                };
                LanePlan {
                    lane,
                    thread: lane % self.threads,
                    device,
                    own,
                    drawn: if split { own } else { whole },
                    ios: self
                        .ios
                        .map_or(u64::MAX, |ios| Share::of(ios, lane, count).units),
                }
            })
            .collect()
    }
}

fn range(key: &'static str, value: u64, least: u64, most: u64) -> Result<(), InvalidJob> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidJob::new(key, value, &format!("{least} to {most}")))
}

#[cfg(test)]
mod tests;
