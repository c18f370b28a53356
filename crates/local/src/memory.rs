//! Memory that the host side allocates and the controller reaches.

use core::fmt;

use controller::{Config, ConfigError, Controller, NamespaceConfig};
use driver::LinkError;
use mem::{Backing, DmaBuffer, Iova, IovaMap, Region, RegionError, Window};

use crate::limits;

/// Why a local device could not be made.
#[derive(Debug)]
pub enum LocalError {
    /// The controller's configuration is wrong.
    Config(ConfigError),
    /// The machine refused the memory.
    Memory(RegionError),
    /// The machine refused a thread.
    Thread(std::io::Error),
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "controller configuration: {error}"),
            Self::Memory(error) => write!(f, "doorbell memory: {error}"),
            Self::Thread(error) => write!(f, "controller thread: {error}"),
        }
    }
}

impl core::error::Error for LocalError {}

/// What a local device is made of.
#[derive(Debug)]
pub struct Blueprint {
    /// How the controller presents itself.
    pub config: Config,
    /// Its namespaces.
    pub namespaces: Vec<NamespaceConfig>,
    /// Where the driver's queues and buffers live.
    pub backing: Backing,
}

impl Blueprint {
    /// A device with the standard configuration and these namespaces, its queues in ordinary memory.
    pub fn new(namespaces: Vec<NamespaceConfig>) -> Self {
        Self {
            config: Config::default(),
            namespaces,
            backing: Backing::Anonymous,
        }
    }

    pub(crate) fn build(self) -> Result<(Controller, HostMemory), LocalError> {
        let doorbells = Region::allocate(controller::limits::DOORBELL_BYTES, Backing::Anonymous)
            .map_err(LocalError::Memory)?
            .whole();
        let memory = HostMemory {
            map: IovaMap::new(),
            next: limits::IOVA_FIRST,
            doorbells: doorbells.clone(),
            backing: self.backing,
        };
        let table = memory.map.table();
        let controller = Controller::new(self.config, self.namespaces, table, doorbells)
            .map_err(LocalError::Config)?;
        Ok((controller, memory))
    }
}

/// The host's memory as the controller may address it.
#[derive(Debug)]
pub(crate) struct HostMemory {
    pub(crate) map: IovaMap,
    next: u64,
    pub(crate) doorbells: Window,
    backing: Backing,
}

impl HostMemory {
    /// Zeroed memory at an address of its own.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let failed = |reason: String| LinkError::Memory { bytes, reason };
        let region =
            Region::allocate(bytes, self.backing).map_err(|error| failed(error.to_string()))?;
        let window = region.whole();
        let grains = (window.len() as u64).div_ceil(limits::IOVA_GRAIN);
        let end = grains
            .checked_mul(limits::IOVA_GRAIN)
            .and_then(|len| self.next.checked_add(len))
            .filter(|&end| end <= limits::IOVA_END)
            .ok_or_else(|| failed("the controller's addresses are used up".into()))?;
        let iova = Iova::new(self.next);
        self.map
            .insert(iova, window.clone())
            .map_err(|error| failed(error.to_string()))?;
        self.next = end;
        Ok(DmaBuffer::new(window, iova))
    }

    /// Takes the memory back.
    pub(crate) fn free(&mut self, buffer: &DmaBuffer) {
        let removed = self.map.remove(buffer.iova(), buffer.len() as u64);
        assert!(
            removed.is_ok(),
            "freed what was never allocated: {buffer:?}"
        );
    }
}
