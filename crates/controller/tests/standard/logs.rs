//! Get Log Page [NVMe Base 2.0 §5.16].

use core::time::Duration;

use spec::nvme::log::{CommandEffectsLog, FeatureEffectsLog, FirmwareSlotLog, SupportedLogPages};
use spec::nvme::{
    ErrorLogEntry, GetLogPage, SmartLog, Status, SubmissionEntry, admin_opcode, feature_id,
    io_opcode, log_id,
};
use spec::{ByteOffset, Lba, NamespaceId, QueueId};

use crate::support::{BLOCKS, Host, PAGE, UNMAPPED, admin, get_log, io, read, write};

const OFFERED: [u8; 8] = [
    log_id::SUPPORTED_LOG_PAGES,
    log_id::ERROR_INFORMATION,
    log_id::SMART,
    log_id::FIRMWARE_SLOT,
    log_id::CHANGED_NAMESPACES,
    log_id::COMMAND_EFFECTS,
    log_id::FEATURE_EFFECTS,
    log_id::MI_COMMAND_EFFECTS,
];

fn smart(host: &mut Host) -> SmartLog {
    SmartLog::parse(&host.log(log_id::SMART.into(), 512)).expect("512 bytes")
}

fn errors(host: &mut Host, count: u32) -> Vec<ErrorLogEntry> {
    let bytes = host.log(log_id::ERROR_INFORMATION.into(), 64 * count);
    bytes
        .chunks(64)
        .map(|entry| ErrorLogEntry::parse(entry).expect("64 bytes"))
        .collect()
}

#[test]
fn supported_log_pages_are_those_that_can_be_read() {
    let mut host = Host::ready();
    let bytes = host.log(log_id::SUPPORTED_LOG_PAGES.into(), 1024);
    let supported = SupportedLogPages::parse(&bytes).expect("1024 bytes");
    for id in 0..=255 {
        let address = host.allocate(4);
        let status = host.admin_status(get_log(id.into(), 4).with_prps(address, 0));
        if OFFERED.contains(&id) {
            assert_eq!(status, Status::SUCCESS, "log page {id:02x}h");
        } else {
            assert_eq!(status, Status::INVALID_LOG_PAGE, "log page {id:02x}h");
        }
        assert_eq!(
            supported.support(id).supported(),
            OFFERED.contains(&id),
            "{id:02x}h"
        );
    }
}

#[test]
fn refused_commands_stand_in_the_error_log_newest_first() {
    let mut host = Host::with_pair(8);
    let page = host.allocate(PAGE);
    assert!(
        errors(&mut host, 64)
            .iter()
            .all(|entry| entry.error_count == 0),
        "empty at first"
    );
    let first = host.command(1, read(2, BLOCKS, 1, page, 0));
    let second = host.admin(admin(0xc0, 1));
    let found = errors(&mut host, 64);
    assert_eq!(found[0].error_count, 2);
    assert_eq!(
        (found[0].sqid, found[0].cid),
        (QueueId::ADMIN, second.cid())
    );
    assert_eq!(found[0].status.status(), Status::INVALID_OPCODE);
    assert_eq!(found[1].error_count, 1);
    assert_eq!(
        (found[1].sqid, found[1].cid),
        (QueueId::new(1), first.cid())
    );
    assert_eq!(found[1].status.status(), Status::LBA_OUT_OF_RANGE);
    assert_eq!(
        (found[1].lba, found[1].nsid),
        (Lba::new(BLOCKS), NamespaceId::new(2))
    );
    assert!(found[2..].iter().all(|entry| entry.error_count == 0));
}

#[test]
fn a_command_that_fails_after_waiting_for_media_stands_in_the_error_log() {
    let mut host = Host::slow(Duration::from_secs(1));
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    host.put(page, &[1; 512]);
    let cid = host.next_cid();
    let compare = io(io_opcode::COMPARE, 1, 0, 1).with_prps(page, 0);
    host.send(1, compare.with_cid(cid));
    host.ticks(2);
    host.now = Duration::from_secs(1);
    host.ticks(2);
    let done = host.reap(1).expect("media have answered");
    assert_eq!(done.status(), Status::COMPARE_FAILURE);
    let found = errors(&mut host, 1)[0];
    assert_eq!((found.sqid, found.cid), (QueueId::new(1), cid));
    assert_eq!(found.status.status(), Status::COMPARE_FAILURE);
}

