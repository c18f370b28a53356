//! Commands: what may be asked for, and what has to be refused.
//!
//! A refusal has exactly one thing wrong with it, so that the standard leaves no choice of status.

use core::fmt;

use media::Operation;
use spec::nvme::{DatasetManagement, DsmRange, Status, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, Lba, NamespaceId, ZeroBased};

use crate::oracle::Range;
use crate::plan::{NamespacePlan, Plan};
use crate::random::Random;

/// What a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Write Zeroes, with the DEAC bit or without.
    WriteZeroes {
        /// The DEAC bit.
        deallocate: bool,
    },
    /// Dataset Management; without the deallocate attribute it is a hint.
    Dataset {
        /// The AD bit.
        deallocate: bool,
    },
    /// Compare.
    Compare,
    /// Verify.
    Verify,
    /// Flush.
    Flush,
    /// A command that no controller here knows.
    Unknown,
}

impl Kind {
    fn opcode(self) -> u8 {
        match self {
            Self::Read => io_opcode::READ,
            Self::Write => io_opcode::WRITE,
            Self::WriteZeroes { .. } => io_opcode::WRITE_ZEROES,
            Self::Dataset { .. } => io_opcode::DATASET_MANAGEMENT,
            Self::Compare => io_opcode::COMPARE,
            Self::Verify => io_opcode::VERIFY,
            Self::Flush => io_opcode::FLUSH,
            Self::Unknown => io_opcode::WRITE_UNCORRECTABLE,
        }
    }

    /// Whether the command changes blocks.
    pub fn changes(self) -> bool {
        matches!(
            self,
            Self::Write | Self::WriteZeroes { .. } | Self::Dataset { deallocate: true }
        )
    }

    /// Whether the command looks at what blocks hold.
    pub fn looks(self) -> bool {
        matches!(self, Self::Read | Self::Compare)
    }

    /// Whether the command's data are whole blocks.
    pub fn moves_blocks(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Compare)
    }

    /// How a medium that fails answers; `None` for commands that never reach one.
    pub fn media_error(self) -> Option<Status> {
        let operation = match self {
            Self::Read => Operation::Read,
            Self::Compare => Operation::Compare,
            Self::Verify => Operation::Verify,
            Self::Write | Self::WriteZeroes { .. } => Operation::Write,
            Self::Dataset { deallocate: true } => Operation::Deallocate,
            Self::Flush => Operation::Flush,
            Self::Dataset { deallocate: false } | Self::Unknown => return None,
        };
        Some(crate::media::failure(operation))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::WriteZeroes { deallocate: false } => "Write Zeroes",
            Self::WriteZeroes { deallocate: true } => "Write Zeroes (deallocate)",
            Self::Dataset { deallocate: false } => "Dataset Management (hint)",
            Self::Dataset { deallocate: true } => "Dataset Management (deallocate)",
            Self::Compare => "Compare",
            Self::Verify => "Verify",
            Self::Flush => "Flush",
            Self::Unknown => "unknown command",
        })
    }
}

/// Where a command's data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a buffer of the queue pair.
    Buffer,
    /// Nowhere: the address was never mapped.
    Unmapped,
    /// The first page is mapped, the next one is not.
    Edge,
    /// In a buffer, but PRP1 is not a multiple of four.
    Odd,
}

/// A command to be sent.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What it asks for.
    pub kind: Kind,
    /// The namespace that it names.
    pub namespace: u32,
    /// Its ranges of blocks; one for all but Dataset Management.
    pub ranges: Vec<Range>,
    /// Bytes of its data, as the driver is told.
    pub data_bytes: usize,
    /// Where they are.
    pub place: Place,
    /// Without identifier and PRPs.
    pub entry: SubmissionEntry,
    /// The only right answer, if it has to be refused.
    pub refused: Option<Status>,
}

impl Draft {
    /// A command on a namespace.
    fn new(kind: Kind, namespace: &NamespacePlan, ranges: Vec<Range>) -> Self {
        let bytes = ranges[0].1 << namespace.block_size.shift();
        let data_bytes = match kind {
            Kind::Dataset { .. } => ranges.len() * DsmRange::BYTES,
            _ if kind.moves_blocks() => bytes as usize,
            _ => 0,
        };
        let mut draft = Self {
            kind,
            namespace: namespace.id,
            ranges,
            data_bytes,
            place: Place::Buffer,
            entry: SubmissionEntry::default(),
            refused: None,
        };
        draft.compose();
        draft
    }

