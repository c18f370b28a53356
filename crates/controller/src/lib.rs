//! The NVMe controller: a device model that is only a state machine.
//!
//! # For
//! Everything an NVMe controller does between a doorbell and a completion: registers, admin commands, I/O commands,
//! namespaces, log pages, asynchronous events. Ports put it on a wire; `local` puts it beside a driver in one process.
//!
//! # In
//! Register accesses, doorbell values and queue entries from a host that may be hostile; the time with every
//! [`Controller::tick`]; namespaces as [`media::Media`].
//!
//! # Out
//! Completion entries in the host's memory, register values, interrupt requests ([`Controller::take_interrupts`]).
//!
//! # Never
//! No files, sockets, threads, clocks or randomness, and no `unsafe`. Nothing that a host writes panics, hangs or leaks:
//! it earns a status, an asynchronous event or CSTS.CFS.
//!
//! # Limits
//! `limits.rs`: queue pairs, queue entries, transfer size, commands in flight, namespaces, each with its reason.
//!
//! # Read first
//! `fetch.rs` (the tick), then `io.rs` and `complete.rs`: the walk of one command. Doorbell and register writes are in
//! `registers.rs`, enable, shutdown and resets in `lifecycle.rs`, admin commands in `admin/`.
//!
//! A driver of your own is tested against this controller in ten lines, of which the last five are your driver's; in
//! `examples/own_driver.rs` it goes on to create queues, write and read:
//!
//! ```
//! # use {controller::NamespaceConfig, driver::Link, local::{Blueprint, Threaded}, media::{BlockSize, RamMedia}};
//! # use {core::time::Duration, mem::Backing, spec::{BlockCount, NamespaceId}};
//! let ram = RamMedia::new(BlockCount::new(2048), BlockSize::B512, Backing::Anonymous)?;
//! let namespace = NamespaceConfig { id: NamespaceId::new(1), media: Box::new(ram) };
//! let mut drive = Threaded::new(Blueprint::new(vec![namespace]), || Duration::ZERO, || {})?;
//! let queues = drive.allocate(8192)?; // DMA memory: `window()` is yours to write, `iova()` what the controller is told
//! drive.write_register(0x24, 4, 0x003f_003f)?; // AQA: 64 entries in each admin queue
//! drive.write_register(0x28, 8, queues.iova().get())?; // ASQ
//! drive.write_register(0x30, 8, queues.iova().get() + 4096)?; // ACQ
//! drive.write_register(0x14, 4, 0x0046_0001)?; // CC: entries of 64 and 16 bytes, enable
//! assert_eq!(drive.read_register(0x1c, 4)? & 1, 1); // CSTS.RDY
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod admin;
mod complete;
mod config;
mod counters;
mod dsm;
mod events;
mod features;
mod fetch;
mod flight;
mod io;
mod lifecycle;
pub mod limits;
mod logs;
mod namespace;
mod prp;
mod queues;
mod registers;
mod run;

use core::time::Duration;
use std::sync::Arc;

use media::MediaCounts;
use mem::{IovaTable, Window};

pub use complete::Vectors;
pub use config::{Config, ConfigError, NamespaceConfig};
pub use counters::Counters;
pub use fetch::Turn;
pub use lifecycle::Failure;

use events::Events;
use features::Features;
use flight::Flights;
use logs::Logs;
use namespace::NamespaceTable;
use queues::QueueTable;
use registers::Registers;
use spec::nvme::Status;

/// An NVMe controller with its namespaces.
///
/// One thread owns a controller. Its life is the standard's: *disabled* (CC.EN 0: only registers act), *ready*
/// (CSTS.RDY 1: queues are served by [`tick`](Self::tick)), *failed* (CSTS.CFS 1: nothing is served until a reset).
#[derive(Debug)]
pub struct Controller {
    pub(crate) config: Config,
    pub(crate) registers: Registers,
    pub(crate) queues: QueueTable,
    pub(crate) flights: Flights,
    pub(crate) namespaces: NamespaceTable,
    pub(crate) features: Features,
    pub(crate) logs: Logs,
    pub(crate) events: Events,
    pub(crate) memory: Arc<IovaTable>,
    pub(crate) doorbells: Window,
    pub(crate) counters: Counters,
    pub(crate) interrupts: Vectors,
    pub(crate) now: Duration,
}

/// What an admin command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Complete it with this status.
    Done(Status),
    /// Complete it with this status and command-specific result (dword 0).
    DoneWith(Status, u32),
    /// Its completion comes later, of its own accord (Asynchronous Event Request).
    Parked,
}

impl Controller {
    /// Makes a controller in its power-on state.
    ///
    /// `memory` is what the host's addresses mean; `doorbells` is the memory behind BAR0 from offset 1000h on, which the
    /// host may map and write without telling anybody.
    ///
    /// # Errors
    /// When the configuration asks for what `limits.rs` or the standard does not allow.
    pub fn new(
        config: Config,
        namespaces: Vec<NamespaceConfig>,
        memory: Arc<IovaTable>,
        doorbells: Window,
    ) -> Result<Self, ConfigError> {
        config.check(&doorbells)?;
        let namespaces = NamespaceTable::new(namespaces)?;
        Ok(Self {
            registers: Registers::new(&config),
            queues: QueueTable::new(config.queue_pairs),
            flights: Flights::new(),
            namespaces,
            features: Features::new(&config),
            logs: Logs::new(&config),
            events: Events::new(&config),
            memory,
            doorbells,
            counters: Counters::default(),
            interrupts: Vectors::default(),
            now: Duration::ZERO,
            config,
        })
    }

    /// Replaces what the host's addresses mean. Queues that exist keep the memory that they were created on.
    pub fn set_memory(&mut self, memory: Arc<IovaTable>) {
        self.memory = memory;
    }

    /// What the controller has counted since it was made. A reset does not clear it.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The configuration that the controller was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether every command is answered in the tick that fetched it, whatever the time. If not, ticks should be given a
    /// fresh time each.
    pub fn is_instant(&self) -> bool {
        self.namespaces.are_instant()
    }

    /// What the media of all namespaces counted.
    pub fn media_counts(&self) -> MediaCounts {
        let mut sum = MediaCounts::default();
        for namespace in self.namespaces.iter() {
            sum += namespace.media.counts();
        }
        sum
    }

    /// Whether every namespace moves bytes; if not, figures must say "no data moved".
    pub fn moves_data(&self) -> bool {
        self.namespaces
            .iter()
            .all(|namespace| namespace.media.moves_data())
    }
}
