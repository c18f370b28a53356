//! Identify Controller data structures.

use super::capability::{
    AnaCapabilities, AsyncEventsSupported, ControllerAttributes, ControllerType, EntrySizes,
    FirmwareUpdates, FormatAttributes, FusedOperations, LogPageAttributes, MultiPath,
    OptionalAdminCommands, OptionalNvmCommands, ReplayProtectedMemory, SanitizeCapabilities,
    SglSupport, SubsystemReport, Supported, ThermalManagementSupport, VolatileWriteCache,
    WriteProtection,
};
use crate::layout::Series;
use crate::nvme::register::Version;
use crate::types::{Kelvin, Text, ZeroBased};

/// The 32 power state descriptors of a controller.
pub type PowerStates = Series<PowerState, 32>;

bit_fields! {
    /// Flags of a power state, byte 3 of its descriptor.
    PowerStateFlags(u8) {
        /// Max Power Scale (MXPS): maximum power is in units of 0.0001 W rather than 0.01 W.
        fine_scale, with_fine_scale: bool = 0;
        /// Non-Operational State (NOPS): no I/O is processed in this state.
        non_operational, with_non_operational: bool = 1;
    }
}

bit_fields! {
    /// A byte of a power state descriptor that holds a scale: Idle Power Scale (IPS), or Active Power Scale (APS) with Active
    /// Power Workload (APW).
    PowerScale(u8) {
        /// Active Power Workload; reserved for idle power.
        workload, with_workload: u8 = 2:0;
        /// 0 not reported, 1 units of 0.0001 W, 2 units of 0.01 W.
        scale, with_scale: u8 = 7:6;
    }
}

layout! {
    /// A power state [NVMe Base 2.0 §5.17.2.1, figure "Identify - Power State Descriptor Data Structure"].
    PowerState[32] {
        /// Maximum Power (MP), 0 if not reported; see [`PowerStateFlags::fine_scale`] for the unit.
        0 => mp: u16,
        /// Scale of the maximum power and whether the state is operational.
        3 => flags: PowerStateFlags,
        /// Entry Latency (ENLAT) in microseconds, 0 if not reported.
        4 => enlat: u32,
        /// Exit Latency (EXLAT) in microseconds, 0 if not reported.
        8 => exlat: u32,
        /// Relative Read Throughput (RRT); lower is better.
        12 => rrt: u8,
        /// Relative Read Latency (RRL); lower is better.
        13 => rrl: u8,
        /// Relative Write Throughput (RWT); lower is better.
        14 => rwt: u8,
        /// Relative Write Latency (RWL); lower is better.
        15 => rwl: u8,
        /// Idle Power (IDLP).
        16 => idlp: u16,
        /// Idle Power Scale (IPS).
        18 => ips: PowerScale,
        /// Active Power (ACTP).
        20 => actp: u16,
        /// Active Power Workload (APW) and Active Power Scale (APS).
        22 => apw: PowerScale,
    }
}

