//! I/O commands and what they refuse [NVM Command Set 1.0 §3.2].

use controller::Config;
use media::BlockSize;
use spec::nvme::{DatasetManagement, DsmRange, Status, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, Lba, NamespaceId};

use crate::support::{BLOCKS, Host, PAGE, admin, io, namespace, pattern, ram, read, write};

/// The commands that name a range of blocks.
const RANGED: [u8; 5] = [
    io_opcode::READ,
    io_opcode::WRITE,
    io_opcode::COMPARE,
    io_opcode::WRITE_ZEROES,
    io_opcode::VERIFY,
];

/// A host whose queue 1 is ready, with two pages of data.
fn host() -> (Host, u64) {
    let mut host = Host::with_pair(8);
    let page = host.allocate(2 * PAGE);
    (host, page)
}

#[test]
fn what_was_written_is_read_back_in_both_block_sizes() {
    for (nsid, bytes) in [(1, 512), (2, 4096)] {
        let (mut host, page) = host();
        let written = pattern(nsid, bytes);
        host.put(page, &written);
        let nsid = nsid as u32;
        for lba in [0, 1, BLOCKS - 1] {
            assert_eq!(
                host.io_status(write(nsid, lba, 1, page, 0)),
                Status::SUCCESS
            );
            assert_eq!(
                host.io_status(read(nsid, lba, 1, page + PAGE, 0)),
                Status::SUCCESS
            );
            assert_eq!(host.get(page + PAGE, bytes), written);
        }
    }
}

#[test]
fn namespaces_do_not_share_blocks() {
    let (mut host, page) = host();
    host.put(page, &[7; 4096]);
    assert_eq!(host.io_status(write(1, 0, 8, page, 0)), Status::SUCCESS);
    assert_eq!(host.io_status(read(2, 0, 1, page, 0)), Status::SUCCESS);
    assert_eq!(host.get(page, 4096), [0; 4096]);
}

#[test]
fn ranges_beyond_the_capacity_are_refused_for_every_command() {
    let ranges = [
        ("one block too many", BLOCKS - 1, 2),
        ("the block after the last", BLOCKS, 1),
        ("far beyond", BLOCKS * 2, 1),
        ("a sum that overflows", u64::MAX, 1),
        ("a sum that overflows to a small number", u64::MAX, 2),
        ("a sum that overflows to zero", u64::MAX - 7, 8),
        ("a product that overflows", u64::MAX / 512, 8),
        ("a product that overflows to a small number", 1 << 55, 1),
    ];
    for opcode in RANGED {
        let (mut host, page) = host();
        for (what, slba, blocks) in ranges {
            let entry = io(opcode, 1, slba, blocks).with_prps(page, 0);
            assert_eq!(
                host.io_status(entry),
                Status::LBA_OUT_OF_RANGE,
                "{opcode:02x}h, {what}"
            );
        }
        let last = io(opcode, 1, BLOCKS - 1, 1).with_prps(page, 0);
        assert_eq!(
            host.io_status(last),
            Status::SUCCESS,
            "{opcode:02x}h of the last block"
        );
    }
}

#[test]
fn a_transfer_longer_than_mdts_is_refused() {
    let config = Config {
        transfer_pages_shift: 1,
        ..Config::default()
    };
    let mut host = Host::with(config, vec![namespace(1, ram(BlockSize::B512))]);
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(4 * PAGE);
    let list = host.allocate(PAGE);
    host.put_u64(list, &[page + PAGE, page + 2 * PAGE]);
    for opcode in [io_opcode::READ, io_opcode::WRITE, io_opcode::COMPARE] {
        let fits = io(opcode, 1, 0, 16).with_prps(page, page + PAGE);
        assert_eq!(host.io_status(fits), Status::SUCCESS, "{opcode:02x}h");
        let over = io(opcode, 1, 0, 17).with_prps(page, list);
        assert_eq!(host.io_status(over), Status::INVALID_FIELD, "{opcode:02x}h");
    }
    for opcode in [io_opcode::WRITE_ZEROES, io_opcode::VERIFY] {
        assert_eq!(
            host.io_status(io(opcode, 1, 0, 4096)),
            Status::SUCCESS,
            "moves no data"
        );
    }
}

