//! Commands as values: the double words of a submission queue entry by name. Each command has `parse`, which takes any entry
//! as it is and judges nothing but values that no type can hold, and `emit`, which writes the same double words back.

use crate::nvme::entries::SubmissionEntry;
use crate::types::{ByteOffset, CommandId, Lba, QueueId, ZeroBased};

bit_fields! {
    /// Two 16-bit halves of a double word.
    Halves(u32) {
        /// Bits 15:0.
        low, with_low: u16 = 15:0;
        /// Bits 31:16.
        high, with_high: u16 = 31:16;
    }
}

impl Halves {
    /// A double word of two halves.
    const fn of(low: u16, high: u16) -> Self {
        Self::from_bits(0).with_low(low).with_high(high)
    }
}

bit_fields! {
    /// Command dword 11 of Create I/O Completion Queue and Create I/O Submission Queue.
    CreateAttributes(u32) {
        /// Physically Contiguous (PC).
        pc, with_pc: bool = 0;
        /// Interrupts Enabled (IEN), completion queues only.
        ien, with_ien: bool = 1;
        /// Queue Priority (QPRIO), submission queues only.
        qprio, with_qprio: u8 = 2:1;
        /// Interrupt Vector (IV) or Completion Queue Identifier (CQID).
        high, with_high: u16 = 31:16;
    }
}

/// Create I/O Completion Queue [NVMe Base 2.0 §5.4 Create I/O Completion Queue command]. The queue's address is PRP1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateCompletionQueue {
    /// Queue Identifier (QID).
    pub qid: QueueId,
    /// Queue Size (QSIZE) in entries.
    pub size: ZeroBased<u16>,
    /// Physically Contiguous (PC).
    pub contiguous: bool,
    /// Interrupts Enabled (IEN).
    pub interrupts: bool,
    /// Interrupt Vector (IV).
    pub vector: u16,
    /// PRP entry 1: where the queue is, or its PRP list.
    pub prp1: u64,
}

impl CreateCompletionQueue {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let queue = Halves::from_bits(entry.cdw10());
        let attributes = CreateAttributes::from_bits(entry.cdw11());
        Self {
            qid: QueueId::new(queue.low()),
            size: ZeroBased::<u16>::new(queue.high()),
            contiguous: attributes.pc(),
            interrupts: attributes.ien(),
            vector: attributes.high(),
            prp1: entry.prp1(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let attributes = CreateAttributes::from_bits(0)
            .with_pc(self.contiguous)
            .with_ien(self.interrupts)
            .with_high(self.vector);
        entry
            .with_prps(self.prp1, 0)
            .with_cdw10(Halves::of(self.qid.get(), self.size.raw()).bits())
            .with_cdw11(attributes.bits())
    }
}

/// Queue Priority (QPRIO), used by weighted round robin arbitration only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePriority {
    /// 00b.
    #[default]
    Urgent,
    /// 01b.
    High,
    /// 10b.
    Medium,
    /// 11b.
    Low,
}

/// Create I/O Submission Queue [NVMe Base 2.0 §5.5 Create I/O Submission Queue command]. The queue's address is PRP1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateSubmissionQueue {
    /// Queue Identifier (QID).
    pub qid: QueueId,
    /// Queue Size (QSIZE) in entries.
    pub size: ZeroBased<u16>,
    /// Physically Contiguous (PC).
    pub contiguous: bool,
    /// Queue Priority (QPRIO).
    pub priority: QueuePriority,
    /// Completion Queue Identifier (CQID).
    pub cqid: QueueId,
    /// NVM Set Identifier (NVMSETID), 0 for none.
    pub nvm_set: u16,
    /// PRP entry 1: where the queue is, or its PRP list.
    pub prp1: u64,
}

impl CreateSubmissionQueue {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let queue = Halves::from_bits(entry.cdw10());
        let attributes = CreateAttributes::from_bits(entry.cdw11());
        Self {
            qid: QueueId::new(queue.low()),
            size: ZeroBased::<u16>::new(queue.high()),
            contiguous: attributes.pc(),
            priority: match attributes.qprio() {
                0 => QueuePriority::Urgent,
                1 => QueuePriority::High,
                2 => QueuePriority::Medium,
                _ => QueuePriority::Low,
            },
            cqid: QueueId::new(attributes.high()),
            nvm_set: Halves::from_bits(entry.cdw12()).low(),
            prp1: entry.prp1(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let attributes = CreateAttributes::from_bits(0)
            .with_pc(self.contiguous)
            .with_qprio(match self.priority {
                QueuePriority::Urgent => 0,
                QueuePriority::High => 1,
                QueuePriority::Medium => 2,
                QueuePriority::Low => 3,
            })
            .with_high(self.cqid.get());
        entry
            .with_prps(self.prp1, 0)
            .with_cdw10(Halves::of(self.qid.get(), self.size.raw()).bits())
            .with_cdw11(attributes.bits())
            .with_cdw12(self.nvm_set as u32)
    }
}

/// Delete I/O Submission Queue [NVMe Base 2.0 §5.7] and Delete I/O Completion Queue [NVMe Base 2.0 §5.6].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteQueue {
    /// Queue Identifier (QID).
    pub qid: QueueId,
}

