//! For every parser: no bytes make it panic, what it read is emitted again, and what was emitted is read as the same value.

use proptest::collection::vec;
use proptest::prelude::*;
use spec::nvme::feature::{HostBehavior, LbaRange};
use spec::nvme::identify::{
    IdentifyController, IdentifyNamespace, IndependentNamespace, IoCommandSets,
    NamespaceDescriptors, NamespaceIdList, NvmIdentifyController, NvmIdentifyNamespace, PowerState,
};
use spec::nvme::log::{
    CommandEffectsLog, ErrorLogEntry, FeatureEffectsLog, FirmwareSlotLog, SmartLog,
    SupportedLogPages,
};
use spec::nvme::{
    Abort, AsyncEvent, BlockCommand, CompletionEntry, CreateCompletionQueue, CreateSubmissionQueue,
    DatasetManagement, DeleteQueue, DsmRange, GetFeatures, GetLogPage, Identify, SetFeatures,
    Status, SubmissionEntry,
};
use spec::{Malformed, Text};

/// What a byte is after a round trip: itself in a field, zero if it is reserved.
fn kept(fields: &[(&str, usize, usize)], at: usize, byte: u8) -> u8 {
    let field = fields
        .iter()
        .find(|&&(_, first, bytes)| (first..first + bytes).contains(&at));
    match field {
        // The only structure within a structure; it has reserved bytes of its own.
        Some(("psd", first, _)) => kept(PowerState::FIELDS, (at - first) % PowerState::BYTES, byte),
        Some(_) => byte,
        None => 0,
    }
}

/// Checks one structure of fixed size on arbitrary bytes of any length.
macro_rules! round_trips {
    ($bytes:expr, $($name:ident)*) => {$(
        match $name::parse($bytes) {
            Err(trouble) => {
                let wanted = Malformed::Short { wanted: $name::BYTES, found: $bytes.len() };
                prop_assert_eq!(trouble, wanted);
                prop_assert!($bytes.len() < $name::BYTES);
            }
            Ok(value) => {
                let mut emitted = [0xa5; $name::BYTES];
                value.emit(&mut emitted);
                prop_assert_eq!($name::parse(&emitted), Ok(value));
                prop_assert_eq!(emitted, value.to_bytes());
                for (at, (&before, &after)) in $bytes.iter().zip(&emitted).enumerate() {
                    prop_assert_eq!(after, kept($name::FIELDS, at, before), "byte {}", at);
                }
                let _ = format!("{value:?}");
            }
        }
    )*};
}

/// Checks one command on arbitrary words.
macro_rules! commands_round_trip {
    ($entry:expr, $($name:ident)*) => {$(
        let command = $name::parse($entry);
        prop_assert_eq!($name::parse(&command.emit(SubmissionEntry::default())), command);
        let over = command.emit(*$entry);
        prop_assert_eq!($name::parse(&over), command);
        prop_assert_eq!((over.opcode(), over.cid(), over.nsid()), ($entry.opcode(), $entry.cid(), $entry.nsid()));
    )*};
}

/// Lengths around the sizes that matter.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..80),
        vec(any::<u8>(), 500..520),
        vec(any::<u8>(), 1020..1030),
        vec(any::<u8>(), 4090..4100),
    ]
}

/// Bytes that look like descriptors more often than noise does.
fn descriptor_bytes() -> impl Strategy<Value = Vec<u8>> {
    let descriptor = (
        0_u8..6,
        prop_oneof![Just(1_u8), Just(8), Just(16), any::<u8>()],
    )
        .prop_flat_map(|(kind, len)| {
            vec(any::<u8>(), usize::from(len)).prop_map(move |id| {
                let mut bytes = vec![kind, len, 0, 0];
                bytes.extend(id);
                bytes
            })
        });
    vec(descriptor, 0..24).prop_map(|descriptors| {
        let mut bytes = descriptors.concat();
        bytes.resize(4096, 0);
        bytes
    })
}

