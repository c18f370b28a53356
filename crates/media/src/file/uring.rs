//! A disk by io_uring: the only file of this crate that promises something to the compiler.
//!
//! One ring, for whoever polls: ordering writes into it and enters the kernel once for a few orders; advancing enters it once if
//! something is left to begin or if the kernel has completions to finish, and otherwise reads two words of shared memory.
//!
//! The ring is set up so that completions do not interrupt the poller (`COOP_TASKRUN`) and that a flag says when some are to
//! be fetched: on two cores that halves the cost of a read. `SINGLE_ISSUER` and `DEFER_TASKRUN` would bind it to one thread: a medium that is made here, used there and
//! dropped elsewhere could then not be waited for.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};
use mem::Window;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};

use super::disk::{Action, Disk, Ended, Order};
use super::limits::{BEGIN_TOGETHER_MAX, ORDERS_MAX};

/// An `iovec`, as registering wants it.
#[repr(C)]
struct Memory {
    start: *mut core::ffi::c_void,
    len: usize,
}

/// The kernel's io_uring as a [`Disk`].
pub struct Uring {
    ring: IoUring,
    file: File,
    /// What orders name offsets in. The kernel uses it while orders are under way, so it is kept until there are none.
    memory: Window,
    /// Bytes at the beginning of the memory that are registered.
    registered: usize,
    /// Orders that were given and whose end was not handed out.
    under_way: usize,
}

impl Uring {
    /// A disk on `file`; orders name offsets in `memory`, of which the first `small` bytes are used most.
    ///
    /// # Errors
    /// The system's, where io_uring is missing (Linux before 5.19) or forbidden.
    pub(super) fn new(file: File, memory: &Window, small: usize) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .build(ORDERS_MAX as u32)?;
        let mut uring = Self {
            ring,
            file,
            memory: memory.clone(),
            registered: 0,
            under_way: 0,
        };
        // Pinned memory counts against RLIMIT_MEMLOCK. Where that is low, each I/O pins its own, which is merely slower.
        if uring.register(small).is_ok() {
            uring.registered = small;
        }
        Ok(uring)
    }

    /// Whether the small slots are registered with the kernel, which makes small I/O cheaper. They are not where
    /// RLIMIT_MEMLOCK is too low.
    pub fn has_registered_memory(&self) -> bool {
        self.registered > 0
    }

    fn register(&self, len: usize) -> io::Result<()> {
        let memory = Memory {
            start: self.address(0, len).cast(),
            len,
        };
        // SAFETY: `Memory` is laid out as the `iovec` that is meant (two words: address, length).
        let list = unsafe { core::slice::from_raw_parts((&raw const memory).cast(), 1) };
        // SAFETY: the range lies in our memory, which is kept as long as the ring (fields of one struct; `Drop`).
        unsafe { self.ring.submitter().register_buffers(list) }
    }

    /// The address of a range of the memory.
    fn address(&self, offset: usize, len: usize) -> *mut u8 {
        let Some(span) = self.memory.span(offset, len) else {
            panic!(
                "orders stay in the memory: {offset}+{len} of {}",
                self.memory.len()
            );
        };
        core::ptr::with_exposed_provenance_mut(span.host_address())
    }

    fn entry(&self, order: &Order) -> squeue::Entry {
        // Not registered: a ring is torn down some time after its process, and would keep the file and its lock until then.
        let file = types::Fd(self.file.as_raw_fd());
        let (at, len) = (order.at, order.len);
        let entry = match order.action {
            Action::Read { memory } => {
                let bytes = len as usize;
                let start = self.address(memory, bytes);
                if memory + bytes <= self.registered {
                    opcode::ReadFixed::new(file, start, len as u32, 0)
                        .offset(at)
                        .build()
                } else {
                    opcode::Read::new(file, start, len as u32)
                        .offset(at)
                        .build()
                }
            }
            Action::Write { memory, durable } => {
                let bytes = len as usize;
                let start = self.address(memory, bytes);
                let flags = if durable {
                    ReadWriteFlags::DSYNC
                } else {
                    ReadWriteFlags::empty()
                }
                .bits()
                .cast_signed();
                if memory + bytes <= self.registered {
                    opcode::WriteFixed::new(file, start, len as u32, 0)
                        .offset(at)
                        .rw_flags(flags)
                        .build()
                } else {
                    opcode::Write::new(file, start, len as u32)
                        .offset(at)
                        .rw_flags(flags)
                        .build()
                }
            }
            Action::Sync => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Action::PunchHole => Self::allocation(file, FallocateFlags::PUNCH_HOLE, at, len),
            Action::ZeroRange => Self::allocation(file, FallocateFlags::ZERO_RANGE, at, len),
        };
        entry.user_data(u64::from(order.tag))
    }

    fn allocation(file: types::Fd, how: FallocateFlags, at: u64, len: u64) -> squeue::Entry {
        let mode = (how | FallocateFlags::KEEP_SIZE).bits().cast_signed();
        opcode::Fallocate::new(file, len)
            .offset(at)
            .mode(mode)
            .build()
    }

    /// Enters the kernel: begins what was ordered, and finishes what came back.
    fn enter(&mut self, ordered: usize, at_least: u32) -> bool {
        // Without it the kernel does not look for completions when nothing is to begin.
        const GET_EVENTS: u32 = 1;
        // SAFETY: the entries were made by `entry`, whose addresses lie in our memory, which is kept until they are over.
        let entered = unsafe {
            self.ring.submitter().enter::<core::ffi::c_void>(
                ordered as u32,
                at_least,
                GET_EVENTS,
                None,
            )
        };
        match entered {
            Ok(_) => true,
            Err(error) => {
                let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY]
                    .map(|errno| Some(errno.raw_os_error()));
                assert!(
                    passing.contains(&error.raw_os_error()),
                    "a ring that was set up can be entered, found: {error}"
                );
                false
            }
        }
    }
}

