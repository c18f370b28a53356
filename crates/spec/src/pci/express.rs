//! The PCI Express capability of an endpoint [PCI Express Base 5.0 §7.5.3 PCI Express Capability Structure].

use crate::pci::capability::{CapabilityId, capability_id};

bit_fields! {
    /// PCI Express Capabilities [PCI Express Base 5.0 §7.5.3.2 PCI Express Capabilities Register].
    ExpressCapabilities(u16) {
        /// Capability Version: 2.
        version, with_version: u8 = 3:0;
        /// Device/Port Type: 0 for an endpoint, 9 for one that is integrated into the root complex.
        port_type, with_port_type: u8 = 7:4;
        /// Slot Implemented; 0 in an endpoint.
        slot, with_slot: bool = 8;
        /// Interrupt Message Number.
        interrupt_message, with_interrupt_message: u8 = 13:9;
    }
}

impl ExpressCapabilities {
    /// An endpoint with registers as this module lays them out.
    pub const ENDPOINT: Self = Self::from_bits(2);
}

bit_fields! {
    /// Device Capabilities [PCI Express Base 5.0 §7.5.3.3 Device Capabilities Register].
    DeviceCapabilities(u32) {
        /// Max_Payload_Size Supported: 128 bytes shifted left by this.
        max_payload, with_max_payload: u8 = 2:0;
        /// Phantom Functions Supported.
        phantom_functions, with_phantom_functions: u8 = 4:3;
        /// Extended Tag Field Supported.
        extended_tag, with_extended_tag: bool = 5;
        /// Endpoint L0s Acceptable Latency.
        l0s_latency, with_l0s_latency: u8 = 8:6;
        /// Endpoint L1 Acceptable Latency.
        l1_latency, with_l1_latency: u8 = 11:9;
        /// Role-Based Error Reporting; 1 in every device.
        role_based_error_reporting, with_role_based_error_reporting: bool = 15;
        /// Captured Slot Power Limit Value.
        slot_power_value, with_slot_power_value: u8 = 25:18;
        /// Captured Slot Power Limit Scale.
        slot_power_scale, with_slot_power_scale: u8 = 27:26;
        /// Function Level Reset Capability.
        function_level_reset, with_function_level_reset: bool = 28;
    }
}

bit_fields! {
    /// Device Control [PCI Express Base 5.0 §7.5.3.4 Device Control Register].
    DeviceControl(u16) {
        /// Correctable Error Reporting Enable.
        correctable, with_correctable: bool = 0;
        /// Non-Fatal Error Reporting Enable.
        non_fatal, with_non_fatal: bool = 1;
        /// Fatal Error Reporting Enable.
        fatal, with_fatal: bool = 2;
        /// Unsupported Request Reporting Enable.
        unsupported_request, with_unsupported_request: bool = 3;
        /// Enable Relaxed Ordering.
        relaxed_ordering, with_relaxed_ordering: bool = 4;
        /// Max_Payload_Size: 128 bytes shifted left by this.
        max_payload, with_max_payload: u8 = 7:5;
        /// Extended Tag Field Enable.
        extended_tag, with_extended_tag: bool = 8;
        /// Phantom Functions Enable.
        phantom_functions, with_phantom_functions: bool = 9;
        /// Aux Power PM Enable.
        aux_power, with_aux_power: bool = 10;
        /// Enable No Snoop.
        no_snoop, with_no_snoop: bool = 11;
        /// Max_Read_Request_Size: 128 bytes shifted left by this.
        max_read_request, with_max_read_request: u8 = 14:12;
        /// Initiate Function Level Reset: acts when one is written, reads as zero.
        function_level_reset, with_function_level_reset: bool = 15;
    }
}

impl DeviceControl {
    /// Bits that a host may write in a device without phantom functions and auxiliary power. Initiate Function Level Reset
    /// is not among them, since it keeps no value.
    pub const WRITABLE: u16 = 0x79ff;
    /// Relaxed ordering and no snoop enabled, read requests of 512 bytes.
    pub const RESET: Self = Self::from_bits(0x2810);
}

bit_fields! {
    /// Device Status [PCI Express Base 5.0 §7.5.3.5 Device Status Register].
    DeviceStatus(u16) {
        /// Correctable Error Detected.
        correctable, with_correctable: bool = 0;
        /// Non-Fatal Error Detected.
        non_fatal, with_non_fatal: bool = 1;
        /// Fatal Error Detected.
        fatal, with_fatal: bool = 2;
        /// Unsupported Request Detected.
        unsupported_request, with_unsupported_request: bool = 3;
        /// AUX Power Detected.
        aux_power, with_aux_power: bool = 4;
        /// Transactions Pending.
        transactions_pending, with_transactions_pending: bool = 5;
    }
}

impl DeviceStatus {
    /// Bits that a host clears by writing one.
    pub const CLEARED_BY_ONE: u16 = 0x000f;
}

