//! The course of a job over time, as comma-separated values.

use core::fmt::Write as _;

use crate::limits;
use crate::progress::Sample;

/// The first line of the file. Times and rates are decimal numbers; `p99_us` is empty where no
/// latency was measured.
pub const HEADER: &str = "repeat,seconds,iops,mib_per_s,read_iops,write_iops,p99_us";

/// A growing series of samples, one row per interval.
#[derive(Debug, Clone, Default)]
pub struct Series {
    rows: Vec<(u32, Sample)>,
    dropped: u64,
}

impl Series {
    /// An empty series.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a sample of a repeat (from zero). Samples of less than a millisecond, which the end
    /// of a repeat can leave, and those beyond [`limits::SERIES_ROWS_MAX`] are left out.
    pub fn push(&mut self, repeat: u32, sample: Sample) {
        const SHORTEST_SECONDS: f64 = 1e-3;
        if sample.interval_seconds < SHORTEST_SECONDS {
            return;
        }
        if self.rows.len() >= limits::SERIES_ROWS_MAX {
            self.dropped += 1;
            return;
        }
        self.rows.push((repeat, sample));
    }

    /// The samples with their repeats.
    #[must_use]
    pub fn rows(&self) -> &[(u32, Sample)] {
        &self.rows
    }

    /// Samples that did not fit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The file's content.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut csv = String::from(HEADER);
        csv.push('\n');
        for (repeat, sample) in &self.rows {
            let seconds = sample.interval_seconds;
            let p99 = sample
                .p99_ns
                .map_or(String::new(), |ns| format!("{:.3}", ns / 1e3));
            // Writing to a String cannot fail.
            let _ = writeln!(
                csv,
                "{repeat},{:.3},{:.0},{:.2},{:.0},{:.0},{p99}",
                sample.seconds,
                sample.iops(),
                sample.mib_per_second(),
                sample.read_ios as f64 / seconds,
                sample.write_ios as f64 / seconds,
            );
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_fields_as_the_header() {
        let mut series = Series::new();
        let sample = Sample {
            seconds: 0.1,
            interval_seconds: 0.1,
            read_ios: 1000,
            write_ios: 24,
            io_bytes: 4096,
            p99_ns: Some(1234.0),
        };
        series.push(0, sample);
        series.push(
            1,
            Sample {
                p99_ns: None,
                ..sample
            },
        );
        series.push(
            1,
            Sample {
                interval_seconds: 1e-5,
                ..sample
            },
        );
        let csv = series.to_csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), HEADER.split(',').count(), "{line}");
        }
        assert_eq!(lines[1], "0,0.100,10240,40.00,10000,240,1.234");
    }
}
