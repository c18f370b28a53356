//! What a completion can say [NVMe Base 2.0 §3.3.3.2.1 Status Field Definition].

use core::fmt;

/// The 15-bit status field: code, code type, retry delay, more, do not retry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u16);

/// Bits 10:0, the code and its type.
const CODE: u16 = 0x7ff;
const FIELD: u16 = 0x7fff;
const MORE: u16 = 1 << 13;
const DO_NOT_RETRY: u16 = 1 << 14;

/// Status code types (SCT).
pub mod code_type {
    /// Generic Command Status.
    pub const GENERIC: u8 = 0;
    /// Command Specific Status.
    pub const COMMAND_SPECIFIC: u8 = 1;
    /// Media and Data Integrity Errors.
    pub const MEDIA: u8 = 2;
    /// Path Related Status.
    pub const PATH: u8 = 3;
    /// Vendor Specific.
    pub const VENDOR: u8 = 7;
}

macro_rules! statuses {
    ($($sct:literal { $($sc:literal $name:ident $text:literal,)* })*) => {
        impl Status {
            $($(
                #[doc = concat!($text, ".")]
                pub const $name: Self = Self::new($sct, $sc);
            )*)*

            /// Every status that has a name, in the order of the standard.
            pub const NAMED: &'static [Self] = &[$($(Self::$name,)*)*];

            /// The standard's name, "Unknown status" where it has none. CRD, M and DNR do not matter.
            pub const fn name(self) -> &'static str {
                match (self.sct(), self.sc()) {
                    $($(($sct, $sc) => $text,)*)*
                    _ => "Unknown status",
                }
            }
        }
    };
}

