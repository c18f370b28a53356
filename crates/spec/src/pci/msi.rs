//! Interrupts that are writes to memory: MSI and MSI-X.

use crate::pci::capability::{CapabilityId, capability_id};
use crate::types::ZeroBased;

bit_fields! {
    /// Message Control of MSI [PCI Express Base 5.0 §7.7.1.2 Message Control Register for MSI].
    MsiControl(u16) {
        /// MSI Enable.
        enable, with_enable: bool = 0;
        /// Multiple Message Capable: the device has 2 to the power of this many vectors, at most 5.
        multiple_message_capable, with_multiple_message_capable: u8 = 3:1;
        /// Multiple Message Enable: the host grants 2 to the power of this many vectors.
        multiple_message_enable, with_multiple_message_enable: u8 = 6:4;
        /// 64-bit Address Capable.
        address_64, with_address_64: bool = 7;
        /// Per-Vector Masking Capable.
        maskable, with_maskable: bool = 8;
    }
}

impl MsiControl {
    /// Bits that a host may write.
    pub const WRITABLE: u16 = 0x0071;
}

layout! {
    /// MSI capability with 64-bit addresses and without masking; what `control` says must agree
    /// [PCI Express Base 5.0 §7.7.1 MSI Capability Structures].
    MsiCapability[14] {
        /// Capability ID.
        0 => id: CapabilityId<{ capability_id::MSI }>,
        /// Next Capability Pointer; 0 behind the last.
        1 => next: u8,
        /// Message Control.
        2 => control: MsiControl,
        /// Message Address; the lower two bits are 0.
        4 => address: u64,
        /// Message Data; the device changes the lower bits to say which vector.
        12 => data: u16,
    }
}

impl MsiCapability {
    /// Bits of the address that a host may write.
    pub const ADDRESS_WRITABLE: u64 = 0xffff_ffff_ffff_fffc;
}

layout! {
    /// MSI capability with 64-bit addresses and masking; what `control` says must agree
    /// [PCI Express Base 5.0 §7.7.1 MSI Capability Structures].
    MaskableMsiCapability[24] {
        /// Capability ID.
        0 => id: CapabilityId<{ capability_id::MSI }>,
        /// Next Capability Pointer; 0 behind the last.
        1 => next: u8,
        /// Message Control.
        2 => control: MsiControl,
        /// Message Address; the lower two bits are 0.
        4 => address: u64,
        /// Message Data; the device changes the lower bits to say which vector.
        12 => data: u16,
        /// Mask Bits, one for each vector; a host may write those of vectors that there are.
        16 => mask: u32,
        /// Pending Bits, one for each vector; read-only.
        20 => pending: u32,
    }
}

bit_fields! {
    /// Message Control of MSI-X [PCI Express Base 5.0 §7.7.2.2 Message Control Register for MSI-X].
    MsixControl(u16) {
        /// Table Size, 0's based: the table has one more entry than this.
        size, with_size: u16 = 10:0;
        /// Function Mask: every vector is masked.
        function_mask, with_function_mask: bool = 14;
        /// MSI-X Enable.
        enable, with_enable: bool = 15;
    }
}

impl MsixControl {
    /// Bits that a host may write.
    pub const WRITABLE: u16 = 0xc000;
    /// The most entries that a table has.
    pub const ENTRIES_MAX: u32 = 2048;

    /// Table Size as a count of entries, 1 to 2048.
    pub const fn entries(self) -> ZeroBased<u16> {
        ZeroBased::<u16>::new(self.size())
    }

    /// The same word for a table of so many entries.
    ///
    /// # Panics
    /// If there are more than 2048.
    pub const fn with_entries(self, entries: ZeroBased<u16>) -> Self {
        self.with_size(entries.raw())
    }
}

bit_fields! {
    /// Where a table is [PCI Express Base 5.0 §7.7.2.3 Table Offset/Table BIR Register for MSI-X].
    TableLocation(u32) {
        /// BAR Indicator Register (BIR): the number of the base address register, 0 to 5; of a pair the lower one.
        bir, with_bir: u8 = 2:0;
        /// Offset in what the register names, in units of 8 bytes.
        units, with_units: u32 = 31:3;
    }
}

impl TableLocation {
    /// A place by its base address register and its offset in bytes, whose lower three bits are not looked at.
    ///
    /// # Panics
    /// If the register's number does not fit three bits.
    pub const fn new(bir: u8, offset: u32) -> Self {
        Self::from_bits(0).with_bir(bir).with_units(offset >> 3)
    }

    /// Offset in what the register names, in bytes; a multiple of 8.
    pub const fn offset(self) -> u32 {
        self.units() << 3
    }
}

layout! {
    /// MSI-X capability [PCI Express Base 5.0 §7.7.2 MSI-X Capability and Table Structure].
    MsixCapability[12] {
        /// Capability ID.
        0 => id: CapabilityId<{ capability_id::MSIX }>,
        /// Next Capability Pointer; 0 behind the last.
        1 => next: u8,
        /// Message Control.
        2 => control: MsixControl,
        /// Table Offset and BIR: where the entries are.
        4 => table: TableLocation,
        /// PBA Offset and BIR: where the pending bits are.
        8 => pending: TableLocation,
    }
}

bit_fields! {
    /// Vector Control [PCI Express Base 5.0 §7.7.2.8 Vector Control Register for MSI-X Table Entries].
    VectorControl(u32) {
        /// Mask Bit: the vector may not be sent.
        masked, with_masked: bool = 0;
    }
}

impl VectorControl {
    /// What every entry holds after a reset: masked.
    pub const RESET: Self = Self::from_bits(1);
    /// Bits that a host may write.
    pub const WRITABLE: u32 = 1;
}

layout! {
    /// One entry of the MSI-X table [PCI Express Base 5.0 §7.7.2 MSI-X Capability and Table Structure].
    MsixEntry[16] {
        /// Message Address and Message Upper Address; the lower two bits are 0.
        0 => address: u64,
        /// Message Data.
        8 => data: u32,
        /// Vector Control.
        12 => control: VectorControl,
    }
}

impl MsixEntry {
    /// Bits of the address that a host may write.
    pub const ADDRESS_WRITABLE: u64 = 0xffff_ffff_ffff_fffc;
}

/// Bytes of a Pending Bit Array: a bit for each entry of the table, in whole words of 8 bytes
/// [PCI Express Base 5.0 §7.7.2 MSI-X Capability and Table Structure].
pub const fn pending_bytes(entries: ZeroBased<u16>) -> u32 {
    entries.count().div_ceil(64) * 8
}
