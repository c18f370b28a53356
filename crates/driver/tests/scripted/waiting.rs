//! Waits that end early, waits that go on, and what the controller is told meanwhile.

use core::time::Duration;

use driver::{Device, DriverError, Link, LinkError, Options, limits};
use mem::{DmaBuffer, Window};
use ring::Register32;
use spec::QueueId;
use spec::nvme::admin_opcode;
use spec::nvme::register::{self, ControllerStatus};

use crate::controller::{Script, Scripted};
use crate::open_well;

#[test]
fn a_controller_that_fails_or_goes_is_noticed_within_two_looks_at_its_status() {
    let opcode = admin_opcode::KEEP_ALIVE;
    for gone in [false, true] {
        let mut device = open_well(Script::default());
        let begin = device.link_mut().now;
        if gone {
            device.link_mut().script.gone_at = Some(opcode);
        } else {
            device.link_mut().script.fatal_at = Some(opcode);
        }
        match device.keep_alive() {
            Err(DriverError::Gone { .. }) => assert!(gone),
            Err(DriverError::Fatal { .. }) => assert!(!gone),
            other => panic!("{other:?}"),
        }
        let waited = device.link_mut().now - begin;
        assert!(waited <= 2 * limits::STATUS_PERIOD, "{waited:?}");
    }
}

#[test]
fn the_controller_is_told_of_each_completion_that_was_taken() {
    let mut device = open_well(Script::default());
    let doorbell = register::completion_doorbell(QueueId::ADMIN, 0) - register::DOORBELLS;
    for _ in 0..2 * limits::ADMIN_ENTRIES {
        device.keep_alive().expect("the script lets it");
        let link = device.link_mut();
        let completed = (link.commands.len() - link.waiting_events.len()) as u32;
        let doorbells = link.doorbells();
        let head = doorbells.register32(doorbell as usize).expect("mapped");
        assert_eq!(head.load_acquire(), completed % limits::ADMIN_ENTRIES);
    }
}

/// A controller that some other host left failed, and that takes a while to notice that it is disabled.
#[derive(Debug)]
struct Lingering {
    inner: Scripted,
    /// How often CSTS still reads as ready and failed.
    looks: u32,
}

impl Link for Lingering {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        if offset == register::CSTS && self.looks > 0 {
            self.looks -= 1;
            let failed = ControllerStatus::default().with_rdy(true).with_cfs(true);
            return Ok(failed.bits().into());
        }
        self.inner.read_register(offset, bytes)
    }
    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        self.inner.write_register(offset, bytes, value)
    }
    fn doorbells(&self) -> Window {
        self.inner.doorbells()
    }
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        self.inner.allocate(bytes)
    }
    fn free(&mut self, buffer: DmaBuffer) {
        self.inner.free(buffer);
    }
    fn now(&mut self) -> Duration {
        self.inner.now()
    }
    fn relax(&mut self) {
        self.inner.relax();
    }
}

#[test]
fn a_controller_that_was_found_failed_is_waited_for_until_it_is_disabled() {
    let script = Script {
        found_enabled: true,
        ..Script::default()
    };
    let link = Lingering {
        inner: Scripted::new(script),
        looks: 5,
    };
    let device = Device::open(link, Options::default()).expect("a reset helps");
    assert_eq!(device.namespaces().len(), 1);
}
