//! Bytes at any offset: the block layer.
//!
//! This is the one place that splits what is too long for a command, that handles blocks covered in part, and that copies
//! between the caller's memory and memory that the controller reaches. A block that is written in part is read, modified and
//! written; that is atomic as seen through the same [`BlockDevice`] only, since it does one thing at a time.

mod plan;
mod transfer;

use core::fmt;
use core::time::Duration;

use mem::{BufferPool, DmaBuffer};
use spec::nvme::Status;
use spec::{Lba, NamespaceId};

use crate::device::Device;
use crate::error::DriverError;
use crate::limits;
use crate::link::Link;
use crate::namespace::Namespace;
use crate::queue_pair::{QueuePair, QueuePairCounters};
use plan::{Piece, Plan};
use transfer::{Flight, Job};

/// What a block device was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Make durable what was written.
    Flush,
    /// Write zeros.
    WriteZeroes,
    /// Say that bytes are not needed any more.
    Discard,
}

impl fmt::Display for BlockOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::WriteZeroes => "write zeroes",
            Self::Discard => "discard",
        })
    }
}

/// Why a block device could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The range ends beyond the namespace.
    #[error("{operation} of {len} bytes at {offset}: the namespace ends at byte {capacity}")]
    OutOfRange {
        /// What was asked for.
        operation: BlockOperation,
        /// The first byte.
        offset: u64,
        /// Bytes.
        len: u64,
        /// Bytes of the namespace.
        capacity: u64,
    },
    /// The controller answered a command with an error. Other parts of the same range may have been done.
    #[error("{operation} of {blocks} blocks at LBA {lba}: {status}")]
    Command {
        /// What was asked for.
        operation: BlockOperation,
        /// The first block of the command that failed.
        lba: Lba,
        /// Its blocks.
        blocks: u32,
        /// The controller's answer.
        status: Status,
    },
    /// The controller has no command for this.
    #[error("{operation}: the controller has no such command (Identify's ONCS)")]
    Unsupported {
        /// What was asked for.
        operation: BlockOperation,
    },
    /// There is no such namespace.
    #[error("namespace {wanted} is not active; active are {found:?}")]
    NoNamespace {
        /// The namespace asked for.
        wanted: NamespaceId,
        /// Those there are.
        found: Vec<u32>,
    },
    /// After a reset, the namespace is another.
    #[error("namespace {id} changed its size or format; open it again")]
    NamespaceChanged {
        /// The namespace.
        id: NamespaceId,
    },
    /// The controller failed, and resetting it did not help.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// How a block device works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOptions {
    /// Commands in flight, at least 1; the controller may allow fewer.
    pub depth: u32,
    /// Bytes of one command at most; the controller may allow fewer. Memory taken is this times `depth`.
    pub bounce_bytes: u32,
    /// Patience when commands are in flight and none completes.
    pub io_timeout: Duration,
    /// Resets of the controller that one call may cost.
    pub recoveries_max: u32,
}

impl Default for BlockOptions {
    fn default() -> Self {
        Self {
            depth: limits::BLOCK_DEPTH,
            bounce_bytes: limits::BOUNCE_BYTES,
            io_timeout: limits::IO_TIMEOUT,
            recoveries_max: limits::RECOVERIES_MAX,
        }
    }
}

/// What a block device has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounters {
    /// Commands sent.
    pub commands: u64,
    /// Blocks that were read, modified and written because a part of them was meant.
    pub read_modify_writes: u64,
    /// Calls that wrote zeros as data, because the controller has no Write Zeroes: a slower path.
    pub zeroes_as_data: u64,
    /// Resets of the controller.
    pub recoveries: u64,
}

/// One namespace as a range of bytes.
///
/// *Alive*: the queue pair works. *Dead*, after the controller failed in a call and was not brought back: the next call begins
/// with another attempt.
#[derive(Debug)]
pub struct BlockDevice<L: Link> {
    device: Device<L>,
    pair: QueuePair,
    namespace: Namespace,
    options: BlockOptions,
    memory: DmaBuffer,
    pool: BufferPool,
    /// Slot `n` belongs to buffer `n` and to the command with tag `n`.
    flights: Box<[Option<Flight>]>,
    blocks_max: u32,
    counters: BlockCounters,
    alive: bool,
}

