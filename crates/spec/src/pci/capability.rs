//! What all capabilities share, and power management.

use crate::layout::Field;

/// Capabilities in the first 256 bytes of configuration space.
pub mod capability_id {
    /// PCI Power Management.
    pub const POWER_MANAGEMENT: u8 = 0x01;
    /// MSI.
    pub const MSI: u8 = 0x05;
    /// Vendor-specific.
    pub const VENDOR_SPECIFIC: u8 = 0x09;
    /// PCI Express.
    pub const PCI_EXPRESS: u8 = 0x10;
    /// MSI-X.
    pub const MSIX: u8 = 0x11;
}

/// The byte that says which capability it is. It is written and never read: who parses a capability has found it by its
/// identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityId<const ID: u8>;

impl<const ID: u8> Field for CapabilityId<ID> {
    const BYTES: usize = 1;
    fn read(_: &[u8]) -> Self {
        Self
    }
    fn write(&self, bytes: &mut [u8]) {
        ID.write(bytes);
    }
}

bit_fields! {
    /// Power Management Capabilities (PMC) [PCI Express Base 5.0 §7.5.2.1 Power Management Capabilities Register].
    PowerCapabilities(u16) {
        /// Version; 3 in PCI Express.
        version, with_version: u8 = 2:0;
        /// PME Clock; 0 in PCI Express.
        pme_clock, with_pme_clock: bool = 3;
        /// Immediate Readiness on Return to D0.
        immediate_readiness, with_immediate_readiness: bool = 4;
        /// Device Specific Initialization.
        device_specific_initialization, with_device_specific_initialization: bool = 5;
        /// Aux_Current.
        aux_current, with_aux_current: u8 = 8:6;
        /// D1 is supported.
        d1, with_d1: bool = 9;
        /// D2 is supported.
        d2, with_d2: bool = 10;
        /// PME_Support: the states that can send PME, D0 in the lowest bit.
        pme_support, with_pme_support: u8 = 15:11;
    }
}

bit_fields! {
    /// Power Management Control/Status (PMCSR) [PCI Express Base 5.0 §7.5.2.2 Power Management Control/Status Register].
    PowerControl(u16) {
        /// PowerState: 0 for D0 to 3 for D3hot.
        power_state, with_power_state: u8 = 1:0;
        /// No_Soft_Reset: going from D3hot to D0 keeps what was set up.
        no_soft_reset, with_no_soft_reset: bool = 3;
        /// PME_En.
        pme_enable, with_pme_enable: bool = 8;
        /// Data_Select.
        data_select, with_data_select: u8 = 12:9;
        /// Data_Scale.
        data_scale, with_data_scale: u8 = 14:13;
        /// PME_Status.
        pme_status, with_pme_status: bool = 15;
    }
}

impl PowerControl {
    /// Bits that a host may write in a device that can send no PME and has no data register.
    pub const WRITABLE: u16 = 0x0003;
}

layout! {
    /// PCI Power Management capability [PCI Express Base 5.0 §7.5.2 PCI Power Management Capability Structure].
    PowerManagement[8] {
        /// Capability ID.
        0 => id: CapabilityId<{ capability_id::POWER_MANAGEMENT }>,
        /// Next Capability Pointer; 0 behind the last.
        1 => next: u8,
        /// Power Management Capabilities.
        2 => capabilities: PowerCapabilities,
        /// Power Management Control/Status.
        4 => control: PowerControl,
        /// Data; 0 where there is none.
        7 => data: u8,
    }
}

bit_fields! {
    /// The first double word of an extended capability [PCI Express Base 5.0 §7.6.3 PCI Express Extended Capability Header].
    ExtendedCapability(u32) {
        /// PCI Express Extended Capability ID.
        id, with_id: u16 = 15:0;
        /// Capability Version.
        version, with_version: u8 = 19:16;
        /// Next Capability Offset: from the start of configuration space, in bytes; 0 behind the last.
        next, with_next: u16 = 31:20;
    }
}

impl ExtendedCapability {
    /// What stands at [`EXTENDED_CAPABILITIES`](crate::pci::EXTENDED_CAPABILITIES) where there is no extended capability.
    pub const NONE: Self = Self::from_bits(0);
}
