//! Features: their values, what each accepts, and what it does [NVMe Base 2.0 §5.27 Set Features].

use core::time::Duration;
use std::collections::BTreeMap;

use spec::nvme::feature::{
    Arbitration, AsyncEventConfiguration, ErrorRecovery, InterruptCoalescing,
    InterruptVectorConfiguration, KeepAliveTimer, NumberOfQueues, PowerManagement,
    TemperatureThreshold, WriteAtomicity, WriteCache,
};
use spec::nvme::{Status, SubmissionEntry, feature_id};
use spec::{NamespaceId, QueueId};

use crate::{Config, Controller, limits};

/// Carries out Set Features; gives dword 0 of the completion.
type Set = fn(&mut Controller, &SubmissionEntry) -> Result<u32, Status>;
/// Gives the value of a feature.
type Get = fn(&Features, &SubmissionEntry) -> Result<u32, Status>;

/// An entry of the table of features.
pub(crate) struct Feature {
    pub(crate) id: u8,
    /// Whether each namespace has a value of its own.
    pub(crate) per_namespace: bool,
    pub(crate) set: Set,
    pub(crate) get: Get,
}

impl Feature {
    const fn new(id: u8, get: Get, set: Set) -> Self {
        Self {
            id,
            per_namespace: false,
            set,
            get,
        }
    }
}

/// Every feature that the controller has. To add one, add a line. All can be changed and none can be saved.
pub(crate) const FEATURES: &[Feature] = &[
    Feature::new(
        feature_id::ARBITRATION,
        |f, _| Ok(f.arbitration.bits()),
        set_arbitration,
    ),
    Feature::new(
        feature_id::POWER_MANAGEMENT,
        |f, _| Ok(f.power.bits()),
        set_power,
    ),
    Feature::new(
        feature_id::TEMPERATURE_THRESHOLD,
        get_temperature,
        set_temperature,
    ),
    Feature {
        id: feature_id::ERROR_RECOVERY,
        per_namespace: true,
        set: set_error_recovery,
        get: get_error_recovery,
    },
    Feature::new(
        feature_id::VOLATILE_WRITE_CACHE,
        |f, _| Ok(f.write_cache.bits()),
        set_write_cache,
    ),
    Feature::new(
        feature_id::NUMBER_OF_QUEUES,
        |f, _| Ok(f.queues.bits()),
        set_queues,
    ),
    Feature::new(
        feature_id::INTERRUPT_COALESCING,
        |f, _| Ok(f.coalescing.bits()),
        set_coalescing,
    ),
    Feature::new(
        feature_id::INTERRUPT_VECTOR_CONFIGURATION,
        get_vector,
        set_vector,
    ),
    Feature::new(
        feature_id::WRITE_ATOMICITY_NORMAL,
        |f, _| Ok(f.atomicity.bits()),
        set_atomicity,
    ),
    Feature::new(
        feature_id::ASYNC_EVENT_CONFIGURATION,
        |f, _| Ok(f.events.bits()),
        set_events,
    ),
    Feature::new(
        feature_id::KEEP_ALIVE_TIMER,
        |f, _| Ok(f.keep_alive.bits()),
        set_keep_alive,
    ),
];

/// The values of all features.
#[derive(Debug)]
pub(crate) struct Features {
    arbitration: Arbitration,
    power: PowerManagement,
    over_kelvin: u16,
    under_kelvin: u16,
    /// What differs from the default, by namespace.
    error_recovery: BTreeMap<u32, ErrorRecovery>,
    write_cache: WriteCache,
    queues: NumberOfQueues,
    coalescing: InterruptCoalescing,
    /// By vector: whether coalescing is off.
    uncoalesced: Vec<bool>,
    atomicity: WriteAtomicity,
    events: AsyncEventConfiguration,
    keep_alive: KeepAliveTimer,
    keep_alive_deadline: Duration,
}

