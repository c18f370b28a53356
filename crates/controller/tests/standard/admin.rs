//! Abort, Keep Alive, and what holds for all admin commands [NVMe Base 2.0 §5].

use core::time::Duration;

use controller::Failure;
use spec::CommandId;
use spec::QueueId;
use spec::nvme::log::CommandEffectsLog;
use spec::nvme::{
    Abort, AsyncEvent, ErrorLogEntry, IdentifyController, Status, SubmissionEntry, admin_opcode,
    cns, log_id,
};

use crate::support::{Host, PAGE, admin, get_feature, read, set_feature};

const KEEP_ALIVE_TIMER: u32 = 0x0f;

fn abort(sq: u16, cid: CommandId) -> SubmissionEntry {
    Abort {
        sqid: QueueId::new(sq),
        cid,
    }
    .emit(admin(admin_opcode::ABORT, 0))
}

#[test]
fn opcodes_that_the_effects_log_does_not_name_are_invalid() {
    let mut host = Host::ready();
    let log = host.log(log_id::COMMAND_EFFECTS.into(), 4096);
    let log = CommandEffectsLog::parse(&log).expect("a page");
    let unknown = |&opcode: &u8| !log.admin_command(opcode).supported();
    assert_eq!((0..=255).filter(unknown).count(), 256 - 11);
    for opcode in (0..=255).filter(unknown) {
        assert_eq!(
            host.admin_status(admin(opcode, 0)),
            Status::INVALID_OPCODE,
            "{opcode:02x}h"
        );
    }
}

#[test]
fn a_fabrics_command_over_pci_express_is_an_invalid_opcode() {
    let mut host = Host::ready();
    let status = host.admin_status(admin(admin_opcode::FABRICS, 0));
    assert_eq!(status, Status::INVALID_OPCODE);
}

#[test]
fn fused_admin_commands_and_sgls_are_refused() {
    let mut host = Host::ready();
    let page = host.allocate(PAGE);
    let identify = admin(admin_opcode::IDENTIFY, 0)
        .with_cdw10(cns::CONTROLLER.into())
        .with_prps(page, 0);
    for field in 1..=3 {
        assert_eq!(
            host.admin_status(identify.with_fuse(field)),
            Status::INVALID_FIELD
        );
        assert_eq!(
            host.admin_status(identify.with_psdt(field)),
            Status::INVALID_FIELD
        );
    }
    assert_eq!(host.get(page, 4), [0; 4], "nothing was written");
    assert_eq!(host.admin_status(identify), Status::SUCCESS);
}

#[test]
fn an_asynchronous_event_request_can_be_aborted() {
    let mut host = Host::ready();
    let waiting = host.request_event();
    let cid = host.next_cid();
    host.send(0, abort(0, waiting).with_cid(cid));
    host.ticks(3);
    let aborted = host.reap(0).expect("the request's completion comes first");
    assert_eq!(
        (aborted.cid(), aborted.status()),
        (waiting, Status::ABORT_REQUESTED)
    );
    let done = host.reap(0).expect("then the Abort's");
    assert_eq!((done.cid(), done.status()), (cid, Status::SUCCESS));
    assert!(Abort::was_aborted(done.result()));
    assert_eq!(
        host.admin(abort(0, waiting)).result(),
        Abort::NOT_ABORTED,
        "only once"
    );
}

#[test]
fn an_abort_of_a_command_that_is_not_there_says_so() {
    let mut host = Host::with_pair(8);
    for (sq, cid) in [(0, 77), (1, 0), (1, 0xffff)] {
        let done = host.admin(abort(sq, CommandId::new(cid)));
        assert_eq!(
            (done.status(), done.result()),
            (Status::SUCCESS, Abort::NOT_ABORTED)
        );
    }
}

#[test]
fn an_abort_of_a_command_that_media_work_on_leaves_it_to_finish() {
    let mut host = Host::slow(Duration::from_secs(1));
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    let cid = host.next_cid();
    host.send(1, read(1, 0, 1, page, 0).with_cid(cid));
    host.ticks(2);
    assert_eq!(host.admin(abort(1, cid)).result(), Abort::NOT_ABORTED);
    host.now = Duration::from_secs(1);
    host.ticks(2);
    assert_eq!(
        host.reap(1).map(|done| (done.cid(), done.status())),
        Some((cid, Status::SUCCESS))
    );
}

#[test]
fn an_abort_that_names_no_queue_is_an_invalid_field() {
    let mut host = Host::ready();
    for sq in [1, 128, 0xffff] {
        assert_eq!(
            host.admin_status(abort(sq, CommandId::new(1))),
            Status::INVALID_FIELD
        );
    }
}