#[test]
fn a_namespace_that_cannot_be_is_refused_for_every_command() {
    let (mut host, page) = host();
    for opcode in RANGED
        .into_iter()
        .chain([io_opcode::FLUSH, io_opcode::DATASET_MANAGEMENT])
    {
        for nsid in [0, 3, 0xffff_fffe] {
            let entry = io(opcode, nsid, 0, 1).with_prps(page, 0);
            assert_eq!(
                host.io_status(entry),
                Status::INVALID_NAMESPACE,
                "{opcode:02x}h of {nsid}"
            );
        }
    }
    for opcode in RANGED {
        let entry = io(opcode, u32::MAX, 0, 1).with_prps(page, 0);
        assert_eq!(
            host.io_status(entry),
            Status::INVALID_NAMESPACE,
            "{opcode:02x}h of all"
        );
    }
}

#[test]
fn a_namespace_that_could_be_but_is_not_attached_is_an_invalid_field() {
    let namespaces = vec![
        namespace(1, ram(BlockSize::B512)),
        namespace(3, ram(BlockSize::B512)),
    ];
    let mut host = Host::with(Config::default(), namespaces);
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    assert_eq!(
        host.io_status(read(2, 0, 1, page, 0)),
        Status::INVALID_FIELD
    );
    assert_eq!(host.io_status(read(3, 0, 1, page, 0)), Status::SUCCESS);
}

#[test]
fn unknown_opcodes_fused_commands_and_sgls_are_refused() {
    let (mut host, page) = host();
    let known = |opcode| RANGED.contains(&opcode) || [0x00, 0x09].contains(&opcode);
    for opcode in (0..=255).filter(|&opcode| !known(opcode)) {
        let entry = io(opcode, 1, 0, 1).with_prps(page, 0);
        assert_eq!(
            host.io_status(entry),
            Status::INVALID_OPCODE,
            "{opcode:02x}h"
        );
    }
    let good = read(1, 0, 1, page, 0);
    for field in 1..=3 {
        assert_eq!(host.io_status(good.with_fuse(field)), Status::INVALID_FIELD);
        assert_eq!(host.io_status(good.with_psdt(field)), Status::INVALID_FIELD);
    }
    assert_eq!(host.io_status(good), Status::SUCCESS);
}

#[test]
fn compare_tells_equal_from_different() {
    let (mut host, page) = host();
    host.put(page, &pattern(3, 1024));
    assert_eq!(host.io_status(write(1, 5, 2, page, 0)), Status::SUCCESS);
    let compare = io(io_opcode::COMPARE, 1, 5, 2).with_prps(page, 0);
    assert_eq!(host.io_status(compare), Status::SUCCESS);
    let mut last = host.get(page + 1023, 1);
    last[0] ^= 1;
    host.put(page + 1023, &last);
    assert_eq!(host.io_status(compare), Status::COMPARE_FAILURE);
}

#[test]
fn write_zeroes_clears_its_blocks_and_no_others() {
    for deallocate in [false, true] {
        let (mut host, page) = host();
        host.put(page, &[9; 4096]);
        assert_eq!(host.io_status(write(1, 0, 8, page, 0)), Status::SUCCESS);
        let entry = io(io_opcode::WRITE_ZEROES, 1, 2, 3).with_deallocate(deallocate);
        assert_eq!(host.io_status(entry), Status::SUCCESS);
        assert_eq!(host.io_status(read(1, 0, 8, page, 0)), Status::SUCCESS);
        let found = host.get(page, 4096);
        let wanted: Vec<u8> = (0..8)
            .flat_map(|block| [if (2..5).contains(&block) { 0 } else { 9 }; 512])
            .collect();
        assert_eq!(found, wanted);
    }
}

