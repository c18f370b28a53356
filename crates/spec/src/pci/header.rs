//! The configuration space header [PCI Express Base 5.0 §7.5.1 PCI-Compatible Configuration Registers].

use crate::layout::Series;

/// Where registers stand in configuration space, in bytes.
pub mod register {
    /// Vendor ID, 2 bytes.
    pub const VENDOR_ID: usize = 0x00;
    /// Device ID, 2 bytes.
    pub const DEVICE_ID: usize = 0x02;
    /// Command, 2 bytes.
    pub const COMMAND: usize = 0x04;
    /// Status, 2 bytes.
    pub const STATUS: usize = 0x06;
    /// Revision ID, 1 byte.
    pub const REVISION_ID: usize = 0x08;
    /// Class Code, 3 bytes.
    pub const CLASS_CODE: usize = 0x09;
    /// Cache Line Size, 1 byte.
    pub const CACHE_LINE_SIZE: usize = 0x0c;
    /// Header Type, 1 byte.
    pub const HEADER_TYPE: usize = 0x0e;
    /// Base Address Register 0, 4 bytes; the other five follow.
    pub const BAR0: usize = 0x10;
    /// Base Address Register 1, 4 bytes.
    pub const BAR1: usize = 0x14;
    /// Subsystem Vendor ID, 2 bytes.
    pub const SUBSYSTEM_VENDOR_ID: usize = 0x2c;
    /// Subsystem ID, 2 bytes.
    pub const SUBSYSTEM_ID: usize = 0x2e;
    /// Expansion ROM Base Address, 4 bytes.
    pub const EXPANSION_ROM: usize = 0x30;
    /// Capabilities Pointer, 1 byte.
    pub const CAPABILITIES_POINTER: usize = 0x34;
    /// Interrupt Line, 1 byte.
    pub const INTERRUPT_LINE: usize = 0x3c;
    /// Interrupt Pin, 1 byte.
    pub const INTERRUPT_PIN: usize = 0x3d;
}

bit_fields! {
    /// Command [PCI Express Base 5.0 §7.5.1.1.3 Command Register].
    CommandRegister(u16) {
        /// I/O Space Enable: the device answers in I/O space.
        io_space, with_io_space: bool = 0;
        /// Memory Space Enable: the device answers in memory space.
        memory_space, with_memory_space: bool = 1;
        /// Bus Master Enable: the device may read and write memory and send MSI and MSI-X.
        bus_master, with_bus_master: bool = 2;
        /// Parity Error Response.
        parity_error_response, with_parity_error_response: bool = 6;
        /// SERR# Enable.
        serr, with_serr: bool = 8;
        /// Interrupt Disable: the device may not use INTx.
        interrupt_disable, with_interrupt_disable: bool = 10;
    }
}

impl CommandRegister {
    /// Bits that a host may write. I/O Space Enable stays 0 in a device without I/O space.
    pub const WRITABLE: u16 = 0x0547;
}

bit_fields! {
    /// Status [PCI Express Base 5.0 §7.5.1.1.4 Status Register].
    StatusRegister(u16) {
        /// Immediate Readiness: no wait is needed after a reset.
        immediate_readiness, with_immediate_readiness: bool = 0;
        /// Interrupt Status: an INTx interrupt is pending.
        interrupt, with_interrupt: bool = 3;
        /// Capabilities List; 1 in every PCI Express device.
        capabilities_list, with_capabilities_list: bool = 4;
        /// Master Data Parity Error.
        master_data_parity_error, with_master_data_parity_error: bool = 8;
        /// Signaled Target Abort.
        signaled_target_abort, with_signaled_target_abort: bool = 11;
        /// Received Target Abort.
        received_target_abort, with_received_target_abort: bool = 12;
        /// Received Master Abort.
        received_master_abort, with_received_master_abort: bool = 13;
        /// Signaled System Error.
        signaled_system_error, with_signaled_system_error: bool = 14;
        /// Detected Parity Error.
        detected_parity_error, with_detected_parity_error: bool = 15;
    }
}

impl StatusRegister {
    /// Bits that a host clears by writing one.
    pub const CLEARED_BY_ONE: u16 = 0xf900;
}

layout! {
    /// Class Code [PCI Express Base 5.0 §7.5.1.1.6 Class Code Register].
    ClassCode[3] {
        /// Programming interface.
        0 => interface: u8,
        /// Sub-class.
        1 => subclass: u8,
        /// Base class.
        2 => base: u8,
    }
}

