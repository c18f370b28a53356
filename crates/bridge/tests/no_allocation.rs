//! The engine under an allocator that refuses: once it is open, no request allocates, on either side of the queue.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bridge::engine::{Engine, EngineOptions, Request};
use media::BlockSize;
use support::{device, ram};

thread_local! {
    /// Whether requests are flowing in this thread, so that it must do without memory.
    static FLOWING: Cell<bool> = const { Cell::new(false) };
}

/// Refuses memory while requests flow; everything else goes to the system.
struct Refusing;

// SAFETY: every call is the system allocator's, or returns null, which the contract allows.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if FLOWING.get() {
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

#[test]
fn no_request_to_the_engine_allocates() {
    let media = ram(8 << 20, BlockSize::B4096);
    let opened = Engine::open(device(vec![media]), &EngineOptions::default());
    let mut engine = opened.expect("an engine");
    let mut bytes = vec![1; 1 << 20];
    FLOWING.set(true);
    let refused = Vec::<u8>::new().try_reserve(1).is_err();
    let mut failed = 0;
    for round in 0..2000_u64 {
        let (volume, offset) = (0, round * 7919 % (4 << 20));
        let len = [4096, 1, 9000, 1 << 20][round as usize / 5 % 4];
        let request = match round % 5 {
            0 => Request::Flush { volume },
            1 => Request::Zero {
                volume,
                offset,
                len: len as u64,
            },
            2 => Request::Discard {
                volume,
                offset,
                len: len as u64,
            },
            3 => Request::Read {
                volume,
                offset,
                len,
            },
            _ => Request::Write {
                volume,
                offset,
                data: &bytes[..len],
                durable: false,
            },
        };
        let is_read = matches!(request, Request::Read { .. });
        let Ok(ticket) = engine.submit(&request) else {
            failed += 1;
            continue;
        };
        while engine.next_done().is_none() {
            engine.pump();
        }
        failed += u32::from(engine.outcome(ticket).is_err());
        if is_read {
            engine.read_out(ticket, &mut bytes);
        }
        engine.release(ticket);
    }
    FLOWING.set(false);
    assert!(
        refused,
        "the allocator does refuse, or the rest shows nothing"
    );
    assert_eq!(failed, 0);
}
