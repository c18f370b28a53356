//! What the machine refuses: as an NVMe status, and as a line in the log.

use std::path::PathBuf;

use rustix::io::Errno;
use spec::nvme::Status;

use super::jobs::Way;
use super::limits::TROUBLES_MAX;

/// Each so-manieth trouble of a kind is logged, and the first.
const LOGGED_EACH: u64 = 1000;

/// Why a piece was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The machine said so.
    Refused(Errno),
    /// The file ends before.
    Ended,
    /// A sync failed earlier.
    Unsynced,
}

impl core::fmt::Display for Cause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(errno) => write!(f, "{}", std::io::Error::from(*errno)),
            Self::Ended => f.write_str("the file ends before; somebody has made it shorter"),
            Self::Unsynced => f.write_str("an earlier fdatasync failed"),
        }
    }
}

/// What the host is told.
pub(super) fn status(way: Way, cause: Cause) -> Status {
    // The block layer says a medium's error in several ways, all of which file systems pass on.
    let media = [
        Errno::IO,
        Errno::NODATA,
        Errno::ILSEQ,
        Errno::BADMSG,
        Errno::REMOTEIO,
    ];
    match (way, cause) {
        (_, Cause::Unsynced) | (Way::Sync, _) => Status::WRITE_FAULT,
        (Way::Read, Cause::Ended) => Status::UNRECOVERED_READ_ERROR,
        (_, Cause::Ended) => Status::WRITE_FAULT,
        (Way::Read, Cause::Refused(errno)) if media.contains(&errno) => {
            Status::UNRECOVERED_READ_ERROR
        }
        (_, Cause::Refused(errno)) if media.contains(&errno) => Status::WRITE_FAULT,
        (_, Cause::Refused(Errno::NOSPC | Errno::DQUOT)) => Status::CAPACITY_EXCEEDED,
        (_, Cause::Refused(_)) => Status::INTERNAL_ERROR,
    }
}

/// Counts troubles and logs few of them, so that a dead disk does not fill another with its log.
#[derive(Debug)]
pub(super) struct Troubles {
    path: PathBuf,
    /// The last counts all kinds for which there was no room, too.
    seen: Vec<(Way, Cause, u64)>,
}

impl Troubles {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            seen: Vec::with_capacity(TROUBLES_MAX),
        }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Counts one and says how many of its kind there were if it is to be logged.
    fn count(&mut self, way: Way, cause: Cause) -> Option<u64> {
        let known = self
            .seen
            .iter()
            .position(|seen| seen.0 == way && seen.1 == cause);
        if known.is_none() && self.seen.len() < TROUBLES_MAX {
            self.seen.push((way, cause, 0));
        }
        let kind = known.unwrap_or(self.seen.len() - 1);
        let times = &mut self.seen[kind].2;
        *times += 1;
        let times = *times;
        (times == 1 || times.is_multiple_of(LOGGED_EACH)).then_some(times)
    }

    /// A piece that was not carried out.
    pub(super) fn note(&mut self, way: Way, cause: Cause, at: u64, len: u64) {
        let Some(times) = self.count(way, cause) else {
            return;
        };
        let path = self.path.display();
        let what = match way {
            Way::Read => "read",
            Way::Write => "write",
            Way::PunchHole => "punch a hole of",
            Way::ZeroRange => "zero",
            Way::WriteZeroes => "write zeroes over",
            Way::Sync => {
                tracing::warn!(
                    "{path}: fdatasync: {cause} (time {times}). What was written since the last good one may be lost. \
                     Flush and Force Unit Access are refused until the file is opened anew"
                );
                return;
            }
        };
        tracing::warn!(
            "{path}: could not {what} {len} bytes at byte {at}: {cause} (time {times} of its kind)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_refusals_become_the_standards_words() {
        let refused = |way, errno| status(way, Cause::Refused(errno));
        assert_eq!(
            refused(Way::Read, Errno::IO),
            Status::UNRECOVERED_READ_ERROR
        );
        assert_eq!(refused(Way::Write, Errno::IO), Status::WRITE_FAULT);
        assert_eq!(refused(Way::PunchHole, Errno::IO), Status::WRITE_FAULT);
        for way in [Way::Write, Way::WriteZeroes, Way::ZeroRange] {
            assert_eq!(refused(way, Errno::NOSPC), Status::CAPACITY_EXCEEDED);
        }
        assert_eq!(
            status(Way::Read, Cause::Ended),
            Status::UNRECOVERED_READ_ERROR
        );
        assert_eq!(refused(Way::Read, Errno::NOMEM), Status::INTERNAL_ERROR);
        assert_eq!(refused(Way::Sync, Errno::NOSPC), Status::WRITE_FAULT);
    }

    #[test]
    fn the_first_of_a_kind_and_each_thousandth_are_logged() {
        let mut troubles = Troubles::new(PathBuf::from("disk.img"));
        let io = Cause::Refused(Errno::IO);
        let logged: Vec<u64> = (0..2500)
            .filter_map(|_| troubles.count(Way::Read, io))
            .collect();
        assert_eq!(logged, [1, 1000, 2000]);
        assert_eq!(troubles.count(Way::Write, io), Some(1), "another kind");
    }

    #[test]
    fn kinds_beyond_the_bound_are_one_kind() {
        let mut troubles = Troubles::new(PathBuf::from("disk.img"));
        for code in 1..=100 {
            troubles.count(Way::Read, Cause::Refused(Errno::from_raw_os_error(code)));
        }
        assert_eq!(troubles.seen.len(), TROUBLES_MAX);
        let counted: u64 = troubles.seen.iter().map(|seen| seen.2).sum();
        assert_eq!(counted, 100);
    }
}
