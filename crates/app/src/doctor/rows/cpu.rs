//! CPUs: how many, where, how fast they talk to each other, what may be used of them; and their clock.

use std::collections::BTreeSet;

use super::super::facts::{Cpus, Facts};
use super::super::{Row, Status};

pub(super) fn rows(facts: &Facts) -> Vec<Row> {
    vec![
        cpus(&facts.cpus),
        cgroup(facts),
        hand_over(facts),
        governor(&facts.cpus),
        virtual_machine(&facts.cpus),
        clock(facts),
    ]
}

fn cpus(cpus: &Cpus) -> Row {
    let sockets: BTreeSet<usize> = cpus.places.iter().map(|place| place.socket).collect();
    let cores: BTreeSet<(usize, usize)> = cpus
        .places
        .iter()
        .map(|place| (place.socket, place.core))
        .collect();
    let model = cpus.model.as_deref().unwrap_or("unnamed processor");
    let found = format!(
        "{} allowed of {} online ({model}): sockets {}, cores {}, CPUs per core {}, NUMA nodes {}",
        cpus.allowed.len(),
        cpus.online.len(),
        known(sockets.len()),
        known(cores.len()),
        known(cpus.places.len().checked_div(cores.len()).unwrap_or(0)),
        known(cpus.nodes),
    );
    let row = Row::have(
        "cpus",
        found,
        "sched_getaffinity; online, topology under /sys/devices/system/cpu; /sys/devices/system/node; /proc/cpuinfo",
    );
    let allowed_cores = cpus
        .places
        .iter()
        .filter(|place| cpus.allowed.contains(&place.cpu))
        .map(|place| (place.socket, place.core))
        .collect::<BTreeSet<_>>();
    match (cpus.allowed.len(), allowed_cores.len()) {
        (0, _) => row.but(
            Status::Unknown,
            "threads cannot be pinned; figures vary more",
            "run where sched_getaffinity works",
        ),
        (1, _) => row.but(
            Status::Partly,
            "driver and controller take turns on one CPU: no two-core figures",
            "allow a second CPU (taskset, cpuset, the machine's size)",
        ),
        (_, 1) => row.but(
            Status::Partly,
            "all allowed CPUs share one core: two-core figures show half a core each",
            "allow a CPU of another core",
        ),
        _ => row,
    }
}

/// A count that the kernel may not have told.
fn known(count: usize) -> String {
    if count == 0 {
        "unknown".to_owned()
    } else {
        count.to_string()
    }
}

fn cgroup(facts: &Facts) -> Row {
    let checked = "cpu.max or cpu.cfs_quota_us from this process's control group up to the root";
    let allowed = facts.cpus.allowed.len();
    match facts.cgroup_cpus {
        None => Row::have("cpu-limit", "no limit of CPU time", checked),
        Some(cpus) => {
            let found = format!("{cpus:.2} CPUs' worth of time");
            let row = Row::have("cpu-limit", found, checked);
            if cpus >= allowed as f64 {
                return row;
            }
            row.but(
                Status::Partly,
                "polling threads are stopped when their share is used up: pauses of some 10 ms in every tail",
                "lift the CPU quota of the container or service",
            )
        }
    }
}

fn hand_over(facts: &Facts) -> Row {
    let checked = "a word bounced between the first allowed CPU and others, 5 ms each";
    let mut figures = Vec::new();
    let mut slowest = 0.0_f64;
    for pair in &facts.ping_pong {
        let (from, to) = pair.cpus;
        match &pair.round_trip_ns {
            Ok(ns) => {
                slowest = slowest.max(*ns);
                figures.push(format!("CPU {from}-{to} {ns:.0} ns"));
            }
            Err(reason) => figures.push(format!("CPU {from}-{to} not run: {reason}")),
        }
    }
    if figures.is_empty() {
        return Row::have("hand-over", "not run: needs two CPUs", checked).but(
            Status::Unknown,
            "no ceiling to compare two-core figures with",
            "allow a second CPU",
        );
    }
    let row = Row::have(
        "hand-over",
        format!("round trip {}", figures.join(", ")),
        checked,
    );
    // Two cores of one socket need 50 to 300 ns; from about 1 us on something stands between them.
    if slowest < 1000.0 {
        return row;
    }
    row.but(
        Status::Partly,
        "every two-core figure is bound by this: other sockets, a busy machine, or a virtual machine whose CPUs take turns",
        "choose CPUs that are close with --core-mask, and a quiet machine",
    )
}

fn governor(cpus: &Cpus) -> Row {
    let checked = "cpufreq/scaling_governor of every CPU";
    if cpus.governors.is_empty() {
        return Row::have("governor", "the kernel steers no frequency here", checked);
    }
    let row = Row::have("governor", cpus.governors.join(", "), checked);
    if cpus.governors == ["performance"] {
        return row;
    }
    row.but(
        Status::Partly,
        "the clock rises only after load has lasted: short runs are slow and vary",
        "sudo cpupower frequency-set -g performance",
    )
}

fn virtual_machine(cpus: &Cpus) -> Row {
    let checked = "the processor feature 'hypervisor' in /proc/cpuinfo";
    if !cpus.flags.iter().any(|flag| flag == "hypervisor") {
        return Row::have("bare-metal", "no hypervisor announces itself", checked);
    }
    Row::have("bare-metal", "this is a virtual machine", checked).but(
        Status::Partly,
        "neighbours take time unseen: trust ratios of interleaved runs, not single figures",
        "repeat (--repeats) and read the spread, or use a machine of your own",
    )
}

fn clock(facts: &Facts) -> Row {
    let has = |name: &str| facts.cpus.flags.iter().any(|flag| flag == name);
    let source = facts.clock_source.as_deref().unwrap_or("unknown");
    let checked = "current_clocksource; constant_tsc and nonstop_tsc in /proc/cpuinfo";
    if has("constant_tsc") && has("nonstop_tsc") {
        let found = format!("invariant time-stamp counter; the kernel's clock source is {source}");
        let row = Row::have("clock", found, checked);
        if source == "tsc" || source == "kvm-clock" || source == "unknown" {
            return row;
        }
        return row.but(
            Status::Partly,
            "the kernel does not trust the counter: timestamps of different CPUs may disagree",
            "compare with --timestamps none; see dmesg for why tsc was given up",
        );
    }
    if source.starts_with("arch_sys_counter") || source.starts_with("riscv_clocksource") {
        return Row::have(
            "clock",
            format!("the architecture's constant counter, {source}"),
            checked,
        );
    }
    Row::have(
        "clock",
        format!("no invariant time-stamp counter; clock source {source}"),
        checked,
    )
    .but(
        Status::Partly,
        "each timestamp asks the kernel's clock: 20 to 1000 ns instead of about 10",
        "use --timestamps none for speed, poll for latency",
    )
}
