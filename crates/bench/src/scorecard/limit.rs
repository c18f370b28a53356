//! Which layer is the limit: rules, tried in order. [`RULES`] says them as a reader needs them.

use super::flags::disturbance;
use super::model::{CpuUse, DeviceModel, Layer, Limit, RowId};

/// Share of the device model's rate from which the device is the limit.
pub const DEVICE_SHARE: f64 = 0.95;

/// Share of the null engine's rate from which more than half of the time is the generator's own.
pub const GENERATOR_SHARE: f64 = 0.5;

/// Share of the CPUs, or of the one CPU that a single thread can use, from which CPU is the limit.
pub const CPU_SHARE: f64 = 0.95;

/// The rules in words, in the order in which they are tried.
pub const RULES: [&str; 6] = [
    "harness rows: the generator, for nothing else is there",
    "device model: at least 95 % of the IOPS that the profile makes of this depth in virtual time, with nothing else in the way",
    "disturbed: other programs, or the machine below, had the CPUs meanwhile (flags elsewhere, stolen): no limit is told",
    "generator: at least 50 % of the same generator's IOPS on its null engine, so that most of the time is its own",
    "CPU: at least 95 % of all CPUs busy, or of the one CPU that a single-threaded part can use",
    "path: none of these; the time goes into handing over and waiting",
];

/// What the rules look at.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The kind of row.
    pub id: RowId,
    /// Commands kept in flight.
    pub qd: u32,
    /// I/Os per second.
    pub iops: f64,
    /// I/Os per second of the same generator on its null engine at this depth, if that ran.
    pub harness_iops: Option<f64>,
    /// The device's own time.
    pub model: &'a DeviceModel,
    /// CPUs kept busy.
    pub cpu: CpuUse,
    /// CPUs of the machine.
    pub cpus: usize,
}

/// The first rule that holds.
#[must_use]
pub fn limit(seen: &Seen<'_>) -> Limit {
    let found = |layer, why| Limit { layer, why };
    if seen.id == RowId::Harness {
        return found(
            Layer::Generator,
            "nothing but the generator is there".into(),
        );
    }
    if let Some(allowed) = seen.model.at(seen.qd).map(|point| point.iops)
        && seen.iops >= DEVICE_SHARE * allowed
    {
        let share = seen.iops / allowed * 100.0;
        return found(
            Layer::DeviceModel,
            format!("{share:.0} % of the {allowed:.0} IOPS that the profile allows at this depth"),
        );
    }
    let others = disturbance(&seen.cpu, seen.cpus);
    if !others.is_empty() {
        return found(Layer::Disturbed, others.join(", "));
    }
    if let Some(null) = seen.harness_iops
        && seen.iops >= GENERATOR_SHARE * null
    {
        let share = seen.iops / null * 100.0;
        return found(
            Layer::Generator,
            format!(
                "{share:.0} % of the {null:.0} IOPS that the generator reaches on its null engine"
            ),
        );
    }
    if let Some(why) = cpu(seen) {
        return found(Layer::Cpu, why);
    }
    found(Layer::Path, waiting(seen))
}

fn cpu(seen: &Seen<'_>) -> Option<String> {
    let cpus = seen.cpus.max(1) as f64;
    let busy = seen.cpu.busy();
    if busy >= CPU_SHARE * cpus {
        let outside = seen.cpu.elsewhere.unwrap_or(0.0) + seen.cpu.stolen.unwrap_or(0.0);
        return Some(format!(
            "{busy:.2} of {cpus:.0} CPUs busy, {outside:.2} of them with the kernel's own threads and other programs"
        ));
    }
    if seen.cpu.generator >= CPU_SHARE {
        return Some(match seen.id {
            RowId::Driver => {
                "one thread runs generator, driver and controller, and never waits".into()
            }
            _ => format!(
                "the generator's one thread is {:.0} % busy",
                seen.cpu.generator * 100.0
            ),
        });
    }
    None
}

