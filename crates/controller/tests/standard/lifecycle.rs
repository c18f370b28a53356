//! Enable, shutdown, resets [NVMe Base 2.0 §3.5, §3.6, §3.7].

use core::time::Duration;

use controller::Failure;
use spec::CommandId;
use spec::nvme::register::{
    self, AdminQueueAttributes, Configuration, ControllerStatus, NSSR_MAGIC, ShutdownStatus,
};
use spec::nvme::{Status, admin_opcode, io_opcode};

use crate::support::{
    BASE, BYTES, Host, PAGE, UNMAPPED, admin, create_cq, create_sq, read, transfer, write,
};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_controller_starts_disabled_and_not_ready() {
    let mut host = Host::new();
    assert_eq!(host.csts(), ControllerStatus::default());
    assert_eq!(host.read(register::CC), 0);
    host.ticks(3);
    assert_eq!(host.csts(), ControllerStatus::default());
}

#[test]
fn ready_follows_enable_both_ways() {
    let mut host = Host::ready();
    assert!(host.csts().rdy());
    host.disable();
    assert!(!host.csts().rdy());
    host.write(register::CC, Host::cc().bits());
    assert!(
        host.csts().rdy(),
        "AQA, ASQ and ACQ survive a controller reset"
    );
}

/// Enables with this CC and expects a failure.
fn refused(cc: Configuration) -> Option<Failure> {
    let mut host = Host::new();
    host.prepare();
    host.write(register::CC, cc.bits());
    assert!(host.csts().cfs() && !host.csts().rdy(), "{cc:?}");
    host.ticks(3);
    let failure = host.controller.failure();
    assert_eq!(host.controller.counters().failures, 1);
    host.write(register::CC, 0);
    assert!(!host.csts().cfs(), "a reset clears the failure");
    host.write(register::CC, Host::cc().bits());
    assert!(host.csts().rdy(), "and the controller can be enabled again");
    failure
}

#[test]
fn enabling_with_what_is_not_offered_is_a_fatal_status_until_reset() {
    let cc = Host::cc();
    assert_eq!(refused(cc.with_mps(1)), Some(Failure::PageSize { mps: 1 }));
    assert_eq!(
        refused(cc.with_css(6)),
        Some(Failure::CommandSet { css: 6 })
    );
    assert_eq!(
        refused(cc.with_css(7)),
        Some(Failure::CommandSet { css: 7 })
    );
    assert_eq!(
        refused(cc.with_ams(1)),
        Some(Failure::Arbitration { ams: 1 })
    );
    let sizes = |iosqes, iocqes| Some(Failure::EntrySize { iosqes, iocqes });
    assert_eq!(refused(cc.with_iosqes(7)), sizes(7, 4));
    assert_eq!(refused(cc.with_iocqes(3)), sizes(6, 3));
}

#[test]
fn an_admin_queue_needs_two_entries() {
    for (asqs, acqs) in [(0, 31), (31, 0)] {
        let mut host = Host::new();
        host.prepare();
        let aqa = AdminQueueAttributes::default()
            .with_asqs(asqs)
            .with_acqs(acqs);
        host.write(register::AQA, aqa.bits());
        host.write(register::CC, Host::cc().bits());
        assert!(host.csts().cfs());
    }
}

#[test]
fn admin_queues_must_lie_in_memory_that_the_host_mapped() {
    let end = BASE + BYTES as u64;
    for (register, address) in [
        (register::ASQ, UNMAPPED),
        (register::ACQ, UNMAPPED),
        (register::ASQ, end),
        (register::ACQ, u64::MAX),
    ] {
        let mut host = Host::new();
        host.prepare();
        host.write8(register, address);
        host.write(register::CC, Host::cc().bits());
        assert!(host.csts().cfs(), "{address:x}h");
        let failure = host.controller.failure();
        assert!(
            matches!(failure, Some(Failure::AdminQueueMemory { .. })),
            "{failure:?}"
        );
    }
}

#[test]
fn an_admin_queue_that_begins_inside_the_memory_and_ends_outside_is_refused() {
    let mut host = Host::new();
    host.prepare();
    host.write8(register::ASQ, BASE + BYTES as u64 - PAGE);
    let aqa = AdminQueueAttributes::default().with_asqs(64).with_acqs(31);
    host.write(register::AQA, aqa.bits());
    host.write(register::CC, Host::cc().bits());
    assert!(host.csts().cfs());
}

