//! fio's JSON output, as far as a profile needs it.

use std::collections::BTreeSet;

use media::timing::limits;
use serde_json::Value;

/// Engines that have one request in flight, whatever the depth that was asked for.
const SYNCHRONOUS: [&str; 8] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "splice",
    "ftruncate",
];

/// What fio does without the option.
const DEFAULT_ENGINE: &str = "psync";

/// Jobs of one file at most.
const JOBS_MAX: usize = 4096;

/// By how much rate times latency may differ from the depth before it is remarked.
const LITTLE_TOLERANCE: f64 = 0.1;

/// One job (all its clones together).
#[derive(Debug)]
pub(super) struct Point {
    /// The file, and the job where the file has several.
    pub(super) label: String,
    /// Requests in flight.
    pub(super) depth: u32,
    /// Bytes of each.
    pub(super) block_bytes: u32,
    pub(super) read: Option<Side>,
    pub(super) write: Option<Side>,
}

/// One direction of a job.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) iops: f64,
    pub(super) bytes_per_second: f64,
    /// Of the whole latency, submission included.
    pub(super) mean_us: f64,
    /// Of the latency from submission to completion, as its percentiles are.
    pub(super) completion_mean_us: f64,
    pub(super) deviation_us: f64,
    pub(super) least_us: f64,
    pub(super) most_us: f64,
    /// Percent and microseconds, rising; may be empty.
    pub(super) percentiles: Vec<(f64, f64)>,
}

impl Point {
    fn sides(&self) -> impl Iterator<Item = &Side> {
        self.read.iter().chain(&self.write)
    }

    pub(super) fn iops(&self) -> f64 {
        self.sides().map(|side| side.iops).sum()
    }

    pub(super) fn mean_us(&self) -> f64 {
        let sum: f64 = self.sides().map(|side| side.iops * side.mean_us).sum();
        sum / self.iops()
    }

    pub(super) fn read_percent(&self) -> f64 {
        let reads = self.read.as_ref().map_or(0.0, |side| side.iops);
        100.0 * reads / self.iops()
    }

    /// A word where the depth was not kept full.
    pub(super) fn remark(&self) -> String {
        let depth = self.iops() * self.mean_us() / 1e6;
        if (depth / f64::from(self.depth) - 1.0).abs() <= LITTLE_TOLERANCE {
            return String::new();
        }
        format!("  IOPS x latency is {depth:.2}: the depth was not kept")
    }
}

/// Reads the jobs of a file.
///
/// # Errors
/// What is wrong, with the key.
pub(super) fn points(label: &str, text: &str) -> Result<Vec<Point>, String> {
    // fio prints its warnings before the JSON.
    let json = text
        .find('{')
        .and_then(|begin| text.get(begin..))
        .unwrap_or(text);
    let file: Value = serde_json::from_str(json)
        .map_err(|error| format!("wanted fio's JSON output, found: {error}"))?;
    let jobs = file.get("jobs").and_then(Value::as_array);
    let jobs = jobs.ok_or("jobs: missing; wanted fio's JSON output, with a list of jobs")?;
    if jobs.is_empty() || jobs.len() > JOBS_MAX {
        return Err(format!(
            "jobs: {} of them; allowed: 1 to {JOBS_MAX}",
            jobs.len()
        ));
    }
    let global = file.get("global options").unwrap_or(&Value::Null);
    let jobs: Vec<Job<'_>> = jobs
        .iter()
        .enumerate()
        .map(|(index, value)| Job {
            index,
            value,
            global,
        })
        .collect();
    let mut names = BTreeSet::new();
    let mut points = Vec::new();
    for job in &jobs {
        // Clones without group_reporting follow each other under one name.
        if names.insert(job.name()) {
            let clones: Vec<&Job<'_>> = jobs
                .iter()
                .filter(|other| other.name() == job.name())
                .collect();
            points.push(job.point(&clones, label, jobs.len())?);
        }
    }
    Ok(points)
}

/// A job of a file, to say where something stands.
struct Job<'v> {
    index: usize,
    value: &'v Value,
    global: &'v Value,
}

