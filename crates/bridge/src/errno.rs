//! What an NVMe status is called by programs: the one table.
//!
//! It follows Linux's own block layer where a program can do something about the difference, and says `EIO` elsewhere.

use rustix::io::Errno;
use spec::nvme::Status;

/// The code type of everything that befell a command on its way.
const PATH: u8 = Status::INTERNAL_PATH_ERROR.sct();

/// Statuses with a number of their own.
const TABLE: &[(Status, Errno)] = &[
    (Status::INVALID_OPCODE, Errno::OPNOTSUPP),
    (Status::INVALID_FIELD, Errno::INVAL),
    (Status::INVALID_NAMESPACE, Errno::INVAL),
    (Status::COMMAND_SIZE_LIMIT_EXCEEDED, Errno::INVAL),
    (Status::CONFLICTING_ATTRIBUTES, Errno::INVAL),
    (Status::LBA_OUT_OF_RANGE, Errno::REMOTEIO),
    (Status::NAMESPACE_NOT_READY, Errno::REMOTEIO),
    (Status::COMMAND_INTERRUPTED, Errno::REMOTEIO),
    (Status::CAPACITY_EXCEEDED, Errno::NOSPC),
    (Status::NAMESPACE_WRITE_PROTECTED, Errno::ROFS),
    (Status::WRITE_TO_READ_ONLY_RANGE, Errno::ROFS),
    (Status::ACCESS_DENIED, Errno::ACCESS),
    (Status::RESERVATION_CONFLICT, Errno::BADE),
    (Status::INVALID_PROTECTION_INFORMATION, Errno::ILSEQ),
    (Status::GUARD_CHECK_ERROR, Errno::ILSEQ),
    (Status::APPLICATION_TAG_CHECK_ERROR, Errno::ILSEQ),
    (Status::REFERENCE_TAG_CHECK_ERROR, Errno::ILSEQ),
    (Status::STORAGE_TAG_CHECK_ERROR, Errno::ILSEQ),
];

/// The error number for a status that is not success.
#[must_use]
pub fn of(status: Status) -> Errno {
    let code = status.code();
    if let Some((_, errno)) = TABLE.iter().find(|(named, _)| *named == code) {
        return *errno;
    }
    if code.sct() == PATH {
        Errno::NOLINK
    } else {
        Errno::IO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_drive_is_enospc_a_bad_block_eio_and_flags_do_not_matter() {
        assert_eq!(of(Status::CAPACITY_EXCEEDED.with_dnr()), Errno::NOSPC);
        assert_eq!(of(Status::UNRECOVERED_READ_ERROR), Errno::IO);
        assert_eq!(of(Status::WRITE_FAULT.with_more()), Errno::IO);
        assert_eq!(of(Status::INTERNAL_PATH_ERROR), Errno::NOLINK);
        assert_eq!(of(Status::new(7, 0x13)), Errno::IO);
    }
}