impl<L: Link> BlockDevice<L> {
    /// Makes a block device of one namespace: creates a queue pair and takes memory for bounce buffers.
    ///
    /// # Errors
    /// When the namespace does not exist or has blocks that do not fit a command, or when queues or memory are refused.
    pub fn open(
        mut device: Device<L>,
        id: NamespaceId,
        options: BlockOptions,
    ) -> Result<Self, BlockError> {
        let namespace = find(&device, id)?;
        let piece_bytes = piece_bytes(&namespace, &options, device.transfer_bytes_max())?;
        let depth = options
            .depth
            .clamp(1, device.queue_depth_max() - 1)
            .min(mem::limits::POOL_BUFFERS_MAX as u32);
        let stride = (piece_bytes as usize).next_multiple_of(limits::PAGE_BYTES);
        let memory = device.allocate(depth as usize * stride)?;
        let pool = BufferPool::new(memory.clone(), stride);
        // A ring of `depth + 1` entries holds `depth` commands, and no ring holds fewer than one.
        let pair = device.create_queue_pair(depth + 1)?;
        let flights = (0..pool.count()).map(|_| None).collect();
        Ok(Self {
            device,
            pair,
            blocks_max: (piece_bytes >> namespace.block_shift).min(limits::COMMAND_BLOCKS_MAX),
            namespace,
            options,
            memory,
            pool,
            flights,
            counters: BlockCounters::default(),
            alive: true,
        })
    }

    /// Gives the device back. What was written and not [flushed](Self::flush) is as safe as the controller makes it.
    ///
    /// # Errors
    /// As [`Device::delete_queue_pair`]; the device is lost then.
    pub fn close(mut self) -> Result<Device<L>, BlockError> {
        self.device.delete_queue_pair(self.pair)?;
        self.device.free(self.memory);
        Ok(self.device)
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Bytes of the namespace.
    pub fn capacity(&self) -> u64 {
        self.namespace.bytes()
    }

    /// The device below, for admin commands. Resetting it under a block device is allowed between calls only through
    /// [`recover_now`](Self::recover_now).
    pub fn device_mut(&mut self) -> &mut Device<L> {
        &mut self.device
    }

    /// What was counted here.
    pub fn counters(&self) -> BlockCounters {
        self.counters
    }

    /// What the queue pair has counted since it was last created.
    pub fn queue_pair_counters(&self) -> QueuePairCounters {
        self.pair.counters()
    }

    /// Fills `bytes` from the namespace, from byte `offset` on.
    ///
    /// # Errors
    /// [`BlockError::OutOfRange`], or what the controller answers; `bytes` may be filled in part then.
    pub fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), BlockError> {
        let plan = self.plan(
            BlockOperation::Read,
            offset,
            bytes.len() as u64,
            self.blocks_max,
        )?;
        self.run(Job::Read(bytes), plan, None)
    }

