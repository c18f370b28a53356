//! Memory: how much, in which pages, and how much may be locked.

use super::super::facts::{HugePool, Lockable, Memory};
use super::super::{Row, Status};

/// The bytes that a device's queues and a deep set of buffers may want to lock.
const LOCKED_BYTES_WANTED: u64 = 1 << 30;

pub(super) fn rows(memory: &Memory) -> Vec<Row> {
    vec![
        available(memory),
        huge("hugepages-2m", 2048, "huge2m", memory),
        huge("hugepages-1g", 1 << 20, "huge1g", memory),
        transparent(memory),
        lockable(memory),
    ]
}

fn available(memory: &Memory) -> Row {
    let checked = "MemAvailable in /proc/meminfo";
    match memory.available {
        Some(bytes) => {
            let found = format!(
                "{} MiB available: the largest ram: device to fill",
                bytes >> 20
            );
            Row::have("memory", found, checked)
        }
        None => Row::have("memory", "not told", checked).but(
            Status::Unknown,
            "a ram: device that is filled beyond memory ends the process",
            "keep ram: devices small",
        ),
    }
}

fn huge(name: &'static str, page_kib: u64, word: &str, memory: &Memory) -> Row {
    let folder = format!("/sys/kernel/mm/hugepages/hugepages-{page_kib}kB");
    let pool = memory.huge.iter().find(|pool| pool.page_kib == page_kib);
    let found = match pool {
        None => "this kernel or processor has none of this size".to_owned(),
        Some(HugePool { total, free, .. }) => format!("{free} free of {total} reserved"),
    };
    let row = Row::have(
        name,
        found,
        format!("nr_hugepages, free_hugepages in {folder}"),
    );
    if pool.is_some_and(|pool| pool.free > 0) {
        return row;
    }
    let cost =
        format!("memory={word} is refused; random access over large media pays more TLB misses");
    // 128 MiB, or one page where a single page is more.
    let pages = ((128 << 10) / page_kib).max(1);
    let remedy = match pool {
        None => "use memory=plain, the default".to_owned(),
        Some(_) => {
            format!("echo {pages} | sudo tee {folder}/nr_hugepages, or memory=plain, the default")
        }
    };
    row.but(Status::Lacks, cost, remedy)
}

fn transparent(memory: &Memory) -> Row {
    let checked = "/sys/kernel/mm/transparent_hugepage/enabled";
    match memory.transparent.as_deref() {
        Some(word @ ("always" | "madvise")) => Row::have("transparent-hugepages", word, checked),
        other => Row::have(
            "transparent-hugepages",
            other.unwrap_or("not told"),
            checked,
        )
        .but(
            Status::Lacks,
            "memory=plain keeps pages of 4 KiB: more TLB misses over large media",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
}

fn lockable(memory: &Memory) -> Row {
    let checked = "getrlimit(RLIMIT_MEMLOCK)";
    let bytes = match memory.lockable {
        Some(Lockable::Unlimited) => return Row::have("memlock", "unlimited", checked),
        Some(Lockable::Bytes(bytes)) => bytes,
        None => 0,
    };
    let row = Row::have(
        "memlock",
        format!("{} KiB may be locked", bytes >> 10),
        checked,
    );
    if bytes >= LOCKED_BYTES_WANTED {
        return row;
    }
    row.but(
        Status::Partly,
        "emulated devices do not need it; real drives (pci:) and registered io_uring buffers do",
        "ulimit -l unlimited, or a memlock line in /etc/security/limits.conf",
    )
}
