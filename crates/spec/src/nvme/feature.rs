//! Features and their values [NVMe Base 2.0 §5.27.1 Feature Specific Information], [NVM Command Set 1.0 §4.1.3 Get Features and Set Features commands].
//!
//! A value is command dword 11 of Set Features and dword 0 of the completion of Get Features, unless it says otherwise.

use crate::types::{Kelvin, Lba, ZeroBased};

/// Feature Identifiers (FID).
pub mod feature_id {
    named_codes! { "Unknown feature",
        0x01 ARBITRATION "Arbitration",
        0x02 POWER_MANAGEMENT "Power Management",
        0x03 LBA_RANGE_TYPE "LBA Range Type",
        0x04 TEMPERATURE_THRESHOLD "Temperature Threshold",
        0x05 ERROR_RECOVERY "Error Recovery",
        0x06 VOLATILE_WRITE_CACHE "Volatile Write Cache",
        0x07 NUMBER_OF_QUEUES "Number of Queues",
        0x08 INTERRUPT_COALESCING "Interrupt Coalescing",
        0x09 INTERRUPT_VECTOR_CONFIGURATION "Interrupt Vector Configuration",
        0x0a WRITE_ATOMICITY_NORMAL "Write Atomicity Normal",
        0x0b ASYNC_EVENT_CONFIGURATION "Asynchronous Event Configuration",
        0x0c AUTONOMOUS_POWER_STATE_TRANSITION "Autonomous Power State Transition",
        0x0d HOST_MEMORY_BUFFER "Host Memory Buffer",
        0x0e TIMESTAMP "Timestamp",
        0x0f KEEP_ALIVE_TIMER "Keep Alive Timer",
        0x10 HOST_CONTROLLED_THERMAL_MANAGEMENT "Host Controlled Thermal Management",
        0x11 NON_OPERATIONAL_POWER_STATE "Non-Operational Power State Config",
        0x12 READ_RECOVERY_LEVEL "Read Recovery Level Config",
        0x13 PREDICTABLE_LATENCY_MODE "Predictable Latency Mode Config",
        0x14 PREDICTABLE_LATENCY_WINDOW "Predictable Latency Mode Window",
        0x15 LBA_STATUS_INTERVAL "LBA Status Information Report Interval",
        0x16 HOST_BEHAVIOR_SUPPORT "Host Behavior Support",
        0x17 SANITIZE_CONFIG "Sanitize Config",
        0x18 ENDURANCE_GROUP_EVENT "Endurance Group Event Configuration",
        0x19 IO_COMMAND_SET_PROFILE "I/O Command Set Profile",
        0x1a SPINUP_CONTROL "Spinup Control",
        0x80 SOFTWARE_PROGRESS_MARKER "Software Progress Marker",
        0x81 HOST_IDENTIFIER "Host Identifier",
        0x82 RESERVATION_NOTIFICATION_MASK "Reservation Notification Mask",
        0x83 RESERVATION_PERSISTENCE "Reservation Persistence",
        0x84 NAMESPACE_WRITE_PROTECTION "Namespace Write Protection Config",
    }
}

bit_fields! {
    /// What Get Features answers in dword 0 when it is asked for the supported capabilities of a feature.
    FeatureCapabilities(u32) {
        /// The value can be saved.
        saveable, with_saveable: bool = 0;
        /// The value belongs to a namespace.
        namespace_specific, with_namespace_specific: bool = 1;
        /// The value can be changed.
        changeable, with_changeable: bool = 2;
    }
}

bit_fields! {
    /// Arbitration (FID 01h). Weights are 0's based.
    Arbitration(u32) {
        /// Arbitration Burst (AB) as a power of two of commands; 7 for no limit.
        burst, with_burst: u8 = 2:0;
        /// Low Priority Weight (LPW), 0's based.
        low_weight, with_low_weight: u8 = 15:8;
        /// Medium Priority Weight (MPW), 0's based.
        medium_weight, with_medium_weight: u8 = 23:16;
        /// High Priority Weight (HPW), 0's based.
        high_weight, with_high_weight: u8 = 31:24;
    }
}

impl Arbitration {
    /// The burst that stands for no limit.
    pub const BURST_UNLIMITED: u8 = 7;
}

bit_fields! {
    /// Power Management (FID 02h).
    PowerManagement(u32) {
        /// Power State (PS).
        power_state, with_power_state: u8 = 4:0;
        /// Workload Hint (WH).
        workload_hint, with_workload_hint: u8 = 7:5;
    }
}

bit_fields! {
    /// LBA Range Type (FID 03h); the ranges themselves are in the data buffer.
    LbaRangeTypes(u32) {
        /// Number of LBA Ranges (NUM), 0's based, up to 64.
        number, with_number: u8 = 5:0;
    }
}

bit_fields! {
    /// Attributes of an LBA range.
    LbaRangeAttributes(u8) {
        /// The range may be overwritten.
        overwritable, with_overwritable: bool = 0;
        /// The range should be hidden from the operating system.
        hidden, with_hidden: bool = 1;
    }
}

