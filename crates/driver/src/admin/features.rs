//! Features, Identify and Keep Alive.

use core::time::Duration;

use spec::nvme::feature::KeepAliveTimer;
use spec::nvme::identify::IDENTIFY_BYTES;
use spec::nvme::{GetFeatures, Identify, SetFeatures, SubmissionEntry, admin_opcode, feature_id};
use spec::{CommandId, NamespaceId};

use super::AdminData;
use crate::device::Device;
use crate::error::DriverError;
use crate::link::Link;

/// An admin command without its double words.
pub(crate) fn command(opcode: u8, namespace: NamespaceId) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), namespace)
}

/// A Keep Alive Timer that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    timeout: Duration,
    last: Duration,
}

impl<L: Link> Device<L> {
    /// The current value of a feature: dword 0 of Get Features.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn feature(&mut self, id: u8, namespace: NamespaceId) -> Result<u32, DriverError> {
        let get = GetFeatures {
            fid: id,
            ..GetFeatures::default()
        };
        let entry = get.emit(command(admin_opcode::GET_FEATURES, namespace));
        self.admin(entry, AdminData::None)
    }

    /// Sets a feature of the controller, not to be saved; returns dword 0 of the completion.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn set_feature(&mut self, id: u8, value: u32) -> Result<u32, DriverError> {
        self.refuse_if_failed()?;
        self.set(id, value)
    }

    pub(crate) fn set(&mut self, id: u8, value: u32) -> Result<u32, DriverError> {
        let set = SetFeatures {
            fid: id,
            value,
            ..SetFeatures::default()
        };
        let entry = set.emit(command(admin_opcode::SET_FEATURES, NamespaceId::NONE));
        self.execute(entry, AdminData::None)
    }

    /// An Identify data structure.
    pub(crate) fn identify_bytes(
        &mut self,
        cns: u8,
        namespace: NamespaceId,
    ) -> Result<[u8; IDENTIFY_BYTES], DriverError> {
        let mut bytes = [0; IDENTIFY_BYTES];
        let identify = Identify {
            cns,
            ..Identify::default()
        };
        let entry = identify.emit(command(admin_opcode::IDENTIFY, namespace));
        self.execute(entry, AdminData::FromController(&mut bytes))?;
        Ok(bytes)
    }

    /// Starts the Keep Alive Timer, or stops it: when `timeout` passes without a [`keep_alive`](Self::keep_alive), the
    /// controller fails itself [NVMe Base 2.0 §3.9 Keep Alive]. A reset starts it again.
    ///
    /// # Errors
    /// [`DriverError::Unsupported`] when the controller has no such timer; else as [`admin`](Self::admin).
    pub fn set_keep_alive(&mut self, timeout: Option<Duration>) -> Result<(), DriverError> {
        self.refuse_if_failed()?;
        if timeout.is_some() && self.identify.kas == 0 {
            return Err(DriverError::Unsupported {
                what: "KAS",
                wanted: "a Keep Alive Timer",
                found: "0: none".into(),
            });
        }
        self.start_keep_alive(timeout)
    }

    pub(crate) fn start_keep_alive(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<(), DriverError> {
        // Zero would switch the timer off.
        let milliseconds = timeout.map_or(0, |timeout| timeout.as_millis().max(1));
        let milliseconds = u32::try_from(milliseconds).unwrap_or(u32::MAX);
        let value = KeepAliveTimer::default().with_timeout_ms(milliseconds);
        self.set(feature_id::KEEP_ALIVE_TIMER, value.bits())?;
        let last = self.link.now();
        self.keep_alive = timeout.map(|timeout| KeepAlive { timeout, last });
        Ok(())
    }

    /// The time-out of the Keep Alive Timer, if it runs.
    pub fn keep_alive_timeout(&self) -> Option<Duration> {
        self.keep_alive.map(|timer| timer.timeout)
    }

    /// Tells the controller that the host is alive.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn keep_alive(&mut self) -> Result<(), DriverError> {
        let entry = command(admin_opcode::KEEP_ALIVE, NamespaceId::NONE);
        self.admin(entry, AdminData::None)?;
        let now = self.link.now();
        if let Some(timer) = &mut self.keep_alive {
            timer.last = now;
        }
        Ok(())
    }

    /// The same, but only when the timer runs and half of its time has passed; says whether it was. To be called now and
    /// then by whoever owns the device.
    ///
    /// # Errors
    /// As [`admin`](Self::admin).
    pub fn keep_alive_if_due(&mut self) -> Result<bool, DriverError> {
        let Some(timer) = self.keep_alive else {
            return Ok(false);
        };
        let due = self.link.now().saturating_sub(timer.last) >= timer.timeout / 2;
        if due {
            self.keep_alive()?;
        }
        Ok(due)
    }
}
