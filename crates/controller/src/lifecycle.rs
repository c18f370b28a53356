//! The controller's life: enable, shutdown, resets, failure, and what time brings.
//!
//! *Disabled* -> CC.EN 1 -> *ready*, or *failed* when the host asked for what is not offered. *Ready* -> CC.SHN -> shutting
//! down -> shut down; nothing is fetched from CC.SHN on. Any state -> CC.EN 0 or another reset -> *disabled*, without queues.

use core::fmt;

use mem::MappedWords;
use spec::nvme::register::{
    AdminQueueAttributes, CQ_ENTRY_SHIFT, CommandSetSelected, Configuration, SQ_ENTRY_SHIFT,
    ShutdownNotification,
};
use spec::nvme::{CompletionEntry, Status, SubmissionEntry};

use crate::registers::Shutdown;
use crate::{Controller, limits};

/// Why the controller gave up (CSTS.CFS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// CC.MPS asks for a memory page that CAP does not offer.
    PageSize {
        /// The field: 2 to the power of 12 plus this.
        mps: u8,
    },
    /// CC.CSS selects a command set that CAP does not offer.
    CommandSet {
        /// The field.
        css: u8,
    },
    /// CC.AMS selects an arbitration that CAP does not offer.
    Arbitration {
        /// The field.
        ams: u8,
    },
    /// CC.IOSQES or CC.IOCQES is neither the one size there is nor zero.
    EntrySize {
        /// The field IOSQES.
        iosqes: u8,
        /// The field IOCQES.
        iocqes: u8,
    },
    /// AQA asks for an admin queue of a single entry.
    AdminQueueSize {
        /// Entries of the submission queue.
        submission: u32,
        /// Entries of the completion queue.
        completion: u32,
    },
    /// ASQ or ACQ names memory that the host did not map for the controller.
    AdminQueueMemory {
        /// The address.
        address: u64,
        /// The bytes that have to be there.
        bytes: u64,
    },
    /// The host let the Keep Alive Timer run out.
    KeepAlive,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageSize { mps } => write!(f, "CC.MPS is {mps}; 0 (4 KiB) is offered"),
            Self::CommandSet { css } => write!(f, "CC.CSS is {css}; 0 (NVM) is offered"),
            Self::Arbitration { ams } => write!(f, "CC.AMS is {ams}; 0 (round robin) is offered"),
            Self::EntrySize { iosqes, iocqes } => write!(
                f,
                "CC.IOSQES is {iosqes} and CC.IOCQES is {iocqes}; {SQ_ENTRY_SHIFT} and {CQ_ENTRY_SHIFT} are offered"
            ),
            Self::AdminQueueSize {
                submission,
                completion,
            } => write!(
                f,
                "AQA asks for {submission} submission and {completion} completion entries; both are at least 2"
            ),
            Self::AdminQueueMemory { address, bytes } => write!(
                f,
                "an admin queue of {bytes} bytes at {address:#x} is not in the memory that the host mapped"
            ),
            Self::KeepAlive => write!(f, "the Keep Alive Timer expired"),
        }
    }
}

impl Controller {
    /// Why the controller set CSTS.CFS since CC.EN was last set.
    pub fn failure(&self) -> Option<Failure> {
        self.registers.failure
    }

    /// Resets everything that a PCI function reset does: like clearing CC.EN, and the admin queue registers as well.
    pub fn reset(&mut self) {
        self.reset_controller();
        self.registers.reset_function();
    }

    /// NVM Subsystem Reset [NVMe Base 2.0 §3.7.1]: the subsystem is this controller.
    pub(crate) fn reset_subsystem(&mut self) {
        self.reset();
        self.registers.set_subsystem_reset_occurred();
    }

    /// A write to CC.
    pub(crate) fn configure(&mut self, wanted: Configuration) {
        let old = self.registers.configuration;
        match (old.en(), wanted.en()) {
            (false, true) => {
                self.registers.set_shutdown(Shutdown::None);
                self.registers.configuration = wanted;
                self.enable(wanted);
            }
            (true, false) => {
                self.reset_controller();
                self.registers.configuration = wanted;
            }
            // These fields only count at the moment of enabling; what was enabled keeps being shown.
            (true, true) => {
                self.registers.configuration = wanted
                    .with_css(old.css())
                    .with_mps(old.mps())
                    .with_ams(old.ams());
            }
            (false, false) => self.registers.configuration = wanted,
        }
        let asked = |notification| {
            matches!(
                notification,
                ShutdownNotification::Normal | ShutdownNotification::Abrupt
            )
        };
        if asked(wanted.shutdown()) && !asked(old.shutdown()) {
            // Abrupt only says that the host did not tidy up first; what it wrote is worth as much.
            self.registers.set_shutdown(Shutdown::Asked);
            self.hurry_all();
            self.wake();
        }
    }

    fn enable(&mut self, wanted: Configuration) {
        self.registers.failure = None;
        let checked = self.check_configuration(wanted);
        if checked.is_ok() && self.registers.is_draining() {
            return; // `end_reset` goes on once media have answered for the last life
        }
        match checked.and_then(|()| self.create_admin_queues()) {
            Ok(()) => {
                self.registers.set_ready();
                self.wake();
            }
            Err(failure) => self.fail(failure),
        }
    }

