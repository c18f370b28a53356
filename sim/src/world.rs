//! A world of queue pairs: random commands, many at once, on the same few blocks, with troubles in between.

use core::time::Duration;
use std::collections::BTreeSet;

use controller::{Config, Counters, NamespaceConfig};
use driver::{Busy, Device, Done, DriverError, IoBuffer, Link, Options};
use local::Blueprint;
use media::RamMedia;
use mem::{Backing, DmaBuffer};
use spec::{BlockCount, NamespaceId};

use crate::accounts::Accounts;
use crate::command::{self, Draft, Kind, Place};
use crate::lane::{Buffer, Flight, Lane, arena_bytes};
use crate::limits;
use crate::link::SimLink;
use crate::media::{FaultyMedia, Plant};
use crate::oracle::{Oracle, Stamp};
use crate::plan::{NamespacePlan, Plan, draw_depth};
use crate::random::Random;
use crate::report::{Alarm, Caught};
use crate::stamp;
use crate::trace::{Event, Trace};

/// Pages of the memory whose end is the end of what the controller reaches.
const EDGE_PAGES: u64 = 4;
const PAGE: u64 = 4096;

/// An address that no allocation comes near.
const UNMAPPED: u64 = 1 << 45;

/// The world.
#[derive(Debug)]
pub struct World<'t> {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) device: Device<SimLink>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) accounts: Accounts,
    /// Types of event that are silent until their log page is read.
    pub(crate) silent: BTreeSet<u8>,
    /// Namespaces that changed since their log page was read.
    pub(crate) changed: BTreeSet<u32>,
    pub(crate) troubles: u64,
    pub(crate) oracle: Oracle,
    trace: &'t mut Trace,
    edge: DmaBuffer,
    next_ticket: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A device of this plan, opened, on virtual time.
pub(crate) fn open_device(
    plan: &Plan,
    plant: Option<Plant>,
    random: &mut Random,
) -> Result<Device<SimLink>, Caught> {
    let machine = |error: String| Caught {
        alarm: Alarm::Machine,
        what: error,
    };
    let mut namespaces = Vec::new();
    for namespace in &plan.namespaces {
        let blocks = BlockCount::new(namespace.blocks);
        let ram = RamMedia::new(blocks, namespace.block_size, Backing::Anonymous)
            .map_err(|error| machine(error.to_string()))?;
        namespaces.push(NamespaceConfig {
            id: NamespaceId::new(namespace.id),
            media: Box::new(FaultyMedia::new(ram, plan.faults, plant, random.split())),
        });
    }
    let config = Config {
        transfer_pages_shift: plan.transfer_pages_shift,
        ..Config::default()
    };
    let blueprint = Blueprint {
        config,
        ..Blueprint::new(namespaces)
    };
    let link = SimLink::new(blueprint, plan.step_us_max, random.split())
        .map_err(|error| machine(error.to_string()))?;
    let device = Device::open(link, Options::default())
        .map_err(|error| Caught::world(format!("bring-up: {error}")))?;
    for (wanted, found) in plan.namespaces.iter().zip(device.namespaces()) {
        let bytes = u64::from(found.block_bytes());
        if (found.id.get(), found.blocks.get(), bytes)
            != (wanted.id, wanted.blocks, wanted.block_size.bytes())
        {
            return Err(Caught::world(format!(
                "bring-up found {found:?}, attached is {wanted:?}"
            )));
        }
    }
    if device.namespaces().len() != plan.namespaces.len() {
        return Err(Caught::world(
            "bring-up found other namespaces than are attached",
        ));
    }
    Ok(device)
}

impl<'t> World<'t> {
    /// Opens a device of this plan and makes its queue pairs.
    ///
    /// # Errors
    /// When that does not work.
    pub fn new(
        plan: Plan,
        plant: Option<Plant>,
        mut random: Random,
        trace: &'t mut Trace,
    ) -> Result<Self, Caught> {
        let mut device = open_device(&plan, plant, &mut random)?;
        let edge = device.allocate((EDGE_PAGES * PAGE) as usize);
        let edge = edge.map_err(|error| Caught::world(format!("no memory: {error}")))?;
        let counters = *device.link_mut().controller().counters();
        let depths = plan.depths.clone();
        let mut world = Self {
            oracle: Oracle::new(plan.namespaces.iter().map(|n| (n.id, n.blocks))),
            accounts: Accounts::new(counters, device.admin_counters()),
            random,
            device,
            lanes: Vec::new(),
            silent: BTreeSet::new(),
            changed: BTreeSet::new(),
            troubles: 0,
            trace,
            edge,
            next_ticket: 1,
            bytes: Vec::new(),
            plan,
        };
        for (index, depth) in depths.into_iter().enumerate() {
            let lane = world.make_lane(index, depth)?;
            world.lanes.push(lane);
        }
        Ok(world)
    }

