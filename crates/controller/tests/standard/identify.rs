//! Identify [NVMe Base 2.0 §5.17].

use controller::Config;
use media::BlockSize;
use spec::nvme::identify::{ControllerType, IndependentNamespace, NamespaceIdList};
use spec::nvme::{
    IdentifyController, IdentifyNamespace, IoCommandSets, NamespaceDescriptors, Status, Version,
    admin_opcode, cns,
};
use spec::{BlockCount, NamespaceId};

use crate::support::{BLOCKS, Host, PAGE, UNMAPPED, admin, namespace, ram};

fn status(host: &mut Host, cns: u8, nsid: u32, cdw11: u32) -> Status {
    let page = host.allocate(PAGE);
    let entry = admin(admin_opcode::IDENTIFY, nsid)
        .with_cdw10(cns.into())
        .with_cdw11(cdw11)
        .with_prps(page, 0);
    host.admin_status(entry)
}

fn ids(bytes: &[u8]) -> Vec<u32> {
    NamespaceIdList::parse(bytes)
        .expect("a page")
        .iter()
        .map(NamespaceId::get)
        .collect()
}

/// A host with namespaces 1 and 3, so that 2 is valid but not active.
fn with_hole() -> Host {
    let namespaces = vec![
        namespace(1, ram(BlockSize::B512)),
        namespace(3, ram(BlockSize::B4096)),
    ];
    let mut host = Host::with(Config::default(), namespaces);
    host.enable();
    host
}

#[test]
fn the_controller_says_what_it_was_configured_to_be() {
    let mut host = Host::ready();
    let page = host.identify(cns::CONTROLLER.into(), 0);
    let found = IdentifyController::parse(&page).expect("a page");
    let config = Config::default();
    assert_eq!(found.sn.to_text(), config.serial);
    assert_eq!(found.mn.to_text(), config.model);
    assert_eq!(found.fr.to_text(), config.firmware);
    assert_eq!(found.subnqn.to_text(), config.subsystem_nqn);
    assert_eq!(
        (found.vid, found.cntlid),
        (config.vendor_id, config.controller_id)
    );
    assert_eq!(found.ver, Version::V2_0);
    assert_eq!(found.cntrltype, ControllerType::IO);
    assert_eq!(
        found.transfer_bytes_max(PAGE),
        Some(config.transfer_bytes_max())
    );
    assert_eq!(found.aerl.count(), u32::from(config.event_requests));
    assert_eq!(found.acl.count(), u32::from(config.aborts));
    assert_eq!(found.elpe.count(), 64);
    assert_eq!((found.sqes.required(), found.sqes.maximum()), (6, 6));
    assert_eq!((found.cqes.required(), found.cqes.maximum()), (4, 4));
    assert_eq!(found.nn, 2);
    assert!(found.kas > 0);
    assert!(found.vwc.present());
    assert_eq!(found.fuses.bits(), 0);
    assert_eq!(found.sgls.bits(), 0);
    assert_eq!(found.oacs.bits(), 0);
}

#[test]
fn a_namespace_says_its_size_and_its_block_size() {
    let mut host = Host::ready();
    for (nsid, block_bytes) in [(1, 512), (2, 4096)] {
        let page = host.identify(cns::NAMESPACE.into(), nsid);
        let found = IdentifyNamespace::parse(&page).expect("a page");
        let blocks = BlockCount::new(BLOCKS);
        assert_eq!(
            (found.nsze, found.ncap, found.nuse),
            (blocks, blocks, blocks)
        );
        assert_eq!(found.format().block_bytes(), Some(block_bytes));
        assert_eq!(found.nlbaf.count(), 1);
        assert_eq!(found.format().ms(), 0);
    }
}

#[test]
fn a_namespace_that_is_valid_but_not_active_reads_as_zeroes() {
    let mut host = with_hole();
    for structure in [
        cns::NAMESPACE,
        cns::ALLOCATED_NAMESPACE,
        cns::INDEPENDENT_NAMESPACE,
    ] {
        assert_eq!(
            host.identify(structure.into(), 2),
            [0; 4096],
            "CNS {structure:02x}h"
        );
        assert_ne!(
            host.identify(structure.into(), 3),
            [0; 4096],
            "CNS {structure:02x}h"
        );
    }
    let descriptors = status(&mut host, cns::NAMESPACE_DESCRIPTORS, 2, 0);
    assert_eq!(descriptors, Status::INVALID_NAMESPACE);
}

#[test]
fn a_namespace_that_cannot_be_is_refused() {
    let mut host = with_hole();
    for structure in [
        cns::NAMESPACE,
        cns::NAMESPACE_DESCRIPTORS,
        cns::COMMAND_SET_NAMESPACE,
        cns::INDEPENDENT_NAMESPACE,
        cns::ALLOCATED_NAMESPACE,
    ] {
        for nsid in [0, 4, u32::MAX - 1, u32::MAX] {
            let found = status(&mut host, structure, nsid, 0);
            assert_eq!(
                found,
                Status::INVALID_NAMESPACE,
                "CNS {structure:02x}h of {nsid}"
            );
        }
    }
}

