//! Drives a controller through acts, beside the reference.
//!
//! While the host keeps to what a host may do with its own rings, everything that the controller does is *foreseen*: which
//! commands complete and in which order, with which statuses, what is in memory and on the blocks. As soon as the host
//! breaks its own rings (writes over them, sets doorbells back, enables the controller in the middle of things), only the
//! laws that hold for any host are checked, until the next restart by the book. From there everything is foreseen again.

mod host;
mod observe;

use std::collections::{BTreeMap, VecDeque};

use controller::limits;
use spec::nvme::{SubmissionEntry, admin_opcode, io_opcode};
use spec::{CommandId, Lba, NamespaceId, ZeroBased};

use crate::acts::Act;
use crate::model::Model;
use crate::world::{
    ADMIN_DEPTH, BASE, BYTES, DATA, DATA_OFFSET, DEPTH_MAX, NAMESPACES, PAGE, QUEUES, View, World,
};

/// Rounds of giving places back and ticking that finish whatever a host may have begun.
const ROUNDS_MAX: usize = 256;

/// Where the list is that blocks are read back by, behind the data that it names.
const LIST: u64 = DATA + 40 * PAGE as u64;

/// The largest transfer in bytes.
const TRANSFER: usize = PAGE << crate::world::TRANSFER_PAGES_SHIFT;

/// The host's side of a submission queue.
#[derive(Debug)]
struct Submission {
    depth: u32,
    completion: u16,
    tail: u32,
    /// Sent and not completed, oldest first.
    waiting: VecDeque<SubmissionEntry>,
}

/// The host's side of a completion queue.
#[derive(Debug)]
struct Completion {
    depth: u32,
    /// The next place to look at.
    next: u32,
    phase: bool,
    /// Places not given back.
    held: u32,
}

/// A host, its controller and the reference.
#[derive(Debug)]
pub struct Drive {
    world: World,
    model: Model,
    submissions: BTreeMap<u16, Submission>,
    completions: BTreeMap<u16, Completion>,
    /// Memory of completion queues that were deleted: nothing may be written there any more.
    graves: Vec<(usize, Vec<u8>)>,
    view: View,
    /// Ticks come by acts only, and nothing is foreseen until a restart.
    wild: bool,
    /// The host has kept to the rules since the last restart.
    foreseen: bool,
    /// Blocks and memory are those of the model: not with slow media, whose order of work is their own.
    data: bool,
    keep_alive: bool,
    fetched: u64,
    completed: u64,
    /// Kept from one use to the next: getting large memory costs more than filling it.
    scratch: Vec<u8>,
}

/// Runs acts from power-on to the end, checking everything.
pub fn run(wild: bool, slow: bool, acts: Vec<Act>) {
    let mut drive = Drive::new(wild, slow);
    for act in acts {
        drive.perform(act);
        if !drive.wild {
            drive.tick();
        }
    }
    drive.finish();
}

impl Drive {
    pub(super) fn new(wild: bool, slow: bool) -> Self {
        let mut drive = Self {
            world: World::new(slow),
            model: Model::default(),
            submissions: BTreeMap::new(),
            completions: BTreeMap::new(),
            graves: Vec::new(),
            view: View::Data,
            wild,
            foreseen: true,
            data: !slow,
            keep_alive: false,
            fetched: 0,
            completed: 0,
            scratch: Vec::with_capacity(BYTES),
        };
        drive.begin();
        drive.unleash();
        drive
    }

    /// A wild host has its rings in view, and nothing is foreseen.
    pub(super) fn unleash(&mut self) {
        if self.wild {
            self.foreseen = false;
            self.show(View::All);
        }
    }

    /// Brings the controller up with three queue pairs, two of which share a completion queue.
    fn begin(&mut self) {
        self.world.restart();
        self.model.write(0, &[0; DATA_OFFSET]);
        self.submissions.clear();
        self.completions.clear();
        self.graves.clear();
        self.foreseen = true;
        self.keep_alive = false;
        (self.fetched, self.completed) = (0, 0);
        let sq = Submission::new(ADMIN_DEPTH, 0);
        self.submissions.insert(0, sq);
        self.completions.insert(0, Completion::new(ADMIN_DEPTH));
        self.show(View::Data);
        for (queue, submission_for, depth) in [
            (1, None, 16),
            (2, None, 4),
            (1, Some(1), 16),
            (2, Some(2), 4),
            (3, Some(2), 8),
        ] {
            self.create(queue, submission_for, depth);
            self.tick();
            self.release(0, ADMIN_DEPTH, false);
        }
        assert_eq!(
            self.submissions.len(),
            4,
            "queues are created after a restart"
        );
    }

    /// Restarts and finds out what is on the blocks: what the model says, if it still knew.
    pub(super) fn restart(&mut self) {
        let known = self.foreseen && self.data;
        self.data = false;
        self.begin();
        for (id, size, blocks) in NAMESPACES {
            let at_once = (TRANSFER as u64 / size.bytes()).min(blocks);
            for at in (0..blocks).step_by(at_once as usize) {
                let count = at_once.min(blocks - at) as u32;
                let found = self.read_blocks(id, at, count, size.bytes());
                let from = (at * size.bytes()) as usize;
                let wanted = self.model.blocks_mut(id, from, found.len());
                if known {
                    assert!(
                        found == *wanted,
                        "namespace {id} from block {at} on is not as written"
                    );
                }
                wanted.copy_from_slice(&found);
                self.scratch = found;
            }
        }
        self.world.read(0, self.model.memory_mut());
        self.data = !self.world.is_slow();
    }

