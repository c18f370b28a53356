//! Queue entries and statuses: bytes, words and fields are three views of the same thing.
#![no_main]

use fuzz::decode::Decoder;
use libfuzzer_sys::fuzz_target;
use spec::nvme::opcode::{self, DataTransfer};
use spec::nvme::{CompletionEntry, Status, SubmissionEntry, admin_opcode, io_opcode};

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    submission(&from.bytes());
    completion(&from.bytes());
    status(from.u16() & 0x7fff);
    code(from.u8());
});

/// An entry is its fields, with nothing left over but what no accessor names.
fn submission(bytes: &[u8; 64]) {
    let entry = SubmissionEntry::from_bytes(bytes);
    assert_eq!(&entry.to_bytes(), bytes);
    assert_eq!(SubmissionEntry::from_words(entry.words()), entry);
    let again = SubmissionEntry::new(entry.opcode(), entry.cid(), entry.nsid())
        .with_fuse(entry.fuse())
        .with_psdt(entry.psdt())
        .with_cdw2(entry.cdw2())
        .with_cdw3(entry.cdw3())
        .with_mptr(entry.mptr())
        .with_prps(entry.prp1(), entry.prp2())
        .with_cdw10(entry.cdw10())
        .with_cdw11(entry.cdw11())
        .with_cdw12(entry.cdw12())
        .with_cdw13(entry.cdw13())
        .with_cdw14(entry.cdw14())
        .with_cdw15(entry.cdw15());
    let reserved = 0x3c00; // CDW0 bits 13:10
    assert_eq!(again.words()[0], entry.words()[0] & !reserved);
    assert_eq!(again.words()[1..], entry.words()[1..]);
    let rewritten = SubmissionEntry::default()
        .with_opcode(entry.opcode())
        .with_cid(entry.cid())
        .with_nsid(entry.nsid())
        .with_fuse(entry.fuse())
        .with_psdt(entry.psdt());
    assert_eq!(rewritten.kind(), again.kind());
    assert_eq!(rewritten.cid(), again.cid());
    let blocks = SubmissionEntry::default()
        .with_slba(entry.slba())
        .with_nlb(entry.nlb())
        .with_fua(entry.fua())
        .with_limited_retry(entry.limited_retry())
        .with_deallocate(entry.deallocate());
    assert_eq!(blocks.slba(), entry.slba());
    assert_eq!(blocks.nlb(), entry.nlb());
    assert_eq!(blocks.fua(), entry.fua());
    assert_eq!(blocks.limited_retry(), entry.limited_retry());
    assert_eq!(blocks.deallocate(), entry.deallocate());
    assert_eq!(u32::from(entry.prinfo()), entry.cdw12() >> 26 & 15);
}

/// A completion is its fields.
fn completion(bytes: &[u8; 16]) {
    let entry = CompletionEntry::from_bytes(bytes);
    assert_eq!(&entry.to_bytes(), bytes);
    assert_eq!(CompletionEntry::from_words(entry.words()), entry);
    let again = CompletionEntry::new(
        entry.result(),
        entry.sqhd(),
        entry.sqid(),
        entry.cid(),
        entry.phase(),
        entry.status(),
    )
    .with_dw1(entry.dw1());
    assert_eq!(again, entry);
    assert_eq!(
        CompletionEntry::word1_of(entry.cid()),
        entry.words()[1] & 0xffff_0000_0000
    );
}

/// A status is its fields and has a name.
fn status(bits: u16) {
    let status = Status::from_bits(bits);
    assert_eq!(status.bits(), bits);
    let mut again = Status::new(status.sct(), status.sc());
    assert_eq!(again, status.code());
    assert_eq!(again.name(), status.name());
    assert_eq!(status.is_success(), status.code() == Status::default());
    if status.more() {
        again = again.with_more();
    }
    if status.dnr() {
        again = again.with_dnr();
    }
    assert_eq!(again.bits() | u16::from(status.crd()) << 11, bits);
    assert!(status.to_string().starts_with(status.name()));
    assert!(!format!("{status:?}").is_empty());
}

/// An opcode's two low bits say which way data go.
fn code(code: u8) {
    let direction = opcode::data_transfer(code);
    assert_eq!(direction == DataTransfer::None, code & 3 == 0);
    let known = admin_opcode::name(code) != "Unknown command";
    assert_eq!(admin_opcode::ALL.contains(&code), known);
    let known = io_opcode::name(code) != "Unknown command";
    assert_eq!(io_opcode::ALL.contains(&code), known);
}
