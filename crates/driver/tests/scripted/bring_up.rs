//! From a link to a working device, or to an error that says what was wrong.

use core::time::Duration;

use driver::{DriverError, Waited, limits};
use spec::NamespaceId;
use spec::nvme::identify::{ControllerType, EntrySizes, LbaFormat};
use spec::nvme::{Status, admin_opcode};

use crate::controller::{Enabling, Script, namespace};
use crate::{open, open_well};

#[test]
fn a_well_behaved_controller_is_brought_up_and_parted_from() {
    let mut device = open_well(Script::default());
    assert_eq!(device.identify().sn.to_text(), "SCRIPTED");
    assert_eq!(device.transfer_bytes_max(), 128 << 10, "MDTS 5 is 32 pages");
    assert_eq!(device.queue_pairs_granted(), 8);
    let [found] = device.namespaces() else {
        panic!("one namespace")
    };
    assert_eq!(
        (found.id, found.blocks.get(), found.block_bytes()),
        (NamespaceId::new(1), 1000, 512)
    );
    assert_eq!(device.events(), Ok(Vec::new()));
    assert_eq!(
        device.link_mut().waiting_events.len(),
        limits::EVENT_REQUESTS as usize
    );
    let link = device.shutdown().expect("the controller shuts down");
    assert_eq!(link.allocated, 0, "all memory is given back");
}

#[test]
fn a_controller_that_another_host_left_enabled_is_disabled_first() {
    let script = Script {
        found_enabled: true,
        ..Script::default()
    };
    assert_eq!(open_well(script).namespaces().len(), 1);
}

#[test]
fn a_controller_that_is_becoming_ready_is_not_disabled_before_it_is() {
    let script = Script {
        found_enabling: true,
        ..Script::default()
    };
    let mut device = open_well(script);
    assert_eq!(device.namespaces().len(), 1);
    assert_eq!(device.link_mut().undefined_changes, 0);
}

#[test]
fn a_controller_that_fails_while_another_host_enables_it_is_disabled_at_once() {
    let script = Script {
        found_enabling: true,
        enabling: Enabling::Fatal,
        ..Script::default()
    };
    let mut link = crate::Scripted::new(script);
    link.script.enabling = Enabling::After(0);
    let mut device = driver::Device::open(link, driver::Options::default()).expect("a reset helps");
    let waited = device.link_mut().now;
    assert!(waited < Duration::from_millis(100), "{waited:?}");
}

