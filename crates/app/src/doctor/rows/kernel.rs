//! What the kernel offers: device files, system calls, modules, counters.

use super::super::facts::{DeviceFile, Kernel, Module, Offered};
use super::super::{Row, Status};

pub(super) fn rows(kernel: &Kernel) -> Vec<Row> {
    vec![
        device(
            "kvm",
            "/dev/kvm",
            kernel.kvm,
            "no guest kernel can drive the emulated controller on this machine",
            "load kvm_intel or kvm_amd, or allow nested virtualisation",
        ),
        device(
            "fuse",
            "/dev/fuse",
            kernel.fuse,
            "no mount through which unmodified programs reach the drive",
            "modprobe fuse; in a container --device /dev/fuse",
        ),
        io_uring(kernel),
        userfaultfd(kernel),
        vfio(kernel),
        device(
            "ublk",
            "/dev/ublk-control",
            kernel.ublk,
            "no /dev/ublkbN through which the kernel's block layer reaches the drive",
            "modprobe ublk_drv (Linux 6.0 and later)",
        ),
        nvme_tcp(kernel),
        perf(kernel),
    ]
}

fn device(name: &'static str, path: &str, file: DeviceFile, cost: &str, remedy: &str) -> Row {
    let checked = format!("opening {path} for reading and writing");
    match file {
        DeviceFile::Usable => Row::have(name, format!("{path} can be opened"), checked),
        DeviceFile::Refused => Row::have(
            name,
            format!("{path} exists, opening it is refused"),
            checked,
        )
        .but(
            Status::Lacks,
            cost,
            format!("join the group that owns {path} (ls -l {path}), or run as root"),
        ),
        DeviceFile::Absent => {
            Row::have(name, format!("no {path}"), checked).but(Status::Lacks, cost, remedy)
        }
    }
}

/// What a filter of system calls leaves unsaid.
fn filtered(kernel: &Kernel) -> &'static str {
    match kernel.seccomp {
        Some(false) => "no seccomp filter",
        Some(true) => "a seccomp filter is on and may refuse it",
        None => "whether a seccomp filter is on is not told",
    }
}

fn io_uring(kernel: &Kernel) -> Row {
    let checked = "io_uring_setup in /proc/kallsyms, kernel.io_uring_disabled, Seccomp in /proc/self/status; the system call itself was not made";
    let cost = "file media fall back to slower system calls; no FUSE over io_uring";
    let row = |found: String| Row::have("io-uring", found, checked);
    let switch = match kernel.io_uring_disabled {
        None => "no switch kernel.io_uring_disabled".to_owned(),
        Some(value) => format!("kernel.io_uring_disabled = {value}"),
    };
    let refused = match kernel.io_uring_disabled {
        Some(2) => true,
        Some(1) => !kernel.root,
        _ => false,
    };
    match kernel.io_uring {
        Offered::No => row("the kernel has no io_uring_setup".into()).but(
            Status::Lacks,
            cost,
            "a kernel built with CONFIG_IO_URING",
        ),
        _ if refused => row(switch).but(
            Status::Lacks,
            cost,
            "sudo sysctl kernel.io_uring_disabled=0",
        ),
        Offered::Hidden => row(format!(
            "the kernel hides its symbols; {switch}; {}",
            filtered(kernel)
        ))
        .but(
            Status::Unknown,
            cost,
            "try it: fio --name=x --ioengine=io_uring --size=1M --filename=/tmp/x",
        ),
        Offered::Yes if kernel.seccomp == Some(false) => row(format!(
            "the kernel has io_uring_setup; {switch}; no seccomp filter"
        )),
        Offered::Yes => row(format!(
            "the kernel has io_uring_setup; {switch}; {}",
            filtered(kernel)
        ))
        .but(
            Status::Unknown,
            cost,
            "allow io_uring in the container's seccomp profile",
        ),
    }
}

