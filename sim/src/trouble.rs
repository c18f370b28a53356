//! Troubles: what happens to a world in the middle of its work.

use core::fmt;
use core::time::Duration;

use driver::{AdminData, DriverError};
use spec::nvme::feature::TemperatureThreshold;
use spec::nvme::register::{
    self, Configuration, ControllerStatus, ShutdownNotification, ShutdownStatus,
};
use spec::nvme::{Abort, AsyncEvent, Status, SubmissionEntry, admin_opcode, feature_id, log_id};
use spec::{CommandId, NamespaceId, QueueId};

use crate::limits;
use crate::link::Strike;
use crate::report::Caught;
use crate::trace::Event;
use crate::world::World;

/// Which troubles are fair: what a host may do or must survive. Resets of every kind, at any moment; a shutdown
/// notification in the middle of work; an enable that asks for what is not offered; a host that lets the Keep Alive Timer
/// run out; doorbell values that no queue has, doorbells of no queue; queues that come and go with commands in flight;
/// admin commands, right and wrong, beside I/O; writes to registers that do not act; doorbell writes that arrive late.
///
/// Unfair, and never drawn: a tail that is possible but names entries that were never written, a head that gives away
/// completions that were not read, memory changed while a command uses it. There a host destroys its own data, and no
/// controller can help it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The driver resets the controller.
    Reset,
    /// Something else resets or fails it.
    Strike(Strike),
    /// CC.SHN, normal or abrupt.
    Shutdown {
        /// Abrupt.
        abrupt: bool,
    },
    /// The host lets the Keep Alive Timer run out.
    KeepAlive,
    /// A tail beyond the end of a submission queue, in mapped memory.
    BadTail {
        /// The queue pair.
        lane: usize,
    },
    /// A head beyond the end of a completion queue, in mapped memory: seen only when the controller looks.
    BadHead {
        /// The queue pair.
        lane: usize,
    },
    /// A doorbell write to a register: of a queue that does not exist, or a value that it does not have.
    BadDoorbell {
        /// Bytes into BAR0.
        offset: u32,
        /// What is written.
        value: u32,
    },
    /// The over temperature threshold sinks below the temperature.
    Temperature,
    /// A namespace changed its attributes.
    NamespaceChange,
    /// A queue pair is deleted with commands in flight, and another one created.
    DeleteQueue {
        /// The queue pair.
        lane: usize,
    },
    /// Abort of some I/O command.
    Abort {
        /// The submission queue, which may not exist.
        queue: u16,
        /// The command, which may not exist.
        command: u16,
    },
    /// Register writes that must not act.
    RegisterNoise,
    /// Admin commands that are refused.
    WrongAdmin,
    /// Admin commands that are not.
    Chat,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset => write!(f, "the driver resets the controller"),
            Self::Strike(strike) => write!(f, "strike: {strike:?}"),
            Self::Shutdown { abrupt: false } => write!(f, "shutdown notification, normal"),
            Self::Shutdown { abrupt: true } => write!(f, "shutdown notification, abrupt"),
            Self::KeepAlive => write!(f, "the Keep Alive Timer runs out"),
            Self::BadTail { lane } => write!(f, "lane {lane}: a tail beyond the queue's end"),
            Self::BadHead { lane } => write!(f, "lane {lane}: a head beyond the queue's end"),
            Self::BadDoorbell { offset, value } => {
                write!(f, "doorbell register {offset:#x} = {value}")
            }
            Self::Temperature => write!(f, "temperature threshold below the temperature"),
            Self::NamespaceChange => write!(f, "a namespace changes its attributes"),
            Self::DeleteQueue { lane } => write!(f, "lane {lane}: deleted with all in flight"),
            Self::Abort { queue, command } => write!(f, "Abort of queue {queue} command {command}"),
            Self::RegisterNoise => write!(f, "register writes that must not act"),
            Self::WrongAdmin => write!(f, "admin commands that are refused"),
            Self::Chat => write!(f, "admin commands"),
        }
    }
}

