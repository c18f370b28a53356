//! A whole controller under random register and queue traffic, beside a reference model: see `drive/mod.rs`.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::{acts, drive};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let mode = from.u8();
    drive::run(mode & 1 != 0, mode & 2 != 0, acts::decode(&mut from));
});
