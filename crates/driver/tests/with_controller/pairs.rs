//! Many commands in one queue pair at once.

use ::media::BlockSize;
use driver::{Device, Done, IoBuffer, Link, QueuePair};
use spec::{Lba, NamespaceId};

use crate::{Troubled, device};

const NS: NamespaceId = NamespaceId::new(1);

/// Publishes, and takes `count` completions, at most `at_once` by one call; returns their tags.
fn finish(
    device: &mut Device<Troubled>,
    pair: &mut QueuePair,
    count: usize,
    at_once: usize,
) -> Vec<u64> {
    pair.publish();
    let mut tags = Vec::new();
    let mut done = vec![Done::EMPTY; at_once];
    for _ in 0..100 {
        device.link_mut().relax();
        let taken = pair.reap(&mut done);
        for one in done.iter().take(taken) {
            assert!(one.status.is_success(), "{}", one.status);
            tags.push(one.tag);
        }
        if tags.len() >= count {
            return tags;
        }
    }
    panic!("{} of {count} completions within 100 turns", tags.len());
}

#[test]
fn each_command_in_flight_has_a_prp_list_of_its_own() {
    let mut device = device(BlockSize::B512);
    let mut pair = device.create_queue_pair(8).expect("granted");
    let len = 64 << 10;
    let buffers: Vec<_> = (0..6)
        .map(|_| device.allocate(len).expect("memory"))
        .collect();
    let pattern = |seed: u64| -> Vec<u8> {
        (0..len as u64)
            .map(|at| (at * 7 + at / 256 + seed * 59) as u8)
            .collect()
    };
    let (out, back) = buffers.split_at(3);
    for (at, buffer) in (0..).zip(out) {
        buffer
            .window()
            .write_bytes(0, &pattern(at))
            .expect("within");
        let lba = Lba::new(at * 128);
        pair.write(NS, lba, 128, IoBuffer::whole(buffer), at)
            .expect("a free slot");
    }
    finish(&mut device, &mut pair, 3, 8);
    for (at, buffer) in (0..).zip(back) {
        let lba = Lba::new(at * 128);
        pair.read(NS, lba, 128, IoBuffer::whole(buffer), at)
            .expect("a free slot");
    }
    finish(&mut device, &mut pair, 3, 8);
    for (at, buffer) in (0..).zip(back) {
        let mut found = vec![0; len];
        buffer.window().read_bytes(0, &mut found).expect("within");
        assert!(found == pattern(at), "command {at}");
    }
}

#[test]
fn completions_that_do_not_fit_the_callers_array_are_there_for_the_next_call() {
    let mut device = device(BlockSize::B512);
    let mut pair = device.create_queue_pair(8).expect("granted");
    for at_once in [1, 2, 3] {
        for tag in 0..7 {
            pair.flush(NS, tag).expect("a free slot");
        }
        let mut tags = finish(&mut device, &mut pair, 7, at_once);
        tags.sort_unstable();
        assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6], "{at_once} at once");
        assert_eq!(pair.in_flight(), 0);
    }
}
