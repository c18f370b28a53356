//! The controller in the driver's own thread.

use core::time::Duration;

use controller::{Controller, Turn};
use driver::{Link, LinkError};
use mem::{DmaBuffer, Window};

use crate::memory::HostMemory;
use crate::{Blueprint, Clock, LocalError};

/// A link to a controller that runs when it is given a turn: after doorbells, or while waiting.
#[derive(Debug)]
pub struct Inline {
    controller: Controller,
    memory: HostMemory,
    clock: Clock,
    now: Duration,
    instant: bool,
}

impl Inline {
    /// Makes the device.
    ///
    /// # Errors
    /// When its configuration is wrong or the machine refuses memory.
    pub fn new(device: Blueprint, clock: Clock) -> Result<Self, LocalError> {
        let (controller, memory) = device.build()?;
        Ok(Self {
            instant: controller.is_instant(),
            controller,
            memory,
            clock,
            now: clock(),
        })
    }

    /// Gives the controller one turn. This is the hot path: no clock is read, unless media wait for the time.
    #[inline]
    pub fn turn(&mut self) -> Turn {
        if !self.instant {
            self.now = (self.clock)();
        }
        self.controller.tick(self.now)
    }

    /// The controller, to look at its counters or to meddle with it in tests.
    pub fn controller(&mut self) -> &mut Controller {
        &mut self.controller
    }
}

impl Link for Inline {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        Ok(self.controller.read_register(offset, bytes))
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        self.controller.write_register(offset, bytes, value);
        Ok(())
    }

    fn doorbells(&self) -> Window {
        self.memory.doorbells.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let buffer = self.memory.allocate(bytes)?;
        self.controller.set_memory(self.memory.map.table());
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        self.memory.free(&buffer);
        self.controller.set_memory(self.memory.map.table());
    }

    fn now(&mut self) -> Duration {
        self.now = (self.clock)();
        self.now
    }

    fn relax(&mut self) {
        self.turn();
    }
}
