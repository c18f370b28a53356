//! Get Features and Set Features [NVMe Base 2.0 §5.15, §5.27].

use std::sync::mpsc::{Sender, channel};

use controller::Config;
use media::{BlockSize, Media, Progress, Request, Token};
use mem::Span;
use spec::nvme::feature::FeatureCapabilities;
use spec::nvme::{Status, SubmissionEntry, feature_id};
use spec::{BlockCount, NamespaceId};

use crate::support::{Host, admin, get_feature, namespace, ram, set_feature};

/// Every feature that is offered, with a value that differs from its default and whether a namespace owns it.
const OFFERED: [(u8, u32, bool); 11] = [
    (feature_id::ARBITRATION, 0x0302_0104, false),
    (feature_id::POWER_MANAGEMENT, 1 << 5, false),
    (feature_id::TEMPERATURE_THRESHOLD, 350, false),
    (feature_id::ERROR_RECOVERY, 25, true),
    (feature_id::VOLATILE_WRITE_CACHE, 0, false),
    (feature_id::NUMBER_OF_QUEUES, 0x0003_0004, false),
    (feature_id::INTERRUPT_COALESCING, 0x0a07, false),
    (feature_id::INTERRUPT_VECTOR_CONFIGURATION, 1 << 16, false),
    (feature_id::WRITE_ATOMICITY_NORMAL, 1, false),
    (feature_id::ASYNC_EVENT_CONFIGURATION, 0x0103, false),
    (feature_id::KEEP_ALIVE_TIMER, 5000, false),
];

fn of(entry: SubmissionEntry, per_namespace: bool) -> SubmissionEntry {
    if per_namespace {
        entry.with_nsid(NamespaceId::new(1))
    } else {
        entry
    }
}

fn value(host: &mut Host, id: u8, select: u32, per_namespace: bool) -> u32 {
    let done = host.admin(of(get_feature(id.into(), select), per_namespace));
    assert_eq!(done.status(), Status::SUCCESS, "feature {id:02x}h");
    done.result()
}

#[test]
fn what_was_set_is_current_and_neither_default_nor_saved() {
    for (id, wanted, per_namespace) in OFFERED {
        let mut host = Host::ready();
        let default = value(&mut host, id, 1, per_namespace);
        assert_eq!(
            value(&mut host, id, 0, per_namespace),
            default,
            "feature {id:02x}h at first"
        );
        assert_ne!(wanted, default, "feature {id:02x}h");
        let set = of(set_feature(id.into(), wanted), per_namespace);
        assert_eq!(host.admin_status(set), Status::SUCCESS, "feature {id:02x}h");
        assert_eq!(
            value(&mut host, id, 0, per_namespace),
            wanted,
            "feature {id:02x}h"
        );
        assert_eq!(
            value(&mut host, id, 1, per_namespace),
            default,
            "feature {id:02x}h"
        );
        assert_eq!(
            value(&mut host, id, 2, per_namespace),
            default,
            "feature {id:02x}h"
        );
        host.disable();
        host.enable();
        assert_eq!(
            value(&mut host, id, 0, per_namespace),
            default,
            "feature {id:02x}h reset"
        );
    }
}

#[test]
fn capabilities_say_changeable_not_saveable() {
    let mut host = Host::ready();
    for (id, _, per_namespace) in OFFERED {
        let bits = value(&mut host, id, 3, per_namespace);
        let wanted = FeatureCapabilities::default()
            .with_changeable(true)
            .with_namespace_specific(per_namespace);
        assert_eq!(bits, wanted.bits(), "feature {id:02x}h");
    }
}

#[test]
fn saving_is_refused() {
    let mut host = Host::ready();
    for (id, wanted, per_namespace) in OFFERED {
        let entry = of(set_feature(u32::from(id) | 1 << 31, wanted), per_namespace);
        assert_eq!(
            host.admin_status(entry),
            Status::FEATURE_NOT_SAVEABLE,
            "feature {id:02x}h"
        );
    }
}

