//! What stands behind BAR0: the controller's registers and the doorbells [NVMe Base 2.0 §3.1.3 Controller Properties].

use core::time::Duration;

use ring::Register32;
use spec::nvme::register::{
    self, AdminQueueAttributes, CSS_NVM, Capabilities, Configuration, ControllerStatus, NSSR_MAGIC,
    ReadyTimeouts, ShutdownStatus, Version,
};

use crate::lifecycle::Failure;
use crate::queues::QueueTable;
use crate::{Config, Controller, limits};

/// The version of the standard that the controller keeps.
pub(crate) const VERSION: Version = Version::V2_0;

/// How far a shutdown that the host asked for has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shutdown {
    /// Nobody asked.
    None,
    /// Asked for; the flushes have not been started because nothing had room for them.
    Asked,
    /// The flushes are under way.
    Flushing,
    /// Everything is durable.
    Complete,
}

/// The values behind the registers.
///
/// *Disabled*: CC.EN 0, CSTS.RDY 0. *Ready*: CC.EN 1, CSTS.RDY 1. *Failed*: CSTS.CFS 1 until the host clears CC.EN.
#[derive(Debug)]
pub(crate) struct Registers {
    capabilities: Capabilities,
    pub(crate) configuration: Configuration,
    status: ControllerStatus,
    interrupt_mask: u32,
    pub(crate) admin_queues: AdminQueueAttributes,
    pub(crate) admin_submission: u64,
    pub(crate) admin_completion: u64,
    shutdown: Shutdown,
    /// RDY, no CFS and no shutdown, kept ready for the tick.
    serving: bool,
    /// A reset waits for media before it shows CSTS.RDY 0.
    draining: bool,
    /// When the tick has to look at what time brings; zero means at once.
    pub(crate) wake_at: Duration,
    /// Why CSTS.CFS was set last.
    pub(crate) failure: Option<Failure>,
}

impl Registers {
    pub(crate) fn new(config: &Config) -> Self {
        let entries_max = u16::try_from(config.queue_entries.saturating_sub(1)).unwrap_or(u16::MAX);
        Self {
            capabilities: Capabilities::default()
                .with_mqes(entries_max)
                .with_cqr(true)
                .with_to(limits::READY_TIMEOUT_UNITS)
                .with_nssrs(true)
                .with_css(CSS_NVM)
                .with_crwms(true),
            configuration: Configuration::default(),
            status: ControllerStatus::default(),
            interrupt_mask: 0,
            admin_queues: AdminQueueAttributes::default(),
            admin_submission: 0,
            admin_completion: 0,
            shutdown: Shutdown::None,
            serving: false,
            draining: false,
            wake_at: Duration::MAX,
            failure: None,
        }
    }

    /// Whether commands are fetched.
    #[inline(always)]
    pub(crate) fn is_serving(&self) -> bool {
        self.serving
    }

    pub(crate) fn shutdown(&self) -> Shutdown {
        self.shutdown
    }

    pub(crate) fn set_shutdown(&mut self, shutdown: Shutdown) {
        self.shutdown = shutdown;
        self.refresh();
    }

    pub(crate) fn set_ready(&mut self) {
        self.status = self.status.with_rdy(true);
        self.refresh();
    }

    pub(crate) fn set_failed(&mut self, failure: Failure) {
        self.status = self.status.with_cfs(true);
        self.failure = Some(failure);
        self.refresh();
    }

    /// What clearing CC.EN resets: all but the admin queue registers, which a host need not write again.
    /// That an NVM subsystem reset occurred stays visible until the host clears the bit. While `draining`, CSTS.RDY stays
    /// as it was, and only [`drained`](Self::drained) clears it.
    pub(crate) fn reset(&mut self, draining: bool) {
        self.configuration = Configuration::default();
        self.status = ControllerStatus::default()
            .with_nssro(self.status.nssro())
            .with_rdy(draining && self.status.rdy());
        self.draining = draining;
        self.interrupt_mask = 0;
        self.wake_at = if draining {
            Duration::ZERO
        } else {
            Duration::MAX
        };
        self.set_shutdown(Shutdown::None);
    }

