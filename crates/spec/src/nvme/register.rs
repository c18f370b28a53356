//! Controller properties, which PCI Express calls registers [NVMe Base 2.0 §3.1.3 Controller Properties].

use core::fmt;
use core::time::Duration;

use crate::types::QueueId;

/// Controller Capabilities (CAP), 8 bytes.
pub const CAP: u32 = 0x00;
/// Version (VS), 4 bytes.
pub const VS: u32 = 0x08;
/// Interrupt Mask Set (INTMS), 4 bytes.
pub const INTMS: u32 = 0x0c;
/// Interrupt Mask Clear (INTMC), 4 bytes.
pub const INTMC: u32 = 0x10;
/// Controller Configuration (CC), 4 bytes.
pub const CC: u32 = 0x14;
/// Controller Status (CSTS), 4 bytes.
pub const CSTS: u32 = 0x1c;
/// NVM Subsystem Reset (NSSR), 4 bytes.
pub const NSSR: u32 = 0x20;
/// Admin Queue Attributes (AQA), 4 bytes.
pub const AQA: u32 = 0x24;
/// Admin Submission Queue Base Address (ASQ), 8 bytes.
pub const ASQ: u32 = 0x28;
/// Admin Completion Queue Base Address (ACQ), 8 bytes.
pub const ACQ: u32 = 0x30;
/// Controller Memory Buffer Location (CMBLOC), 4 bytes.
pub const CMBLOC: u32 = 0x38;
/// Controller Memory Buffer Size (CMBSZ), 4 bytes.
pub const CMBSZ: u32 = 0x3c;
/// Boot Partition Information (BPINFO), 4 bytes.
pub const BPINFO: u32 = 0x40;
/// Boot Partition Read Select (BPRSEL), 4 bytes.
pub const BPRSEL: u32 = 0x44;
/// Boot Partition Memory Buffer Location (BPMBL), 8 bytes.
pub const BPMBL: u32 = 0x48;
/// Controller Memory Buffer Memory Space Control (CMBMSC), 8 bytes.
pub const CMBMSC: u32 = 0x50;
/// Controller Memory Buffer Status (CMBSTS), 4 bytes.
pub const CMBSTS: u32 = 0x58;
/// Controller Memory Buffer Elasticity Buffer Size (CMBEBS), 4 bytes.
pub const CMBEBS: u32 = 0x5c;
/// Controller Memory Buffer Sustained Write Throughput (CMBSWTP), 4 bytes.
pub const CMBSWTP: u32 = 0x60;
/// NVM Subsystem Shutdown (NSSD), 4 bytes.
pub const NSSD: u32 = 0x64;
/// Controller Ready Timeouts (CRTO), 4 bytes.
pub const CRTO: u32 = 0x68;
/// Persistent Memory Region Capabilities (PMRCAP), 4 bytes; the first of that region's registers.
pub const PMRCAP: u32 = 0xe00;
/// The first doorbell [NVMe over PCIe Transport 1.0 §3.1.2].
pub const DOORBELLS: u32 = 0x1000;

/// What is written to [`NSSR`] to ask for a reset: "NVMe" in ASCII.
pub const NSSR_MAGIC: u32 = 0x4e56_4d65;
/// What is written to [`NSSD`] to ask for a normal shutdown of the subsystem: "Nrml" in ASCII.
pub const NSSD_NORMAL: u32 = 0x4e72_6d6c;
/// What is written to [`NSSD`] to ask for an abrupt shutdown of the subsystem: "Abpt" in ASCII.
pub const NSSD_ABRUPT: u32 = 0x4162_7074;

/// The tail doorbell of a submission queue, in bytes from BAR0, for a doorbell stride (CAP.DSTRD) of 0 to 15.
#[inline(always)]
pub const fn submission_doorbell(queue: QueueId, dstrd: u8) -> u32 {
    DOORBELLS + ((2 * queue.get() as u32) << (2 + (dstrd & 15)))
}

/// The head doorbell of a completion queue, in bytes from BAR0, for a doorbell stride (CAP.DSTRD) of 0 to 15.
#[inline(always)]
pub const fn completion_doorbell(queue: QueueId, dstrd: u8) -> u32 {
    DOORBELLS + ((2 * queue.get() as u32 + 1) << (2 + (dstrd & 15)))
}