    /// Writes `bytes` to the namespace, from byte `offset` on. They are durable after [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`BlockError::OutOfRange`], or what the controller answers; some of the bytes may be written then.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), BlockError> {
        let plan = self.plan(
            BlockOperation::Write,
            offset,
            bytes.len() as u64,
            self.blocks_max,
        )?;
        self.run(Job::Write(bytes), plan.with_edges_alone(), None)
    }

    /// Makes everything durable that was written before.
    ///
    /// # Errors
    /// What the controller answers.
    pub fn flush(&mut self) -> Result<(), BlockError> {
        self.run(Job::Flush, Plan::nothing(), Some(Piece::NO_BLOCKS))
    }

    /// Writes `len` zeros from byte `offset` on, without moving data where the controller has Write Zeroes.
    ///
    /// # Errors
    /// [`BlockError::OutOfRange`], or what the controller answers; some of the bytes may be written then.
    pub fn write_zeroes(&mut self, offset: u64, len: u64) -> Result<(), BlockError> {
        let operation = BlockOperation::WriteZeroes;
        let (job, blocks_max) = if self.device.identify().oncs.write_zeroes() {
            (
                Job::Zero,
                self.device.zeroes_blocks_max(self.namespace.block_shift),
            )
        } else {
            self.counters.zeroes_as_data += 1;
            (Job::ZeroAsData, self.blocks_max)
        };
        let plan = self.plan(operation, offset, len, blocks_max)?;
        self.run(job, plan.with_edges_alone(), None)
    }

    /// Tells the controller that `len` bytes from `offset` on are not needed any more. Blocks that are covered in part keep
    /// their bytes. What a discarded block holds afterwards is the controller's choice, and always the same until it is written.
    ///
    /// # Errors
    /// [`BlockError::Unsupported`] when the controller has no Dataset Management, [`BlockError::OutOfRange`], or what the
    /// controller answers.
    pub fn discard(&mut self, offset: u64, len: u64) -> Result<(), BlockError> {
        let operation = BlockOperation::Discard;
        if !self.device.identify().oncs.dataset_management() {
            return Err(BlockError::Unsupported { operation });
        }
        let blocks_max = self.device.discard_blocks_max();
        let plan = self.plan(operation, offset, len, blocks_max)?;
        self.run(Job::Discard, plan.inner(), None)
    }

    /// Resets the controller and revives the queue pair now, as a call does by itself when the controller fails in it.
    ///
    /// # Errors
    /// When the controller does not come back; the next call tries again.
    pub fn recover_now(&mut self) -> Result<(), BlockError> {
        self.alive = false;
        self.run(Job::Flush, Plan::nothing(), None)
    }

    fn plan(
        &self,
        operation: BlockOperation,
        offset: u64,
        len: u64,
        blocks_max: u32,
    ) -> Result<Plan, BlockError> {
        let capacity = self.capacity();
        match offset.checked_add(len) {
            Some(end) if end <= capacity => Ok(Plan::new(
                offset,
                len,
                self.namespace.block_shift,
                blocks_max,
            )),
            _ => Err(BlockError::OutOfRange {
                operation,
                offset,
                len,
                capacity,
            }),
        }
    }

    /// After a reset: is the namespace the one that pieces were planned for?
    fn check_namespace(&mut self) -> Result<(), BlockError> {
        let found = find(&self.device, self.namespace.id)?;
        let fits = self.device.transfer_bytes_max() >= self.blocks_max << found.block_shift;
        if found == self.namespace && fits {
            Ok(())
        } else {
            Err(BlockError::NamespaceChanged {
                id: self.namespace.id,
            })
        }
    }
}

fn find<L: Link>(device: &Device<L>, id: NamespaceId) -> Result<Namespace, BlockError> {
    device
        .namespace(id)
        .cloned()
        .ok_or_else(|| BlockError::NoNamespace {
            wanted: id,
            found: device
                .namespaces()
                .iter()
                .map(|namespace| namespace.id.get())
                .collect(),
        })
}

/// Bytes of one command at most: whole blocks and whole pages.
fn piece_bytes(
    namespace: &Namespace,
    options: &BlockOptions,
    transfer_bytes_max: u32,
) -> Result<u32, DriverError> {
    if namespace.metadata_bytes != 0 {
        return Err(DriverError::Unsupported {
            what: "MS of the namespace's format",
            wanted: "no metadata",
            found: format!("{} bytes with each block", namespace.metadata_bytes),
        });
    }
    let grain = namespace.block_bytes().max(limits::PAGE_BYTES as u32);
    if grain > transfer_bytes_max {
        return Err(DriverError::Unsupported {
            what: "MDTS",
            wanted: "transfers of a whole logical block",
            found: format!("{transfer_bytes_max} bytes for blocks of {grain}"),
        });
    }
    let wanted = options.bounce_bytes.clamp(grain, transfer_bytes_max);
    Ok(wanted - wanted % grain)
}
