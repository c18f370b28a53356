//! What a host does to a controller, as decoded from random bytes. The numbers that a program is likely to trip over are
//! made more likely, and any other number stays possible.

use spec::nvme::{SubmissionEntry, admin_opcode, io_opcode, register};
use spec::{CommandId, Lba, NamespaceId, ZeroBased};

use crate::decode::Decoder;
use crate::world::{
    ADMIN_DEPTH, BASE, BYTES, DATA, DATA_OFFSET, DATA_PAGES, DEPTH_MAX, PAGE, QUEUES, View,
};

/// Acts of one input at most, so that every run ends soon.
pub const ACTS_MAX: usize = 256;

/// Counts of blocks that an I/O command may name, around pages, transfers and capacities.
pub const BLOCKS: [u32; 14] = [1, 2, 3, 4, 7, 8, 9, 16, 17, 32, 33, 64, 65, 0x1_0000];

/// First blocks that an I/O command may name.
pub const STARTS: [u64; 14] = [
    0,
    1,
    2,
    4,
    7,
    8,
    19,
    20,
    60,
    63,
    64,
    u64::MAX,
    1 << 55,
    1 << 63,
];

/// One thing that a host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Puts entries at the tail of a submission queue and rings its doorbell.
    Send {
        /// The queue.
        queue: u16,
        /// What is put there.
        entries: Vec<SubmissionEntry>,
        /// Whether the doorbell is a register write, and not a store to mapped memory.
        by_register: bool,
    },
    /// Sends an entry of many pages after writing the PRP lists that it names.
    Transfer {
        /// The queue.
        queue: u16,
        /// The entry.
        entry: SubmissionEntry,
        /// Lists: bytes into the host's memory, and the words there.
        lists: Vec<(usize, Vec<u64>)>,
    },
    /// Creates an I/O queue on its own ring page.
    Create {
        /// The queue.
        queue: u16,
        /// A submission queue for this completion queue, or a completion queue.
        submission_for: Option<u16>,
        /// Entries.
        depth: u32,
    },
    /// Deletes an I/O queue.
    Delete {
        /// The queue.
        queue: u16,
        /// A completion queue, and not a submission queue.
        completion: bool,
    },
    /// Gives places of a completion queue back.
    Release {
        /// The queue.
        queue: u16,
        /// How many at most.
        count: u32,
        /// Whether the doorbell is a register write.
        by_register: bool,
    },
    /// Writes anything to any doorbell.
    Doorbell {
        /// 2 × queue, one more for a completion queue.
        index: u32,
        /// The value.
        value: u32,
        /// Whether it is a register write.
        by_register: bool,
    },
    /// Writes a register.
    WriteRegister {
        /// Bytes into BAR0.
        offset: u32,
        /// Bytes written.
        bytes: u32,
        /// The value.
        value: u64,
    },
    /// Reads a register.
    ReadRegister {
        /// Bytes into BAR0.
        offset: u32,
        /// Bytes read.
        bytes: u32,
    },
    /// Writes words to memory: PRP lists, ranges, or nonsense.
    Poke {
        /// Bytes into the host's memory.
        offset: usize,
        /// The words.
        words: Vec<u64>,
    },
    /// Fills a page with bytes that tell its places apart.
    Fill {
        /// Bytes into the host's memory.
        offset: usize,
        /// What tells one filling from the next.
        seed: u8,
    },
    /// Lets time pass.
    Pass {
        /// Milliseconds.
        milliseconds: u64,
    },
    /// Changes what the controller can address.
    Show(View),
    /// Has slow media hold their answers back, or not.
    Hold(bool),
    /// Resets and enables the controller by the book.
    Restart,
}

/// Decodes acts until the bytes are used up.
pub fn decode(from: &mut Decoder<'_>) -> Vec<Act> {
    let mut acts = Vec::new();
    while !from.is_empty() && acts.len() < ACTS_MAX {
        acts.push(act(from));
    }
    acts
}

