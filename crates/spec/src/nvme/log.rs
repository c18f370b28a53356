//! Log pages [NVMe Base 2.0 §5.16 Get Log Page command].

use crate::layout::Series;
use crate::nvme::identify::NamespaceIdList;
use crate::nvme::status::Status;
use crate::types::{CommandId, Kelvin, Lba, NamespaceId, QueueId, Text};

/// Log Page Identifiers (LID).
pub mod log_id {
    named_codes! { "Unknown log page",
        0x00 SUPPORTED_LOG_PAGES "Supported Log Pages",
        0x01 ERROR_INFORMATION "Error Information",
        0x02 SMART "SMART / Health Information",
        0x03 FIRMWARE_SLOT "Firmware Slot Information",
        0x04 CHANGED_NAMESPACES "Changed Namespace List",
        0x05 COMMAND_EFFECTS "Commands Supported and Effects",
        0x06 SELF_TEST "Device Self-test",
        0x07 TELEMETRY_HOST "Telemetry Host-Initiated",
        0x08 TELEMETRY_CONTROLLER "Telemetry Controller-Initiated",
        0x09 ENDURANCE_GROUP "Endurance Group Information",
        0x0a PREDICTABLE_LATENCY "Predictable Latency Per NVM Set",
        0x0b PREDICTABLE_LATENCY_EVENTS "Predictable Latency Event Aggregate",
        0x0c ASYMMETRIC_ACCESS "Asymmetric Namespace Access",
        0x0d PERSISTENT_EVENT "Persistent Event Log",
        0x0e LBA_STATUS "LBA Status Information",
        0x0f ENDURANCE_GROUP_EVENTS "Endurance Group Event Aggregate",
        0x10 MEDIA_UNIT_STATUS "Media Unit Status",
        0x11 CAPACITY_CONFIGURATIONS "Supported Capacity Configuration List",
        0x12 FEATURE_EFFECTS "Feature Identifiers Supported and Effects",
        0x13 MI_COMMAND_EFFECTS "NVMe-MI Commands Supported and Effects",
        0x14 LOCKDOWN "Command and Feature Lockdown",
        0x15 BOOT_PARTITION "Boot Partition",
        0x70 DISCOVERY "Discovery",
        0x80 RESERVATION_NOTIFICATION "Reservation Notification",
        0x81 SANITIZE_STATUS "Sanitize Status",
    }
}

bit_fields! {
    /// LID Supported and Effects: what the Supported Log Pages log page says of one log page.
    LogPageSupport(u32) {
        /// LID Supported (LSUPP).
        supported, with_supported: bool = 0;
        /// Index Offset Supported (IOS): the offset of Get Log Page may be an index.
        index_offset, with_index_offset: bool = 1;
        /// LID Specific Parameter.
        parameter, with_parameter: u16 = 31:16;
    }
}

layout! {
    /// Supported Log Pages (LID 00h) [NVMe Base 2.0 §5.16.1.1 Supported Log Pages].
    SupportedLogPages[1024] {
        /// One entry per log page identifier.
        0 => pages: Series<LogPageSupport, 256>,
    }
}

impl SupportedLogPages {
    /// A page that names `ids` as supported.
    pub fn of(ids: &[u8]) -> Self {
        let mut page = Self::default();
        for &id in ids {
            if let Some(support) = page.pages.0.get_mut(usize::from(id)) {
                *support = support.with_supported(true);
            }
        }
        page
    }

    /// What the page says of one log page.
    pub fn support(&self, id: u8) -> LogPageSupport {
        self.pages
            .0
            .get(usize::from(id))
            .copied()
            .unwrap_or_default()
    }
}

bit_fields! {
    /// The status of a failed command with the phase tag below it.
    ErrorStatus(u16) {
        /// The phase tag of the failed command's completion; may be 0.
        phase, with_phase: bool = 0;
        /// The status field.
        field, with_field: u16 = 15:1;
    }
}