/// What a row waits for, if nothing is exhausted.
fn waiting(seen: &Seen<'_>) -> String {
    let busy = format!("{:.2} of {} CPUs busy", seen.cpu.busy(), seen.cpus);
    match seen.model.at(seen.qd) {
        Some(point) => format!(
            "{:.0} % of the profile's {:.0} IOPS at this depth, {busy}",
            seen.iops / point.iops * 100.0,
            point.iops
        ),
        None => busy,
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::ModelPoint;
    use super::*;

    fn seen(model: &DeviceModel) -> Seen<'_> {
        Seen {
            id: RowId::Fuse,
            qd: 16,
            iops: 30_000.0,
            harness_iops: Some(1_000_000.0),
            model,
            cpu: CpuUse {
                generator: 0.4,
                process: 0.5,
                ..CpuUse::default()
            },
            cpus: 2,
        }
    }

    fn drive() -> DeviceModel {
        let point = |qd, iops| ModelPoint {
            qd,
            iops,
            mean_us: f64::from(qd) * 1e6 / iops,
        };
        DeviceModel {
            profile: "drive".into(),
            source: "made up".into(),
            points: vec![point(1, 25_000.0), point(16, 50_000.0)],
        }
    }

    #[test]
    fn each_rule_finds_its_layer_and_the_first_that_holds_wins() {
        let (drive, instant) = (drive(), DeviceModel::instant());
        let of = |seen: Seen<'_>| limit(&seen).layer;
        assert_eq!(of(seen(&drive)), Layer::Path);
        let full = Seen {
            iops: 47_500.0,
            ..seen(&drive)
        };
        assert_eq!(of(full), Layer::DeviceModel);
        assert_eq!(
            of(Seen {
                iops: 47_499.0,
                ..full
            }),
            Layer::Path
        );
        let alone = Seen {
            qd: 1,
            iops: 24_000.0,
            ..seen(&drive)
        };
        assert_eq!(of(alone), Layer::DeviceModel);
        assert_eq!(of(Seen { qd: 2, ..alone }), Layer::Path);
        let half = Seen {
            harness_iops: Some(60_000.0),
            ..seen(&instant)
        };
        assert_eq!(of(half), Layer::Generator);
        let both = Seen {
            harness_iops: Some(60_000.0),
            ..full
        };
        assert_eq!(of(both), Layer::DeviceModel);
        let harness = Seen {
            id: RowId::Harness,
            ..full
        };
        assert_eq!(of(harness), Layer::Generator);
    }

    #[test]
    fn busy_processors_are_the_limit_of_a_single_thread_and_of_the_machine() {
        let instant = DeviceModel::instant();
        let with = |id, cpu| {
            limit(&Seen {
                id,
                cpu,
                ..seen(&instant)
            })
        };
        let one_thread = CpuUse {
            generator: 0.99,
            ..CpuUse::default()
        };
        let driver = with(RowId::Driver, one_thread);
        assert_eq!(driver.layer, Layer::Cpu);
        assert!(driver.why.contains("never waits"), "{}", driver.why);
        assert_eq!(with(RowId::Fuse, one_thread).layer, Layer::Cpu);
        let all = CpuUse {
            generator: 0.7,
            process: 1.0,
            elsewhere: Some(0.2),
            stolen: Some(0.05),
        };
        let all = with(RowId::Kernel, all);
        assert_eq!(all.layer, Layer::Cpu);
        assert!(all.why.contains("0.25 of them"), "{}", all.why);
        let idle = CpuUse {
            generator: 0.5,
            process: 0.9,
            ..CpuUse::default()
        };
        assert_eq!(with(RowId::Kernel, idle).layer, Layer::Path);
    }

    #[test]
    fn where_others_had_the_processors_no_limit_is_told_but_the_devices_own() {
        let (drive, instant) = (drive(), DeviceModel::instant());
        let busy = CpuUse {
            generator: 0.4,
            process: 0.6,
            elsewhere: Some(0.99),
            stolen: None,
        };
        let waiting = CpuUse {
            process: 0.1,
            ..busy
        };
        let stolen = CpuUse {
            elsewhere: Some(0.1),
            stolen: Some(0.2),
            ..busy
        };
        for cpu in [busy, waiting, stolen] {
            let disturbed = Seen {
                cpu,
                ..seen(&instant)
            };
            assert_eq!(limit(&disturbed).layer, Layer::Disturbed, "{cpu:?}");
            let half = Seen {
                harness_iops: Some(40_000.0),
                ..disturbed
            };
            assert_eq!(limit(&half).layer, Layer::Disturbed, "{cpu:?}");
            let full = Seen {
                iops: 50_000.0,
                model: &drive,
                ..disturbed
            };
            assert_eq!(limit(&full).layer, Layer::DeviceModel, "{cpu:?}");
        }
        let why = limit(&Seen {
            cpu: busy,
            ..seen(&instant)
        })
        .why;
        assert_eq!(why, "elsewhere: 0.99 of 2 CPUs");
    }
}
