use super::super::Status;
use super::super::facts::*;
use super::*;

/// A machine with everything.
fn rich() -> Facts {
    let place = |cpu| Place {
        cpu,
        socket: 0,
        core: cpu,
    };
    let pool = |page_kib| HugePool {
        page_kib,
        total: 4,
        free: 4,
    };
    let program = |name| Program {
        name,
        version: Some("1.0".into()),
    };
    Facts {
        machine: "Linux 6.12 x86_64".into(),
        cpus: Cpus {
            model: Some("A Processor".into()),
            flags: ["constant_tsc", "nonstop_tsc"].map(str::to_owned).to_vec(),
            online: vec![0, 1],
            allowed: vec![0, 1],
            places: vec![place(0), place(1)],
            nodes: 1,
            governors: vec!["performance".into()],
        },
        ping_pong: vec![PingPong {
            cpus: (0, 1),
            round_trip_ns: Ok(140.0),
        }],
        clock_source: Some("tsc".into()),
        memory: Memory {
            available: Some(8 << 30),
            huge: vec![pool(2048), pool(1 << 20)],
            transparent: Some("madvise".into()),
            lockable: Some(Lockable::Unlimited),
        },
        kernel: Kernel {
            fuse: DeviceFile::Usable,
            kvm: DeviceFile::Usable,
            vfio: DeviceFile::Usable,
            ublk: DeviceFile::Usable,
            userfaultfd_file: DeviceFile::Usable,
            iommu_groups: 12,
            io_uring: Offered::Yes,
            io_uring_disabled: Some(0),
            userfaultfd: Offered::Yes,
            unprivileged_userfaultfd: Some(0),
            seccomp: Some(false),
            nvme_tcp: Module::Present,
            perf_paranoid: Some(2),
            perf_cpu: true,
            root: false,
        },
        programs: vec![program("valgrind"), program("fio")],
        cgroup_cpus: None,
    }
}

fn status(facts: &Facts, name: &str) -> Status {
    let rows = judge(facts);
    rows.iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("no row {name}"))
        .status
}

#[test]
fn a_machine_with_everything_lacks_nothing() {
    for row in judge(&rich()) {
        assert_eq!(row.status, Status::Have, "{row:?}");
    }
}

#[test]
fn a_machine_that_tells_nothing_gets_a_report_all_the_same() {
    let rows = judge(&Facts::default());
    assert!(rows.len() > 15);
    assert!(rows.iter().any(|row| row.status == Status::Unknown));
}

#[test]
fn whatever_is_not_there_says_what_it_costs_and_what_to_do() {
    for row in judge(&Facts::default()) {
        assert!(!row.found.is_empty() && !row.checked.is_empty(), "{row:?}");
        let advised = row.cost.is_some() && row.remedy.is_some();
        assert_eq!(advised, row.status != Status::Have, "{row:?}");
    }
}

#[test]
fn names_of_rows_are_unique() {
    let mut names: Vec<_> = judge(&rich()).iter().map(|row| row.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn siblings_of_one_core_are_not_two_cores() {
    let mut facts = rich();
    facts.cpus.places[1].core = 0;
    assert_eq!(status(&facts, "cpus"), Status::Partly);
    facts.cpus.allowed = vec![0];
    assert_eq!(status(&facts, "cpus"), Status::Partly);
}

#[test]
fn a_cpu_quota_counts_only_below_the_allowed_cpus() {
    let mut facts = rich();
    facts.cgroup_cpus = Some(2.0);
    assert_eq!(status(&facts, "cpu-limit"), Status::Have);
    facts.cgroup_cpus = Some(1.5);
    assert_eq!(status(&facts, "cpu-limit"), Status::Partly);
}

#[test]
fn io_uring_is_judged_by_kernel_switch_and_filter() {
    let mut facts = rich();
    facts.kernel.io_uring_disabled = Some(1);
    assert_eq!(status(&facts, "io-uring"), Status::Lacks);
    facts.kernel.root = true;
    assert_eq!(status(&facts, "io-uring"), Status::Have);
    facts.kernel.io_uring_disabled = Some(2);
    assert_eq!(status(&facts, "io-uring"), Status::Lacks);
    facts.kernel.io_uring_disabled = None;
    assert_eq!(status(&facts, "io-uring"), Status::Have);
    facts.kernel.seccomp = Some(true);
    assert_eq!(status(&facts, "io-uring"), Status::Unknown);
    facts.kernel.io_uring = Offered::No;
    assert_eq!(status(&facts, "io-uring"), Status::Lacks);
    facts.kernel.io_uring = Offered::Hidden;
    assert_eq!(status(&facts, "io-uring"), Status::Unknown);
}

#[test]
fn huge_pages_that_are_all_taken_are_lacking() {
    let mut facts = rich();
    facts.memory.huge[0].free = 0;
    assert_eq!(status(&facts, "hugepages-2m"), Status::Lacks);
    assert_eq!(status(&facts, "hugepages-1g"), Status::Have);
}

#[test]
fn a_slow_hand_over_and_an_untrusted_clock_are_drawbacks() {
    let mut facts = rich();
    facts.ping_pong[0].round_trip_ns = Ok(4000.0);
    facts.clock_source = Some("hpet".into());
    assert_eq!(status(&facts, "hand-over"), Status::Partly);
    assert_eq!(status(&facts, "clock"), Status::Partly);
}
