//! Identify Namespace data structures.

use crate::layout::Series;
use crate::types::{BlockCount, ZeroBased};

/// The 64 LBA formats of a namespace.
pub type LbaFormats = Series<LbaFormat, 64>;

bit_fields! {
    /// Namespace Features (NSFEAT).
    NamespaceFeatures(u8) {
        /// Thin provisioning (THINP).
        thin, with_thin: bool = 0;
        /// The namespace has atomic write units of its own: NAWUN, NAWUPF and NACWU (NSABP).
        own_atomics, with_own_atomics: bool = 1;
        /// Deallocated or Unwritten Logical Block error (DAE).
        deallocated_error, with_deallocated_error: bool = 2;
        /// NGUID and EUI64 are never used again (UIDREUSE).
        identifiers_not_reused, with_identifiers_not_reused: bool = 3;
        /// NPWG, NPWA, NPDG, NPDA and NOWS are reported (OPTPERF).
        preferred_sizes, with_preferred_sizes: bool = 4;
    }
}

bit_fields! {
    /// Formatted LBA Size (FLBAS).
    FormatIndex(u8) {
        /// Low bits of the index of the LBA format in use.
        low, with_low: u8 = 3:0;
        /// Metadata is transferred at the end of each block, rather than in a buffer of its own.
        extended, with_extended: bool = 4;
        /// High bits of the index, valid if there are more than 16 formats.
        high, with_high: u8 = 6:5;
    }
}

bit_fields! {
    /// Deallocate Logical Block Features (DLFEAT).
    DeallocateFeatures(u8) {
        /// What a deallocated block reads as: 0 not reported, 1 zeros, 2 all bits set.
        read_as, with_read_as: u8 = 2:0;
        /// Write Zeroes takes the Deallocate bit.
        write_zeroes_deallocate, with_write_zeroes_deallocate: bool = 3;
        /// The guard of a deallocated block is the CRC of what it reads as, rather than FFFFh.
        guard_is_crc, with_guard_is_crc: bool = 4;
    }
}

impl DeallocateFeatures {
    /// `read_as`: a deallocated block reads as zeros.
    pub const READS_ZEROS: u8 = 0b001;
    /// `read_as`: a deallocated block reads as bytes of FFh.
    pub const READS_ONES: u8 = 0b010;
}

bit_fields! {
    /// Namespace Multi-path I/O and Namespace Sharing Capabilities (NMIC).
    NamespaceSharing(u8) {
        /// Several controllers may be attached at a time.
        shared, with_shared: bool = 0;
    }
}

bit_fields! {
    /// Format Progress Indicator (FPI).
    FormatProgress(u8) {
        /// Per cent that remain to be formatted.
        remaining, with_remaining: u8 = 6:0;
        /// The indicator is supported.
        supported, with_supported: bool = 7;
    }
}

bit_fields! {
    /// Namespace Attributes (NSATTR).
    NamespaceAttributes(u8) {
        /// The namespace is write protected at the moment.
        write_protected, with_write_protected: bool = 0;
    }
}

bit_fields! {
    /// Namespace Status (NSTAT) of the I/O Command Set Independent Identify Namespace data structure.
    NamespaceStatus(u8) {
        /// Namespace Ready (NRDY).
        ready, with_ready: bool = 0;
    }
}

bit_fields! {
    /// Metadata Capabilities (MC).
    MetadataCapabilities(u8) {
        /// Metadata can be transferred at the end of each block.
        extended, with_extended: bool = 0;
        /// Metadata can be transferred in a buffer of its own.
        separate, with_separate: bool = 1;
    }
}

bit_fields! {
    /// End-to-end Data Protection Capabilities (DPC).
    ProtectionCapabilities(u8) {
        /// Protection information type 1.
        type_1, with_type_1: bool = 0;
        /// Protection information type 2.
        type_2, with_type_2: bool = 1;
        /// Protection information type 3.
        type_3, with_type_3: bool = 2;
        /// Protection information in the first bytes of metadata.
        first_bytes, with_first_bytes: bool = 3;
        /// Protection information in the last bytes of metadata.
        last_bytes, with_last_bytes: bool = 4;
    }
}

bit_fields! {
    /// End-to-end Data Protection Type Settings (DPS).
    ProtectionSettings(u8) {
        /// Protection information type in use, 0 for none.
        protection_type, with_protection_type: u8 = 2:0;
        /// Protection information is in the first bytes of metadata.
        first_bytes, with_first_bytes: bool = 3;
    }
}