layout! {
    /// Identify Controller (CNS 01h) [NVMe Base 2.0 §5.17.2.1 Identify Controller data structure]. Fields are named as the
    /// standard abbreviates them; the vendor specific bytes 3072 to 4095 are not kept.
    IdentifyController[4096] {
        /// PCI Vendor ID.
        0 => vid: u16,
        /// PCI Subsystem Vendor ID.
        2 => ssvid: u16,
        /// Serial Number.
        4 => sn: Text<20>,
        /// Model Number.
        24 => mn: Text<40>,
        /// Firmware Revision.
        64 => fr: Text<8>,
        /// Recommended Arbitration Burst, as a power of two of commands.
        72 => rab: u8,
        /// IEEE OUI Identifier, least significant byte first.
        73 => ieee: [u8; 3],
        /// Multi-path I/O and namespace sharing.
        76 => cmic: MultiPath,
        /// Maximum Data Transfer Size as a power of two of the smallest memory page (CAP.MPSMIN); 0 for no limit.
        77 => mdts: u8,
        /// Controller ID, unique in the subsystem.
        78 => cntlid: u16,
        /// Version.
        80 => ver: Version,
        /// RTD3 Resume Latency in microseconds, 0 if not reported.
        84 => rtd3r: u32,
        /// RTD3 Entry Latency in microseconds, 0 if not reported.
        88 => rtd3e: u32,
        /// Optional Asynchronous Events Supported.
        92 => oaes: AsyncEventsSupported,
        /// Controller Attributes.
        96 => ctratt: ControllerAttributes,
        /// Read Recovery Levels Supported, a bit per level.
        100 => rrls: u16,
        /// Controller Type.
        111 => cntrltype: ControllerType,
        /// FRU Globally Unique Identifier, big-endian; zero if there is none.
        112 => fguid: [u8; 16],
        /// Command Retry Delay Time 1, in units of 100 ms.
        128 => crdt1: u16,
        /// Command Retry Delay Time 2, in units of 100 ms.
        130 => crdt2: u16,
        /// Command Retry Delay Time 3, in units of 100 ms.
        132 => crdt3: u16,
        /// NVM Subsystem Report.
        253 => nvmsr: SubsystemReport,
        /// VPD Write Cycle Information.
        254 => vwci: u8,
        /// Management Endpoint Capabilities.
        255 => mec: u8,
        /// Optional Admin Command Support.
        256 => oacs: OptionalAdminCommands,
        /// Abort Command Limit: how many Abort commands may be outstanding.
        258 => acl: ZeroBased<u8>,
        /// Asynchronous Event Request Limit: how many may be outstanding.
        259 => aerl: ZeroBased<u8>,
        /// Firmware Updates.
        260 => frmw: FirmwareUpdates,
        /// Log Page Attributes.
        261 => lpa: LogPageAttributes,
        /// Error Log Page Entries.
        262 => elpe: ZeroBased<u8>,
        /// Number of Power States Support.
        263 => npss: ZeroBased<u8>,
        /// Admin Vendor Specific Command Configuration: bit 0, the standard's format is used.
        264 => avscc: Supported,
        /// Autonomous Power State Transition Attributes: bit 0, supported.
        265 => apsta: Supported,
        /// Warning Composite Temperature Threshold.
        266 => wctemp: Kelvin,
        /// Critical Composite Temperature Threshold.
        268 => cctemp: Kelvin,
        /// Maximum Time for Firmware Activation, in units of 100 ms.
        270 => mtfa: u16,
        /// Host Memory Buffer Preferred Size, in units of 4 KiB.
        272 => hmpre: u32,
        /// Host Memory Buffer Minimum Size, in units of 4 KiB.
        276 => hmmin: u32,
        /// Total NVM Capacity in bytes.
        280 => tnvmcap: u128,
        /// Unallocated NVM Capacity in bytes.
        296 => unvmcap: u128,
        /// Replay Protected Memory Block Support.
        312 => rpmbs: ReplayProtectedMemory,
        /// Extended Device Self-test Time in minutes.
        316 => edstt: u16,
        /// Device Self-test Options: bit 0, one self-test at a time for the whole subsystem.
        318 => dsto: Supported,
        /// Firmware Update Granularity in units of 4 KiB; FFh for no restriction, 0 for not reported.
        319 => fwug: u8,
        /// Keep Alive Support: the timer's granularity in units of 100 ms, 0 if there is no timer.
        320 => kas: u16,
        /// Host Controlled Thermal Management Attributes.
        322 => hctma: ThermalManagementSupport,
        /// Minimum Thermal Management Temperature.
        324 => mntmt: Kelvin,
        /// Maximum Thermal Management Temperature.
        326 => mxtmt: Kelvin,
        /// Sanitize Capabilities.
        328 => sanicap: SanitizeCapabilities,
        /// Host Memory Buffer Minimum Descriptor Entry Size, in units of 4 KiB.
        332 => hmminds: u32,
        /// Host Memory Maximum Descriptors Entries.
        336 => hmmaxd: u16,
        /// NVM Set Identifier Maximum.
        338 => nsetidmax: u16,
        /// Endurance Group Identifier Maximum.
        340 => endgidmax: u16,
        /// ANA Transition Time in seconds.
        342 => anatt: u8,
        /// Asymmetric Namespace Access Capabilities.
        343 => anacap: AnaCapabilities,
        /// ANA Group Identifier Maximum.
        344 => anagrpmax: u32,
        /// Number of ANA Group Identifiers.
        348 => nanagrpid: u32,
        /// Persistent Event Log Size, in units of 64 KiB.
        352 => pels: u32,
        /// Domain Identifier.
        356 => domain: u16,
        /// Max Endurance Group Capacity in bytes.
        368 => megcap: u128,
        /// Submission Queue Entry Size.
        512 => sqes: EntrySizes,
        /// Completion Queue Entry Size.
        513 => cqes: EntrySizes,
        /// Maximum Outstanding Commands per queue, 0 if not reported.
        514 => maxcmd: u16,
        /// Number of Namespaces: the highest valid namespace identifier.
        516 => nn: u32,
        /// Optional NVM Command Support.
        520 => oncs: OptionalNvmCommands,
        /// Fused Operation Support.
        522 => fuses: FusedOperations,
        /// Format NVM Attributes.
        524 => fna: FormatAttributes,
        /// Volatile Write Cache.
        525 => vwc: VolatileWriteCache,
        /// Atomic Write Unit Normal, in logical blocks.
        526 => awun: ZeroBased<u16>,
        /// Atomic Write Unit Power Fail, in logical blocks.
        528 => awupf: ZeroBased<u16>,
        /// I/O Command Set Vendor Specific Command Configuration (once NVSCC): bit 0, the standard's format is used.
        530 => nvscc: Supported,
        /// Namespace Write Protection Capabilities.
        531 => nwpc: WriteProtection,
        /// Atomic Compare and Write Unit, in logical blocks.
        532 => acwu: ZeroBased<u16>,
        /// Copy Descriptor Formats Supported, a bit per format.
        534 => cdfs: u16,
        /// SGL Support.
        536 => sgls: SglSupport,
        /// Maximum Number of Allowed Namespaces, 0 for NN of them.
        540 => mnan: u32,
        /// Maximum Domain Namespace Attachments.
        544 => maxdna: u128,
        /// Maximum I/O Controller Namespace Attachments.
        560 => maxcna: u32,
        /// NVM Subsystem NVMe Qualified Name, UTF-8, ended by a zero.
        768 => subnqn: Text<256>,
        /// I/O Queue Command Capsule Supported Size in units of 16 bytes; fabrics only.
        1792 => ioccsz: u32,
        /// I/O Queue Response Capsule Supported Size in units of 16 bytes; fabrics only.
        1796 => iorcsz: u32,
        /// In Capsule Data Offset in units of 16 bytes; fabrics only.
        1800 => icdoff: u16,
        /// Fabrics Controller Attributes: bit 0, a dynamic controller; fabrics only.
        1802 => fcatt: u8,
        /// Maximum SGL Data Block Descriptors, 0 for no limit; fabrics only.
        1803 => msdbd: u8,
        /// Optional Fabric Commands Support: bit 0, Disconnect; fabrics only.
        1804 => ofcs: u16,
        /// Power State Descriptors; the first NPSS of them count.
        2048 => psd: PowerStates,
    }
}