layout! {
    /// One LBA range of the data buffer of LBA Range Type.
    LbaRange[64] {
        /// Type: 0 general, 1 file system, 2 RAID, 3 cache, 4 swap.
        0 => range_type: u8,
        /// Attributes.
        1 => attributes: LbaRangeAttributes,
        /// Starting LBA.
        16 => slba: Lba,
        /// Number of Logical Blocks, as the standard has it: 0's based, 64 bits.
        24 => nlb: u64,
        /// Unique Identifier.
        32 => guid: [u8; 16],
    }
}

bit_fields! {
    /// Temperature Threshold (FID 04h).
    TemperatureThreshold(u32) {
        /// Temperature Threshold (TMPTH) in kelvins.
        threshold, with_threshold: u16 = 15:0;
        /// Threshold Temperature Select (TMPSEL): 0 composite, 1 to 8 a sensor, 15 all sensors (Set Features only).
        sensor, with_sensor: u8 = 19:16;
        /// Threshold Type Select (THSEL): 0 over, 1 under.
        threshold_type, with_threshold_type: u8 = 21:20;
    }
}

impl TemperatureThreshold {
    /// `sensor`: the composite temperature.
    pub const COMPOSITE: u8 = 0;
    /// `sensor`: all temperature sensors that are implemented.
    pub const ALL_SENSORS: u8 = 15;
    /// `threshold_type`: events come at or above the threshold.
    pub const OVER: u8 = 0;
    /// `threshold_type`: events come at or below the threshold.
    pub const UNDER: u8 = 1;

    /// The threshold as a temperature.
    pub const fn temperature(self) -> Kelvin {
        Kelvin::new(self.threshold())
    }
}

bit_fields! {
    /// Error Recovery (FID 05h).
    ErrorRecovery(u32) {
        /// Time Limited Error Recovery (TLER) in units of 100 ms; 0 for no limit.
        time_limit, with_time_limit: u16 = 15:0;
        /// Deallocated or Unwritten Logical Block Error Enable (DULBE).
        deallocated_error, with_deallocated_error: bool = 16;
    }
}

bit_fields! {
    /// Volatile Write Cache (FID 06h).
    WriteCache(u32) {
        /// Volatile Write Cache Enable (WCE).
        enabled, with_enabled: bool = 0;
    }
}

bit_fields! {
    /// Number of Queues (FID 07h), as asked for and as allocated; both counts are 0's based and leave out the admin queues.
    NumberOfQueues(u32) {
        /// I/O submission queues (NSQR, NSQA), 0's based.
        submission_raw, with_submission_raw: u16 = 15:0;
        /// I/O completion queues (NCQR, NCQA), 0's based.
        completion_raw, with_completion_raw: u16 = 31:16;
    }
}

impl NumberOfQueues {
    /// The raw count that the standard forbids to ask for.
    pub const RAW_INVALID: u16 = 0xffff;

    /// So many I/O queues of each kind.
    pub const fn new(submission: ZeroBased<u16>, completion: ZeroBased<u16>) -> Self {
        Self::from_bits(0)
            .with_submission_raw(submission.raw())
            .with_completion_raw(completion.raw())
    }

    /// I/O submission queues.
    pub const fn submission(self) -> ZeroBased<u16> {
        ZeroBased::<u16>::new(self.submission_raw())
    }

    /// I/O completion queues.
    pub const fn completion(self) -> ZeroBased<u16> {
        ZeroBased::<u16>::new(self.completion_raw())
    }
}

bit_fields! {
    /// Interrupt Coalescing (FID 08h).
    InterruptCoalescing(u32) {
        /// Aggregation Threshold (THR): completions per interrupt, 0's based.
        threshold_raw, with_threshold_raw: u8 = 7:0;
        /// Aggregation Time (TIME) in units of 100 us; 0 for no delay.
        time, with_time: u8 = 15:8;
    }
}

impl InterruptCoalescing {
    /// Completions that may be aggregated into one interrupt.
    pub const fn threshold(self) -> ZeroBased<u8> {
        ZeroBased::<u8>::new(self.threshold_raw())
    }

    /// The longest delay of an interrupt.
    pub const fn delay(self) -> core::time::Duration {
        core::time::Duration::from_micros(100 * self.time() as u64)
    }
}

bit_fields! {
    /// Interrupt Vector Configuration (FID 09h).
    InterruptVectorConfiguration(u32) {
        /// Interrupt Vector (IV).
        vector, with_vector: u16 = 15:0;
        /// Coalescing Disable (CD).
        coalescing_disabled, with_coalescing_disabled: bool = 16;
    }
}

bit_fields! {
    /// Write Atomicity Normal (FID 0Ah).
    WriteAtomicity(u32) {
        /// Disable Normal (DN): only AWUPF need be honoured, not AWUN.
        normal_disabled, with_normal_disabled: bool = 0;
    }
}

