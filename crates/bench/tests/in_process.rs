//! The bench on the real path: driver, controller and RAM in one process.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

use bench::clock::Clock;
use bench::lane::{Lane, buffer_bytes};
use bench::queue::NamespaceQueue;
use bench::runner::{JobRun, Turn, Worker, run_job};
use bench::workload::{Distribution, Geometry, Job, Pattern, Plan, Timestamps};
use controller::NamespaceConfig;
use driver::{Device, Options};
use local::{Blueprint, Inline};
use media::{BlockSize, Landing, Media, Progress, RamMedia, Request, Token};
use mem::{Backing, Span};
use spec::{BlockCount, NamespaceId};

#[expect(
    clippy::disallowed_methods,
    reason = "the link wants a clock, and this test is its world"
)]
fn since_start() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// RAM that flips one bit in the data of the n-th read.
#[derive(Debug)]
struct Flipping {
    ram: RamMedia,
    reads_left: u64,
}

impl Media for Flipping {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let progress = self.ram.start(token, request, data);
        if request.op == media::Operation::Read {
            self.reads_left = self.reads_left.wrapping_sub(1);
            if self.reads_left == 0 {
                let first = data[0].prefix(1);
                let mut byte = [0];
                first.read_into(&mut byte);
                first.write_from(&[byte[0] ^ 0x40]);
            }
        }
        progress
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        self.ram.poll(now, landing);
    }
}

fn ram(block_size: BlockSize, bytes: u64) -> RamMedia {
    let blocks = BlockCount::new(bytes >> block_size.shift());
    RamMedia::new(blocks, block_size, Backing::Anonymous).unwrap()
}

/// Workers of a job over devices of their own, one per device of the job, all in the worker's thread.
fn workers(
    job: &Job,
    media: impl Fn() -> Box<dyn Media>,
) -> (Plan, Vec<Worker<NamespaceQueue, impl Turn>>) {
    assert_eq!(job.threads, 1, "an in-line device belongs to one thread");
    let id = NamespaceId::new(1);
    let mut devices: Vec<Device<Inline>> = (0..job.devices)
        .map(|_| {
            let blueprint = Blueprint::new(vec![NamespaceConfig { id, media: media() }]);
            let link = Inline::new(blueprint, since_start).unwrap();
            Device::open(link, Options::default()).unwrap()
        })
        .collect();
    let namespace = devices[0].namespaces()[0].clone();
    let geometry = Geometry {
        block_bytes: namespace.block_bytes(),
        blocks: namespace.blocks.get(),
        transfer_bytes_max: devices[0].transfer_bytes_max(),
        moves_data: true,
    };
    let plan = job.plan(geometry).unwrap();
    let lanes = job.lanes(&plan).into_iter().map(|place| {
        let device = &mut devices[place.device as usize];
        let pair = device.create_queue_pair(job.qd + 1).unwrap();
        let memory = device.allocate(buffer_bytes(job)).unwrap();
        Lane::new(
            NamespaceQueue {
                pair,
                namespace: id,
            },
            memory,
            job,
            plan,
            place,
        )
        .unwrap()
    });
    let lanes = lanes.collect();
    let turn = move |device: usize| {
        devices[device].link_mut().turn();
    };
    (
        plan,
        vec![Worker {
            lanes,
            turn,
            core: None,
        }],
    )
}

fn run(job: &Job, media: impl Fn() -> Box<dyn Media>) -> JobRun {
    let (plan, mut workers) = workers(job, media);
    let clock = Clock::calibrate(Duration::from_millis(5));
    run_job(&mut workers, job, &plan, &clock, &mut |_| {}).unwrap()
}

fn wrong(run: &JobRun) -> u64 {
    run.outcomes
        .iter()
        .map(|outcome| outcome.verified.ios_wrong)
        .sum::<u64>()
        + run
            .read_back
            .as_ref()
            .map_or(0, |verified| verified.ios_wrong)
}

fn by_count(rw: Pattern, bs: u32, qd: u32, ios: u64) -> Job {
    Job {
        rw,
        bs,
        qd,
        ios: Some(ios),
        runtime_ms: None,
        repeats: 1,
        verify: true,
        ..Job::default()
    }
}

#[test]
fn every_pattern_size_depth_and_block_size_verifies() {
    let patterns = [
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::RandRw,
        Pattern::Read,
        Pattern::Write,
    ];
    for block_size in [BlockSize::B512, BlockSize::B4096] {
        for (bs, qd) in [
            (512_u32, 1),
            (512, 128),
            (512, 1024),
            (4096, 1),
            (4096, 1024),
            (12_288, 7),
            (65_536, 64),
            (1 << 20, 1),
            (1 << 20, 16),
        ] {
            if u64::from(bs) < block_size.bytes() {
                continue;
            }
            for rw in patterns {
                for random in [Distribution::Uniform, Distribution::Zipf(1.0)] {
                    if random != Distribution::Uniform && !rw.is_random() {
                        continue; // refused: what goes in order is not skewed
                    }
                    let job = Job {
                        random,
                        ..by_count(rw, bs, qd, 1500.min((64 << 20) / u64::from(bs)))
                    };
                    let run = run(&job, || Box::new(ram(block_size, 24 << 20)));
                    assert_eq!(wrong(&run), 0, "{rw:?} {bs} {qd} {block_size:?}: {run:?}");
                    let outcome = &run.outcomes[0];
                    assert_eq!(Some(outcome.read.ios + outcome.write.ios), job.ios);
                    assert_eq!(outcome.verified.ios_checked, outcome.read.ios);
                    assert_eq!(outcome.failures.count, 0);
                }
            }
        }
    }
}

#[test]
fn one_corrupted_read_is_caught() {
    for qd in [1, 128] {
        let job = by_count(Pattern::RandRead, 4096, qd, 2000);
        let flipping = || {
            Box::new(Flipping {
                ram: ram(BlockSize::B512, 8 << 20),
                reads_left: 777,
            }) as Box<dyn Media>
        };
        assert_eq!(wrong(&run(&job, flipping)), 1, "depth {qd}");
    }
}

#[test]
fn several_devices_in_one_thread_obey_littles_law() {
    let job = Job {
        devices: 3,
        verify: false,
        timestamps: Timestamps::Poll,
        ..by_count(Pattern::RandRead, 512, 32, 300_000)
    };
    let run = run(&job, || Box::new(ram(BlockSize::B512, 8 << 20)));
    let outcome = &run.outcomes[0];
    let mean_ticks = outcome.read.latency.sum() as f64 / outcome.read.ios as f64;
    let inside = mean_ticks * outcome.read.ios as f64 / outcome.thread_ticks as f64;
    assert!((80.0..=96.5).contains(&inside), "{inside} in flight of 96");
    assert!(outcome.doorbells > 0 && outcome.polls >= outcome.read.ios / 64);
}
