//! Asynchronous events: dword 0 of their completion and the names.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::fields;
use libfuzzer_sys::fuzz_target;
use spec::nvme::{AsyncEvent, EventType};

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let bits_u32 = from.u32();
    fields! { bits_u32;
        AsyncEvent: kind with_kind information with_information log_page with_log_page;
    }
    let event = AsyncEvent::from_result(bits_u32);
    let again = AsyncEvent::new(event.event_type(), event.information(), event.log_page());
    assert_eq!(
        again.result(),
        bits_u32 & 0x00ff_ff07,
        "reserved bits are dropped"
    );
    assert_eq!(again.event_type(), event.event_type());
    assert_eq!(again.name(), event.name());
    assert!(event.to_string().starts_with(event.name()));
    assert_eq!(
        AsyncEvent::NAMED
            .iter()
            .any(|named| named.name() == event.name()),
        event.name() != "Unknown event"
    );
    let code = from.u8() & 7;
    assert_eq!(EventType::from_code(code).code(), code);
});