#[test]
fn a_controller_that_never_becomes_ready_is_given_up_after_cap_to() {
    let script = Script {
        enabling: Enabling::Never,
        ..Script::default()
    };
    let wanted = Duration::from_secs(2); // CAP.TO is 4, in units of 500 ms
    match open(script) {
        Err(DriverError::Timeout {
            waited_for: Waited::Ready,
            waited,
            status,
        }) => {
            assert!(
                waited >= wanted && waited < wanted + Duration::from_millis(10),
                "{waited:?}"
            );
            assert!(!status.rdy());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn patience_has_a_floor_for_controllers_that_claim_to_be_instant() {
    let mut script = Script {
        enabling: Enabling::After(800),
        ..Script::default()
    };
    script.capabilities = script.capabilities.with_to(0);
    assert!(open(script).is_ok(), "800 ms are less than the floor");
}

#[test]
fn a_clock_that_leaps_does_not_cost_the_answer() {
    let script = Script {
        enabling: Enabling::After(0),
        turn: Duration::from_secs(3600),
        ..Script::default()
    };
    assert!(open(script).is_ok(), "every answer is there after one turn");
}

#[test]
fn a_controller_that_stays_ready_when_disabled_is_given_up() {
    let script = Script {
        found_enabled: true,
        sticks_ready: true,
        ..Script::default()
    };
    let error = open(script).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Timeout {
                waited_for: Waited::Disabled,
                ..
            }
        ),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("CSTS.RDY to become 0") && text.contains("CSTS 0x1"),
        "{text}"
    );
}

#[test]
fn a_controller_that_fails_while_being_enabled_says_so_at_once() {
    let script = Script {
        enabling: Enabling::Fatal,
        ..Script::default()
    };
    match open(script) {
        Err(DriverError::Fatal {
            during: Waited::Ready,
            status,
        }) => assert!(status.cfs()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_controller_that_leaves_the_bus_while_being_enabled_is_gone() {
    let script = Script {
        enabling: Enabling::Gone,
        ..Script::default()
    };
    let error = open(script).unwrap_err();
    assert_eq!(
        error,
        DriverError::Gone {
            during: Waited::Ready
        }
    );
}

#[test]
fn a_controller_that_is_not_there_is_gone() {
    let mut link = crate::Scripted::new(Script::default());
    link.vanish();
    let error = driver::Device::open(link, driver::Options::default()).unwrap_err();
    assert_eq!(
        error,
        DriverError::Gone {
            during: Waited::Nothing
        }
    );
}

#[test]
fn a_controller_that_fails_or_goes_during_a_command_is_noticed_long_before_the_time_out() {
    let opcode = admin_opcode::IDENTIFY;
    let during = Waited::Command { opcode };
    let fatal = Script {
        fatal_at: Some(opcode),
        ..Script::default()
    };
    assert!(
        matches!(open(fatal), Err(DriverError::Fatal { during: found, .. }) if found == during)
    );
    let gone = Script {
        gone_at: Some(opcode),
        ..Script::default()
    };
    assert_eq!(open(gone).unwrap_err(), DriverError::Gone { during });
}

#[test]
fn capabilities_that_the_driver_cannot_use_are_refused_by_name() {
    let mut script = Script::default();
    script.capabilities = script.capabilities.with_mpsmin(1);
    let error = open(script).unwrap_err().to_string();
    assert!(
        error.contains("CAP.MPSMIN") && error.contains("8192"),
        "{error}"
    );

    let mut script = Script::default();
    script.capabilities = script.capabilities.with_css(1 << 7);
    let error = open(script).unwrap_err().to_string();
    assert!(error.contains("CAP.CSS"), "{error}");

    let mut script = Script::default();
    script.capabilities = script.capabilities.with_mqes(0);
    let error = open(script).unwrap_err().to_string();
    assert!(error.contains("CAP.MQES"), "{error}");
}

#[test]
fn an_identify_controller_that_cannot_be_is_refused_by_name() {
    let mut script = Script::default();
    script.identify.sqes = EntrySizes::only(7);
    let error = open(script).unwrap_err();
    assert!(
        matches!(error, DriverError::BadAnswer { what: "SQES", .. }),
        "{error}"
    );

    let mut script = Script::default();
    script.identify.cqes = EntrySizes::default();
    let error = open(script).unwrap_err();
    assert!(
        matches!(error, DriverError::BadAnswer { what: "CQES", .. }),
        "{error}"
    );

    let mut script = Script::default();
    script.identify.cntrltype = ControllerType::DISCOVERY;
    let error = open(script).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Unsupported {
                what: "CNTRLTYPE",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn transfers_are_bounded_by_mdts_and_by_one_prp_list_page() {
    for (mdts, wanted) in [
        (0, 2 << 20),
        (1, 8192),
        (9, 2 << 20),
        (10, 2 << 20),
        (255, 2 << 20),
    ] {
        let mut script = Script::default();
        script.identify.mdts = mdts;
        assert_eq!(
            open_well(script).transfer_bytes_max(),
            wanted,
            "MDTS {mdts}"
        );
    }
}

#[test]
fn the_fewer_of_the_queues_granted_count_and_never_more_than_were_asked_for() {
    for (granted, wanted) in [
        ((0, 0), 1),
        ((0, 9), 1),
        ((9, 1), 2),
        ((500, 500), 128),
        ((0xffff, 0xffff), 128),
    ] {
        let script = Script {
            granted,
            ..Script::default()
        };
        assert_eq!(
            open_well(script).queue_pairs_granted(),
            wanted,
            "granted {granted:?}"
        );
    }
}

#[test]
fn a_controller_that_grants_no_queues_at_all_is_refused() {
    let refuse = [(admin_opcode::SET_FEATURES, Status::INVALID_FIELD)].into();
    let error = open(Script {
        refuse,
        ..Script::default()
    })
    .unwrap_err();
    let wanted = DriverError::Refused {
        opcode: admin_opcode::SET_FEATURES,
        status: Status::INVALID_FIELD,
    };
    assert_eq!(error, wanted);
    assert_eq!(
        error.to_string(),
        "Set Features (09h) was refused: Invalid Field in Command (0/02h)"
    );
}

#[test]
fn a_controller_without_namespaces_can_be_opened() {
    let script = Script {
        namespaces: [].into(),
        ..Script::default()
    };
    assert!(open_well(script).namespaces().is_empty());
}

#[test]
fn lists_of_namespaces_are_chained_and_a_namespace_without_blocks_is_left_out() {
    let mut namespaces: std::collections::BTreeMap<_, _> =
        (1..=2100).map(|id| (id * 3, namespace(8, 12))).collect();
    namespaces.insert(7, namespace(0, 0));
    let device = open_well(Script {
        namespaces,
        ..Script::default()
    });
    assert_eq!(device.namespaces().len(), 2100);
    assert_eq!(
        device
            .namespace(NamespaceId::new(6300))
            .map(driver::Namespace::bytes),
        Some(32768)
    );
    assert_eq!(device.namespace(NamespaceId::new(7)), None);
}

#[test]
fn a_list_of_namespaces_that_goes_round_in_circles_is_refused() {
    for list in [vec![1, 1], vec![2, 1], vec![u32::MAX], (1..=1024).collect()] {
        // The last one is well-formed, but the same full list answers every question.
        let namespaces = (1..=1024).map(|id| (id, namespace(8, 9))).collect();
        let script = Script {
            list: Some(list),
            namespaces,
            ..Script::default()
        };
        let error = open(script).unwrap_err();
        let what = "Active Namespace ID list";
        assert!(
            matches!(error, DriverError::BadAnswer { what: found, .. } if found == what),
            "{error}"
        );
    }
}

#[test]
fn a_namespace_whose_blocks_cannot_be_is_refused_by_name() {
    let mut odd = namespace(8, 9);
    odd.lbaf.0[0] = LbaFormat::plain(3);
    for found in [odd, namespace(u64::MAX, 12), namespace(8, 40)] {
        let script = Script {
            namespaces: [(5, found)].into(),
            ..Script::default()
        };
        let error = open(script).unwrap_err();
        assert!(matches!(error, DriverError::BadAnswer { .. }), "{error}");
        assert!(error.to_string().contains("namespace 5"), "{error}");
    }
}

#[test]
fn an_identify_that_is_never_answered_is_given_up_and_named() {
    let mute = [admin_opcode::IDENTIFY].into();
    let error = open(Script {
        mute,
        ..Script::default()
    })
    .unwrap_err();
    match &error {
        DriverError::Timeout {
            waited_for: Waited::Command { opcode },
            waited,
            ..
        } => {
            assert_eq!(*opcode, admin_opcode::IDENTIFY);
            assert!(*waited >= limits::ADMIN_TIMEOUT);
        }
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("Identify (06h)"), "{error}");
}

#[test]
fn a_refused_event_configuration_does_not_stop_bring_up() {
    // Number of Queues travels by the same opcode, so this controller is told apart by its lack of event requests.
    let refuse = [(
        admin_opcode::ASYNC_EVENT_REQUEST,
        Status::AER_LIMIT_EXCEEDED,
    )]
    .into();
    let mut device = open_well(Script {
        refuse,
        ..Script::default()
    });
    assert_eq!(device.events(), Ok(Vec::new()));
    assert_eq!(
        device.admin_counters().event_requests_refused,
        limits::EVENT_REQUESTS.into()
    );
}
