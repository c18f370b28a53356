//! From a link to a working device, by the standard's sequence [NVMe Base 2.0 §3.5.1 Memory-based Controller
//! Initialization].
//!
//! *Unknown* -> CC.EN 0, CSTS.RDY 0 -> *disabled*: admin queues are written to AQA, ASQ, ACQ -> CC.EN 1, CSTS.RDY 1 ->
//! *enabled*: Identify, Number of Queues, namespaces, event requests -> *working*. A reset runs the same from the start.

use core::time::Duration;

use mem::{DmaBuffer, Window};
use spec::nvme::feature::NumberOfQueues;
use spec::nvme::identify::{ControllerType, NvmIdentifyController};
use spec::nvme::register::{
    self, AdminQueueAttributes, CQ_ENTRY_SHIFT, CSS_NVM, Capabilities, Configuration,
    ControllerStatus, ReadyTimeouts, SQ_ENTRY_SHIFT, Version,
};
use spec::nvme::{IdentifyController, IdentifyNamespace, NamespaceIdList, cns, feature_id};
use spec::{NamespaceId, QueueId, ZeroBased};

use crate::admin::AdminQueue;
use crate::admin::logs::malformed;
use crate::device::{Device, Options};
use crate::error::{DriverError, Waited};
use crate::limits;
use crate::link::Link;
use crate::namespace::{ActiveIds, Namespace};
use crate::patience::{Patience, Verdict};
use crate::queue_pair::QueuePair;

impl<L: Link> Device<L> {
    /// Brings a controller up, whatever state it is in. When this fails, the link is dropped, and with it all memory that
    /// the controller was given.
    ///
    /// # Errors
    /// Whatever can go wrong; each error says what was waited for or wanted, and what was found.
    pub fn open(mut link: L, options: Options) -> Result<Self, DriverError> {
        let raw = link.read_register(register::CAP, 8)?;
        if raw == u64::MAX {
            return Err(DriverError::Gone {
                during: Waited::Nothing,
            });
        }
        let capabilities = Capabilities::from_bits(raw);
        check_capabilities(capabilities)?;
        let version = Version::from_bits(link.read_register(register::VS, 4)? as u32);
        let admin = AdminQueue::new(&mut link, capabilities.dstrd())?;
        let mut device = Self {
            link,
            options,
            capabilities,
            version,
            admin,
            identify: Box::default(),
            command_limits: NvmIdentifyController::default(),
            namespaces: Vec::new(),
            transfer_bytes_max: 0,
            queue_pairs_granted: 0,
            queues: Vec::new(),
            keep_alive: None,
            failed: true,
        };
        device.disable()?;
        device.start()?;
        Ok(device)
    }

    /// From disabled to working.
    pub(crate) fn start(&mut self) -> Result<(), DriverError> {
        self.admin
            .renew(&self.link.doorbells(), self.capabilities.dstrd())?;
        self.enable()?;
        self.failed = false;
        let started = self.learn();
        if started.is_err() {
            self.failed = true;
        }
        started
    }

    /// All that an enabled controller is asked before it works.
    fn learn(&mut self) -> Result<(), DriverError> {
        self.learn_controller()?;
        self.learn_command_limits()?;
        self.learn_queues()?;
        self.learn_namespaces()?;
        self.begin_events()?;
        match self.keep_alive_timeout() {
            Some(timeout) => self.start_keep_alive(Some(timeout)),
            None => Ok(()),
        }
    }

    /// Clears CC.EN and waits for CSTS.RDY to follow. Afterwards the controller touches no memory of the host.
    pub(crate) fn disable(&mut self) -> Result<(), DriverError> {
        self.status(Waited::Disabled)?;
        let configuration = self.link.read_register(register::CC, 4)? as u32;
        let configuration = Configuration::from_bits(configuration);
        if configuration.en() {
            self.wait_until_enabled()?;
            // The other fields stay: they may only change while the controller is disabled.
            let disabled = configuration.with_en(false).with_shn(0);
            self.link
                .write_register(register::CC, 4, disabled.bits().into())?;
        }
        let limit = self.ready_timeout()?;
        self.wait_for_status(Waited::Disabled, limit, |status| !status.rdy())
    }