    /// Reads blocks through queue pair 1, to the first pages of data by a list on a later one.
    fn read_blocks(&mut self, id: u32, at: u64, count: u32, block_bytes: u64) -> Vec<u8> {
        let len = count as usize * block_bytes as usize;
        let list = LIST - BASE;
        for page in 1..TRANSFER / PAGE {
            let entry = DATA + (page * PAGE) as u64;
            let place = list as usize + (page - 1) * 8;
            self.world.write(place, &entry.to_le_bytes());
        }
        let second = if len > 2 * PAGE {
            LIST
        } else {
            DATA + PAGE as u64
        };
        let entry = SubmissionEntry::new(io_opcode::READ, CommandId::new(7), NamespaceId::new(id))
            .with_prps(DATA, second)
            .with_slba(Lba::new(at))
            .with_nlb(ZeroBased::<u16>::from_count(count).expect("a small count"));
        self.send(1, &[entry], false);
        let before = self.completed;
        self.tick();
        assert_eq!(
            self.completed,
            before + 1,
            "a plain read completes in one tick"
        );
        self.release(1, 1, false);
        let mut bytes = core::mem::take(&mut self.scratch);
        bytes.resize(len, 0);
        self.world.read(DATA_OFFSET, &mut bytes);
        bytes
    }

    pub(super) fn show(&mut self, view: View) {
        self.view = view;
        self.world.show(view);
        self.model.show(view);
    }

    /// One turn of the controller, and the laws that hold whatever the host did.
    pub(super) fn tick(&mut self) {
        let before = *self.world.controller.counters();
        let turn = self.world.controller.tick(self.world.now);
        let after = *self.world.controller.counters();
        let bound = limits::BATCH_MAX * u32::from(QUEUES + 1) + limits::ADMIN_BATCH_MAX;
        assert!(turn.fetched <= bound, "one tick fetched {}", turn.fetched);
        assert!(turn.landed <= limits::FLIGHTS_MAX);
        let fetched =
            after.commands + after.admin_commands - before.commands - before.admin_commands;
        assert_eq!(
            fetched,
            u64::from(turn.fetched),
            "every fetched command is counted"
        );
        assert!(
            after.resets >= before.resets
                && after.refused - before.refused <= fetched + u64::from(turn.landed)
        );
        let vectors = self.world.controller.take_interrupts();
        assert!(vectors.iter().all(|vector| vector < limits::VECTORS_MAX));
        self.fetched += fetched;
        if self.foreseen {
            self.observe();
        }
    }

    /// Everything that was sent completes, memory is as foreseen, and the controller works after whatever was done to it.
    fn finish(&mut self) {
        self.world.hold(false);
        for _ in 0..ROUNDS_MAX {
            if !self.foreseen || self.submissions.iter().all(|(id, sq)| sq.is_quiet(*id)) {
                break;
            }
            for queue in 0..=QUEUES {
                self.release(queue, DEPTH_MAX, false);
                // One queue at a time, so that the order of work on two queues does not matter.
                self.tick();
            }
        }
        if self.foreseen {
            for (id, sq) in &self.submissions {
                assert!(sq.is_quiet(*id), "never completed: {:?}", sq.waiting);
            }
        }
        if self.foreseen && self.data {
            self.scratch.resize(BYTES, 0);
            self.world.read(0, &mut self.scratch);
            assert!(
                self.scratch[DATA_OFFSET..] == self.model.memory_mut()[DATA_OFFSET..],
                "memory that no command named was written"
            );
        }
        self.restart();
    }
}

fn is_event_request(queue: u16, entry: &SubmissionEntry) -> bool {
    queue == 0 && entry.opcode() == admin_opcode::ASYNC_EVENT_REQUEST
}

impl Submission {
    pub(super) fn new(depth: u32, completion: u16) -> Self {
        Self {
            depth,
            completion,
            tail: 0,
            waiting: VecDeque::new(),
        }
    }

    /// The entry under an identifier that no waiting one has.
    pub(super) fn without_twin(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        while self.waiting.iter().any(|other| other.cid() == entry.cid()) {
            entry = entry.with_cid(CommandId::new(entry.cid().get().wrapping_add(0x1_01)));
        }
        entry
    }

    /// Commands that may be fetched and not completed with fast media: event requests.
    pub(super) fn open(&self) -> usize {
        let requests = self.waiting.iter();
        requests
            .filter(|entry| entry.opcode() == admin_opcode::ASYNC_EVENT_REQUEST)
            .count()
    }

    /// Whether nothing waits but event requests.
    pub(super) fn is_quiet(&self, id: u16) -> bool {
        self.waiting.iter().all(|entry| is_event_request(id, entry))
    }
}

impl Completion {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            depth,
            next: 0,
            phase: true,
            held: 0,
        }
    }

    /// The head that the host has told, or tells next.
    pub(super) fn released(&self) -> u32 {
        (self.next + self.depth - self.held % self.depth) % self.depth
    }
}
