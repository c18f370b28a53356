//! PCI Express configuration space: the header of an endpoint, its capabilities, the MSI-X table.
//!
//! A constant `WRITABLE` has the bits of its register that a host may write; `CLEARED_BY_ONE` has those that a host clears
//! by writing one. All other bits are read-only, whatever is written.

pub mod capability;
pub mod express;
pub mod header;
pub mod msi;

pub use capability::{
    CapabilityId, ExtendedCapability, PowerCapabilities, PowerControl, PowerManagement,
    capability_id,
};
pub use express::{
    DeviceCapabilities, DeviceCapabilities2, DeviceControl, DeviceControl2, DeviceStatus,
    ExpressCapabilities, LinkCapabilities, LinkCapabilities2, LinkControl, LinkControl2,
    LinkStatus, PciExpress,
};
pub use header::{
    Bar, ClassCode, CommandRegister, ConfigHeader, HeaderType, StatusRegister, register,
};
pub use msi::{
    MaskableMsiCapability, MsiCapability, MsiControl, MsixCapability, MsixControl, MsixEntry,
    TableLocation, VectorControl, pending_bytes,
};

/// Bytes of configuration space as PCI has it: the header and the capabilities.
pub const CONFIG_BYTES: usize = 256;

/// Bytes of configuration space as PCI Express has it: the above and the extended capabilities.
pub const EXTENDED_CONFIG_BYTES: usize = 4096;

/// Where the extended capabilities begin in configuration space.
pub const EXTENDED_CAPABILITIES: usize = 256;