bit_fields! {
    /// Controller Capabilities [NVMe Base 2.0 §3.1.3.1 Controller Capabilities].
    Capabilities(u64) {
        /// Maximum Queue Entries Supported, 0's based: an I/O queue may have one more entry than this.
        mqes, with_mqes: u16 = 15:0;
        /// Contiguous Queues Required.
        cqr, with_cqr: bool = 16;
        /// Arbitration Mechanism Supported: bit 0 weighted round robin, bit 1 vendor specific.
        ams, with_ams: u8 = 18:17;
        /// Timeout: the longest wait for CSTS.RDY to follow CC.EN, in units of 500 ms.
        to, with_to: u8 = 31:24;
        /// Doorbell Stride: doorbells are `4 << dstrd` bytes apart.
        dstrd, with_dstrd: u8 = 35:32;
        /// NVM Subsystem Reset Supported.
        nssrs, with_nssrs: bool = 36;
        /// Command Sets Supported: bit 0 NVM, bit 6 one or more I/O command sets, bit 7 admin commands only.
        css, with_css: u8 = 44:37;
        /// Boot Partition Support.
        bps, with_bps: bool = 45;
        /// Controller Power Scope.
        cps, with_cps: u8 = 47:46;
        /// Memory Page Size Minimum: 2 to the power of 12 plus this.
        mpsmin, with_mpsmin: u8 = 51:48;
        /// Memory Page Size Maximum: 2 to the power of 12 plus this.
        mpsmax, with_mpsmax: u8 = 55:52;
        /// Persistent Memory Region Supported.
        pmrs, with_pmrs: bool = 56;
        /// Controller Memory Buffer Supported.
        cmbs, with_cmbs: bool = 57;
        /// NVM Subsystem Shutdown Supported.
        nsss, with_nsss: bool = 58;
        /// Controller Ready With Media Support.
        crwms, with_crwms: bool = 59;
        /// Controller Ready Independent of Media Support.
        crims, with_crims: bool = 60;
    }
}

/// The NVM command set, as bits of CAP.CSS.
pub const CSS_NVM: u8 = 1 << 0;
/// One or more I/O command sets, as bits of CAP.CSS.
pub const CSS_IO_COMMAND_SETS: u8 = 1 << 6;
/// No I/O command set, as bits of CAP.CSS.
pub const CSS_ADMIN_ONLY: u8 = 1 << 7;

impl Capabilities {
    /// The most entries that an I/O queue may have, 1 to 65536.
    pub const fn queue_entries_max(self) -> u32 {
        self.mqes() as u32 + 1
    }

    /// The longest wait for CSTS.RDY to follow CC.EN.
    pub const fn timeout(self) -> Duration {
        Duration::from_millis(500 * self.to() as u64)
    }

    /// Bytes from one doorbell to the next.
    pub const fn doorbell_stride_bytes(self) -> u32 {
        4 << self.dstrd()
    }

    /// The smallest memory page, in bytes.
    pub const fn page_bytes_min(self) -> u64 {
        4096 << self.mpsmin()
    }

    /// The largest memory page, in bytes.
    pub const fn page_bytes_max(self) -> u64 {
        4096 << self.mpsmax()
    }
}

bit_fields! {
    /// Version [NVMe Base 2.0 §3.1.3.2 Version]; also the form of Identify's VER.
    Version(u32) {
        /// Tertiary version number.
        ter, with_ter: u8 = 7:0;
        /// Minor version number.
        mnr, with_mnr: u8 = 15:8;
        /// Major version number.
        mjr, with_mjr: u16 = 31:16;
    }
}

impl Version {
    /// Version 1.4.
    pub const V1_4: Self = Self::new(1, 4, 0);
    /// Version 2.0.
    pub const V2_0: Self = Self::new(2, 0, 0);

    /// A version by its three numbers.
    pub const fn new(major: u16, minor: u8, tertiary: u8) -> Self {
        Self::from_bits(0)
            .with_mjr(major)
            .with_mnr(minor)
            .with_ter(tertiary)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.mjr(), self.mnr())?;
        match self.ter() {
            0 => Ok(()),
            tertiary => write!(f, ".{tertiary}"),
        }
    }
}

bit_fields! {
    /// Controller Configuration [NVMe Base 2.0 §3.1.3.5 Controller Configuration].
    Configuration(u32) {
        /// Enable.
        en, with_en: bool = 0;
        /// I/O Command Set Selected: see [`CommandSetSelected`].
        css, with_css: u8 = 6:4;
        /// Memory Page Size: 2 to the power of 12 plus this.
        mps, with_mps: u8 = 10:7;
        /// Arbitration Mechanism Selected: 0 round robin, 1 weighted round robin with urgent, 7 vendor specific.
        ams, with_ams: u8 = 13:11;
        /// Shutdown Notification: see [`ShutdownNotification`].
        shn, with_shn: u8 = 15:14;
        /// I/O Submission Queue Entry Size, as a power of two.
        iosqes, with_iosqes: u8 = 19:16;
        /// I/O Completion Queue Entry Size, as a power of two.
        iocqes, with_iocqes: u8 = 23:20;
        /// Controller Ready Independent of Media Enable.
        crime, with_crime: bool = 24;
    }
}

