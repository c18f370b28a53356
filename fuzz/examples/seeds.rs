//! Writes the generated part of the committed corpus: `cargo run --example seeds` in `fuzz/`.
//!
//! Inputs of texts are files like any other and were written by hand; the ones here are bytes that mean something only to
//! the decoders in `src/`. A file's name says what it is for.

use core::time::Duration;
use std::fs;
use std::path::Path;

use driver::{Device, Options};
use fuzz::acts::{BLOCKS, STARTS};
use fuzz::decode::Decoder;
use fuzz::hostile::Hostile;
use spec::nvme::identify::{
    EntrySizes, IdentifyController, IdentifyNamespace, LbaFormat, NamespaceDescriptors,
    NamespaceIdList,
};
use spec::nvme::log::{CommandEffects, CommandEffectsLog, ErrorLogEntry, SmartLog};
use spec::nvme::{SubmissionEntry, io_opcode, register};
use spec::{BlockCount, CommandId, Lba, NamespaceId, Text, ZeroBased};

fn main() -> std::io::Result<()> {
    let seeds = layouts().into_iter().chain(traffic()).chain(lies());
    for (target, name, bytes) in seeds.chain(told_lies()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

type Seed = (&'static str, &'static str, Vec<u8>);

/// Bytes that all differ, for words of bit fields.
fn ramp(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 37 + 11) as u8).collect()
}

