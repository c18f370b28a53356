//! Asynchronous events: requests kept outstanding, events kept until somebody asks [NVMe Base 2.0 §5.2].

use spec::nvme::feature::AsyncEventConfiguration;
use spec::nvme::{AsyncEvent, SubmissionEntry, admin_opcode, feature_id};
use spec::{CommandId, NamespaceId};

use super::{AdminQueue, TAG_EVENT};
use crate::device::Device;
use crate::error::DriverError;
use crate::limits;
use crate::link::Link;
use crate::queue_pair::{Done, IoBuffer};

impl AdminQueue {
    /// Takes in the completion of an event request. The request is not sent again before the event has been fetched by a
    /// caller: so there are never more events than requests, and a controller that raises events without end fills nothing.
    pub(super) fn take_event(&mut self, done: &Done) {
        self.requests_outstanding -= 1;
        if done.status.is_success() {
            self.counters.events += 1;
            self.events.push_back(AsyncEvent::from_result(done.result));
        } else {
            // The controller wants fewer of them, or none.
            self.counters.event_requests_refused += 1;
            self.requests_wanted = self.requests_outstanding;
        }
    }

    /// Sends event requests until as many are outstanding as there should be.
    fn request_events(&mut self) {
        let kept = self.events.len() as u32;
        while self.requests_outstanding + kept < self.requests_wanted {
            let opcode = admin_opcode::ASYNC_EVENT_REQUEST;
            let entry = SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::NONE);
            self.submit(entry, IoBuffer::NONE, TAG_EVENT);
            self.requests_outstanding += 1;
        }
    }
}

impl<L: Link> Device<L> {
    /// Asks for events: says which ones, and sends the requests. Part of bring-up.
    pub(crate) fn begin_events(&mut self) -> Result<(), DriverError> {
        let supported = self.identify.oaes;
        let wanted = AsyncEventConfiguration::default()
            .with_spare(true)
            .with_temperature(true)
            .with_reliability(true)
            .with_read_only(true)
            .with_backup_failed(true)
            .with_namespace_attribute(supported.namespace_attribute())
            .with_firmware_activation(supported.firmware_activation());
        match self.set(feature_id::ASYNC_EVENT_CONFIGURATION, wanted.bits()) {
            // Without the choice there are still the events that a controller reports unasked: the requests go out anyway.
            Ok(_) | Err(DriverError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
        self.admin.requests_wanted = self.identify.aerl.count().min(limits::EVENT_REQUESTS);
        self.admin.request_events();
        Ok(())
    }

    /// The asynchronous events that have come since the last call, oldest first; at most [`limits::EVENT_REQUESTS`].
    ///
    /// The controller holds back further events of the same type until the log page that the event names has been read
    /// ([`read_log`](Self::read_log) without retaining the event).
    ///
    /// # Errors
    /// When the device has failed and was not reset.
    pub fn events(&mut self) -> Result<Vec<AsyncEvent>, DriverError> {
        self.refuse_if_failed()?;
        self.link.relax();
        self.admin.poll();
        let events = self.admin.events.drain(..).collect();
        self.admin.request_events();
        Ok(events)
    }
}
