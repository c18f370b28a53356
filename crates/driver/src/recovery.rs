//! The bad days: a controller that failed, hangs or is gone; and parting in peace.
//!
//! What a caller with queue pairs does after a time-out or a [`DriverError::Fatal`]:
//!
//! 1. [`Device::reset`]. From here on the controller touches none of the host's memory on behalf of old commands.
//! 2. For each pair, [`QueuePair::abandon`](crate::QueuePair::abandon): the tags of what was in flight. Reads and writes of
//!    blocks may be sent again; nobody can say whether they were done.
//! 3. For each pair, [`Device::revive`], or [`Device::delete_queue_pair`].
//!
//! A controller that is [gone](DriverError::Gone) stays so: shut the device, and open it again when it is back.

use core::time::Duration;

use spec::QueueId;
use spec::nvme::register::{self, Configuration, ShutdownStatus};

use crate::device::{Device, QueueState};
use crate::error::{DriverError, Waited};
use crate::limits;
use crate::link::Link;

impl<L: Link> Device<L> {
    /// Looks at CSTS. To be called now and then by whoever waits for completions; it may cost a trip over a socket.
    ///
    /// # Errors
    /// [`DriverError::Gone`], [`DriverError::Fatal`], [`DriverError::NotReady`]; the device waits for a reset then.
    pub fn check_health(&mut self) -> Result<(), DriverError> {
        self.refuse_if_failed()?;
        self.healthy_status(Waited::Nothing)
            .inspect_err(|_| self.failed = true)
            .map(|_| ())
    }

    /// Resets the controller and brings it up again [NVMe Base 2.0 §3.7.2 Controller Level Reset]. All queue pairs are dead
    /// afterwards: [abandon](crate::QueuePair::abandon) and [`revive`](Self::revive) each, or delete it. Namespaces were
    /// looked at anew.
    ///
    /// # Errors
    /// When the controller is gone, cannot be disabled, does not come back, or comes back as another. It may be tried again.
    pub fn reset(&mut self) -> Result<(), DriverError> {
        self.failed = true;
        self.admin.counters.resets += 1;
        self.disable()?;
        self.bury_queues();
        self.start()
    }

    /// After the controller forgot all queues: live ones are dead, and nobody's memory is free.
    fn bury_queues(&mut self) {
        for slot in &mut self.queues {
            if let Some(orphan) = slot.take_if(|queue| queue.state == QueueState::Orphan) {
                orphan.free(&mut self.link);
            }
            if let Some(queue) = slot {
                queue.state = QueueState::Dead;
            }
        }
    }

    /// Parts with the controller in peace [NVMe Base 2.0 §3.6.1 Memory-based Controller Shutdown]: deletes the queues, has
    /// the controller make everything durable, disables it, frees all memory of the device's own and gives the link back.
    ///
    /// # Errors
    /// When the controller is gone, has failed or takes too long. The link is dropped then.
    pub fn shutdown(mut self) -> Result<L, DriverError> {
        if !self.failed {
            self.delete_live_queues()?;
        }
        let configuration = self.link.read_register(register::CC, 4)? as u32;
        let notice = Configuration::from_bits(configuration).with_shn(SHN_NORMAL);
        self.link
            .write_register(register::CC, 4, notice.bits().into())?;
        let limit = self.shutdown_timeout();
        self.wait_for_status(Waited::Shutdown, limit, |status| {
            status.shutdown() == ShutdownStatus::Complete
        })?;
        self.disable()?;
        for queue in self.queues.drain(..).flatten() {
            queue.free(&mut self.link);
        }
        self.admin.free(&mut self.link);
        Ok(self.link)
    }

    /// A refusal is no reason to stay: shutting down ends the queues anyway.
    fn delete_live_queues(&mut self) -> Result<(), DriverError> {
        for index in 0..self.queues.len() {
            let state = self
                .queues
                .get(index)
                .and_then(Option::as_ref)
                .map(|queue| queue.state);
            if state != Some(QueueState::Live) {
                continue;
            }
            match self.delete_queues(QueueId::new(index as u16 + 1)) {
                Ok(()) | Err(DriverError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Patience for a shutdown: what the controller asks for (RTD3E), within bounds.
    fn shutdown_timeout(&self) -> Duration {
        Duration::from_micros(self.identify.rtd3e.into())
            .clamp(limits::SHUTDOWN_TIMEOUT_MIN, limits::SHUTDOWN_TIMEOUT_MAX)
    }
}

/// CC.SHN that asks for a normal shutdown.
const SHN_NORMAL: u8 = 0b01;