    /// Lets CSTS.RDY follow CC.EN, for clearing EN before has undefined results [NVMe Base 2.0 §3.1.3.5 Controller
    /// Configuration]. A controller that has failed, or is not ready in time, is cleared all the same: nothing else could
    /// bring it back.
    fn wait_until_enabled(&mut self) -> Result<(), DriverError> {
        let limit = self.ready_timeout()?;
        let followed = |status: ControllerStatus| status.rdy() || status.cfs();
        match self.wait_for_status(Waited::Disabled, limit, followed) {
            Err(DriverError::Timeout { .. }) => Ok(()),
            other => other,
        }
    }

    fn enable(&mut self) -> Result<(), DriverError> {
        let entries = ZeroBased::<u16>::from_count(limits::ADMIN_ENTRIES)
            .expect("the admin queues have 2 to 4096 entries");
        let sizes = AdminQueueAttributes::default()
            .with_asqs(entries.raw())
            .with_acqs(entries.raw());
        let (submission, completion) = self.admin.addresses();
        let configuration = Configuration::default()
            .with_iosqes(SQ_ENTRY_SHIFT)
            .with_iocqes(CQ_ENTRY_SHIFT);
        self.link
            .write_register(register::AQA, 4, sizes.bits().into())?;
        self.link.write_register(register::ASQ, 8, submission)?;
        self.link.write_register(register::ACQ, 8, completion)?;
        // The fields are chosen first and EN is set last, as the sequence has it.
        for enable in [false, true] {
            let value = configuration.with_en(enable);
            self.link
                .write_register(register::CC, 4, value.bits().into())?;
        }
        let limit = self.ready_timeout()?;
        self.wait_for_status(Waited::Ready, limit, ControllerStatus::rdy)
    }

    /// Patience for CSTS.RDY: CAP.TO, or CRTO where the controller says more exactly.
    fn ready_timeout(&mut self) -> Result<Duration, DriverError> {
        let mut limit = self.capabilities.timeout();
        if self.capabilities.crwms() {
            let precise = self.link.read_register(register::CRTO, 4)? as u32;
            if precise != u32::MAX {
                let units = ReadyTimeouts::from_bits(precise).crwmt();
                limit = limit.max(Duration::from_millis(500) * u32::from(units));
            }
        }
        let limit = limit.min(limits::READY_TIMEOUT_MAX);
        Ok(limit.max(self.options.ready_timeout_min))
    }

    /// Reads CSTS.
    ///
    /// # Errors
    /// When the controller is gone.
    pub(crate) fn status(&mut self, during: Waited) -> Result<ControllerStatus, DriverError> {
        match self.link.read_register(register::CSTS, 4)? as u32 {
            u32::MAX => Err(DriverError::Gone { during }),
            raw => Ok(ControllerStatus::from_bits(raw)),
        }
    }

    /// Reads CSTS of a controller that should work.
    ///
    /// # Errors
    /// When the controller is gone, has failed or is not ready.
    pub(crate) fn healthy_status(
        &mut self,
        during: Waited,
    ) -> Result<ControllerStatus, DriverError> {
        let status = self.status(during)?;
        if status.cfs() {
            return Err(DriverError::Fatal { during, status });
        }
        if !status.rdy() {
            return Err(DriverError::NotReady { status });
        }
        Ok(status)
    }

