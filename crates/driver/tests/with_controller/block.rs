//! The block layer over a real controller, beside a plain vector of bytes.

use core::time::Duration;

use ::media::BlockSize;
use driver::{
    BlockDevice, BlockError, BlockOperation, BlockOptions, Device, DriverError, Options, Waited,
};
use local::Blueprint;
use proptest::prelude::*;
use spec::nvme::{Status, register};
use spec::{Lba, NamespaceId};

use crate::link::Trouble;
use crate::media::Odd;
use crate::{Troubled, block_device, device, link_to, namespace, over};

const CAPACITY: u64 = 1 << 20;

/// Small buffers and few of them, so that little data makes many commands.
fn small() -> BlockOptions {
    BlockOptions {
        depth: 3,
        bounce_bytes: 8192,
        ..BlockOptions::default()
    }
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed.wrapping_mul(97)) as u8)
        .collect()
}

fn contents(device: &mut BlockDevice<Troubled>) -> Vec<u8> {
    let mut bytes = vec![0; CAPACITY as usize];
    device
        .read_at(0, &mut bytes)
        .expect("the whole namespace can be read");
    bytes
}

#[test]
fn what_is_written_anywhere_is_read_back_and_nothing_else_changes() {
    for size in [BlockSize::B512, BlockSize::B4096] {
        let mut device = block_device(size, small());
        let mut wanted = pattern(CAPACITY as usize, 1);
        device
            .write_at(0, &wanted)
            .expect("the whole namespace can be written");
        assert_eq!(
            device.counters().read_modify_writes,
            0,
            "whole blocks are not read first"
        );
        for (offset, len) in [
            (0, 1),
            (511, 2),
            (4095, 1),
            (1, 100_000),
            (4096, 4096),
            (CAPACITY - 1, 1),
        ] {
            let bytes = pattern(len, offset as usize);
            device
                .write_at(offset, &bytes)
                .expect("within the namespace");
            wanted[offset as usize..offset as usize + len].copy_from_slice(&bytes);
            let mut found = vec![0; len];
            device
                .read_at(offset, &mut found)
                .expect("within the namespace");
            assert!(found == bytes, "{len} bytes at {offset}");
        }
        assert!(
            contents(&mut device) == wanted,
            "bytes beside the writes are as they were"
        );
    }
}

#[test]
fn pieces_travel_together_and_not_one_at_a_time() {
    let options = BlockOptions {
        depth: 16,
        bounce_bytes: 4096,
        ..BlockOptions::default()
    };
    let mut device = block_device(BlockSize::B512, options);
    let before = device.device_mut().link_mut().turns;
    device
        .write_at(0, &pattern(256 << 10, 3))
        .expect("within the namespace");
    let turns = device.device_mut().link_mut().turns - before;
    assert_eq!(device.counters().commands, 64);
    assert!(
        turns <= 16,
        "64 commands at a depth of 16 took {turns} turns"
    );
    let doorbells = device.queue_pair_counters().submission_doorbells;
    assert!(
        doorbells <= 16,
        "64 commands at a depth of 16 took {doorbells} doorbells"
    );
}

#[test]
fn an_unaligned_write_reads_its_edges_and_only_them() {
    let mut device = block_device(BlockSize::B4096, BlockOptions::default());
    device
        .write_at(100, &pattern(3 * 4096, 5))
        .expect("within the namespace");
    let counters = device.counters();
    assert_eq!((counters.read_modify_writes, counters.commands), (2, 5));
}

#[test]
fn ranges_beyond_the_end_are_refused_and_nothing_is_sent() {
    let mut device = block_device(BlockSize::B512, small());
    for (offset, len) in [
        (CAPACITY, 1),
        (CAPACITY - 1, 2),
        (u64::MAX, 1),
        (u64::MAX, usize::MAX >> 44),
    ] {
        let error = device.read_at(offset, &mut vec![0; len]).unwrap_err();
        let operation = BlockOperation::Read;
        let len = len as u64;
        assert_eq!(
            error,
            BlockError::OutOfRange {
                operation,
                offset,
                len,
                capacity: CAPACITY
            }
        );
        assert!(device.write_zeroes(offset, len).is_err());
        assert!(device.discard(offset, len).is_err());
    }
    assert_eq!(
        device.read_at(CAPACITY, &mut []),
        Ok(()),
        "nothing at the end is nothing"
    );
    assert_eq!(device.counters().commands, 0);
}

