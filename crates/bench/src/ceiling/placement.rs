//! Which CPUs a measurement runs on.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use, in rising order. Empty when the system does not say.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None::<Pid>) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
}

/// Binds the calling thread to one CPU. Returns whether the system agreed: a figure from an unpinned thread says so.
pub fn pin(cpu: usize) -> bool {
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None::<Pid>, &set).is_ok()
}

/// The first two CPUs that this process may use.
///
/// # Errors
/// When there are fewer than two: the reason, to be printed after "not run:".
pub fn two() -> Result<(usize, usize), String> {
    match allowed()[..] {
        [first, second, ..] => Ok((first, second)),
        _ => Err("needs two CPUs that this process may use".into()),
    }
}