    /// The whole run but for the parting.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&mut self) -> Result<(), Caught> {
        for _ in 0..self.plan.steps {
            self.step()?;
        }
        self.quiesce()?;
        self.read_everything()
    }

    /// Parts with the controller; nothing may be left behind.
    ///
    /// # Errors
    /// When parting fails or memory is left.
    pub fn part(mut self) -> Result<(), Caught> {
        for lane in core::mem::take(&mut self.lanes) {
            // Some pairs are left for the shutdown to delete.
            if self.random.chance(500) {
                self.admin("delete a queue pair", |device| {
                    device.delete_queue_pair(lane.pair)
                })?;
            }
            self.device.free(lane.arena);
        }
        self.device.free(self.edge);
        leave(self.device)
    }

    /// Commands sent so far.
    pub fn commands(&self) -> u64 {
        self.next_ticket - 1
    }

    /// Commands given up so far.
    pub fn given_up(&self) -> u64 {
        self.accounts.given_up
    }

    /// Troubles so far.
    pub fn troubles(&self) -> u64 {
        self.troubles
    }

    /// The virtual time.
    pub fn now(&mut self) -> Duration {
        self.device.link_mut().time()
    }

    pub(crate) fn note(&mut self, event: Event) {
        let now = self.now();
        self.trace.note(now, event);
    }

    pub(crate) fn counters(&mut self) -> Counters {
        *self.device.link_mut().controller().counters()
    }

    /// A call of the driver that has to succeed.
    pub(crate) fn admin<T>(
        &mut self,
        what: &str,
        call: impl FnOnce(&mut Device<SimLink>) -> Result<T, DriverError>,
    ) -> Result<T, Caught> {
        call(&mut self.device).map_err(|error| Caught::world(format!("{what}: {error}")))
    }

    fn step(&mut self) -> Result<(), Caught> {
        let draw = self.random.below(1000);
        let lane = self.random.below(self.lanes.len() as u64) as usize;
        if draw < self.plan.troubles {
            return self.trouble();
        }
        let draw = draw - self.plan.troubles;
        if draw < self.plan.reaping {
            return self.reap(lane);
        }
        match self.random.below(100) {
            0..45 => self.burst(lane),
            45..90 => {
                self.tick();
                Ok(())
            }
            90..98 => {
                self.lanes[lane].deliver();
                self.note(Event::Delivered { lane });
                Ok(())
            }
            _ => self.quiesce(),
        }
    }

    /// The controller has a turn.
    pub(crate) fn tick(&mut self) {
        let turn = self.device.link_mut().turn();
        if !turn.is_idle() {
            self.note(Event::Tick {
                fetched: turn.fetched,
                landed: turn.landed,
            });
        }
    }

    /// Sends some commands; rings the doorbell at the end, or later.
    fn burst(&mut self, lane: usize) -> Result<(), Caught> {
        self.lanes[lane].held = self.random.chance(self.plan.held_doorbells);
        for _ in 0..self.random.between(1, 8) {
            let draft = match self.random.chance(80) {
                true => command::draw_wrong(&mut self.random, &self.plan),
                false => command::draw(&mut self.random, &self.plan),
            };
            if !self.send(lane, &draft)? {
                break;
            }
        }
        if self.random.chance(800) {
            self.lanes[lane].publish();
        }
        Ok(())
    }

    /// Sends a command, unless every slot is in use; says whether it did.
    fn send(&mut self, index: usize, draft: &Draft) -> Result<bool, Caught> {
        let lane = &mut self.lanes[index];
        if lane.pair.in_flight() == lane.pair.capacity() {
            return match lane.pair.flush(NamespaceId::new(1), 0) {
                Err(Busy) => Ok(false),
                Ok(()) => Err(Caught::world("a full queue pair took another command")),
            };
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let buffer = lane.take_buffer(&mut self.random, draft.data_bytes);
        let io_buffer = place(lane, buffer, draft, &self.edge);
        let wanted = self.prepare(index, buffer, draft, ticket);
        let lane = &mut self.lanes[index];
        let detour = (draft.place == Place::Buffer && self.random.chance(300))
            .then_some((buffer, &mut self.random));
        lane.submit(draft.entry, io_buffer, ticket, detour)
            .map_err(|Busy| Caught::world("a queue pair with a free slot is busy"))?;
        let (at, count) = draft.ranges[0];
        lane.flights.insert(
            ticket,
            Flight {
                kind: draft.kind,
                namespace: draft.namespace,
                at,
                count,
                refused: draft.refused,
                wanted,
                buffer,
            },
        );
        self.note(Event::Sent {
            lane: index,
            ticket,
            kind: draft.kind,
            namespace: draft.namespace,
            at,
            count,
            refused: draft.refused,
        });
        Ok(true)
    }

    /// Fills the buffer with what the command brings, and tells the oracle; returns what a compare expects.
    fn prepare(&mut self, index: usize, buffer: Buffer, draft: &Draft, ticket: u64) -> Vec<Stamp> {
        let (at, count) = draft.ranges[0];
        let right = draft.refused.is_none();
        let mut wanted = Vec::new();
        match draft.kind {
            Kind::Dataset { .. } => {
                self.lanes[index].write_buffer(buffer, &draft.range_bytes());
            }
            Kind::Write | Kind::Compare if right => {
                for lba in at..at + count {
                    let stamp = match draft.kind {
                        Kind::Write => ticket,
                        // Mostly what is there: else nearly every compare would differ.
                        _ if self.random.chance(950) => self.oracle.likely(draft.namespace, lba),
                        _ => ticket,
                    };
                    wanted.push(stamp);
                }
                self.fill(draft, &wanted);
                self.lanes[index].write_buffer(buffer, &self.bytes);
            }
            _ => {}
        }
        if right && draft.kind.changes() {
            let stamp = match draft.kind {
                Kind::Write => ticket,
                _ => stamp::ZEROES,
            };
            self.oracle
                .write_sent(ticket, draft.namespace, &draft.ranges, stamp);
        }
        if right && draft.kind.looks() {
            self.oracle.read_sent(ticket, draft.namespace, (at, count));
        }
        wanted
    }

    fn fill(&mut self, draft: &Draft, stamps: &[Stamp]) {
        let block_bytes = draft.data_bytes / stamps.len();
        self.bytes.resize(draft.data_bytes, 0);
        let blocks = self.bytes.chunks_exact_mut(block_bytes);
        for ((lba, block), &stamp) in (draft.ranges[0].0..).zip(blocks).zip(stamps) {
            stamp::fill(block, draft.namespace, lba, stamp);
        }
    }

    /// Takes some completions of a lane.
    pub(crate) fn reap(&mut self, index: usize) -> Result<(), Caught> {
        let mut done = [Done::EMPTY; 16];
        let places = self.random.between(1, 16) as usize;
        let count = self.lanes[index].reap(&mut done[..places]);
        for one in &done[..count] {
            self.complete(index, one)?;
        }
        if self.lanes[index].overrun {
            return Err(Caught::world(format!(
                "lane {index}: the controller posted more completions than the queue had room for"
            )));
        }
        let bogus = self.lanes[index].pair.counters().bogus_completions;
        if bogus > 0 {
            return Err(Caught::world(format!(
                "lane {index}: {bogus} completions of commands that are not in flight"
            )));
        }
        Ok(())
    }

    /// Waits until nothing is in flight, and compares the books.
    pub(crate) fn quiesce(&mut self) -> Result<(), Caught> {
        let begin = self.now();
        for lane in &mut self.lanes {
            lane.deliver();
            lane.publish();
        }
        while self.lanes.iter().any(|lane| lane.pair.in_flight() > 0) {
            self.tick();
            for index in 0..self.lanes.len() {
                self.reap(index)?;
            }
            if self.now() - begin > limits::LOST_AFTER {
                let lost = self.lanes.iter().flat_map(|lane| lane.flights.keys());
                return Err(Caught::world(format!(
                    "commands {:?} are never answered",
                    lost.collect::<Vec<_>>()
                )));
            }
        }
        if self.oracle.under_way() > 0 || self.lanes.iter().any(|lane| !lane.flights.is_empty()) {
            return Err(Caught::world(
                "the books hold a command that no queue pair holds",
            ));
        }
        self.audit()
    }

    fn audit(&mut self) -> Result<(), Caught> {
        let counters = self.counters();
        let fetched = self.device.link_mut().fetched();
        if fetched != counters.commands + counters.admin_commands {
            return Err(Caught::world(format!(
                "ticks fetched {fetched} commands, counted are {} and {} admin commands",
                counters.commands, counters.admin_commands
            )));
        }
        self.accounts
            .audit(counters, self.device.admin_counters())?;
        self.note(Event::Quiet);
        Ok(())
    }

    /// The final pass: every block of every namespace, each read until its medium does not fail.
    fn read_everything(&mut self) -> Result<(), Caught> {
        for namespace in self.plan.namespaces.clone() {
            for lba in 0..namespace.blocks {
                self.read_at_last(&namespace, lba)?;
            }
        }
        Ok(())
    }

    fn read_at_last(&mut self, namespace: &NamespacePlan, lba: u64) -> Result<(), Caught> {
        let draft = Draft::read(namespace, (lba, 1));
        for _ in 0..limits::FINAL_ATTEMPTS {
            let refused = self.counters().refused;
            let index = self.random.below(self.lanes.len() as u64) as usize;
            self.send(index, &draft)?;
            self.quiesce()?;
            if self.counters().refused == refused {
                return Ok(());
            }
        }
        Err(Caught::world(format!(
            "namespace {} LBA {lba} cannot be read",
            namespace.id
        )))
    }

    /// What the driver tells its users to do after trouble: reset, abandon, revive (or delete and create).
    pub(crate) fn recover(&mut self) -> Result<(), Caught> {
        self.admin("reset", Device::reset)?;
        self.silent.clear();
        for index in 0..self.lanes.len() {
            self.abandon(index)?;
        }
        let (counters, admin) = (self.counters(), self.device.admin_counters());
        self.accounts.audit(counters, admin)?;
        for index in 0..self.lanes.len() {
            if self.random.chance(150) {
                self.replace_lane(index)?;
                continue;
            }
            let lane = &mut self.lanes[index];
            self.device
                .revive(&mut lane.pair)
                .map_err(|error| Caught::world(format!("revive: {error}")))?;
            lane.begin_anew();
        }
        self.note(Event::Recovered);
        Ok(())
    }

    /// Takes back what is in flight on a lane whose queues are gone.
    fn abandon(&mut self, index: usize) -> Result<(), Caught> {
        let mut tags = self.lanes[index].pair.abandon();
        tags.sort_unstable();
        if !tags.iter().eq(self.lanes[index].flights.keys()) {
            return Err(Caught::world(format!(
                "lane {index}: the driver abandons {tags:?}, in flight are {:?}",
                self.lanes[index].flights.keys()
            )));
        }
        self.give_up_flights(index);
        Ok(())
    }

    fn give_up_flights(&mut self, index: usize) {
        for (ticket, flight) in core::mem::take(&mut self.lanes[index].flights) {
            self.oracle.write_ended(ticket, false);
            self.oracle.read_given_up(ticket);
            self.accounts.given_up();
            self.lanes[index].give_buffer(flight.buffer);
            self.note(Event::GivenUp {
                lane: index,
                ticket,
            });
        }
    }

    /// Deletes a queue pair, whatever is in flight on it, and makes another of random depth.
    pub(crate) fn replace_lane(&mut self, index: usize) -> Result<(), Caught> {
        self.give_up_flights(index);
        let lane = self.lanes.remove(index);
        self.admin("delete a queue pair", |device| {
            device.delete_queue_pair(lane.pair)
        })?;
        self.device.free(lane.arena);
        let depth = draw_depth(&mut self.random);
        let lane = self.make_lane(index, depth)?;
        self.lanes.insert(index, lane);
        Ok(())
    }

    fn make_lane(&mut self, index: usize, depth: u32) -> Result<Lane, Caught> {
        let pair = self.admin("create a queue pair", |device| {
            device.create_queue_pair(depth)
        })?;
        let link = self.device.link_mut();
        let [submission, completion] = [0, 1].map(|queue| link.latest()[queue].window().clone());
        let doorbells = link.doorbells();
        let transfer_bytes_max = self.plan.transfer_bytes_max();
        let arena = self.admin("allocate", |device| {
            device.allocate(arena_bytes(depth, transfer_bytes_max))
        })?;
        self.note(Event::Created { lane: index, depth });
        Ok(Lane::new(
            pair,
            (&submission, &completion),
            &doorbells,
            arena,
            transfer_bytes_max,
        ))
    }
}

/// Shuts a device down; no memory may be left behind.
pub(crate) fn leave(device: Device<SimLink>) -> Result<(), Caught> {
    let link = device
        .shutdown()
        .map_err(|error| Caught::world(format!("shutdown: {error}")))?;
    match link.live().len() {
        0 => Ok(()),
        count => Err(Caught::world(format!(
            "{count} allocations are left after the shutdown"
        ))),
    }
}

/// Where a command's data are, as the driver is told.
fn place(lane: &Lane, buffer: Buffer, draft: &Draft, edge: &DmaBuffer) -> IoBuffer {
    let right = lane.io_buffer(buffer);
    let len = right.len();
    match draft.place {
        Place::Buffer => right,
        Place::Odd => IoBuffer::new(right.iova() + 2, len),
        Place::Unmapped => IoBuffer::new(UNMAPPED, len),
        Place::Edge => {
            // The last bytes that are mapped, and more.
            let half = u64::from(len / 2).clamp(4, PAGE);
            let end = edge.iova().get() + EDGE_PAGES * PAGE;
            IoBuffer::new(end - half + half % 4, len)
        }
    }
}
