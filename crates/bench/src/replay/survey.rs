//! What a trace will ask of a device, learned by reading it once before anything is sent.

use super::trace::{Format, Skipped, Trace, TraceError, describe};
use super::{Kind, Op, PerKind};

/// How far one file or device of the trace reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its name.
    pub name: String,
    /// I/Os on it.
    pub ios: u64,
    /// The first byte behind all of them.
    pub end: u64,
    /// The first I/O that reaches so far.
    pub farthest: Option<Op>,
}

/// A trace in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// What it is.
    pub format: Format,
    /// The files that it was read from.
    pub sources: Vec<String>,
    /// I/Os.
    pub ios: PerKind<u64>,
    /// Their bytes.
    pub bytes: PerKind<u64>,
    /// I/Os that have a time.
    pub timed: u64,
    /// Nanoseconds from the first I/O to the last, where they have times.
    pub span_ns: u64,
    /// Bytes of the longest read or write.
    pub longest: u64,
    /// The files or devices, in order of appearance.
    pub extents: Vec<Extent>,
    /// What was passed over.
    pub skipped: Skipped,
    /// I/Os whose time lies before that of one in front of them.
    pub out_of_order: u64,
}

impl Survey {
    /// Reads a trace to its end, or up to so many I/Os. Memory grows with the number of names only.
    ///
    /// # Errors
    /// [`TraceError`] where the trace is not what its format allows.
    pub fn of(mut trace: Trace, ios_max: Option<u64>) -> Result<Self, TraceError> {
        let mut survey = Self {
            format: trace.format(),
            sources: trace.sources().to_vec(),
            ios: PerKind::default(),
            bytes: PerKind::default(),
            timed: 0,
            span_ns: 0,
            longest: 0,
            extents: Vec::new(),
            skipped: Skipped::default(),
            out_of_order: 0,
        };
        let mut left = ios_max.unwrap_or(u64::MAX);
        while left > 0
            && let Some(op) = trace.next()?
        {
            left -= 1;
            survey.count(&op);
        }
        for (extent, name) in survey.extents.iter_mut().zip(trace.names()) {
            extent.name.clone_from(name);
        }
        survey.skipped = trace.skipped();
        survey.out_of_order = trace.out_of_order();
        Ok(survey)
    }

    fn count(&mut self, op: &Op) {
        *self.ios.of_mut(op.kind) += 1;
        let bytes = self.bytes.of_mut(op.kind);
        *bytes = bytes.saturating_add(op.bytes);
        if let Some(at) = op.at_ns {
            self.timed += 1;
            self.span_ns = self.span_ns.max(at);
        }
        if matches!(op.kind, Kind::Read | Kind::Write) {
            self.longest = self.longest.max(op.bytes);
        }
        // Numbers are given in order of appearance, so at most one is new.
        let file = op.file as usize;
        if file >= self.extents.len() {
            self.extents.resize_with(file + 1, || Extent {
                name: String::new(),
                ios: 0,
                end: 0,
                farthest: None,
            });
        }
        let extent = &mut self.extents[file];
        extent.ios += 1;
        let end = op.offset + op.bytes;
        if end > extent.end {
            extent.end = end;
            extent.farthest = Some(*op);
        }
    }

    /// A place in words.
    #[must_use]
    pub fn describe(&self, op: &Op) -> String {
        describe(&self.sources, self.format, op.place)
    }
}
