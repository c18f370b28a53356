//! Devices for replays: a driver, a controller and a medium in this process.

use core::time::Duration;
use std::io::Cursor;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use controller::NamespaceConfig;
use driver::{BlockDevice, BlockOptions, Device, Options};
use local::{Blueprint, Inline};
use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Region, Span, Window};
use spec::{BlockCount, NamespaceId};

use super::super::engine::{Facts, buffer_bytes};
use super::super::layout::{Layout, Outside};
use super::super::run::{Outcome, Pace, Plan, ReplayError, Rig, replay};
use super::super::survey::Survey;
use super::super::trace::{Source, Stage, Trace};
use crate::clock::Clock;
use crate::runner::Turn;

#[expect(
    clippy::disallowed_methods,
    reason = "the link wants a clock, and this test is its world"
)]
fn since_start() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

pub(super) const NAMESPACE: NamespaceId = NamespaceId::new(1);

pub(super) fn ram(blocks: u64) -> RamMedia {
    RamMedia::new(BlockCount::new(blocks), BlockSize::B512, Backing::Anonymous).unwrap()
}

/// What a medium saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saw {
    Started(Request),
    Ended(Operation),
}

/// RAM that collects requests and then carries the youngest out first, each after `pause` at least: what NVMe allows and no
/// host should rely on.
#[derive(Debug)]
pub(super) struct Backwards {
    ram: RamMedia,
    waiting: Vec<(Token, Request, Vec<u8>)>,
    /// Polls without a new request.
    quiet: u32,
    pause: Duration,
    next: Duration,
    scratch: Window,
    saw: Sender<Saw>,
}

impl Backwards {
    pub(super) fn new(blocks: u64, pause: Duration) -> (Self, Receiver<Saw>) {
        let (saw, seen) = mpsc::channel();
        let medium = Self {
            ram: ram(blocks),
            waiting: Vec::new(),
            quiet: 0,
            pause,
            next: Duration::ZERO,
            scratch: Region::allocate(4 << 20, Backing::Anonymous)
                .unwrap()
                .whole(),
            saw,
        };
        (medium, seen)
    }
}

impl Media for Backwards {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let _ = self.saw.send(Saw::Started(*request));
        let mut bytes = Vec::new();
        for span in data {
            let mut part = vec![0; span.len()];
            span.read_into(&mut part);
            bytes.extend(part);
        }
        self.waiting.push((token, *request, bytes));
        self.quiet = 0;
        Progress::Later
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        self.quiet += 1;
        if self.quiet < 3 || now < self.next {
            return;
        }
        let Some((token, request, bytes)) = self.waiting.pop() else {
            return;
        };
        self.next = now + self.pause;
        self.scratch.write_bytes(0, &bytes).unwrap();
        let data = self.scratch.span(0, bytes.len()).unwrap();
        let spans = if bytes.is_empty() { vec![] } else { vec![data] };
        let Progress::Done(mut status) = self.ram.start(token, &request, &spans) else {
            panic!("RAM answers at once");
        };
        if request.op == Operation::Read && status.is_success() {
            status = landing.blocks(token, data);
        }
        let _ = self.saw.send(Saw::Ended(request.op));
        landing.answer(token, status);
    }
}

/// A device in the driving thread.
pub(super) struct Here(Device<Inline>);

impl Turn for Here {
    fn turn(&mut self, _: usize) {
        self.0.link_mut().turn();
    }
}

/// What is left after a replay.
pub(super) struct Replayed {
    pub(super) outcome: Outcome,
    pub(super) survey: Survey,
    pub(super) layout: Layout,
    pub(super) counters: controller::Counters,
    device: Device<Inline>,
}

impl Replayed {
    /// The device's contents.
    pub(super) fn contents(self) -> Vec<u8> {
        let mut blocks =
            BlockDevice::open(self.device, NAMESPACE, BlockOptions::default()).unwrap();
        let mut bytes = vec![0; blocks.capacity() as usize];
        blocks.read_at(0, &mut bytes).unwrap();
        bytes
    }
}

pub(super) fn fast(qd: u32) -> Plan {
    Plan {
        pace: Pace::Fast,
        qd,
        ios: None,
        runtime_ms: None,
        stamp: true,
        seed: 1,
    }
}

pub(super) fn recorded(speed: f64) -> Plan {
    Plan {
        pace: Pace::Recorded { speed },
        ..fast(64)
    }
}

pub(super) fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(5))
}

/// Replays a trace of one file on a medium.
pub(super) fn play(medium: impl Media + 'static, trace: &[u8], plan: &Plan) -> Replayed {
    try_play(medium, trace, trace, plan, Outside::Refuse).unwrap()
}

/// Replays `second` on a medium after `first` was surveyed.
pub(super) fn try_play(
    medium: impl Media + 'static,
    first: &[u8],
    second: &[u8],
    plan: &Plan,
    outside: Outside,
) -> Result<Replayed, ReplayError> {
    let open = |bytes: &[u8]| {
        let source = Source::new("trace", Cursor::new(bytes.to_vec()));
        Trace::read(vec![source], Stage::Queue).unwrap()
    };
    let survey = Survey::of(open(first), plan.ios)?;
    let blueprint = Blueprint::new(vec![NamespaceConfig {
        id: NAMESPACE,
        media: Box::new(medium),
    }]);
    let link = Inline::new(blueprint, since_start).unwrap();
    let mut device = Device::open(link, Options::default()).unwrap();
    let namespace = device.namespaces()[0].clone();
    let facts = Facts {
        namespace: NAMESPACE,
        block_bytes: namespace.block_bytes(),
        blocks: namespace.blocks.get(),
        transfer_bytes_max: device.transfer_bytes_max(),
        discard_blocks_max: device.discard_blocks_max(),
    };
    let layout = Layout::new(
        &survey,
        &[],
        (facts.block_bytes.into(), facts.blocks),
        outside,
    );
    let layout = layout.unwrap();
    let pair = device.create_queue_pair(plan.qd + 1).unwrap();
    let bytes = buffer_bytes(&facts, plan.qd, survey.longest);
    let memory = device.allocate(bytes).unwrap();
    let mut rig = Rig {
        pair,
        memory,
        facts,
        turn: Here(device),
    };
    let trace = open(second);
    let clock = clock();
    let outcome = replay(
        &mut rig,
        trace,
        &layout,
        plan,
        survey.longest,
        &clock,
        &mut |_| {},
    )?;
    let mut device = rig.turn.0;
    let counters = *device.link_mut().controller().counters();
    Ok(Replayed {
        outcome,
        survey,
        layout,
        counters,
        device,
    })
}