    /// A read of a range, for the final pass.
    pub fn read(namespace: &NamespacePlan, range: Range) -> Self {
        Self::new(Kind::Read, namespace, vec![range])
    }

    /// Writes the entry anew from the fields.
    fn compose(&mut self) {
        let namespace = NamespaceId::new(self.namespace);
        let entry = SubmissionEntry::new(self.kind.opcode(), CommandId::new(0), namespace);
        let (at, count) = self.ranges[0];
        self.entry = match self.kind {
            Kind::Flush | Kind::Unknown => entry,
            Kind::Dataset { deallocate } => {
                let command = DatasetManagement {
                    ranges: ZeroBased::<u8>::new((self.ranges.len() - 1) as u8),
                    deallocate,
                    ..DatasetManagement::default()
                };
                command.emit(entry)
            }
            _ => {
                let count = ZeroBased::<u16>::from_count(count as u32).unwrap_or_default();
                let entry = entry.with_slba(Lba::new(at)).with_nlb(count);
                match self.kind {
                    Kind::WriteZeroes { deallocate } => entry.with_deallocate(deallocate),
                    _ => entry,
                }
            }
        };
    }

    /// The ranges as Dataset Management wants them in its data.
    pub fn range_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.ranges.len() * DsmRange::BYTES);
        for &(at, count) in &self.ranges {
            let range = DsmRange {
                at: Lba::new(at),
                count: BlockCount::new(count),
                ..DsmRange::default()
            };
            let mut one = [0; DsmRange::BYTES];
            range.emit(&mut one);
            bytes.extend(one);
        }
        bytes
    }
}

/// Draws a command that has to be carried out.
pub fn draw(random: &mut Random, plan: &Plan) -> Draft {
    let namespace = random.pick(&plan.namespaces);
    let kind = match random.below(100) {
        0..35 => Kind::Read,
        35..70 => Kind::Write,
        70..76 => Kind::WriteZeroes {
            deallocate: random.chance(500),
        },
        76..82 => Kind::Dataset {
            deallocate: random.chance(800),
        },
        82..92 => Kind::Compare,
        92..96 => Kind::Verify,
        _ => Kind::Flush,
    };
    let mut draft = match kind {
        Kind::Dataset { .. } => {
            let count = match random.chance(100) {
                true => 256,
                false => random.between(1, 6),
            };
            let ranges = (0..count).map(|_| dataset_range(random, namespace));
            Draft::new(kind, namespace, ranges.collect())
        }
        Kind::Flush => Draft::new(kind, namespace, vec![(0, 0)]),
        _ => {
            let max = match kind.moves_blocks() {
                true => plan.transfer_bytes_max() as u64 >> namespace.block_size.shift(),
                false => namespace.blocks,
            };
            Draft::new(kind, namespace, vec![range(random, namespace, max)])
        }
    };
    if kind == Kind::Flush && random.chance(200) {
        draft.entry = draft.entry.with_nsid(NamespaceId::BROADCAST);
    }
    if matches!(kind, Kind::Read | Kind::Write) {
        draft.entry = draft.entry.with_fua(random.chance(100));
    }
    draft
}

/// A range inside a namespace, of at most `max` blocks: often one, sometimes as many as may be.
fn range(random: &mut Random, namespace: &NamespacePlan, max: u64) -> Range {
    let max = max.min(namespace.blocks);
    let count = match random.below(10) {
        0..5 => 1,
        5..9 => random.between(1, max.min(8)),
        _ => random.between(1, max),
    };
    (random.between(0, namespace.blocks - count), count)
}

/// A range of Dataset Management, which may be empty.
fn dataset_range(random: &mut Random, namespace: &NamespacePlan) -> Range {
    let (at, count) = range(random, namespace, 8);
    match random.chance(100) {
        true => (at, 0),
        false => (at, count),
    }
}