#[test]
fn the_error_log_keeps_the_newest_64_and_counts_all() {
    let mut host = Host::ready();
    for _ in 0..100 {
        host.admin(admin(0xc0, 0));
    }
    let counts: Vec<u64> = errors(&mut host, 64)
        .iter()
        .map(|entry| entry.error_count)
        .collect();
    assert_eq!(counts, (37..=100).rev().collect::<Vec<u64>>());
    assert_eq!(smart(&mut host).error_log_entries, 100);
}

#[test]
fn the_error_log_survives_a_controller_reset() {
    let mut host = Host::ready();
    host.admin(admin(0xc0, 0));
    host.disable();
    host.enable();
    assert_eq!(errors(&mut host, 1)[0].error_count, 1);
}

#[test]
fn smart_counts_commands_and_thousands_of_512_bytes() {
    let mut host = Host::with_pair(8);
    let page = host.allocate(PAGE);
    for _ in 0..126 {
        assert_eq!(host.io_status(read(1, 0, 8, page, 0)), Status::SUCCESS);
    }
    assert_eq!(host.io_status(write(1, 0, 1, page, 0)), Status::SUCCESS);
    let found = smart(&mut host);
    assert_eq!(found.host_reads, 126);
    assert_eq!(found.data_units_read, 2, "126 times 8 blocks, rounded up");
    assert_eq!((found.host_writes, found.data_units_written), (1, 1));
    assert_eq!(found.critical_warning.bits(), 0);
    assert!(found.composite_temperature.get() > 273);
    assert!(found.available_spare > found.available_spare_threshold);
    assert_eq!(found.media_errors, 0);
    assert_eq!(found.power_cycles, 1);
}

#[test]
fn smart_counts_media_errors_and_hours() {
    let mut host = Host::with_pair(8);
    let page = host.allocate(PAGE);
    host.put(page, &[1; 512]);
    let compare = io(io_opcode::COMPARE, 1, 0, 1).with_prps(page, 0);
    assert_eq!(host.io_status(compare), Status::COMPARE_FAILURE);
    host.now += Duration::from_secs(2 * 3600 + 5);
    let found = smart(&mut host);
    assert_eq!(found.media_errors, 1);
    assert_eq!(found.power_on_hours, 2);
}

#[test]
fn the_firmware_slot_log_names_the_running_firmware() {
    let mut host = Host::ready();
    let bytes = host.log(log_id::FIRMWARE_SLOT.into(), 512);
    let found = FirmwareSlotLog::parse(&bytes).expect("512 bytes");
    assert_eq!(found.afi.active(), 1);
    assert_eq!(found.frs.0[0].to_text(), host.controller.config().firmware);
}

#[test]
fn the_effects_log_says_which_commands_change_blocks() {
    let mut host = Host::ready();
    let bytes = host.log(log_id::COMMAND_EFFECTS.into(), 4096);
    let found = CommandEffectsLog::parse(&bytes).expect("a page");
    for opcode in [
        io_opcode::WRITE,
        io_opcode::WRITE_ZEROES,
        io_opcode::DATASET_MANAGEMENT,
    ] {
        assert!(found.io_command(opcode).changes_blocks(), "{opcode:02x}h");
    }
    for opcode in [
        io_opcode::READ,
        io_opcode::FLUSH,
        io_opcode::COMPARE,
        io_opcode::VERIFY,
    ] {
        let effects = found.io_command(opcode);
        assert!(
            effects.supported() && !effects.changes_blocks(),
            "{opcode:02x}h"
        );
    }
    assert!(!found.io_command(io_opcode::COPY).supported());
    assert!(found.admin_command(admin_opcode::IDENTIFY).supported());
    assert!(!found.admin_command(admin_opcode::FORMAT_NVM).supported());
}

