//! Device URIs and sizes: what a user types.
#![no_main]

use dataplane_emu::size::{self, Size};
use dataplane_emu::suggest;
use dataplane_emu::uri::Uri;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Uri::parse(text) {
        Ok(uri) => {
            let shown = uri.to_string();
            assert_eq!(shown.parse(), Ok(uri.clone()), "{shown}");
            assert_eq!(uri.to_string(), shown);
            match uri.require_built() {
                Ok(device) => assert!(device.namespaces > 0),
                Err(missing) => assert!(missing.to_string().contains(&shown)),
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match size::parse(text) {
        Ok(bytes) => assert_eq!(size::parse(&Size(bytes).to_string()), Ok(bytes)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let words = ["lba", "ns", "profile", "controller", "memory"];
    if let Some(nearest) = suggest::nearest(text, &words) {
        assert!(words.contains(&nearest));
    }
});