impl ErrorStatus {
    /// A status with the phase tag clear.
    pub const fn new(status: Status) -> Self {
        Self::from_bits(0).with_field(status.bits())
    }

    /// The status.
    pub const fn status(self) -> Status {
        Status::from_bits(self.field())
    }
}

bit_fields! {
    /// Parameter Error Location: the byte and bit of the command that is wrong.
    ErrorLocation(u16) {
        /// The byte in the submission queue entry, 0 to 63.
        byte, with_byte: u8 = 7:0;
        /// The bit in the byte.
        bit, with_bit: u8 = 10:8;
    }
}

impl ErrorLocation {
    /// The error belongs to no parameter of a command.
    pub const NONE: Self = Self::from_bits(0xffff);
}

layout! {
    /// One entry of the Error Information log page (LID 01h), newest first [NVMe Base 2.0 §5.16.1.2 Error Information].
    ErrorLogEntry[64] {
        /// Error Count: a number that goes up with every error and stays over power cycles; 0 for an entry without error.
        0 => error_count: u64,
        /// Submission queue of the command; FFFFh if the error belongs to none.
        8 => sqid: QueueId,
        /// Command identifier; FFFFh if the error belongs to none.
        10 => cid: CommandId,
        /// Status of the command.
        12 => status: ErrorStatus,
        /// Where in the command the error lies.
        14 => location: ErrorLocation,
        /// The first block that had the error.
        16 => lba: Lba,
        /// The namespace.
        24 => nsid: NamespaceId,
        /// Vendor Specific Information Available: a log page, or 0.
        28 => vendor_log: u8,
        /// Transport Type: 0 for none, 1 RDMA, 2 Fibre Channel, 3 TCP.
        29 => transport_type: u8,
        /// Command Specific Information.
        32 => command_specific: u64,
        /// Transport Type Specific Information.
        40 => transport_specific: u16,
    }
}

impl ErrorLogEntry {
    /// SQID where an error belongs to no submission queue.
    pub const NO_QUEUE: QueueId = QueueId::new(0xffff);
}

bit_fields! {
    /// Critical Warning of the SMART / Health Information log page.
    CriticalWarning(u8) {
        /// The available spare is below its threshold.
        spare, with_spare: bool = 0;
        /// A temperature is beyond its threshold.
        temperature, with_temperature: bool = 1;
        /// The reliability of the NVM subsystem is degraded.
        reliability, with_reliability: bool = 2;
        /// All media are read-only.
        read_only, with_read_only: bool = 3;
        /// The backup of volatile memory failed.
        backup_failed, with_backup_failed: bool = 4;
        /// The persistent memory region is read-only or unreliable.
        persistent_memory, with_persistent_memory: bool = 5;
    }
}

layout! {
    /// SMART / Health Information (LID 02h) [NVMe Base 2.0 §5.16.1.3 SMART / Health Information].
    SmartLog[512] {
        /// Critical Warning.
        0 => critical_warning: CriticalWarning,
        /// Composite Temperature.
        1 => composite_temperature: Kelvin,
        /// Available Spare, per cent.
        3 => available_spare: u8,
        /// Available Spare Threshold, per cent.
        4 => available_spare_threshold: u8,
        /// Percentage Used; may pass 100, 255 stands for all that is above 254.
        5 => percentage_used: u8,
        /// Endurance Group Critical Warning Summary.
        6 => endurance_group_warning: u8,
        /// Data Units Read, in thousands of 512 bytes, rounded up.
        32 => data_units_read: u128,
        /// Data Units Written, in thousands of 512 bytes, rounded up.
        48 => data_units_written: u128,
        /// Host Read Commands.
        64 => host_reads: u128,
        /// Host Write Commands.
        80 => host_writes: u128,
        /// Controller Busy Time in minutes.
        96 => busy_minutes: u128,
        /// Power Cycles.
        112 => power_cycles: u128,
        /// Power On Hours.
        128 => power_on_hours: u128,
        /// Unsafe Shutdowns.
        144 => unsafe_shutdowns: u128,
        /// Media and Data Integrity Errors.
        160 => media_errors: u128,
        /// Number of Error Information Log Entries over the life of the controller.
        176 => error_log_entries: u128,
        /// Warning Composite Temperature Time in minutes.
        192 => warning_temperature_minutes: u32,
        /// Critical Composite Temperature Time in minutes.
        196 => critical_temperature_minutes: u32,
        /// Temperature Sensors 1 to 8.
        200 => temperature_sensors: Series<Kelvin, 8>,
        /// Thermal Management Temperature 1 Transition Count.
        216 => thermal_1_transitions: u32,
        /// Thermal Management Temperature 2 Transition Count.
        220 => thermal_2_transitions: u32,
        /// Total Time For Thermal Management Temperature 1 in seconds.
        224 => thermal_1_seconds: u32,
        /// Total Time For Thermal Management Temperature 2 in seconds.
        228 => thermal_2_seconds: u32,
    }
}

