//! Asynchronous events [NVMe Base 2.0 §5.2].

use spec::nvme::{
    AsyncEvent, GetLogPage, IdentifyController, Status, admin_opcode, cns, log_id, register,
};
use spec::{CommandId, NamespaceId};

use crate::support::{ADMIN_DEPTH, Host, PAGE, admin, get_log, set_feature};

const EVENT_CONFIGURATION: u32 = 0x0b;
const TEMPERATURE_THRESHOLD: u32 = 0x04;
/// Asynchronous Event Configuration: SMART temperature.
const WANT_TEMPERATURE: u32 = 1 << 1;
/// Asynchronous Event Configuration: Namespace Attribute Notices.
const WANT_NAMESPACES: u32 = 1 << 8;

/// Writes a doorbell of a queue that does not exist.
fn wrong_register(host: &mut Host) {
    host.write(register::DOORBELLS + 64, 0);
}

/// Writes a tail beyond the admin queue.
fn wrong_value(host: &mut Host) {
    host.write(register::DOORBELLS, ADMIN_DEPTH);
}

fn event(host: &mut Host) -> Option<AsyncEvent> {
    host.next_admin().map(|done| {
        assert_eq!(done.status(), Status::SUCCESS);
        AsyncEvent::from_result(done.result())
    })
}

/// Reads a log page, retaining the event or not.
fn read_log(host: &mut Host, page: u8, retain: bool) {
    let address = host.allocate(PAGE);
    let command = GetLogPage {
        lid: page,
        retain_event: retain,
        dwords_raw: 127,
        ..Default::default()
    };
    let entry = command
        .emit(admin(admin_opcode::GET_LOG_PAGE, u32::MAX))
        .with_prps(address, 0);
    assert_eq!(host.admin_status(entry), Status::SUCCESS);
}

#[test]
fn a_request_waits_without_a_completion() {
    let mut host = Host::ready();
    host.request_event();
    host.ticks(20);
    assert!(host.reap(0).is_none());
}

#[test]
fn requests_beyond_the_limit_are_refused() {
    let mut host = Host::ready();
    let identify = IdentifyController::parse(&host.identify(cns::CONTROLLER.into(), 0));
    let limit = identify.expect("a page").aerl.count();
    for _ in 0..limit {
        host.request_event();
    }
    assert!(host.reap(0).is_none());
    let one_more = admin(admin_opcode::ASYNC_EVENT_REQUEST, 0);
    assert_eq!(host.admin_status(one_more), Status::AER_LIMIT_EXCEEDED);
    wrong_value(&mut host);
    assert!(event(&mut host).is_some(), "the others still wait");
    host.request_event();
    assert!(host.reap(0).is_none(), "and a place is free again");
}

#[test]
fn the_oldest_request_carries_the_event() {
    let mut host = Host::ready();
    let first = host.request_event();
    host.request_event();
    wrong_value(&mut host);
    assert_eq!(host.next_admin().map(|done| done.cid()), Some(first));
}

#[test]
fn a_type_stays_silent_until_its_log_page_was_read() {
    let mut host = Host::ready();
    for _ in 0..3 {
        host.request_event();
    }
    wrong_value(&mut host);
    assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
    wrong_register(&mut host);
    assert_eq!(event(&mut host), None, "another error event stays back");
    read_log(&mut host, log_id::ERROR_INFORMATION, true);
    assert_eq!(event(&mut host), None, "retaining the event clears nothing");
    read_log(&mut host, log_id::SMART, false);
    assert_eq!(event(&mut host), None, "another page clears nothing");
    read_log(&mut host, log_id::ERROR_INFORMATION, false);
    assert_eq!(event(&mut host), None, "the host has read of both");
    wrong_register(&mut host);
    assert_eq!(
        event(&mut host),
        Some(AsyncEvent::INVALID_DOORBELL_REGISTER)
    );
}

#[test]
fn a_silent_type_does_not_hold_up_another() {
    let mut host = Host::ready();
    assert_eq!(
        host.admin_status(set_feature(EVENT_CONFIGURATION, WANT_NAMESPACES)),
        Status::SUCCESS
    );
    for _ in 0..3 {
        host.request_event();
    }
    wrong_value(&mut host);
    assert!(event(&mut host).is_some());
    wrong_register(&mut host);
    host.controller
        .announce_namespace_change(NamespaceId::new(2));
    assert_eq!(
        event(&mut host),
        Some(AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED)
    );
}

