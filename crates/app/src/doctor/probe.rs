//! Reading the machine: the only part of the doctor that does. What cannot be read is absent in the facts, never an error.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bench::ceiling::{ping_pong, placement};
use rustix::process::Resource;

use super::facts::{
    Cpus, DeviceFile, Facts, HugePool, Kernel, Lockable, Memory, Module, Offered, PingPong, Place,
    Program,
};
use super::parse;
use crate::limits;

/// Programs looked for.
const PROGRAMS: [&str; 3] = ["valgrind", "fio", "nvme"];

/// How long each pair of CPUs bounces a word.
const PING_PONG_WINDOW: Duration = Duration::from_millis(5);

/// Everything that the doctor judges.
pub fn facts() -> Facts {
    let name = rustix::system::uname();
    let cpus = cpus();
    let ping_pong = ping_pongs(&cpus);
    Facts {
        machine: format!(
            "{} {} {}",
            name.sysname().to_string_lossy(),
            name.release().to_string_lossy(),
            name.machine().to_string_lossy()
        ),
        ping_pong,
        cpus,
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        memory: memory(),
        kernel: kernel(&kernel_release()),
        programs: PROGRAMS.map(program).to_vec(),
        cgroup_cpus: cgroup_cpus(),
    }
}

/// The text of a file, as much of it as any file of the kernel should have.
fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(limits::PROBE_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(path: impl AsRef<Path>) -> Option<String> {
    text(path)
        .map(|text| text.trim().to_owned())
        .filter(|line| !line.is_empty())
}

fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    line(path)?.parse().ok()
}

/// The processor as it names itself.
pub fn processor() -> Option<String> {
    first_field(&text("/proc/cpuinfo")?, &["model name", "Model", "uarch"]).map(str::to_owned)
}

/// The kernel's release.
pub fn kernel_release() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

/// Bytes of memory that could be used without swapping.
pub fn available_bytes() -> Option<u64> {
    parse::meminfo_bytes(&text("/proc/meminfo")?, "MemAvailable")
}

/// Architectures name the same thing differently.
fn first_field<'a>(cpuinfo: &'a str, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| parse::cpuinfo_field(cpuinfo, name))
}

fn cpus() -> Cpus {
    let root = Path::new("/sys/devices/system/cpu");
    let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
    let allowed = placement::allowed();
    let online = line(root.join("online")).map(|list| parse::number_list(&list));
    let online = online
        .filter(|online| !online.is_empty())
        .unwrap_or_else(|| allowed.clone());
    let place = |&cpu: &usize| {
        let topology = root.join(format!("cpu{cpu}/topology"));
        Some(Place {
            cpu,
            socket: number(topology.join("physical_package_id"))?,
            core: number(topology.join("core_id"))?,
        })
    };
    let governor = |cpu: &usize| line(root.join(format!("cpu{cpu}/cpufreq/scaling_governor")));
    let governors: BTreeSet<String> = online.iter().filter_map(governor).collect();
    Cpus {
        model: processor(),
        flags: first_field(&cpuinfo, &["flags", "Features", "isa"])
            .unwrap_or_default()
            .split_ascii_whitespace()
            .map(str::to_owned)
            .collect(),
        places: online.iter().filter_map(place).collect(),
        online,
        allowed,
        nodes: line("/sys/devices/system/node/has_cpu")
            .map_or(0, |list| parse::number_list(&list).len()),
        governors: governors.into_iter().collect(),
    }
}

/// Bounces a word between the first allowed CPU and others.
fn ping_pongs(cpus: &Cpus) -> Vec<PingPong> {
    let Some((&first, others)) = cpus.allowed.split_first() else {
        return Vec::new();
    };
    let measure = |&other: &usize| PingPong {
        cpus: (first, other),
        round_trip_ns: ping_pong::round_trip_ns((first, other), PING_PONG_WINDOW),
    };
    others
        .iter()
        .take(limits::PING_PONG_PAIRS_MAX)
        .map(measure)
        .collect()
}

