//! Reading the texts that the kernel shows under /proc and /sys. Pure functions; no text makes them panic.

/// A list of CPUs or nodes as the kernel prints it: `0-3,8`. Unreadable parts are left out; at most 65536 are returned.
pub fn number_list(text: &str) -> Vec<usize> {
    const NUMBERS_MAX: usize = 1 << 16;
    let mut numbers = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            let room = NUMBERS_MAX.saturating_sub(numbers.len());
            numbers.extend((first..=last).take(room));
        }
    }
    numbers
}

/// The first value of a field in /proc/cpuinfo.
pub fn cpuinfo_field<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field).then(|| value.trim())
    })
}

/// A field of /proc/meminfo in bytes.
pub fn meminfo_bytes(text: &str, field: &str) -> Option<u64> {
    let value = cpuinfo_field(text, field)?;
    let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The word in brackets of a switch such as `always [madvise] never`.
pub fn chosen_word(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word)
}

/// The page size in KiB that a folder's name under /sys/kernel/mm/hugepages says: `hugepages-2048kB`.
pub fn huge_page_kib(folder: &str) -> Option<u64> {
    folder
        .strip_prefix("hugepages-")?
        .strip_suffix("kB")?
        .parse()
        .ok()
}

/// The CPUs that cgroup v2's cpu.max allows: `150000 100000` is 1.5; `max 100000` is no limit.
pub fn cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let quota: f64 = words.next()?.parse::<u64>().ok()? as f64;
    let period: u64 = words
        .next()
        .map_or(Some(100_000), |word| word.parse().ok())?;
    (period > 0).then(|| quota / period as f64)
}

/// The CPUs that cgroup v1's quota and period allow; a quota of -1 is no limit.
pub fn cpu_quota(quota: &str, period: &str) -> Option<f64> {
    let quota: i64 = quota.trim().parse().ok()?;
    let period: i64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// The path of this process in the cgroup v2 tree, from /proc/self/cgroup.
pub fn cgroup_v2_path(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

/// The path of this process in the cgroup v1 tree of the CPU controller, from /proc/self/cgroup.
pub fn cgroup_v1_cpu_path(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let path = parts.next()?;
        controllers
            .split(',')
            .any(|name| name == "cpu")
            .then_some(path)
    })
}

/// Whether /proc/kallsyms lists the entry point of a system call, whatever the architecture's prefix (`__x64_sys_`,
/// `__arm64_sys_`, `__riscv_sys_`, `sys_`).
pub fn has_system_call(kallsyms: &str, name: &str) -> bool {
    kallsyms.lines().any(|line| {
        let symbol = line.split_ascii_whitespace().nth(2);
        symbol
            .and_then(|symbol| symbol.strip_suffix(name))
            .is_some_and(|prefix| prefix.ends_with("_sys_") || prefix == "sys_")
    })
}

/// Whether a list of modules (modules.builtin, modules.dep) names a module, `-` and `_` meaning the same.
pub fn lists_module(list: &str, name: &str) -> bool {
    let wanted = name.replace('-', "_");
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        let stem = file.split(".ko").next().unwrap_or_default();
        stem.replace('-', "_") == wanted
    })
}

/// The number in a field of /proc/self/status, such as `Seccomp: 2`.
pub fn status_number(text: &str, field: &str) -> Option<u64> {
    cpuinfo_field(text, field)?.parse().ok()
}

