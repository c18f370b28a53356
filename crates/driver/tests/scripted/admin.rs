//! The admin queue of a working device, and a controller that plays tricks on it.

use core::time::Duration;

use driver::{AdminData, DriverError, Waited, limits};
use spec::nvme::{AsyncEvent, Status, SubmissionEntry, admin_opcode, log_id};
use spec::{CommandId, NamespaceId};

use crate::controller::Script;
use crate::open_well;

fn keep_alive() -> SubmissionEntry {
    SubmissionEntry::new(
        admin_opcode::KEEP_ALIVE,
        CommandId::new(0),
        NamespaceId::NONE,
    )
}

#[test]
fn completions_that_nobody_asked_for_are_counted_and_end_the_wait_when_they_are_many() {
    let mute = [admin_opcode::KEEP_ALIVE].into();
    let mut device = open_well(Script {
        mute,
        ..Script::default()
    });
    device.link_mut().script.bogus_per_turn = 1;
    let error = device.admin(keep_alive(), AdminData::None).unwrap_err();
    let count = limits::BOGUS_COMPLETIONS_MAX + 1;
    let during = Waited::Command {
        opcode: admin_opcode::KEEP_ALIVE,
    };
    assert_eq!(error, DriverError::BogusCompletions { during, count });
    assert_eq!(device.admin_counters().bogus_completions, count);
    assert_eq!(
        device.admin(keep_alive(), AdminData::None),
        Err(DriverError::NeedsReset)
    );
}

#[test]
fn a_few_completions_that_nobody_asked_for_do_no_harm() {
    let mut device = open_well(Script::default());
    device.link_mut().script.bogus_per_turn = 2;
    for _ in 0..100 {
        device
            .keep_alive()
            .expect("the answer comes in the same turn");
    }
    assert!(device.admin_counters().bogus_completions >= 100);
}

#[test]
fn a_refusal_leaves_the_device_working() {
    let refuse = [(admin_opcode::GET_FEATURES, Status::INVALID_FIELD.with_dnr())].into();
    let mut device = open_well(Script {
        refuse,
        ..Script::default()
    });
    let refusal = device.feature(0x42, NamespaceId::NONE).unwrap_err();
    let status = Status::INVALID_FIELD.with_dnr();
    assert_eq!(
        refusal,
        DriverError::Refused {
            opcode: admin_opcode::GET_FEATURES,
            status
        }
    );
    assert_eq!(device.keep_alive(), Ok(()));
    assert_eq!(device.admin_counters().refusals, 1);
}

#[test]
fn data_that_do_not_fit_are_refused_before_anything_is_sent() {
    let mut device = open_well(Script::default());
    let sent = device.link_mut().commands.len();
    let mut bytes = vec![0; limits::ADMIN_DATA_BYTES + 1];
    let error = device
        .admin(keep_alive(), AdminData::FromController(&mut bytes))
        .unwrap_err();
    assert!(matches!(error, DriverError::AdminData { .. }), "{error}");
    assert_eq!(device.link_mut().commands.len(), sent);
}

#[test]
fn what_the_controller_does_not_fill_reads_as_zeros_and_not_as_an_earlier_answer() {
    let mut device = open_well(Script::default());
    let smart = device
        .smart_log()
        .expect("the script answers every log page with nothing");
    assert_eq!(smart.to_bytes(), [0; 512]);
    assert!(device.error_log(64).expect("the same").is_empty());
}

#[test]
fn events_are_handed_out_in_order_and_their_requests_sent_again() {
    let mut device = open_well(Script::default());
    assert_eq!(device.events(), Ok(vec![]));
    let sent = [
        AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED,
        AsyncEvent::TEMPERATURE_THRESHOLD,
    ];
    for event in sent {
        device.link_mut().raise(event);
    }
    assert_eq!(device.events(), Ok(sent.to_vec()));
    device.keep_alive().expect("a turn for the controller");
    assert_eq!(
        device.link_mut().waiting_events.len(),
        limits::EVENT_REQUESTS as usize
    );
    assert_eq!(device.admin_counters().events, 2);
}