/// Dataset Management of these ranges on namespace 1.
fn manage(host: &mut Host, page: u64, deallocate: bool, ranges: &[(u64, u64)]) -> Status {
    for (at, (lba, count)) in ranges.iter().enumerate() {
        let mut bytes = [0; DsmRange::BYTES];
        let range = DsmRange {
            at: Lba::new(*lba),
            count: BlockCount::new(*count),
            ..Default::default()
        };
        range.emit(&mut bytes);
        host.put(page + 16 * at as u64, &bytes);
    }
    let command = DatasetManagement {
        ranges: spec::ZeroBased::<u8>::new(ranges.len() as u8 - 1),
        deallocate,
        ..Default::default()
    };
    let nsid = NamespaceId::new(1);
    let entry = SubmissionEntry::new(io_opcode::DATASET_MANAGEMENT, CommandId::new(0), nsid);
    host.io_status(command.emit(entry).with_prps(page, 0))
}

/// Which of the first eight blocks of namespace 1 hold data.
fn holding(host: &mut Host, page: u64) -> Vec<bool> {
    assert_eq!(host.io_status(read(1, 0, 8, page, 0)), Status::SUCCESS);
    host.get(page, 4096)
        .chunks(512)
        .map(|block| block.iter().all(|&byte| byte == 9))
        .collect()
}

#[test]
fn dataset_management_deallocates_its_ranges() {
    let (mut host, page) = host();
    host.put(page, &[9; 4096]);
    assert_eq!(host.io_status(write(1, 0, 8, page, 0)), Status::SUCCESS);
    assert_eq!(manage(&mut host, page, false, &[(0, 8)]), Status::SUCCESS);
    assert!(
        holding(&mut host, page).iter().all(|&held| held),
        "a hint changes nothing"
    );
    assert_eq!(
        manage(&mut host, page, true, &[(1, 2), (5, 0), (6, 1)]),
        Status::SUCCESS
    );
    let wanted = [true, false, false, true, true, true, false, true];
    assert_eq!(holding(&mut host, page), wanted);
}

#[test]
fn dataset_management_with_one_wrong_range_changes_nothing() {
    let (mut host, page) = host();
    host.put(page, &[9; 4096]);
    assert_eq!(host.io_status(write(1, 0, 8, page, 0)), Status::SUCCESS);
    for wrong in [(BLOCKS, 1), (BLOCKS - 1, 2), (u64::MAX, 1)] {
        assert_eq!(
            manage(&mut host, page, true, &[(0, 4), wrong]),
            Status::LBA_OUT_OF_RANGE
        );
    }
    assert!(holding(&mut host, page).iter().all(|&held| held));
}

#[test]
fn flush_takes_one_namespace_or_all() {
    let (mut host, _) = host();
    for nsid in [1, 2, u32::MAX] {
        assert_eq!(
            host.io_status(io(io_opcode::FLUSH, nsid, 0, 1)),
            Status::SUCCESS
        );
    }
    assert_eq!(host.controller.counters().flushes, 3);
}

#[test]
fn a_refused_write_changes_nothing() {
    let (mut host, page) = host();
    host.put(page, &[1; 8192]);
    assert_eq!(
        host.io_status(write(1, 0, 16, page, page + PAGE + 4)),
        Status::INVALID_PRP_OFFSET
    );
    assert_eq!(
        host.io_status(write(1, BLOCKS - 1, 2, page, 0)),
        Status::LBA_OUT_OF_RANGE
    );
    for lba in [0, BLOCKS - 1] {
        assert_eq!(host.io_status(read(1, lba, 1, page, 0)), Status::SUCCESS);
        assert_eq!(host.get(page, 512), [0; 512]);
    }
}

#[test]
fn io_opcodes_mean_nothing_on_the_admin_queue() {
    let (mut host, page) = host();
    // 08h and 09h are Abort and Set Features there, 00h to 06h queue commands; Verify's opcode is an event request's.
    let entry = admin(0x0d, 1).with_prps(page, 0);
    assert_eq!(host.admin_status(entry), Status::INVALID_OPCODE);
}
