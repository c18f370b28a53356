//! The admin queue: one command at a time, waited for, and event requests that stay outstanding beside it.

mod events;
pub(crate) mod features;
pub(crate) mod logs;

use std::collections::VecDeque;

use mem::{DmaBuffer, Window};
use spec::QueueId;
use spec::nvme::{AsyncEvent, CompletionEntry, ControllerStatus, SubmissionEntry};

use crate::bring_up::queue_pair_over;
use crate::device::Device;
use crate::error::{DriverError, Waited};
use crate::limits;
use crate::link::{Link, LinkError};
use crate::patience::{Patience, Verdict};
use crate::queue_pair::{Done, IoBuffer, QueuePair};

/// The data of an admin command.
#[derive(Debug)]
pub enum AdminData<'b> {
    /// None.
    None,
    /// The controller reads these bytes.
    ToController(&'b [u8]),
    /// The controller writes these bytes. They are filled only if the command succeeds.
    FromController(&'b mut [u8]),
}

impl AdminData<'_> {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::ToController(bytes) => bytes.len(),
            Self::FromController(bytes) => bytes.len(),
        }
    }
}

/// What the admin queue has counted since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdminCounters {
    /// Commands completed, event requests aside.
    pub commands: u64,
    /// Commands that the controller refused.
    pub refusals: u64,
    /// Asynchronous events received.
    pub events: u64,
    /// Event requests that the controller refused.
    pub event_requests_refused: u64,
    /// Completions that named no command in flight.
    pub bogus_completions: u64,
    /// Resets of the controller by this driver.
    pub resets: u64,
}

/// What an event request is called in its command slot. Other commands count from 1.
const TAG_EVENT: u64 = 0;

/// The admin queue pair and what belongs to it. Its memory lives from open to shutdown; the pair is renewed on each reset.
#[derive(Debug)]
pub(crate) struct AdminQueue {
    pair: QueuePair,
    submission: DmaBuffer,
    completion: DmaBuffer,
    lists: DmaBuffer,
    scratch: DmaBuffer,
    next_tag: u64,
    answer: Option<Done>,
    events: VecDeque<AsyncEvent>,
    requests_outstanding: u32,
    requests_wanted: u32,
    pub(crate) counters: AdminCounters,
}

// Event requests and the one command that is waited for always find a slot.
const _: () = assert!(limits::EVENT_REQUESTS + 1 < limits::ADMIN_ENTRIES);

impl AdminQueue {
    /// Memory for the admin queues, and a pair over it.
    pub(crate) fn new(link: &mut impl Link, stride_shift: u8) -> Result<Self, DriverError> {
        let mut taken: Vec<DmaBuffer> = Vec::new();
        let made = Self::allocate(link, stride_shift, &mut taken);
        if made.is_err() {
            for buffer in taken {
                link.free(buffer);
            }
        }
        made
    }

    fn allocate(
        link: &mut impl Link,
        stride_shift: u8,
        taken: &mut Vec<DmaBuffer>,
    ) -> Result<Self, DriverError> {
        let entries = limits::ADMIN_ENTRIES as usize;
        let mut take = |bytes: usize| -> Result<DmaBuffer, LinkError> {
            let buffer = link.allocate(bytes)?;
            taken.push(buffer.clone());
            Ok(buffer)
        };
        let submission = take(entries * SubmissionEntry::BYTES)?;
        let completion = take(entries * CompletionEntry::BYTES)?;
        let lists = take((entries - 1) * limits::PAGE_BYTES)?;
        let scratch = take(limits::ADMIN_DATA_BYTES)?;
        let pair = admin_pair(
            &link.doorbells(),
            stride_shift,
            &submission,
            &completion,
            &lists,
        )?;
        Ok(Self {
            pair,
            submission,
            completion,
            lists,
            scratch,
            next_tag: TAG_EVENT + 1,
            answer: None,
            events: VecDeque::new(),
            requests_outstanding: 0,
            requests_wanted: 0,
            counters: AdminCounters::default(),
        })
    }