    /// Whether a reset still waits for media.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining
    }

    /// The last request of before the reset was answered.
    pub(crate) fn drained(&mut self) {
        self.draining = false;
        self.status = self.status.with_rdy(false);
        self.refresh();
    }

    /// What every other Controller Level Reset resets on top. CSTS.RDY is 0 at once, as after power-on.
    pub(crate) fn reset_function(&mut self) {
        self.status = self.status.with_rdy(false);
        self.refresh();
        self.admin_queues = AdminQueueAttributes::default();
        self.admin_submission = 0;
        self.admin_completion = 0;
    }

    pub(crate) fn set_subsystem_reset_occurred(&mut self) {
        self.status = self.status.with_nssro(true);
    }

    fn refresh(&mut self) {
        let shown = match self.shutdown {
            Shutdown::None => ShutdownStatus::Normal,
            Shutdown::Asked | Shutdown::Flushing => ShutdownStatus::Occurring,
            Shutdown::Complete => ShutdownStatus::Complete,
        };
        self.status = self.status.with_shutdown(shown);
        self.serving = self.status.rdy()
            && !self.status.cfs()
            && !self.draining
            && self.shutdown == Shutdown::None;
    }

    /// Every register up to CRTO, as its bytes stand in BAR0. What is not offered is zero, as is NSSR when read.
    fn image(&self) -> [u8; IMAGE_BYTES] {
        let mut image = [0; IMAGE_BYTES];
        let mut put = |offset: u32, value: &[u8]| {
            let start = offset as usize;
            if let Some(place) = image.get_mut(start..start + value.len()) {
                place.copy_from_slice(value);
            }
        };
        let wait = ReadyTimeouts::default().with_crwmt(limits::READY_TIMEOUT_UNITS.into());
        put(register::CAP, &self.capabilities.bits().to_le_bytes());
        put(register::VS, &VERSION.bits().to_le_bytes());
        put(register::INTMS, &self.interrupt_mask.to_le_bytes());
        put(register::INTMC, &self.interrupt_mask.to_le_bytes());
        put(register::CC, &self.configuration.bits().to_le_bytes());
        put(register::CSTS, &self.status.bits().to_le_bytes());
        put(register::AQA, &self.admin_queues.bits().to_le_bytes());
        put(register::ASQ, &self.admin_submission.to_le_bytes());
        put(register::ACQ, &self.admin_completion.to_le_bytes());
        put(register::CRTO, &wait.bits().to_le_bytes());
        image
    }
}

/// Bytes of BAR0 up to the end of the last register that the controller has.
const IMAGE_BYTES: usize = register::CRTO as usize + 4;

/// Which doorbell a host wrote wrongly, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoorbellFault {
    /// The queue does not exist.
    Register,
    /// The queue has no such entry.
    Value,
}

impl Controller {
    /// Reads a register: `offset` bytes into BAR0, `bytes` 4 or 8, aligned to its size.
    ///
    /// Anything else, what the controller does not have, and doorbells read as zero.
    pub fn read_register(&self, offset: u32, bytes: u32) -> u64 {
        if !is_access(offset, bytes) || offset >= register::DOORBELLS {
            return 0;
        }
        let image = self.registers.image();
        let mut value = [0; 8];
        let rest = image.get(offset as usize..).unwrap_or_default();
        for (to, from) in value.iter_mut().zip(rest.iter().take(bytes as usize)) {
            *to = *from;
        }
        u64::from_le_bytes(value)
    }

    /// Writes a register: `offset` bytes into BAR0, `bytes` 4 or 8, aligned to its size.
    ///
    /// From 1000h on these are doorbells. Writes to what is read-only, or not there, or not aligned, are ignored. An
    /// eight-byte write is its lower half, then its upper half.
    pub fn write_register(&mut self, offset: u32, bytes: u32, value: u64) {
        if !is_access(offset, bytes) {
            return;
        }
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        self.write_half(offset, u32::from_le_bytes([a, b, c, d]));
        if bytes == 8 {
            self.write_half(offset + 4, u32::from_le_bytes([e, f, g, h]));
        }
    }

