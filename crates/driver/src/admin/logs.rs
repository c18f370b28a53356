//! Log pages.

use spec::nvme::{ErrorLogEntry, GetLogPage, SmartLog, admin_opcode, log_id};
use spec::{ByteOffset, Malformed, NamespaceId};

use super::AdminData;
use super::features::command;
use crate::device::Device;
use crate::error::DriverError;
use crate::limits;
use crate::link::Link;

impl<L: Link> Device<L> {
    /// Reads a log page from its beginning into `bytes`, a multiple of four of them, in as many commands as it takes. With
    /// `retain_event`, the event that the page belongs to is not cleared.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    ///
    /// # Panics
    /// If the length of `bytes` is not a multiple of four.
    pub fn read_log(
        &mut self,
        id: u8,
        namespace: NamespaceId,
        retain_event: bool,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        assert!(
            bytes.len().is_multiple_of(4),
            "log pages are read in dwords"
        );
        let chunk = limits::ADMIN_DATA_BYTES.min(self.transfer_bytes_max as usize);
        let mut pieces = bytes.chunks_mut(chunk).enumerate().peekable();
        while let Some((index, piece)) = pieces.next() {
            let Some(dwords_raw) = GetLogPage::dwords_for(piece.len() as u64) else {
                break; // no bytes, nothing to read
            };
            let get = GetLogPage {
                lid: id,
                // The event stays until its page has been read to the end.
                retain_event: retain_event || pieces.peek().is_some(),
                dwords_raw,
                offset: ByteOffset::new((index * chunk) as u64),
                ..GetLogPage::default()
            };
            let entry = get.emit(command(admin_opcode::GET_LOG_PAGE, namespace));
            self.admin(entry, AdminData::FromController(piece))?;
        }
        Ok(())
    }

    /// The SMART / Health Information log page of the whole controller.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn smart_log(&mut self) -> Result<SmartLog, DriverError> {
        let mut bytes = [0; SmartLog::BYTES];
        self.read_log(log_id::SMART, NamespaceId::BROADCAST, false, &mut bytes)?;
        SmartLog::parse(&bytes).map_err(|error| malformed("SMART / Health Information", error))
    }

    /// The newest entries of the Error Information log page, newest first: at most `entries`, and no more than the
    /// controller keeps.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn error_log(&mut self, entries: usize) -> Result<Vec<ErrorLogEntry>, DriverError> {
        let kept = self.identify.elpe.count() as usize;
        let mut bytes = vec![0; entries.min(kept) * ErrorLogEntry::BYTES];
        self.read_log(
            log_id::ERROR_INFORMATION,
            NamespaceId::BROADCAST,
            false,
            &mut bytes,
        )?;
        let mut found = Vec::new();
        for bytes in bytes.chunks_exact(ErrorLogEntry::BYTES) {
            let entry = ErrorLogEntry::parse(bytes)
                .map_err(|error| malformed("Error Information", error))?;
            if entry.error_count == 0 {
                break;
            }
            found.push(entry);
        }
        Ok(found)
    }
}

/// A structure that the standard's parser refuses.
pub(crate) fn malformed(what: &'static str, error: Malformed) -> DriverError {
    DriverError::BadAnswer {
        what,
        wanted: "what the standard lays out",
        found: error.to_string(),
    }
}
