//! A host that writes anything anywhere: the controller answers or fails by name, never panics, never runs on.

mod support;

use core::time::Duration;

use proptest::prelude::*;
use spec::nvme::register;
use spec::nvme::{Status, SubmissionEntry, admin_opcode};

use support::{ADMIN_DEPTH, BASE, Host, PAGE, admin, create_cq, create_sq};

/// One thing that a host can do.
#[derive(Clone, Debug)]
enum Act {
    Write { offset: u32, bytes: u32, value: u64 },
    Read { offset: u32, bytes: u32 },
    Doorbell { index: u32, value: u32 },
    Send { sq: u16, entry: SubmissionEntry },
    Memory { page: u64, words: [u64; 4] },
    Reap { cq: u16 },
    Tick { milliseconds: u64 },
    Unmap,
    Map,
    Restart,
}

/// Numbers that a program is likely to trip over.
fn awkward() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..40_u64,
        2 => (0..600_u64).prop_map(|page| BASE + page * PAGE),
        2 => BASE..BASE + 600 * PAGE,
        1 => Just(u64::MAX),
        1 => (0..64_u32).prop_map(|bit| 1 << bit),
        2 => any::<u64>(),
    ]
}

/// A double word, most often a small one.
fn dword() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..16_u64,
        1 => 0..0x1_0000_u64,
        1 => any::<u32>().prop_map(u64::from),
    ]
}

/// A submission queue entry that is often nearly right.
fn entry() -> impl Strategy<Value = SubmissionEntry> {
    let opcode = prop_oneof![6 => 0..0x1a_u64, 1 => 0..0x100_u64];
    let flags = prop_oneof![9 => Just(0_u64), 1 => 0..256_u64];
    let nsid = prop_oneof![8 => 0..4_u64, 1 => Just(u64::from(u32::MAX)), 1 => dword()];
    let pointers = [awkward(), awkward(), awkward()];
    let dwords = [dword(), dword(), dword(), dword(), dword()];
    (opcode, flags, 0..0x1_0000_u64, nsid, pointers, dwords).prop_map(
        |(opcode, flags, cid, nsid, [mptr, prp1, prp2], [low, high, cdw11, cdw12, cdw13])| {
            let cdw10 = (low % 0x1_0000) | ((high % 0x1_0000) << 16);
            SubmissionEntry::from_words([
                opcode | flags << 8 | cid << 16 | nsid << 32,
                0,
                mptr,
                prp1,
                prp2,
                cdw10 | cdw11 << 32,
                cdw12 | cdw13 << 32,
                0,
            ])
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let offset = prop_oneof![
        6 => (0..0x20_u32).prop_map(|word| word * 4),
        4 => (0..0x40_u32).prop_map(|word| register::DOORBELLS + word * 4),
        1 => any::<u32>(),
    ];
    let width = prop_oneof![5 => Just(4_u32), 2 => Just(8_u32), 1 => any::<u32>()];
    let read_offset = prop_oneof![6 => (0..0x20_u32).prop_map(|word| word * 4), 1 => any::<u32>()];
    prop_oneof![
        2 => (offset, width, awkward()).prop_map(|(offset, bytes, value)| Act::Write { offset, bytes, value }),
        1 => (read_offset, prop_oneof![Just(4_u32), Just(8), any::<u32>()])
            .prop_map(|(offset, bytes)| Act::Read { offset, bytes }),
        2 => (0..40_u32, prop_oneof![4 => 0..40_u32, 1 => any::<u32>()])
            .prop_map(|(index, value)| Act::Doorbell { index, value }),
        12 => (0..4_u16, entry()).prop_map(|(sq, entry)| Act::Send { sq, entry }),
        2 => (0..600_u64, [awkward(), awkward(), awkward(), awkward()])
            .prop_map(|(page, words)| Act::Memory { page, words }),
        6 => (0..4_u16).prop_map(|cq| Act::Reap { cq }),
        6 => (0..400_u64).prop_map(|milliseconds| Act::Tick { milliseconds }),
        1 => Just(Act::Unmap),
        1 => Just(Act::Map),
        1 => Just(Act::Restart),
    ]
}

/// A host with three queue pairs. The rings lie at known places and are attached whether or not the controller agrees.
fn prepared(slow: bool) -> Host {
    let mut host = if slow {
        Host::slow(Duration::from_millis(500))
    } else {
        Host::new()
    };
    host.enable();
    for id in 1..4 {
        host.create_pair(id, 16);
    }
    host
}

fn perform(host: &mut Host, act: Act) {
    match act {
        Act::Write {
            offset,
            bytes,
            value,
        } => host.controller.write_register(offset, bytes, value),
        Act::Read { offset, bytes } => {
            host.controller.read_register(offset, bytes);
        }
        Act::Doorbell { index, value } => host.set_doorbell(index, value),
        Act::Send { sq, entry } => host.send(sq, entry),
        Act::Memory { page, words } => host.put_u64(BASE + page * PAGE, &words),
        Act::Reap { cq } => {
            host.reap(cq);
        }
        Act::Tick { milliseconds } => {
            host.now += Duration::from_millis(milliseconds);
            host.tick();
        }
        Act::Unmap => host.unmap_all(),
        Act::Map => {
            host.unmap_all();
            host.map_again();
        }
        Act::Restart => {
            host.write(register::CC, 0);
            host.write(register::CC, Host::cc().bits());
        }
    }
}

/// After anything at all, a reset brings a working controller back.
fn recover(host: &mut Host) {
    host.unmap_all();
    host.map_again();
    host.now += Duration::from_secs(3600);
    host.ticks(3);
    host.write(register::CC, 0);
    host.rewind();
    host.enable();
    let keep_alive = admin(admin_opcode::KEEP_ALIVE, 0);
    assert_eq!(host.admin_status(keep_alive), Status::SUCCESS);
    let (cq, sq) = (host.allocate(PAGE), host.allocate(PAGE));
    assert_eq!(host.admin_status(create_cq(1, 8, 1, cq)), Status::SUCCESS);
    assert_eq!(host.admin_status(create_sq(1, 8, 1, sq)), Status::SUCCESS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_a_host_does_breaks_the_controller(
        slow in any::<bool>(),
        acts in prop::collection::vec(act(), 1..200),
    ) {
        let mut host = prepared(slow);
        for act in acts {
            perform(&mut host, act);
        }
        recover(&mut host);
    }

    #[test]
    fn every_entry_on_a_healthy_queue_is_completed_or_parked_within_a_tick_or_two(
        entries in prop::collection::vec(entry(), 1..100),
    ) {
        let mut host = prepared(false);
        for entry in entries {
            // Queue 1 may be deleted by an entry on queue 0, so the entries go to the admin queue and to a spare pair.
            for sq in [0, 3] {
                let before = host.controller.counters().commands + host.controller.counters().admin_commands;
                host.send(sq, entry);
                host.ticks(2);
                let counters = host.controller.counters();
                let gone = counters.commands + counters.admin_commands - before;
                prop_assert!(gone <= 1);
                if sq == 0 {
                    prop_assert_eq!(gone, 1, "an admin command is always taken");
                    prop_assert!(host.reap_all(0).len() <= ADMIN_DEPTH as usize);
                }
                host.reap_all(3);
            }
        }
    }
}
