//! What the controller remembers for its log pages [NVMe Base 2.0 §5.16.1 Log Specific Information].

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

use spec::nvme::log::{
    ActiveFirmware, CriticalWarning, ErrorLocation, ErrorStatus, FirmwareSlotLog, data_units,
};
use spec::nvme::status::code_type;
use spec::nvme::{ErrorLogEntry, SmartLog, Status, SubmissionEntry};
use spec::{CommandId, Kelvin, Lba, NamespaceId, QueueId, Text};

use crate::counters::Counters;
use crate::features::Features;
use crate::{Config, Controller, limits};

/// Errors, and namespaces that changed. Resets keep both: they belong to the life of the controller.
#[derive(Debug)]
pub(crate) struct Logs {
    /// Newest first.
    errors: VecDeque<ErrorLogEntry>,
    error_count: u64,
    media_errors: u64,
    changed_namespaces: BTreeSet<u32>,
    /// The time of the first admin command, from which power-on time is counted.
    since: Option<Duration>,
}

impl Logs {
    pub(crate) fn new(_config: &Config) -> Self {
        Self {
            errors: VecDeque::with_capacity(limits::ERROR_LOG_ENTRIES),
            error_count: 0,
            media_errors: 0,
            changed_namespaces: BTreeSet::new(),
            since: None,
        }
    }

    /// Notes that time passes; the first call is the moment of power-on.
    pub(crate) fn note_time(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// Notes a command that was refused or failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_refusal(&mut self, sq: u16, entry: &SubmissionEntry, status: Status) {
        self.push(ErrorLogEntry {
            sqid: QueueId::new(sq),
            cid: entry.cid(),
            status: ErrorStatus::new(status),
            lba: if sq == 0 { Lba::new(0) } else { entry.slba() },
            nsid: entry.nsid(),
            ..Self::blank()
        });
    }

    /// Notes an error that belongs to no command.
    #[cold]
    pub(crate) fn note_controller_error(&mut self, status: Status) {
        self.push(ErrorLogEntry {
            status: ErrorStatus::new(status),
            ..Self::blank()
        });
    }

    fn blank() -> ErrorLogEntry {
        ErrorLogEntry {
            sqid: ErrorLogEntry::NO_QUEUE,
            cid: CommandId::NONE,
            location: ErrorLocation::NONE,
            ..Default::default()
        }
    }

    fn push(&mut self, mut entry: ErrorLogEntry) {
        self.error_count += 1;
        entry.error_count = self.error_count;
        if entry.status.status().sct() == code_type::MEDIA {
            self.media_errors += 1;
        }
        self.errors.truncate(limits::ERROR_LOG_ENTRIES - 1);
        self.errors.push_front(entry);
    }

    pub(crate) fn add_changed_namespace(&mut self, id: NamespaceId) {
        // Other identifiers cannot be attached, so the set never outgrows the list of 1024.
        if (1..=limits::NAMESPACES_MAX).contains(&id.get()) {
            self.changed_namespaces.insert(id.get());
        }
    }

    /// The namespaces that changed since the host last read the list.
    pub(crate) fn changed_namespaces(&self) -> impl Iterator<Item = NamespaceId> {
        self.changed_namespaces
            .iter()
            .copied()
            .map(NamespaceId::new)
    }

    /// The host read the list.
    pub(crate) fn clear_changed_namespaces(&mut self) {
        self.changed_namespaces.clear();
    }

    /// Error Information: all entries, empty ones behind the oldest.
    pub(crate) fn error_page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self
            .errors
            .iter()
            .flat_map(ErrorLogEntry::to_bytes)
            .collect();
        page.resize(limits::ERROR_LOG_ENTRIES * ErrorLogEntry::BYTES, 0);
        page
    }

    /// SMART / Health Information.
    pub(crate) fn smart_page(
        &self,
        counters: &Counters,
        features: &Features,
        now: Duration,
    ) -> SmartLog {
        let hot = features.is_beyond_threshold(limits::TEMPERATURE_KELVIN);
        let powered = now.saturating_sub(self.since.unwrap_or(now));
        SmartLog {
            critical_warning: CriticalWarning::default().with_temperature(hot),
            composite_temperature: Kelvin::new(limits::TEMPERATURE_KELVIN),
            available_spare: 100,
            available_spare_threshold: 10,
            data_units_read: data_units(counters.read_bytes.into()),
            data_units_written: data_units(counters.written_bytes.into()),
            host_reads: counters.reads.into(),
            host_writes: counters.writes.into(),
            power_cycles: 1,
            power_on_hours: u128::from(powered.as_secs() / 3600),
            media_errors: self.media_errors.into(),
            error_log_entries: self.error_count.into(),
            ..Default::default()
        }
    }
}

/// Firmware Slot Information: one slot, which runs.
pub(crate) fn firmware_page(config: &Config) -> FirmwareSlotLog {
    let mut page = FirmwareSlotLog {
        afi: ActiveFirmware::default().with_active(1),
        ..Default::default()
    };
    if let Some(first) = page.frs.0.first_mut() {
        *first = Text::ascii(&config.firmware);
    }
    page
}

impl Controller {
    /// Notes how an admin command ended.
    pub(crate) fn note_admin_status(&mut self, entry: &SubmissionEntry, status: Status) {
        if !status.is_success() {
            self.counters.refused += 1;
            self.logs.note_refusal(0, entry, status);
        }
    }
}