impl DeleteQueue {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        Self {
            qid: QueueId::new(Halves::from_bits(entry.cdw10()).low()),
        }
    }

    /// Writes the command's double words over those of `entry`.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        entry.with_cdw10(self.qid.get() as u32)
    }
}

/// Abort [NVMe Base 2.0 §5.1 Abort command].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abort {
    /// Submission Queue Identifier (SQID) of the command to abort.
    pub sqid: QueueId,
    /// Command Identifier (CID) of the command to abort.
    pub cid: CommandId,
}

impl Abort {
    /// Dword 0 of the completion if the command was aborted.
    pub const ABORTED: u32 = 0;
    /// Dword 0 of the completion if the command was not aborted.
    pub const NOT_ABORTED: u32 = 1;

    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let target = Halves::from_bits(entry.cdw10());
        Self {
            sqid: QueueId::new(target.low()),
            cid: CommandId::new(target.high()),
        }
    }

    /// Writes the command's double words over those of `entry`.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        entry.with_cdw10(Halves::of(self.sqid.get(), self.cid.get()).bits())
    }

    /// Whether dword 0 of the completion says that the command was aborted.
    pub const fn was_aborted(result: u32) -> bool {
        result & Self::NOT_ABORTED == 0
    }
}

bit_fields! {
    /// Command dword 10 of Identify.
    IdentifySelect(u32) {
        /// Controller or Namespace Structure (CNS).
        cns, with_cns: u8 = 7:0;
        /// Controller Identifier (CNTID).
        cntid, with_cntid: u16 = 31:16;
    }
}

bit_fields! {
    /// Command dword 11 of Identify.
    IdentifyScope(u32) {
        /// CNS Specific Identifier.
        specific, with_specific: u16 = 15:0;
        /// Command Set Identifier (CSI).
        csi, with_csi: u8 = 31:24;
    }
}

bit_fields! {
    /// Command dword 14 of several admin commands.
    UuidSelect(u32) {
        /// UUID Index.
        index, with_index: u8 = 6:0;
    }
}

/// Identify [NVMe Base 2.0 §5.17 Identify command]. The namespace is the entry's NSID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identify {
    /// Controller or Namespace Structure (CNS): see [`cns`](crate::nvme::identify::cns).
    pub cns: u8,
    /// Controller Identifier (CNTID).
    pub cntid: u16,
    /// CNS Specific Identifier.
    pub specific: u16,
    /// Command Set Identifier (CSI).
    pub csi: u8,
    /// UUID Index, 0 to 127.
    pub uuid_index: u8,
}