bit_fields! {
    /// Asynchronous Event Configuration (FID 0Bh): which events may be reported.
    AsyncEventConfiguration(u32) {
        /// The available spare is below its threshold.
        spare, with_spare: bool = 0;
        /// A temperature is beyond its threshold.
        temperature, with_temperature: bool = 1;
        /// The reliability is degraded.
        reliability, with_reliability: bool = 2;
        /// All media are read-only.
        read_only, with_read_only: bool = 3;
        /// The backup of volatile memory failed.
        backup_failed, with_backup_failed: bool = 4;
        /// The persistent memory region is read-only or unreliable.
        persistent_memory, with_persistent_memory: bool = 5;
        /// All SMART / health critical warnings as the bits of the log page.
        critical_warnings, with_critical_warnings: u8 = 7:0;
        /// Namespace Attribute Notices.
        namespace_attribute, with_namespace_attribute: bool = 8;
        /// Firmware Activation Notices.
        firmware_activation, with_firmware_activation: bool = 9;
        /// Telemetry Log Notices.
        telemetry, with_telemetry: bool = 10;
        /// Asymmetric Namespace Access Change Notices.
        asymmetric_access, with_asymmetric_access: bool = 11;
        /// Predictable Latency Event Aggregate Log Change Notices.
        predictable_latency, with_predictable_latency: bool = 12;
        /// LBA Status Information Notices.
        lba_status, with_lba_status: bool = 13;
        /// Endurance Group Event Aggregate Log Change Notices.
        endurance_group, with_endurance_group: bool = 14;
        /// Normal NVM Subsystem Shutdown.
        subsystem_shutdown, with_subsystem_shutdown: bool = 15;
    }
}

bit_fields! {
    /// Autonomous Power State Transition (FID 0Ch); the entries are in the data buffer.
    AutonomousPowerStates(u32) {
        /// Enable (APSTE).
        enabled, with_enabled: bool = 0;
    }
}

bit_fields! {
    /// One of the 32 entries of the data buffer of Autonomous Power State Transition, one per power state.
    PowerStateTransition(u64) {
        /// Idle Transition Power State (ITPS).
        power_state, with_power_state: u8 = 7:3;
        /// Idle Time Prior to Transition (ITPT) in milliseconds; 0 for no transition.
        idle_ms, with_idle_ms: u32 = 31:8;
    }
}

bit_fields! {
    /// Host Memory Buffer (FID 0Dh); size and list address are in command dwords 12 to 15.
    HostMemoryBuffer(u32) {
        /// Enable Host Memory (EHM).
        enabled, with_enabled: bool = 0;
        /// Memory Return (MR): the buffer still holds what it held.
        memory_return, with_memory_return: bool = 1;
    }
}

bit_fields! {
    /// Timestamp (FID 0Eh), 8 bytes of the data buffer.
    Timestamp(u64) {
        /// Milliseconds since 1970, or since the controller was reset.
        milliseconds, with_milliseconds: u64 = 47:0;
        /// The counter may have stopped in between.
        stopped, with_stopped: bool = 48;
        /// Timestamp Origin: 0 cleared by a reset, 1 set by the host.
        origin, with_origin: u8 = 51:49;
    }
}

bit_fields! {
    /// Keep Alive Timer (FID 0Fh).
    KeepAliveTimer(u32) {
        /// Keep Alive Timeout (KATO) in milliseconds; 0 for no timer.
        timeout_ms, with_timeout_ms: u32 = 31:0;
    }
}

impl KeepAliveTimer {
    /// The time-out, `None` if the timer is off.
    pub const fn timeout(self) -> Option<core::time::Duration> {
        match self.timeout_ms() {
            0 => None,
            milliseconds => Some(core::time::Duration::from_millis(milliseconds as u64)),
        }
    }
}

bit_fields! {
    /// Host Controlled Thermal Management (FID 10h), temperatures in kelvins; 0 switches one off.
    ThermalManagement(u32) {
        /// Thermal Management Temperature 2 (TMT2).
        heavy, with_heavy: u16 = 15:0;
        /// Thermal Management Temperature 1 (TMT1).
        light, with_light: u16 = 31:16;
    }
}

bit_fields! {
    /// Non-Operational Power State Config (FID 11h).
    NonOperationalPower(u32) {
        /// Non-Operational Power State Permissive Mode Enable (NOPPME).
        permissive, with_permissive: bool = 0;
    }
}

layout! {
    /// Host Behavior Support (FID 16h), the data buffer. Each byte is 0 or 1.
    HostBehavior[512] {
        /// Advanced Command Retry Enable (ACRE): the host understands command retry delays.
        0 => advanced_command_retry: u8,
        /// Extended Telemetry Data Area 4 Supported (ETDAS).
        1 => extended_telemetry: u8,
        /// LBA Format Extension Enable (LBAFEE): the host understands more than 16 LBA formats.
        2 => lba_format_extension: u8,
    }
}