#[test]
fn zeros_are_written_without_moving_data_but_for_the_edges() {
    let mut device = block_device(BlockSize::B512, small());
    let mut wanted = pattern(CAPACITY as usize, 9);
    device.write_at(0, &wanted).expect("within the namespace");
    let before = device.counters().commands;
    device
        .write_zeroes(1000, 500_000)
        .expect("within the namespace");
    wanted[1000..501_000].fill(0);
    assert!(contents(&mut device) == wanted);
    assert_eq!(device.counters().read_modify_writes, 2);
    assert_eq!(device.counters().zeroes_as_data, 0);
    let sent = device.counters().commands - before;
    assert_eq!(
        sent,
        2 * 2 + 1 + CAPACITY / 8192,
        "two edges, one Write Zeroes, and the reads above"
    );
}

#[test]
fn a_discard_leaves_blocks_alone_that_it_covers_in_part() {
    let mut device = block_device(BlockSize::B4096, small());
    let wanted = pattern(CAPACITY as usize, 11);
    device.write_at(0, &wanted).expect("within the namespace");
    device
        .discard(4000, 8292 + 4096)
        .expect("the controller has Dataset Management");
    let found = contents(&mut device);
    assert!(found[..4096] == wanted[..4096] && found[16384..] == wanted[16384..]);
    device
        .discard(5000, 3000)
        .expect("no whole block is no work");
    assert_eq!(device.flush(), Ok(()));
}

/// A block device over odd media.
fn over_media(media: Odd) -> BlockDevice<Troubled> {
    let link = link_to(Blueprint::new(vec![over(1, media)]));
    let device = Device::open(link, Options::default()).expect("the controller comes up");
    BlockDevice::open(device, NamespaceId::new(1), small()).expect("the namespace is there")
}

#[test]
fn an_error_names_the_operation_the_blocks_and_the_status_and_the_next_call_works() {
    let mut device = over_media(Odd::with_bad_block(2048, Lba::new(77)));
    let error = device.write_at(4096, &pattern(200_000, 1)).unwrap_err();
    match &error {
        BlockError::Command {
            operation: BlockOperation::Write,
            lba,
            blocks,
            status,
        } => {
            assert!((lba.get()..lba.get() + u64::from(*blocks)).contains(&77));
            assert_eq!(status.code(), Status::WRITE_FAULT);
        }
        other => panic!("{other:?}"),
    }
    assert!(
        error
            .to_string()
            .ends_with("blocks at LBA 72: Write Fault (2/80h)"),
        "{error}"
    );
    let error = device.write_at(77 * 512 + 1, &[1]).unwrap_err();
    let wanted = "write of 1 blocks at LBA 77: Unrecovered Read Error (2/81h)";
    assert_eq!(
        error.to_string(),
        wanted,
        "the block has to be read to be written in part"
    );
    assert_eq!(device.write_at(78 * 512, &[1; 512]), Ok(()));
    assert_eq!(
        device.counters().recoveries,
        0,
        "a bad block is no reason for a reset"
    );
}

#[test]
fn answers_may_come_in_any_order() {
    let mut device = over_media(Odd::out_of_order(2048));
    let mut wanted = vec![0; CAPACITY as usize];
    for (at, len) in [(0, 300_000), (299_999, 123_457), (5, 1), (511, 70_000)] {
        let bytes = pattern(len, at);
        device
            .write_at(at as u64, &bytes)
            .expect("within the namespace");
        wanted[at..at + len].copy_from_slice(&bytes);
    }
    assert!(contents(&mut device) == wanted);
    assert_eq!(device.counters().recoveries, 0);
}