bit_fields! {
    /// Reservation Capabilities (RESCAP).
    ReservationCapabilities(u8) {
        /// Persist Through Power Loss.
        persist, with_persist: bool = 0;
        /// Reservation types, a bit per type from Write Exclusive on.
        types, with_types: u8 = 6:1;
        /// Ignore Existing Key is used as revision 1.3 and later define it.
        ignore_existing_key, with_ignore_existing_key: bool = 7;
    }
}

bit_fields! {
    /// Extended LBA Format (ELBAF) [NVM Command Set 1.0, figure "Extended LBA Format Data Structure"].
    ExtendedLbaFormat(u32) {
        /// Storage Tag Size (STS) in bits.
        storage_tag_bits, with_storage_tag_bits: u8 = 6:0;
        /// Protection Information Format (PIF): 0 a guard of 16 bits, 1 of 32 bits, 2 of 64 bits.
        protection_format, with_protection_format: u8 = 8:7;
    }
}

/// Relative Performance (RP) of an LBA format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativePerformance {
    /// 00b.
    Best,
    /// 01b.
    Better,
    /// 10b.
    Good,
    /// 11b.
    Degraded,
}

bit_fields! {
    /// LBA Format [NVM Command Set 1.0 §4.1.5.1, figure "LBA Format Data Structure"].
    LbaFormat(u32) {
        /// Metadata Size: bytes per logical block.
        ms, with_ms: u16 = 15:0;
        /// LBA Data Size as a power of two; 0 if the format is not available, else at least 9.
        lbads, with_lbads: u8 = 23:16;
        /// Relative Performance: 0 best to 3 degraded.
        rp, with_rp: u8 = 25:24;
    }
}

impl LbaFormat {
    /// Blocks of `1 << shift` bytes without metadata.
    pub const fn plain(shift: u8) -> Self {
        Self::from_bits(0).with_lbads(shift)
    }

    /// Bytes of data in a block, or `None` if the size is not one that the standard allows and 64 bits hold.
    pub const fn block_bytes(self) -> Option<u64> {
        match self.lbads() {
            shift @ 9..=63 => Some(1 << shift),
            _ => None,
        }
    }

    /// What RP says.
    pub const fn relative_performance(self) -> RelativePerformance {
        match self.rp() {
            0 => RelativePerformance::Best,
            1 => RelativePerformance::Better,
            2 => RelativePerformance::Good,
            _ => RelativePerformance::Degraded,
        }
    }
}

layout! {
    /// Identify Namespace for the NVM command set (CNS 00h and 11h) [NVM Command Set 1.0 §4.1.5.1 NVM Command Set Identify
    /// Namespace Data Structure]. The vendor specific bytes 384 to 4095 are not kept.
    IdentifyNamespace[4096] {
        /// Namespace Size. 0 for a namespace that is not active.
        0 => nsze: BlockCount,
        /// Namespace Capacity.
        8 => ncap: BlockCount,
        /// Namespace Utilization.
        16 => nuse: BlockCount,
        /// Namespace Features.
        24 => nsfeat: NamespaceFeatures,
        /// Number of LBA Formats.
        25 => nlbaf: ZeroBased<u8>,
        /// Formatted LBA Size.
        26 => flbas: FormatIndex,
        /// Metadata Capabilities.
        27 => mc: MetadataCapabilities,
        /// End-to-end Data Protection Capabilities.
        28 => dpc: ProtectionCapabilities,
        /// End-to-end Data Protection Type Settings.
        29 => dps: ProtectionSettings,
        /// Multi-path I/O and namespace sharing.
        30 => nmic: NamespaceSharing,
        /// Reservation Capabilities.
        31 => rescap: ReservationCapabilities,
        /// Format Progress Indicator.
        32 => fpi: FormatProgress,
        /// Deallocate Logical Block Features.
        33 => dlfeat: DeallocateFeatures,
        /// Namespace Atomic Write Unit Normal.
        34 => nawun: ZeroBased<u16>,
        /// Namespace Atomic Write Unit Power Fail.
        36 => nawupf: ZeroBased<u16>,
        /// Namespace Atomic Compare and Write Unit.
        38 => nacwu: ZeroBased<u16>,
        /// Namespace Atomic Boundary Size Normal; raw 0 means no boundary.
        40 => nabsn: ZeroBased<u16>,
        /// Namespace Atomic Boundary Offset, a logical block.
        42 => nabo: u16,
        /// Namespace Atomic Boundary Size Power Fail; raw 0 means no boundary.
        44 => nabspf: ZeroBased<u16>,
        /// Namespace Optimal I/O Boundary in logical blocks, 0 if not reported.
        46 => noiob: u16,
        /// NVM Capacity in bytes.
        48 => nvmcap: u128,
        /// Namespace Preferred Write Granularity.
        64 => npwg: ZeroBased<u16>,
        /// Namespace Preferred Write Alignment.
        66 => npwa: ZeroBased<u16>,
        /// Namespace Preferred Deallocate Granularity.
        68 => npdg: ZeroBased<u16>,
        /// Namespace Preferred Deallocate Alignment.
        70 => npda: ZeroBased<u16>,
        /// Namespace Optimal Write Size.
        72 => nows: ZeroBased<u16>,
        /// Maximum Single Source Range Length of Copy.
        74 => mssrl: u16,
        /// Maximum Copy Length.
        76 => mcl: u32,
        /// Maximum Source Range Count of Copy.
        80 => msrc: ZeroBased<u8>,
        /// ANA Group Identifier.
        92 => anagrpid: u32,
        /// Namespace Attributes.
        99 => nsattr: NamespaceAttributes,
        /// NVM Set Identifier.
        100 => nvmsetid: u16,
        /// Endurance Group Identifier.
        102 => endgid: u16,
        /// Namespace Globally Unique Identifier, big-endian; zero if there is none.
        104 => nguid: [u8; 16],
        /// IEEE Extended Unique Identifier, big-endian; zero if there is none.
        120 => eui64: [u8; 8],
        /// LBA formats; the first NLBAF of them count.
        128 => lbaf: LbaFormats,
    }
}