impl Disk for Uring {
    fn order(&mut self, order: Order) {
        let entry = self.entry(&order);
        let mut queue = self.ring.submission();
        // SAFETY: the entry's addresses lie in our memory, which is kept until the order is over (`Drop`), as is the
        // file.
        let pushed = unsafe { queue.push(&entry) };
        assert!(pushed.is_ok(), "at most {ORDERS_MAX} orders are under way");
        let ordered = queue.len();
        drop(queue);
        self.under_way += 1;
        // An idle disk begins at once, a busy one gets a few together. Waiting for all that the caller has to say would
        // leave it idle meanwhile, which costs a tenth of the rate where completions come in bursts.
        if ordered >= BEGIN_TOGETHER_MAX.min((self.under_way - ordered).max(1)) {
            self.enter(ordered, 0);
        }
    }

    #[inline]
    fn advance(&mut self) {
        if self.under_way == 0 {
            return;
        }
        let queue = self.ring.submission();
        let (ordered, to_fetch) = (queue.len(), queue.taskrun() || queue.cq_overflow());
        drop(queue);
        if ordered > 0 || to_fetch {
            // What the kernel does not take now is offered again the next time.
            self.enter(ordered, 0);
        }
    }

    fn wait(&mut self) {
        while self.under_way > 0 && self.ring.completion().is_empty() {
            let ordered = self.ring.submission().len();
            self.enter(ordered, 1);
        }
    }

    #[inline]
    fn ended(&mut self) -> Option<Ended> {
        let entry = self.ring.completion().next()?;
        self.under_way -= 1;
        let result = entry.result();
        Some(Ended {
            tag: entry.user_data() as u32,
            outcome: usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result)),
        })
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The memory must outlive what the kernel does with it.
        while self.under_way > 0 {
            self.wait();
            while self.ended().is_some() {}
        }
    }
}

impl core::fmt::Debug for Uring {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Uring")
            .field("file", &self.file)
            .field("registered", &self.registered)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}