fn userfaultfd(kernel: &Kernel) -> Row {
    let checked = "userfaultfd in /proc/kallsyms, /dev/userfaultfd, vm.unprivileged_userfaultfd; the system call itself was not made";
    let cost = "memory of guests cannot be filled on demand";
    let row = |found: &str| Row::have("userfaultfd", found, checked);
    let switch = kernel.unprivileged_userfaultfd;
    match kernel.userfaultfd {
        _ if kernel.userfaultfd_file == DeviceFile::Usable => row("/dev/userfaultfd can be opened"),
        Offered::No => row("the kernel has no userfaultfd").but(
            Status::Lacks,
            cost,
            "a kernel built with CONFIG_USERFAULTFD",
        ),
        Offered::Hidden => row("the kernel hides its symbols").but(
            Status::Unknown,
            cost,
            "nothing in this version needs it",
        ),
        Offered::Yes if kernel.root || switch == Some(1) => row("the kernel has it and allows it"),
        Offered::Yes => row("the kernel has it, for faults of user space only").but(
            Status::Partly,
            cost,
            "sudo sysctl vm.unprivileged_userfaultfd=1",
        ),
    }
}

fn vfio(kernel: &Kernel) -> Row {
    let cost = "no real drive can be driven from user space (pci:)";
    let row = device(
        "vfio",
        "/dev/vfio/vfio",
        kernel.vfio,
        cost,
        "modprobe vfio-pci, with an IOMMU (intel_iommu=on or amd_iommu=on)",
    );
    let found = format!("{}; {} IOMMU groups", row.found, kernel.iommu_groups);
    let checked = format!("{}; /sys/kernel/iommu_groups", row.checked);
    let row = Row {
        found,
        checked,
        ..row
    };
    if row.status == Status::Have && kernel.iommu_groups == 0 {
        return row.but(
            Status::Partly,
            cost,
            "switch the IOMMU on: intel_iommu=on or amd_iommu=on",
        );
    }
    row
}

fn nvme_tcp(kernel: &Kernel) -> Row {
    let checked = "/sys/module/nvme_tcp, modules.builtin and modules.dep of the running kernel";
    let cost = "the kernel's own NVMe/TCP host cannot be compared with on this machine";
    match kernel.nvme_tcp {
        Module::Present => Row::have("nvme-tcp", "loaded or built in", checked),
        Module::Loadable => Row::have("nvme-tcp", "installed, not loaded", checked).but(
            Status::Partly,
            cost,
            "sudo modprobe nvme-tcp",
        ),
        Module::Absent => Row::have("nvme-tcp", "neither loaded nor installed", checked).but(
            Status::Lacks,
            cost,
            "install the kernel's extra modules, or use a guest that has it",
        ),
    }
}

fn perf(kernel: &Kernel) -> Row {
    let checked = "kernel.perf_event_paranoid, /sys/bus/event_source/devices";
    let cost = "no cycles, instructions or cache misses beside the figures; callgrind still counts instructions";
    let level = kernel.perf_paranoid;
    let shown = level.map_or("no kernel.perf_event_paranoid".to_owned(), |level| {
        format!("kernel.perf_event_paranoid = {level}")
    });
    let counters = if kernel.perf_cpu {
        "processor counters offered"
    } else {
        "no processor counters"
    };
    let row = Row::have("perf-counters", format!("{counters}; {shown}"), checked);
    // Up to level 2 a process may count its own user-mode events.
    match (kernel.perf_cpu, level) {
        (true, Some(level)) if level <= 2 || kernel.root => row,
        (true, Some(_)) => row.but(
            Status::Lacks,
            cost,
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (true, None) => row.but(
            Status::Lacks,
            cost,
            "a kernel built with CONFIG_PERF_EVENTS",
        ),
        (false, _) => row.but(
            Status::Lacks,
            cost,
            "in a virtual machine: ask for a virtual PMU, or use real hardware",
        ),
    }
}
