//! An opened controller.

use core::time::Duration;

use mem::DmaBuffer;
use spec::nvme::identify::NvmIdentifyController;
use spec::nvme::{
    Capabilities, CompletionEntry, CreateCompletionQueue, CreateSubmissionQueue, DeleteQueue,
    IdentifyController, SubmissionEntry, Version, admin_opcode,
};
use spec::{NamespaceId, QueueId, ZeroBased};

use crate::admin::features::{KeepAlive, command};
use crate::admin::{AdminData, AdminQueue, clear};
use crate::bring_up::queue_pair_over;
use crate::error::DriverError;
use crate::limits;
use crate::link::Link;
use crate::namespace::Namespace;
use crate::queue_pair::QueuePair;

/// What bring-up may be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// I/O queue pairs to ask for, at least 1; the controller may grant fewer.
    pub queue_pairs: u16,
    /// Patience for an admin command.
    pub admin_timeout: Duration,
    /// The least patience for CSTS.RDY, whatever CAP.TO says.
    pub ready_timeout_min: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_pairs: limits::QUEUE_PAIRS_WANTED,
            admin_timeout: limits::ADMIN_TIMEOUT,
            ready_timeout_min: limits::READY_TIMEOUT_MIN,
        }
    }
}

/// Where one I/O queue pair of the device stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueState {
    /// The controller has it.
    Live,
    /// A reset took it from the controller; its owner may have it revived or delete it.
    Dead,
    /// Its owner gave it up, but the controller did not confirm, and might write to it still. The next reset frees it.
    Orphan,
}

/// The memory of one I/O queue pair.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) state: QueueState,
    depth: u32,
    submission: DmaBuffer,
    completion: DmaBuffer,
    lists: DmaBuffer,
}

impl Queue {
    pub(crate) fn free(self, link: &mut impl Link) {
        for buffer in [self.submission, self.completion, self.lists] {
            link.free(buffer);
        }
    }
}

/// A controller that has been brought up.
///
/// *Working*: everything may be called. *Failed*, after a time-out or an answer that cannot be: everything that needs the
/// controller is refused with [`DriverError::NeedsReset`] until [`reset`](Self::reset), because the controller may still
/// write to memory that was given up.
///
/// Dropping a device abandons it as a power cut would; [`shutdown`](Self::shutdown) parts in peace.
#[derive(Debug)]
pub struct Device<L: Link> {
    pub(crate) link: L,
    pub(crate) options: Options,
    pub(crate) capabilities: Capabilities,
    pub(crate) version: Version,
    pub(crate) admin: AdminQueue,
    pub(crate) identify: Box<IdentifyController>,
    /// Zeros where the controller does not say.
    pub(crate) command_limits: NvmIdentifyController,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) transfer_bytes_max: u32,
    pub(crate) queue_pairs_granted: u16,
    /// Slot `n` is queue `n + 1`.
    pub(crate) queues: Vec<Option<Queue>>,
    pub(crate) keep_alive: Option<KeepAlive>,
    pub(crate) failed: bool,
}

impl<L: Link> Device<L> {
    /// What the controller said of itself.
    pub fn identify(&self) -> &IdentifyController {
        &self.identify
    }