    /// Waits until CSTS says what it should.
    pub(crate) fn wait_for_status(
        &mut self,
        waited_for: Waited,
        limit: Duration,
        reached: impl Fn(ControllerStatus) -> bool,
    ) -> Result<(), DriverError> {
        let mut patience = Patience::new(&mut self.link, limit);
        loop {
            let status = self.status(waited_for)?;
            if reached(status) {
                return Ok(());
            }
            // A failed controller can still be disabled, and nothing else.
            if status.cfs() && waited_for != Waited::Disabled {
                return Err(DriverError::Fatal {
                    during: waited_for,
                    status,
                });
            }
            if patience.turn(&mut self.link) == Verdict::Over {
                return Err(DriverError::Timeout {
                    waited_for,
                    waited: patience.waited(),
                    status,
                });
            }
        }
    }

    fn learn_controller(&mut self) -> Result<(), DriverError> {
        let bytes = self.identify_bytes(cns::CONTROLLER, NamespaceId::NONE)?;
        let found = IdentifyController::parse(&bytes)
            .map_err(|error| malformed("Identify Controller", error))?;
        check_controller(&found)?;
        let again = self.transfer_bytes_max != 0;
        if again && (found.sn != self.identify.sn || found.mn != self.identify.mn) {
            return Err(DriverError::BadAnswer {
                what: "serial and model number after a reset",
                wanted: "those from before",
                found: format!("{:?} {:?}", found.sn, found.mn),
            });
        }
        let offered = found.transfer_bytes_max(self.capabilities.page_bytes_min());
        let offered = offered
            .and_then(|bytes| u32::try_from(bytes).ok())
            .unwrap_or(u32::MAX);
        self.transfer_bytes_max = offered.min(limits::TRANSFER_BYTES_MAX);
        *self.identify = found;
        Ok(())
    }

