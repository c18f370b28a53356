//! What a running job shows: warnings, one line on a terminal, and the time series.

use std::io::{self, Write as _};

use bench::report::Warning;
use bench::runner::Event;
use bench::series::Series;
use bench::text;
use indicatif::{ProgressBar, ProgressStyle};

/// Follows a job. Everything appears on stderr, the line only where that is a terminal; it uses no colours.
#[derive(Debug)]
pub(crate) struct Live {
    line: ProgressBar,
    series: Series,
    repeats: u32,
}

impl Live {
    /// Follows a job of so many repeats.
    pub(crate) fn new(repeats: u32) -> Self {
        let line = ProgressBar::new_spinner();
        line.set_style(ProgressStyle::default_spinner().tick_chars("-\\|/ "));
        Self {
            line,
            series: Series::new(),
            repeats,
        }
    }

    /// Says on stderr, before anything takes time, what the figures will hide.
    pub(crate) fn warn(&self, warning: &Warning) {
        self.line.suspend(|| {
            // Nowhere is left to complain to, and the report says it again.
            let _ = writeln!(
                io::stderr(),
                "warning: {}; {}",
                warning.hides,
                warning.advice
            );
        });
    }

    /// Takes note of what happened.
    pub(crate) fn observe(&mut self, event: Event) {
        if let Event::Measuring(repeat, sample) = event {
            self.series.push(repeat, sample);
        }
        self.line.set_message(text::live(&event, self.repeats));
        self.line.tick();
    }

    /// Clears the line.
    pub(crate) fn finish(&self) {
        self.line.finish_and_clear();
    }

    /// The samples of all repeats.
    pub(crate) fn series(&self) -> &Series {
        &self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::progress::Sample;

    #[test]
    fn only_measured_samples_enter_the_series() {
        let sample = Sample {
            seconds: 0.1,
            interval_seconds: 0.1,
            read_ios: 1,
            write_ios: 1,
            io_bytes: 512,
            p99_ns: None,
        };
        let mut live = Live::new(1);
        live.observe(Event::Preparing(sample));
        live.observe(Event::Measuring(0, sample));
        live.observe(Event::ReadingBack(sample));
        assert_eq!(live.series().rows().len(), 1);
    }
}
