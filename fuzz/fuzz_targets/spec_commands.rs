//! Commands: whatever stands in an entry is read as every command there is, and written back as it was read.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::{commands, fields};
use libfuzzer_sys::fuzz_target;
use spec::nvme::dsm::RangeContext;
use spec::nvme::{
    Abort, BlockCommand, CreateCompletionQueue, CreateSubmissionQueue, DatasetManagement,
    DeleteQueue, DsmRange, GetFeatures, GetLogPage, Identify, SetFeatures, SubmissionEntry,
};

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let entry = SubmissionEntry::from_bytes(&from.bytes());
    commands!(entry; Abort BlockCommand CreateCompletionQueue CreateSubmissionQueue DatasetManagement DeleteQueue
        GetFeatures GetLogPage Identify SetFeatures);
    meaning(&entry, &mut from);
    range(from.rest());
});

/// What the commands say beyond their fields.
fn meaning(entry: &SubmissionEntry, from: &mut Decoder<'_>) {
    let log = GetLogPage::parse(entry);
    assert_eq!(GetLogPage::dwords_for(log.bytes()), Some(log.dwords_raw));
    let wanted = from.u64();
    if let Some(dwords_raw) = GetLogPage::dwords_for(wanted) {
        let again = GetLogPage { dwords_raw, ..log };
        assert!(again.bytes() >= wanted && again.bytes() - wanted < 4);
    }
    let result = from.u32();
    assert_eq!(Abort::was_aborted(result), result & 1 == 0);
    let blocks = BlockCommand::parse(entry);
    assert_eq!((blocks.slba, blocks.nlb), (entry.slba(), entry.nlb()));
    let context = from.u32();
    fields! { context;
        RangeContext: access_frequency with_access_frequency access_latency with_access_latency
            sequential_read with_sequential_read sequential_write with_sequential_write
            write_prepare with_write_prepare command_access_size with_command_access_size;
    }
}

/// A range of Dataset Management keeps every byte.
fn range(bytes: &[u8]) {
    match DsmRange::parse(bytes) {
        Err(_) => assert!(bytes.len() < DsmRange::BYTES),
        Ok(range) => {
            let mut emitted = [fuzz::round_trip::GUARD; DsmRange::BYTES];
            range.emit(&mut emitted);
            assert_eq!(emitted, bytes[..DsmRange::BYTES]);
        }
    }
}