#[test]
fn a_controller_without_write_zeroes_and_dataset_management_costs_data_and_says_so() {
    let mut link = link_to(Blueprint::new(vec![namespace(1, 2048, BlockSize::B512)]));
    link.hides_commands = true;
    let device = Device::open(link, Options::default()).expect("the controller comes up");
    let mut device =
        BlockDevice::open(device, NamespaceId::new(1), small()).expect("the namespace is there");
    let mut wanted = pattern(CAPACITY as usize, 4);
    device.write_at(0, &wanted).expect("within the namespace");
    device
        .write_zeroes(700, 20_000)
        .expect("within the namespace");
    wanted[700..20_700].fill(0);
    assert!(contents(&mut device) == wanted);
    assert_eq!(device.counters().zeroes_as_data, 1);
    let operation = BlockOperation::Discard;
    assert_eq!(
        device.discard(0, 4096),
        Err(BlockError::Unsupported { operation })
    );
}

#[test]
fn a_controller_on_another_thread_works_the_same() {
    let blueprint = Blueprint::new(vec![namespace(1, 2048, BlockSize::B512)]);
    let link = local::Threaded::new(blueprint, crate::link::clock, || ()).expect("a thread");
    let device = Device::open(link, Options::default()).expect("the controller comes up");
    let mut device =
        BlockDevice::open(device, NamespaceId::new(1), small()).expect("the namespace is there");
    let wanted = pattern(400_001, 4);
    device.write_at(99, &wanted).expect("within the namespace");
    let mut found = vec![0; wanted.len()];
    device.recover_now().expect("the controller comes back");
    device
        .read_at(99, &mut found)
        .expect("within the namespace");
    assert!(found == wanted);
    let device = device.close().expect("the pair is deleted");
    assert!(device.shutdown().is_ok());
}

#[test]
fn a_namespace_that_is_not_there_is_refused_with_those_that_are() {
    let wanted = NamespaceId::new(2);
    let error = BlockDevice::open(device(BlockSize::B512), wanted, small()).unwrap_err();
    assert_eq!(
        error,
        BlockError::NoNamespace {
            wanted,
            found: vec![1]
        }
    );
}

#[test]
fn a_closed_block_device_gives_its_queue_pair_back() {
    let mut device = device(BlockSize::B512);
    for _ in 0..300 {
        let block =
            BlockDevice::open(device, NamespaceId::new(1), small()).expect("a pair is free");
        device = block.close().expect("the pair is deleted");
    }
    assert!(device.shutdown().is_ok());
}

#[test]
fn a_controller_that_hangs_or_fails_in_the_middle_is_reset_and_the_call_succeeds() {
    for trouble in [Trouble::Hangs, Trouble::Fails] {
        for after in 0..40 {
            let mut device = block_device(BlockSize::B512, small());
            let mut wanted = pattern(CAPACITY as usize, 1);
            device.write_at(0, &wanted).expect("no trouble yet");
            device.device_mut().link_mut().trouble_in = Some((after, trouble));
            let bytes = pattern(200_001, 2);
            device.write_at(333, &bytes).expect("a reset helps");
            wanted[333..200_334].copy_from_slice(&bytes);
            assert!(
                contents(&mut device) == wanted,
                "{trouble:?} after {after} turns"
            );
            assert_eq!(device.counters().recoveries, 1);
        }
    }
}

#[test]
fn a_subsystem_reset_under_a_block_device_costs_a_recovery_and_no_data() {
    let mut device = block_device(BlockSize::B512, small());
    let wanted = pattern(CAPACITY as usize, 1);
    device.write_at(0, &wanted).expect("within the namespace");
    let link = device.device_mut().link_mut();
    driver::Link::write_register(link, register::NSSR, 4, register::NSSR_MAGIC.into())
        .expect("the link works");
    assert!(contents(&mut device) == wanted);
    assert_eq!(device.counters().recoveries, 1);
}

