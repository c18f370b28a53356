//! A working device whose controller fails, and what becomes of its queue pairs.

use core::time::Duration;

use driver::{BlockDevice, BlockError, BlockOptions, Done, DriverError, QueuePair, Waited, limits};
use spec::nvme::{Status, admin_opcode};
use spec::{NamespaceId, Text};

use crate::controller::{Enabling, Script, namespace};
use crate::open_well;

fn submit_flushes(pair: &mut QueuePair, count: u64) {
    for tag in 0..count {
        pair.flush(NamespaceId::new(1), tag).expect("a free slot");
    }
    pair.publish();
}

#[test]
fn queue_pairs_can_be_created_up_to_what_was_granted_and_again_after_deletion() {
    let mut device = open_well(Script {
        granted: (1, 1),
        ..Script::default()
    });
    let first = device.create_queue_pair(16).expect("two are granted");
    let second = device.create_queue_pair(1024).expect("two are granted");
    assert_eq!((first.id().get(), second.id().get()), (1, 2));
    assert_eq!((first.depth(), first.capacity()), (16, 15));
    let third = device.create_queue_pair(16).unwrap_err();
    assert_eq!(third, DriverError::QueuesExhausted { granted: 2 });
    device.delete_queue_pair(first).expect("it exists");
    assert_eq!(
        device.create_queue_pair(2).expect("one is free").id().get(),
        1
    );
}

#[test]
fn a_depth_that_cannot_be_is_refused_with_what_can() {
    let mut device = open_well(Script::default());
    for wanted in [0, 1, 1025, u32::MAX] {
        let error = device.create_queue_pair(wanted).unwrap_err();
        assert_eq!(error, DriverError::QueueDepth { wanted, max: 1024 });
    }
}

#[test]
fn a_refused_submission_queue_takes_its_completion_queue_and_its_memory_along() {
    let refuse = [(admin_opcode::CREATE_IO_SQ, Status::INVALID_QUEUE_SIZE)].into();
    let mut device = open_well(Script {
        refuse,
        ..Script::default()
    });
    let allocated = device.link_mut().allocated;
    let error = device.create_queue_pair(16).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Refused {
                status: Status::INVALID_QUEUE_SIZE,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        device.link_mut().commands.last(),
        Some(&admin_opcode::DELETE_IO_CQ)
    );
    assert_eq!(device.link_mut().allocated, allocated);
}

#[test]
fn memory_of_a_queue_whose_creation_was_not_answered_is_kept_until_a_reset() {
    let mute = [admin_opcode::CREATE_IO_CQ].into();
    let mut device = open_well(Script {
        mute,
        ..Script::default()
    });
    let allocated = device.link_mut().allocated;
    let error = device.create_queue_pair(16).unwrap_err();
    assert!(matches!(error, DriverError::Timeout { .. }), "{error}");
    assert!(device.is_failed());
    assert!(
        device.link_mut().allocated > allocated,
        "the controller may write there"
    );
    device.reset().expect("the script lets it");
    assert_eq!(device.link_mut().allocated, allocated);
}

/// What a controller answers that creates a completion queue, and then nothing else of the pair, and does not part with it.
fn refuse_all_but_the_completion_queue(script: &mut Script) {
    script.refuse = [
        (admin_opcode::CREATE_IO_SQ, Status::INVALID_QUEUE_SIZE),
        (admin_opcode::DELETE_IO_CQ, Status::INTERNAL_ERROR),
    ]
    .into();
}

#[test]
fn a_completion_queue_that_creation_leaves_behind_keeps_its_memory_and_its_identifier_until_a_reset()
 {
    let mut device = open_well(Script::default());
    let allocated = device.link_mut().allocated;
    refuse_all_but_the_completion_queue(&mut device.link_mut().script);
    let error = device.create_queue_pair(16).unwrap_err();
    assert!(matches!(error, DriverError::BadAnswer { .. }), "{error}");
    assert!(
        device.link_mut().allocated > allocated,
        "the controller may write there"
    );
    device.link_mut().script.refuse.clear();
    let again = device.create_queue_pair(16).unwrap_err();
    assert_eq!(again, DriverError::NeedsReset);
    device.reset().expect("the script lets it");
    assert_eq!(device.link_mut().allocated, allocated);
    let pair = device.create_queue_pair(16).expect("free again");
    assert_eq!(pair.id().get(), 1);
}

#[test]
fn a_completion_queue_that_revival_leaves_behind_keeps_its_memory_until_a_reset() {
    let mut device = open_well(Script::default());
    let before = device.link_mut().allocated;
    let mut pair = device.create_queue_pair(8).expect("granted");
    let allocated = device.link_mut().allocated;
    device.reset().expect("the script lets it");
    refuse_all_but_the_completion_queue(&mut device.link_mut().script);
    device
        .revive(&mut pair)
        .expect_err("no submission queue is created");
    assert!(device.is_failed());
    assert_eq!(device.delete_queue_pair(pair), Err(DriverError::NeedsReset));
    assert_eq!(device.link_mut().allocated, allocated);
    device.link_mut().script.refuse.clear();
    device.reset().expect("the script lets it");
    assert_eq!(device.link_mut().allocated, before);
}

