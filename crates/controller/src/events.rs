//! Asynchronous events: what the host asked to be told, and what it was not told yet
//! [NVMe Base 2.0 §5.2 Asynchronous Event Request].

use spec::nvme::{AsyncEvent, Status};
use spec::{CommandId, NamespaceId};

use crate::registers::DoorbellFault;
use crate::{Config, Controller, limits};

/// Events and the requests that carry them to the host.
///
/// An event goes *raised* -> *pending* -> *reported* -> over. One event of a type is reported at a time: its type then
/// stays silent until the host reads the event's log page without Retain Asynchronous Event.
#[derive(Debug)]
pub(crate) struct Events {
    /// Asynchronous Event Requests that wait, oldest first; never more than `requests_max`.
    requests: Vec<CommandId>,
    requests_max: usize,
    /// Events that were not reported, oldest first, each once.
    pending: Vec<AsyncEvent>,
    /// Events that were reported and whose log pages were not read; one of a type.
    reported: Vec<AsyncEvent>,
}

impl Events {
    pub(crate) fn new(config: &Config) -> Self {
        let requests_max = usize::from(config.event_requests);
        Self {
            requests: Vec::with_capacity(requests_max),
            requests_max,
            pending: Vec::with_capacity(limits::EVENTS_PENDING_MAX),
            reported: Vec::with_capacity(limits::EVENT_TYPES),
        }
    }

    /// A controller reset ends every request without a completion and forgets every event.
    pub(crate) fn reset(&mut self) {
        self.requests.clear();
        self.pending.clear();
        self.reported.clear();
    }

    /// Parks a request.
    ///
    /// # Errors
    /// Asynchronous Event Request Limit Exceeded when as many wait as Identify's AERL allows.
    pub(crate) fn park(&mut self, cid: CommandId) -> Result<(), Status> {
        if self.requests.len() == self.requests_max {
            return Err(Status::AER_LIMIT_EXCEEDED);
        }
        self.requests.push(cid);
        Ok(())
    }

    /// Whether this request waits.
    pub(crate) fn has_request(&self, cid: CommandId) -> bool {
        self.requests.contains(&cid)
    }

    /// Takes a request back.
    pub(crate) fn recall(&mut self, cid: CommandId) {
        if let Some(at) = self.requests.iter().position(|&waiting| waiting == cid) {
            self.requests.remove(at);
        }
    }

    fn raise(&mut self, event: AsyncEvent) {
        // The same event twice tells the host nothing more; its log page has the details.
        if !self.pending.contains(&event) && self.pending.len() < limits::EVENTS_PENDING_MAX {
            self.pending.push(event);
        }
    }

    /// The first pending event whose type is not silent.
    fn next(&self) -> Option<usize> {
        let silent = |event: &AsyncEvent| {
            self.reported
                .iter()
                .any(|reported| reported.event_type() == event.event_type())
        };
        self.pending.iter().position(|event| !silent(event))
    }

    /// Whether an event and a request wait for each other.
    pub(crate) fn deliverable(&self) -> bool {
        !self.requests.is_empty() && self.next().is_some()
    }

    /// Pairs the oldest request with the oldest event that may be reported.
    fn deliver(&mut self) -> Option<(CommandId, AsyncEvent)> {
        if self.requests.is_empty() {
            return None;
        }
        let event = self.pending.remove(self.next()?);
        self.reported.push(event);
        Some((self.requests.remove(0), event))
    }

    /// The host read a log page without Retain Asynchronous Event: what points to it is over, reported or not.
    pub(crate) fn clear(&mut self, page: u8) {
        self.reported.retain(|event| event.log_page() != page);
        self.pending.retain(|event| event.log_page() != page);
    }
}

impl Controller {
    /// Says that a namespace changed in a way that Identify shows: it enters the Changed Namespace List, and the host is
    /// told if it asked for Namespace Attribute Notices.
    pub fn announce_namespace_change(&mut self, id: NamespaceId) {
        self.logs.add_changed_namespace(id);
        if self.features.wanted_events().namespace_attribute() {
            self.raise_event(AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED);
        }
    }

    /// Raises the temperature event if the temperature lies beyond a threshold and the host wants to know.
    pub(crate) fn check_temperature(&mut self) {
        if self.features.wanted_events().temperature()
            && self
                .features
                .is_beyond_threshold(limits::TEMPERATURE_KELVIN)
        {
            self.raise_event(AsyncEvent::TEMPERATURE_THRESHOLD);
        }
    }

    /// A doorbell in mapped memory that the tick found wrong.
    pub(crate) fn report_doorbell(&mut self) {
        self.report_doorbell_fault(DoorbellFault::Value);
    }

    /// A doorbell that the host wrote wrongly: counted, logged, and raised as an error event.
    #[cold]
    pub(crate) fn report_doorbell_fault(&mut self, fault: DoorbellFault) {
        self.counters.bad_doorbells += 1;
        let (status, event) = match fault {
            DoorbellFault::Register => (Status::INVALID_QID, AsyncEvent::INVALID_DOORBELL_REGISTER),
            DoorbellFault::Value => (Status::INVALID_FIELD, AsyncEvent::INVALID_DOORBELL_VALUE),
        };
        self.logs.note_controller_error(status);
        self.raise_event(event);
    }

    /// Notes an event; the host hears of it when it has a request waiting and room for the completion.
    pub(crate) fn raise_event(&mut self, event: AsyncEvent) {
        self.events.raise(event);
        self.wake();
    }

    /// Completes requests with events as far as the admin completion queue has room.
    pub(crate) fn deliver_events(&mut self) {
        while self.events.deliverable() && self.admin_room(1) > 0 {
            if let Some((cid, event)) = self.events.deliver() {
                self.complete_admin(cid, Status::SUCCESS, event.result());
            }
        }
    }
}
