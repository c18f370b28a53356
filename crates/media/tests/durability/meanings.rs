//! Single cases, each with the sentence it stands for.

use media::file::Action;
use media::{Media, Operation, Progress};
use spec::nvme::Status;

use crate::answers::Books;
use crate::disk::Faults;

/// Starts one request, waits for it, and says what became of it.
fn outcome(books: &mut Books, op: Operation, fua: bool) -> Status {
    let count = u64::from(op != Operation::Flush);
    books.start(0, op, 3, count, fua);
    books.settle();
    *books.answers.last().expect("answered")
}

fn failing(books: &mut Books, faults: Faults) {
    books.media.disk_mut().faults = faults;
}

#[test]
fn after_a_failed_fdatasync_no_flush_and_no_fua_succeeds_any_more() {
    for durable_writes in [false, true] {
        let mut books = Books::new(1, durable_writes);
        assert_eq!(
            outcome(&mut books, Operation::Write, false),
            Status::SUCCESS
        );
        failing(
            &mut books,
            Faults {
                sync_error: 100,
                ..Faults::default()
            },
        );
        assert_eq!(
            outcome(&mut books, Operation::Flush, false),
            Status::WRITE_FAULT
        );
        failing(&mut books, Faults::default());
        let orders = books.media.disk().orders;
        assert_eq!(
            outcome(&mut books, Operation::Flush, false),
            Status::WRITE_FAULT
        );
        assert_eq!(
            outcome(&mut books, Operation::Write, true),
            Status::WRITE_FAULT
        );
        let zeroes = Operation::WriteZeroes { deallocate: false };
        assert_eq!(outcome(&mut books, zeroes, true), Status::WRITE_FAULT);
        assert_eq!(books.media.disk().orders, orders, "the disk is not asked");
        assert_eq!(outcome(&mut books, Operation::Read, false), Status::SUCCESS);
        assert_eq!(
            outcome(&mut books, Operation::Write, false),
            Status::SUCCESS
        );
        books.media.set_write_cache(false);
        assert_eq!(
            outcome(&mut books, Operation::Write, false),
            Status::WRITE_FAULT
        );
        assert!(books.media.lost_a_sync());
        assert_eq!(books.media.counts().syncs, 0);
        assert_eq!(books.media.counts().failures, 5);
    }
}

#[test]
fn a_durable_write_that_fails_counts_as_a_failed_fdatasync() {
    let mut books = Books::new(1, true);
    failing(
        &mut books,
        Faults {
            error: 100,
            ..Faults::default()
        },
    );
    assert_eq!(
        outcome(&mut books, Operation::Write, false),
        Status::WRITE_FAULT
    );
    assert!(
        !books.media.lost_a_sync(),
        "the host knows that this one failed"
    );
    assert_eq!(
        outcome(&mut books, Operation::Write, true),
        Status::WRITE_FAULT
    );
    failing(&mut books, Faults::default());
    assert_eq!(
        outcome(&mut books, Operation::Flush, false),
        Status::WRITE_FAULT
    );
}

#[test]
fn flushes_that_come_together_share_an_fdatasync() {
    let mut books = Books::new(1, true);
    for token in 0..100 {
        assert_eq!(
            books.start(token, Operation::Flush, 0, 0, false),
            Progress::Later
        );
    }
    books.settle();
    assert!(books.answers.iter().all(|status| status.is_success()));
    assert_eq!(books.media.counts().syncs, 1);
}

#[test]
fn turning_the_write_cache_off_makes_what_was_written_durable() {
    let mut books = Books::new(1, true);
    books.media.set_write_cache(false);
    books.media.set_write_cache(false);
    assert_eq!(books.media.counts().syncs, 1);
    assert_eq!(
        outcome(&mut books, Operation::Deallocate, false),
        Status::SUCCESS
    );
    assert_eq!(
        books.media.counts().syncs,
        2,
        "what changes blocks is durable then"
    );
    assert_eq!(
        outcome(&mut books, Operation::Write, false),
        Status::SUCCESS
    );
    assert_eq!(books.media.counts().syncs, 2, "a durable write needs none");
}