/// Values of CC.CSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSetSelected {
    /// 000b: the NVM command set.
    Nvm,
    /// 110b: every supported I/O command set.
    All,
    /// 111b: admin commands only.
    AdminOnly,
    /// Any other value.
    Reserved(u8),
}

/// Values of CC.SHN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownNotification {
    /// 00b: no notification, no effect.
    None,
    /// 01b: normal shutdown.
    Normal,
    /// 10b: abrupt shutdown.
    Abrupt,
    /// 11b: reserved.
    Reserved,
}

/// Log2 of the bytes of a submission queue entry, for CC.IOSQES and Identify's SQES.
pub const SQ_ENTRY_SHIFT: u8 = 6;
/// Log2 of the bytes of a completion queue entry, for CC.IOCQES and Identify's CQES.
pub const CQ_ENTRY_SHIFT: u8 = 4;

impl Configuration {
    /// Bytes in a memory page, 4096 to 128 MiB.
    pub const fn page_bytes(self) -> u64 {
        4096 << self.mps()
    }

    /// What CSS asks for.
    pub const fn command_set(self) -> CommandSetSelected {
        match self.css() {
            0b000 => CommandSetSelected::Nvm,
            0b110 => CommandSetSelected::All,
            0b111 => CommandSetSelected::AdminOnly,
            other => CommandSetSelected::Reserved(other),
        }
    }

    /// What SHN asks for.
    pub const fn shutdown(self) -> ShutdownNotification {
        match self.shn() {
            0b00 => ShutdownNotification::None,
            0b01 => ShutdownNotification::Normal,
            0b10 => ShutdownNotification::Abrupt,
            _ => ShutdownNotification::Reserved,
        }
    }
}

bit_fields! {
    /// Controller Status [NVMe Base 2.0 §3.1.3.6 Controller Status].
    ControllerStatus(u32) {
        /// Ready.
        rdy, with_rdy: bool = 0;
        /// Controller Fatal Status.
        cfs, with_cfs: bool = 1;
        /// Shutdown Status: see [`ShutdownStatus`].
        shst, with_shst: u8 = 3:2;
        /// NVM Subsystem Reset Occurred.
        nssro, with_nssro: bool = 4;
        /// Processing Paused.
        pp, with_pp: bool = 5;
        /// Shutdown Type: the shutdown is one of the whole NVM subsystem.
        st, with_st: bool = 6;
    }
}

/// Values of CSTS.SHST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownStatus {
    /// 00b: normal operation.
    Normal,
    /// 01b: shutdown is going on.
    Occurring,
    /// 10b: shutdown is complete.
    Complete,
    /// 11b: reserved.
    Reserved,
}

impl ControllerStatus {
    /// What SHST says.
    pub const fn shutdown(self) -> ShutdownStatus {
        match self.shst() {
            0b00 => ShutdownStatus::Normal,
            0b01 => ShutdownStatus::Occurring,
            0b10 => ShutdownStatus::Complete,
            _ => ShutdownStatus::Reserved,
        }
    }

    /// The same register with another shutdown status.
    pub const fn with_shutdown(self, status: ShutdownStatus) -> Self {
        self.with_shst(match status {
            ShutdownStatus::Normal => 0b00,
            ShutdownStatus::Occurring => 0b01,
            ShutdownStatus::Complete => 0b10,
            ShutdownStatus::Reserved => 0b11,
        })
    }
}

bit_fields! {
    /// Admin Queue Attributes [NVMe Base 2.0 §3.1.3.8 Admin Queue Attributes]. Both sizes are 0's based, 2 to 4096 entries.
    AdminQueueAttributes(u32) {
        /// Admin Submission Queue Size, 0's based.
        asqs, with_asqs: u16 = 11:0;
        /// Admin Completion Queue Size, 0's based.
        acqs, with_acqs: u16 = 27:16;
    }
}

impl AdminQueueAttributes {
    /// The most entries that an admin queue may have.
    pub const ENTRIES_MAX: u32 = 4096;

    /// Entries of the admin submission queue, 1 to 4096.
    pub const fn submission_entries(self) -> u32 {
        self.asqs() as u32 + 1
    }

    /// Entries of the admin completion queue, 1 to 4096.
    pub const fn completion_entries(self) -> u32 {
        self.acqs() as u32 + 1
    }
}

bit_fields! {
    /// Controller Ready Timeouts [NVMe Base 2.0 §3.1.3.21 Controller Ready Timeouts], both in units of 500 ms.
    ReadyTimeouts(u32) {
        /// Controller Ready With Media Timeout.
        crwmt, with_crwmt: u16 = 15:0;
        /// Controller Ready Independent of Media Timeout.
        crimt, with_crimt: u16 = 31:16;
    }
}
