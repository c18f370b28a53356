//! Dataset Management [NVM Command Set 1.0 §3.2.3]: deallocation is carried out, the other hints are read and ignored.

use media::{Operation, Request};
use spec::nvme::{DatasetManagement, DsmRange, Status, SubmissionEntry};

use crate::io::{Io, Outcome, Pieces, start_without_data};
use crate::limits::DSM_RANGES_MAX;
use crate::prp;

pub(crate) fn serve(io: &mut Io<'_>, entry: &SubmissionEntry) -> Outcome {
    match try_serve(io, entry) {
        Ok(outcome) => outcome,
        Err(status) => Outcome::Done(status),
    }
}

fn try_serve(io: &mut Io<'_>, entry: &SubmissionEntry) -> Result<Outcome, Status> {
    let command = DatasetManagement::parse(entry);
    let mut bytes = [0; DSM_RANGES_MAX * DsmRange::BYTES];
    let len = command.ranges.count() as usize * DsmRange::BYTES;
    let bytes = bytes.get_mut(..len).ok_or(Status::INTERNAL_ERROR)?;
    let namespace = io.namespaces.active(entry.nsid())?;
    prp::copy_in(io.memory, entry, bytes)?;
    // All ranges are checked before the first one is carried out.
    for range in ranges(bytes) {
        namespace.check(range.at, range.count.get())?;
    }
    let mut pieces = Pieces::default();
    if command.deallocate {
        for range in ranges(bytes).filter(|range| range.count.get() > 0) {
            let request = Request {
                op: Operation::Deallocate,
                at: range.at,
                count: range.count,
                fua: false,
            };
            pieces.add(start_without_data(namespace, io.token, &request));
        }
    }
    Ok(pieces.outcome())
}

fn ranges(bytes: &[u8]) -> impl Iterator<Item = DsmRange> {
    bytes
        .chunks_exact(DsmRange::BYTES)
        .filter_map(|chunk| DsmRange::parse(chunk).ok())
}
