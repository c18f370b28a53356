//! The engine without a mount: bytes, order, room, and bad days.

mod support;

use std::time::Duration;

use bridge::engine::{Engine, EngineOptions, Failure, Refused, Request, Ticket};
use local::Inline;
use media::BlockSize;
use spec::nvme::Status;
use support::{Random, counters_of, device, faulty, ram, slow};

const BYTES: u64 = 2 << 20;

fn engine(media: Box<dyn media::Media>) -> Engine<Inline> {
    Engine::open(device(vec![media]), &EngineOptions::default()).expect("an engine")
}

/// Pumps until one request is answered.
fn wait(engine: &mut Engine<Inline>) -> Ticket {
    loop {
        if let Some(ticket) = engine.next_done() {
            return ticket;
        }
        engine.pump();
    }
}

fn run(engine: &mut Engine<Inline>, request: &Request<'_>) -> Result<(), Failure> {
    let ticket = engine.submit(request).expect("room");
    assert_eq!(wait(engine), ticket);
    let outcome = engine.outcome(ticket);
    engine.release(ticket);
    outcome
}

fn read(engine: &mut Engine<Inline>, offset: u64, len: usize) -> Vec<u8> {
    let request = Request::Read {
        volume: 0,
        offset,
        len,
    };
    let ticket = engine.submit(&request).expect("room");
    assert_eq!(wait(engine), ticket);
    assert_eq!(engine.outcome(ticket), Ok(()));
    let mut bytes = vec![0xee; len];
    engine.read_out(ticket, &mut bytes);
    engine.release(ticket);
    bytes
}

fn write(offset: u64, data: &[u8]) -> Request<'_> {
    Request::Write {
        volume: 0,
        offset,
        data,
        durable: false,
    }
}

#[test]
fn any_range_holds_what_was_last_put_there_and_its_neighbours_what_they_had() {
    for (size, seed) in [(BlockSize::B512, 11), (BlockSize::B4096, 12)] {
        let mut engine = engine(ram(BYTES, size));
        let mut random = Random(seed);
        let mut shadow = vec![0; BYTES as usize];
        for _ in 0..800 {
            let (offset, len) = random.range(BYTES);
            let range = offset as usize..offset as usize + len;
            let (volume, long) = (0, len as u64);
            match random.below(8) {
                0..4 => {
                    shadow[range.clone()].copy_from_slice(&random.bytes(len));
                    assert_eq!(run(&mut engine, &write(offset, &shadow[range])), Ok(()));
                }
                4 => {
                    shadow[range].fill(0);
                    let zero = Request::Zero {
                        volume,
                        offset,
                        len: long,
                    };
                    assert_eq!(run(&mut engine, &zero), Ok(()));
                }
                5 => {
                    shadow[range].fill(0);
                    let discard = Request::Discard {
                        volume,
                        offset,
                        len: long,
                    };
                    assert_eq!(run(&mut engine, &discard), Ok(()));
                }
                _ => assert!(
                    read(&mut engine, offset, len) == shadow[range],
                    "at {offset}"
                ),
            }
        }
        assert!(read(&mut engine, 0, 1 << 20) == shadow[..1 << 20]);
        assert!(read(&mut engine, 1 << 20, 1 << 20) == shadow[1 << 20..]);
    }
}

#[test]
fn writes_into_one_block_at_the_same_time_all_arrive() {
    // On a slow device all are under way together: without order, each would write back what the others had not changed.
    let mut engine = engine(slow(BYTES, BlockSize::B4096));
    let pieces: Vec<Vec<u8>> = (0..64_u8).map(|n| vec![n + 1; 100]).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let sent = engine.submit(&write(4096 + 60 * index as u64, piece));
        assert!(sent.is_ok(), "room for 64");
    }
    for _ in 0..64 {
        let ticket = wait(&mut engine);
        assert_eq!(engine.outcome(ticket), Ok(()));
        engine.release(ticket);
    }
    let found = read(&mut engine, 4096, 60 * 63 + 100);
    for (at, byte) in found.iter().enumerate() {
        assert_eq!(
            usize::from(*byte),
            (at / 60).min(63) + 1,
            "the later one at {at}"
        );
    }
}

#[test]
fn a_flush_is_one_flush_and_nothing_else_sends_any() {
    let mut engine = engine(ram(BYTES, BlockSize::B512));
    let before = counters_of(engine.device_mut()).flushes;
    for _ in 0..5 {
        assert_eq!(run(&mut engine, &write(3, b"abc")), Ok(()));
        assert_eq!(run(&mut engine, &Request::Flush { volume: 0 }), Ok(()));
    }
    assert_eq!(counters_of(engine.device_mut()).flushes - before, 5);
    let mut device = engine.close().expect("a clean end");
    assert_eq!(
        counters_of(&mut device).flushes - before,
        6,
        "one at the end"
    );
}

