//! The file that `bench diff` reads: anything may stand in it.
#![no_main]

use bench::{diff, fio_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let report = match fio_json::parse(text) {
        Ok(report) => report,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let rendered = fio_json::render(&report);
    let again = fio_json::parse(&rendered).expect("what was rendered is a report");
    assert_eq!(fio_json::render(&again), rendered);
    assert!(fio_json::file_name(&report).ends_with(".json"));
    // A report is about the same work as itself, and nothing is faster or slower than itself.
    let diff = diff::compare(&report, &again).expect("the same work");
    assert!(!diff.has_regression());
    let _ = bench::text::diff(&diff);
});