impl Job<'_> {
    fn name(&self) -> &str {
        self.value
            .get("jobname")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn option(&self, key: &str) -> Option<&str> {
        let of_job = self
            .value
            .get("job options")
            .and_then(|options| options.get(key));
        of_job
            .or_else(|| self.global.get(key))
            .and_then(Value::as_str)
    }

    fn wrong(&self, key: &str, found: &str, wanted: &str) -> String {
        format!("jobs[{}].{key}: found {found}; wanted {wanted}", self.index)
    }

    /// A whole number of the options.
    fn count(&self, key: &str) -> Result<u64, String> {
        let text = self.option(key).unwrap_or("1");
        let count = text
            .parse()
            .ok()
            .filter(|count| limits::DEPTH.contains(count));
        let (least, most) = (limits::DEPTH.start(), limits::DEPTH.end());
        let wanted = format!("{least} to {most}");
        count.ok_or_else(|| self.wrong(&format!("job options.{key}"), text, &wanted))
    }

    fn point(&self, clones: &[&Job<'_>], label: &str, jobs: usize) -> Result<Point, String> {
        let numjobs = self.count("numjobs")?;
        let engine = self.option("ioengine").unwrap_or(DEFAULT_ENGINE);
        let each = if SYNCHRONOUS.contains(&engine) {
            1
        } else {
            self.count("iodepth")?
        };
        let depth = each * numjobs.max(clones.len() as u64);
        if !limits::DEPTH.contains(&depth) {
            let wanted = format!("iodepth x numjobs of at most {}", limits::DEPTH.end());
            return Err(self.wrong("job options", &depth.to_string(), &wanted));
        }
        let side = |direction| {
            let sides = clones.iter().map(|job| job.side(direction));
            let sides: Vec<Side> = sides
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect();
            Ok::<_, String>(sides.into_iter().reduce(together))
        };
        let point = Point {
            label: if jobs > clones.len() {
                format!("{label}:{}", self.name())
            } else {
                label.to_owned()
            },
            depth: depth as u32,
            block_bytes: self.block_bytes()?,
            read: side("read")?,
            write: side("write")?,
        };
        if point.sides().next().is_none() {
            return Err(self.wrong("read, write", "no requests", "a job that did some"));
        }
        Ok(point)
    }

    fn block_bytes(&self) -> Result<u32, String> {
        if let Some(key) = ["bsrange", "bssplit", "bs_unaligned"]
            .into_iter()
            .find(|key| self.option(key).is_some())
        {
            let key = format!("job options.{key}");
            return Err(self.wrong(&key, "several sizes", "one size, bs=SIZE"));
        }
        let text = self
            .option("bs")
            .or_else(|| self.option("blocksize"))
            .unwrap_or("4k");
        let bytes = block_size(text)
            .filter(|bytes| limits::BLOCK_BYTES.contains(bytes) && bytes % 512 == 0);
        let (least, most) = (limits::BLOCK_BYTES.start(), limits::BLOCK_BYTES.end());
        let wanted = format!("one size from {least} to {most}, a multiple of 512");
        let bytes = bytes.ok_or_else(|| self.wrong("job options.bs", text, &wanted))?;
        Ok(bytes as u32)
    }

    fn side(&self, direction: &str) -> Result<Option<Side>, String> {
        let Some(side) = self.value.get(direction) else {
            return Ok(None);
        };
        let number = |path: &[&str]| {
            let value = path.iter().try_fold(side, |value, key| value.get(key));
            let number = value
                .and_then(Value::as_f64)
                .filter(|number| *number >= 0.0);
            number.ok_or_else(|| {
                let found = value.map_or("nothing".to_owned(), Value::to_string);
                self.wrong(
                    &format!("{direction}.{}", path.join(".")),
                    &found,
                    "a number",
                )
            })
        };
        if number(&["total_ios"])? == 0.0 || number(&["iops"])? == 0.0 {
            return Ok(None);
        }
        let us = |path: &[&str]| number(path).map(|ns| ns / 1e3);
        let percentiles = side
            .get("clat_ns")
            .and_then(|times| times.get("percentile"));
        let mut percentiles: Vec<(f64, f64)> = percentiles
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(percent, ns)| Some((percent.parse().ok()?, ns.as_f64()? / 1e3)))
            .filter(|(percent, us): &(f64, f64)| *percent > 0.0 && *percent < 100.0 && *us >= 0.0)
            .collect();
        percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        Ok(Some(Side {
            iops: number(&["iops"])?,
            bytes_per_second: number(&["bw_bytes"])?,
            mean_us: us(&["lat_ns", "mean"])?,
            completion_mean_us: us(&["clat_ns", "mean"])?,
            deviation_us: us(&["lat_ns", "stddev"])?,
            least_us: us(&["clat_ns", "min"])?,
            most_us: us(&["clat_ns", "max"])?,
            percentiles,
        }))
    }
}

/// Two clones of one job: rates add up, means are weighted, the distribution is the first one's.
fn together(one: Side, other: Side) -> Side {
    let iops = one.iops + other.iops;
    let mean = |one_us: f64, other_us: f64| (one_us * one.iops + other_us * other.iops) / iops;
    Side {
        iops,
        bytes_per_second: one.bytes_per_second + other.bytes_per_second,
        mean_us: mean(one.mean_us, other.mean_us),
        completion_mean_us: mean(one.completion_mean_us, other.completion_mean_us),
        ..one
    }
}

/// A size as fio writes it: a number, with k or m for powers of 1024.
fn block_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