#[test]
fn zeroes_are_made_in_the_best_way_that_the_file_system_has() {
    let (keep, give) = (
        Operation::WriteZeroes { deallocate: false },
        Operation::WriteZeroes { deallocate: true },
    );
    let table = [
        (keep, false, false, Action::ZeroRange),
        (keep, true, false, Action::ZeroRange),
        (keep, false, true, Action::PunchHole),
        (give, false, false, Action::PunchHole),
        (give, true, false, Action::ZeroRange),
        (Operation::Deallocate, false, true, Action::PunchHole),
        (Operation::Deallocate, true, false, Action::ZeroRange),
    ];
    for (op, no_punch_hole, no_zero_range, expected) in table {
        let mut books = Books::new(1, true);
        failing(
            &mut books,
            Faults {
                no_punch_hole,
                no_zero_range,
                ..Faults::default()
            },
        );
        books.media.disk_mut().image.fill(7);
        for _ in 0..2 {
            assert_eq!(outcome(&mut books, op, false), Status::SUCCESS);
            assert_eq!(
                books.media.disk().last,
                Some(expected),
                "{op:?}, {no_punch_hole}, {no_zero_range}"
            );
        }
        check_zeroes(&books);
        assert!(
            books.media.disk().orders <= 3,
            "what is missing is asked for once"
        );
    }
}

#[test]
fn a_file_system_without_any_way_gets_zeroes_written() {
    for op in [
        Operation::Deallocate,
        Operation::WriteZeroes { deallocate: false },
    ] {
        let mut books = Books::new(1, true);
        failing(
            &mut books,
            Faults {
                no_punch_hole: true,
                no_zero_range: true,
                short: 50,
                ..Faults::default()
            },
        );
        books.media.disk_mut().image.fill(7);
        assert_eq!(outcome(&mut books, op, false), Status::SUCCESS);
        check_zeroes(&books);
        books.start(0, op, 0, 4096, false);
        books.settle();
        assert!(
            books.media.disk().image.iter().all(|byte| *byte == 0),
            "all of a long range"
        );
    }
}

/// Block 3 is zeroes and nothing else is.
fn check_zeroes(books: &Books) {
    let image = &books.media.disk().image;
    assert!(image[3 * 4096..4 * 4096].iter().all(|byte| *byte == 0));
    assert!(
        image[..3 * 4096]
            .iter()
            .chain(&image[4 * 4096..])
            .all(|byte| *byte == 7)
    );
}

#[test]
fn a_full_disk_and_a_missing_end_have_their_own_words() {
    let mut books = Books::new(1, true);
    books.media.disk_mut().errno = rustix::io::Errno::NOSPC;
    failing(
        &mut books,
        Faults {
            error: 100,
            ..Faults::default()
        },
    );
    assert_eq!(
        outcome(&mut books, Operation::Write, true),
        Status::CAPACITY_EXCEEDED
    );
    assert!(
        !books.media.lost_a_sync(),
        "nothing was written that could be lost"
    );
    failing(&mut books, Faults::default());
    books.media.disk_mut().end = 4 * 4096;
    assert_eq!(outcome(&mut books, Operation::Read, false), Status::SUCCESS);
    books.media.disk_mut().end = 3 * 4096 + 100;
    assert_eq!(
        outcome(&mut books, Operation::Read, false),
        Status::UNRECOVERED_READ_ERROR
    );
    assert_eq!(
        outcome(&mut books, Operation::Verify, false),
        Status::UNRECOVERED_READ_ERROR
    );
    assert_eq!(
        outcome(&mut books, Operation::Compare, false),
        Status::UNRECOVERED_READ_ERROR
    );
}

#[test]
fn an_interruption_without_end_is_given_up() {
    let mut books = Books::new(1, true);
    failing(
        &mut books,
        Faults {
            interrupted: 100,
            ..Faults::default()
        },
    );
    assert_eq!(
        outcome(&mut books, Operation::Read, false),
        Status::INTERNAL_ERROR
    );
}