bit_fields! {
    /// Link Capabilities [PCI Express Base 5.0 §7.5.3.6 Link Capabilities Register].
    LinkCapabilities(u32) {
        /// Max Link Speed: 1 for 2.5 GT/s, 2 for 5, 3 for 8, 4 for 16, 5 for 32.
        max_speed, with_max_speed: u8 = 3:0;
        /// Maximum Link Width: lanes.
        max_width, with_max_width: u8 = 9:4;
        /// Active State Power Management (ASPM) Support.
        aspm, with_aspm: u8 = 11:10;
        /// L0s Exit Latency.
        l0s_exit, with_l0s_exit: u8 = 14:12;
        /// L1 Exit Latency.
        l1_exit, with_l1_exit: u8 = 17:15;
        /// Clock Power Management.
        clock_power_management, with_clock_power_management: bool = 18;
        /// ASPM Optionality Compliance; 1 in every device.
        aspm_optionality, with_aspm_optionality: bool = 22;
        /// Port Number.
        port_number, with_port_number: u8 = 31:24;
    }
}

bit_fields! {
    /// Link Control [PCI Express Base 5.0 §7.5.3.7 Link Control Register].
    LinkControl(u16) {
        /// ASPM Control.
        aspm, with_aspm: u8 = 1:0;
        /// Read Completion Boundary.
        read_completion_boundary, with_read_completion_boundary: bool = 3;
        /// Common Clock Configuration.
        common_clock, with_common_clock: bool = 6;
        /// Extended Synch.
        extended_synch, with_extended_synch: bool = 7;
        /// Enable Clock Power Management.
        clock_power_management, with_clock_power_management: bool = 8;
        /// Hardware Autonomous Width Disable.
        autonomous_width_disable, with_autonomous_width_disable: bool = 9;
    }
}

impl LinkControl {
    /// Bits that a host may write in an endpoint without clock power management and autonomous width.
    pub const WRITABLE: u16 = 0x00cb;
}

bit_fields! {
    /// Link Status [PCI Express Base 5.0 §7.5.3.8 Link Status Register].
    LinkStatus(u16) {
        /// Current Link Speed, coded like [`LinkCapabilities::max_speed`].
        speed, with_speed: u8 = 3:0;
        /// Negotiated Link Width: lanes.
        width, with_width: u8 = 9:4;
        /// Slot Clock Configuration.
        slot_clock, with_slot_clock: bool = 12;
    }
}

bit_fields! {
    /// Device Capabilities 2 [PCI Express Base 5.0 §7.5.3.15 Device Capabilities 2 Register].
    DeviceCapabilities2(u32) {
        /// Completion Timeout Ranges Supported.
        completion_timeout_ranges, with_completion_timeout_ranges: u8 = 3:0;
        /// Completion Timeout Disable Supported; 1 in every endpoint that sends requests.
        completion_timeout_disable, with_completion_timeout_disable: bool = 4;
        /// LTR Mechanism Supported.
        ltr, with_ltr: bool = 11;
    }
}

bit_fields! {
    /// Device Control 2 [PCI Express Base 5.0 §7.5.3.16 Device Control 2 Register].
    DeviceControl2(u16) {
        /// Completion Timeout Value.
        completion_timeout, with_completion_timeout: u8 = 3:0;
        /// Completion Timeout Disable.
        completion_timeout_disable, with_completion_timeout_disable: bool = 4;
        /// LTR Mechanism Enable.
        ltr, with_ltr: bool = 10;
    }
}

impl DeviceControl2 {
    /// Bits that a host may write in a device that can switch its completion timeout off and can do nothing else that has
    /// a bit here.
    pub const WRITABLE: u16 = 0x0010;
}

bit_fields! {
    /// Link Capabilities 2 [PCI Express Base 5.0 §7.5.3.18 Link Capabilities 2 Register].
    LinkCapabilities2(u32) {
        /// Supported Link Speeds Vector: 2.5 GT/s in the lowest bit, then 5, 8, 16, 32.
        speeds, with_speeds: u8 = 7:1;
    }
}

bit_fields! {
    /// Link Control 2 [PCI Express Base 5.0 §7.5.3.19 Link Control 2 Register].
    LinkControl2(u16) {
        /// Target Link Speed, coded like [`LinkCapabilities::max_speed`].
        target_speed, with_target_speed: u8 = 3:0;
    }
}

layout! {
    /// The capability, whose registers for slots and roots are reserved in an endpoint.
    PciExpress[60] {
        /// Capability ID.
        0 => id: CapabilityId<{ capability_id::PCI_EXPRESS }>,
        /// Next Capability Pointer; 0 behind the last.
        1 => next: u8,
        /// PCI Express Capabilities.
        2 => capabilities: ExpressCapabilities,
        /// Device Capabilities.
        4 => device_capabilities: DeviceCapabilities,
        /// Device Control.
        8 => device_control: DeviceControl,
        /// Device Status.
        10 => device_status: DeviceStatus,
        /// Link Capabilities.
        12 => link_capabilities: LinkCapabilities,
        /// Link Control.
        16 => link_control: LinkControl,
        /// Link Status.
        18 => link_status: LinkStatus,
        /// Device Capabilities 2.
        36 => device_capabilities_2: DeviceCapabilities2,
        /// Device Control 2.
        40 => device_control_2: DeviceControl2,
        /// Link Capabilities 2.
        44 => link_capabilities_2: LinkCapabilities2,
        /// Link Control 2.
        48 => link_control_2: LinkControl2,
        /// Link Status 2.
        50 => link_status_2: u16,
    }
}