#[test]
fn the_feature_effects_log_follows_the_features() {
    let mut host = Host::ready();
    let bytes = host.log(log_id::FEATURE_EFFECTS.into(), 1024);
    let found = FeatureEffectsLog::parse(&bytes).expect("1024 bytes");
    assert_eq!(
        found
            .features
            .0
            .iter()
            .filter(|feature| feature.supported())
            .count(),
        11
    );
    assert!(found.features.0[usize::from(feature_id::KEEP_ALIVE_TIMER)].supported());
}

fn part(page: u8, offset: u64, dwords_raw: u32) -> SubmissionEntry {
    GetLogPage {
        lid: page,
        offset: ByteOffset::new(offset),
        dwords_raw,
        ..Default::default()
    }
    .emit(admin(admin_opcode::GET_LOG_PAGE, u32::MAX))
}

#[test]
fn a_log_page_can_be_read_in_parts() {
    let mut host = Host::ready();
    for _ in 0..5 {
        host.admin(admin(0xc0, 0));
    }
    let whole = host.log(log_id::ERROR_INFORMATION.into(), 4096);
    let address = host.allocate(PAGE);
    for (offset, dwords) in [(0, 1), (64, 16), (100, 33), (4092, 1)] {
        let entry = part(log_id::ERROR_INFORMATION, offset, dwords - 1).with_prps(address, 0);
        assert_eq!(host.admin_status(entry), Status::SUCCESS);
        let len = dwords as usize * 4;
        let offset = offset as usize;
        assert_eq!(host.get(address, len), whole[offset..offset + len]);
    }
}

#[test]
fn beyond_the_end_of_a_log_page_nothing_is_written() {
    let mut host = Host::ready();
    let address = host.allocate(PAGE);
    host.put(address, &[0xee; 4096]);
    let entry = part(log_id::SMART, 508, 1023).with_prps(address, 0);
    assert_eq!(host.admin_status(entry), Status::SUCCESS);
    assert_eq!(host.get(address, 8), [0, 0, 0, 0, 0xee, 0xee, 0xee, 0xee]);
    let at_end = part(log_id::SMART, 512, 0).with_prps(address, 0);
    assert_eq!(host.admin_status(at_end), Status::SUCCESS);
}

#[test]
fn wrong_requests_are_refused_by_the_right_name() {
    let indexed = GetLogPage {
        lid: 2,
        index_offset: true,
        ..Default::default()
    };
    let cases = [
        (
            "an offset beyond the page",
            part(log_id::SMART, 516, 0),
            Status::INVALID_FIELD,
        ),
        (
            "the largest offset",
            part(log_id::SMART, u64::MAX - 3, 0),
            Status::INVALID_FIELD,
        ),
        (
            "an offset inside a dword",
            part(log_id::SMART, 2, 0),
            Status::INVALID_FIELD,
        ),
        (
            "an offset that is an index",
            indexed.emit(admin(2, u32::MAX)),
            Status::INVALID_FIELD,
        ),
        (
            "more than MDTS",
            part(log_id::SMART, 0, 524_288),
            Status::INVALID_FIELD,
        ),
        (
            "16 GiB",
            part(log_id::SMART, 0, u32::MAX),
            Status::INVALID_FIELD,
        ),
        (
            "a namespace",
            get_log(2, 4).with_nsid(NamespaceId::new(1)),
            Status::INVALID_FIELD,
        ),
        (
            "no namespace",
            get_log(2, 4).with_nsid(NamespaceId::new(9)),
            Status::INVALID_NAMESPACE,
        ),
    ];
    let mut host = Host::ready();
    let address = host.allocate(PAGE);
    for (what, entry, wanted) in cases {
        assert_eq!(
            host.admin_status(entry.with_prps(address, 0)),
            wanted,
            "{what}"
        );
    }
    let controller = get_log(2, 4)
        .with_nsid(NamespaceId::NONE)
        .with_prps(address, 0);
    assert_eq!(host.admin_status(controller), Status::SUCCESS);
    let lost = get_log(2, 4).with_prps(UNMAPPED, 0);
    assert_eq!(host.admin_status(lost), Status::DATA_TRANSFER_ERROR);
}