/// The first line of what a program says of its version, without its name in front.
pub fn version_line(output: &str, program: &str) -> String {
    let line = output
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let line = line.strip_prefix(program).unwrap_or(line);
    line.trim_start_matches(['-', ' '])
        .chars()
        .take(60)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpu_lists_are_ranges_and_single_numbers() {
        assert_eq!(number_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(number_list("0\n"), [0]);
        assert_eq!(number_list(""), Vec::<usize>::new());
        assert_eq!(number_list("3-1,x,5"), [5]);
        assert_eq!(number_list("0-18446744073709551615").len(), 65536);
    }

    #[test]
    fn fields_of_cpuinfo_and_meminfo_are_found_by_their_whole_name() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 167\nmodel name\t: Xeon\n\nprocessor\t: 1\n";
        assert_eq!(cpuinfo_field(cpuinfo, "model name"), Some("Xeon"));
        assert_eq!(cpuinfo_field(cpuinfo, "processor"), Some("0"));
        assert_eq!(cpuinfo_field(cpuinfo, "flags"), None);
        let meminfo = "MemTotal:       8000 kB\nMemAvailable:   1024 kB\nHugePages_Total: 3\n";
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), Some(1 << 20));
        assert_eq!(meminfo_bytes(meminfo, "HugePages_Total"), None);
    }

    #[test]
    fn switches_and_folders_are_read() {
        assert_eq!(chosen_word("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen_word("always"), None);
        assert_eq!(huge_page_kib("hugepages-1048576kB"), Some(1 << 20));
        assert_eq!(huge_page_kib("hugepages-kB"), None);
    }

    #[test]
    fn cpu_limits_of_both_control_group_versions_are_read() {
        assert_eq!(cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(cpu_max("max 100000\n"), None);
        assert_eq!(cpu_max("50000"), Some(0.5));
        assert_eq!(cpu_max("1 0"), None);
        assert_eq!(cpu_quota("200000\n", "100000\n"), Some(2.0));
        assert_eq!(cpu_quota("-1", "100000"), None);
        let mixed = "4:memory:/m\n2:cpuacct,cpu:/jobs/a:b\n0::/user.slice\n";
        assert_eq!(cgroup_v2_path(mixed), Some("/user.slice"));
        assert_eq!(cgroup_v1_cpu_path(mixed), Some("/jobs/a:b"));
        assert_eq!(cgroup_v1_cpu_path("0::/\n"), None);
    }

    #[test]
    fn a_system_call_is_known_by_its_whole_name() {
        let symbols = "ffff T __x64_sys_io_uring_setup\n0000 t __x64_sys_io_uring_enter\n";
        assert!(has_system_call(symbols, "io_uring_setup"));
        assert!(has_system_call("0 T sys_userfaultfd", "userfaultfd"));
        assert!(!has_system_call(symbols, "uring_setup"));
        assert!(!has_system_call(symbols, "userfaultfd"));
        assert!(!has_system_call("0 T handle_userfaultfd", "userfaultfd"));
    }

    #[test]
    fn modules_are_found_under_either_spelling() {
        let list =
            "kernel/drivers/nvme/host/nvme-tcp.ko.xz: kernel/drivers/nvme/host/nvme-core.ko\n";
        assert!(lists_module(list, "nvme_tcp"));
        assert!(lists_module(
            "kernel/drivers/nvme/host/nvme-tcp.ko\n",
            "nvme-tcp"
        ));
        assert!(!lists_module(list, "nvme_core"));
    }

    #[test]
    fn a_version_is_shown_without_the_name_of_its_program() {
        assert_eq!(version_line("fio-3.33\n", "fio"), "3.33");
        assert_eq!(version_line("\nvalgrind-3.22.0\n", "valgrind"), "3.22.0");
        assert_eq!(version_line("", "fio"), "");
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "[\\PC\\n]{0,80}", other in "\\PC{0,10}") {
            let _ = number_list(&text);
            let _ = cpuinfo_field(&text, &other);
            let _ = meminfo_bytes(&text, &other);
            let _ = chosen_word(&text);
            let _ = huge_page_kib(&text);
            let _ = cpu_max(&text);
            let _ = cpu_quota(&text, &other);
            let _ = cgroup_v1_cpu_path(&text);
            let _ = has_system_call(&text, &other);
            let _ = lists_module(&text, &other);
            let _ = status_number(&text, &other);
            let _ = version_line(&text, &other);
        }
    }
}