#[test]
fn features_that_are_not_offered_and_reserved_selections_are_invalid_fields() {
    let mut host = Host::ready();
    let known = |id: u8| OFFERED.iter().any(|(offered, ..)| *offered == id);
    for id in (0..=255).filter(|&id| !known(id)) {
        assert_eq!(
            host.admin_status(get_feature(id.into(), 0)),
            Status::INVALID_FIELD,
            "{id:02x}h"
        );
        assert_eq!(
            host.admin_status(set_feature(id.into(), 0)),
            Status::INVALID_FIELD,
            "{id:02x}h"
        );
    }
    for select in 4..=7 {
        assert_eq!(
            host.admin_status(get_feature(1, select)),
            Status::INVALID_FIELD
        );
    }
}

#[test]
fn values_that_mean_nothing_are_invalid_fields() {
    let cases = [
        (
            "a power state that is not there",
            feature_id::POWER_MANAGEMENT,
            1,
        ),
        (
            "a sensor that is not there",
            feature_id::TEMPERATURE_THRESHOLD,
            1 << 16 | 300,
        ),
        (
            "a reserved threshold type",
            feature_id::TEMPERATURE_THRESHOLD,
            2 << 20 | 300,
        ),
        (
            "an error that is not offered",
            feature_id::ERROR_RECOVERY,
            1 << 16,
        ),
        (
            "65536 submission queues",
            feature_id::NUMBER_OF_QUEUES,
            0xffff,
        ),
        (
            "65536 completion queues",
            feature_id::NUMBER_OF_QUEUES,
            0xffff_0000,
        ),
        ("65536 of both", feature_id::NUMBER_OF_QUEUES, 0xffff_ffff),
        (
            "a vector beyond the last",
            feature_id::INTERRUPT_VECTOR_CONFIGURATION,
            129,
        ),
    ];
    for (what, id, value) in cases {
        let mut host = Host::ready();
        let per_namespace = id == feature_id::ERROR_RECOVERY;
        let entry = of(set_feature(id.into(), value), per_namespace);
        assert_eq!(host.admin_status(entry), Status::INVALID_FIELD, "{what}");
    }
}

#[test]
fn the_number_of_queues_is_what_was_asked_for_up_to_the_offer() {
    let mut host = Host::ready();
    for (asked, granted) in [
        (0, 0),
        (0x0007_0003, 0x0007_0003),
        (0xfffe_fffe, 0x007f_007f),
    ] {
        let done = host.admin(set_feature(7, asked));
        assert_eq!((done.status(), done.result()), (Status::SUCCESS, granted));
        assert_eq!(host.admin(get_feature(7, 0)).result(), granted);
    }
}

#[test]
fn the_number_of_queues_cannot_change_while_there_are_io_queues() {
    let mut host = Host::ready();
    host.create_cq(1, 8);
    assert_eq!(
        host.admin_status(set_feature(7, 0)),
        Status::COMMAND_SEQUENCE_ERROR
    );
    assert_eq!(host.admin_status(get_feature(7, 0)), Status::SUCCESS);
}

#[test]
fn a_feature_of_the_controller_does_not_take_a_namespace() {
    let mut host = Host::ready();
    let arbitration = |nsid| set_feature(1, 3).with_nsid(NamespaceId::new(nsid));
    assert_eq!(
        host.admin_status(arbitration(1)),
        Status::FEATURE_NOT_NAMESPACE_SPECIFIC
    );
    assert_eq!(host.admin_status(arbitration(9)), Status::INVALID_NAMESPACE);
    assert_eq!(host.admin_status(arbitration(u32::MAX)), Status::SUCCESS);
    assert_eq!(host.admin_status(arbitration(0)), Status::SUCCESS);
}