#[test]
fn entry_sizes_may_be_chosen_after_enabling_but_before_io_queues() {
    let mut host = Host::new();
    host.prepare();
    let early = Host::cc().with_iosqes(0).with_iocqes(0);
    host.write(register::CC, early.bits());
    assert!(host.csts().rdy());
    let (cq, sq) = (host.allocate(PAGE), host.allocate(PAGE));
    assert_eq!(
        host.admin_status(create_cq(1, 8, 1, cq)),
        Status::INVALID_QUEUE_SIZE
    );
    host.write(register::CC, Host::cc().with_iosqes(0).bits());
    assert_eq!(host.admin_status(create_cq(1, 8, 1, cq)), Status::SUCCESS);
    assert_eq!(
        host.admin_status(create_sq(1, 8, 1, sq)),
        Status::INVALID_QUEUE_SIZE
    );
    host.write(register::CC, Host::cc().bits());
    assert_eq!(host.admin_status(create_sq(1, 8, 1, sq)), Status::SUCCESS);
}

#[test]
fn nothing_is_fetched_while_the_controller_is_disabled() {
    let mut host = Host::ready();
    host.disable();
    host.set_doorbell(0, 5);
    host.ticks(5);
    assert_eq!(host.controller.counters().admin_commands, 0);
}

#[test]
fn a_reset_deletes_io_queues_and_restores_features() {
    let mut host = Host::with_pair(8);
    host.disable();
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
    assert_eq!(host.controller.counters().resets, 1);
}

#[test]
fn a_reset_in_mid_io_drops_the_command_and_its_completion() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    let cid = host.next_cid();
    host.send(1, read(1, 0, 1, page, 0).with_cid(cid));
    host.ticks(3);
    host.write(register::CC, 0);
    host.now = SECOND;
    host.ticks(3);
    assert!(host.peek(1).is_none(), "no completion after the reset");
    host.disable();
    host.enable();
    host.create_pair(1, 8);
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
    assert!(host.reap(1).is_none(), "and none of the life before");
}

#[test]
fn commands_in_flight_over_many_resets_do_not_use_up_the_controller() {
    let mut host = Host::slow(SECOND);
    host.enable();
    let page = host.allocate(PAGE);
    for _ in 0..40 {
        host.create_pair(1, 128);
        for _ in 0..127 {
            host.place(1, read(1, 0, 1, page, 0));
        }
        host.ring(1);
        host.ticks(4);
        host.clear_enable();
        host.rewind();
        assert!(host.csts().rdy(), "media are at work still");
        host.now = SECOND;
        host.ticks(2);
        host.enable();
        host.now = Duration::ZERO;
    }
    host.now = SECOND;
    host.create_pair(1, 8);
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
}

#[test]
fn a_write_from_before_a_reset_never_falls_on_one_from_after_it() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.create_pair(1, 8);
    let (old, new, found) = (
        host.allocate(PAGE),
        host.allocate(PAGE),
        host.allocate(PAGE),
    );
    host.put(old, &[1; 512]);
    host.put(new, &[2; 512]);
    host.send(1, write(1, 0, 1, old, 0));
    host.send(1, read(1, 0, 1, found, 0));
    host.ticks(3);
    host.clear_enable();
    host.ticks(3);
    assert!(host.csts().rdy(), "the old write has not happened yet");
    // A host that does not wait for CSTS.RDY 0 has to wait all the same.
    host.prepare();
    host.write(register::CC, Host::cc().bits());
    host.send(0, admin(admin_opcode::KEEP_ALIVE, 0));
    host.ticks(3);
    assert!(
        host.reap(0).is_none(),
        "nothing is served while a reset waits"
    );
    host.now = SECOND;
    host.ticks(3);
    assert_eq!(
        host.get(found, 512),
        [0; 512],
        "a reset host's memory is its own"
    );
    host.clear_enable();
    host.enable();
    host.create_pair(1, 8);
    assert_eq!(host.io_status(write(1, 0, 1, new, 0)), Status::SUCCESS);
    assert_eq!(host.io_status(read(1, 0, 1, found, 0)), Status::SUCCESS);
    assert_eq!(host.get(found, 512), [2; 512]);
}

