//! Jobs that are refused, and plans of those that are not.

use super::*;
use proptest::prelude::*;

const RAM: Geometry = Geometry {
    block_bytes: 512,
    blocks: 1 << 16,
    transfer_bytes_max: 1 << 20,
    moves_data: true,
};

fn refused(job: &Job) -> InvalidJob {
    job.plan(RAM).expect_err("the job should be refused")
}

#[test]
fn the_default_job_runs_on_a_small_namespace() {
    let plan = Job::default().plan(RAM).unwrap();
    assert_eq!((plan.blocks_per_io, plan.units), (8, 8192));
    assert_eq!(plan.working_set_bytes(), 32 << 20);
}

#[test]
fn each_bad_value_is_refused_by_its_own_key() {
    type Spoil = fn(&mut Job);
    let cases: [(&str, Spoil); 20] = [
        ("bs", |job| job.bs = 1000),
        ("bs", |job| job.bs = 256),
        ("bs", |job| job.bs = 2 << 20),
        ("qd", |job| job.qd = 0),
        ("qd", |job| job.qd = 1025),
        ("rwmixread", |job| {
            (job.rw, job.rwmixread) = (Pattern::RandRw, Some(101))
        }),
        ("size", |job| job.size = Some(4095)),
        ("size", |job| job.size = Some(1 << 40)),
        ("offset", |job| job.offset = 100),
        ("offset", |job| job.offset = 32 << 20),
        ("devices", |job| job.devices = 0),
        ("threads", |job| job.threads = 65),
        ("repeats", |job| job.repeats = 0),
        ("runtime", |job| job.runtime_ms = Some(0)),
        ("runtime", |job| job.runtime_ms = None),
        ("ios", |job| job.ios = Some(100)),
        ("rate", |job| job.rate = Some(0)),
        ("random", |job| job.random = Distribution::Zipf(0.0)),
        ("random", |job| job.random = Distribution::Zipf(f64::NAN)),
        ("timestamps", |job| {
            (job.rate, job.timestamps) = (Some(9), Timestamps::None)
        }),
    ];
    for (key, spoil) in cases {
        let mut job = Job::default();
        spoil(&mut job);
        let refusal = refused(&job);
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(!refusal.allowed.is_empty());
    }
}

#[test]
fn what_a_pattern_would_leave_without_effect_is_refused() {
    for rw in Pattern::NAMES.map(|(_, rw)| rw) {
        let mixed = Job {
            rw,
            rwmixread: Some(70),
            ..Job::default()
        };
        match mixed.check() {
            Ok(()) => assert_eq!((rw, mixed.read_percent()), (Pattern::RandRw, 70)),
            Err(refusal) => {
                assert_ne!(rw, Pattern::RandRw, "{refusal}");
                assert_eq!((refusal.key, &*refusal.value), ("rwmixread", "70"));
                assert!(refusal.allowed.contains("rw randrw"), "{refusal}");
            }
        }
        let skewed = Job {
            rw,
            random: Distribution::Zipf(1.2),
            ..Job::default()
        };
        match skewed.check() {
            Ok(()) => assert!(rw.is_random(), "{rw:?}"),
            Err(refusal) => {
                assert!(!rw.is_random(), "{refusal}");
                assert_eq!((refusal.key, &*refusal.value), ("random", "zipf:1.2"));
                assert!(refusal.allowed.contains("uniform"), "{refusal}");
            }
        }
    }
}

#[test]
fn threads_take_the_named_cores_in_turn() {
    let job = Job {
        core_mask: vec![2, 5],
        ..Job::default()
    };
    assert_eq!(
        [0, 1, 2].map(|thread| job.core_of(thread)),
        [Some(2), Some(5), Some(2)]
    );
    assert_eq!(Job::default().core_of(3), None);
}

#[test]
fn nothing_can_be_verified_on_media_that_keeps_no_data() {
    let null = Geometry {
        moves_data: false,
        ..RAM
    };
    let job = Job {
        verify: true,
        ..Job::default()
    };
    assert_eq!(job.plan(null).unwrap_err().key, "verify");
    assert!(Job::default().plan(null).is_ok());
}

#[test]
fn words_are_parsed_as_they_are_printed() {
    for (name, pattern) in Pattern::NAMES {
        assert_eq!(name.parse(), Ok(pattern));
        assert_eq!(pattern.name(), name);
    }
    for text in ["uniform", "zipf:1.2", "zipf:1"] {
        assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
    }
    for bad in ["zipf", "zipf:", "zipf:0", "zipf:inf", "pareto:1"] {
        assert!(bad.parse::<Distribution>().is_err(), "{bad}");
    }
    assert!("sometimes".parse::<Timestamps>().is_err());
}

#[test]
fn a_job_survives_its_json_form() {
    let job = Job {
        random: Distribution::Zipf(0.9),
        core_mask: vec![0, 3],
        ..Job::default()
    };
    let text = serde_json::to_string(&job).unwrap();
    assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
}

proptest! {
    #[test]
    fn every_device_and_thread_gets_a_queue_pair_and_every_unit_one_owner(
        devices in 1u32..10, threads in 1u32..10, extra in 0u64..1000, ios in 100u64..1000,
    ) {
        let job = Job { devices, threads, ios: Some(ios), runtime_ms: None, ..Job::default() };
        let plan = Plan { block_bytes: 512, blocks_per_io: 1, first_lba: 0, units: 10 + extra };
        let lanes = job.lanes(&plan);
        prop_assert_eq!(lanes.iter().map(|lane| lane.ios).sum::<u64>(), ios);
        for thread in 0..threads {
            prop_assert!(lanes.iter().any(|lane| lane.thread == thread));
        }
        for device in 0..devices {
            let owned: u64 =
                lanes.iter().filter(|lane| lane.device == device).map(|lane| lane.own.units).sum();
            prop_assert_eq!(owned, plan.units);
        }
    }
}
