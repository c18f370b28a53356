//! The driver's way to the controller, in virtual time.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use controller::{Controller, Turn};
use driver::{Link, LinkError};
use local::{Blueprint, Inline, LocalError};
use mem::{DmaBuffer, Window};
use spec::nvme::register::{self, Configuration, NSSR_MAGIC};

use crate::random::Random;

/// What strikes while the driver waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strike {
    /// An NVM subsystem reset, as another host of the subsystem may cause it.
    SubsystemReset,
    /// A PCI function reset.
    FunctionReset,
    /// The controller is enabled again with a memory page that it does not offer, so it fails (CSTS.CFS).
    Failure,
    /// The controller has no turn for so many microseconds.
    Deaf(u64),
}

/// A link whose clock moves only when somebody waits.
#[derive(Debug)]
pub struct SimLink {
    inner: Inline,
    now: Duration,
    random: Random,
    step_us_max: u64,
    deaf_until: Duration,
    /// Turns until it strikes, and what.
    armed: Option<(u64, Strike)>,
    struck: u64,
    live: BTreeMap<u64, usize>,
    latest: VecDeque<DmaBuffer>,
    fetched: u64,
}

impl SimLink {
    /// A link to a new controller. A wait moves the clock by 1 to `step_us_max` microseconds a turn.
    ///
    /// # Errors
    /// When the machine has no memory for it.
    pub fn new(device: Blueprint, step_us_max: u64, random: Random) -> Result<Self, LocalError> {
        Ok(Self {
            // The clock of the inner link is never read: turns are given with our time.
            inner: Inline::new(device, || Duration::ZERO)?,
            now: Duration::ZERO,
            random,
            step_us_max,
            deaf_until: Duration::ZERO,
            armed: None,
            struck: 0,
            live: BTreeMap::new(),
            latest: VecDeque::new(),
            fetched: 0,
        })
    }

    /// The virtual time.
    pub fn time(&self) -> Duration {
        self.now
    }

    /// Lets time pass without a turn for the controller.
    pub fn leap(&mut self, by: Duration) {
        self.now += by;
    }

    /// Lets a random moment pass and gives the controller a turn.
    pub fn turn(&mut self) -> Turn {
        self.now += Duration::from_micros(self.random.between(1, self.step_us_max));
        self.strike_if_due();
        if self.now < self.deaf_until {
            return Turn::default();
        }
        let now = self.now;
        let turn = self.inner.controller().tick(now);
        self.fetched += u64::from(turn.fetched);
        turn
    }

    /// The controller, to look at its counters or to meddle with it.
    pub fn controller(&mut self) -> &mut Controller {
        self.inner.controller()
    }

    /// Commands that the controller said it took.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// Allocations that were not freed: address and length.
    pub fn live(&self) -> &BTreeMap<u64, usize> {
        &self.live
    }

    /// The last three allocations, oldest first: after a queue pair was created, its submission queue, its completion queue
    /// and its PRP lists.
    pub fn latest(&self) -> &VecDeque<DmaBuffer> {
        &self.latest
    }

    /// Has something strike after so many turns, instead of what was armed before.
    pub fn arm(&mut self, turns: u64, strike: Strike) {
        self.armed = Some((turns, strike));
    }

    /// Nothing strikes any more.
    pub fn disarm(&mut self) {
        self.armed = None;
    }

    /// Whether something is yet to strike.
    pub fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// How often something struck.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    fn strike_if_due(&mut self) {
        match self.armed {
            Some((0, strike)) => {
                self.armed = None;
                self.struck += 1;
                self.strike(strike);
            }
            Some((turns, strike)) => self.armed = Some((turns - 1, strike)),
            None => {}
        }
    }

    /// Does it now.
    pub fn strike(&mut self, strike: Strike) {
        let controller = self.inner.controller();
        match strike {
            Strike::SubsystemReset => {
                controller.write_register(register::NSSR, 4, NSSR_MAGIC.into());
            }
            Strike::FunctionReset => controller.reset(),
            Strike::Failure => {
                let found = controller.read_register(register::CC, 4) as u32;
                let disabled = Configuration::from_bits(found).with_en(false);
                let wrong = disabled.with_mps(7).with_en(true);
                for value in [disabled, wrong] {
                    controller.write_register(register::CC, 4, value.bits().into());
                }
            }
            Strike::Deaf(us) => self.deaf_until = self.now + Duration::from_micros(us),
        }
    }
}

impl Link for SimLink {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        self.inner.read_register(offset, bytes)
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        self.inner.write_register(offset, bytes, value)
    }

    fn doorbells(&self) -> Window {
        self.inner.doorbells()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let buffer = self.inner.allocate(bytes)?;
        self.live.insert(buffer.iova().get(), buffer.len());
        if self.latest.len() == 3 {
            self.latest.pop_front();
        }
        self.latest.push_back(buffer.clone());
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        self.live.remove(&buffer.iova().get());
        self.inner.free(buffer);
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn relax(&mut self) {
        self.turn();
    }
}