impl World<'_> {
    /// Draws a trouble and lives through it.
    pub(crate) fn trouble(&mut self) -> Result<(), Caught> {
        let trouble = self.draw_trouble();
        self.note(Event::Trouble(trouble));
        self.troubles += 1;
        match trouble {
            Trouble::Reset => self.recover(),
            Trouble::Strike(strike) => self.be_struck(strike),
            Trouble::Shutdown { abrupt } => self.be_shut_down(abrupt),
            Trouble::KeepAlive => self.fall_silent(),
            Trouble::BadTail { lane } => self.bad_tail(lane),
            Trouble::BadHead { lane } => self.bad_head(lane),
            Trouble::BadDoorbell { offset, value } => self.bad_doorbell(offset, value),
            Trouble::Temperature => self.heat(),
            Trouble::NamespaceChange => self.change_namespace(),
            Trouble::DeleteQueue { lane } => self.replace_lane(lane),
            Trouble::Abort { queue, command } => self.abort(queue, command),
            Trouble::RegisterNoise => self.register_noise(),
            Trouble::WrongAdmin => self.wrong_admin(),
            Trouble::Chat => self.chat(),
        }
    }

    fn draw_trouble(&mut self) -> Trouble {
        let lane = self.random.below(self.lanes.len() as u64) as usize;
        match self.random.below(20) {
            0 => Trouble::Reset,
            1 => Trouble::Strike(Strike::SubsystemReset),
            2 => Trouble::Strike(Strike::FunctionReset),
            3 => Trouble::Strike(Strike::Failure),
            4 => Trouble::Shutdown {
                abrupt: self.random.chance(500),
            },
            5 => Trouble::KeepAlive,
            6 | 7 => Trouble::BadTail { lane },
            8 => Trouble::BadHead { lane },
            9 | 10 => self.draw_bad_doorbell(lane),
            11 => Trouble::Temperature,
            12 => Trouble::NamespaceChange,
            13 | 14 => Trouble::DeleteQueue { lane },
            15 => Trouble::Abort {
                queue: self.random.between(0, 6) as u16,
                command: self.random.below(80) as u16 + 40,
            },
            16 => Trouble::RegisterNoise,
            17 => Trouble::WrongAdmin,
            _ => Trouble::Chat,
        }
    }

    /// A doorbell write that no host should make, drawn so that it can be nothing else.
    fn draw_bad_doorbell(&mut self, lane: usize) -> Trouble {
        let pair = &self.lanes[lane].pair;
        let (id, depth) = (pair.id(), pair.depth());
        let beyond = depth + self.random.below(1000) as u32;
        let nobody = QueueId::new(100 + self.random.below(28) as u16);
        let (offset, value) = match self.random.below(4) {
            0 => (register::submission_doorbell(id, 0), beyond),
            1 => (register::completion_doorbell(id, 0), beyond),
            2 => (register::submission_doorbell(nobody, 0), 0),
            _ => (register::completion_doorbell(nobody, 0), 1),
        };
        Trouble::BadDoorbell { offset, value }
    }

    fn be_struck(&mut self, strike: Strike) -> Result<(), Caught> {
        self.device.link_mut().strike(strike);
        let fetched = self.counters().commands;
        self.tick();
        let health = self.device.check_health();
        let right = match strike {
            Strike::Failure => {
                self.accounts.failures += 1;
                matches!(health, Err(DriverError::Fatal { .. }))
            }
            Strike::SubsystemReset | Strike::FunctionReset => {
                matches!(health, Err(DriverError::NotReady { .. }))
            }
            Strike::Deaf(_) => health.is_ok(),
        };
        if !right {
            return Err(Caught::world(format!(
                "after {strike:?} the driver found the controller {health:?}"
            )));
        }
        self.fetched_nothing_since(fetched, "after it went down")?;
        if strike == Strike::SubsystemReset {
            self.clear_subsystem_reset()?;
        }
        self.recover()
    }

    fn fetched_nothing_since(&mut self, before: u64, when: &str) -> Result<(), Caught> {
        let now = self.counters().commands;
        if now == before {
            return Ok(());
        }
        let count = now - before;
        Err(Caught::world(format!(
            "the controller fetched {count} commands {when}"
        )))
    }

    fn status(&mut self) -> ControllerStatus {
        let found = self
            .device
            .link_mut()
            .controller()
            .read_register(register::CSTS, 4);
        ControllerStatus::from_bits(found as u32)
    }

    /// NSSRO says that it happened, and goes away when the host has taken note.
    fn clear_subsystem_reset(&mut self) -> Result<(), Caught> {
        let before = self.status();
        let controller = self.device.link_mut().controller();
        controller.write_register(register::CSTS, 4, before.bits().into());
        if before.nssro() && !self.status().nssro() {
            return Ok(());
        }
        Err(Caught::world("CSTS.NSSRO does not tell of the reset"))
    }

    /// A shutdown notification: nothing more is fetched, what was fetched may end, everything is flushed.
    fn be_shut_down(&mut self, abrupt: bool) -> Result<(), Caught> {
        let controller = self.device.link_mut().controller();
        let found = Configuration::from_bits(controller.read_register(register::CC, 4) as u32);
        let notification = match abrupt {
            true => ShutdownNotification::Abrupt,
            false => ShutdownNotification::Normal,
        };
        let shn = (1..=2)
            .find(|&shn| found.with_shn(shn).shutdown() == notification)
            .expect("two notifications");
        controller.write_register(register::CC, 4, found.with_shn(shn).bits().into());
        let fetched = self.counters().commands;
        let begin = self.now();
        while self.status().shutdown() != ShutdownStatus::Complete {
            self.tick();
            let lane = self.random.below(self.lanes.len() as u64) as usize;
            self.reap(lane)?;
            if self.now() - begin > limits::LOST_AFTER {
                return Err(Caught::world("the shutdown does not complete"));
            }
        }
        self.fetched_nothing_since(fetched, "after the shutdown notification")?;
        self.recover()
    }

    /// While Keep Alives come in time nothing happens, however long it lasts; when they stop, the controller fails.
    fn fall_silent(&mut self) -> Result<(), Caught> {
        let timeout = Duration::from_millis(100 * self.random.between(1, 20));
        self.admin("set the Keep Alive Timer", |device| {
            device.set_keep_alive(Some(timeout))
        })?;
        for _ in 0..self.random.below(4) {
            self.device.link_mut().leap(timeout * 3 / 5);
            let sent = self.admin("keep alive", |device| device.keep_alive_if_due())?;
            if !sent {
                return Err(Caught::world(
                    "no Keep Alive was due after 60 % of the time",
                ));
            }
            self.device
                .check_health()
                .map_err(|error| Caught::world(format!("kept alive, but: {error}")))?;
        }
        self.device
            .link_mut()
            .leap(timeout + Duration::from_millis(1));
        self.tick();
        let health = self.device.check_health();
        if !matches!(health, Err(DriverError::Fatal { .. })) {
            return Err(Caught::world(format!(
                "{timeout:?} without a Keep Alive, but the controller is {health:?}"
            )));
        }
        self.accounts.failures += 1;
        self.recover()?;
        self.admin("stop the Keep Alive Timer", |device| {
            device.set_keep_alive(None)
        })
    }

    fn bad_tail(&mut self, lane: usize) -> Result<(), Caught> {
        let beyond = self.lanes[lane].pair.depth() + self.random.below(70_000) as u32;
        self.lanes[lane].tail.write(beyond);
        self.accounts.bad_doorbells += 1;
        for _ in 0..self.random.between(1, 3) {
            self.tick(); // the same value is reported once, however often it is looked at
        }
        self.lanes[lane].tail.restore();
        self.expect_event(AsyncEvent::INVALID_DOORBELL_VALUE)
    }

    /// Whether the controller looks depends on how full it thinks the queue is, so it may or may not complain.
    fn bad_head(&mut self, lane: usize) -> Result<(), Caught> {
        let beyond = self.lanes[lane].pair.depth() + self.random.below(70_000) as u32;
        let before = self.counters().bad_doorbells;
        self.lanes[lane].head.write(beyond);
        for _ in 0..self.random.between(1, 3) {
            self.tick();
        }
        self.lanes[lane].head.restore();
        let counted = self.counters().bad_doorbells - before;
        if counted > 1 {
            return Err(Caught::world(format!(
                "one bad head counted {counted} times"
            )));
        }
        self.accounts.bad_doorbells += counted;
        if counted == 1 {
            self.expect_event(AsyncEvent::INVALID_DOORBELL_VALUE)?;
        }
        Ok(())
    }

    fn bad_doorbell(&mut self, offset: u32, value: u32) -> Result<(), Caught> {
        self.accounts.bad_doorbells += 1;
        let controller = self.device.link_mut().controller();
        controller.write_register(offset, 4, value.into());
        let nobody = register::submission_doorbell(QueueId::new(100), 0);
        self.expect_event(match offset < nobody {
            true => AsyncEvent::INVALID_DOORBELL_VALUE,
            false => AsyncEvent::INVALID_DOORBELL_REGISTER,
        })
    }

    fn heat(&mut self) -> Result<(), Caught> {
        let threshold = |kelvin: u16| {
            TemperatureThreshold::from_bits(0)
                .with_threshold(kelvin)
                .bits()
        };
        let id = feature_id::TEMPERATURE_THRESHOLD;
        let before = self.admin("get the threshold", |device| {
            device.feature(id, NamespaceId::NONE)
        })?;
        self.admin("sink the threshold", |device| {
            device.set_feature(id, threshold(200))
        })?;
        self.admin("raise the threshold", |device| {
            device.set_feature(id, before)
        })?;
        self.expect_event(AsyncEvent::TEMPERATURE_THRESHOLD)
    }

    fn change_namespace(&mut self) -> Result<(), Caught> {
        let id = self.random.pick(&self.plan.namespaces).id;
        let id = NamespaceId::new(id);
        self.device
            .link_mut()
            .controller()
            .announce_namespace_change(id);
        self.changed.insert(id.get());
        self.expect_event(AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED)
    }

    /// An event must arrive, unless one of its type was reported and its log page not yet read.
    fn expect_event(&mut self, wanted: AsyncEvent) -> Result<(), Caught> {
        let kind = wanted.event_type().code();
        let silent = self.silent.contains(&kind);
        let mut heard = false;
        for _ in 0..limits::EVENT_TURNS {
            let events = self.admin("fetch events", |device| device.events())?;
            for event in events {
                self.note(Event::Told(event));
                if event != wanted || silent || heard {
                    return Err(Caught::world(format!(
                        "the event '{event}' came out of turn, after '{wanted}' was raised"
                    )));
                }
                heard = true;
                self.silent.insert(kind);
            }
            if heard {
                break;
            }
        }
        if !heard && !silent {
            return Err(Caught::world(format!("the event '{wanted}' does not come")));
        }
        if self.random.chance(600) {
            self.read_log_of(wanted)?;
        }
        Ok(())
    }

    /// Reads the log page that an event names, which lets events of its type be heard again.
    fn read_log_of(&mut self, event: AsyncEvent) -> Result<(), Caught> {
        match event.log_page() {
            log_id::ERROR_INFORMATION => {
                let entries = self.admin("read the error log", |device| device.error_log(64))?;
                let counts = entries.iter().map(|entry| entry.error_count);
                if !counts.is_sorted_by(|newer, older| newer > older) {
                    return Err(Caught::world("the error log is not in order"));
                }
            }
            log_id::SMART => {
                let before = self.counters();
                let log = self.admin("read the SMART log", |device| device.smart_log())?;
                let after = self.counters();
                // I/O goes on while the log is being read.
                let reads = u128::from(before.reads)..=after.reads.into();
                let writes = u128::from(before.writes)..=after.writes.into();
                if !reads.contains(&log.host_reads) || !writes.contains(&log.host_writes) {
                    return Err(Caught::world(
                        "SMART does not tell what the controller counted",
                    ));
                }
            }
            page => {
                let mut bytes = [0; 4096];
                self.admin("read the changed namespaces", |device| {
                    device.read_log(page, NamespaceId::NONE, false, &mut bytes)
                })?;
                let words = bytes.chunks_exact(4).map(|word| {
                    word.try_into()
                        .map_or(0, |word: [u8; 4]| u32::from_le_bytes(word))
                });
                let found: Vec<u32> = words.take_while(|&id| id != 0).collect();
                let wanted: Vec<u32> = core::mem::take(&mut self.changed).into_iter().collect();
                if found != wanted {
                    return Err(Caught::world(format!(
                        "namespaces {wanted:?} changed, the log says {found:?}"
                    )));
                }
            }
        }
        self.silent.remove(&event.event_type().code());
        Ok(())
    }

    /// Abort is best effort: it says "not aborted", and the command ends as it would have.
    fn abort(&mut self, queue: u16, command: u16) -> Result<(), Caught> {
        let exists = queue == 0 || self.lanes.iter().any(|lane| lane.pair.id().get() == queue);
        let abort = Abort {
            sqid: QueueId::new(queue),
            cid: CommandId::new(command),
        };
        let entry = abort.emit(admin_entry(admin_opcode::ABORT));
        let answer = self.device.admin(entry, AdminData::None);
        let right = match &answer {
            Ok(result) => exists && *result == Abort::NOT_ABORTED,
            Err(DriverError::Refused { .. }) => !exists,
            Err(_) => false,
        };
        match right {
            true => Ok(()),
            false => Err(Caught::world(format!(
                "Abort on a queue that exists: {exists}, answered {answer:?}"
            ))),
        }
    }

    fn register_noise(&mut self) -> Result<(), Caught> {
        let link = self.device.link_mut();
        let before = link.controller().read_register(register::CSTS, 4);
        let configuration = link.controller().read_register(register::CC, 4);
        for _ in 0..self.random.between(1, 8) {
            let value = self.random.bits();
            let (offset, bytes) = *self.random.pick(&[
                (register::CAP, 8),
                (register::VS, 4),
                (register::INTMS, 4),
                (register::INTMC, 4),
                (register::CMBLOC, 8),
                (register::CRTO, 4),
                (0x200, 8),
                (register::CC + 1, 4),
                (register::CC, 2),
                (register::PMRCAP, 4),
                (0xffc, 4),
            ]);
            self.device
                .link_mut()
                .controller()
                .write_register(offset, bytes, value);
        }
        let controller = self.device.link_mut().controller();
        let after = controller.read_register(register::CSTS, 4);
        if (after, controller.read_register(register::CC, 4)) == (before, configuration) {
            return Ok(());
        }
        Err(Caught::world("a register write acted that must not"))
    }

    fn wrong_admin(&mut self) -> Result<(), Caught> {
        let (entry, wanted) = match self.random.below(4) {
            0 => (admin_entry(0xbf), Status::INVALID_OPCODE),
            1 => {
                let entry = admin_entry(admin_opcode::GET_FEATURES).with_cdw10(0x7f);
                (entry, Status::INVALID_FIELD)
            }
            2 => {
                let entry = admin_entry(admin_opcode::DELETE_IO_SQ).with_cdw10(77);
                (entry, Status::INVALID_QID)
            }
            // Its submission queue is alive.
            _ => {
                let lane = self.random.pick(&self.lanes);
                let id = lane.pair.id().get();
                let entry = admin_entry(admin_opcode::DELETE_IO_CQ).with_cdw10(id.into());
                (entry, Status::INVALID_QUEUE_DELETION)
            }
        };
        match self.device.admin(entry, AdminData::None) {
            Err(DriverError::Refused { status, .. })
                if (status.sct(), status.sc()) == (wanted.sct(), wanted.sc()) =>
            {
                Ok(())
            }
            other => Err(Caught::world(format!(
                "an admin command that has to be refused ({wanted}) got {other:?}"
            ))),
        }
    }

    fn chat(&mut self) -> Result<(), Caught> {
        match self.random.below(4) {
            0 => {
                let wanted = u32::from(self.random.chance(500));
                let id = feature_id::VOLATILE_WRITE_CACHE;
                self.admin("set the write cache", |device| {
                    device.set_feature(id, wanted)
                })?;
                let found = self.admin("get the write cache", |device| {
                    device.feature(id, NamespaceId::NONE)
                })?;
                if found != wanted {
                    return Err(Caught::world("the write cache is not what was set"));
                }
                Ok(())
            }
            1 => self.admin("keep alive", |device| device.keep_alive()),
            2 => {
                let before = self.device.namespaces().to_vec();
                self.admin("look at the namespaces", |device| {
                    device.refresh_namespaces().map(|_| ())
                })?;
                match before == self.device.namespaces() {
                    true => Ok(()),
                    false => Err(Caught::world("a namespace changed by itself")),
                }
            }
            _ => self.read_log_of(AsyncEvent::TEMPERATURE_THRESHOLD),
        }
    }
}

fn admin_entry(opcode: u8) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::NONE)
}