statuses! {
    0 {
        0x00 SUCCESS "Successful Completion",
        0x01 INVALID_OPCODE "Invalid Command Opcode",
        0x02 INVALID_FIELD "Invalid Field in Command",
        0x03 CID_CONFLICT "Command ID Conflict",
        0x04 DATA_TRANSFER_ERROR "Data Transfer Error",
        0x05 ABORTED_POWER_LOSS "Commands Aborted due to Power Loss Notification",
        0x06 INTERNAL_ERROR "Internal Error",
        0x07 ABORT_REQUESTED "Command Abort Requested",
        0x08 ABORTED_SQ_DELETION "Command Aborted due to SQ Deletion",
        0x09 ABORTED_FAILED_FUSED "Command Aborted due to Failed Fused Command",
        0x0a ABORTED_MISSING_FUSED "Command Aborted due to Missing Fused Command",
        0x0b INVALID_NAMESPACE "Invalid Namespace or Format",
        0x0c COMMAND_SEQUENCE_ERROR "Command Sequence Error",
        0x0d INVALID_SGL_SEGMENT "Invalid SGL Segment Descriptor",
        0x0e INVALID_SGL_COUNT "Invalid Number of SGL Descriptors",
        0x0f INVALID_SGL_DATA_LENGTH "Data SGL Length Invalid",
        0x10 INVALID_SGL_METADATA_LENGTH "Metadata SGL Length Invalid",
        0x11 INVALID_SGL_TYPE "SGL Descriptor Type Invalid",
        0x12 INVALID_USE_OF_CMB "Invalid Use of Controller Memory Buffer",
        0x13 INVALID_PRP_OFFSET "PRP Offset Invalid",
        0x14 ATOMIC_WRITE_UNIT_EXCEEDED "Atomic Write Unit Exceeded",
        0x15 OPERATION_DENIED "Operation Denied",
        0x16 INVALID_SGL_OFFSET "SGL Offset Invalid",
        0x18 HOST_ID_INCONSISTENT_FORMAT "Host Identifier Inconsistent Format",
        0x19 KEEP_ALIVE_EXPIRED "Keep Alive Timer Expired",
        0x1a KEEP_ALIVE_INVALID "Keep Alive Timeout Invalid",
        0x1b ABORTED_PREEMPT "Command Aborted due to Preempt and Abort",
        0x1c SANITIZE_FAILED "Sanitize Failed",
        0x1d SANITIZE_IN_PROGRESS "Sanitize In Progress",
        0x1e SGL_GRANULARITY_INVALID "SGL Data Block Granularity Invalid",
        0x1f NOT_SUPPORTED_IN_CMB "Command Not Supported for Queue in CMB",
        0x20 NAMESPACE_WRITE_PROTECTED "Namespace is Write Protected",
        0x21 COMMAND_INTERRUPTED "Command Interrupted",
        0x22 TRANSIENT_TRANSPORT_ERROR "Transient Transport Error",
        0x23 PROHIBITED_BY_LOCKDOWN "Command Prohibited by Command and Feature Lockdown",
        0x24 ADMIN_COMMAND_MEDIA_NOT_READY "Admin Command Media Not Ready",
        0x80 LBA_OUT_OF_RANGE "LBA Out of Range",
        0x81 CAPACITY_EXCEEDED "Capacity Exceeded",
        0x82 NAMESPACE_NOT_READY "Namespace Not Ready",
        0x83 RESERVATION_CONFLICT "Reservation Conflict",
        0x84 FORMAT_IN_PROGRESS "Format In Progress",
    }
    1 {
        0x00 INVALID_CQ "Completion Queue Invalid",
        0x01 INVALID_QID "Invalid Queue Identifier",
        0x02 INVALID_QUEUE_SIZE "Invalid Queue Size",
        0x03 ABORT_LIMIT_EXCEEDED "Abort Command Limit Exceeded",
        0x05 AER_LIMIT_EXCEEDED "Asynchronous Event Request Limit Exceeded",
        0x06 INVALID_FIRMWARE_SLOT "Invalid Firmware Slot",
        0x07 INVALID_FIRMWARE_IMAGE "Invalid Firmware Image",
        0x08 INVALID_INTERRUPT_VECTOR "Invalid Interrupt Vector",
        0x09 INVALID_LOG_PAGE "Invalid Log Page",
        0x0a INVALID_FORMAT "Invalid Format",
        0x0b FIRMWARE_NEEDS_CONVENTIONAL_RESET "Firmware Activation Requires Conventional Reset",
        0x0c INVALID_QUEUE_DELETION "Invalid Queue Deletion",
        0x0d FEATURE_NOT_SAVEABLE "Feature Identifier Not Saveable",
        0x0e FEATURE_NOT_CHANGEABLE "Feature Not Changeable",
        0x0f FEATURE_NOT_NAMESPACE_SPECIFIC "Feature Not Namespace Specific",
        0x10 FIRMWARE_NEEDS_SUBSYSTEM_RESET "Firmware Activation Requires NVM Subsystem Reset",
        0x11 FIRMWARE_NEEDS_CONTROLLER_RESET "Firmware Activation Requires Controller Level Reset",
        0x12 FIRMWARE_NEEDS_MAXIMUM_TIME "Firmware Activation Requires Maximum Time Violation",
        0x13 FIRMWARE_ACTIVATION_PROHIBITED "Firmware Activation Prohibited",
        0x14 OVERLAPPING_RANGE "Overlapping Range",
        0x15 NAMESPACE_INSUFFICIENT_CAPACITY "Namespace Insufficient Capacity",
        0x16 NAMESPACE_ID_UNAVAILABLE "Namespace Identifier Unavailable",
        0x18 NAMESPACE_ALREADY_ATTACHED "Namespace Already Attached",
        0x19 NAMESPACE_IS_PRIVATE "Namespace Is Private",
        0x1a NAMESPACE_NOT_ATTACHED "Namespace Not Attached",
        0x1b THIN_PROVISIONING_NOT_SUPPORTED "Thin Provisioning Not Supported",
        0x1c CONTROLLER_LIST_INVALID "Controller List Invalid",
        0x1d SELF_TEST_IN_PROGRESS "Device Self-test In Progress",
        0x1e BOOT_PARTITION_WRITE_PROHIBITED "Boot Partition Write Prohibited",
        0x1f INVALID_CONTROLLER_ID "Invalid Controller Identifier",
        0x20 INVALID_SECONDARY_CONTROLLER_STATE "Invalid Secondary Controller State",
        0x21 INVALID_CONTROLLER_RESOURCES "Invalid Number of Controller Resources",
        0x22 INVALID_RESOURCE_ID "Invalid Resource Identifier",
        0x23 SANITIZE_PROHIBITED_BY_PMR "Sanitize Prohibited While Persistent Memory Region is Enabled",
        0x24 ANA_GROUP_ID_INVALID "ANA Group Identifier Invalid",
        0x25 ANA_ATTACH_FAILED "ANA Attach Failed",
        0x26 INSUFFICIENT_CAPACITY "Insufficient Capacity",
        0x27 NAMESPACE_ATTACHMENT_LIMIT_EXCEEDED "Namespace Attachment Limit Exceeded",
        0x28 PROHIBITION_NOT_SUPPORTED "Prohibition of Command Execution Not Supported",
        0x29 IO_COMMAND_SET_NOT_SUPPORTED "I/O Command Set Not Supported",
        0x2a IO_COMMAND_SET_NOT_ENABLED "I/O Command Set Not Enabled",
        0x2b IO_COMMAND_SET_COMBINATION_REJECTED "I/O Command Set Combination Rejected",
        0x2c INVALID_IO_COMMAND_SET "Invalid I/O Command Set",
        0x2d IDENTIFIER_UNAVAILABLE "Identifier Unavailable",
        0x80 CONFLICTING_ATTRIBUTES "Conflicting Attributes",
        0x81 INVALID_PROTECTION_INFORMATION "Invalid Protection Information",
        0x82 WRITE_TO_READ_ONLY_RANGE "Attempted Write to Read Only Range",
        0x83 COMMAND_SIZE_LIMIT_EXCEEDED "Command Size Limit Exceeded",
    }
    2 {
        0x80 WRITE_FAULT "Write Fault",
        0x81 UNRECOVERED_READ_ERROR "Unrecovered Read Error",
        0x82 GUARD_CHECK_ERROR "End-to-end Guard Check Error",
        0x83 APPLICATION_TAG_CHECK_ERROR "End-to-end Application Tag Check Error",
        0x84 REFERENCE_TAG_CHECK_ERROR "End-to-end Reference Tag Check Error",
        0x85 COMPARE_FAILURE "Compare Failure",
        0x86 ACCESS_DENIED "Access Denied",
        0x87 DEALLOCATED_OR_UNWRITTEN "Deallocated or Unwritten Logical Block",
        0x88 STORAGE_TAG_CHECK_ERROR "End-to-End Storage Tag Check Error",
    }
    3 {
        0x00 INTERNAL_PATH_ERROR "Internal Path Error",
        0x01 ASYMMETRIC_ACCESS_PERSISTENT_LOSS "Asymmetric Access Persistent Loss",
        0x02 ASYMMETRIC_ACCESS_INACCESSIBLE "Asymmetric Access Inaccessible",
        0x03 ASYMMETRIC_ACCESS_TRANSITION "Asymmetric Access Transition",
        0x60 CONTROLLER_PATHING_ERROR "Controller Pathing Error",
        0x70 HOST_PATHING_ERROR "Host Pathing Error",
        0x71 ABORTED_BY_HOST "Command Aborted By Host",
    }
}