/// Draws a command with exactly one thing wrong.
pub fn draw_wrong(random: &mut Random, plan: &Plan) -> Draft {
    let namespace = random.pick(&plan.namespaces);
    let draft = match random.below(7) {
        0 | 1 => out_of_range(random, plan, namespace),
        2 => wrong_namespace(random, plan, namespace),
        3 => wrong_place(random, plan, namespace),
        4 => too_long(random, plan, namespace),
        5 => {
            let mut draft = Draft::new(Kind::Unknown, namespace, vec![(0, 0)]);
            draft.refused = Some(Status::INVALID_OPCODE);
            Some(draft)
        }
        _ => {
            let mut draft = Draft::new(Kind::Write, namespace, vec![(0, 1)]);
            draft.entry = match random.chance(500) {
                true => draft.entry.with_fuse(random.between(1, 3) as u8),
                false => draft.entry.with_psdt(random.between(1, 3) as u8),
            };
            draft.refused = Some(Status::INVALID_FIELD);
            Some(draft)
        }
    };
    draft.unwrap_or_else(|| draw(random, plan))
}

fn out_of_range(random: &mut Random, plan: &Plan, namespace: &NamespacePlan) -> Option<Draft> {
    let kind = *random.pick(&[
        Kind::Read,
        Kind::Write,
        Kind::Compare,
        Kind::Verify,
        Kind::WriteZeroes { deallocate: true },
        Kind::Dataset { deallocate: true },
    ]);
    let max = plan.transfer_bytes_max() as u64 >> namespace.block_size.shift();
    let count = random.between(1, max.min(4));
    let at = match random.below(4) {
        0 => namespace.blocks - count + 1,
        1 => namespace.blocks,
        2 => u64::MAX - random.below(4),
        _ => namespace
            .blocks
            .saturating_add(random.bits() >> random.below(64)),
    };
    let mut ranges = vec![(at, count)];
    if matches!(kind, Kind::Dataset { .. }) {
        // One wrong range among right ones: none may be carried out.
        for _ in 0..random.below(4) {
            let place = random.below(ranges.len() as u64 + 1) as usize;
            ranges.insert(place, dataset_range(random, namespace));
        }
    }
    let mut draft = Draft::new(kind, namespace, ranges);
    draft.refused = Some(Status::LBA_OUT_OF_RANGE);
    Some(draft)
}

fn wrong_namespace(random: &mut Random, plan: &Plan, model: &NamespacePlan) -> Option<Draft> {
    let kind = *random.pick(&[Kind::Read, Kind::Write, Kind::Verify, Kind::Flush]);
    let last = plan.namespaces.last()?.id;
    let id = *random.pick(&[0, 1, 2, 3, last + 1, 1024, u32::MAX - 1, u32::MAX]);
    if plan.namespace(id).is_some() || (kind == Kind::Flush && id == u32::MAX) {
        return None;
    }
    let mut draft = Draft::new(kind, model, vec![(0, 1)]);
    draft.namespace = id;
    draft.compose();
    // Below the highest identifier the namespace could be there, but is not attached.
    draft.refused = Some(match (1..last).contains(&id) {
        true => Status::INVALID_FIELD,
        false => Status::INVALID_NAMESPACE,
    });
    Some(draft)
}

fn wrong_place(random: &mut Random, plan: &Plan, namespace: &NamespacePlan) -> Option<Draft> {
    let kind = *random.pick(&[
        Kind::Read,
        Kind::Write,
        Kind::Compare,
        Kind::Dataset { deallocate: true },
    ]);
    let max = plan.transfer_bytes_max() as u64 >> namespace.block_size.shift();
    let mut draft = Draft::new(kind, namespace, vec![range(random, namespace, max)]);
    (draft.place, draft.refused) = match random.below(3) {
        0 => (Place::Unmapped, Some(Status::DATA_TRANSFER_ERROR)),
        1 => (Place::Odd, Some(Status::INVALID_PRP_OFFSET)),
        _ => (Place::Edge, Some(Status::DATA_TRANSFER_ERROR)),
    };
    Some(draft)
}

fn too_long(random: &mut Random, plan: &Plan, namespace: &NamespacePlan) -> Option<Draft> {
    let allowed = plan.transfer_bytes_max() as u64 >> namespace.block_size.shift();
    if allowed >= namespace.blocks {
        return None;
    }
    let kind = *random.pick(&[Kind::Read, Kind::Write, Kind::Compare]);
    let count = random.between(allowed + 1, namespace.blocks);
    let mut draft = Draft::new(kind, namespace, vec![(0, count)]);
    // The driver never sends so many bytes, so it is told of fewer.
    draft.data_bytes = 512;
    draft.refused = Some(Status::INVALID_FIELD);
    Some(draft)
}