#[test]
fn a_feature_of_namespaces_is_kept_for_each_and_set_for_all_by_broadcast() {
    let namespaces = vec![
        namespace(1, ram(BlockSize::B512)),
        namespace(3, ram(BlockSize::B512)),
    ];
    let mut host = Host::with(Config::default(), namespaces);
    host.enable();
    let set = |nsid, value| set_feature(5, value).with_nsid(NamespaceId::new(nsid));
    let get = |nsid| get_feature(5, 0).with_nsid(NamespaceId::new(nsid));
    assert_eq!(host.admin_status(set(1, 7)), Status::SUCCESS);
    assert_eq!(host.admin(get(1)).result(), 7);
    assert_eq!(host.admin(get(3)).result(), 0);
    assert_eq!(host.admin_status(set(u32::MAX, 9)), Status::SUCCESS);
    assert_eq!(
        (host.admin(get(1)).result(), host.admin(get(3)).result()),
        (9, 9)
    );
    assert_eq!(
        host.admin_status(set(2, 1)),
        Status::INVALID_FIELD,
        "valid, not attached"
    );
    assert_eq!(host.admin_status(set(4, 1)), Status::INVALID_NAMESPACE);
    assert_eq!(host.admin_status(get(0)), Status::INVALID_NAMESPACE);
    assert_eq!(host.admin_status(get(u32::MAX)), Status::INVALID_NAMESPACE);
}

#[test]
fn over_and_under_temperature_thresholds_are_kept_apart() {
    let mut host = Host::ready();
    let (over, under) = (0, 1 << 20);
    assert_eq!(
        host.admin_status(set_feature(4, over | 400)),
        Status::SUCCESS
    );
    assert_eq!(
        host.admin_status(set_feature(4, under | 200)),
        Status::SUCCESS
    );
    assert_eq!(host.admin(get_feature(4, 0).with_cdw11(over)).result(), 400);
    assert_eq!(
        host.admin(get_feature(4, 0).with_cdw11(under)).result(),
        200
    );
    assert_eq!(
        host.admin_status(set_feature(4, 15 << 16 | 390)),
        Status::SUCCESS,
        "all sensors"
    );
    assert_eq!(host.admin(get_feature(4, 0)).result(), 390);
    let all = get_feature(4, 0).with_cdw11(15 << 16);
    assert_eq!(
        host.admin_status(all),
        Status::INVALID_FIELD,
        "all sensors have no one value"
    );
}

#[test]
fn interrupt_vectors_are_configured_each_for_itself() {
    let mut host = Host::ready();
    assert_eq!(
        host.admin_status(set_feature(9, 1 << 16 | 5)),
        Status::SUCCESS
    );
    assert_eq!(
        host.admin(get_feature(9, 0).with_cdw11(5)).result(),
        1 << 16 | 5
    );
    assert_eq!(host.admin(get_feature(9, 0).with_cdw11(6)).result(), 6);
    assert_eq!(
        host.admin_status(get_feature(9, 0).with_cdw11(129)),
        Status::INVALID_FIELD
    );
}

#[test]
fn the_same_admin_opcode_without_a_feature_identifier_is_an_invalid_field() {
    let mut host = Host::ready();
    assert_eq!(host.admin_status(admin(0x09, 0)), Status::INVALID_FIELD);
    assert_eq!(host.admin_status(admin(0x0a, 0)), Status::INVALID_FIELD);
}

/// RAM that tells of every change of its write cache.
#[derive(Debug)]
struct Caching(media::RamMedia, Sender<bool>);

impl Media for Caching {
    fn block_size(&self) -> BlockSize {
        self.0.block_size()
    }
    fn blocks(&self) -> BlockCount {
        self.0.blocks()
    }
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        self.0.start(token, request, data)
    }
    fn set_write_cache(&mut self, enabled: bool) {
        self.1.send(enabled).expect("the test listens");
    }
}

#[test]
fn the_volatile_write_cache_feature_reaches_the_media_and_a_reset_restores_it() {
    let (tell, told) = channel();
    let media = Caching(ram(BlockSize::B512), tell);
    let mut host = Host::with(Config::default(), vec![namespace(1, media)]);
    host.enable();
    assert_eq!(host.admin_status(set_feature(6, 0)), Status::SUCCESS);
    host.disable();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [false, true]);
}