    /// Makes the queues as new, for a controller that has just been disabled: it forgot its place in them, and what was in
    /// flight will not be answered.
    pub(crate) fn renew(
        &mut self,
        doorbells: &Window,
        stride_shift: u8,
    ) -> Result<(), DriverError> {
        for queue in [&self.submission, &self.completion] {
            clear(queue);
        }
        self.counters.bogus_completions += self.pair.counters().bogus_completions;
        self.pair = admin_pair(
            doorbells,
            stride_shift,
            &self.submission,
            &self.completion,
            &self.lists,
        )?;
        self.answer = None;
        self.requests_outstanding = 0;
        self.requests_wanted = 0;
        Ok(())
    }

    /// Gives the memory back. The controller must be disabled.
    pub(crate) fn free(self, link: &mut impl Link) {
        for buffer in [self.submission, self.completion, self.lists, self.scratch] {
            link.free(buffer);
        }
    }

    /// Where the queues are: submission, completion.
    pub(crate) fn addresses(&self) -> (u64, u64) {
        (self.submission.iova().get(), self.completion.iova().get())
    }

    fn bogus_completions(&self) -> u64 {
        self.counters.bogus_completions + self.pair.counters().bogus_completions
    }

    /// Sends a command; returns its tag.
    fn send(&mut self, entry: SubmissionEntry, buffer: IoBuffer) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.submit(entry, buffer, tag);
        tag
    }

    fn submit(&mut self, entry: SubmissionEntry, buffer: IoBuffer, tag: u64) {
        let sent = self.pair.submit(entry, buffer, tag);
        assert!(
            sent.is_ok(),
            "event requests and one command never fill the admin queue"
        );
        self.pair.publish();
    }

    /// Takes in what has been completed, in a bounded number of steps, whatever the controller writes meanwhile.
    fn poll(&mut self) {
        let mut done = [Done::EMPTY; 8];
        for _ in 0..limits::ADMIN_ENTRIES {
            let bogus = self.pair.counters().bogus_completions;
            let count = self.pair.reap(&mut done);
            for &one in done.iter().take(count) {
                if one.tag == TAG_EVENT {
                    self.take_event(&one);
                } else {
                    self.answer = Some(one);
                }
            }
            // A bogus completion ends a reap; true ones may stand behind it.
            if count == 0 && bogus == self.pair.counters().bogus_completions {
                return;
            }
        }
    }
}

/// Fills a queue's memory with zeros, so that no stale phase bit looks like a completion.
pub(crate) fn clear(queue: &DmaBuffer) {
    let filled = queue.window().fill(0, queue.len(), 0);
    assert!(filled.is_ok(), "a window holds its own length");
}

fn admin_pair(
    doorbells: &Window,
    stride_shift: u8,
    submission: &DmaBuffer,
    completion: &DmaBuffer,
    lists: &DmaBuffer,
) -> Result<QueuePair, DriverError> {
    queue_pair_over(
        QueueId::ADMIN,
        limits::ADMIN_ENTRIES,
        doorbells,
        stride_shift,
        (submission, completion, lists),
        limits::ADMIN_DATA_BYTES as u32,
    )
}

impl<L: Link> Device<L> {
    /// Sends an admin command and waits for its completion; returns dword 0 of it. The driver fills in the command
    /// identifier and the PRPs. Asynchronous Event Requests are the driver's own business: see [`events`](Self::events).
    ///
    /// # Errors
    /// [`DriverError::Refused`] when the controller says no, which leaves the device as it was. Anything else that the
    /// controller does wrong, a time-out among it, makes the device unusable until [`reset`](Self::reset), because the
    /// controller may still write into the memory of the command that was given up.
    pub fn admin(
        &mut self,
        entry: SubmissionEntry,
        data: AdminData<'_>,
    ) -> Result<u32, DriverError> {
        self.refuse_if_failed()?;
        self.execute(entry, data)
    }