#[test]
fn a_controller_that_keeps_hanging_is_given_up_and_a_later_call_may_succeed() {
    let mut device = block_device(
        BlockSize::B512,
        BlockOptions {
            recoveries_max: 0,
            ..small()
        },
    );
    device.device_mut().link_mut().trouble = Trouble::Hangs;
    match device.read_at(0, &mut [0; 100]) {
        Err(BlockError::Driver(DriverError::Timeout {
            waited_for: Waited::Io,
            waited,
            ..
        })) => {
            assert!((Duration::from_secs(30)..Duration::from_secs(33)).contains(&waited));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        device.write_at(7, &[1, 2, 3]),
        Ok(()),
        "the call begins with a reset"
    );
    let mut found = [0; 3];
    device.read_at(7, &mut found).expect("the device works");
    assert_eq!(found, [1, 2, 3]);
}

#[test]
fn a_slow_controller_that_goes_on_is_not_given_up() {
    let mut device = block_device(BlockSize::B512, small());
    device.device_mut().link_mut().turn_takes = Duration::from_secs(20);
    device
        .write_at(0, &pattern(CAPACITY as usize, 1))
        .expect("patience is for one answer, not for all of them");
    assert_eq!(device.counters().recoveries, 0);
    device.device_mut().link_mut().turn_takes = Duration::ZERO;
    assert!(contents(&mut device) == pattern(CAPACITY as usize, 1));
}

#[test]
fn a_controller_that_leaves_is_not_waited_for_twice() {
    let mut device = block_device(BlockSize::B512, small());
    device.device_mut().link_mut().trouble = Trouble::Gone;
    let error = device.write_at(0, &[0; 512]).unwrap_err();
    assert_eq!(
        error,
        BlockError::Driver(DriverError::Gone { during: Waited::Io })
    );
    let error = device.flush().unwrap_err();
    assert_eq!(
        error,
        BlockError::Driver(DriverError::Gone {
            during: Waited::Disabled
        })
    );
}

#[test]
fn a_reset_on_demand_revives_the_queue_pair() {
    let mut device = block_device(BlockSize::B512, small());
    device.write_at(9, b"before").expect("within the namespace");
    device.recover_now().expect("the controller comes back");
    let mut found = [0; 6];
    device.read_at(9, &mut found).expect("the device works");
    assert_eq!(&found, b"before");
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, usize, usize),
    Read(u64, usize),
    Zero(u64, usize),
    Hang(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0..CAPACITY, 0_usize..40_000)
        .prop_map(|(offset, len)| (offset, len.min((CAPACITY - offset) as usize)));
    let step = prop_oneof![
        4 => (range.clone(), any::<usize>()).prop_map(|((at, len), seed)| Step::Write(at, len, seed)),
        3 => range.clone().prop_map(|(at, len)| Step::Read(at, len)),
        2 => range.prop_map(|(at, len)| Step::Zero(at, len)),
        1 => (0_u32..20).prop_map(Step::Hang),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_block_device_is_a_vector_of_bytes(steps in steps(), large: bool, depth in 1_u32..9) {
        let size = if large { BlockSize::B4096 } else { BlockSize::B512 };
        let mut device = block_device(size, BlockOptions { depth, ..small() });
        let mut wanted = vec![0; CAPACITY as usize];
        for step in steps {
            match step {
                Step::Write(at, len, seed) => {
                    let bytes = pattern(len, seed);
                    prop_assert_eq!(device.write_at(at, &bytes), Ok(()));
                    wanted[at as usize..at as usize + len].copy_from_slice(&bytes);
                }
                Step::Read(at, len) => {
                    let mut found = vec![0xEE; len];
                    prop_assert_eq!(device.read_at(at, &mut found), Ok(()));
                    prop_assert!(found == wanted[at as usize..at as usize + len]);
                }
                Step::Zero(at, len) => {
                    prop_assert_eq!(device.write_zeroes(at, len as u64), Ok(()));
                    wanted[at as usize..at as usize + len].fill(0);
                }
                Step::Hang(turns) => {
                    device.device_mut().link_mut().trouble_in = Some((turns, Trouble::Hangs));
                }
            }
        }
        prop_assert!(contents(&mut device) == wanted);
    }
}
