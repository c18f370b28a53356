//! What media hear of a command, and what the host hears of their answer.

use core::time::Duration;
use std::sync::mpsc::{Receiver, Sender, channel};

use controller::Config;
use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::Span;
use spec::nvme::{AsyncEvent, ErrorLogEntry, Status, io_opcode, log_id, register};
use spec::{BlockCount, CommandId, QueueId};

use crate::support::{Host, PAGE, io, namespace, ram, read, write};

const SECOND: Duration = Duration::from_secs(1);
/// The block of [`Strict`] media that cannot be used.
const BAD: u64 = 5;
/// The block of [`Strict`] media that is answered only from one second on.
const LATE: u64 = 6;
/// Force Unit Access.
const FUA: u32 = 1 << 30;

/// RAM that tells of every request, and has a bad block and a late one.
#[derive(Debug)]
struct Strict {
    ram: RamMedia,
    tell: Sender<Request>,
    late: Vec<(Token, Status)>,
    /// Says that it answers at once, and so must not be asked for the late block.
    instant: bool,
}

impl Media for Strict {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }
    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        self.tell.send(*request).expect("the test listens");
        match request.at.get() {
            BAD => Progress::Done(Status::WRITE_FAULT),
            LATE => {
                self.late.push((token, Status::SUCCESS));
                Progress::Later
            }
            _ => self.ram.start(token, request, data),
        }
    }
    fn is_instant(&self) -> bool {
        self.instant
    }
    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        if now >= SECOND {
            for (token, status) in self.late.drain(..) {
                landing.answer(token, status);
            }
        }
    }
}

/// A host with one namespace of strict media, queue pair 1 and a page.
fn host() -> (Host, Receiver<Request>, u64) {
    host_with(false)
}

fn host_with(instant: bool) -> (Host, Receiver<Request>, u64) {
    let (tell, told) = channel();
    let media = Strict {
        instant,
        ram: ram(BlockSize::B512),
        tell,
        late: Vec::new(),
    };
    let mut host = Host::with(Config::default(), vec![namespace(1, media)]);
    host.enable();
    host.create_pair(1, 16);
    let page = host.allocate(PAGE);
    (host, told, page)
}

/// Sends writes of one block each in one batch; their identifiers count from 0.
fn send_writes(host: &mut Host, page: u64, lbas: &[u64]) {
    for (cid, &lba) in (0..).zip(lbas) {
        host.place(1, write(1, lba, 1, page, 0).with_cid(CommandId::new(cid)));
    }
    host.ring(1);
    host.tick();
}

fn answers(host: &mut Host) -> Vec<(u16, Status)> {
    host.reap_all(1)
        .into_iter()
        .map(|done| (done.cid().get(), done.status()))
        .collect()
}

#[test]
fn force_unit_access_reaches_media_and_only_where_it_is_asked_for() {
    // Media that answer at once are asked in runs, others one by one.
    for instant in [true, false] {
        reaches_media(instant);
    }
}

fn reaches_media(instant: bool) {
    let (mut host, told, page) = host_with(instant);
    let second = host.allocate(PAGE);
    for blocks in [1, 16] {
        for fua in [false, true] {
            let last_blocks = blocks - 1;
            let flags = if fua { FUA } else { 0 };
            for entry in [
                read(1, 8, blocks, page, second),
                write(1, 8, blocks, page, second),
            ] {
                let entry = entry.with_cdw12(last_blocks | flags);
                assert_eq!(host.io_status(entry), Status::SUCCESS);
                let request = told.try_recv().expect("one request");
                assert_eq!(
                    (request.fua, request.count),
                    (fua, BlockCount::new(blocks.into()))
                );
            }
        }
    }
}

#[test]
fn a_command_that_media_refuse_in_a_batch_fails_alone_and_stands_in_the_error_log() {
    for instant in [true, false] {
        refuses_one_of_a_batch(instant);
    }
}

fn refuses_one_of_a_batch(instant: bool) {
    let (mut host, told, page) = host_with(instant);
    send_writes(&mut host, page, &[1, BAD, 2, 3]);
    let wanted = [
        (0, Status::SUCCESS),
        (1, Status::WRITE_FAULT),
        (2, Status::SUCCESS),
        (3, Status::SUCCESS),
    ];
    assert_eq!(answers(&mut host), wanted);
    let heard: Vec<u64> = told.try_iter().map(|request| request.at.get()).collect();
    assert_eq!(heard, [1, BAD, 2, 3], "each once, in order");
    let log = host.log(log_id::ERROR_INFORMATION.into(), 64);
    let entry = ErrorLogEntry::parse(&log).expect("64 bytes");
    assert_eq!(entry.error_count, 1);
    assert_eq!(
        (entry.sqid, entry.cid, entry.lba.get(), entry.nsid.get()),
        (QueueId::new(1), CommandId::new(1), BAD, 1)
    );
    assert_eq!(entry.status.status(), Status::WRITE_FAULT);
}