#[test]
fn a_full_engine_says_so_and_has_room_again_after_answers() {
    let options = EngineOptions {
        depth: 16,
        piece_bytes: 64 << 10,
        ..EngineOptions::default()
    };
    let media = slow(8 << 20, BlockSize::B4096);
    let mut engine = Engine::open(device(vec![media]), &options).expect("an engine");
    let long = vec![7; 1 << 20];
    let first = engine.submit(&write(0, &long)).expect("room for one");
    assert_eq!(engine.submit(&write(1 << 20, &long)), Err(Refused::Full));
    assert!(engine.submit(&write(1 << 20, &long[..4096])).is_ok());
    for _ in 0..2 {
        let ticket = wait(&mut engine);
        assert_eq!(engine.outcome(ticket), Ok(()));
        engine.release(ticket);
    }
    let again = engine.submit(&write(1 << 20, &long)).expect("room again");
    assert_eq!(wait(&mut engine), again);
    assert!(first.index() < engine.requests_max());
}

#[test]
fn a_refusal_reaches_who_asked_and_nobody_else() {
    let rules = "[[rule]]\nop = \"write\"\nlba = 8\ndo = \"fail\"\nstatus = \"write-fault\"";
    let mut engine = engine(faulty(BYTES, BlockSize::B4096, rules));
    let refused = run(&mut engine, &write(8 * 4096 + 1, b"x"));
    let Err(Failure::Status(status)) = refused else {
        panic!("a refusal, not {refused:?}");
    };
    assert_eq!(status.code(), Status::WRITE_FAULT);
    assert_eq!(run(&mut engine, &write(7 * 4096 + 1, b"x")), Ok(()));
    assert_eq!(read(&mut engine, 8 * 4096, 3), [0; 3]);
}

#[test]
fn a_controller_that_does_not_answer_fails_its_requests_and_is_reset_for_the_next() {
    let rules = "[[rule]]\nop = \"read\"\ncount = 1\ndo = \"drop\"";
    let options = EngineOptions {
        io_timeout: Duration::from_millis(150),
        ..EngineOptions::default()
    };
    let media = faulty(BYTES, BlockSize::B4096, rules);
    let mut engine = Engine::open(device(vec![media]), &options).expect("an engine");
    let data = [5; 8192];
    assert_eq!(run(&mut engine, &write(0, &data)), Ok(()));
    // The read of a block that is written in part is dropped; a second change of the same block waits for it.
    let first = engine.submit(&write(1, b"never")).expect("room");
    let second = engine.submit(&write(2, b"never")).expect("room");
    for _ in 0..2 {
        let ticket = wait(&mut engine);
        assert!(ticket == first || ticket == second);
        assert_eq!(engine.outcome(ticket), Err(Failure::Controller));
        engine.release(ticket);
    }
    let resets = counters_of(engine.device_mut()).resets;
    assert_eq!(
        read(&mut engine, 0, 8192),
        data,
        "after a reset all is well"
    );
    assert_eq!(counters_of(engine.device_mut()).resets, resets + 1);
    let full = engine.requests_max();
    for index in 0..full as u64 {
        let sent = engine.submit(&write(index * 4096, &data[..4096]));
        assert!(sent.is_ok(), "no buffer is lost: {index} of {full}");
    }
    while !engine.is_idle() {
        engine.pump();
    }
}

#[test]
fn a_controller_that_died_is_given_up_at_once_and_reset() {
    use driver::Link;
    let rules = "[[rule]]\nop = \"read\"\ncount = 1\ndo = \"drop\"";
    let mut engine = engine(faulty(BYTES, BlockSize::B4096, rules));
    let request = Request::Read {
        volume: 0,
        offset: 0,
        len: 4096,
    };
    let ticket = engine.submit(&request).expect("room");
    engine.pump();
    // Somebody else resets the controller: its queues are gone.
    let link = engine.device_mut().link_mut();
    link.write_register(spec::nvme::register::CC, 4, 0)
        .expect("a register");
    let begin = support::clock();
    assert_eq!(wait(&mut engine), ticket);
    assert!(support::clock() - begin < Duration::from_secs(5), "at once");
    assert_eq!(engine.outcome(ticket), Err(Failure::Controller));
    engine.release(ticket);
    assert_eq!(read(&mut engine, 0, 10), [0; 10]);
}