impl Status {
    /// A status of a type (0 to 7, higher bits are dropped) and a code, with CRD, M and DNR clear.
    #[inline(always)]
    pub const fn new(sct: u8, sc: u8) -> Self {
        Self(sc as u16 | (sct as u16 & 7) << 8)
    }

    /// Takes the field as it stands in a completion, shifted down by the phase tag; bit 15 is dropped.
    #[inline(always)]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & FIELD)
    }

    /// The field, 15 bits.
    #[inline(always)]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Status code (SC), bits 7:0.
    #[inline(always)]
    pub const fn sc(self) -> u8 {
        self.0 as u8
    }

    /// Status code type (SCT), bits 10:8.
    #[inline(always)]
    pub const fn sct(self) -> u8 {
        (self.0 >> 8) as u8 & 7
    }

    /// Command retry delay (CRD), bits 12:11: which of the controller's delays applies, 0 for none.
    #[inline(always)]
    pub const fn crd(self) -> u8 {
        (self.0 >> 11) as u8 & 3
    }

    /// More (M), bit 13: the Error Information log holds more about this.
    #[inline(always)]
    pub const fn more(self) -> bool {
        self.0 & MORE != 0
    }

    /// Do not retry (DNR), bit 14: the same command would fail again.
    #[inline(always)]
    pub const fn dnr(self) -> bool {
        self.0 & DO_NOT_RETRY != 0
    }

    /// The same status with DNR set.
    #[inline(always)]
    pub const fn with_dnr(self) -> Self {
        Self(self.0 | DO_NOT_RETRY)
    }

    /// The same status with M set.
    #[inline(always)]
    pub const fn with_more(self) -> Self {
        Self(self.0 | MORE)
    }

    /// The status without CRD, M and DNR, to compare with a named one.
    #[inline(always)]
    pub const fn code(self) -> Self {
        Self(self.0 & CODE)
    }

    /// Whether the command succeeded: type and code are zero.
    #[inline(always)]
    pub const fn is_success(self) -> bool {
        self.0 & CODE == 0
    }
}

impl Default for Status {
    fn default() -> Self {
        Self::SUCCESS
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}/{:02X}h)", self.name(), self.sct(), self.sc())
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        match self.bits() >> 11 {
            0 => Ok(()),
            _ => write!(
                f,
                " CRD {} M {} DNR {}",
                self.crd(),
                self.more(),
                self.dnr()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_stand_above_the_code() {
        let status = Status::LBA_OUT_OF_RANGE;
        assert_eq!(status.bits(), 0x0080);
        assert_eq!(status.with_dnr().bits(), 0x4080);
        assert_eq!(status.with_more().bits(), 0x2080);
        assert_eq!(Status::from_bits(0x1880).crd(), 3);
        assert_eq!(status.with_dnr().code(), status);
        assert_eq!(Status::WRITE_FAULT.bits(), 0x0280);
    }

    #[test]
    fn success_is_success_whatever_the_flags() {
        assert!(Status::SUCCESS.with_more().is_success());
        assert!(
            !Status::INVALID_CQ.is_success(),
            "code 0 of another type is no success"
        );
    }

    #[test]
    fn a_status_prints_its_name_type_and_code() {
        assert_eq!(
            Status::LBA_OUT_OF_RANGE.to_string(),
            "LBA Out of Range (0/80h)"
        );
        assert_eq!(Status::new(6, 1).to_string(), "Unknown status (6/01h)");
    }

    #[test]
    fn no_two_names_share_a_code_and_every_name_is_found() {
        for (at, one) in Status::NAMED.iter().enumerate() {
            assert_ne!(one.name(), "Unknown status");
            for other in &Status::NAMED[at + 1..] {
                assert_ne!(one, other);
                assert_ne!(one.name(), other.name());
            }
        }
    }
}
