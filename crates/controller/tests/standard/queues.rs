//! Queues at work [NVMe Base 2.0 §3.3.1].

use core::time::Duration;

use spec::nvme::{AsyncEvent, ErrorLogEntry, Status, admin_opcode, io_opcode, log_id, register};
use spec::{CommandId, QueueId};

use crate::support::{
    ADMIN_DEPTH, Host, PAGE, admin, create_cq, create_sq, delete_cq, delete_sq, io, read,
};

const SECOND: Duration = Duration::from_secs(1);

fn flush() -> spec::nvme::SubmissionEntry {
    io(io_opcode::FLUSH, 1, 0, 1)
}

#[test]
fn the_phase_tag_inverts_each_time_the_completion_queue_wraps() {
    let mut host = Host::ready();
    host.create_cq(1, 4);
    host.create_sq(1, 1, 8);
    let phases: Vec<bool> = (0..12).map(|_| host.command(1, flush()).phase()).collect();
    let (yes, no) = ([true; 4], [false; 4]);
    assert_eq!(phases, [yes, no, yes].concat());
}

#[test]
fn a_queue_of_two_entries_works() {
    let mut host = Host::with_pair(2);
    for _ in 0..9 {
        assert_eq!(host.io_status(flush()), Status::SUCCESS);
    }
}

#[test]
fn a_full_completion_queue_stalls_fetching_and_nothing_is_lost() {
    let mut host = Host::ready();
    host.create_cq(1, 4);
    host.create_sq(1, 1, 16);
    for cid in 0..10 {
        host.place(1, flush().with_cid(CommandId::new(cid)));
    }
    host.ring(1);
    host.ticks(20);
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let before = seen.len();
        while let Some(done) = host.peek(1) {
            seen.push(done.cid().get());
        }
        assert!(
            (1..=3).contains(&(seen.len() - before)),
            "one place stays free"
        );
        host.release(1);
        host.ticks(20);
    }
    assert_eq!(seen, (0..10).collect::<Vec<u16>>());
    assert!(host.controller.counters().completion_stalls > 0);
}

#[test]
fn a_full_completion_queue_holds_commands_that_wait_for_media_to_its_size() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.create_cq(1, 4);
    host.create_sq(1, 1, 16);
    let page = host.allocate(PAGE);
    for cid in 0..10 {
        host.place(1, read(1, 0, 1, page, 0).with_cid(CommandId::new(cid)));
    }
    host.ring(1);
    host.ticks(20);
    assert_eq!(
        host.controller.counters().commands,
        3,
        "each has its place reserved"
    );
    host.now = SECOND;
    let mut seen = Vec::new();
    for _ in 0..20 {
        host.tick();
        seen.extend(host.reap_all(1).iter().map(|done| done.cid().get()));
    }
    assert_eq!(seen, (0..10).collect::<Vec<u16>>());
}

#[test]
fn a_full_admin_completion_queue_stalls_and_nothing_is_lost() {
    let mut host = Host::ready();
    let room = ADMIN_DEPTH - 1;
    for cid in 0..room {
        host.place(
            0,
            admin(admin_opcode::KEEP_ALIVE, 0).with_cid(CommandId::new(cid as u16)),
        );
    }
    host.ring(0);
    host.ticks(20);
    for cid in room..room + 5 {
        host.place(
            0,
            admin(admin_opcode::KEEP_ALIVE, 0).with_cid(CommandId::new(cid as u16)),
        );
    }
    host.ring(0);
    host.ticks(20);
    assert_eq!(host.controller.counters().admin_commands, u64::from(room));
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.extend(
            host.reap_all(0)
                .iter()
                .map(|done| u32::from(done.cid().get())),
        );
        host.tick();
    }
    assert_eq!(seen, (0..room + 5).collect::<Vec<u32>>());
}

#[test]
fn completions_report_the_submission_queue_head() {
    let mut host = Host::with_pair(4);
    let heads: Vec<u16> = (0..6).map(|_| host.command(1, flush()).sqhd()).collect();
    assert_eq!(heads, [1, 2, 3, 0, 1, 2]);
}

#[test]
fn several_submission_queues_may_share_a_completion_queue() {
    let mut host = Host::ready();
    host.create_cq(1, 16);
    host.create_sq(1, 1, 8);
    host.create_sq(5, 1, 8);
    host.send(5, flush().with_cid(CommandId::new(7)));
    host.send(1, flush().with_cid(CommandId::new(7)));
    host.ticks(3);
    let mut from: Vec<QueueId> = host.reap_all(1).iter().map(|done| done.sqid()).collect();
    from.sort();
    assert_eq!(from, [1, 5].map(QueueId::new));
}

