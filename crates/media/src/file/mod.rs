//! A namespace kept in a regular file or a block device.
//!
//! Three layers. [`FileMedia`] is the logic: which piece of which request is next, what may be answered, what a failure means.
//! It knows no file. A [`Disk`] carries out its orders; [`Uring`] is the one that is used, by io_uring, and tests put a
//! recorder there. Between them lie the slots (`slots.rs`), memory of our own in which bytes wait, since the host's memory may be
//! touched only while the host is asked for it.
//!
//! # What is durable when
//! A Flush is answered after an fdatasync that began when every write answered before it was over. A Force Unit Access is
//! answered when its own blocks are durable: with O_DIRECT the write itself says so to the kernel, through the page cache it
//! waits for an fdatasync. With the write cache off, everything that changes blocks is treated so.
//!
//! Only one fdatasync runs at a time, and those who ask meanwhile share the next. This is not only cheaper: of two at once, the
//! kernel tells one of a failure and the other of success.
//!
//! After a failed fdatasync the kernel has forgotten which pages it could not write, and the next one succeeds without them.
//! So the failure is kept: every later Flush and Force Unit Access is a Write Fault until the file is opened anew.
//!
//! # When a call waits
//! [`Media::start`] waits in two cases, each time for about one I/O: a write finds no slot of its size free (counted, see
//! [`FileMedia::waits`]); a Deallocate or Flush comes when 4096 requests are under way. Turning the write cache off waits for
//! an fdatasync.

mod direct;
mod disk;
mod jobs;
mod limits;
mod lock;
mod open;
mod slots;
mod steps;
mod trouble;
#[expect(
    unsafe_code,
    reason = "hands addresses to the kernel, which uses them after the call"
)]
mod uring;
mod watch;

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use mem::{RegionError, Span, Window};
use spec::BlockCount;
use spec::nvme::Status;

pub use disk::{Action, Disk, Ended, Order};
pub use limits::{ORDERS_MAX, TRANSFER_BYTES_MAX};
pub use open::{Direct, FileError, FileOptions};
pub use uring::Uring;

use jobs::{Job, JobId, Jobs};
use limits::{JOBS_MAX, JOBS_SHARED_MAX};
use slots::{CLASS_COUNT, SEATS, Side, Slots};
use steps::{Abilities, Syncing};
use trouble::{Cause, Troubles};
use watch::Watch;

use crate::{BlockSize, Landing, Media, MediaCounts, Operation, Progress, Request, Token};
use jobs::Way;

/// What [`FileMedia`] is told about what lies below it.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// The size of a logical block.
    pub block_size: BlockSize,
    /// The capacity in logical blocks, at least one.
    pub blocks: BlockCount,
    /// Whether a durable write tells of failures of its own bytes only, as with O_DIRECT. Otherwise it might take the news of
    /// another write's failure away from the next sync, and is not used.
    pub durable_writes: bool,
    /// What the log calls it.
    pub path: PathBuf,
}

/// A medium that keeps its blocks in a file or block device. See the [module](self) for what it promises.
pub struct FileMedia<D = Uring> {
    geometry: Geometry,
    slots: Slots,
    jobs: Jobs,
    /// For each class of slots, the jobs that wait for one.
    waiting: [VecDeque<JobId>; CLASS_COUNT],
    /// Jobs that are over and to be answered.
    over: VecDeque<JobId>,
    syncing: Syncing,
    abilities: Abilities,
    write_cache: bool,
    troubles: Troubles,
    counts: MediaCounts,
    waits: u64,
    /// Whether the file was made when it was opened.
    made: bool,
    /// Says at the end whether the file is still what it was.
    watch: Option<Watch>,
    /// Waits for what is under way when it is dropped, and keeps the memory for that long.
    disk: D,
}

impl<D: Disk> FileMedia<D> {
    /// A medium on a disk that `disk` makes on the memory it is given.
    ///
    /// # Errors
    /// When the machine has not got the memory.
    ///
    /// # Panics
    /// If the geometry has no blocks.
    pub fn on(geometry: Geometry, disk: impl FnOnce(&Window) -> D) -> Result<Self, RegionError> {
        let slots = Slots::new()?;
        let disk = disk(slots.memory());
        Ok(Self::with(geometry, slots, disk))
    }

    fn with(geometry: Geometry, slots: Slots, disk: D) -> Self {
        assert!(geometry.blocks.get() > 0, "a medium has at least one block");
        Self {
            slots,
            jobs: Jobs::new(),
            waiting: core::array::from_fn(|_| VecDeque::with_capacity(JOBS_MAX)),
            over: VecDeque::with_capacity(JOBS_MAX),
            syncing: Syncing::default(),
            abilities: Abilities::default(),
            write_cache: true,
            troubles: Troubles::new(geometry.path.clone()),
            counts: MediaCounts::default(),
            waits: 0,
            made: false,
            watch: None,
            geometry,
            disk,
        }
    }

    /// What carries out the orders.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// As [`disk`](Self::disk), for those who script it.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    /// What the log calls the file.
    pub fn path(&self) -> &Path {
        self.troubles.path()
    }

    /// How often a call waited because what it needed was in use.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Whether an fdatasync failed, after which nothing is called durable any more.
    pub fn lost_a_sync(&self) -> bool {
        self.syncing.failed
    }

    /// Whether a change of blocks that begins now must be durable before it is answered.
    fn must_be_durable(&self, fua: bool) -> bool {
        fua || !self.write_cache
    }