/// The layouts of `spec`.
#[expect(clippy::too_many_lines, reason = "a list of inputs")]
fn layouts() -> Vec<Seed> {
    let read = SubmissionEntry::new(io_opcode::READ, CommandId::new(7), NamespaceId::new(1))
        .with_prps(0x4001_0000, 0x4001_1000)
        .with_slba(Lba::new(64))
        .with_nlb(ZeroBased::<u16>::new(15));
    let with = |kind: u8, bytes: &[u8]| [&[kind], bytes].concat();
    let controller = IdentifyController {
        sn: Text::ascii("SEED"),
        mdts: 5,
        sqes: EntrySizes::only(6),
        cqes: EntrySizes::only(4),
        nn: 4,
        ..IdentifyController::default()
    };
    let mut namespace = IdentifyNamespace {
        nsze: BlockCount::new(4096),
        ..IdentifyNamespace::default()
    };
    namespace.lbaf.0[0] = LbaFormat::plain(9);
    let mut effects = CommandEffectsLog::default();
    effects.set_io(io_opcode::WRITE, CommandEffects::from_bits(3));
    let descriptors = NamespaceDescriptors {
        eui64: Some([1; 8]),
        nguid: Some([2; 16]),
        uuid: Some([3; 16]),
        csi: Some(0),
    };
    let mut list = [0; NamespaceDescriptors::BYTES];
    descriptors.emit(&mut list);
    let twice = [4, 1, 0, 0, 0, 4, 1, 0, 0, 0];
    let unknown = [9, 3, 0, 0, 1, 2, 3, 4, 1, 0, 0, 0];
    let wrong_length = [2, 8, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let ids: NamespaceIdList = [1, 2, 4].map(NamespaceId::new).into_iter().collect();
    let trimmed = |bytes: &[u8]| {
        let end = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        bytes[..end].to_vec()
    };
    vec![
        ("spec_entries", "read", read.to_bytes().to_vec()),
        ("spec_entries", "every_byte_differs", ramp(83)),
        ("spec_commands", "read", read.to_bytes().to_vec()),
        ("spec_commands", "every_byte_differs", ramp(96)),
        ("spec_commands", "all_ones", vec![0xff; 96]),
        ("spec_registers", "every_byte_differs", ramp(64)),
        ("spec_registers", "all_ones", vec![0xff; 64]),
        ("spec_features", "every_byte_differs", ramp(520)),
        ("spec_events", "invalid_doorbell_value", vec![0, 1, 1, 0, 0]),
        ("spec_events", "reserved_type", vec![5, 1, 1, 0, 5]),
        ("spec_logs", "every_byte_differs", ramp(128)),
        (
            "spec_logs",
            "smart",
            SmartLog::default().to_bytes().to_vec(),
        ),
        (
            "spec_logs",
            "error_entry",
            ErrorLogEntry::default().to_bytes().to_vec(),
        ),
        ("spec_logs", "effects", effects.to_bytes().to_vec()),
        (
            "spec_identify",
            "controller",
            with(0, &trimmed(&controller.to_bytes())),
        ),
        (
            "spec_identify",
            "namespace",
            with(0, &trimmed(&namespace.to_bytes())),
        ),
        ("spec_identify", "words", with(1, &ramp(32))),
        ("spec_identify", "descriptors", with(2, &trimmed(&list))),
        ("spec_identify", "descriptor_twice", with(2, &twice)),
        ("spec_identify", "descriptor_unknown", with(2, &unknown)),
        (
            "spec_identify",
            "descriptor_of_wrong_length",
            with(2, &wrong_length),
        ),
        (
            "spec_identify",
            "namespace_list",
            with(3, &trimmed(&ids.to_bytes())),
        ),
    ]
}

// The decoder of `acts.rs`, backwards. Numbers are indices into its tables.

const TRUSTED: u8 = 0;
const WILD: u8 = 1;
const SLOW: u8 = 2;

/// One I/O entry: opcode, namespace, two pages, blocks, first block, nothing changed.
fn io(opcode: u8, namespace: u8, pages: [u8; 2], blocks: u32, at: u64) -> Vec<u8> {
    let count = BLOCKS.iter().position(|&one| one == blocks);
    let start = STARTS.iter().position(|&one| one == at);
    let place = [count, start].map(|index| index.expect("in the table") as u8);
    [&[opcode, namespace, 5], &pages[..], &place, &[0]].concat()
}

/// Entries on an I/O queue, 0 to 2, with the doorbell in memory.
fn send(queue: u8, entry: &[u8]) -> Vec<u8> {
    [&[0, queue, 0], entry, &[0]].concat()
}

/// One admin command: index into the list of opcodes, its pages, identifier, the high half of dword 10, dword 11.
fn admin(opcode: u8, id: u8, high: u8, cdw11: u8) -> Vec<u8> {
    vec![10, 0, opcode, 1, 9, 3, 4, id, high, cdw11, 0, 0, 0]
}

fn release(queue: u8) -> Vec<u8> {
    vec![17, queue, 0, 0]
}

/// A write of four bytes to a register.
fn write(offset: u32, value: u64) -> Vec<u8> {
    let word = (offset / 4) as u8;
    [&[22, 200], value.to_le_bytes().as_slice(), &[word, 0]].concat()
}

/// A doorbell written as a register; the value is an index into the decoder's table.
fn doorbell(index: u8, value: u8) -> Vec<u8> {
    vec![21, index, value, 1]
}

/// What a host does to registers in the course of a controller's life.
fn lives() -> Vec<Vec<u8>> {
    const ENABLED: u64 = 0x0046_0001;
    const PASS: [u8; 2] = [28, 1];
    const RESTART: [u8; 1] = [31];
    vec![
        write(register::INTMS, 6),
        write(register::INTMC, 2),
        vec![23, 1, 1],
        write(register::CC, ENABLED | 1 << 14),
        PASS.into(),
        RESTART.into(),
        write(register::CC, 0),
        doorbell(2, 1),
        write(register::CC, ENABLED | 1 << 7),
        PASS.into(),
        write(register::CC, 0),
        write(register::AQA, 0),
        write(register::CC, ENABLED),
        RESTART.into(),
        write(register::NSSR, register::NSSR_MAGIC.into()),
        write(register::CSTS, 0x10),
        write(register::ASQ, u64::MAX),
        write(register::ACQ, u64::MAX),
        write(register::AQA, 0x000f_000f),
        write(register::CC, ENABLED),
        RESTART.into(),
    ]
}

/// Commands and doorbells that are wrong in one way each.
fn wrongs() -> Vec<Vec<u8>> {
    let changed = |by: u8| {
        let mut entry = io(READ, 0, [0, 1], 1, 0);
        entry.splice(7.., [by]);
        send(0, &entry)
    };
    let by_register = |mut act: Vec<u8>| {
        act.splice(act.len() - 1.., [1]);
        act
    };
    // A second address that is no page's start, a list of which the first entry is none, a list at an odd place.
    let odd = |addresses: &[u8], blocks: u8| {
        let entry = [&[READ, 1, 5, 0], addresses, &[blocks, 0, 0]].concat();
        send(0, &entry)
    };
    vec![
        changed(0xef),
        changed(0xee),
        changed(0xed),
        send(0, &io(READ, 1, [0, 1], 17, 0)),
        send(0, &io(VERIFY, 0, [0, 1], 65, 0)),
        send(0, &io(VERIFY, 7, [0, 1], 1, 0)),
        send(0, &io(FLUSH, 0, [0, 1], 1, 0)),
        send(0, &io(FLUSH, 7, [0, 1], 1, 0)),
        send(0, &[DISCARD, 7, 5, 2, 2, 0, 0, 0]),
        odd(&[160, 3, 1], 1),
        odd(&[160, 3, 2], 4),
        odd(&[160, 3, 1], 4),
        by_register(send(1, &io(READ, 0, [0, 1], 1, 0))),
        by_register(release(1)),
        by_register(release(2)),
        doorbell(10, 0),
        doorbell(11, 0),
        doorbell(2, 5),
        doorbell(3, 5),
        vec![21, 0, 5, 0],
        vec![21, 1, 5, 0],
    ]
}

fn input(mode: u8, acts: &[Vec<u8>]) -> Vec<u8> {
    [vec![mode], acts.concat()].concat()
}

const READ: u8 = 0;
const WRITE: u8 = 1;
const COMPARE: u8 = 4;
const ZEROES: u8 = 5;
const DISCARD: u8 = 6;
const VERIFY: u8 = 7;
const FLUSH: u8 = 8;

/// Traffic for the controller.
#[expect(clippy::too_many_lines, reason = "a list of inputs")]
fn traffic() -> Vec<Seed> {
    let fill = |page: u8, seed: u8| vec![27, page, seed];
    let list = |page: u8, entries: &[u8]| {
        let mut act = vec![24, page, entries.len() as u8, 0];
        act.extend(entries);
        act
    };
    let round_trip = |namespace: u8, pages: [u8; 2], blocks: u32| {
        vec![
            fill(0, 3),
            fill(1, 5),
            send(0, &io(WRITE, namespace, pages, blocks, 0)),
            send(1, &io(READ, namespace, [8, 9], blocks, 0)),
            release(1),
            release(2),
        ]
    };
    let every = vec![
        fill(0, 9),
        send(0, &io(WRITE, 0, [0, 1], 2, 0)),
        send(0, &io(COMPARE, 0, [0, 1], 2, 0)),
        send(0, &io(ZEROES, 0, [0, 0], 1, 1)),
        send(0, &io(COMPARE, 0, [0, 1], 2, 0)),
        send(0, &io(VERIFY, 0, [0, 0], 16, 0)),
        send(0, &io(FLUSH, 8, [0, 0], 1, 0)),
        // One range of Dataset Management: eight blocks from block 0.
        vec![24, 2, 2, 1, 6, 0],
        send(0, &[DISCARD, 0, 5, 2, 2, 0, 0, 0]),
        send(0, &io(READ, 0, [4, 5], 33, 0)),
    ];
    let lists = vec![
        list(
            6,
            &[10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
        ),
        fill(10, 1),
        fill(14, 2),
        send(0, &io(WRITE, 1, [8, 6], 16, 0)),
        send(0, &io(READ, 1, [30, 6], 16, 7)),
        send(2, &io(READ, 0, [30, 6], 64, 0)),
    ];
    // Sixteen pages by a list that fits its page, and by one that begins at the third place from the end of it.
    let chained = vec![
        fill(1, 7),
        vec![7, 0, 1, 0, 15, 0, 0, 0, 0, 5],
        vec![7, 0, 0, 0, 15, 4, 1, 0, 3, 5],
        vec![7, 0, 2, 0, 15, 4, 1, 0, 3, 5],
    ];
    let out_of_range = vec![
        send(0, &io(READ, 0, [0, 1], 2, 64)),
        send(0, &io(READ, 0, [0, 1], 2, u64::MAX)),
        send(0, &io(WRITE, 0, [0, 1], 0x1_0000, 0)),
        send(0, &io(READ, 5, [0, 1], 1, 0)),
        send(0, &io(READ, 6, [0, 1], 1, 0)),
        send(0, &io(9, 0, [0, 1], 1, 0)),
        send(0, &io(READ, 0, [245, 1], 1, 0)),
    ];
    let admin_tour: Vec<Vec<u8>> = (0..24_u8)
        .flat_map(|opcode| [admin(opcode, opcode % 6, 3, opcode % 4), release(0)])
        .collect();
    let queues = vec![
        vec![14, 2, 0, 0],
        vec![14, 2, 3, 3],
        send(2, &io(READ, 0, [0, 1], 1, 0)),
        vec![16, 3, 0],
        vec![16, 3, 1],
        release(0),
        vec![14, 2, 0, 1],
        vec![14, 2, 3, 1],
        send(2, &io(WRITE, 0, [0, 1], 1, 0)),
    ];
    let stall: Vec<Vec<u8>> = (0..12)
        .map(|_| send(1, &io(READ, 0, [0, 1], 1, 0)))
        .chain([release(2), release(2), release(2)])
        .collect();
    let doorbells = vec![
        vec![21, 2, 5, 1],
        vec![21, 3, 5, 1],
        vec![21, 11, 0, 1],
        vec![21, 4, 6, 0],
        admin(11, 0, 0, 0),
        send(0, &io(READ, 0, [0, 1], 1, 0)),
    ];
    let views: Vec<Vec<u8>> = (0..5_u8)
        .flat_map(|view| {
            [
                vec![29, view],
                send(0, &io(WRITE, 1, [46, 47], 2, 0)),
                release(1),
            ]
        })
        .collect();
    let registers: Vec<Vec<u8>> = (0..12_u8)
        .flat_map(|value| [vec![22, 0, value, value, 0], vec![23, value, 0], vec![31]])
        .collect();
    let held = vec![
        vec![30, 1],
        send(0, &io(WRITE, 0, [0, 1], 1, 0)),
        send(0, &io(READ, 0, [2, 1], 1, 0)),
        vec![16, 1, 0],
        vec![30, 0],
        send(1, &io(FLUSH, 8, [0, 0], 1, 0)),
    ];
    let wild_rings = vec![
        vec![24, 236, 0, 4, 1, 244, 244, 244, 244],
        vec![24, 236, 2, 4, 1, 244, 244, 244, 244],
        send(0, &io(READ, 0, [236, 1], 1, 0)),
        vec![28, 1],
        send(1, &io(READ, 0, [240, 7], 33, 0)),
        vec![28, 2],
    ];
    vec![
        ("controller", "empty", input(TRUSTED, &[])),
        (
            "controller",
            "one_block",
            input(TRUSTED, &round_trip(0, [0, 1], 1)),
        ),
        (
            "controller",
            "two_pages",
            input(TRUSTED, &round_trip(1, [0, 1], 2)),
        ),
        ("controller", "every_io_command", input(TRUSTED, &every)),
        ("controller", "prp_lists", input(TRUSTED, &lists)),
        ("controller", "prp_list_chained", input(TRUSTED, &chained)),
        ("controller", "refusals", input(TRUSTED, &out_of_range)),
        (
            "controller",
            "every_admin_command",
            input(TRUSTED, &admin_tour),
        ),
        ("controller", "queues_come_and_go", input(TRUSTED, &queues)),
        (
            "controller",
            "completion_queue_full",
            input(TRUSTED, &stall),
        ),
        ("controller", "wrong_doorbells", input(TRUSTED, &doorbells)),
        ("controller", "memory_taken_away", input(TRUSTED, &views)),
        ("controller", "registers", input(TRUSTED, &registers)),
        ("controller", "lives", input(TRUSTED, &lives())),
        ("controller", "wild_lives", input(WILD, &lives())),
        ("controller", "wrongs", input(TRUSTED, &wrongs())),
        ("controller", "wild_wrongs", input(WILD, &wrongs())),
        ("controller", "slow_media", input(SLOW, &held)),
        ("controller", "slow_admin", input(SLOW, &admin_tour)),
        ("controller", "wild_rings", input(WILD, &wild_rings)),
        ("controller", "wild_registers", input(WILD, &registers)),
        ("controller", "wild_slow", input(WILD | SLOW, &held)),
    ]
}

/// Lies for the driver. A zero is the truth, so an honest controller is many zeros.
fn lies() -> Vec<Seed> {
    let honest = |len: usize| vec![0_u8; len];
    let calls = |first: u8, rest: &[u8]| {
        // Bring-up takes fewer decisions than this. What follows are calls, said more than once, since turns decide too.
        let mut bytes = vec![first];
        bytes.extend(honest(160));
        for &call in rest {
            bytes.extend([call; 7]);
            bytes.extend(honest(12));
        }
        bytes
    };
    let at = |place: usize, lie: &[u8]| {
        let mut bytes = calls(0, &[0, 1, 2, 3, 4, 5, 6, 7]);
        bytes[place..place + lie.len()].copy_from_slice(lie);
        bytes
    };
    vec![
        (
            "driver",
            "honest_blocks",
            calls(0, &[0, 2, 4, 5, 6, 1, 3, 7]),
        ),
        (
            "driver",
            "honest_admin",
            calls(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ),
        ("driver", "gone_at_once", vec![0, 254]),
        ("driver", "all_ones", vec![0, 246, 246, 246, 246]),
        ("driver", "capabilities_lie", vec![0, 240, 20, 0, 0, 0]),
        ("driver", "no_memory", at(2, &[255, 255])),
        (
            "driver",
            "completion_made_up",
            at(40, &[0, 160, 1, 0, 0, 1, 0, 0, 0, 0, 0]),
        ),
        (
            "driver",
            "identify_corrupted",
            at(
                48,
                &[
                    0, 180, 3, 77, 0, 255, 255, 255, 255, 255, 255, 255, 255, 3, 4,
                ],
            ),
        ),
        ("driver", "reset_behind_the_back", at(90, &[0, 228])),
        ("driver", "time_leaps", at(60, &[0, 250, 255])),
    ]
}

/// How many decisions bring-up takes at most.
const DECISIONS_MAX: usize = 200;

/// Lies that are told at the one moment when they matter, which is searched for: where bring-up ends with these words.
fn told_lies() -> Vec<Seed> {
    // A register that reads with other bits, and memory of the admin commands' data that is changed after a turn.
    let register = |bits: u64| [&[220_u8], bits.to_le_bytes().as_slice()].concat();
    let data = |place: u16, word: [u8; 8], len: u8| {
        [
            &[0, 180, 3],
            place.to_le_bytes().as_slice(),
            &word,
            &[len, 0],
        ]
        .concat()
    };
    let byte = |place, value| data(place, [value; 8], 0);
    let lies = [
        ("page_size_lies", register(0xf << 48), "CAP.MPSMIN"),
        ("command_set_lies", register(1 << 37), "CAP.CSS"),
        ("queue_entries_lie", register(0xfff), "CAP.MQES"),
        ("entry_size_lies", byte(512, 0x77), "SQES"),
        ("controller_type_lies", byte(111, 2), "CNTRLTYPE"),
        ("block_size_lies", byte(130, 8), "LBADS"),
        ("capacity_lies", data(0, [0xff; 8], 3), "NSZE"),
        (
            "namespaces_lie",
            data(0, [2, 0, 0, 0, 1, 0, 0, 0], 3),
            "rising order",
        ),
        ("gone_later", vec![247], "controller is gone"),
        ("fails_by_itself", vec![235, 1], "CSTS.CFS"),
        ("never_ready", vec![232], "CSTS.RDY to become 1"),
        ("link_ends", vec![254], "link is gone"),
    ];
    let found = lies.into_iter().map(|(name, lie, words)| {
        let bytes = (1..DECISIONS_MAX).find_map(|place| {
            let mut bytes = vec![0; DECISIONS_MAX + lie.len()];
            bytes[place..place + lie.len()].copy_from_slice(&lie);
            ends_with(&bytes, words).then_some(bytes)
        });
        let bytes = bytes.unwrap_or_else(|| panic!("{name}: no moment for this lie"));
        ("driver", name, bytes)
    });
    found.collect()
}

/// Whether bring-up ends with an error of these words.
fn ends_with(bytes: &[u8], words: &str) -> bool {
    let mut from = Decoder::new(bytes);
    from.u8();
    let options = Options {
        queue_pairs: 4,
        admin_timeout: Duration::from_secs(2),
        ..Options::default()
    };
    match Device::open(Hostile::new(from), options) {
        Ok(_) => false,
        Err(error) => error.to_string().contains(words),
    }
}