#[test]
fn a_pair_whose_deletion_is_refused_keeps_its_memory_and_its_identifier_until_a_reset() {
    for opcode in [admin_opcode::DELETE_IO_SQ, admin_opcode::DELETE_IO_CQ] {
        let mut device = open_well(Script::default());
        let before = device.link_mut().allocated;
        let pair = device.create_queue_pair(8).expect("granted");
        let allocated = device.link_mut().allocated;
        device.link_mut().script.refuse = [(opcode, Status::INTERNAL_ERROR)].into();
        let refusal = device.delete_queue_pair(pair).unwrap_err();
        assert!(matches!(refusal, DriverError::Refused { .. }), "{refusal}");
        assert_eq!(device.link_mut().allocated, allocated);
        device.link_mut().script.refuse.clear();
        let other = device.create_queue_pair(8).expect("another is granted");
        assert_eq!(other.id().get(), 2, "the controller may still have queue 1");
        device.delete_queue_pair(other).expect("it exists");
        device.reset().expect("the script lets it");
        assert_eq!(device.link_mut().allocated, before);
    }
}

#[test]
fn a_reset_ends_old_commands_and_a_revived_pair_begins_anew() {
    let mut device = open_well(Script::default());
    let mut pair = device.create_queue_pair(8).expect("granted");
    submit_flushes(&mut pair, 5);
    device.link_mut().fail();
    let error = device.check_health().unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Fatal {
                during: Waited::Nothing,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        device.create_queue_pair(8),
        Err(DriverError::NeedsReset)
    ));
    device.reset().expect("the script lets it");
    assert_eq!(pair.abandon(), [0, 1, 2, 3, 4]);
    device.revive(&mut pair).expect("the script lets it");
    assert_eq!((pair.id().get(), pair.depth(), pair.in_flight()), (1, 8, 0));
    assert_eq!(
        pair.reap(&mut [Done::EMPTY; 4]),
        0,
        "no stale completion is left"
    );
    assert_eq!(device.admin_counters().resets, 1);
    device.delete_queue_pair(pair).expect("it is live");
    let link = device.shutdown().expect("the controller shuts down");
    assert_eq!(link.allocated, 0);
}

#[test]
fn a_dead_pair_can_be_deleted_instead() {
    let mut device = open_well(Script::default());
    let pair = device.create_queue_pair(8).expect("granted");
    let allocated = device.link_mut().allocated;
    device.reset().expect("the script lets it");
    let sent = device.link_mut().commands.len();
    device
        .delete_queue_pair(pair)
        .expect("nobody has to be asked");
    assert_eq!(
        device.link_mut().commands.len(),
        sent,
        "the controller forgot it long ago"
    );
    assert!(device.link_mut().allocated < allocated);
}

#[test]
fn a_pair_given_up_while_the_device_has_failed_is_freed_by_the_reset() {
    let mut device = open_well(Script::default());
    let allocated = device.link_mut().allocated;
    let pair = device.create_queue_pair(8).expect("granted");
    device.link_mut().fail();
    device.check_health().unwrap_err();
    assert_eq!(device.delete_queue_pair(pair), Err(DriverError::NeedsReset));
    device.reset().expect("the script lets it");
    assert_eq!(device.link_mut().allocated, allocated);
    assert_eq!(
        device.create_queue_pair(8).expect("free again").id().get(),
        1
    );
}

#[test]
fn a_pair_that_is_not_granted_any_more_cannot_be_revived() {
    let mut device = open_well(Script {
        granted: (1, 1),
        ..Script::default()
    });
    let _first = device.create_queue_pair(8).expect("granted");
    let mut second = device.create_queue_pair(8).expect("granted");
    device.link_mut().script.granted = (0, 0);
    device.reset().expect("the script lets it");
    assert_eq!(
        device.revive(&mut second),
        Err(DriverError::QueuesExhausted { granted: 1 })
    );
    device.delete_queue_pair(second).expect("it is dead");
}

#[test]
fn a_refused_revival_can_be_tried_again() {
    let mut device = open_well(Script::default());
    let mut pair = device.create_queue_pair(8).expect("granted");
    device.reset().expect("the script lets it");
    device.link_mut().script.refuse = [(admin_opcode::CREATE_IO_CQ, Status::INVALID_QID)].into();
    assert!(matches!(
        device.revive(&mut pair),
        Err(DriverError::Refused { .. })
    ));
    device.link_mut().script.refuse.clear();
    assert_eq!(device.revive(&mut pair), Ok(()));
    assert_eq!(
        device.revive(&mut pair),
        Ok(()),
        "a live pair needs nothing"
    );
}

#[test]
fn a_controller_that_comes_back_as_another_is_refused() {
    let mut device = open_well(Script::default());
    device.link_mut().script.identify.sn = Text::ascii("SWAPPED");
    let error = device.reset().unwrap_err();
    assert!(error.to_string().contains("SWAPPED"), "{error}");
    assert!(device.is_failed());
}

