//! Enable, shutdown, resets [NVMe Base 2.0 §3.5, §3.6, §3.7].

use core::time::Duration;

use controller::Failure;
use spec::nvme::register::{
    self, AdminQueueAttributes, Configuration, ControllerStatus, NSSR_MAGIC, ShutdownStatus,
};
use spec::nvme::{Status, admin_opcode};

use crate::support::{BASE, BYTES, Host, PAGE, UNMAPPED, admin, create_cq, create_sq, read, write};

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
        host.write(register::CC, 0);
        host.forget_sq(1);
        host.forget_cq(1);
        host.rewind();
        host.enable();
    }
    host.now = SECOND;
    host.ticks(2);
    host.create_pair(1, 8);
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
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
    host.disable();
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