/// Bytes of one data unit of [`SmartLog::data_units_read`].
pub const DATA_UNIT_BYTES: u64 = 512_000;

/// How many data units so many bytes make, rounded up as the standard asks.
pub const fn data_units(bytes: u128) -> u128 {
    bytes.div_ceil(DATA_UNIT_BYTES as u128)
}

bit_fields! {
    /// Active Firmware Info (AFI).
    ActiveFirmware(u8) {
        /// The slot that the running firmware came from, 1 to 7.
        active, with_active: u8 = 2:0;
        /// The slot that the next reset activates, 0 for none other.
        next, with_next: u8 = 6:4;
    }
}

layout! {
    /// Firmware Slot Information (LID 03h) [NVMe Base 2.0 §5.16.1.4 Firmware Slot Information].
    FirmwareSlotLog[512] {
        /// Active Firmware Info.
        0 => afi: ActiveFirmware,
        /// Firmware Revision for Slot 1 to 7; zeros for an empty slot.
        8 => frs: Series<Text<8>, 7>,
    }
}

/// Changed Namespace List (LID 04h) [NVMe Base 2.0 §5.16.1.5 Changed Namespace List]: a namespace list, see [`NamespaceIdList::overflow`].
pub type ChangedNamespaceList = NamespaceIdList;

bit_fields! {
    /// What the Commands Supported and Effects log page says of one command.
    CommandEffects(u32) {
        /// Command Supported (CSUPP).
        supported, with_supported: bool = 0;
        /// Logical Block Content Change (LBCC).
        changes_blocks, with_changes_blocks: bool = 1;
        /// Namespace Capability Change (NCC).
        changes_namespace, with_changes_namespace: bool = 2;
        /// Namespace Inventory Change (NIC).
        changes_inventory, with_changes_inventory: bool = 3;
        /// Controller Capability Change (CCC).
        changes_controller, with_changes_controller: bool = 4;
        /// Command Submission and Execution (CSE): 0 no restriction, 1 alone in its namespace, 2 alone in all.
        exclusion, with_exclusion: u8 = 18:16;
        /// UUID Selection Supported.
        uuid_selection, with_uuid_selection: bool = 19;
        /// Command Scope (CSP): see [`scope`].
        scope, with_scope: u16 = 31:20;
    }
}

/// Bits of the scope of a command (CSP) or a feature (FSP).
pub mod scope {
    /// One namespace.
    pub const NAMESPACE: u16 = 1 << 0;
    /// One controller.
    pub const CONTROLLER: u16 = 1 << 1;
    /// One NVM set.
    pub const NVM_SET: u16 = 1 << 2;
    /// One endurance group.
    pub const ENDURANCE_GROUP: u16 = 1 << 3;
    /// One domain.
    pub const DOMAIN: u16 = 1 << 4;
    /// The NVM subsystem.
    pub const SUBSYSTEM: u16 = 1 << 5;
}

