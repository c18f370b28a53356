//! Identify and its data structures [NVMe Base 2.0 §5.17 Identify command], [NVM Command Set 1.0 §4.1.5 Identify Command].

mod capability;
mod controller;
mod list;
mod namespace;

pub use capability::{
    AnaCapabilities, AsyncEventsSupported, ControllerAttributes, ControllerType, EntrySizes,
    FirmwareUpdates, FormatAttributes, FusedOperations, LogPageAttributes, MultiPath,
    OptionalAdminCommands, OptionalNvmCommands, ReplayProtectedMemory, SanitizeCapabilities,
    SglSupport, SubsystemReport, Supported, ThermalManagementSupport, VolatileWriteCache,
    WriteProtection,
};
pub use controller::{
    IdentifyController, NvmIdentifyController, PowerScale, PowerState, PowerStateFlags, PowerStates,
};
pub use list::{CommandSetVector, IoCommandSets, NamespaceDescriptors, NamespaceIdList};
pub use namespace::{
    DeallocateFeatures, ExtendedLbaFormat, FormatIndex, FormatProgress, IdentifyNamespace,
    IndependentNamespace, LbaFormat, LbaFormats, MetadataCapabilities, NamespaceAttributes,
    NamespaceFeatures, NamespaceSharing, NamespaceStatus, NvmIdentifyNamespace,
    ProtectionCapabilities, ProtectionSettings, RelativePerformance, ReservationCapabilities,
};

/// Bytes of every Identify data structure.
pub const IDENTIFY_BYTES: usize = 4096;

/// Controller or Namespace Structure (CNS): which data structure an Identify command asks for.
pub mod cns {
    named_codes! { "Unknown structure",
        0x00 NAMESPACE "Identify Namespace",
        0x01 CONTROLLER "Identify Controller",
        0x02 ACTIVE_NAMESPACES "Active Namespace ID list",
        0x03 NAMESPACE_DESCRIPTORS "Namespace Identification Descriptor list",
        0x04 NVM_SETS "NVM Set List",
        0x05 COMMAND_SET_NAMESPACE "I/O Command Set specific Identify Namespace",
        0x06 COMMAND_SET_CONTROLLER "I/O Command Set specific Identify Controller",
        0x07 COMMAND_SET_ACTIVE_NAMESPACES "I/O Command Set specific Active Namespace ID list",
        0x08 INDEPENDENT_NAMESPACE "I/O Command Set Independent Identify Namespace",
        0x10 ALLOCATED_NAMESPACES "Allocated Namespace ID list",
        0x11 ALLOCATED_NAMESPACE "Identify Namespace for an allocated Namespace ID",
        0x12 NAMESPACE_CONTROLLERS "Namespace Attached Controller list",
        0x13 CONTROLLERS "Controller list",
        0x14 PRIMARY_CONTROLLER_CAPABILITIES "Primary Controller Capabilities",
        0x15 SECONDARY_CONTROLLERS "Secondary Controller list",
        0x16 NAMESPACE_GRANULARITY "Namespace Granularity List",
        0x17 UUIDS "UUID List",
        0x18 DOMAINS "Domain List",
        0x19 ENDURANCE_GROUPS "Endurance Group List",
        0x1a COMMAND_SET_ALLOCATED_NAMESPACES "I/O Command Set specific Allocated Namespace ID list",
        0x1b COMMAND_SET_ALLOCATED_NAMESPACE "I/O Command Set specific Identify Namespace for an allocated Namespace ID",
        0x1c COMMAND_SETS "Identify I/O Command Set",
    }
}

/// Command Set Identifier (CSI) of the NVM command set.
pub const CSI_NVM: u8 = 0x00;