#[test]
fn an_event_whose_log_page_was_read_before_a_request_came_is_over() {
    let mut host = Host::ready();
    wrong_value(&mut host);
    host.ticks(2);
    read_log(&mut host, log_id::ERROR_INFORMATION, false);
    host.request_event();
    assert_eq!(event(&mut host), None);
}

#[test]
fn a_reset_ends_requests_and_events_without_completions() {
    let mut host = Host::ready();
    host.request_event();
    host.disable();
    host.enable();
    wrong_value(&mut host);
    assert_eq!(event(&mut host), None, "the request is gone");
    host.disable();
    host.enable();
    host.request_event();
    assert_eq!(event(&mut host), None, "the event is gone");
}

#[test]
fn events_wait_for_room_in_the_admin_completion_queue() {
    let mut host = Host::ready();
    host.request_event();
    let room = ADMIN_DEPTH - 1;
    for _ in 0..room {
        host.place(
            0,
            admin(admin_opcode::KEEP_ALIVE, 0).with_cid(CommandId::new(500)),
        );
    }
    host.ring(0);
    host.ticks(20);
    wrong_value(&mut host);
    host.ticks(5);
    let filled: Vec<u16> = core::iter::from_fn(|| host.peek(0))
        .map(|done| done.cid().get())
        .collect();
    assert_eq!(filled, vec![500; room as usize]);
    host.release(0);
    assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
}

#[test]
fn namespace_notices_come_only_when_they_are_wanted() {
    let mut host = Host::ready();
    host.request_event();
    host.controller
        .announce_namespace_change(NamespaceId::new(1));
    assert_eq!(event(&mut host), None);
    assert_eq!(
        host.admin_status(set_feature(EVENT_CONFIGURATION, WANT_NAMESPACES)),
        Status::SUCCESS
    );
    host.controller
        .announce_namespace_change(NamespaceId::new(2));
    assert_eq!(
        event(&mut host),
        Some(AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED)
    );
    let list = host.log(log_id::CHANGED_NAMESPACES.into(), 4096);
    assert_eq!(list[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let list = host.log(log_id::CHANGED_NAMESPACES.into(), 4096);
    assert_eq!(list, [0; 4096], "reading the list empties it");
}

#[test]
fn retaining_the_event_keeps_the_changed_namespace_list() {
    let mut host = Host::ready();
    host.controller
        .announce_namespace_change(NamespaceId::new(2));
    read_log(&mut host, log_id::CHANGED_NAMESPACES, true);
    let list = host.log(log_id::CHANGED_NAMESPACES.into(), 4096);
    assert_eq!(list[..4], [2, 0, 0, 0]);
}

#[test]
fn a_threshold_below_the_temperature_is_an_event_when_it_is_wanted() {
    let mut host = Host::ready();
    host.request_event();
    assert_eq!(
        host.admin_status(set_feature(TEMPERATURE_THRESHOLD, 300)),
        Status::SUCCESS
    );
    assert_eq!(event(&mut host), None, "not wanted yet");
    assert_eq!(
        host.admin_status(set_feature(EVENT_CONFIGURATION, WANT_TEMPERATURE)),
        Status::SUCCESS
    );
    assert_eq!(event(&mut host), Some(AsyncEvent::TEMPERATURE_THRESHOLD));
    let smart = host.log(log_id::SMART.into(), 512);
    assert_eq!(smart[0], 0b10, "critical warning: temperature");
}

#[test]
fn a_log_page_that_could_not_be_delivered_clears_nothing() {
    let mut host = Host::ready();
    for _ in 0..2 {
        host.request_event();
    }
    wrong_value(&mut host);
    assert!(event(&mut host).is_some());
    let lost = get_log(log_id::ERROR_INFORMATION.into(), 64).with_prps(crate::support::UNMAPPED, 0);
    assert_eq!(host.admin_status(lost), Status::DATA_TRANSFER_ERROR);
    wrong_register(&mut host);
    assert_eq!(event(&mut host), None);
}