    fn check_configuration(&self, wanted: Configuration) -> Result<(), Failure> {
        if wanted.mps() != 0 {
            return Err(Failure::PageSize { mps: wanted.mps() });
        }
        if wanted.command_set() != CommandSetSelected::Nvm {
            return Err(Failure::CommandSet { css: wanted.css() });
        }
        if wanted.ams() != 0 {
            return Err(Failure::Arbitration { ams: wanted.ams() });
        }
        // Zero is "not chosen yet": a host may choose until it creates the first I/O queue.
        let (iosqes, iocqes) = (wanted.iosqes(), wanted.iocqes());
        let known = |shift, offered| shift == 0 || shift == offered;
        if !known(iosqes, SQ_ENTRY_SHIFT) || !known(iocqes, CQ_ENTRY_SHIFT) {
            return Err(Failure::EntrySize { iosqes, iocqes });
        }
        Ok(())
    }

    fn create_admin_queues(&mut self) -> Result<(), Failure> {
        let sizes: AdminQueueAttributes = self.registers.admin_queues;
        let (submission, completion) = (sizes.submission_entries(), sizes.completion_entries());
        if submission < 2 || completion < 2 {
            return Err(Failure::AdminQueueSize {
                submission,
                completion,
            });
        }
        let address = self.registers.admin_submission;
        let submission_words = self.admin_words(address, submission, SubmissionEntry::BYTES)?;
        let address = self.registers.admin_completion;
        let completion_words = self.admin_words(address, completion, CompletionEntry::BYTES)?;
        let Self {
            queues, doorbells, ..
        } = self;
        let created = queues
            .create_cq(0, completion_words, completion, Some(0), doorbells)
            .and_then(|()| queues.create_sq(0, 0, submission_words, submission, doorbells));
        assert!(
            created.is_ok(),
            "a reset left no queue behind, and doorbells hold the admin pair"
        );
        Ok(())
    }

    fn admin_words(
        &self,
        address: u64,
        entries: u32,
        entry_bytes: usize,
    ) -> Result<MappedWords, Failure> {
        let bytes = entries as usize * entry_bytes;
        self.queue_words(address, bytes)
            .ok_or(Failure::AdminQueueMemory {
                address,
                bytes: bytes as u64,
            })
    }

    /// The memory of a queue, if the host mapped all of it in one piece.
    pub(crate) fn queue_words(&self, address: u64, bytes: usize) -> Option<MappedWords> {
        self.memory.window(address, bytes)?.words()
    }

    /// Gives up: CSTS.CFS is set and nothing is fetched until the host resets the controller.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.counters.failures += 1;
        self.registers.set_failed(failure);
    }

    /// What every Controller Level Reset does [NVMe Base 2.0 §3.7.2]. Commands in flight get no completion, and CSTS.RDY
    /// stays 1, or does not become 1 again, until media have answered the last of them: a write of before the reset must
    /// not fall on what the host writes after it.
    fn reset_controller(&mut self) {
        self.counters.resets += 1;
        self.queues.reset();
        self.hurry_all();
        self.flights.disown_all();
        self.features.reset(&self.config);
        self.apply_write_cache();
        self.events.reset();
        self.registers.reset(self.flights.any());
        self.take_interrupts();
    }

    fn hurry_all(&mut self) {
        for (token, _) in self.flights.in_the_air() {
            self.namespaces.hurry(token);
        }
    }

    /// Ends a reset that waited for media.
    fn end_reset(&mut self) {
        self.registers.drained();
        if self.registers.configuration.en() && self.registers.failure.is_none() {
            self.enable(self.registers.configuration);
        }
    }

    /// Has the next tick look at what time brings.
    pub(crate) fn wake(&mut self) {
        self.registers.wake_at = core::time::Duration::ZERO;
    }

    /// What time brings, on each tick: asynchronous events, the Keep Alive Timer, the end of a shutdown.
    #[inline]
    pub(crate) fn keep_time(&mut self) {
        if self.now >= self.registers.wake_at {
            self.keep_time_now();
        }
    }

    #[cold]
    fn keep_time_now(&mut self) {
        if self.registers.is_draining() && !self.flights.any() {
            self.end_reset();
        }
        self.delete_left_queues();
        self.shut_down();
        if self.registers.is_serving() && self.now >= self.features.keep_alive_deadline() {
            self.logs.note_controller_error(Status::KEEP_ALIVE_EXPIRED);
            self.fail(Failure::KeepAlive);
        }
        if self.registers.is_serving() {
            self.deliver_events();
        }
        self.registers.wake_at = self.next_wake();
    }

    fn next_wake(&self) -> core::time::Duration {
        let shutting_down = matches!(
            self.registers.shutdown(),
            Shutdown::Asked | Shutdown::Flushing
        );
        let serving = self.registers.is_serving();
        let leaving = self.registers.is_draining() || !self.queues.leaving.is_empty();
        if shutting_down || leaving || (serving && self.events.deliverable()) {
            core::time::Duration::ZERO
        } else if serving {
            self.features.keep_alive_deadline()
        } else {
            core::time::Duration::MAX
        }
    }

    /// Moves a shutdown forward [NVMe Base 2.0 §3.6]: every namespace is flushed, then CSTS.SHST says complete.
    fn shut_down(&mut self) {
        if self.registers.shutdown() == Shutdown::Asked && self.flights.next().is_some() {
            self.flush_for_shutdown();
            self.registers.set_shutdown(Shutdown::Flushing);
        }
        if self.registers.shutdown() == Shutdown::Flushing && !self.flights.awaited() {
            self.registers.set_shutdown(Shutdown::Complete);
        }
    }
}

const _: () = assert!(limits::ADMIN_ENTRIES_MAX == AdminQueueAttributes::ENTRIES_MAX);