#[test]
fn a_reset_that_failed_can_be_tried_again() {
    let mut device = open_well(Script::default());
    device.link_mut().script.enabling = Enabling::Never;
    assert!(matches!(
        device.reset(),
        Err(DriverError::Timeout {
            waited_for: Waited::Ready,
            ..
        })
    ));
    assert_eq!(device.keep_alive(), Err(DriverError::NeedsReset));
    device.link_mut().script.enabling = Enabling::After(1);
    assert_eq!(device.reset(), Ok(()));
    assert_eq!(device.keep_alive(), Ok(()));
}

#[test]
fn a_controller_that_is_not_ready_is_waited_for_before_a_reset_disables_it() {
    let patience = Duration::from_secs(2); // CAP.TO is 4, in units of 500 ms
    let mut device = open_well(Script::default());
    device.link_mut().script.enabling = Enabling::Never;
    device.reset().unwrap_err();
    let begin = device.link_mut().now;
    device.link_mut().script.enabling = Enabling::After(1);
    // It never gets ready, and is disabled all the same: nothing else could bring it back.
    device.reset().expect("the script lets it");
    let waited = device.link_mut().now - begin;
    assert!(
        waited >= patience && waited < 2 * patience,
        "waited {waited:?}"
    );
}

#[test]
fn a_controller_that_has_left_stays_gone() {
    let mut device = open_well(Script::default());
    device.link_mut().vanish();
    assert_eq!(
        device.check_health(),
        Err(DriverError::Gone {
            during: Waited::Nothing
        })
    );
    assert_eq!(
        device.reset(),
        Err(DriverError::Gone {
            during: Waited::Disabled
        })
    );
    assert!(matches!(device.shutdown(), Err(DriverError::Gone { .. })));
}

#[test]
fn a_time_out_makes_the_device_wait_for_a_reset_which_asks_for_events_again() {
    let mut device = open_well(Script::default());
    device
        .link_mut()
        .script
        .mute
        .insert(admin_opcode::KEEP_ALIVE);
    let error = device.keep_alive().unwrap_err();
    assert!(
        matches!(error, DriverError::Timeout { waited, .. } if waited >= limits::ADMIN_TIMEOUT)
    );
    assert_eq!(device.events(), Err(DriverError::NeedsReset));
    device.link_mut().script.mute.clear();
    device.reset().expect("the script lets it");
    device.keep_alive().expect("the device works again");
    assert_eq!(
        device.link_mut().waiting_events.len(),
        limits::EVENT_REQUESTS as usize
    );
}

#[test]
fn a_block_device_whose_namespace_changed_under_a_reset_is_not_written_to() {
    let id = NamespaceId::new(1);
    let device = open_well(Script::default());
    let mut block = BlockDevice::open(device, id, BlockOptions::default()).expect("it is there");
    let script = &mut block.device_mut().link_mut().script;
    script.namespaces = [(1, namespace(999, 9))].into();
    assert_eq!(
        block.recover_now(),
        Err(BlockError::NamespaceChanged { id })
    );
    assert_eq!(
        block.write_at(0, &[1; 512]),
        Err(BlockError::NamespaceChanged { id })
    );
    let script = &mut block.device_mut().link_mut().script;
    script.namespaces = [(2, namespace(1000, 9))].into();
    assert_eq!(
        block.recover_now(),
        Err(BlockError::NoNamespace {
            wanted: id,
            found: vec![2]
        })
    );
    let script = &mut block.device_mut().link_mut().script;
    script.namespaces = [(1, namespace(1000, 9))].into();
    assert_eq!(block.recover_now(), Ok(()));
    assert_eq!(block.counters().commands, 0);
}

#[test]
fn blocks_with_metadata_keep_the_block_layer_away() {
    let mut found = namespace(1000, 9);
    found.lbaf.0[0] = found.lbaf.0[0].with_ms(8);
    let device = open_well(Script {
        namespaces: [(1, found)].into(),
        ..Script::default()
    });
    let error =
        BlockDevice::open(device, NamespaceId::new(1), BlockOptions::default()).unwrap_err();
    assert!(
        matches!(error, BlockError::Driver(DriverError::Unsupported { .. })),
        "{error}"
    );
}

#[test]
fn completions_in_an_io_queue_that_nobody_asked_for_are_counted_and_do_not_hold_the_reaper() {
    let mut device = open_well(Script::default());
    let mut pair = device.create_queue_pair(4).expect("granted");
    submit_flushes(&mut pair, 2);
    let queue = pair.id();
    let status = Status::SUCCESS;
    for (place, cid) in [(0, 2), (1, 0xffff), (2, 0), (3, 0)] {
        // Free, beyond the table, in flight, and in flight no more.
        device.link_mut().complete_io(queue, place, cid, status);
    }
    let mut done = [Done::EMPTY; 8];
    let mut tags = Vec::new();
    for _ in 0..8 {
        let count = pair.reap(&mut done);
        tags.extend(done[..count].iter().map(|one| one.tag));
    }
    assert_eq!((tags.as_slice(), pair.in_flight()), ([0].as_slice(), 1));
    assert_eq!(pair.counters().bogus_completions, 3);
}
