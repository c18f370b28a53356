//! Every request is answered exactly once, and truly, whatever the disk does.

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;

use media::file::{Geometry, TRANSFER_BYTES_MAX};
use media::{BlockSize, FileMedia, Landing, Media, Operation, Progress, Request, Token};
use mem::{Backing, Region, Span};
use proptest::prelude::*;
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use crate::disk::{Faults, Recorder};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 4096;
const BLOCKS_IN_TRANSFER: u64 = (TRANSFER_BYTES_MAX / BLOCK) as u64;

/// Starts requests and keeps the books.
pub(crate) struct Books {
    pub(crate) media: FileMedia<Recorder>,
    host: Region,
    /// For each token, its operation, answers that are to come, and whether its blocks have come.
    open: BTreeMap<u32, (Operation, usize, bool)>,
    /// All answers that have come, inside `start` or later.
    pub(crate) answers: Vec<Status>,
}

impl Books {
    pub(crate) fn new(seed: u64, durable_writes: bool) -> Self {
        let geometry = Geometry {
            block_size: BlockSize::B4096,
            blocks: BlockCount::new(BLOCKS),
            durable_writes,
            path: PathBuf::from("recorder"),
        };
        let bytes = BLOCKS as usize * BLOCK;
        Self {
            media: FileMedia::on(geometry, |memory| Recorder::quiet(memory, bytes, seed)).unwrap(),
            host: Region::allocate(TRANSFER_BYTES_MAX, Backing::Anonymous).unwrap(),
            open: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    pub(crate) fn start(
        &mut self,
        token: u32,
        op: Operation,
        first: u64,
        count: u64,
        fua: bool,
    ) -> Progress {
        let data = match op {
            Operation::Read | Operation::Write | Operation::Compare => count as usize * BLOCK,
            _ => 0,
        };
        let request = Request {
            op,
            at: Lba::new(first),
            count: BlockCount::new(count),
            fua,
        };
        let span = self.host.whole();
        let span = span.span(0, data).unwrap();
        let (_, open, _) = self.open.entry(token).or_insert((op, 0, false));
        *open += 1;
        let progress = self.media.start(Token(token), &request, &[span]);
        if let Progress::Done(status) = progress {
            self.answer(Token(token), status);
        }
        progress
    }

    pub(crate) fn poll(&mut self) {
        let mut notes = Notes {
            open: &mut self.open,
            answers: Vec::new(),
        };
        self.media.poll(Duration::ZERO, &mut notes);
        for (token, status) in notes.answers {
            self.answer(token, status);
        }
    }

    fn answer(&mut self, token: Token, status: Status) {
        let Some((op, open, landed)) = self.open.get_mut(&token.0) else {
            panic!("{token:?} was answered before or never started");
        };
        if matches!(op, Operation::Read | Operation::Compare) {
            assert_eq!(
                *landed,
                status.is_success(),
                "blocks come with the success of a read"
            );
        }
        *open -= 1;
        if *open == 0 {
            self.open.remove(&token.0);
        }
        self.answers.push(status);
    }

    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.open.is_empty() {
                return;
            }
            self.poll();
        }
        panic!("never answered: {} requests", self.open.len());
    }
}

struct Notes<'b> {
    open: &'b mut BTreeMap<u32, (Operation, usize, bool)>,
    answers: Vec<(Token, Status)>,
}

impl Landing for Notes<'_> {
    fn blocks(&mut self, token: Token, _blocks: Span<'_>) -> Status {
        let landed = &mut self.open.get_mut(&token.0).expect("the token is in use").2;
        assert!(!*landed, "blocks come once");
        *landed = true;
        Status::SUCCESS
    }

    fn answer(&mut self, token: Token, status: Status) {
        self.answers.push((token, status));
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => Just(Operation::Read),
        3 => Just(Operation::Write),
        1 => Just(Operation::Compare),
        1 => any::<bool>().prop_map(|deallocate| Operation::WriteZeroes { deallocate }),
        1 => Just(Operation::Verify),
        1 => Just(Operation::Deallocate),
        1 => Just(Operation::Flush),
    ]
}

