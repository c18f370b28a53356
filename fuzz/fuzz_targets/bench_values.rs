//! The values of a job on the command line: times, core sets, patterns, distributions.
#![no_main]

use bench::limits::CORES_MAX;
use bench::parse;
use bench::workload::{Distribution, Pattern, Timestamps};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    time(text);
    cores(text);
    words(text);
});

/// A time that was read is the same time in milliseconds.
fn time(text: &str) {
    match parse::milliseconds("runtime", text) {
        Ok(time) => {
            let again = parse::milliseconds("runtime", &format!("{time}ms"));
            assert_eq!(again, Ok(time));
        }
        Err(error) => assert!(error.to_string().contains("runtime")),
    }
}

/// A set of cores is sorted, without repetition, not empty, and the same set as a list.
fn cores(text: &str) {
    let Ok(cores) = parse::cores("core-mask", text) else {
        return;
    };
    assert!(cores.is_sorted_by(|a, b| a < b) && !cores.is_empty());
    assert!(cores.last().is_some_and(|&last| last < CORES_MAX));
    let names: Vec<String> = cores.iter().map(usize::to_string).collect();
    assert_eq!(parse::cores("core-mask", &names.join(",")), Ok(cores));
}

/// A word that was read is shown as a word that reads the same.
fn words(text: &str) {
    if let Ok(pattern) = text.parse::<Pattern>() {
        assert_eq!(pattern.name().parse(), Ok(pattern));
    }
    if let Ok(distribution) = text.parse::<Distribution>() {
        assert_eq!(distribution.to_string().parse(), Ok(distribution));
    }
    if let Ok(timestamps) = text.parse::<Timestamps>() {
        assert_eq!(timestamps.name().parse(), Ok(timestamps));
    }
}