#[test]
fn events_from_before_a_reset_are_kept_and_never_more_than_the_requests() {
    let mut device = open_well(Script::default());
    device.keep_alive().expect("a turn for the controller");
    let sent = [
        AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED,
        AsyncEvent::TEMPERATURE_THRESHOLD,
    ];
    for event in sent {
        device.link_mut().raise(event);
    }
    device
        .keep_alive()
        .expect("both events are taken in on the way");
    device.reset().expect("the script lets it");
    device.keep_alive().expect("a turn for the controller");
    let requests = limits::EVENT_REQUESTS as usize;
    assert_eq!(
        device.link_mut().waiting_events.len(),
        requests - sent.len()
    );
    assert_eq!(device.events(), Ok(sent.to_vec()));
    device.keep_alive().expect("a turn for the controller");
    assert_eq!(device.link_mut().waiting_events.len(), requests);
}

#[test]
fn a_long_log_page_is_read_in_pieces_and_its_event_is_cleared_by_the_last() {
    let mut script = Script::default();
    script.identify.mdts = 1;
    let mut device = open_well(script);
    let mut bytes = vec![0xEE; 20_000];
    let read = device.read_log(
        log_id::ERROR_INFORMATION,
        NamespaceId::BROADCAST,
        false,
        &mut bytes,
    );
    assert_eq!(read, Ok(()));
    let asked: Vec<_> = device
        .link_mut()
        .logs
        .iter()
        .map(|log| (log.offset.get(), log.bytes(), log.retain_event))
        .collect();
    assert_eq!(
        asked,
        [(0, 8192, true), (8192, 8192, true), (16_384, 3616, false)]
    );
    assert!(bytes.iter().all(|&byte| byte == 0));
}

#[test]
fn a_controller_that_raises_events_without_end_fills_nothing() {
    let mut device = open_well(Script {
        event_storm: true,
        ..Script::default()
    });
    for _ in 0..200 {
        device
            .keep_alive()
            .expect("commands are answered in the storm");
    }
    for _ in 0..10 {
        let events = device.events().expect("the device works");
        assert!(events.len() <= limits::EVENT_REQUESTS as usize);
    }
    assert!(device.admin_counters().events <= 11 * u64::from(limits::EVENT_REQUESTS));
}

#[test]
fn an_event_request_that_is_refused_is_not_sent_again() {
    let mut device = open_well(Script::default());
    device.keep_alive().expect("a turn for the controller");
    device
        .link_mut()
        .refuse_event_request(Status::AER_LIMIT_EXCEEDED);
    assert_eq!(device.events(), Ok(vec![]));
    device.keep_alive().expect("a turn for the controller");
    assert_eq!(
        device.link_mut().waiting_events.len(),
        limits::EVENT_REQUESTS as usize - 1
    );
}

#[test]
fn fewer_event_requests_are_sent_to_a_controller_that_takes_fewer() {
    let mut script = Script::default();
    script.identify.aerl = spec::ZeroBased::<u8>::new(0);
    let mut device = open_well(script);
    device.keep_alive().expect("a turn for the controller");
    assert_eq!(device.link_mut().waiting_events.len(), 1);
}

#[test]
fn a_keep_alive_goes_out_when_half_its_time_has_passed() {
    let mut script = Script::default();
    let missing = open_well(script.clone()).set_keep_alive(Some(Duration::from_secs(10)));
    assert!(
        matches!(missing, Err(DriverError::Unsupported { what: "KAS", .. })),
        "{missing:?}"
    );

    script.identify.kas = 1;
    let mut device = open_well(script);
    assert_eq!(device.keep_alive_if_due(), Ok(false), "no timer runs");
    device
        .set_keep_alive(Some(Duration::from_secs(10)))
        .expect("there is a timer");
    assert_eq!(device.keep_alive_if_due(), Ok(false));
    device.link_mut().now += Duration::from_secs(5);
    assert_eq!(device.keep_alive_if_due(), Ok(true));
    assert_eq!(device.keep_alive_if_due(), Ok(false));
}