fn memory() -> Memory {
    let lockable = match rustix::process::getrlimit(Resource::Memlock).current {
        Some(bytes) => Lockable::Bytes(bytes),
        None => Lockable::Unlimited,
    };
    Memory {
        available: available_bytes(),
        huge: huge_pools(),
        transparent: line("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| parse::chosen_word(&text).map(str::to_owned)),
        lockable: Some(lockable),
    }
}

fn huge_pools() -> Vec<HugePool> {
    let Ok(folders) = fs::read_dir("/sys/kernel/mm/hugepages") else {
        return Vec::new();
    };
    let pool = |folder: fs::DirEntry| {
        Some(HugePool {
            page_kib: parse::huge_page_kib(folder.file_name().to_str()?)?,
            total: number(folder.path().join("nr_hugepages"))?,
            free: number(folder.path().join("free_hugepages"))?,
        })
    };
    folders.filter_map(Result::ok).filter_map(pool).collect()
}

fn device_file(path: &str) -> DeviceFile {
    let path = Path::new(path);
    if OpenOptions::new().read(true).write(true).open(path).is_ok() {
        DeviceFile::Usable
    } else if path.exists() {
        DeviceFile::Refused
    } else {
        DeviceFile::Absent
    }
}

fn kernel(release: &str) -> Kernel {
    let symbols = all_text("/proc/kallsyms");
    let offered = |name: &str| match &symbols {
        Some(symbols) if parse::has_system_call(symbols, name) => Offered::Yes,
        Some(symbols) if !symbols.is_empty() => Offered::No,
        _ => Offered::Hidden,
    };
    let groups = fs::read_dir("/sys/kernel/iommu_groups");
    Kernel {
        fuse: device_file("/dev/fuse"),
        kvm: device_file("/dev/kvm"),
        vfio: device_file("/dev/vfio/vfio"),
        ublk: device_file("/dev/ublk-control"),
        userfaultfd_file: device_file("/dev/userfaultfd"),
        iommu_groups: groups.map_or(0, |groups| groups.filter_map(Result::ok).count()),
        io_uring: offered("io_uring_setup"),
        io_uring_disabled: number("/proc/sys/kernel/io_uring_disabled"),
        userfaultfd: offered("userfaultfd"),
        unprivileged_userfaultfd: number("/proc/sys/vm/unprivileged_userfaultfd"),
        seccomp: text("/proc/self/status")
            .and_then(|status| parse::status_number(&status, "Seccomp"))
            .map(|mode| mode != 0),
        nvme_tcp: module("nvme_tcp", release),
        perf_paranoid: number("/proc/sys/kernel/perf_event_paranoid"),
        perf_cpu: has_processor_counters(),
        root: rustix::process::geteuid().is_root(),
    }
}

/// The whole of a file that is longer than [`limits::PROBE_FILE_BYTES_MAX`] by right: the kernel's symbols.
fn all_text(path: &str) -> Option<String> {
    fs::read(path)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Processor counters appear as `cpu` (x86, RISC-V), `cpu_core` (hybrids) or by the core's name (`armv8_pmuv3_0`).
fn has_processor_counters() -> bool {
    let Ok(sources) = fs::read_dir("/sys/bus/event_source/devices") else {
        return false;
    };
    sources.filter_map(Result::ok).any(|source| {
        let name = source.file_name();
        let name = name.to_string_lossy();
        name.starts_with("cpu") || name.starts_with("armv")
    })
}

fn module(name: &str, release: &str) -> Module {
    if Path::new("/sys/module").join(name).exists() {
        return Module::Present;
    }
    let folder = PathBuf::from("/lib/modules").join(release);
    let lists =
        |file: &str| text(folder.join(file)).is_some_and(|list| parse::lists_module(&list, name));
    if lists("modules.builtin") {
        Module::Present
    } else if lists("modules.dep") {
        Module::Loadable
    } else {
        Module::Absent
    }
}

fn program(name: &'static str) -> Program {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|p| p.is_file());
    let version = found.map(|path| {
        let output = Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        parse::version_line(&said.unwrap_or_default(), name)
    });
    Program { name, version }
}

/// The tightest CPU limit from this process's control group up to the root.
fn cgroup_cpus() -> Option<f64> {
    let groups = text("/proc/self/cgroup")?;
    let v2 = parse::cgroup_v2_path(&groups).map(|path| {
        ancestors("/sys/fs/cgroup", path)
            .filter_map(|folder| parse::cpu_max(&text(folder.join("cpu.max"))?))
            .collect::<Vec<f64>>()
    });
    let v1 = parse::cgroup_v1_cpu_path(&groups).map(|path| {
        ancestors("/sys/fs/cgroup/cpu", path)
            .filter_map(|folder| {
                let quota = text(folder.join("cpu.cfs_quota_us"))?;
                let period = text(folder.join("cpu.cfs_period_us"))?;
                parse::cpu_quota(&quota, &period)
            })
            .collect::<Vec<f64>>()
    });
    v2.into_iter().chain(v1).flatten().min_by(f64::total_cmp)
}

/// The folder of a control group and those above it, down to the root of the tree.
fn ancestors(root: &str, path: &str) -> impl Iterator<Item = PathBuf> {
    let root = PathBuf::from(root);
    let group = root.join(path.trim_start_matches('/'));
    let all: Vec<PathBuf> = group.ancestors().map(Path::to_path_buf).collect();
    all.into_iter()
        .take_while(move |folder| folder.starts_with(&root))
}
