//! Binary block traces, one file or one for each of two CPUs: anything may stand in them.
#![no_main]

use bench::replay::blktrace::RECORD_BYTES;
use bench::replay::trace::Stage;
use fuzz::trace::read_well;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for stage in [Stage::Queue, Stage::Issue] {
        read_well(&[bytes], stage);
    }
    let records = bytes.len() / RECORD_BYTES;
    let (first, second) = bytes.split_at(records / 2 * RECORD_BYTES);
    read_well(&[first, second], Stage::Queue);
});