#[test]
fn a_batch_asks_for_the_queues_interrupt_once() {
    let mut host = Host::ready();
    host.create_cq(3, 16);
    host.create_sq(3, 3, 16);
    host.controller.take_interrupts();
    for _ in 0..5 {
        host.place(3, flush());
    }
    host.ring(3);
    host.tick();
    assert_eq!(
        host.controller.take_interrupts().iter().collect::<Vec<_>>(),
        [3]
    );
    assert!(host.controller.take_interrupts().is_empty());
}

#[test]
fn a_completion_queue_without_interrupts_asks_for_none() {
    let mut host = Host::ready();
    let address = host.allocate(PAGE);
    let entry = create_cq(1, 8, 1, address).with_cdw11(0b01);
    assert_eq!(host.admin_status(entry), Status::SUCCESS);
    host.attach_cq(1, address, 8);
    host.create_sq(1, 1, 8);
    host.controller.take_interrupts();
    assert_eq!(host.io_status(flush()), Status::SUCCESS);
    assert!(host.controller.take_interrupts().is_empty());
}

#[test]
fn the_largest_queues_and_the_last_identifier_work() {
    let mut host = Host::ready();
    host.create_pair(128, 4096);
    for _ in 0..4095 {
        host.place(128, flush());
    }
    host.ring(128);
    host.ticks(100);
    assert_eq!(host.reap_all(128).len(), 4095);
}

#[test]
fn deleting_a_completion_queue_with_a_submission_queue_attached_is_refused() {
    let mut host = Host::with_pair(8);
    assert_eq!(
        host.admin_status(delete_cq(1)),
        Status::INVALID_QUEUE_DELETION
    );
    assert_eq!(host.io_status(flush()), Status::SUCCESS, "both still work");
    assert_eq!(host.admin_status(delete_sq(1)), Status::SUCCESS);
    assert_eq!(host.admin_status(delete_cq(1)), Status::SUCCESS);
}

#[test]
fn a_queue_can_be_created_again_after_it_was_deleted() {
    let mut host = Host::with_pair(8);
    assert_eq!(host.io_status(flush()), Status::SUCCESS);
    assert_eq!(host.admin_status(delete_sq(1)), Status::SUCCESS);
    assert_eq!(host.admin_status(delete_cq(1)), Status::SUCCESS);
    host.create_pair(1, 16);
    assert_eq!(host.io_status(flush()), Status::SUCCESS);
}

#[test]
fn deleting_a_submission_queue_waits_for_what_it_has_in_flight() {
    let mut host = Host::slow(SECOND);
    host.enable();
    host.create_pair(1, 8);
    let page = host.allocate(PAGE);
    for cid in 0..3 {
        host.send(1, read(1, 0, 1, page, 0).with_cid(CommandId::new(cid)));
    }
    host.ticks(3);
    host.send(0, delete_sq(1).with_cid(CommandId::new(77)));
    host.send(1, flush());
    host.ticks(3);
    assert!(host.reap(0).is_none() && host.reap(1).is_none());
    assert_eq!(
        host.admin_status(delete_sq(1)),
        Status::INVALID_QID,
        "it is going"
    );
    assert_eq!(
        host.admin_status(delete_cq(1)),
        Status::INVALID_QUEUE_DELETION
    );
    host.now = SECOND;
    host.ticks(3);
    let over = host.reap_all(1);
    let cids: Vec<u16> = over.iter().map(|done| done.cid().get()).collect();
    assert_eq!(
        cids,
        [0, 1, 2],
        "each once, and nothing fetched after the deletion"
    );
    assert!(over.iter().all(|done| done.status().is_success()));
    let done = host.reap(0).expect("the deletion is over");
    assert_eq!(
        (done.cid(), done.status()),
        (CommandId::new(77), Status::SUCCESS)
    );
    assert_eq!(host.admin_status(delete_cq(1)), Status::SUCCESS);
}

#[test]
fn a_deleted_submission_queue_fetches_nothing_more() {
    let mut host = Host::with_pair(8);
    assert_eq!(host.admin_status(delete_sq(1)), Status::SUCCESS);
    host.send(1, flush());
    host.ticks(5);
    assert!(host.reap(1).is_none());
}

/// The only event that is reported, if one is.
fn event(host: &mut Host) -> Option<AsyncEvent> {
    host.next_admin()
        .map(|done| AsyncEvent::from_result(done.result()))
}

#[test]
fn a_tail_beyond_the_queue_in_mapped_doorbells_is_an_asynchronous_event() {
    let mut host = Host::with_pair(8);
    host.request_event();
    host.set_doorbell(2, 8);
    assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
    host.ticks(5);
    assert_eq!(
        host.controller.counters().bad_doorbells,
        1,
        "one wrong value counts once"
    );
    assert_eq!(host.controller.counters().commands, 0);
    assert_eq!(
        host.io_status(flush()),
        Status::SUCCESS,
        "a right tail is served again"
    );
}