layout! {
    /// Commands Supported and Effects (LID 05h) [NVMe Base 2.0 §5.16.1.6 Commands Supported and Effects].
    CommandEffectsLog[4096] {
        /// Admin Command Supported, by opcode.
        0 => admin: Series<CommandEffects, 256>,
        /// I/O Command Supported, by opcode.
        1024 => io: Series<CommandEffects, 256>,
    }
}

impl CommandEffectsLog {
    /// Sets what is said of an admin command.
    pub fn set_admin(&mut self, opcode: u8, effects: CommandEffects) {
        if let Some(place) = self.admin.0.get_mut(usize::from(opcode)) {
            *place = effects;
        }
    }

    /// Sets what is said of an I/O command.
    pub fn set_io(&mut self, opcode: u8, effects: CommandEffects) {
        if let Some(place) = self.io.0.get_mut(usize::from(opcode)) {
            *place = effects;
        }
    }

    /// What is said of an admin command.
    pub fn admin_command(&self, opcode: u8) -> CommandEffects {
        self.admin
            .0
            .get(usize::from(opcode))
            .copied()
            .unwrap_or_default()
    }

    /// What is said of an I/O command.
    pub fn io_command(&self, opcode: u8) -> CommandEffects {
        self.io
            .0
            .get(usize::from(opcode))
            .copied()
            .unwrap_or_default()
    }
}

bit_fields! {
    /// What the Feature Identifiers Supported and Effects log page says of one feature.
    FeatureEffects(u32) {
        /// FID Supported (FSUPP).
        supported, with_supported: bool = 0;
        /// User Data Content Change (UDCC).
        changes_blocks, with_changes_blocks: bool = 1;
        /// Namespace Capability Change (NCC).
        changes_namespace, with_changes_namespace: bool = 2;
        /// Namespace Inventory Change (NIC).
        changes_inventory, with_changes_inventory: bool = 3;
        /// Controller Capability Change (CCC).
        changes_controller, with_changes_controller: bool = 4;
        /// UUID Selection Supported.
        uuid_selection, with_uuid_selection: bool = 19;
        /// FID Scope (FSP): see [`scope`].
        scope, with_scope: u16 = 31:20;
    }
}

layout! {
    /// Feature Identifiers Supported and Effects (LID 12h) [NVMe Base 2.0 §5.16.1.18 Feature Identifiers Supported and Effects].
    FeatureEffectsLog[1024] {
        /// One entry per feature identifier.
        0 => features: Series<FeatureEffects, 256>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_status_keeps_its_phase_tag_below_it() {
        let status = ErrorStatus::new(Status::LBA_OUT_OF_RANGE.with_dnr());
        assert_eq!(status.bits(), 0x8100);
        assert_eq!(status.status(), Status::LBA_OUT_OF_RANGE.with_dnr());
    }

    #[test]
    fn data_units_are_thousands_of_512_bytes_rounded_up() {
        assert_eq!(data_units(0), 0);
        assert_eq!(data_units(1), 1);
        assert_eq!(data_units(512_000), 1);
        assert_eq!(data_units(512_001), 2);
    }

    #[test]
    fn effects_stand_by_opcode_with_io_commands_from_byte_1024() {
        let effects = CommandEffects::from_bits(0)
            .with_supported(true)
            .with_changes_blocks(true);
        let mut log = CommandEffectsLog::default();
        log.set_admin(0x06, CommandEffects::from_bits(1));
        log.set_io(0x01, effects);
        let bytes = log.to_bytes();
        assert_eq!((bytes[24], bytes[1028]), (1, 3));
        assert_eq!(log.io_command(0x01), effects);
        assert!(log.admin_command(0x06).supported());
    }

    #[test]
    fn supported_log_pages_stand_by_identifier() {
        let page = SupportedLogPages::of(&[log_id::SMART, log_id::SANITIZE_STATUS]);
        assert!(page.support(0x02).supported() && page.support(0x81).supported());
        assert!(!page.support(0x01).supported());
        assert_eq!(page.to_bytes()[8], 1);
    }
}