impl Features {
    /// The default values.
    pub(crate) fn new(config: &Config) -> Self {
        let last_queue = config.queue_pairs.saturating_sub(1);
        Self {
            arbitration: Arbitration::default().with_burst(Arbitration::BURST_UNLIMITED),
            power: PowerManagement::default(),
            over_kelvin: limits::WARNING_TEMPERATURE_KELVIN,
            under_kelvin: 0,
            error_recovery: BTreeMap::new(),
            write_cache: WriteCache::default().with_enabled(true),
            queues: NumberOfQueues::default()
                .with_submission_raw(last_queue)
                .with_completion_raw(last_queue),
            coalescing: InterruptCoalescing::default(),
            uncoalesced: vec![false; usize::from(config.queue_pairs) + 1],
            atomicity: WriteAtomicity::default(),
            events: AsyncEventConfiguration::default(),
            keep_alive: KeepAliveTimer::default(),
            keep_alive_deadline: Duration::MAX,
        }
    }

    /// A reset brings the defaults back, as nothing is saved.
    pub(crate) fn reset(&mut self, config: &Config) {
        *self = Self::new(config);
    }

    /// The feature of an identifier.
    pub(crate) fn find(id: u8) -> Option<&'static Feature> {
        FEATURES.iter().find(|feature| feature.id == id)
    }

    /// Whether a submission queue may have this identifier.
    pub(crate) fn offers_submission_queue(&self, id: QueueId) -> bool {
        id != QueueId::ADMIN && id.get() - 1 <= self.queues.submission_raw()
    }

    /// Whether an I/O completion queue may have this identifier.
    pub(crate) fn offers_completion_queue(&self, id: QueueId) -> bool {
        id != QueueId::ADMIN && id.get() - 1 <= self.queues.completion_raw()
    }

    /// Which events the host wants to hear of.
    pub(crate) fn wanted_events(&self) -> AsyncEventConfiguration {
        self.events
    }

    /// Whether a temperature lies beyond one of the thresholds.
    pub(crate) fn is_beyond_threshold(&self, kelvin: u16) -> bool {
        kelvin >= self.over_kelvin || kelvin <= self.under_kelvin
    }

    /// When the host must have sent Keep Alive.
    #[inline]
    pub(crate) fn keep_alive_deadline(&self) -> Duration {
        self.keep_alive_deadline
    }

    /// Starts the Keep Alive Timer anew, if it is on.
    pub(crate) fn restart_keep_alive(&mut self, now: Duration) {
        self.keep_alive_deadline = match self.keep_alive.timeout() {
            None => Duration::MAX,
            Some(timeout) => now.saturating_add(timeout),
        };
    }
}

impl Controller {
    /// Passes the Volatile Write Cache feature on to the media.
    pub(crate) fn apply_write_cache(&mut self) {
        let enabled = self.features.write_cache.enabled();
        for namespace in self.namespaces.iter_mut() {
            namespace.media.set_write_cache(enabled);
        }
    }
}

fn set_arbitration(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    controller.features.arbitration = Arbitration::from_bits(entry.cdw11());
    Ok(0)
}

/// There is one power state, 0, and it is the only one to choose.
fn set_power(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = PowerManagement::from_bits(entry.cdw11());
    if wanted.power_state() != 0 {
        return Err(Status::INVALID_FIELD);
    }
    controller.features.power = wanted;
    Ok(0)
}