#[test]
fn late_media_move_data_by_the_commands_own_addresses_looked_up_anew() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.create_pair(1, 8);
    let (data, found) = (host.allocate(2 * PAGE), host.allocate(2 * PAGE));
    let bytes: Vec<u8> = (0..4096).map(|at| (at / 7) as u8).collect();
    host.put(data + 2048, &bytes);
    let compare = |lba| transfer(io_opcode::COMPARE, 1, lba, 8, data + 2048, data + PAGE);
    let commands = [
        write(1, 3, 8, data + 2048, data + PAGE),
        read(1, 3, 8, found + 512, found + PAGE),
        compare(3),
        compare(4),
    ];
    for (cid, entry) in (0..).zip(commands) {
        host.send(1, entry.with_cid(CommandId::new(cid)));
    }
    host.ticks(2);
    assert!(host.reap(1).is_none());
    host.now = SECOND;
    host.ticks(2);
    let statuses: Vec<Status> = host.reap_all(1).iter().map(|done| done.status()).collect();
    let good = Status::SUCCESS;
    assert_eq!(statuses, [good, good, good, Status::COMPARE_FAILURE]);
    assert_eq!(host.get(found + 512, 4096), bytes);
}

#[test]
fn a_shutdown_completes_and_only_a_reset_serves_commands_again() {
    let mut host = Host::with_pair(8);
    host.write(register::CC, Host::cc().with_shn(0b01).bits());
    host.ticks(2);
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Complete);
    assert!(host.csts().rdy(), "shutdown does not disable");
    let before = host.controller.counters().admin_commands;
    host.send(0, admin(admin_opcode::KEEP_ALIVE, 0));
    host.ticks(5);
    assert_eq!(host.controller.counters().admin_commands, before);
    host.disable();
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Normal);
    host.enable();
    assert_eq!(
        host.admin_status(admin(admin_opcode::KEEP_ALIVE, 0)),
        Status::SUCCESS
    );
}

#[test]
fn a_shutdown_is_occurring_until_media_have_flushed() {
    for shn in [0b01, 0b10] {
        let mut host = Host::slow(SECOND);
        host.enable();
        host.write(register::CC, Host::cc().with_shn(shn).bits());
        host.ticks(5);
        assert_eq!(host.csts().shutdown(), ShutdownStatus::Occurring);
        host.now = SECOND;
        host.ticks(2);
        assert_eq!(host.csts().shutdown(), ShutdownStatus::Complete);
    }
}

#[test]
fn a_shutdown_waits_for_room_when_every_flight_is_taken() {
    let mut host = Host::slow(SECOND);
    host.enable();
    let page = host.allocate(PAGE);
    for id in [1, 2] {
        host.create_pair(id, 4096);
        for _ in 0..4095 {
            host.place(id, write(1, 0, 1, page, 0));
        }
        host.ring(id);
    }
    host.ticks(100);
    host.write(register::CC, Host::cc().with_shn(0b01).bits());
    host.ticks(5);
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Occurring);
    host.now = SECOND;
    host.ticks(3);
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Complete);
}

#[test]
fn a_reset_ends_a_shutdown_that_is_occurring() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.write(register::CC, Host::cc().with_shn(0b01).bits());
    host.ticks(2);
    host.clear_enable();
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Normal);
    host.now = SECOND;
    host.ticks(2);
    host.enable();
    assert_eq!(host.csts().shutdown(), ShutdownStatus::Normal);
    assert_eq!(
        host.admin_status(admin(admin_opcode::KEEP_ALIVE, 0)),
        Status::SUCCESS
    );
}

#[test]
fn only_the_magic_value_resets_the_subsystem() {
    let mut host = Host::ready();
    host.write(register::NSSR, NSSR_MAGIC + 1);
    assert!(host.csts().rdy() && !host.csts().nssro());
    host.write(register::NSSR, NSSR_MAGIC);
    assert_eq!(host.csts(), ControllerStatus::default().with_nssro(true));
    for offset in [register::CC, register::AQA, register::ASQ, register::ACQ] {
        assert_eq!(host.read(offset), 0, "offset {offset:x}h");
    }
}

#[test]
fn that_a_subsystem_reset_occurred_shows_until_the_host_clears_it() {
    let mut host = Host::new();
    host.write(register::NSSR, NSSR_MAGIC);
    host.enable();
    assert!(host.csts().nssro());
    host.disable();
    assert!(host.csts().nssro(), "a controller reset does not clear it");
    host.write(register::CSTS, 0);
    assert!(host.csts().nssro(), "writing zero does not clear it");
    host.write(
        register::CSTS,
        ControllerStatus::default().with_nssro(true).bits(),
    );
    assert!(!host.csts().nssro());
}

#[test]
fn a_function_reset_also_forgets_the_admin_queue_registers() {
    let mut host = Host::ready();
    host.controller.reset();
    assert_eq!(host.csts(), ControllerStatus::default());
    assert_eq!(host.read(register::AQA), 0);
    assert_eq!(host.controller.read_register(register::ASQ, 8), 0);
}