#[test]
fn a_command_that_media_answer_late_is_started_once_and_holds_up_none_behind_it() {
    let (mut host, told, page) = host();
    host.controller.take_interrupts();
    send_writes(&mut host, page, &[1, LATE, 2]);
    host.ticks(3);
    let early = [(0, Status::SUCCESS), (2, Status::SUCCESS)];
    assert_eq!(answers(&mut host), early);
    host.now = SECOND;
    host.ticks(2);
    assert_eq!(answers(&mut host), [(1, Status::SUCCESS)]);
    let heard: Vec<u64> = told.try_iter().map(|request| request.at.get()).collect();
    assert_eq!(heard, [1, LATE, 2], "each once, in order");
    assert_eq!(host.controller.counters().writes, 3);
}

#[test]
fn a_completion_that_media_kept_waiting_asks_for_the_queues_interrupt() {
    let (mut host, _told, page) = host();
    send_writes(&mut host, page, &[LATE]);
    host.controller.take_interrupts();
    host.tick();
    assert!(host.controller.take_interrupts().is_empty(), "not over yet");
    host.now = SECOND;
    host.tick();
    let asked: Vec<u16> = host.controller.take_interrupts().iter().collect();
    assert_eq!(asked, [1]);
}

/// RAM that cannot be made durable.
#[derive(Debug)]
struct Unflushable(RamMedia);

impl Media for Unflushable {
    fn block_size(&self) -> BlockSize {
        self.0.block_size()
    }
    fn blocks(&self) -> BlockCount {
        self.0.blocks()
    }
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        match request.op {
            Operation::Flush => Progress::Done(Status::WRITE_FAULT),
            _ => self.0.start(token, request, data),
        }
    }
}

#[test]
fn a_flush_of_all_namespaces_fails_when_one_of_them_does() {
    for failing in [1, 2, 3] {
        let namespaces = [1, 2, 3].map(|id| {
            let ram = ram(BlockSize::B512);
            if id == failing {
                namespace(id, Unflushable(ram))
            } else {
                namespace(id, ram)
            }
        });
        let mut host = Host::with(Config::default(), namespaces.into());
        host.enable();
        host.create_pair(1, 8);
        let all = io(io_opcode::FLUSH, u32::MAX, 0, 1);
        assert_eq!(
            host.io_status(all),
            Status::WRITE_FAULT,
            "namespace {failing}"
        );
    }
}

#[test]
fn a_wrong_tail_written_as_a_register_does_not_undo_the_right_one_before_it() {
    let mut host = Host::with_pair(8);
    let doorbell = register::submission_doorbell(QueueId::new(1), 0);
    for cid in 0..3 {
        let entry = io(io_opcode::FLUSH, 1, 0, 1).with_cid(CommandId::new(cid));
        host.place(1, entry);
    }
    host.write(doorbell, 3);
    host.write(doorbell, 8);
    host.ticks(2);
    assert_eq!(host.reap_all(1).len(), 3);
    host.request_event();
    let done = host.next_admin().expect("the wrong one is an event");
    assert_eq!(
        AsyncEvent::from_result(done.result()),
        AsyncEvent::INVALID_DOORBELL_VALUE
    );
}

#[test]
fn an_answer_from_before_a_reset_is_no_completion_of_a_queue_created_since() {
    let (mut host, _told, page) = host();
    send_writes(&mut host, page, &[LATE]);
    host.clear_enable();
    host.now = SECOND;
    host.ticks(2);
    host.enable();
    host.create_pair(1, 16);
    host.ticks(2);
    assert!(host.reap(1).is_none());
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
}

#[test]
fn a_reset_forgets_interrupts_that_were_not_delivered() {
    let mut host = Host::with_pair(8);
    assert!(!host.controller.take_interrupts().is_empty());
    assert_eq!(
        host.io_status(io(io_opcode::FLUSH, 1, 0, 1)),
        Status::SUCCESS
    );
    host.disable();
    assert!(host.controller.take_interrupts().is_empty());
}

#[test]
fn a_reset_ends_the_silence_of_an_event_type_whose_log_page_was_not_read() {
    let mut host = Host::ready();
    for life in 0..2 {
        host.request_event();
        host.write(register::DOORBELLS + 64, 0);
        assert!(host.next_admin().is_some(), "life {life}");
        host.disable();
        host.enable();
    }
}