impl Identify {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let select = IdentifySelect::from_bits(entry.cdw10());
        let scope = IdentifyScope::from_bits(entry.cdw11());
        Self {
            cns: select.cns(),
            cntid: select.cntid(),
            specific: scope.specific(),
            csi: scope.csi(),
            uuid_index: UuidSelect::from_bits(entry.cdw14()).index(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    ///
    /// # Panics
    /// If the UUID index is above 127.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let select = IdentifySelect::from_bits(0)
            .with_cns(self.cns)
            .with_cntid(self.cntid);
        let scope = IdentifyScope::from_bits(0)
            .with_specific(self.specific)
            .with_csi(self.csi);
        entry
            .with_cdw10(select.bits())
            .with_cdw11(scope.bits())
            .with_cdw14(UuidSelect::from_bits(0).with_index(self.uuid_index).bits())
    }
}

bit_fields! {
    /// Command dword 10 of Get Log Page.
    LogSelect(u32) {
        /// Log Page Identifier (LID).
        lid, with_lid: u8 = 7:0;
        /// Log Specific Parameter (LSP).
        lsp, with_lsp: u8 = 14:8;
        /// Retain Asynchronous Event (RAE).
        rae, with_rae: bool = 15;
        /// Number of Dwords Lower (NUMDL), with the upper half 0's based.
        numdl, with_numdl: u16 = 31:16;
    }
}

bit_fields! {
    /// Command dword 14 of Get Log Page.
    LogScope(u32) {
        /// UUID Index.
        uuid_index, with_uuid_index: u8 = 6:0;
        /// Offset Type (OT): the offset is an index.
        index_offset, with_index_offset: bool = 23;
        /// Command Set Identifier (CSI).
        csi, with_csi: u8 = 31:24;
    }
}

/// Get Log Page [NVMe Base 2.0 §5.16 Get Log Page command]. The namespace is the entry's NSID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GetLogPage {
    /// Log Page Identifier (LID): see [`log_id`](crate::nvme::log::log_id).
    pub lid: u8,
    /// Log Specific Parameter (LSP), 0 to 127.
    pub specific_parameter: u8,
    /// Retain Asynchronous Event (RAE): the event is not cleared.
    pub retain_event: bool,
    /// Number of Dwords (NUMD), as it stands on the wire: 0's based, 32 bits. See [`Self::bytes`].
    pub dwords_raw: u32,
    /// Log Specific Identifier (LSI).
    pub specific_identifier: u16,
    /// Log Page Offset (LPOL and LPOU). The standard asks for a multiple of 4.
    pub offset: ByteOffset,
    /// Offset Type (OT): the offset is an index.
    pub index_offset: bool,
    /// Command Set Identifier (CSI).
    pub csi: u8,
    /// UUID Index, 0 to 127.
    pub uuid_index: u8,
}

impl GetLogPage {
    /// Bytes to return: 4 to 16 GiB.
    pub const fn bytes(&self) -> u64 {
        (self.dwords_raw as u64 + 1) * 4
    }

    /// The wire value of NUMD for so many bytes, rounded up to whole dwords; `None` for 0 and for more than 16 GiB.
    pub const fn dwords_for(bytes: u64) -> Option<u32> {
        match bytes.div_ceil(4).checked_sub(1) {
            Some(raw) if raw <= u32::MAX as u64 => Some(raw as u32),
            _ => None,
        }
    }

    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let select = LogSelect::from_bits(entry.cdw10());
        let count = Halves::from_bits(entry.cdw11());
        let scope = LogScope::from_bits(entry.cdw14());
        Self {
            lid: select.lid(),
            specific_parameter: select.lsp(),
            retain_event: select.rae(),
            dwords_raw: Halves::of(select.numdl(), count.low()).bits(),
            specific_identifier: count.high(),
            offset: ByteOffset::new(entry.cdw12() as u64 | (entry.cdw13() as u64) << 32),
            index_offset: scope.index_offset(),
            csi: scope.csi(),
            uuid_index: scope.uuid_index(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    ///
    /// # Panics
    /// If the specific parameter or the UUID index is above 127.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let dwords = Halves::from_bits(self.dwords_raw);
        let select = LogSelect::from_bits(0)
            .with_lid(self.lid)
            .with_lsp(self.specific_parameter)
            .with_rae(self.retain_event)
            .with_numdl(dwords.low());
        let scope = LogScope::from_bits(0)
            .with_uuid_index(self.uuid_index)
            .with_index_offset(self.index_offset)
            .with_csi(self.csi);
        entry
            .with_cdw10(select.bits())
            .with_cdw11(Halves::of(dwords.high(), self.specific_identifier).bits())
            .with_cdw12(self.offset.get() as u32)
            .with_cdw13((self.offset.get() >> 32) as u32)
            .with_cdw14(scope.bits())
    }
}

bit_fields! {
    /// Command dword 10 of Get Features and Set Features.
    FeatureSelect(u32) {
        /// Feature Identifier (FID).
        fid, with_fid: u8 = 7:0;
        /// Select (SEL), Get Features only.
        sel, with_sel: u8 = 10:8;
        /// Save (SV), Set Features only.
        sv, with_sv: bool = 31;
    }
}

/// Select (SEL): which value of a feature Get Features asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// 000b: the value in use.
    #[default]
    Current,
    /// 001b: the value of an untouched controller.
    Default,
    /// 010b: the value that a reset restores.
    Saved,
    /// 011b: what can be done with the feature, as
    /// [`FeatureCapabilities`](crate::nvme::feature::FeatureCapabilities).
    Supported,
    /// Any other value, 4 to 7.
    Reserved(u8),
}

/// Get Features [NVMe Base 2.0 §5.15 Get Features command]. The namespace is the entry's NSID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GetFeatures {
    /// Feature Identifier (FID): see [`feature_id`](crate::nvme::feature::feature_id).
    pub fid: u8,
    /// Select (SEL).
    pub select: Select,
    /// Command dword 11, whose meaning depends on the feature.
    pub value: u32,
    /// UUID Index, 0 to 127.
    pub uuid_index: u8,
}

