//! The two kinds of queue entry, kept as the 64-bit words they travel in: an entry is stored and loaded as whole words and
//! its fields are cut out of registers [NVMe Base 2.0 §3.3.3 Queue Entry Sizes, Formats].

use crate::nvme::status::Status;
use crate::types::{CommandId, Lba, NamespaceId, QueueId, ZeroBased};

/// A submission queue entry: 64 bytes, little-endian [NVMe Base 2.0 §3.3.3.1 Submission Queue Entry].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SubmissionEntry([u64; 8]);

const LOW: u64 = 0xffff_ffff;

#[inline(always)]
const fn low(word: u64) -> u32 {
    word as u32
}

#[inline(always)]
const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[inline(always)]
const fn set_low(word: u64, value: u32) -> u64 {
    word & !LOW | value as u64
}

#[inline(always)]
const fn set_high(word: u64, value: u32) -> u64 {
    word & LOW | (value as u64) << 32
}

macro_rules! dwords {
    ($($doc:literal $get:ident, $with:ident = $word:literal, $half:ident, $set_half:ident;)*) => {$(
        #[doc = concat!("Command dword ", $doc, ".")]
        #[inline(always)]
        pub const fn $get(&self) -> u32 {
            let Self(words) = self;
            $half(words[$word])
        }

        #[doc = concat!("The same entry with another command dword ", $doc, ".")]
        #[inline(always)]
        pub const fn $with(mut self, value: u32) -> Self {
            self.0[$word] = $set_half(self.0[$word], value);
            self
        }
    )*};
}

impl SubmissionEntry {
    /// Bytes in a submission queue: 2 to the power of 6.
    pub const BYTES: usize = 64;
    /// 64-bit words in an entry.
    pub const WORDS: usize = 8;

