//! Every refusal of Create and Delete I/O Queue [NVMe Base 2.0 §5.4 to §5.7].

use spec::nvme::{Status, SubmissionEntry};

use crate::support::{
    BASE, BYTES, Host, PAGE, UNMAPPED, create_cq, create_sq, delete_cq, delete_sq, set_feature,
};

/// Runs each command on a controller that has queue pair 1 and completion queue 2.
fn expect(cases: &[(&str, SubmissionEntry, Status)]) {
    for (what, entry, wanted) in cases {
        let mut host = Host::with_pair(8);
        host.create_cq(2, 8);
        assert_eq!(host.admin_status(*entry), *wanted, "{what}");
        let refused = u64::from(!wanted.is_success());
        assert_eq!(host.controller.counters().refused, refused, "{what}");
    }
}

/// Memory that [`Host::with_pair`] does not use.
const FREE: u64 = BASE + 1024 * PAGE;

#[test]
fn create_completion_queue_refuses_wrong_identifiers_sizes_and_partners() {
    expect(&[
        (
            "queue 0 is the admin queue",
            create_cq(0, 8, 1, FREE),
            Status::INVALID_QID,
        ),
        (
            "an identifier in use",
            create_cq(1, 8, 1, FREE),
            Status::INVALID_QID,
        ),
        (
            "an identifier beyond the offer",
            create_cq(129, 8, 1, FREE),
            Status::INVALID_QID,
        ),
        (
            "the last identifier",
            create_cq(0xffff, 8, 1, FREE),
            Status::INVALID_QID,
        ),
        (
            "one entry",
            create_cq(3, 1, 1, FREE),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "more entries than CAP.MQES",
            create_cq(3, 4097, 1, FREE),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "65536 entries",
            create_cq(3, 65536, 1, FREE),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "a vector beyond the last",
            create_cq(3, 8, 129, FREE),
            Status::INVALID_INTERRUPT_VECTOR,
        ),
        (
            "the last vector",
            create_cq(3, 8, 128, FREE),
            Status::SUCCESS,
        ),
        (
            "the admin queue's vector",
            create_cq(3, 8, 0, FREE),
            Status::SUCCESS,
        ),
    ]);
}

#[test]
fn create_completion_queue_refuses_wrong_memory() {
    let edge = BASE + BYTES as u64 - PAGE;
    expect(&[
        (
            "not contiguous",
            create_cq(3, 8, 1, FREE).with_cdw11(0b10),
            Status::INVALID_FIELD,
        ),
        (
            "an offset in the page",
            create_cq(3, 8, 1, FREE + 8),
            Status::INVALID_PRP_OFFSET,
        ),
        (
            "memory that is not mapped",
            create_cq(3, 8, 1, UNMAPPED),
            Status::INVALID_FIELD,
        ),
        (
            "memory that ends too early",
            create_cq(3, 257, 1, edge),
            Status::INVALID_FIELD,
        ),
        (
            "memory that just suffices",
            create_cq(3, 256, 1, edge),
            Status::SUCCESS,
        ),
        (
            "an address at the very end",
            create_cq(3, 8, 1, u64::MAX - 4095),
            Status::INVALID_FIELD,
        ),
    ]);
}

#[test]
fn create_submission_queue_refuses_wrong_identifiers_sizes_and_partners() {
    expect(&[
        (
            "queue 0 is the admin queue",
            create_sq(0, 8, 2, FREE),
            Status::INVALID_QID,
        ),
        (
            "an identifier in use",
            create_sq(1, 8, 2, FREE),
            Status::INVALID_QID,
        ),
        (
            "an identifier beyond the offer",
            create_sq(129, 8, 2, FREE),
            Status::INVALID_QID,
        ),
        (
            "one entry",
            create_sq(2, 1, 2, FREE),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "more entries than CAP.MQES",
            create_sq(2, 4097, 2, FREE),
            Status::INVALID_QUEUE_SIZE,
        ),
        (
            "the admin completion queue",
            create_sq(2, 8, 0, FREE),
            Status::INVALID_QID,
        ),
        (
            "an impossible completion queue",
            create_sq(2, 8, 129, FREE),
            Status::INVALID_QID,
        ),
        (
            "a completion queue not created",
            create_sq(2, 8, 3, FREE),
            Status::INVALID_CQ,
        ),
    ]);
}

#[test]
fn create_submission_queue_refuses_wrong_memory() {
    let edge = BASE + BYTES as u64 - PAGE;
    expect(&[
        (
            "not contiguous",
            create_sq(2, 8, 2, FREE).with_cdw11(2 << 16),
            Status::INVALID_FIELD,
        ),
        (
            "an offset in the page",
            create_sq(2, 8, 2, FREE + 64),
            Status::INVALID_PRP_OFFSET,
        ),
        (
            "memory that is not mapped",
            create_sq(2, 8, 2, UNMAPPED),
            Status::INVALID_FIELD,
        ),
        (
            "memory that ends too early",
            create_sq(2, 65, 2, edge),
            Status::INVALID_FIELD,
        ),
        (
            "memory that just suffices",
            create_sq(2, 64, 2, edge),
            Status::SUCCESS,
        ),
        (
            "any priority",
            create_sq(2, 8, 2, FREE).with_cdw11(0b111 | 2 << 16),
            Status::SUCCESS,
        ),
    ]);
}

#[test]
fn delete_queue_refuses_by_the_right_name() {
    expect(&[
        (
            "the admin submission queue",
            delete_sq(0),
            Status::INVALID_QID,
        ),
        (
            "a submission queue not created",
            delete_sq(2),
            Status::INVALID_QID,
        ),
        (
            "an impossible submission queue",
            delete_sq(0xffff),
            Status::INVALID_QID,
        ),
        (
            "the admin completion queue",
            delete_cq(0),
            Status::INVALID_QID,
        ),
        (
            "a completion queue not created",
            delete_cq(3),
            Status::INVALID_QID,
        ),
        (
            "an impossible completion queue",
            delete_cq(0xffff),
            Status::INVALID_QID,
        ),
        (
            "a completion queue in use",
            delete_cq(1),
            Status::INVALID_QUEUE_DELETION,
        ),
        (
            "a completion queue without users",
            delete_cq(2),
            Status::SUCCESS,
        ),
    ]);
}

#[test]
fn queues_beyond_the_number_allocated_are_refused() {
    let mut host = Host::ready();
    assert_eq!(
        host.admin_status(set_feature(7, 0x0001_0000)),
        Status::SUCCESS
    );
    host.create_cq(1, 8);
    host.create_cq(2, 8);
    host.create_sq(1, 2, 8);
    assert_eq!(
        host.admin_status(create_cq(3, 8, 1, FREE)),
        Status::INVALID_QID
    );
    assert_eq!(
        host.admin_status(create_sq(2, 8, 2, FREE)),
        Status::INVALID_QID
    );
}