/// The threshold that a command names. There is one sensor, the composite temperature; "all sensors" is for setting only.
fn threshold(features: &mut Features, command: TemperatureThreshold) -> Result<&mut u16, Status> {
    match command.threshold_type() {
        TemperatureThreshold::OVER => Ok(&mut features.over_kelvin),
        TemperatureThreshold::UNDER => Ok(&mut features.under_kelvin),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn set_temperature(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let command = TemperatureThreshold::from_bits(entry.cdw11());
    if !matches!(
        command.sensor(),
        TemperatureThreshold::COMPOSITE | TemperatureThreshold::ALL_SENSORS
    ) {
        return Err(Status::INVALID_FIELD);
    }
    *threshold(&mut controller.features, command)? = command.threshold();
    controller.check_temperature();
    Ok(0)
}

fn get_temperature(features: &Features, entry: &SubmissionEntry) -> Result<u32, Status> {
    let command = TemperatureThreshold::from_bits(entry.cdw11());
    let kelvin = match (command.sensor(), command.threshold_type()) {
        (TemperatureThreshold::COMPOSITE, TemperatureThreshold::OVER) => features.over_kelvin,
        (TemperatureThreshold::COMPOSITE, TemperatureThreshold::UNDER) => features.under_kelvin,
        _ => return Err(Status::INVALID_FIELD),
    };
    Ok(kelvin.into())
}

/// Deallocated or Unwritten Logical Block Error is not offered (Identify Namespace NSFEAT), so it cannot be switched on.
fn set_error_recovery(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = ErrorRecovery::from_bits(entry.cdw11());
    if wanted.deallocated_error() {
        return Err(Status::INVALID_FIELD);
    }
    let Controller {
        features,
        namespaces,
        ..
    } = controller;
    let all = entry.nsid() == NamespaceId::BROADCAST;
    for namespace in namespaces
        .iter()
        .filter(|namespace| all || namespace.id == entry.nsid())
    {
        features.error_recovery.insert(namespace.id.get(), wanted);
    }
    Ok(0)
}

fn get_error_recovery(features: &Features, entry: &SubmissionEntry) -> Result<u32, Status> {
    let value = features
        .error_recovery
        .get(&entry.nsid().get())
        .copied()
        .unwrap_or_default();
    Ok(value.bits())
}

fn set_write_cache(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = WriteCache::from_bits(entry.cdw11());
    controller.features.write_cache = WriteCache::default().with_enabled(wanted.enabled());
    controller.apply_write_cache();
    Ok(0)
}

/// Number of Queues: allocates at most what is offered, and only before I/O queues exist.
fn set_queues(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = NumberOfQueues::from_bits(entry.cdw11());
    if [wanted.submission_raw(), wanted.completion_raw()].contains(&NumberOfQueues::RAW_INVALID) {
        return Err(Status::INVALID_FIELD);
    }
    if controller.queues.has_io() {
        return Err(Status::COMMAND_SEQUENCE_ERROR);
    }
    let last = controller.config.queue_pairs.saturating_sub(1);
    let allocated = NumberOfQueues::default()
        .with_submission_raw(wanted.submission_raw().min(last))
        .with_completion_raw(wanted.completion_raw().min(last));
    controller.features.queues = allocated;
    Ok(allocated.bits())
}

/// Kept and shown; a recommendation that this controller does not follow, as it already asks once per batch.
fn set_coalescing(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = InterruptCoalescing::from_bits(entry.cdw11());
    controller.features.coalescing = InterruptCoalescing::default()
        .with_threshold_raw(wanted.threshold_raw())
        .with_time(wanted.time());
    Ok(0)
}

fn set_vector(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = InterruptVectorConfiguration::from_bits(entry.cdw11());
    let vectors = &mut controller.features.uncoalesced;
    let vector = vectors
        .get_mut(usize::from(wanted.vector()))
        .ok_or(Status::INVALID_FIELD)?;
    *vector = wanted.coalescing_disabled();
    Ok(0)
}

fn get_vector(features: &Features, entry: &SubmissionEntry) -> Result<u32, Status> {
    let vector = InterruptVectorConfiguration::from_bits(entry.cdw11()).vector();
    let disabled = features
        .uncoalesced
        .get(usize::from(vector))
        .ok_or(Status::INVALID_FIELD)?;
    Ok(InterruptVectorConfiguration::default()
        .with_vector(vector)
        .with_coalescing_disabled(*disabled)
        .bits())
}

fn set_atomicity(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let wanted = WriteAtomicity::from_bits(entry.cdw11());
    controller.features.atomicity =
        WriteAtomicity::default().with_normal_disabled(wanted.normal_disabled());
    Ok(0)
}

fn set_events(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    controller.features.events = AsyncEventConfiguration::from_bits(entry.cdw11());
    controller.check_temperature();
    Ok(0)
}

/// Keep Alive Timer, rounded up to the granularity that Identify's KAS promises; zero switches it off.
fn set_keep_alive(controller: &mut Controller, entry: &SubmissionEntry) -> Result<u32, Status> {
    let granularity = limits::KEEP_ALIVE_GRANULARITY_MS;
    let wanted_ms = KeepAliveTimer::from_bits(entry.cdw11()).timeout_ms();
    // The longest time-outs have no multiple above them that fits.
    let rounded_ms = wanted_ms
        .checked_next_multiple_of(granularity)
        .unwrap_or(wanted_ms - wanted_ms % granularity);
    controller.features.keep_alive = KeepAliveTimer::default().with_timeout_ms(rounded_ms);
    controller.features.restart_keep_alive(controller.now);
    controller.wake();
    Ok(0)
}
