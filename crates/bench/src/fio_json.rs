//! A report in the layout of `fio --output-format=json`, so that tools which read fio's files read
//! ours; everything that fio has no place for stands under the one key [`OWN_KEY`].
//!
//! fio's file describes one run. With several repeats its figures are those of the repeat with the
//! median rate, and `iops_stddev` is the deviation over the repeats. Times that were not measured are
//! zero there, because fio's readers demand numbers; under our own key they say "not run".

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::report::{
    CLASS_ENDS_NS, DirectionFigures, LatencyFigures, RepeatFigures, Report, SCHEMA,
};

/// The key of everything that is ours.
pub const OWN_KEY: &str = "dataplane-emu";

/// Why a file is not a report.
#[derive(Debug, Error)]
pub enum NotAReport {
    /// It is not JSON, or not of our form.
    #[error("not a bench report: {0}; wanted a file written by bench --json")]
    Malformed(#[from] serde_json::Error),
    /// It has no key of ours.
    #[error("no key {OWN_KEY:?}: the file was not written by bench --json")]
    Foreign,
    /// It was written by another version.
    #[error("the report has schema {found}, this program reads {SCHEMA}; write it again")]
    OtherSchema {
        /// The schema found.
        found: u64,
    },
}

/// The file name that fio-plot wants: `<rw>-<iodepth>-<numjobs>.json`.
#[must_use]
pub fn file_name(report: &Report) -> String {
    format!(
        "{}-{}-{}.json",
        report.job.rw.name(),
        report.job.qd,
        report.job.threads
    )
}

/// The report as a JSON text.
///
/// # Panics
/// Never: a report holds only what JSON can hold.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut root = Map::new();
    root.insert(
        "fio version".to_owned(),
        json!(format!("dataplane-emu-{}", report.version)),
    );
    root.insert("timestamp".to_owned(), json!(report.timestamp));
    root.insert(
        "timestamp_ms".to_owned(),
        json!(report.timestamp.saturating_mul(1000)),
    );
    root.insert("time".to_owned(), json!(utc(report.timestamp)));
    root.insert("global options".to_owned(), options(report));
    root.insert("jobs".to_owned(), json!([job(report)]));
    root.insert(OWN_KEY.to_owned(), json!(report));
    let mut text = serde_json::to_string_pretty(&root).expect("a report holds only JSON values");
    text.push('\n');
    text
}

/// The report in a JSON text that [`render`] made.
///
/// # Errors
/// [`NotAReport`] if it is not one.
pub fn parse(text: &str) -> Result<Report, NotAReport> {
    let mut root: Value = serde_json::from_str(text)?;
    let own = root
        .get_mut(OWN_KEY)
        .map(Value::take)
        .ok_or(NotAReport::Foreign)?;
    let found = own
        .get("schema")
        .and_then(Value::as_u64)
        .ok_or(NotAReport::Foreign)?;
    if found != u64::from(SCHEMA) {
        return Err(NotAReport::OtherSchema { found });
    }
    Ok(serde_json::from_value(own)?)
}

/// fio prints every option as text.
fn options(report: &Report) -> Value {
    let job = &report.job;
    let runtime = job.runtime_ms.map_or(0, |ms| ms.div_ceil(1000));
    let bs = if job.bs.is_multiple_of(1024) {
        format!("{}k", job.bs / 1024)
    } else {
        job.bs.to_string()
    };
    json!({
        "bs": bs,
        "rw": job.rw.name(),
        "rwmixread": job.read_percent().to_string(),
        "iodepth": job.qd.to_string(),
        "numjobs": job.threads.to_string(),
        "runtime": runtime.to_string(),
        "size": report.working_set_bytes.to_string(),
        "offset": job.offset.to_string(),
        "ioengine": "dataplane-emu",
        "filename": report.device.uri,
        "direct": "1",
    })
}

fn job(report: &Report) -> Value {
    let repeat = report.median_repeat();
    let deviation = report
        .summary(|repeat| Some(repeat.iops))
        .map_or(0.0, |iops| iops.deviation);
    let (user, system) = repeat.map_or((0.0, 0.0), |repeat| {
        let system = repeat.system_share.unwrap_or(0.0);
        (
            repeat.cpu_share * (1.0 - system) * 100.0,
            repeat.cpu_share * system * 100.0,
        )
    });
    let mut job = json!({
        "jobname": "bench",
        "groupid": 0,
        "error": i32::from(!report.is_clean()),
        "elapsed": repeat.map_or(0, |repeat| repeat.seconds.ceil() as u64),
        "job options": options(report),
        "read": direction(repeat, |repeat| &repeat.read, deviation),
        "write": direction(repeat, |repeat| &repeat.write, deviation),
        "usr_cpu": user,
        "sys_cpu": system,
        "ctx": 0,
        "job_runtime": repeat.map_or(0, |repeat| (repeat.seconds * 1e3) as u64),
    });
    let classes = repeat.map(classes).unwrap_or_default();
    for (key, range) in [
        ("latency_ns", 0..10),
        ("latency_us", 10..20),
        ("latency_ms", 20..32),
    ] {
        let shares = range.map(|class| {
            let share = classes.get(class).copied().unwrap_or(0.0);
            (class_name(class), json!(share))
        });
        job[key] = Value::Object(shares.collect());
    }
    job
}

