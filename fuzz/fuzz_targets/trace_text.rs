//! Traces in text, fio's logs and what blkparse prints: anything may stand in them.
#![no_main]

use bench::replay::trace::Stage;
use fuzz::trace::read_well;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for stage in [Stage::Queue, Stage::Issue] {
        read_well(&[bytes], stage);
    }
});
