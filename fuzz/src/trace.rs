//! What holds of every trace, whatever its bytes.

use std::io::{self, Cursor, Read};

use bench::replay::layout::{Layout, Outside};
use bench::replay::survey::Survey;
use bench::replay::trace::{Source, Stage, Trace, TraceError};
use bench::replay::{Kind, Op, limits};

/// Blocks of the device that I/Os are put onto.
const BLOCKS: u64 = 1000;

/// Hands out a few bytes at a time.
struct Dribble(Cursor<Vec<u8>>);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(13);
        self.0.read(&mut into[..most])
    }
}

/// Hands out its bytes after an interruption, and fails where they end.
struct Broken {
    bytes: Cursor<Vec<u8>>,
    interrupted: bool,
}

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !core::mem::replace(&mut self.interrupted, true) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match self.bytes.read(into)? {
            0 => Err(io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

/// Reads a set of files and checks every I/O of it.
///
/// # Panics
/// Where something does not hold.
pub fn read_well(files: &[&[u8]], stage: Stage) {
    let sources = |dribble: bool| -> Vec<Source> {
        let source = |bytes: &&[u8]| {
            let bytes = Cursor::new(bytes.to_vec());
            if dribble {
                Source::new("file", Dribble(bytes))
            } else {
                Source::new("file", bytes)
            }
        };
        files.iter().map(source).collect()
    };
    let at_once = all(Trace::read(sources(false), stage));
    assert_eq!(at_once, all(Trace::read(sources(true), stage)));
    let broken = |bytes: &&[u8]| {
        let broken = Broken {
            bytes: Cursor::new(bytes.to_vec()),
            interrupted: false,
        };
        Source::new("file", broken)
    };
    let broken = all(Trace::read(files.iter().map(broken).collect(), stage));
    assert!(broken.1.is_some(), "what cannot be read to its end is said");
    assert!(at_once.0.starts_with(&broken.0));
    let surveyed = Trace::read(sources(false), stage).and_then(|trace| Survey::of(trace, None));
    assert_eq!(at_once.1.is_some(), surveyed.is_err());
    let Ok(survey) = surveyed else {
        return;
    };
    let ops = at_once.0;
    assert_eq!(survey.ios.sum(), ops.len() as u64);
    let layouts: Vec<Layout> = [Outside::Wrap, Outside::Clip, Outside::Refuse]
        .into_iter()
        .filter_map(|outside| Layout::new(&survey, &[], (512, BLOCKS), outside).ok())
        .collect();
    for op in &ops {
        assert!(survey.extents[op.file as usize].end >= op.offset + op.bytes);
        for layout in &layouts {
            let io = layout.place(op);
            assert!(io.lba + io.blocks <= BLOCKS);
        }
    }
}

/// Every I/O up to the end or the first error.
fn all(trace: Result<Trace, TraceError>) -> (Vec<Op>, Option<TraceError>) {
    let mut ops = Vec::new();
    let mut trace = match trace {
        Ok(trace) => trace,
        Err(error) => return (ops, Some(error)),
    };
    assert!(!format!("{trace:?}").is_empty());
    let mut last = None;
    let error = loop {
        match trace.next() {
            Ok(Some(op)) => {
                assert!(op.at_ns.is_none() || op.at_ns >= last);
                last = op.at_ns.or(last);
                assert!((op.bytes == 0) == (op.kind == Kind::Flush));
                assert!(op.bytes <= limits::OP_BYTES_MAX);
                assert!(op.offset.checked_add(op.bytes).is_some());
                assert!((op.file as usize) < trace.names().len());
                assert!(!trace.describe(op.place).is_empty());
                ops.push(op);
            }
            Ok(None) => break None,
            Err(error) => {
                assert!(!error.found.is_empty() && !error.allowed.is_empty());
                break Some(error);
            }
        }
    };
    assert_eq!(trace.next(), Ok(None));
    (ops, error)
}
