//! Bring-up, admin commands, queue pairs and shutdown with a real controller.

use ::media::BlockSize;
use driver::{AdminData, Device, Done, DriverError, IoBuffer, Link, Options};
use local::Blueprint;
use spec::nvme::{AsyncEvent, Status, SubmissionEntry, feature_id, register};
use spec::{CommandId, Lba, NamespaceId};

use crate::{device, link_to, namespace};

const NS: NamespaceId = NamespaceId::new(1);

#[test]
fn every_namespace_is_found_with_its_size() {
    let namespaces = vec![
        namespace(1, 64, BlockSize::B512),
        namespace(2, 64, BlockSize::B4096),
        namespace(1000, 8, BlockSize::B512),
    ];
    let device = Device::open(link_to(Blueprint::new(namespaces)), Options::default());
    let device = device.expect("the controller comes up");
    let found: Vec<_> = device
        .namespaces()
        .iter()
        .map(|one| (one.id.get(), one.bytes()))
        .collect();
    assert_eq!(found, [(1, 64 * 512), (2, 64 * 4096), (1000, 8 * 512)]);
}

#[test]
fn a_device_can_be_shut_down_and_opened_again_over_the_same_link() {
    let mut link = device(BlockSize::B512)
        .shutdown()
        .expect("the controller shuts down");
    assert_eq!(
        link.read_register(register::CSTS, 4).map(|csts| csts & 1),
        Ok(0)
    );
    let mut again = Device::open(link, Options::default()).expect("the controller comes up");
    assert!(again.create_queue_pair(8).is_ok());
}

#[test]
fn what_a_queue_pair_writes_it_reads_at_every_length_that_changes_the_prps() {
    let mut device = device(BlockSize::B512);
    let mut pair = device.create_queue_pair(4).expect("granted");
    let len = 64 << 10;
    let out = device.allocate(len + 512).expect("memory");
    let back = device.allocate(len).expect("memory");
    let bytes: Vec<u8> = (0..len + 512).map(|at| (at * 7 + at / 256) as u8).collect();
    out.window().write_bytes(0, &bytes).expect("within");
    for blocks in [1_u32, 7, 8, 9, 15, 16, 17, 127, 128] {
        let len = blocks * 512;
        // The write begins in the middle of a page, the read at its beginning.
        let from = IoBuffer::new(out.iova().get() + 512, len);
        pair.write(NS, Lba::new(5), blocks, from, 1)
            .expect("a free slot");
        finish(&mut device, &mut pair);
        pair.read(
            NS,
            Lba::new(5),
            blocks,
            IoBuffer::new(back.iova().get(), len),
            2,
        )
        .expect("a slot");
        finish(&mut device, &mut pair);
        let mut found = vec![0; len as usize];
        back.window().read_bytes(0, &mut found).expect("within");
        assert!(found == bytes[512..512 + len as usize], "{blocks} blocks");
    }
}

fn finish(device: &mut Device<crate::Troubled>, pair: &mut driver::QueuePair) -> Done {
    pair.publish();
    let mut done = [Done::EMPTY];
    for _ in 0..100 {
        device.link_mut().relax();
        if pair.reap(&mut done) == 1 {
            assert!(done[0].status.is_success(), "{}", done[0].status);
            return done[0];
        }
    }
    panic!("no completion within 100 turns");
}

#[test]
fn features_and_logs_can_be_read() {
    let mut device = device(BlockSize::B512);
    let found = device.feature(feature_id::NUMBER_OF_QUEUES, NamespaceId::NONE);
    let granted = u32::from(device.queue_pairs_granted()) - 1;
    assert_eq!(found, Ok(granted | granted << 16));
    let smart = device
        .smart_log()
        .expect("every controller has this log page");
    assert_eq!(smart.host_reads, 0);
}

#[test]
fn a_command_that_does_not_exist_is_refused_and_stands_in_the_error_log() {
    let mut device = device(BlockSize::B512);
    let entry = SubmissionEntry::new(0xfb, CommandId::new(0), NamespaceId::NONE);
    match device.admin(entry, AdminData::None) {
        Err(DriverError::Refused {
            opcode: 0xfb,
            status,
        }) => {
            assert_eq!(status.code(), Status::INVALID_OPCODE);
        }
        other => panic!("{other:?}"),
    }
    let log = device
        .error_log(4)
        .expect("every controller has this log page");
    let newest = log.first().expect("the refusal is an error");
    assert_eq!(newest.status.status().code(), Status::INVALID_OPCODE);
    assert_eq!(newest.sqid.get(), 0);
}

#[test]
fn a_doorbell_of_a_queue_that_does_not_exist_comes_back_as_an_event() {
    let mut device = device(BlockSize::B512);
    device
        .keep_alive()
        .expect("event requests are fetched by now");
    let offset = register::submission_doorbell(spec::QueueId::new(9), 0);
    device
        .link_mut()
        .write_register(offset, 4, 1)
        .expect("the link works");
    let mut events = Vec::new();
    for _ in 0..10 {
        events.extend(device.events().expect("the device works"));
    }
    assert_eq!(events, [AsyncEvent::INVALID_DOORBELL_REGISTER]);
}

#[test]
fn a_subsystem_reset_is_noticed_and_recovered_from() {
    let mut device = device(BlockSize::B512);
    let mut pair = device.create_queue_pair(8).expect("granted");
    let magic = register::NSSR_MAGIC.into();
    device
        .link_mut()
        .write_register(register::NSSR, 4, magic)
        .expect("the link works");
    assert!(matches!(
        device.check_health(),
        Err(DriverError::NotReady { .. })
    ));
    device.reset().expect("the controller comes back");
    device.revive(&mut pair).expect("the queues come back");
    pair.flush(NS, 5).expect("a free slot");
    assert_eq!(finish(&mut device, &mut pair).tag, 5);
}

#[test]
fn a_revived_pair_does_not_take_old_completions_for_new_ones() {
    let mut device = device(BlockSize::B512);
    let mut pair = device.create_queue_pair(8).expect("granted");
    for tag in 0..3 {
        pair.flush(NS, tag).expect("a free slot");
        finish(&mut device, &mut pair);
    }
    device.reset().expect("the controller comes back");
    assert_eq!(pair.abandon(), []);
    device.revive(&mut pair).expect("the queues come back");
    pair.flush(NS, 9).expect("a free slot");
    pair.publish();
    assert_eq!(
        pair.reap(&mut [Done::EMPTY; 8]),
        0,
        "the controller has not had a turn"
    );
    assert_eq!(finish(&mut device, &mut pair).tag, 9);
}

#[test]
fn all_queue_pairs_that_were_granted_can_be_created_and_used() {
    let mut device = device(BlockSize::B512);
    let mut pairs = Vec::new();
    for _ in 0..device.queue_pairs_granted() {
        pairs.push(device.create_queue_pair(3).expect("granted"));
    }
    assert!(matches!(
        device.create_queue_pair(3),
        Err(DriverError::QueuesExhausted { .. })
    ));
    for (tag, pair) in (0..).zip(&mut pairs) {
        pair.flush(NS, tag).expect("a free slot");
        assert_eq!(finish(&mut device, pair).tag, tag);
    }
    for pair in pairs {
        device.delete_queue_pair(pair).expect("it exists");
    }
}