impl IdentifyController {
    /// The longest transfer of one command in bytes for a smallest page of `page_bytes_min` ([`Capabilities::page_bytes_min`]);
    /// `None` if there is no limit or none that fits 64 bits.
    ///
    /// [`Capabilities::page_bytes_min`]: crate::nvme::register::Capabilities::page_bytes_min
    pub fn transfer_bytes_max(&self, page_bytes_min: u64) -> Option<u64> {
        if self.mdts == 0 {
            return None;
        }
        1_u64
            .checked_shl(self.mdts.into())
            .and_then(|pages| pages.checked_mul(page_bytes_min))
    }
}

layout! {
    /// I/O Command Set specific Identify Controller for the NVM command set (CNS 06h, CSI 00h)
    /// [NVM Command Set 1.0 §4.1.5.4]. Sizes are powers of two of the smallest memory page; 0 for no limit.
    NvmIdentifyController[4096] {
        /// Verify Size Limit.
        0 => vsl: u8,
        /// Write Zeroes Size Limit.
        1 => wzsl: u8,
        /// Write Uncorrectable Size Limit.
        2 => wusl: u8,
        /// Dataset Management Ranges Limit: the most ranges of one command, 0 for no limit.
        3 => dmrl: u8,
        /// Dataset Management Range Size Limit: the most logical blocks of one range, 0 for no limit.
        4 => dmrsl: u32,
        /// Dataset Management Size Limit: the most logical blocks of all ranges of one command, 0 for no limit.
        8 => dmsl: u64,
    }
}