fn act(from: &mut Decoder<'_>) -> Act {
    match from.u8() % 32 {
        0..7 => send_io(from),
        7..10 => transfer(from),
        10..14 => send_admin(from),
        14..16 => Act::Create {
            queue: 1 + from.u8() as u16 % QUEUES,
            submission_for: from.pick(&[None, Some(1), Some(2), Some(3), Some(0), Some(9)]),
            depth: from.pick(&[4, 2, 3, 16, DEPTH_MAX, 1, DEPTH_MAX + 1, 0x1_0000]),
        },
        16 => Act::Delete {
            queue: from.below(5) as u16,
            completion: from.u8() & 1 != 0,
        },
        17..21 => Act::Release {
            queue: from.below(4) as u16,
            count: from.pick(&[64, 1, 2, 3]),
            by_register: from.u8() & 1 != 0,
        },
        21 => Act::Doorbell {
            index: from.below(12),
            value: from.pick(&[0, 1, 5, ADMIN_DEPTH, DEPTH_MAX, u32::MAX, 0xffff, 0x1_0000]),
            by_register: from.u8() & 1 != 0,
        },
        22 => write_register(from),
        23 => Act::ReadRegister {
            offset: offset(from),
            bytes: from.pick(&[4, 8, 1, 2, 3, 0, u32::MAX]),
        },
        24..27 => poke(from),
        27 => Act::Fill {
            offset: DATA_OFFSET + from.below(DATA_PAGES as u32) as usize * PAGE,
            seed: from.u8(),
        },
        28 => Act::Pass {
            milliseconds: from.pick(&[0, 1, 99, 100, 1000, 70_000, 4_000_000_000]),
        },
        29 => Act::Show(from.pick(&[
            View::Data,
            View::Exchanged,
            View::Half,
            View::Ragged,
            View::Nothing,
            View::All,
        ])),
        30 => Act::Hold(from.u8() & 1 != 0),
        _ => Act::Restart,
    }
}

fn send_io(from: &mut Decoder<'_>) -> Act {
    let queue = 1 + from.u8() as u16 % QUEUES;
    let count = from.pick(&[1, 1, 2, 3, 8]);
    Act::Send {
        queue,
        entries: (0..count).map(|_| io_entry(from)).collect(),
        by_register: from.u8() & 1 != 0,
    }
}

/// A transfer as an honest host makes it, of any size, from any place in a page, with its list anywhere in a page.
fn transfer(from: &mut Decoder<'_>) -> Act {
    const LIST: u64 = DATA + 40 * PAGE as u64;
    const NEXT: u64 = LIST + PAGE as u64;
    let queue = 1 + from.u8() as u16 % QUEUES;
    let opcode = from.pick(&[io_opcode::READ, io_opcode::WRITE, io_opcode::COMPARE]);
    let (nsid, block_bytes) = from.pick(&[(2, 4096), (1, 512)]);
    let (blocks, start) = (1 + from.below(32), from.below(16));
    let bytes = u64::from(blocks) * block_bytes;
    let data = DATA + u64::from(from.below(8)) * PAGE as u64;
    let offset = from.pick(&[0, 0, 512, 4, 4092]);
    // The pages behind the first one, whole from their start.
    let pages = (offset + bytes).div_ceil(PAGE as u64).saturating_sub(1);
    let entries: Vec<u64> = (1..=pages).map(|page| data + page * PAGE as u64).collect();
    let slots = from.pick(&[512, 1, 2, 3, 4, 5, 6, 7, 8]);
    let list = NEXT - 8 * slots as u64;
    let place = |address: u64| (address - BASE) as usize;
    let (prp2, lists) = match entries.as_slice() {
        [] => (0, Vec::new()),
        [one] => (*one, Vec::new()),
        all if all.len() <= slots => (list, vec![(place(list), entries)]),
        all => {
            let (here, there) = all.split_at(slots - 1);
            let here = [here, &[NEXT]].concat();
            (
                list,
                vec![(place(list), here), (place(NEXT), there.to_vec())],
            )
        }
    };
    let nlb = ZeroBased::<u16>::from_count(blocks).expect("1 to 65536");
    let entry = SubmissionEntry::new(
        opcode,
        CommandId::new(from.u8().into()),
        NamespaceId::new(nsid),
    )
    .with_prps(data + offset, prp2)
    .with_slba(Lba::new(start.into()))
    .with_nlb(nlb);
    Act::Transfer {
        queue,
        entry,
        lists,
    }
}

fn send_admin(from: &mut Decoder<'_>) -> Act {
    let count = from.pick(&[1, 1, 2, 4]);
    Act::Send {
        queue: 0,
        entries: (0..count).map(|_| admin_entry(from)).collect(),
        by_register: from.u8() & 1 != 0,
    }
}

/// An I/O command that is often right.
fn io_entry(from: &mut Decoder<'_>) -> SubmissionEntry {
    let opcode = from.pick(&[
        io_opcode::READ,
        io_opcode::WRITE,
        io_opcode::READ,
        io_opcode::WRITE,
        io_opcode::COMPARE,
        io_opcode::WRITE_ZEROES,
        io_opcode::DATASET_MANAGEMENT,
        io_opcode::VERIFY,
        io_opcode::FLUSH,
        0x7f,
    ]);
    let nsid = NamespaceId::new(from.pick(&[1, 2, 1, 2, 4, 3, 0, 5, u32::MAX, u32::MAX - 1]));
    let cid = CommandId::new(from.u8().into());
    let entry = SubmissionEntry::new(opcode, cid, nsid).with_prps(address(from), address(from));
    let entry = if opcode == io_opcode::DATASET_MANAGEMENT {
        entry
            .with_cdw10(from.pick(&[0, 1, 2, 255]))
            .with_cdw11(from.pick(&[4, 4, 0, 7, u32::MAX]))
    } else {
        let blocks = from.pick(&BLOCKS);
        let at = from.pick(&STARTS);
        let nlb = ZeroBased::<u16>::from_count(blocks).expect("1 to 65536");
        entry.with_slba(Lba::new(at)).with_nlb(nlb)
    };
    mutated(from, entry)
}