    /// Which interrupts the host masked through INTMS and INTMC, a bit for each vector. It counts where a port raises a
    /// pin or MSI; with MSI-X the table in the function's own BAR masks [NVMe Base 2.0 §3.1.3.3].
    pub fn interrupt_mask(&self) -> u32 {
        self.registers.interrupt_mask
    }

    fn write_half(&mut self, offset: u32, value: u32) {
        let registers = &mut self.registers;
        match offset {
            register::DOORBELLS.. => self.write_doorbell(offset - register::DOORBELLS, value),
            register::INTMS => registers.interrupt_mask |= value,
            register::INTMC => registers.interrupt_mask &= !value,
            register::CC => self.configure(Configuration::from_bits(value)),
            // NSSRO is the one bit that a host can clear, by writing 1 to it.
            register::CSTS if ControllerStatus::from_bits(value).nssro() => {
                registers.status = registers.status.with_nssro(false);
            }
            register::NSSR if value == NSSR_MAGIC => self.reset_subsystem(),
            register::AQA => {
                let wanted = AdminQueueAttributes::from_bits(value);
                registers.admin_queues = AdminQueueAttributes::default()
                    .with_asqs(wanted.asqs())
                    .with_acqs(wanted.acqs());
            }
            register::ASQ..register::ACQ => {
                overwrite(
                    &mut registers.admin_submission,
                    offset - register::ASQ,
                    value,
                );
            }
            register::ACQ..register::CMBLOC => {
                overwrite(
                    &mut registers.admin_completion,
                    offset - register::ACQ,
                    value,
                );
            }
            _ => {}
        }
    }

    /// A doorbell that came as a register write. It lands in the same memory that a host may have mapped, but only when
    /// it is right, so a wrong one is refused here and not found by the tick.
    fn write_doorbell(&mut self, offset: u32, value: u32) {
        if !self.registers.is_serving() {
            return; // there are no queues, and nothing to tell the host by
        }
        let stride = 4;
        let slot = usize::try_from(offset / stride / 2).unwrap_or(usize::MAX);
        let written = if (offset / stride).is_multiple_of(2) {
            self.queues.write_tail(slot, value)
        } else {
            self.queues.write_head(slot, value)
        };
        if let Err(fault) = written {
            self.report_doorbell_fault(fault);
        }
    }
}

impl QueueTable {
    fn write_tail(&mut self, slot: usize, tail: u32) -> Result<(), DoorbellFault> {
        let Some(Some(queue)) = self.submissions.get(slot) else {
            return Err(DoorbellFault::Register);
        };
        if tail >= queue.ring.depth() {
            return Err(DoorbellFault::Value);
        }
        // Release as a host that has the doorbells mapped: the tick's acquire load of the tail pairs with it.
        queue.doorbell.store_release(tail);
        Ok(())
    }

    fn write_head(&mut self, slot: usize, head: u32) -> Result<(), DoorbellFault> {
        let Some(Some(queue)) = self.completions.get_mut(slot) else {
            return Err(DoorbellFault::Register);
        };
        queue
            .ring
            .observe_head(head)
            .map_err(|_| DoorbellFault::Value)?;
        // Release as a host that has the doorbells mapped: the tick's acquire load of the head pairs with it.
        queue.doorbell.store_release(head);
        Ok(())
    }
}

/// Whether an access has a size and an alignment that registers answer to.
fn is_access(offset: u32, bytes: u32) -> bool {
    matches!(bytes, 4 | 8) && offset.is_multiple_of(bytes)
}

/// Replaces four bytes of an admin queue's base address, whose bits below a page are reserved and stay zero.
fn overwrite(address: &mut u64, at: u32, value: u32) {
    let mut bytes = address.to_le_bytes();
    if let Some(place) = bytes.get_mut(at as usize..at as usize + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let written = u64::from_le_bytes(bytes);
    *address = written - written % limits::PAGE_BYTES;
}