/// Miri takes a hundred times as long, and looks for other faults.
const CASES: u32 = if cfg!(miri) { 4 } else { 512 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn identify_structures_survive_any_bytes_and_are_emitted_as_they_were(bytes in bytes()) {
        round_trips!(&bytes, IdentifyController IdentifyNamespace IndependentNamespace IoCommandSets
            NamespaceIdList NvmIdentifyController NvmIdentifyNamespace PowerState);
    }

    #[test]
    fn log_pages_survive_any_bytes_and_are_emitted_as_they_were(bytes in bytes()) {
        round_trips!(&bytes, CommandEffectsLog ErrorLogEntry FeatureEffectsLog FirmwareSlotLog SmartLog
            SupportedLogPages);
    }

    #[test]
    fn data_buffers_of_features_survive_any_bytes_and_are_emitted_as_they_were(bytes in bytes()) {
        round_trips!(&bytes, HostBehavior LbaRange);
    }

    #[test]
    fn a_dataset_range_survives_any_bytes_and_is_emitted_as_it_was(bytes in vec(any::<u8>(), 0..32)) {
        match DsmRange::parse(&bytes) {
            Err(_) => prop_assert!(bytes.len() < DsmRange::BYTES),
            Ok(range) => {
                let mut emitted = [0; DsmRange::BYTES];
                range.emit(&mut emitted);
                prop_assert_eq!(&emitted[..], &bytes[..DsmRange::BYTES]);
            }
        }
    }

    #[test]
    fn a_descriptor_list_survives_any_bytes(bytes in bytes()) {
        let _ = NamespaceDescriptors::parse(&bytes);
    }

    #[test]
    fn a_descriptor_list_that_was_read_is_read_again_as_the_same(bytes in descriptor_bytes()) {
        if let Ok(descriptors) = NamespaceDescriptors::parse(&bytes) {
            let mut emitted = [0xa5; NamespaceDescriptors::BYTES];
            descriptors.emit(&mut emitted);
            prop_assert_eq!(NamespaceDescriptors::parse(&emitted), Ok(descriptors));
        }
    }

    #[test]
    fn every_descriptor_list_is_read_as_it_was_emitted(
        eui64 in any::<Option<[u8; 8]>>(),
        nguid in any::<Option<[u8; 16]>>(),
        uuid in any::<Option<[u8; 16]>>(),
        csi in any::<Option<u8>>(),
    ) {
        let descriptors = NamespaceDescriptors { eui64, nguid, uuid, csi };
        let mut emitted = [0xa5; NamespaceDescriptors::BYTES];
        descriptors.emit(&mut emitted);
        prop_assert_eq!(NamespaceDescriptors::parse(&emitted), Ok(descriptors));
    }

    #[test]
    fn every_command_is_read_from_any_entry_and_written_back(words in any::<[u64; 8]>()) {
        let entry = SubmissionEntry::from_words(words);
        commands_round_trip!(&entry, Abort BlockCommand CreateCompletionQueue CreateSubmissionQueue
            DatasetManagement DeleteQueue GetFeatures GetLogPage Identify SetFeatures);
        prop_assert_eq!(SubmissionEntry::from_bytes(&entry.to_bytes()), entry);
    }

    #[test]
    fn a_block_command_agrees_with_the_accessors_of_its_entry(words in any::<[u64; 8]>()) {
        let entry = SubmissionEntry::from_words(words);
        let command = BlockCommand::parse(&entry);
        prop_assert_eq!((command.slba, command.nlb), (entry.slba(), entry.nlb()));
        prop_assert_eq!(command.force_unit_access, entry.fua());
        prop_assert_eq!(command.limited_retry, entry.limited_retry());
        prop_assert_eq!(command.deallocate, entry.deallocate());
        prop_assert_eq!(command.protection, entry.prinfo());
    }

    #[test]
    fn a_completion_is_its_fields(words in any::<[u64; 2]>()) {
        let entry = CompletionEntry::from_words(words);
        let again = CompletionEntry::new(
            entry.result(), entry.sqhd(), entry.sqid(), entry.cid(), entry.phase(), entry.status(),
        );
        prop_assert_eq!(again.with_dw1(entry.dw1()), entry);
        prop_assert_eq!(CompletionEntry::from_bytes(&entry.to_bytes()), entry);
    }

    #[test]
    fn a_status_is_its_fields(bits in 0_u16..0x8000) {
        let status = Status::from_bits(bits);
        prop_assert_eq!(status.bits(), bits);
        let mut again = Status::new(status.sct(), status.sc());
        prop_assert_eq!(again, status.code());
        prop_assert_eq!(again.name(), status.name());
        if status.more() { again = again.with_more(); }
        if status.dnr() { again = again.with_dnr(); }
        prop_assert_eq!(again.bits() | u16::from(status.crd()) << 11, bits);
        let _ = format!("{status} {status:?}");
    }

    #[test]
    fn an_event_is_its_fields(result in any::<u32>()) {
        let event = AsyncEvent::from_result(result);
        let again = AsyncEvent::new(event.event_type(), event.information(), event.log_page());
        prop_assert_eq!(again.result(), result & 0x00ff_ff07);
        prop_assert_eq!(event.name(), again.name());
        let _ = event.to_string();
    }

    #[test]
    fn any_bytes_are_a_text(bytes in any::<[u8; 20]>(), text in ".*") {
        let _ = Text::from_bytes(bytes).to_text();
        let _ = Text::<20>::ascii(&text).to_text();
        prop_assert_eq!(Text::<20>::null_terminated(&text).bytes()[19], 0);
    }
}
