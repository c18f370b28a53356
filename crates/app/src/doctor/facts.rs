//! What was read off a machine: plain data, so that judging it needs no machine.

/// Everything that the doctor judges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Kernel name, release and architecture.
    pub machine: String,
    /// The CPUs.
    pub cpus: Cpus,
    /// How long a word takes from one CPU to another and back.
    pub ping_pong: Vec<PingPong>,
    /// The kernel's clock source, and those that it could use.
    pub clock_source: Option<String>,
    /// Memory, locked and huge.
    pub memory: Memory,
    /// Files and switches of the kernel.
    pub kernel: Kernel,
    /// Programs that tests and comparisons use.
    pub programs: Vec<Program>,
    /// CPU time that the control group allows, in CPUs; absent without a limit.
    pub cgroup_cpus: Option<f64>,
}

/// The CPUs and where they sit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// As the processor names itself.
    pub model: Option<String>,
    /// The processor's feature words.
    pub flags: Vec<String>,
    /// CPUs that are switched on.
    pub online: Vec<usize>,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// Where each sits, as far as the kernel says.
    pub places: Vec<Place>,
    /// NUMA nodes with CPUs.
    pub nodes: usize,
    /// The different frequency governors in use; none where the kernel steers no frequency.
    pub governors: Vec<String>,
}

/// Where one CPU sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The CPU.
    pub cpu: usize,
    /// Its socket.
    pub socket: usize,
    /// Its core within the socket. CPUs of one core are SMT siblings.
    pub core: usize,
}

/// A word's round trip between two CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct PingPong {
    /// The two CPUs.
    pub cpus: (usize, usize),
    /// Nanoseconds for one round trip, or why there is no figure.
    pub round_trip_ns: Result<f64, String>,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that could be used without swapping.
    pub available: Option<u64>,
    /// The pools of huge pages.
    pub huge: Vec<HugePool>,
    /// The switch of transparent huge pages.
    pub transparent: Option<String>,
    /// Bytes that this process may lock.
    pub lockable: Option<Lockable>,
}

/// Reserved huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePool {
    /// The size of one page in KiB.
    pub page_kib: u64,
    /// Pages reserved.
    pub total: u64,
    /// Pages reserved and free.
    pub free: u64,
}

/// How much memory may be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lockable {
    /// So many bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// A device file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceFile {
    /// It does not exist.
    #[default]
    Absent,
    /// It exists; this process may not open it for reading and writing.
    Refused,
    /// This process may open it for reading and writing.
    Usable,
}

/// Whether the kernel offers something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offered {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The kernel hides it.
    #[default]
    Hidden,
}

/// Files and switches of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// /dev/fuse.
    pub fuse: DeviceFile,
    /// /dev/kvm.
    pub kvm: DeviceFile,
    /// /dev/vfio/vfio.
    pub vfio: DeviceFile,
    /// /dev/ublk-control.
    pub ublk: DeviceFile,
    /// /dev/userfaultfd.
    pub userfaultfd_file: DeviceFile,
    /// IOMMU groups.
    pub iommu_groups: usize,
    /// Whether the kernel has the system call io_uring_setup.
    pub io_uring: Offered,
    /// The switch kernel.io_uring_disabled.
    pub io_uring_disabled: Option<u64>,
    /// Whether the kernel has the system call userfaultfd.
    pub userfaultfd: Offered,
    /// The switch vm.unprivileged_userfaultfd.
    pub unprivileged_userfaultfd: Option<u64>,
    /// Whether a filter of system calls is on.
    pub seccomp: Option<bool>,
    /// The NVMe/TCP host: loaded or built in, loadable, or neither.
    pub nvme_tcp: Module,
    /// The switch kernel.perf_event_paranoid.
    pub perf_paranoid: Option<i64>,
    /// Whether a processor's counters are offered.
    pub perf_cpu: bool,
    /// Whether this process is root.
    pub root: bool,
}

/// A part of the kernel that can be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Module {
    /// Loaded or built in.
    Present,
    /// Installed, not loaded.
    Loadable,
    /// Neither.
    #[default]
    Absent,
}

/// A program looked for on PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it says of its version; absent when it was not found.
    pub version: Option<String>,
}