    /// The active namespaces, in rising order of identifier.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// One active namespace.
    pub fn namespace(&self, id: NamespaceId) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.id == id)
    }

    /// CAP as it was read.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The version of the standard that the controller keeps.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Bytes of one command's data at most: MDTS, and never more than one PRP list page describes.
    pub fn transfer_bytes_max(&self) -> u32 {
        self.transfer_bytes_max
    }

    /// Blocks of one Write Zeroes at most: the command's own bound, or the controller's (WZSL).
    pub fn zeroes_blocks_max(&self, block_shift: u32) -> u32 {
        let limit = match self.command_limits.wzsl {
            0 => u64::MAX,
            shift => {
                let pages = 1_u64.checked_shl(shift.into()).unwrap_or(u64::MAX);
                pages.saturating_mul(self.capabilities.page_bytes_min()) >> block_shift
            }
        };
        limit.clamp(1, limits::COMMAND_BLOCKS_MAX.into()) as u32
    }

    /// Blocks of one deallocated range at most: the driver's own bound, or the controller's (DMRSL, DMSL).
    pub fn discard_blocks_max(&self) -> u32 {
        let NvmIdentifyController { dmrsl, dmsl, .. } = self.command_limits;
        [dmrsl.into(), dmsl]
            .into_iter()
            .filter(|&limit| limit != 0)
            .fold(limits::DISCARD_BLOCKS_MAX, u64::min) as u32
    }

    /// I/O queue pairs that the controller granted.
    pub fn queue_pairs_granted(&self) -> u16 {
        self.queue_pairs_granted
    }

    /// Entries of one I/O queue at most.
    pub fn queue_depth_max(&self) -> u32 {
        self.capabilities
            .queue_entries_max()
            .min(limits::QUEUE_ENTRIES_MAX)
    }

    /// The link, to wait on or to meddle with.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Whether the device waits for [`reset`](Self::reset).
    pub fn is_failed(&self) -> bool {
        self.failed
    }

    /// Memory that the controller reaches: zeroed, page-aligned, contiguous in its addresses.
    ///
    /// # Errors
    /// When the link has none.
    pub fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, DriverError> {
        Ok(self.link.allocate(bytes)?)
    }

    /// Gives such memory back. No command in flight may use it.
    pub fn free(&mut self, buffer: DmaBuffer) {
        self.link.free(buffer);
    }

    pub(crate) fn refuse_if_failed(&self) -> Result<(), DriverError> {
        if self.failed {
            Err(DriverError::NeedsReset)
        } else {
            Ok(())
        }
    }

    /// Creates a completion queue and a submission queue of `depth` entries each, so `depth - 1` commands may be in flight.
    /// Completions are found by polling: no interrupt is asked for.
    ///
    /// A pair that is dropped instead of [deleted](Self::delete_queue_pair) keeps its queue identifier taken.
    ///
    /// # Errors
    /// [`DriverError::QueueDepth`], [`DriverError::QueuesExhausted`], no memory, or as [`admin`](Self::admin).
    pub fn create_queue_pair(&mut self, depth: u32) -> Result<QueuePair, DriverError> {
        self.refuse_if_failed()?;
        let max = self.queue_depth_max();
        if !(2..=max).contains(&depth) {
            return Err(DriverError::QueueDepth { wanted: depth, max });
        }
        let granted = self.queue_pairs_granted;
        let free = self
            .queues
            .iter()
            .take(granted.into())
            .position(Option::is_none);
        let Some(index) = free else {
            return Err(DriverError::QueuesExhausted { granted });
        };
        let id = QueueId::new(index as u16 + 1);
        let queue = self.allocate_queue(depth)?;
        let made = self.pair_over(id, &queue).and_then(|pair| {
            self.create_queues(id, &queue)?;
            Ok(pair)
        });
        self.settle(index, queue, made)
    }

    /// Keeps a queue that was made; gives its memory back, or keeps it as an orphan, if it was not.
    fn settle(
        &mut self,
        index: usize,
        mut queue: Queue,
        made: Result<QueuePair, DriverError>,
    ) -> Result<QueuePair, DriverError> {
        if made.is_err() && !self.failed {
            queue.free(&mut self.link);
            return made;
        }
        if made.is_err() {
            queue.state = QueueState::Orphan;
        }
        self.put_queue(index, queue);
        made
    }

    fn allocate_queue(&mut self, depth: u32) -> Result<Queue, DriverError> {
        let entries = depth as usize;
        let sizes = [
            entries * SubmissionEntry::BYTES,
            entries * CompletionEntry::BYTES,
            (entries - 1) * limits::PAGE_BYTES,
        ];
        let mut taken = Vec::with_capacity(sizes.len());
        for bytes in sizes {
            match self.link.allocate(bytes) {
                Ok(buffer) => taken.push(buffer),
                Err(error) => {
                    for buffer in taken {
                        self.link.free(buffer);
                    }
                    return Err(error.into());
                }
            }
        }
        let [submission, completion, lists] =
            <[DmaBuffer; 3]>::try_from(taken).expect("three sizes, three buffers");
        Ok(Queue {
            state: QueueState::Live,
            depth,
            submission,
            completion,
            lists,
        })
    }

    fn pair_over(&self, id: QueueId, queue: &Queue) -> Result<QueuePair, DriverError> {
        queue_pair_over(
            id,
            queue.depth,
            &self.link.doorbells(),
            self.capabilities.dstrd(),
            (&queue.submission, &queue.completion, &queue.lists),
            self.transfer_bytes_max,
        )
    }

    /// Has the controller create both queues: the completion queue first, since the other names it.
    ///
    /// The admin path fills in PRPs from a buffer, but the PRP1 of these commands is an address: it is sent as it is.
    fn create_queues(&mut self, id: QueueId, queue: &Queue) -> Result<(), DriverError> {
        let size = ZeroBased::<u16>::from_count(queue.depth).expect("a depth is 2 to 65536");
        let completion = CreateCompletionQueue {
            qid: id,
            size,
            contiguous: true,
            interrupts: false,
            vector: 0,
            prp1: queue.completion.iova().get(),
        };
        let submission = CreateSubmissionQueue {
            qid: id,
            size,
            contiguous: true,
            cqid: id,
            prp1: queue.submission.iova().get(),
            ..CreateSubmissionQueue::default()
        };
        let entry = completion.emit(command(admin_opcode::CREATE_IO_CQ, NamespaceId::NONE));
        self.execute_with_address(entry, completion.prp1)?;
        let entry = submission.emit(command(admin_opcode::CREATE_IO_SQ, NamespaceId::NONE));
        let created = self.execute_with_address(entry, submission.prp1);
        if created.is_err() && !self.failed {
            self.take_back_completion_queue(id)?;
        }
        created.map(|_| ())
    }

    /// Deletes a completion queue that no submission queue uses, which leaves no reason to refuse. A controller that does
    /// so all the same keeps a queue that nobody owns, and only a reset takes that away.
    fn take_back_completion_queue(&mut self, id: QueueId) -> Result<(), DriverError> {
        let deleted = self.delete_queue(admin_opcode::DELETE_IO_CQ, id);
        let Err(DriverError::Refused { status, .. }) = deleted else {
            return deleted;
        };
        self.failed = true;
        Err(DriverError::BadAnswer {
            what: "Delete I/O Completion Queue",
            wanted: "success, since no submission queue uses it",
            found: status.to_string(),
        })
    }

    fn delete_queue(&mut self, opcode: u8, id: QueueId) -> Result<(), DriverError> {
        let entry = DeleteQueue { qid: id }.emit(command(opcode, NamespaceId::NONE));
        self.execute(entry, AdminData::None).map(|_| ())
    }

    pub(crate) fn delete_queues(&mut self, id: QueueId) -> Result<(), DriverError> {
        self.delete_queue(admin_opcode::DELETE_IO_SQ, id)?;
        self.delete_queue(admin_opcode::DELETE_IO_CQ, id)
    }

    /// Deletes a queue pair, and frees its memory. Commands in flight end without an answer.
    ///
    /// # Errors
    /// As [`admin`](Self::admin). The pair is gone all the same; memory that the controller might still write to is freed
    /// by the next reset or by [`shutdown`](Self::shutdown).
    ///
    /// # Panics
    /// If the pair belongs to another device.
    pub fn delete_queue_pair(&mut self, pair: QueuePair) -> Result<(), DriverError> {
        let id = pair.id();
        let index = usize::from(id.get()).wrapping_sub(1);
        let slot = self.queues.get_mut(index);
        let mut queue = slot
            .and_then(Option::take)
            .expect("the queue pair belongs to this device");
        assert_eq!(
            pair.into_lists().iova(),
            queue.lists.iova(),
            "the queue pair belongs to this device"
        );
        let deleted = match queue.state {
            QueueState::Live if self.failed => Err(DriverError::NeedsReset),
            QueueState::Live => self.delete_queues(id),
            QueueState::Dead | QueueState::Orphan => Ok(()),
        };
        if deleted.is_ok() {
            queue.free(&mut self.link);
        } else {
            queue.state = QueueState::Orphan;
            self.put_queue(index, queue);
        }
        deleted
    }

    /// Has the controller create the queues of a pair again after a reset. The pair begins anew, empty.
    ///
    /// # Errors
    /// [`DriverError::QueuesExhausted`] when the controller grants fewer queues than before the reset; else as
    /// [`admin`](Self::admin).
    ///
    /// # Panics
    /// If commands are in flight ([`QueuePair::abandon`] them first), or the pair belongs to another device.
    pub fn revive(&mut self, pair: &mut QueuePair) -> Result<(), DriverError> {
        self.refuse_if_failed()?;
        assert_eq!(pair.in_flight(), 0, "abandon the commands in flight first");
        let id = pair.id();
        if id.get() > self.queue_pairs_granted {
            return Err(DriverError::QueuesExhausted {
                granted: self.queue_pairs_granted,
            });
        }
        let index = usize::from(id.get()).wrapping_sub(1);
        let slot = self.queues.get_mut(index);
        let queue = slot
            .and_then(Option::take)
            .expect("the queue pair belongs to this device");
        if queue.state != QueueState::Dead {
            self.put_queue(index, queue);
            return Ok(());
        }
        let revived = self.create_again(id, &queue);
        // After a refusal the controller has no such queues; after anything worse nobody knows, until the next reset.
        let state = if revived.is_ok() || self.failed {
            QueueState::Live
        } else {
            QueueState::Dead
        };
        self.put_queue(index, Queue { state, ..queue });
        *pair = revived?;
        Ok(())
    }

    fn put_queue(&mut self, index: usize, queue: Queue) {
        if let Some(slot) = self.queues.get_mut(index) {
            *slot = Some(queue);
        }
    }

    fn create_again(&mut self, id: QueueId, queue: &Queue) -> Result<QueuePair, DriverError> {
        clear(&queue.submission);
        clear(&queue.completion);
        let pair = self.pair_over(id, queue)?;
        self.create_queues(id, queue)?;
        Ok(pair)
    }
}
