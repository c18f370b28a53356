//! What `doctor` reads under /proc and /sys. The first line of the input is the field or name that is looked for.
#![no_main]

use dataplane_emu::doctor::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (name, text) = input.split_once('\n').unwrap_or(("", input));
    let numbers = parse::number_list(text);
    assert!(numbers.len() <= 1 << 16);
    let value = parse::cpuinfo_field(text, name);
    assert!(value.is_none_or(|value| text.contains(value)));
    let bytes = parse::meminfo_bytes(text, name);
    assert!(bytes.is_none_or(|bytes| bytes.is_multiple_of(1024)));
    let _ = parse::status_number(text, name);
    assert!(parse::chosen_word(text).is_none_or(|word| !word.contains(']')));
    let _ = parse::huge_page_kib(text);
    assert!(parse::cpu_max(text).is_none_or(|cpus| cpus >= 0.0));
    assert!(parse::cpu_quota(text, name).is_none_or(|cpus| cpus > 0.0));
    assert!(parse::cgroup_v2_path(text).is_none_or(|path| text.contains(path)));
    assert!(parse::cgroup_v1_cpu_path(text).is_none_or(|path| text.contains(path)));
    let _ = parse::has_system_call(text, name);
    let _ = parse::lists_module(text, name);
    assert!(parse::version_line(text, name).chars().count() <= 60);
});