#[test]
fn the_abort_limit_that_identify_names_can_be_used() {
    let mut host = Host::ready();
    let identify = IdentifyController::parse(&host.identify(cns::CONTROLLER.into(), 0));
    let limit = identify.expect("a page").acl.count();
    for _ in 0..limit {
        host.place(0, abort(0, CommandId::new(99)));
    }
    host.ring(0);
    host.ticks(5);
    let done = host.reap_all(0);
    assert_eq!(done.len() as u32, limit);
    assert!(done.iter().all(|done| done.status() == Status::SUCCESS));
}

fn at(host: &mut Host, milliseconds: u64) {
    host.now = Duration::from_millis(milliseconds);
    host.ticks(2);
}

#[test]
fn the_keep_alive_timer_is_off_until_it_is_set() {
    let mut host = Host::ready();
    at(&mut host, 1 << 40);
    assert!(!host.csts().cfs());
    assert_eq!(
        host.admin_status(admin(admin_opcode::KEEP_ALIVE, 0)),
        Status::SUCCESS
    );
}

#[test]
fn a_host_that_lets_the_keep_alive_timer_run_out_finds_a_fatal_status() {
    let mut host = Host::ready();
    assert_eq!(
        host.admin_status(set_feature(KEEP_ALIVE_TIMER, 1000)),
        Status::SUCCESS
    );
    at(&mut host, 999);
    assert!(!host.csts().cfs());
    at(&mut host, 1000);
    assert!(host.csts().cfs());
    assert_eq!(host.controller.failure(), Some(Failure::KeepAlive));
    host.disable();
    assert!(!host.csts().cfs());
    host.enable();
    at(&mut host, 1 << 40);
    assert!(!host.csts().cfs(), "a reset switches the timer off");
    let log = host.log(log_id::ERROR_INFORMATION.into(), 64);
    let entry = ErrorLogEntry::parse(&log).expect("64 bytes");
    assert_eq!(entry.status.status(), Status::KEEP_ALIVE_EXPIRED);
}

#[test]
fn keep_alive_starts_the_timer_anew_and_other_commands_do_not() {
    let mut host = Host::ready();
    assert_eq!(
        host.admin_status(set_feature(KEEP_ALIVE_TIMER, 1000)),
        Status::SUCCESS
    );
    for beat in 1..5 {
        at(&mut host, beat * 900);
        assert_eq!(
            host.admin_status(admin(admin_opcode::KEEP_ALIVE, 0)),
            Status::SUCCESS
        );
    }
    at(&mut host, 4500);
    assert_eq!(
        host.admin_status(get_feature(KEEP_ALIVE_TIMER, 0)),
        Status::SUCCESS
    );
    at(&mut host, 4600);
    assert!(host.csts().cfs());
}

#[test]
fn a_keep_alive_timeout_is_rounded_up_to_the_granularity_and_zero_switches_it_off() {
    let mut host = Host::ready();
    for (asked, kept) in [
        (1, 100),
        (100, 100),
        (101, 200),
        (u32::MAX, 4_294_967_200),
        (0, 0),
    ] {
        assert_eq!(
            host.admin_status(set_feature(KEEP_ALIVE_TIMER, asked)),
            Status::SUCCESS
        );
        assert_eq!(host.admin(get_feature(KEEP_ALIVE_TIMER, 0)).result(), kept);
    }
    at(&mut host, 1 << 40);
    assert!(!host.csts().cfs());
}

#[test]
fn a_failed_controller_fetches_nothing() {
    let mut host = Host::with_pair(8);
    assert_eq!(
        host.admin_status(set_feature(KEEP_ALIVE_TIMER, 100)),
        Status::SUCCESS
    );
    at(&mut host, 100);
    let before = *host.controller.counters();
    let page = host.allocate(PAGE);
    host.send(1, read(1, 0, 1, page, 0));
    host.send(0, admin(admin_opcode::KEEP_ALIVE, 0));
    host.ticks(5);
    assert_eq!(*host.controller.counters(), before);
}

#[test]
fn an_error_event_waits_until_a_request_comes() {
    let mut host = Host::ready();
    host.set_doorbell(0, 0xffff);
    host.ticks(3);
    assert!(host.reap(0).is_none());
    let cid = host.request_event();
    let done = host.next_admin().expect("the event that waited");
    assert_eq!(done.cid(), cid);
    assert_eq!(
        AsyncEvent::from_result(done.result()),
        AsyncEvent::INVALID_DOORBELL_VALUE
    );
}
