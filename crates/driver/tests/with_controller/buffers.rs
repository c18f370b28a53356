//! The bounce buffers of the block layer: how large they are, and that none is lost.

use ::media::BlockSize;
use driver::{BlockDevice, BlockError, BlockOptions, Device, Options};
use local::Blueprint;
use spec::nvme::Status;
use spec::{Lba, NamespaceId};

use crate::media::Odd;
use crate::{block_device, link_to, over};

#[test]
fn the_bytes_of_a_command_are_whole_pages_whatever_was_asked_for() {
    for (asked_for, commands) in [(1, 36), (4096, 36), (5000, 36), (8191, 36), (9000, 18)] {
        let options = BlockOptions {
            bounce_bytes: asked_for,
            ..BlockOptions::default()
        };
        let mut device = block_device(BlockSize::B512, options);
        device
            .write_at(0, &[1; 36 * 4096])
            .expect("within the namespace");
        assert_eq!(device.counters().commands, commands, "{asked_for} bytes");
    }
}

#[test]
fn refused_commands_give_their_buffers_back() {
    let media = Odd::with_bad_block(64, Lba::new(9));
    let link = link_to(Blueprint::new(vec![over(1, media)]));
    let device = Device::open(link, Options::default()).expect("the controller comes up");
    let options = BlockOptions {
        depth: 2,
        ..BlockOptions::default()
    };
    let mut device = BlockDevice::open(device, NamespaceId::new(1), options).expect("there");
    for _ in 0..5 {
        let refused = device.write_at(9 * 512, &[1; 512]);
        assert!(
            matches!(
                refused,
                Err(BlockError::Command { status, .. }) if status == Status::WRITE_FAULT
            ),
            "{refused:?}"
        );
    }
    device.write_at(512, b"after").expect("that block is good");
    let mut found = [0; 5];
    device.read_at(512, &mut found).expect("that block is good");
    assert_eq!(&found, b"after");
}
