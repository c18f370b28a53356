//! Lab files: any text, and texts near a right one.
#![no_main]

use std::path::Path;

use dataplane_emu::lab::{Lab, schema};
use dataplane_emu::limits;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    if text.len() as u64 > limits::LAB_FILE_BYTES_MAX {
        return Corpus::Reject;
    }
    match Lab::parse(text) {
        Ok(lab) => check(&lab),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if text.is_empty() {
        once();
    }
    Corpus::Keep
});

/// What does not depend on the text: the schema, and the words for files that are empty or none.
fn once() {
    assert!(schema().contains("\"version\""));
    for (path, words) in [("/dev/null", "/dev/null: "), ("/dev", "wanted a lab file")] {
        let error = Lab::load(Path::new(path)).expect_err("it is no lab");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// What every lab that was accepted keeps to.
fn check(lab: &Lab) {
    let most = controller::limits::NAMESPACES_MAX;
    let mut end = 1;
    assert!(!lab.namespaces.is_empty());
    for line in &lab.namespaces {
        assert!(line.id >= end, "identifiers rise and never meet");
        end = line.id + line.device.namespaces;
        assert!(end <= most + 1);
    }
    let threads = lab.mount.as_ref().and_then(|mount| mount.threads);
    assert!(threads.is_none_or(|threads| (1..=limits::MOUNT_THREADS_MAX).contains(&threads)));
    let pairs = lab.controller.queue_pairs;
    assert!(pairs.is_none_or(|pairs| (1..=controller::limits::QUEUE_PAIRS_MAX).contains(&pairs)));
    let shift = lab.controller.transfer_pages_shift;
    assert!(shift.is_none_or(|shift| (1..=controller::limits::TRANSFER_PAGES_SHIFT_MAX).contains(&shift)));
    for (text, bytes) in [(&lab.controller.serial, 20), (&lab.controller.model, 40)] {
        assert!(
            text.as_ref()
                .is_none_or(|text| text.is_ascii() && text.len() <= bytes)
        );
    }
    // Devices read back from what they print.
    for line in &lab.namespaces {
        let shown = line.device.to_string();
        assert!(shown.parse::<dataplane_emu::uri::Uri>().is_ok(), "{shown}");
    }
}