impl ClassCode {
    /// Mass storage (01h), non-volatile memory (08h), NVM Express I/O controller (02h).
    pub const NVME: Self = Self {
        interface: 0x02,
        subclass: 0x08,
        base: 0x01,
    };
}

bit_fields! {
    /// Header Type [PCI Express Base 5.0 §7.5.1.1.9 Header Type Register].
    HeaderType(u8) {
        /// Header Layout: 0 for an endpoint, 1 for a bridge.
        layout, with_layout: u8 = 6:0;
        /// Multi-Function Device.
        multi_function, with_multi_function: bool = 7;
    }
}

bit_fields! {
    /// One Base Address Register (BAR) [PCI Express Base 5.0 §7.5.1.2.1 Base Address Registers].
    Bar(u32) {
        /// Memory Space Indicator: true for I/O space. Then only bits 31:2 are the address.
        io, with_io: bool = 0;
        /// Type: [`Bar::TYPE_32`] or [`Bar::TYPE_64`].
        kind, with_kind: u8 = 2:1;
        /// Prefetchable.
        prefetchable, with_prefetchable: bool = 3;
        /// Base Address in units of 16 bytes; of the second register of a 64-bit pair, [`Bar::bits`] is the address.
        base, with_base: u32 = 31:4;
    }
}

impl Bar {
    /// The address has 32 bits.
    pub const TYPE_32: u8 = 0;
    /// The address has 64 bits: the upper 32 are the register that follows.
    pub const TYPE_64: u8 = 2;

    /// The pair of registers for memory at a 64-bit address, whose lower four bits are not looked at.
    pub const fn memory_64(address: u64, prefetchable: bool) -> [Self; 2] {
        let low = Self::from_bits(0)
            .with_kind(Self::TYPE_64)
            .with_prefetchable(prefetchable)
            .with_base((address as u32) >> 4);
        [low, Self::from_bits((address >> 32) as u32)]
    }

    /// The 64-bit address in this register of type [`Bar::TYPE_64`] and the one that follows.
    pub const fn address_64(self, upper: Self) -> u64 {
        (upper.bits() as u64) << 32 | (self.base() << 4) as u64
    }

    /// The bits that a host may write in a pair of registers for `bytes` bytes of memory, first register first. A host that
    /// writes ones finds the size by what reads as zero.
    ///
    /// # Panics
    /// If `bytes` is no power of two or less than 16.
    pub const fn writable_64(bytes: u64) -> [u32; 2] {
        assert!(
            bytes.is_power_of_two() && bytes >= 16,
            "a BAR has a power of two of bytes, at least 16"
        );
        let mask = !(bytes - 1);
        [mask as u32, (mask >> 32) as u32]
    }
}

layout! {
    /// The header of an endpoint [PCI Express Base 5.0 §7.5.1.2 Type 0 Configuration Space Header].
    ConfigHeader[64] {
        /// Vendor ID.
        0 => vendor_id: u16,
        /// Device ID.
        2 => device_id: u16,
        /// Command.
        4 => command: CommandRegister,
        /// Status.
        6 => status: StatusRegister,
        /// Revision ID.
        8 => revision_id: u8,
        /// Class Code.
        9 => class_code: ClassCode,
        /// Cache Line Size; a host may write it, and it means nothing.
        12 => cache_line_size: u8,
        /// Latency Timer; 0 in PCI Express.
        13 => latency_timer: u8,
        /// Header Type.
        14 => header_type: HeaderType,
        /// Built-in self test; 0 where there is none.
        15 => bist: u8,
        /// Base Address Registers 0 to 5.
        16 => bars: Series<Bar, 6>,
        /// Cardbus CIS Pointer; 0 in PCI Express.
        40 => cardbus_cis: u32,
        /// Subsystem Vendor ID.
        44 => subsystem_vendor_id: u16,
        /// Subsystem ID.
        46 => subsystem_id: u16,
        /// Expansion ROM Base Address; 0 where there is none.
        48 => expansion_rom: u32,
        /// Capabilities Pointer: where the first capability is in configuration space, in bytes; a multiple of 4.
        52 => capabilities_pointer: u8,
        /// Interrupt Line: the host's own note; it may write all of it.
        60 => interrupt_line: u8,
        /// Interrupt Pin: 1 for INTA to 4 for INTD, 0 for none.
        61 => interrupt_pin: u8,
        /// Min_Gnt; 0 in PCI Express.
        62 => min_gnt: u8,
        /// Max_Lat; 0 in PCI Express.
        63 => max_lat: u8,
    }
}