impl GetFeatures {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let feature = FeatureSelect::from_bits(entry.cdw10());
        Self {
            fid: feature.fid(),
            select: match feature.sel() {
                0 => Select::Current,
                1 => Select::Default,
                2 => Select::Saved,
                3 => Select::Supported,
                other => Select::Reserved(other),
            },
            value: entry.cdw11(),
            uuid_index: UuidSelect::from_bits(entry.cdw14()).index(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    ///
    /// # Panics
    /// If a reserved selection is above 7 or the UUID index above 127.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let select = match self.select {
            Select::Current => 0,
            Select::Default => 1,
            Select::Saved => 2,
            Select::Supported => 3,
            Select::Reserved(other) => other,
        };
        entry
            .with_cdw10(
                FeatureSelect::from_bits(0)
                    .with_fid(self.fid)
                    .with_sel(select)
                    .bits(),
            )
            .with_cdw11(self.value)
            .with_cdw14(UuidSelect::from_bits(0).with_index(self.uuid_index).bits())
    }
}

/// Set Features [NVMe Base 2.0 §5.27 Set Features command]. The namespace is the entry's NSID; a feature may use command dwords 12 to 15 as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetFeatures {
    /// Feature Identifier (FID): see [`feature_id`](crate::nvme::feature::feature_id).
    pub fid: u8,
    /// Save (SV): the value shall survive resets and power cycles.
    pub save: bool,
    /// Command dword 11, the value; its type depends on the feature.
    pub value: u32,
    /// UUID Index, 0 to 127.
    pub uuid_index: u8,
}

impl SetFeatures {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let feature = FeatureSelect::from_bits(entry.cdw10());
        Self {
            fid: feature.fid(),
            save: feature.sv(),
            value: entry.cdw11(),
            uuid_index: UuidSelect::from_bits(entry.cdw14()).index(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    ///
    /// # Panics
    /// If the UUID index is above 127.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        entry
            .with_cdw10(
                FeatureSelect::from_bits(0)
                    .with_fid(self.fid)
                    .with_sv(self.save)
                    .bits(),
            )
            .with_cdw11(self.value)
            .with_cdw14(UuidSelect::from_bits(0).with_index(self.uuid_index).bits())
    }
}

bit_fields! {
    /// Command dword 12 of the I/O commands that name a range of blocks.
    BlockControl(u32) {
        /// Number of Logical Blocks (NLB), 0's based.
        nlb, with_nlb: u16 = 15:0;
        /// Storage Tag Check (STC).
        stc, with_stc: bool = 24;
        /// Deallocate (DEAC), Write Zeroes only.
        deac, with_deac: bool = 25;
        /// Protection Information Field (PRINFO).
        prinfo, with_prinfo: u8 = 29:26;
        /// Force Unit Access (FUA).
        fua, with_fua: bool = 30;
        /// Limited Retry (LR).
        lr, with_lr: bool = 31;
    }
}

/// Read, Write, Compare, Verify and Write Zeroes [NVM Command Set 1.0 §3.2]: a range of blocks and how to treat it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCommand {
    /// Starting LBA (SLBA).
    pub slba: Lba,
    /// Number of Logical Blocks (NLB).
    pub nlb: ZeroBased<u16>,
    /// Storage Tag Check (STC).
    pub storage_tag_check: bool,
    /// Deallocate (DEAC); Write Zeroes only.
    pub deallocate: bool,
    /// Protection Information Field (PRINFO), 0 to 15.
    pub protection: u8,
    /// Force Unit Access (FUA).
    pub force_unit_access: bool,
    /// Limited Retry (LR).
    pub limited_retry: bool,
}

impl BlockCommand {
    /// Reads the command's double words.
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let control = BlockControl::from_bits(entry.cdw12());
        Self {
            slba: entry.slba(),
            nlb: ZeroBased::<u16>::new(control.nlb()),
            storage_tag_check: control.stc(),
            deallocate: control.deac(),
            protection: control.prinfo(),
            force_unit_access: control.fua(),
            limited_retry: control.lr(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    ///
    /// # Panics
    /// If the protection field is above 15.
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let control = BlockControl::from_bits(0)
            .with_nlb(self.nlb.raw())
            .with_stc(self.storage_tag_check)
            .with_deac(self.deallocate)
            .with_prinfo(self.protection)
            .with_fua(self.force_unit_access)
            .with_lr(self.limited_retry);
        entry.with_slba(self.slba).with_cdw12(control.bits())
    }
}