impl IdentifyNamespace {
    /// The index of the format in use: the high bits of FLBAS count only where there are more than 16 formats.
    pub const fn format_index(&self) -> u8 {
        if self.nlbaf.count() > 16 {
            self.flbas.high() * 16 + self.flbas.low()
        } else {
            self.flbas.low()
        }
    }

    /// The LBA format in use.
    pub fn format(&self) -> LbaFormat {
        self.lbaf
            .0
            .get(usize::from(self.format_index()))
            .copied()
            .unwrap_or_default()
    }
}

layout! {
    /// I/O Command Set specific Identify Namespace for the NVM command set (CNS 05h, CSI 00h)
    /// [NVM Command Set 1.0 §4.1.5.3].
    NvmIdentifyNamespace[4096] {
        /// Logical Block Storage Tag Mask.
        0 => lbstm: u64,
        /// Protection Information Capabilities.
        8 => pic: u8,
        /// Extended LBA formats, in the order of the LBA formats.
        12 => elbaf: Series<ExtendedLbaFormat, 64>,
    }
}

layout! {
    /// I/O Command Set Independent Identify Namespace (CNS 08h) [NVMe Base 2.0 §5.17.2.8 I/O Command Set Independent Identify Namespace].
    IndependentNamespace[4096] {
        /// Common Namespace Features; only `identifiers_not_reused` has a meaning here.
        0 => nsfeat: NamespaceFeatures,
        /// Multi-path I/O and namespace sharing.
        1 => nmic: NamespaceSharing,
        /// Reservation Capabilities.
        2 => rescap: ReservationCapabilities,
        /// Format Progress Indicator.
        3 => fpi: FormatProgress,
        /// ANA Group Identifier.
        4 => anagrpid: u32,
        /// Namespace Attributes.
        8 => nsattr: NamespaceAttributes,
        /// NVM Set Identifier.
        10 => nvmsetid: u16,
        /// Endurance Group Identifier.
        12 => endgid: u16,
        /// Namespace Status.
        14 => nstat: NamespaceStatus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_bits_of_the_format_index_count_only_beyond_16_formats() {
        let mut namespace = IdentifyNamespace {
            flbas: FormatIndex::from_bits(0b0010_0001),
            nlbaf: ZeroBased::<u8>::new(15),
            ..Default::default()
        };
        namespace.lbaf.0[17] = LbaFormat::plain(12);
        assert_eq!(namespace.format_index(), 1);
        assert_eq!(namespace.format().block_bytes(), None);
        namespace.nlbaf = ZeroBased::<u8>::new(16);
        assert_eq!(namespace.format_index(), 17);
        assert_eq!(namespace.format().block_bytes(), Some(4096));
    }

    #[test]
    fn a_block_smaller_than_512_bytes_is_no_block() {
        assert_eq!(LbaFormat::plain(8).block_bytes(), None);
        assert_eq!(LbaFormat::plain(9).block_bytes(), Some(512));
        assert_eq!(LbaFormat::plain(64).block_bytes(), None);
        assert_eq!(LbaFormat::plain(12).bits(), 0x000c_0000);
    }
}
