//! What a controller is told when it is made.

use core::fmt;

use media::Media;
use mem::Window;
use spec::NamespaceId;

use crate::limits;

/// How a controller presents itself and how much it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Serial number, at most 20 ASCII characters.
    pub serial: String,
    /// Model number, at most 40 ASCII characters.
    pub model: String,
    /// Firmware revision, at most 8 ASCII characters.
    pub firmware: String,
    /// The subsystem's NVMe qualified name, at most 223 bytes.
    pub subsystem_nqn: String,
    /// PCI vendor. The standard one leaves some devices to experiments.
    pub vendor_id: u16,
    /// Controller identifier within the subsystem.
    pub controller_id: u16,
    /// I/O queue pairs offered, 1 to [`limits::QUEUE_PAIRS_MAX`].
    pub queue_pairs: u16,
    /// Entries of one I/O queue at most, 2 to [`limits::QUEUE_ENTRIES_MAX`].
    pub queue_entries: u32,
    /// Maximum Data Transfer Size as a power of two of 4 KiB pages, 1 to [`limits::TRANSFER_PAGES_SHIFT_MAX`].
    pub transfer_pages_shift: u8,
    /// Asynchronous Event Requests that may wait, 1 to 16.
    pub event_requests: u8,
    /// Abort commands that may run at once, 1 to 16.
    pub aborts: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            serial: "DPE0000000000000001".into(),
            model: "dataplane-emu NVMe controller".into(),
            firmware: env!("CARGO_PKG_VERSION").into(),
            subsystem_nqn: "nqn.2026-11.io.dataplane-emu:subsystem".into(),
            vendor_id: 0x1af4,
            controller_id: 1,
            queue_pairs: limits::QUEUE_PAIRS_MAX,
            queue_entries: limits::QUEUE_ENTRIES_MAX,
            transfer_pages_shift: limits::TRANSFER_PAGES_SHIFT_MAX,
            event_requests: 4,
            aborts: 4,
        }
    }
}

/// A namespace to be attached.
#[derive(Debug)]
pub struct NamespaceConfig {
    /// Its identifier, 1 to [`limits::NAMESPACES_MAX`].
    pub id: NamespaceId,
    /// What keeps its blocks.
    pub media: Box<dyn Media>,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A number is out of its range.
    Range {
        /// The field.
        field: &'static str,
        /// What it held.
        found: u64,
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A text is too long or not printable ASCII.
    Text {
        /// The field.
        field: &'static str,
        /// Bytes allowed.
        bytes_max: usize,
    },
    /// Two namespaces have one identifier.
    DuplicateNamespace(NamespaceId),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range {
                field,
                found,
                min,
                max,
            } => {
                write!(f, "{field} is {found}; allowed is {min} to {max}")
            }
            Self::Text { field, bytes_max } => {
                write!(
                    f,
                    "{field} must be printable ASCII of at most {bytes_max} bytes"
                )
            }
            Self::DuplicateNamespace(id) => write!(f, "two namespaces have the identifier {id}"),
        }
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// Bytes of one command's data at most.
    pub fn transfer_bytes_max(&self) -> u64 {
        limits::PAGE_BYTES << self.transfer_pages_shift
    }

    pub(crate) fn check(&self, doorbells: &Window) -> Result<(), ConfigError> {
        let ranges = [
            (
                "queue_pairs",
                u64::from(self.queue_pairs),
                1,
                u64::from(limits::QUEUE_PAIRS_MAX),
            ),
            (
                "queue_entries",
                self.queue_entries.into(),
                2,
                limits::QUEUE_ENTRIES_MAX.into(),
            ),
            (
                "transfer_pages_shift",
                self.transfer_pages_shift.into(),
                1,
                limits::TRANSFER_PAGES_SHIFT_MAX.into(),
            ),
            ("event_requests", self.event_requests.into(), 1, 16),
            ("aborts", self.aborts.into(), 1, 16),
            (
                "doorbell bytes",
                doorbells.len() as u64,
                limits::DOORBELL_BYTES as u64,
                1 << 20,
            ),
        ];
        for (field, found, min, max) in ranges {
            if !(min..=max).contains(&found) {
                return Err(ConfigError::Range {
                    field,
                    found,
                    min,
                    max,
                });
            }
        }
        let texts = [
            ("serial", &self.serial, 20),
            ("model", &self.model, 40),
            ("firmware", &self.firmware, 8),
            ("subsystem_nqn", &self.subsystem_nqn, 223),
        ];
        for (field, text, bytes_max) in texts {
            let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
            if text.len() > bytes_max || !printable {
                return Err(ConfigError::Text { field, bytes_max });
            }
        }
        Ok(())
    }
}