/// Mostly one block, sometimes as many as there are.
fn range(op: Operation) -> impl Strategy<Value = (u64, u64)> {
    let most = match op {
        Operation::Read | Operation::Write | Operation::Compare => BLOCKS_IN_TRANSFER,
        Operation::Flush => 0,
        _ => BLOCKS,
    };
    let count = prop_oneof![4 => Just(1.min(most)), 1 => most.min(1)..=most.min(64), 1 => most.min(1)..=most];
    count.prop_flat_map(|count| (0..=BLOCKS - count, Just(count)))
}

fn request() -> impl Strategy<Value = (Operation, (u64, u64), bool, bool)> {
    operation().prop_flat_map(|op| {
        (
            Just(op),
            range(op),
            any::<bool>(),
            prop::bool::weighted(0.3),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_request_is_answered_exactly_once(
        seed: u64,
        durable_writes: bool,
        faults in (0_u64..30, 0_u64..60, 0_u64..60, 0_u64..30, any::<bool>(), any::<bool>()),
        requests in prop::collection::vec(request(), 1..160),
    ) {
        let mut books = Books::new(seed, durable_writes);
        let (error, short, interrupted, sync_error, no_punch_hole, no_zero_range) = faults;
        books.media.disk_mut().faults = Faults { error, short, interrupted, sync_error, no_punch_hole, no_zero_range };
        for (token, (op, (first, count), fua, poll)) in requests.iter().enumerate() {
            books.start(token as u32, *op, *first, *count, *fua);
            if *poll {
                books.poll();
            }
        }
        books.settle();
        prop_assert_eq!(books.answers.len(), requests.len());
        let refused = books.answers.iter().filter(|status| !status.is_success()).count();
        prop_assert_eq!(books.media.counts().failures, refused as u64);
        let told = books.media.disk().errors;
        // Interruptions that do not end are the machine's refusal too.
        prop_assert!(refused == 0 || told > 0 || interrupted > 0);
        prop_assert!(told == 0 || refused > 0 || books.media.lost_a_sync());
    }
}

#[test]
fn more_reads_than_there_are_slots_are_answered_and_do_not_keep_a_write_out() {
    let mut books = Books::new(1, true);
    for token in 0..1000 {
        assert_eq!(
            books.start(token, Operation::Read, u64::from(token), 1, false),
            Progress::Later
        );
    }
    for token in 1000..3000 {
        assert_eq!(
            books.start(token, Operation::Write, u64::from(token), 1, false),
            Progress::Later
        );
    }
    assert!(
        books.media.waits() > 0,
        "writes found no slot and waited for one"
    );
    books.settle();
    assert_eq!(books.answers.len(), 3000);
    assert!(books.answers.iter().all(|status| status.is_success()));
}

#[test]
fn slots_come_back_from_every_kind_of_request_and_end() {
    let mut books = Books::new(2, false);
    let ops = [
        Operation::Read,
        Operation::Write,
        Operation::Compare,
        Operation::Verify,
        Operation::Deallocate,
        Operation::WriteZeroes { deallocate: false },
    ];
    for round in 0..200 {
        books.media.disk_mut().faults.error = if round % 2 == 0 { 0 } else { 100 };
        for (token, op) in ops.into_iter().cycle().take(24).enumerate() {
            books.start(token as u32, op, 0, BLOCKS_IN_TRANSFER, false);
        }
        books.settle();
    }
    assert_eq!(books.answers.len(), 200 * 24);
}

#[test]
fn a_dataset_management_of_any_length_is_answered_range_by_range() {
    let mut books = Books::new(3, false);
    // 40 commands of 256 ranges, while another 4000 tokens are in use by reads that nobody polls for.
    for token in 0..4000 {
        books.start(token, Operation::Read, 0, 1, false);
    }
    for token in 4000..4040 {
        for range in 0..256 {
            books.start(token, Operation::Deallocate, range, 1, false);
        }
    }
    assert!(
        books.answers.len() > 1000,
        "some were carried out inside start"
    );
    books.settle();
    assert_eq!(books.answers.len(), 4000 + 40 * 256);
    assert!(books.answers.iter().all(|status| status.is_success()));
}