    /// The same for bring-up and shutdown, when the device is not open to callers.
    pub(crate) fn execute(
        &mut self,
        entry: SubmissionEntry,
        mut data: AdminData<'_>,
    ) -> Result<u32, DriverError> {
        let buffer = self.stage(&data)?;
        let result = self.send_and_wait(entry, buffer)?;
        if let AdminData::FromController(bytes) = &mut data {
            let read = self.admin.scratch.window().read_bytes(0, bytes);
            assert!(
                read.is_ok(),
                "the length was checked before the command was sent"
            );
        }
        Ok(result)
    }

    /// The same for a command whose PRP1 is an address and no buffer: the creation of a queue.
    pub(crate) fn execute_with_address(
        &mut self,
        entry: SubmissionEntry,
        address: u64,
    ) -> Result<u32, DriverError> {
        self.send_and_wait(entry, IoBuffer::new(address, 0))
    }

    fn send_and_wait(
        &mut self,
        entry: SubmissionEntry,
        buffer: IoBuffer,
    ) -> Result<u32, DriverError> {
        let opcode = entry.opcode();
        let tag = self.admin.send(entry, buffer);
        let done = self
            .wait_for_answer(tag, opcode)
            .inspect_err(|_| self.failed = true)?;
        self.admin.counters.commands += 1;
        if !done.status.is_success() {
            self.admin.counters.refusals += 1;
            return Err(DriverError::Refused {
                opcode,
                status: done.status,
            });
        }
        Ok(done.result)
    }

    /// Puts the data of a command into the driver's own buffer.
    fn stage(&mut self, data: &AdminData<'_>) -> Result<IoBuffer, DriverError> {
        let (bytes, max) = (data.len(), limits::ADMIN_DATA_BYTES);
        if bytes > max {
            return Err(DriverError::AdminData { bytes, max });
        }
        let scratch = &self.admin.scratch;
        // What the controller does not fill must not be the answer to an earlier command.
        clear(scratch);
        if let AdminData::ToController(bytes) = data {
            let written = scratch.window().write_bytes(0, bytes);
            assert!(written.is_ok(), "the length was checked");
        }
        Ok(match bytes {
            0 => IoBuffer::NONE,
            _ => IoBuffer::new(scratch.iova().get(), bytes as u32),
        })
    }

    fn wait_for_answer(&mut self, tag: u64, opcode: u8) -> Result<Done, DriverError> {
        let during = Waited::Command { opcode };
        let bogus_before = self.admin.bogus_completions();
        let mut patience = Patience::new(&mut self.link, self.options.admin_timeout);
        loop {
            self.admin.poll();
            if let Some(done) = self.admin.answer.take_if(|done| done.tag == tag) {
                return Ok(done);
            }
            let count = self.admin.bogus_completions() - bogus_before;
            if count > limits::BOGUS_COMPLETIONS_MAX {
                return Err(DriverError::BogusCompletions { during, count });
            }
            self.wait_a_turn(&mut patience, during)?;
        }
    }

    /// One turn of a wait for a completion.
    ///
    /// # Errors
    /// When the patience is spent, or the controller turns out to have failed.
    pub(crate) fn wait_a_turn(
        &mut self,
        patience: &mut Patience,
        waited_for: Waited,
    ) -> Result<(), DriverError> {
        let verdict = patience.turn(&mut self.link);
        if verdict == Verdict::Wait {
            return Ok(());
        }
        let status: ControllerStatus = self.healthy_status(waited_for)?;
        match verdict {
            Verdict::Over => Err(DriverError::Timeout {
                waited_for,
                waited: patience.waited(),
                status,
            }),
            Verdict::Wait | Verdict::CheckHealth => Ok(()),
        }
    }

    /// What the admin queue has counted.
    pub fn admin_counters(&self) -> AdminCounters {
        AdminCounters {
            bogus_completions: self.admin.bogus_completions(),
            ..self.admin.counters
        }
    }
}