/// An admin command that is often right.
fn admin_entry(from: &mut Decoder<'_>) -> SubmissionEntry {
    let opcode = match from.u8() {
        byte @ 0..240 => admin_opcode::ALL[usize::from(byte) % admin_opcode::ALL.len()],
        byte => byte,
    };
    let nsid = NamespaceId::new(from.pick(&[0, 1, 2, 3, u32::MAX]));
    let entry = SubmissionEntry::new(opcode, CommandId::new(from.u8().into()), nsid)
        .with_prps(address(from), address(from))
        // Identifiers and structures in the low half, counts and sizes in the high half.
        .with_cdw10(
            u32::from(from.u8())
                | u32::from(from.pick(&[0_u16, 1, 3, 127, 0x3ff, 0x400, 0xffff])) << 16,
        )
        .with_cdw11(from.pick(&[0, 1, 3, 0x1_0001, 100, 0x0003_0003, 0xffff, u32::MAX]))
        .with_cdw12(from.pick(&[0, 0, 0, 4, 1, 512, u32::MAX]));
    mutated(from, entry)
}

/// The same entry, now and then with one word changed.
fn mutated(from: &mut Decoder<'_>, entry: SubmissionEntry) -> SubmissionEntry {
    match from.u8() {
        choice @ 0xf0.. => {
            let mut words = entry.words();
            words[usize::from(choice) % 8] ^= from.u64();
            SubmissionEntry::from_words(words)
        }
        0xef => entry.with_psdt(1),
        0xee => entry.with_fuse(1),
        0xed => entry.with_fua(true),
        _ => entry,
    }
}

/// An address, most often within data.
fn address(from: &mut Decoder<'_>) -> u64 {
    let page = |page: u8| DATA + u64::from(page) % DATA_PAGES as u64 * PAGE as u64;
    match from.u8() {
        choice @ 0..160 => page(choice),
        160..208 => page(from.u8()) + u64::from(from.u8()) * 4,
        208..228 => page(from.u8()) + PAGE as u64 - 8 * u64::from(from.u8() % 8),
        228..236 => page(from.u8()) + u64::from(from.u16() % PAGE as u16),
        236..244 => BASE + u64::from(from.u8()) * PAGE as u64,
        244..250 => from.pick(&[0, u64::MAX, 1 << 47, BASE - 4, BASE + BYTES as u64, 1 << 63]),
        _ => from.u64(),
    }
}

fn poke(from: &mut Decoder<'_>) -> Act {
    let place = address(from).wrapping_sub(BASE) % BYTES as u64;
    let count = from.below(20);
    let ranges = from.u8() & 1 != 0;
    let words = (0..count).map(|_| {
        if ranges {
            range_word(from)
        } else {
            address(from)
        }
    });
    Act::Poke {
        offset: place as usize - place as usize % 8,
        words: words.collect(),
    }
}

/// Half a range of Dataset Management: a length, or a first block.
fn range_word(from: &mut Decoder<'_>) -> u64 {
    from.pick(&[0, 1, 8, 31, 1 << 32, 2 << 32, 8 << 32, 64 << 32, u64::MAX])
}

fn offset(from: &mut Decoder<'_>) -> u32 {
    match from.u8() {
        choice @ 0..224 => u32::from(choice) % 0x20 * 4,
        224..240 => register::DOORBELLS + u32::from(from.u8()) * 4,
        _ => from.u32(),
    }
}

fn write_register(from: &mut Decoder<'_>) -> Act {
    let value = match from.u8() {
        0..64 => from.pick(&[
            0,
            0x0046_0000,
            0x0046_0001,
            0x0046_4001,
            0x0046_8001,
            u64::from(register::NSSR_MAGIC),
            0x000f_000f,
            BASE,
            BASE + PAGE as u64,
            u64::MAX,
            0x10,
        ]),
        64..128 => 1 << (from.u8() % 64),
        128..192 => address(from),
        _ => from.u64(),
    };
    Act::WriteRegister {
        offset: offset(from),
        bytes: from.pick(&[4, 8, 4, 4, 2, 0, u32::MAX]),
        value,
    }
}