    /// Asks for the limits of single NVM commands, which controllers before 2.0 do not know.
    fn learn_command_limits(&mut self) -> Result<(), DriverError> {
        self.command_limits = NvmIdentifyController::default();
        if self.version.bits() < Version::V2_0.bits() {
            return Ok(());
        }
        match self.identify_bytes(cns::COMMAND_SET_CONTROLLER, NamespaceId::NONE) {
            Ok(bytes) => {
                self.command_limits = NvmIdentifyController::parse(&bytes).map_err(|error| {
                    malformed("I/O Command Set specific Identify Controller", error)
                })?;
                Ok(())
            }
            // A limit that is not said is no limit.
            Err(DriverError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks for I/O queues [NVMe Base 2.0 §5.27.1.5 Number of Queues].
    fn learn_queues(&mut self) -> Result<(), DriverError> {
        // FFFFh as a 0's based count must not be asked for, so 65535 is the most.
        let wanted = self.options.queue_pairs.max(1);
        let count = ZeroBased::<u16>::new(wanted - 1);
        let asked = NumberOfQueues::new(count, count);
        let granted =
            NumberOfQueues::from_bits(self.set(feature_id::NUMBER_OF_QUEUES, asked.bits())?);
        let pairs = granted
            .submission()
            .count()
            .min(granted.completion().count());
        // A controller may allocate more than it was asked for; what was asked for is enough.
        self.queue_pairs_granted = u16::try_from(pairs).unwrap_or(u16::MAX).min(wanted);
        let slots = self.queues.len().max(self.queue_pairs_granted.into());
        self.queues.resize_with(slots, || None);
        Ok(())
    }

    fn learn_namespaces(&mut self) -> Result<(), DriverError> {
        let mut ids = ActiveIds::default();
        loop {
            let bytes = self.identify_bytes(cns::ACTIVE_NAMESPACES, ids.last())?;
            let list = NamespaceIdList::parse(&bytes)
                .map_err(|error| malformed("Active Namespace ID list", error))?;
            if !ids.extend(&list)? {
                break;
            }
        }
        let mut namespaces = Vec::new();
        for id in ids.into_ids() {
            let bytes = self.identify_bytes(cns::NAMESPACE, id)?;
            let found = IdentifyNamespace::parse(&bytes)
                .map_err(|error| malformed("Identify Namespace", error))?;
            namespaces.extend(Namespace::parse(id, &found)?);
        }
        self.namespaces = namespaces;
        Ok(())
    }

    /// Looks at the namespaces again: after a Namespace Attribute Changed event, say.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn refresh_namespaces(&mut self) -> Result<&[Namespace], DriverError> {
        self.refuse_if_failed()?;
        self.learn_namespaces()?;
        Ok(&self.namespaces)
    }
}

/// Whether this driver can work with what CAP offers.
fn check_capabilities(capabilities: Capabilities) -> Result<(), DriverError> {
    let smallest = capabilities.page_bytes_min();
    if smallest > limits::PAGE_BYTES as u64 {
        return Err(DriverError::Unsupported {
            what: "CAP.MPSMIN",
            wanted: "memory pages of 4096 bytes",
            found: format!("{smallest} bytes at least"),
        });
    }
    if capabilities.css() & CSS_NVM == 0 {
        return Err(DriverError::Unsupported {
            what: "CAP.CSS",
            wanted: "the NVM command set (bit 0)",
            found: format!("{:#04x}", capabilities.css()),
        });
    }
    if capabilities.queue_entries_max() < 2 {
        return Err(DriverError::BadAnswer {
            what: "CAP.MQES",
            wanted: "1 or more (2 entries)",
            found: "0".into(),
        });
    }
    Ok(())
}

/// Whether this driver can work with what Identify Controller offers.
fn check_controller(found: &IdentifyController) -> Result<(), DriverError> {
    let sizes = [
        (
            "SQES",
            "a range that holds 6 (64 bytes)",
            found.sqes,
            SQ_ENTRY_SHIFT,
        ),
        (
            "CQES",
            "a range that holds 4 (16 bytes)",
            found.cqes,
            CQ_ENTRY_SHIFT,
        ),
    ];
    for (what, wanted, sizes, shift) in sizes {
        if !(sizes.required()..=sizes.maximum()).contains(&shift) {
            let found = format!("{} to {}", sizes.required(), sizes.maximum());
            return Err(DriverError::BadAnswer {
                what,
                wanted,
                found,
            });
        }
    }
    let kind = found.cntrltype;
    if kind == ControllerType::DISCOVERY || kind == ControllerType::ADMINISTRATIVE {
        return Err(DriverError::Unsupported {
            what: "CNTRLTYPE",
            wanted: "an I/O controller",
            found: format!("type {}", kind.code()),
        });
    }
    Ok(())
}

/// A queue pair over memory and doorbells. `memory` is submission queue, completion queue, PRP lists.
///
/// # Errors
/// When the link does not map the doorbells.
///
/// # Panics
/// If the memory is not aligned to a page, which every link promises.
pub(crate) fn queue_pair_over(
    id: QueueId,
    depth: u32,
    doorbells: &Window,
    stride_shift: u8,
    memory: (&DmaBuffer, &DmaBuffer, &DmaBuffer),
    transfer_bytes_max: u32,
) -> Result<QueuePair, DriverError> {
    let register_at = |offset: u32| {
        doorbells
            .register32((offset - register::DOORBELLS) as usize)
            .ok_or(DriverError::NoDoorbell {
                queue: id,
                mapped: doorbells.len(),
            })
    };
    let tail = register_at(register::submission_doorbell(id, stride_shift))?;
    let head = register_at(register::completion_doorbell(id, stride_shift))?;
    let (submission, completion, lists) = memory;
    for buffer in [submission, completion, lists] {
        let address = buffer.iova().get();
        assert!(
            address.is_multiple_of(limits::PAGE_BYTES as u64),
            "a link aligns to pages"
        );
    }
    let words = |buffer: &DmaBuffer| buffer.window().words().expect("a link aligns to pages");
    Ok(QueuePair::new(
        id,
        depth,
        words(submission),
        words(completion),
        tail,
        head,
        lists.clone(),
        transfer_bytes_max,
    ))
}