#[test]
fn the_same_wrong_tail_is_reported_again_after_commands_were_served() {
    let mut host = Host::with_pair(8);
    for _ in 0..2 {
        host.set_doorbell(2, 99);
        host.ticks(3);
        assert_eq!(host.io_status(flush()), Status::SUCCESS);
    }
    assert_eq!(host.controller.counters().bad_doorbells, 2);
}

#[test]
fn a_wrong_admin_tail_is_an_asynchronous_event_as_well() {
    let mut host = Host::ready();
    host.request_event();
    host.set_doorbell(0, u32::MAX);
    host.ticks(3);
    assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
}

#[test]
fn a_wrong_head_in_mapped_doorbells_is_an_asynchronous_event_and_makes_no_room() {
    for head in [4, u32::MAX] {
        let mut host = Host::ready();
        host.create_cq(1, 4);
        host.create_sq(1, 1, 16);
        host.request_event();
        host.set_doorbell(3, head);
        for _ in 0..8 {
            host.place(1, flush());
        }
        host.ring(1);
        assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
        host.ticks(5);
        assert_eq!(host.controller.counters().commands, 3);
        assert_eq!(
            host.controller.counters().bad_doorbells,
            1,
            "one wrong value counts once"
        );
    }
}

#[test]
fn a_head_that_frees_completions_before_they_were_posted_is_an_asynchronous_event() {
    let mut host = Host::ready();
    host.create_cq(1, 4);
    host.create_sq(1, 1, 16);
    host.request_event();
    host.set_doorbell(3, 2);
    for _ in 0..8 {
        host.place(1, flush());
    }
    host.ring(1);
    host.tick();
    assert_eq!(host.controller.counters().commands, 3, "it makes no room");
    assert_eq!(event(&mut host), Some(AsyncEvent::INVALID_DOORBELL_VALUE));
}

#[test]
fn doorbells_written_as_registers_reach_the_queue() {
    let mut host = Host::with_pair(8);
    host.place(1, flush().with_cid(CommandId::new(5)));
    host.write(register::submission_doorbell(QueueId::new(1), 0), 1);
    host.ticks(2);
    assert_eq!(host.peek(1).map(|done| done.cid()), Some(CommandId::new(5)));
    host.write(register::completion_doorbell(QueueId::new(1), 0), 1);
    assert_eq!(host.controller.counters().bad_doorbells, 0);
}

#[test]
fn a_wrong_doorbell_written_as_a_register_is_refused_and_reported() {
    let sq = register::submission_doorbell(QueueId::new(1), 0);
    let cq = register::completion_doorbell(QueueId::new(1), 0);
    let value = AsyncEvent::INVALID_DOORBELL_VALUE;
    let absent = AsyncEvent::INVALID_DOORBELL_REGISTER;
    let cases = [
        ("a tail beyond the queue", sq, 8, value),
        ("a tail with reserved bits", sq, 0x1_0001, value),
        ("a head beyond the queue", cq, 8, value),
        ("a head beyond the tail", cq, 1, value),
        ("a queue that was not created", sq + 8, 0, absent),
        ("a completion queue that was not created", cq + 8, 0, absent),
        ("a queue that cannot exist", sq + 8 * 4000, 0, absent),
        ("the last address", u32::MAX - 3, 0, absent),
    ];
    for (what, offset, written, wanted) in cases {
        let mut host = Host::with_pair(8);
        host.request_event();
        host.write(offset, written);
        assert_eq!(event(&mut host), Some(wanted), "{what}");
        let log = host.log(log_id::ERROR_INFORMATION.into(), 64);
        let entry = ErrorLogEntry::parse(&log).expect("64 bytes");
        assert_eq!(entry.sqid, ErrorLogEntry::NO_QUEUE, "{what}");
        assert_eq!(entry.error_count, 1, "{what}");
        assert_eq!(
            host.io_status(flush()),
            Status::SUCCESS,
            "the queue still works: {what}"
        );
    }
}

#[test]
fn doorbells_of_a_disabled_controller_are_ignored() {
    let mut host = Host::new();
    host.write(register::DOORBELLS, 3);
    host.write(register::DOORBELLS + 4000, 3);
    assert_eq!(host.controller.counters().bad_doorbells, 0);
}

#[test]
fn creating_a_queue_resets_its_doorbell() {
    let mut host = Host::ready();
    host.set_doorbell(2, 6);
    host.set_doorbell(3, 6);
    let (cq, sq) = (host.allocate(PAGE), host.allocate(PAGE));
    assert_eq!(host.admin_status(create_cq(1, 8, 1, cq)), Status::SUCCESS);
    assert_eq!(host.admin_status(create_sq(1, 8, 1, sq)), Status::SUCCESS);
    host.ticks(3);
    assert_eq!(host.controller.counters().commands, 0);
    assert_eq!(host.controller.counters().bad_doorbells, 0);
}