#[test]
fn lists_hold_the_identifiers_above_the_one_that_is_named() {
    let mut host = with_hole();
    for list in [
        cns::ACTIVE_NAMESPACES,
        cns::ALLOCATED_NAMESPACES,
        cns::COMMAND_SET_ACTIVE_NAMESPACES,
    ] {
        assert_eq!(ids(&host.identify(list.into(), 0)), [1, 3]);
        assert_eq!(ids(&host.identify(list.into(), 1)), [3]);
        assert_eq!(ids(&host.identify(list.into(), 2)), [3]);
        assert_eq!(ids(&host.identify(list.into(), 3)), [0; 0]);
        assert_eq!(ids(&host.identify(list.into(), u32::MAX - 2)), [0; 0]);
        for nsid in [u32::MAX - 1, u32::MAX] {
            assert_eq!(status(&mut host, list, nsid, 0), Status::INVALID_NAMESPACE);
        }
    }
}

#[test]
fn descriptors_name_each_namespace_in_the_same_way_every_time() {
    let uuids = || {
        let mut host = Host::ready();
        [1, 2].map(|nsid| {
            let page = host.identify(cns::NAMESPACE_DESCRIPTORS.into(), nsid);
            let found = NamespaceDescriptors::parse(&page).expect("a list");
            assert_eq!(found.csi, Some(0), "the NVM command set");
            found.uuid.expect("a UUID")
        })
    };
    let [first, second] = uuids();
    assert_ne!(first, second);
    assert_eq!(uuids(), [first, second]);
    assert_eq!(
        (first[6] >> 4, first[8] >> 6),
        (8, 0b10),
        "version and variant of RFC 9562"
    );
}

#[test]
fn command_set_structures_are_for_the_nvm_command_set_only() {
    let mut host = Host::ready();
    for structure in [
        cns::COMMAND_SET_NAMESPACE,
        cns::COMMAND_SET_CONTROLLER,
        cns::COMMAND_SET_ACTIVE_NAMESPACES,
    ] {
        assert_eq!(
            status(&mut host, structure, 1, 0),
            Status::SUCCESS,
            "CNS {structure:02x}h"
        );
        for csi in [1, 2, 0xff] {
            let found = status(&mut host, structure, 1, csi << 24);
            assert_eq!(
                found,
                Status::INVALID_FIELD,
                "CNS {structure:02x}h, CSI {csi}"
            );
        }
    }
}

#[test]
fn a_namespace_is_ready() {
    let mut host = Host::ready();
    let page = host.identify(cns::INDEPENDENT_NAMESPACE.into(), 1);
    assert!(
        IndependentNamespace::parse(&page)
            .expect("a page")
            .nstat
            .ready()
    );
}

#[test]
fn command_sets_are_told_of_this_controller_only() {
    let mut host = Host::ready();
    let of = |cntid: u32| u32::from(cns::COMMAND_SETS) | cntid << 16;
    for cntid in [0xffff, u32::from(Config::default().controller_id)] {
        let found = host.identify(of(cntid), 0);
        assert_eq!(found, IoCommandSets::nvm_only().to_bytes());
    }
    let other = admin(admin_opcode::IDENTIFY, 0).with_cdw10(of(7));
    assert_eq!(host.admin_status(other), Status::INVALID_FIELD);
}

#[test]
fn structures_that_are_not_offered_are_invalid_fields() {
    let mut host = Host::ready();
    let known = [
        0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x08, 0x10, 0x11, 0x1c,
    ];
    for structure in (0..=255_u8).filter(|structure| !known.contains(structure)) {
        let entry = admin(admin_opcode::IDENTIFY, 1).with_cdw10(structure.into());
        assert_eq!(
            host.admin_status(entry),
            Status::INVALID_FIELD,
            "CNS {structure:02x}h"
        );
    }
}

#[test]
fn identify_may_cross_a_page_and_refuses_wrong_addresses() {
    let mut host = Host::ready();
    let page = host.allocate(2 * PAGE);
    let entry = admin(admin_opcode::IDENTIFY, 0).with_cdw10(cns::CONTROLLER.into());
    let whole = host.identify(cns::CONTROLLER.into(), 0);
    assert_eq!(
        host.admin_status(entry.with_prps(page + 64, page + PAGE)),
        Status::SUCCESS
    );
    assert_eq!(host.get(page + 64, 4096), whole);
    let cases = [
        ("an unmapped page", UNMAPPED, 0, Status::DATA_TRANSFER_ERROR),
        (
            "an unmapped second page",
            page + 64,
            UNMAPPED,
            Status::DATA_TRANSFER_ERROR,
        ),
        ("an odd address", page + 2, 0, Status::INVALID_PRP_OFFSET),
        (
            "an offset in the second page",
            page + 64,
            page + PAGE + 8,
            Status::INVALID_PRP_OFFSET,
        ),
    ];
    for (what, prp1, prp2, wanted) in cases {
        assert_eq!(
            host.admin_status(entry.with_prps(prp1, prp2)),
            wanted,
            "{what}"
        );
    }
}
