//! The queue path under an allocator that refuses: once a queue pair exists, no command allocates, on either side.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use driver::{Device, Done, IoBuffer, Link, Options, QueuePair};
use local::{Blueprint, Inline, Threaded};
use media::{BlockSize, Media, NullMedia, RamMedia};
use mem::Backing;
use ring::sync::{AtomicBool, Ordering};
use spec::nvme::{Status, SubmissionEntry, io_opcode};
use spec::{BlockCount, CommandId, Lba, NamespaceId};

thread_local! {
    /// Whether this thread is one of the two sides of a queue.
    static ON_THE_PATH: Cell<bool> = const { Cell::new(false) };
}

/// Whether commands are flowing, so that both sides must do without memory.
static FLOWING: AtomicBool = AtomicBool::new(false);

/// Refuses memory to both sides of a queue while commands flow; everything else goes to the system.
struct Refusing;

// SAFETY: every call is the system allocator's, or returns null, which the contract allows.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if FLOWING.load(Ordering::Relaxed) && ON_THE_PATH.get() {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system allocator, since nothing else gives any out.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

const NAMESPACE: NamespaceId = NamespaceId::new(1);
const BLOCKS: u64 = 32 << 10;
const COMMANDS: u64 = 21_000;

#[expect(clippy::disallowed_methods, reason = "a test may read the clock")]
fn clock() -> Duration {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

fn blueprint(media: Box<dyn Media>) -> Blueprint {
    let id = NAMESPACE;
    Blueprint::new(vec![controller::NamespaceConfig { id, media }])
}

fn ram() -> Box<dyn Media> {
    let blocks = BlockCount::new(BLOCKS);
    Box::new(RamMedia::new(blocks, BlockSize::B512, Backing::Anonymous).expect("16 MiB"))
}

/// Submits a command of one of the kinds that the path has: short and long transfers, commands without data, and
/// commands that are refused.
fn submit(pair: &mut QueuePair, base: u64, number: u64) {
    let at = Lba::new(number * 7919 % (BLOCKS - 256));
    let page = IoBuffer::new(base, 512);
    let long = IoBuffer::new(base + 512, 128 << 10);
    let sent = match number % 7 {
        0 => pair.read(NAMESPACE, at, 1, page, number),
        1 => pair.write(NAMESPACE, at, 1, page, number),
        2 => pair.read(NAMESPACE, at, 256, long, number),
        3 => pair.write(NAMESPACE, at, 256, long, number),
        4 => pair.flush(NAMESPACE, number),
        5 => pair.read(NAMESPACE, Lba::new(BLOCKS), 1, page, number),
        _ => {
            let entry = SubmissionEntry::new(io_opcode::WRITE_ZEROES, CommandId::new(0), NAMESPACE);
            pair.submit(entry.with_slba(at).with_cdw12(7), IoBuffer::NONE, number)
        }
    };
    assert!(sent.is_ok(), "the pair has room for what is kept in flight");
}

/// Keeps commands of all kinds in flight. `begin` puts the controller's side on the path, `turn` lets it work.
fn run<L: Link>(link: L, begin: fn(&mut L), turn: fn(&mut L)) {
    let mut device = Device::open(link, Options::default()).expect("bring-up");
    let mut pair = device.create_queue_pair(65).expect("a queue pair");
    let data = device.allocate(256 << 10).expect("data memory");
    let base = data.iova().get();
    let mut done = [Done::EMPTY; 64];
    let (mut sent, mut reaped, mut refused) = (0, 0, 0);
    begin(device.link_mut());
    ON_THE_PATH.set(true);
    FLOWING.store(true, Ordering::Relaxed);
    while reaped < COMMANDS {
        while sent < COMMANDS && pair.in_flight() < pair.capacity() {
            submit(&mut pair, base, sent);
            sent += 1;
        }
        pair.publish();
        turn(device.link_mut());
        let count = pair.reap(&mut done);
        reaped += count as u64;
        let outside = |done: &&Done| done.status == Status::LBA_OUT_OF_RANGE;
        refused += done[..count].iter().filter(outside).count() as u64;
    }
    FLOWING.store(false, Ordering::Relaxed);
    assert_eq!(refused, COMMANDS / 7, "each seventh is out of range");
}

// One test, because the allocator is everybody's: side by side, one part's threads would starve another's bring-up.
#[test]
fn neither_side_of_a_queue_allocates_per_command() {
    ON_THE_PATH.set(true);
    FLOWING.store(true, Ordering::Relaxed);
    let refused = Vec::<u8>::new().try_reserve(1).is_err();
    FLOWING.store(false, Ordering::Relaxed);
    assert!(
        refused,
        "the allocator does refuse, or the rest shows nothing"
    );

    let null = Box::new(NullMedia::new(BlockCount::new(BLOCKS), BlockSize::B512));
    for media in [ram(), null as Box<dyn Media>] {
        let link = Inline::new(blueprint(media), clock).expect("a device");
        let turn = |link: &mut Inline| {
            link.turn();
        };
        run(link, |_| {}, turn);
    }

    let link = Threaded::new(blueprint(ram()), clock, || {}).expect("a device");
    let join = |link: &mut Threaded| {
        let told = link.with_controller(|_| ON_THE_PATH.set(true));
        assert!(told.is_ok(), "the thread runs");
    };
    run(link, join, |_| std::thread::yield_now());
}