    /// The first words of a command, all else zero.
    #[inline(always)]
    pub const fn new(opcode: u8, cid: CommandId, nsid: NamespaceId) -> Self {
        let cdw0 = opcode as u64 | (cid.get() as u64) << 16;
        Self([cdw0 | (nsid.get() as u64) << 32, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Takes the words as they were loaded; every value is accepted.
    #[inline(always)]
    pub const fn from_words(words: [u64; 8]) -> Self {
        Self(words)
    }

    /// The words as they are to be stored.
    #[inline(always)]
    pub const fn words(&self) -> [u64; 8] {
        self.0
    }

    /// Opcode (OPC), CDW0 bits 7:0.
    #[inline(always)]
    pub const fn opcode(&self) -> u8 {
        self.0[0] as u8
    }

    /// Whether the command brings data to the controller: bit 0 of the opcode's data transfer field.
    #[inline(always)]
    pub const fn brings_data(&self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Fused operation (FUSE), CDW0 bits 9:8: 0 for a normal command, 1 the first, 2 the second of a pair.
    #[inline(always)]
    pub const fn fuse(&self) -> u8 {
        (self.0[0] >> 8) as u8 & 3
    }

    /// PRP or SGL for data transfer (PSDT), CDW0 bits 15:14: 0 for PRPs.
    #[inline(always)]
    pub const fn psdt(&self) -> u8 {
        (self.0[0] >> 14) as u8 & 3
    }

    /// Everything in the first word but the command identifier: two entries of one kind have the same opcode, fuse,
    /// data transfer and namespace.
    #[inline(always)]
    pub const fn kind(&self) -> u64 {
        self.0[0] & !0xffff_0000
    }

    /// Command identifier (CID), CDW0 bits 31:16.
    #[inline(always)]
    pub const fn cid(&self) -> CommandId {
        CommandId::new((self.0[0] >> 16) as u16)
    }

    /// Namespace identifier (NSID).
    #[inline(always)]
    pub const fn nsid(&self) -> NamespaceId {
        NamespaceId::new(high(self.0[0]))
    }

    /// Metadata pointer (MPTR).
    #[inline(always)]
    pub const fn mptr(&self) -> u64 {
        self.0[2]
    }

    /// PRP entry 1.
    #[inline(always)]
    pub const fn prp1(&self) -> u64 {
        self.0[3]
    }

    /// PRP entry 2.
    #[inline(always)]
    pub const fn prp2(&self) -> u64 {
        self.0[4]
    }

    dwords! {
        "2" cdw2, with_cdw2 = 1, low, set_low;
        "3" cdw3, with_cdw3 = 1, high, set_high;
        "10" cdw10, with_cdw10 = 5, low, set_low;
        "11" cdw11, with_cdw11 = 5, high, set_high;
        "12" cdw12, with_cdw12 = 6, low, set_low;
        "13" cdw13, with_cdw13 = 6, high, set_high;
        "14" cdw14, with_cdw14 = 7, low, set_low;
        "15" cdw15, with_cdw15 = 7, high, set_high;
    }

    /// Starting LBA (SLBA) of Read, Write, Compare, Write Zeroes, Verify: CDW11 and CDW10 as one.
    #[inline(always)]
    pub const fn slba(&self) -> Lba {
        Lba::new(self.0[5])
    }

    /// Number of logical blocks (NLB) of the same commands, CDW12 bits 15:0.
    #[inline(always)]
    pub const fn nlb(&self) -> ZeroBased<u16> {
        ZeroBased::<u16>::new(self.0[6] as u16)
    }

    /// Force unit access (FUA), CDW12 bit 30: the data must be on non-volatile media before the command completes.
    #[inline(always)]
    pub const fn fua(&self) -> bool {
        self.0[6] >> 30 & 1 != 0
    }

    /// Limited retry (LR), CDW12 bit 31: the controller should apply limited error recovery.
    #[inline(always)]
    pub const fn limited_retry(&self) -> bool {
        self.0[6] >> 31 & 1 != 0
    }

    /// Protection information field (PRINFO), CDW12 bits 29:26.
    #[inline(always)]
    pub const fn prinfo(&self) -> u8 {
        (self.0[6] >> 26) as u8 & 15
    }

    /// Deallocate (DEAC), CDW12 bit 25 of Write Zeroes: the blocks may be deallocated
    /// [NVM Command Set 1.0 §3.2.8 Write Zeroes command].
    #[inline(always)]
    pub const fn deallocate(&self) -> bool {
        self.0[6] >> 25 & 1 != 0
    }

    /// The same entry under another command identifier.
    #[inline(always)]
    pub const fn with_cid(mut self, cid: CommandId) -> Self {
        self.0[0] = self.0[0] & !0xffff_0000 | (cid.get() as u64) << 16;
        self
    }

    /// The same entry for another namespace.
    #[inline(always)]
    pub const fn with_nsid(mut self, nsid: NamespaceId) -> Self {
        self.0[0] = set_high(self.0[0], nsid.get());
        self
    }

    /// The same entry with another opcode.
    #[inline(always)]
    pub const fn with_opcode(mut self, opcode: u8) -> Self {
        self.0[0] = self.0[0] & !0xff | opcode as u64;
        self
    }

    /// The same entry with FUSE set; only the two low bits of `fuse` count.
    #[inline(always)]
    pub const fn with_fuse(mut self, fuse: u8) -> Self {
        self.0[0] = self.0[0] & !0x300 | (fuse as u64 & 3) << 8;
        self
    }

    /// The same entry with PSDT set; only the two low bits of `psdt` count.
    #[inline(always)]
    pub const fn with_psdt(mut self, psdt: u8) -> Self {
        self.0[0] = self.0[0] & !0xc000 | (psdt as u64 & 3) << 14;
        self
    }

    /// The same entry with another metadata pointer.
    #[inline(always)]
    pub const fn with_mptr(mut self, mptr: u64) -> Self {
        self.0[2] = mptr;
        self
    }

    /// The same entry with other PRP entries.
    #[inline(always)]
    pub const fn with_prps(mut self, prp1: u64, prp2: u64) -> Self {
        self.0[3] = prp1;
        self.0[4] = prp2;
        self
    }

    /// The same entry with another starting LBA.
    #[inline(always)]
    pub const fn with_slba(mut self, slba: Lba) -> Self {
        self.0[5] = slba.get();
        self
    }

    /// The same entry with another number of logical blocks.
    #[inline(always)]
    pub const fn with_nlb(mut self, nlb: ZeroBased<u16>) -> Self {
        self.0[6] = self.0[6] & !0xffff | nlb.raw() as u64;
        self
    }

    /// The same entry with force unit access on or off.
    #[inline(always)]
    pub const fn with_fua(mut self, fua: bool) -> Self {
        self.0[6] = self.0[6] & !(1 << 30) | (fua as u64) << 30;
        self
    }

    /// The same entry with limited retry on or off.
    #[inline(always)]
    pub const fn with_limited_retry(mut self, limited: bool) -> Self {
        self.0[6] = self.0[6] & !(1 << 31) | (limited as u64) << 31;
        self
    }

    /// The same entry with Write Zeroes' deallocate bit on or off.
    #[inline(always)]
    pub const fn with_deallocate(mut self, deallocate: bool) -> Self {
        self.0[6] = self.0[6] & !(1 << 25) | (deallocate as u64) << 25;
        self
    }

    /// Reads an entry from 64 bytes.
    pub fn from_bytes(bytes: &[u8; 64]) -> Self {
        Self(crate::layout::read_array(bytes))
    }

    /// The entry as 64 bytes.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        crate::layout::write_array(&self.0, &mut bytes);
        bytes
    }
}

/// A completion queue entry: 16 bytes, little-endian [NVMe Base 2.0 §3.3.3.2 Common Completion Queue Entry].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompletionEntry([u64; 2]);

impl CompletionEntry {
    /// Bytes in a completion queue: 2 to the power of 4.
    pub const BYTES: usize = 16;
    /// 64-bit words in an entry.
    pub const WORDS: usize = 2;
    /// The bit of the second word that holds the phase tag (P).
    pub const PHASE_BIT: u32 = 48;

    /// A completion: `result` is dword 0, `sqhd` the submission queue's head after the command was fetched.
    #[inline(always)]
    pub const fn new(
        result: u32,
        sqhd: u16,
        sqid: QueueId,
        cid: CommandId,
        phase: bool,
        status: Status,
    ) -> Self {
        let queue = sqhd as u64 | (sqid.get() as u64) << 16;
        let command = cid.get() as u64 | (phase as u64) << 16 | (status.bits() as u64) << 17;
        Self([result as u64, queue | command << 32])
    }

    /// Takes the words as they were loaded; every value is accepted.
    #[inline(always)]
    pub const fn from_words(words: [u64; 2]) -> Self {
        Self(words)
    }

    /// The bits of the second word that tell one success of a queue from the next.
    #[inline(always)]
    pub const fn word1_of(cid: CommandId) -> u64 {
        (cid.get() as u64) << 32
    }

    /// The words as they are to be stored; the second one, with the phase tag, last.
    #[inline(always)]
    pub const fn words(&self) -> [u64; 2] {
        self.0
    }

    /// Command-specific result, dword 0.
    #[inline(always)]
    pub const fn result(&self) -> u32 {
        low(self.0[0])
    }

    /// Dword 1.
    #[inline(always)]
    pub const fn dw1(&self) -> u32 {
        high(self.0[0])
    }

    /// Submission queue head pointer (SQHD).
    #[inline(always)]
    pub const fn sqhd(&self) -> u16 {
        self.0[1] as u16
    }

    /// Submission queue identifier (SQID).
    #[inline(always)]
    pub const fn sqid(&self) -> QueueId {
        QueueId::new((self.0[1] >> 16) as u16)
    }

    /// Command identifier (CID).
    #[inline(always)]
    pub const fn cid(&self) -> CommandId {
        CommandId::new((self.0[1] >> 32) as u16)
    }

    /// Phase tag (P): flips each time the queue wraps.
    #[inline(always)]
    pub const fn phase(&self) -> bool {
        self.0[1] >> Self::PHASE_BIT & 1 != 0
    }

    /// Status.
    #[inline(always)]
    pub const fn status(&self) -> Status {
        Status::from_bits((self.0[1] >> 49) as u16)
    }

    /// The same completion with another dword 1.
    #[inline(always)]
    pub const fn with_dw1(mut self, dw1: u32) -> Self {
        self.0[0] = set_high(self.0[0], dw1);
        self
    }

    /// Reads an entry from 16 bytes.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        Self(crate::layout::read_array(bytes))
    }

    /// The entry as 16 bytes.
    pub fn to_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        crate::layout::write_array(&self.0, &mut bytes);
        bytes
    }
}