    fn job(&self, token: Token, request: &Request) -> Job {
        let shift = self.geometry.block_size.shift();
        let way = match request.op {
            Operation::Read | Operation::Compare | Operation::Verify => Way::Read,
            Operation::Write => Way::Write,
            Operation::WriteZeroes { .. } | Operation::Deallocate => self.abilities.way(request.op),
            Operation::Flush => Way::Sync,
        };
        Job {
            token,
            op: request.op,
            // The controller checked the range against the capacity, whose byte count fits an offset.
            at: request.at.get() << shift,
            len: request.count.get() << shift,
            done: 0,
            piece: 0,
            slot: None,
            way,
            fua: request.fua,
            durable: self.geometry.durable_writes
                && way == Way::Write
                && self.must_be_durable(request.fua),
            retries: 0,
            status: None,
        }
    }

    /// A Write: its bytes are taken now, so it cannot wait for a slot outside.
    fn start_write(&mut self, job: Job, data: &[Span<'_>]) {
        let class = Slots::class_for(job.len);
        let slot = loop {
            if let Some(slot) = self.slots.take(class, Side::Writes) {
                break slot;
            }
            // Writes give their slots back without being answered, so one becomes free whatever the caller does.
            self.waits += 1;
            self.disk.wait();
            self.reap();
        };
        let mut rest = self.slots.span(slot, job.len as usize);
        for host in data {
            let (here, after) = rest.split_at(host.len());
            host.copy_to(here);
            rest = after;
        }
        let id = self.jobs.add(Job {
            slot: Some(slot),
            ..job
        });
        self.order_next(id);
    }

    /// Everything else that moves or changes blocks: now if there is a slot, else as soon as there is one.
    fn start_other(&mut self, job: Job) -> JobId {
        let id = self.jobs.add(job);
        let class = Self::class_of(&job);
        self.waiting[class].push_back(id);
        self.feed(class);
        id
    }

    fn class_of(job: &Job) -> usize {
        match job.way {
            Way::Read | Way::Write => Slots::class_for(job.len),
            Way::PunchHole | Way::ZeroRange | Way::WriteZeroes | Way::Sync => SEATS,
        }
    }

    /// Waits until a job that nobody is told of is over.
    fn finish(&mut self, id: JobId) -> Status {
        self.waits += 1;
        loop {
            if let Some(status) = self.jobs.get(id).status {
                self.over.retain(|&over| over != id);
                self.jobs.remove(id);
                return status;
            }
            self.begin_sync();
            self.disk.wait();
            self.reap();
        }
    }

    /// Answers what is over.
    fn answer(&mut self, landing: &mut dyn Landing) {
        while let Some(id) = self.over.pop_front() {
            let job = self.jobs.remove(id);
            let Some(mut status) = job.status else {
                panic!("a job that is over has a status");
            };
            if let Some(slot) = job.slot {
                if status.is_success() {
                    status = landing.blocks(job.token, self.slots.span(slot, job.len as usize));
                }
                self.slots.give(slot);
                self.feed(Self::class_of(&job));
            }
            landing.answer(job.token, status);
        }
    }
}

impl<D: Disk> Media for FileMedia<D> {
    fn block_size(&self) -> BlockSize {
        self.geometry.block_size
    }

    fn blocks(&self) -> BlockCount {
        self.geometry.blocks
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        let job = self.job(token, request);
        let changes = !matches!(job.way, Way::Read | Way::Sync);
        if self.syncing.failed && (job.way == Way::Sync || changes && self.must_be_durable(job.fua))
        {
            self.refuse(&job, Cause::Unsynced);
            return Progress::Done(trouble::status(job.way, Cause::Unsynced));
        }
        let shared = self.jobs.in_use() >= JOBS_SHARED_MAX;
        match request.op {
            Operation::Flush => {
                let id = self.jobs.add(job);
                self.syncing.waiting.push(id);
                if shared {
                    return Progress::Done(self.finish(id));
                }
            }
            // Dataset Management may name an empty range.
            _ if job.len == 0 => return Progress::Done(Status::SUCCESS),
            Operation::Deallocate | Operation::WriteZeroes { .. } | Operation::Verify => {
                let id = self.start_other(job);
                if shared && request.op == Operation::Deallocate {
                    return Progress::Done(self.finish(id));
                }
            }
            Operation::Read | Operation::Compare | Operation::Write => {
                let bytes: usize = data.iter().map(Span::len).sum();
                assert!(
                    bytes as u64 == job.len && bytes <= TRANSFER_BYTES_MAX,
                    "the controller lists exactly the bytes that it asks for, at most {TRANSFER_BYTES_MAX}"
                );
                if request.op == Operation::Write {
                    self.start_write(job, data);
                } else {
                    self.start_other(job);
                }
            }
        }
        Progress::Later
    }

    fn poll(&mut self, _now: Duration, landing: &mut dyn Landing) {
        if self.jobs.in_use() == 0 {
            return;
        }
        self.begin_sync();
        self.disk.advance();
        self.reap();
        self.answer(landing);
        // What came of it, so that the machine works while the caller does something else.
        self.begin_sync();
        self.disk.advance();
    }

    fn set_write_cache(&mut self, enabled: bool) {
        let turned_off = self.write_cache && !enabled;
        self.write_cache = enabled;
        if !turned_off || self.syncing.failed {
            return;
        }
        // What was written so far was answered with the cache on. Without one, nobody will send a Flush for it.
        self.syncing.wanted = true;
        while self.syncing.wanted || self.syncing.running {
            self.begin_sync();
            self.disk.wait();
            self.reap();
        }
    }

    fn counts(&self) -> MediaCounts {
        self.counts
    }
}

impl<D: fmt::Debug> fmt::Debug for FileMedia<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileMedia")
            .field("geometry", &self.geometry)
            .field("jobs", &self.jobs.in_use())
            .field("write_cache", &self.write_cache)
            .field("syncing", &self.syncing)
            .field("abilities", &self.abilities)
            .field("counts", &self.counts)
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}