/// fio's name of a latency class: its upper end in the unit of its map.
fn class_name(class: usize) -> String {
    match CLASS_ENDS_NS.get(class) {
        None => ">=2000".to_owned(),
        Some(end) => (end / [1, 1000, 1_000_000][(class / 10).min(2)]).to_string(),
    }
}

/// Percent of all latencies per class.
fn classes(repeat: &RepeatFigures) -> Vec<f64> {
    let mut counts = vec![0_u64; CLASS_ENDS_NS.len() + 1];
    for latency in [&repeat.read, &repeat.write]
        .into_iter()
        .filter_map(|d| d.latency.value())
    {
        for (sum, count) in counts.iter_mut().zip(&latency.classes) {
            *sum += count;
        }
    }
    let total = counts.iter().sum::<u64>().max(1) as f64;
    counts
        .into_iter()
        .map(|count| count as f64 * 100.0 / total)
        .collect()
}

fn direction(
    repeat: Option<&RepeatFigures>,
    pick: impl Fn(&RepeatFigures) -> &DirectionFigures,
    deviation: f64,
) -> Value {
    let figures = repeat.map(pick);
    let ios = figures.map_or(0, |figures| figures.ios);
    let bytes = figures.map_or(0, |figures| figures.bytes);
    let iops = figures.map_or(0.0, |figures| figures.iops);
    let bytes_per_second =
        figures.map_or(0.0, |figures| figures.mib_per_second) * f64::from(1 << 20);
    let latency = figures.and_then(|figures| figures.latency.value());
    json!({
        "io_bytes": bytes,
        "io_kbytes": bytes / 1024,
        "bw_bytes": bytes_per_second as u64,
        "bw": (bytes_per_second / 1024.0) as u64,
        "iops": iops,
        "iops_mean": iops,
        "iops_stddev": if ios == 0 { 0.0 } else { deviation },
        "runtime": repeat.map_or(0, |repeat| (repeat.seconds * 1e3) as u64),
        "total_ios": ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": times(None, false),
        "clat_ns": times(latency, true),
        "lat_ns": times(latency, false),
    })
}

fn times(latency: Option<&LatencyFigures>, percentiles: bool) -> Value {
    let mut times = json!({
        "min": latency.map_or(0, |latency| latency.least_ns),
        "max": latency.map_or(0, |latency| latency.most_ns),
        "mean": latency.map_or(0.0, |latency| latency.mean_ns),
        "stddev": latency.map_or(0.0, |latency| latency.deviation_ns),
        "N": latency.map_or(0, |latency| latency.count),
    });
    if let (true, Some(latency)) = (percentiles, latency) {
        let each = latency
            .percentiles
            .iter()
            .map(|p| (format!("{:.6}", p.percent), json!(p.ns)));
        times["percentile"] = Value::Object(each.collect());
    }
    times
}

/// Seconds since 1970 as a date and time in UTC.
pub(crate) fn utc(timestamp: u64) -> String {
    let (days, second) = (timestamp / 86_400, timestamp % 86_400);
    // Days counted from 1 March of year 0, so that a leap day ends its year; eras are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!(
        "{:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        era * 400 + year + next_year,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn class_names_are_fios() {
        let names: Vec<String> = (0..32).map(class_name).collect();
        assert_eq!(names[0..3], ["2", "4", "10"]);
        assert_eq!(names[9..12], ["1000", "2", "4"]);
        assert_eq!(names[29..32], ["1000", "2000", ">=2000"]);
    }

    #[test]
    fn a_file_that_is_not_ours_is_refused_with_the_reason() {
        assert!(matches!(parse("nonsense"), Err(NotAReport::Malformed(_))));
        assert!(matches!(parse(r#"{"jobs": []}"#), Err(NotAReport::Foreign)));
        let other = r#"{"dataplane-emu": {"schema": 99}}"#;
        assert!(matches!(
            parse(other),
            Err(NotAReport::OtherSchema { found: 99 })
        ));
    }
}
