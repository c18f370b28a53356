//! Who used the CPUs: the kernel's accounting for the machine, this process and the children that it waited for.

use std::fs;

use crate::clock::{Clock, process_cpu_seconds};

/// Totals since the machine was started, in CPU seconds (the kernel counts in steps of 10 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Everything that was not idle, on all CPUs.
    pub busy: f64,
    /// Taken away by the machine below.
    pub stolen: f64,
}

/// Reads the first line of `/proc/stat`, whose steps are `1 / hz` seconds. `None` if it is another text.
#[must_use]
pub fn totals(stat: &str, hz: f64) -> Option<Totals> {
    let mut fields = stat.lines().next()?.split_ascii_whitespace();
    if fields.next()? != "cpu" {
        return None;
    }
    // user nice system idle iowait irq softirq steal; what follows is part of user and nice.
    let steps: Vec<f64> = fields
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = steps[..] else {
        return None;
    };
    Some(Totals {
        busy: (user + nice + system + irq + softirq) / hz,
        stolen: steal / hz,
    })
}

/// Reads from `/proc/self/stat` the CPU seconds of children that were waited for. `None` if it is another text.
#[must_use]
pub fn children(stat: &str, hz: f64) -> Option<f64> {
    // The command's name in parentheses may hold blanks, so fields are counted behind it: cutime and cstime are the 14th
    // and 15th from there.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(13);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / hz)
}

/// A moment from which CPU use is counted.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    clock: Clock,
    process: f64,
    children: Option<f64>,
    totals: Option<Totals>,
}

/// CPU use since a [`Watch`] began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Seconds that passed.
    pub seconds: f64,
    /// CPU seconds of this process.
    pub process: f64,
    /// CPUs that the kernel's own threads and other programs kept busy; absent where it cannot be told.
    pub elsewhere: Option<f64>,
    /// CPUs taken away by the machine below.
    pub stolen: Option<f64>,
}

impl Watch {
    /// Begins to count.
    #[must_use]
    pub fn start() -> Self {
        let hz = rustix::param::clock_ticks_per_second() as f64;
        let read = |path: &str| fs::read_to_string(path).ok();
        Self {
            clock: Clock::monotonic(),
            process: process_cpu_seconds(),
            children: read("/proc/self/stat").and_then(|text| children(&text, hz)),
            totals: read("/proc/stat").and_then(|text| totals(&text, hz)),
        }
    }

    /// What was used since. Children that still run are counted among the others.
    #[must_use]
    pub fn used(&self) -> Used {
        let now = Self::start();
        let seconds = self.clock.seconds(self.clock.ticks()).max(1e-9);
        let process = now.process - self.process;
        let (elsewhere, stolen) = match (self.totals, now.totals, self.children, now.children) {
            (Some(before), Some(after), Some(children_before), Some(children_after)) => {
                let ours = process + children_after - children_before;
                let others = (after.busy - before.busy - ours).max(0.0);
                (
                    Some(others / seconds),
                    Some((after.stolen - before.stolen).max(0.0) / seconds),
                )
            }
            _ => (None, None),
        };
        Used {
            seconds,
            process,
            elsewhere,
            stolen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_line_is_split_into_busy_and_stolen() {
        let text = "cpu  100 10 40 5000 70 5 5 30 20 10\ncpu0 1 2 3\n";
        let all = totals(text, 100.0).unwrap();
        assert!((all.busy - 1.6).abs() < 1e-9, "{all:?}");
        assert!((all.stolen - 0.3).abs() < 1e-9, "{all:?}");
        for wrong in [
            "",
            "cpu0 1 2 3 4 5 6 7 8",
            "cpu 1 2 3",
            "cpu a b c d e f g h",
        ] {
            assert_eq!(totals(wrong, 100.0), None, "{wrong:?}");
        }
    }

    #[test]
    fn childrens_time_is_found_behind_a_name_with_blanks_and_parentheses() {
        let text = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 50 25 20 0 1 0";
        assert_eq!(children(text, 100.0), Some(0.75));
        assert_eq!(children("7 (a S 1", 100.0), None);
    }

    #[test]
    fn work_of_this_process_is_not_counted_elsewhere() {
        let watch = Watch::start();
        let before = process_cpu_seconds();
        while process_cpu_seconds() - before < 0.03 {}
        let used = watch.used();
        assert!(used.process >= 0.03, "{used:?}");
        assert!(used.seconds * 64.0 >= used.process, "{used:?}");
    }
}
