//! A host made by hand: memory, rings and doorbells without a driver, so that a test can say anything a host can say.

#![allow(dead_code, reason = "each test file uses its own part")]

mod slow;

use core::time::Duration;
use std::collections::BTreeMap;

use controller::{Config, Controller, NamespaceConfig, limits};
use media::{BlockSize, Media, RamMedia};
use mem::{Backing, Iova, IovaMap, Region, Window};
use ring::{Register32, Words};
use spec::nvme::register::{
    self, AdminQueueAttributes, CQ_ENTRY_SHIFT, Configuration, ControllerStatus, SQ_ENTRY_SHIFT,
};
use spec::nvme::{CompletionEntry, Status, SubmissionEntry, admin_opcode, io_opcode};
use spec::{BlockCount, CommandId, Lba, NamespaceId, QueueId, ZeroBased};

pub(crate) use slow::SlowMedia;

/// Where the host's memory begins, as the controller addresses it.
pub(crate) const BASE: u64 = 0x4000_0000;
/// Bytes of it.
pub(crate) const BYTES: usize = 16 << 20;
/// An address that the host never mapped.
pub(crate) const UNMAPPED: u64 = 0x7000_0000;
/// A memory page.
pub(crate) const PAGE: u64 = limits::PAGE_BYTES;
/// Entries of the admin queues that [`Host::enable`] makes.
pub(crate) const ADMIN_DEPTH: u32 = 32;
/// Blocks of namespace 1 (512 bytes each) and namespace 2 (4096 bytes each).
pub(crate) const BLOCKS: u64 = 8192;
/// Ticks that any single command may need.
pub(crate) const TICKS_MAX: u32 = 100;

/// The controller and everything that a host needs to speak to it.
pub(crate) struct Host {
    pub(crate) controller: Controller,
    pub(crate) now: Duration,
    memory: Window,
    map: IovaMap,
    doorbells: Window,
    next: u64,
    next_cid: u16,
    submissions: BTreeMap<u16, Submission>,
    completions: BTreeMap<u16, Completion>,
}

#[derive(Clone, Copy)]
struct Submission {
    address: u64,
    depth: u32,
    tail: u32,
    completion: u16,
}

#[derive(Clone, Copy)]
struct Completion {
    address: u64,
    depth: u32,
    head: u32,
    phase: bool,
}

pub(crate) fn ram(block_size: BlockSize) -> RamMedia {
    RamMedia::new(BlockCount::new(BLOCKS), block_size, Backing::Anonymous).expect("RAM media")
}

pub(crate) fn namespace(id: u32, media: impl Media + 'static) -> NamespaceConfig {
    NamespaceConfig {
        id: NamespaceId::new(id),
        media: Box::new(media),
    }
}

impl Host {
    /// A host beside a controller that is not enabled, with namespaces 1 (512-byte blocks) and 2 (4096-byte blocks).
    pub(crate) fn new() -> Self {
        let namespaces = vec![
            namespace(1, ram(BlockSize::B512)),
            namespace(2, ram(BlockSize::B4096)),
        ];
        Self::with(Config::default(), namespaces)
    }

    /// A host beside a controller that answers I/O only from `until` on.
    pub(crate) fn slow(until: Duration) -> Self {
        let media = SlowMedia::new(until);
        Self::with(Config::default(), vec![namespace(1, media)])
    }

    pub(crate) fn with(config: Config, namespaces: Vec<NamespaceConfig>) -> Self {
        let memory = Region::allocate(BYTES, Backing::Anonymous)
            .expect("host memory")
            .whole();
        let doorbells = Region::allocate(limits::DOORBELL_BYTES, Backing::Anonymous)
            .expect("doorbell memory")
            .whole();
        let mut map = IovaMap::new();
        map.insert(Iova::new(BASE), memory.clone())
            .expect("an empty map");
        let controller = Controller::new(config, namespaces, map.table(), doorbells.clone())
            .expect("a sound configuration");
        Self {
            controller,
            now: Duration::ZERO,
            memory,
            map,
            doorbells,
            next: BASE,
            next_cid: 0,
            submissions: BTreeMap::new(),
            completions: BTreeMap::new(),
        }
    }

    /// [`Host::new`] and [`Host::enable`].
    pub(crate) fn ready() -> Self {
        let mut host = Self::new();
        host.enable();
        host
    }

    /// [`Host::ready`] with I/O queue pair 1 of `depth` entries.
    pub(crate) fn with_pair(depth: u32) -> Self {
        let mut host = Self::ready();
        host.create_pair(1, depth);
        host
    }

    // Registers.

    pub(crate) fn read(&self, offset: u32) -> u32 {
        self.controller.read_register(offset, 4) as u32
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32) {
        self.controller.write_register(offset, 4, value.into());
    }

    pub(crate) fn write8(&mut self, offset: u32, value: u64) {
        self.controller.write_register(offset, 8, value);
    }

    pub(crate) fn csts(&self) -> ControllerStatus {
        ControllerStatus::from_bits(self.read(register::CSTS))
    }

    /// What a well-behaved host writes to CC.
    pub(crate) fn cc() -> Configuration {
        Configuration::default()
            .with_en(true)
            .with_iosqes(SQ_ENTRY_SHIFT)
            .with_iocqes(CQ_ENTRY_SHIFT)
    }

    /// Makes admin queues and writes AQA, ASQ and ACQ, but not CC.
    pub(crate) fn prepare(&mut self) {
        let depth = ADMIN_DEPTH;
        let (sq, cq) = (
            self.allocate_queue(depth, 64),
            self.allocate_queue(depth, 16),
        );
        let last = (depth - 1) as u16;
        let aqa = AdminQueueAttributes::default()
            .with_asqs(last)
            .with_acqs(last);
        self.write(register::AQA, aqa.bits());
        self.write8(register::ASQ, sq);
        self.write8(register::ACQ, cq);
        self.attach_cq(0, cq, depth);
        self.attach_sq(0, sq, depth, 0);
    }

    /// Brings the controller up by the book.
    pub(crate) fn enable(&mut self) {
        self.prepare();
        self.write(register::CC, Self::cc().bits());
        assert!(
            self.csts().rdy(),
            "the controller is ready: {:?}",
            self.controller.failure()
        );
    }

    /// Clears CC.EN, as a host that resets the controller, and forgets all queues.
    pub(crate) fn disable(&mut self) {
        self.clear_enable();
        assert!(!self.csts().rdy());
    }

    /// The same, without waiting for CSTS.RDY 0.
    pub(crate) fn clear_enable(&mut self) {
        self.write(register::CC, Self::cc().with_en(false).bits());
        self.submissions.clear();
        self.completions.clear();
    }

    // Memory.

    /// Zeroed memory at a page boundary.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let address = self.next;
        self.next += bytes.next_multiple_of(PAGE);
        assert!(
            self.next <= BASE + BYTES as u64,
            "the test's memory is used up"
        );
        address
    }

    /// Gives all memory but the first pages back, for tests that set up many times.
    pub(crate) fn rewind(&mut self) {
        self.next = BASE + 64 * PAGE;
    }

    fn allocate_queue(&mut self, depth: u32, entry_bytes: u64) -> u64 {
        self.allocate(u64::from(depth) * entry_bytes)
    }

    pub(crate) fn put(&self, address: u64, bytes: &[u8]) {
        self.memory
            .write_bytes((address - BASE) as usize, bytes)
            .expect("the host's own memory");
    }

    pub(crate) fn get(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory
            .read_bytes((address - BASE) as usize, &mut bytes)
            .expect("own memory");
        bytes
    }

    pub(crate) fn put_u64(&self, address: u64, values: &[u64]) {
        for (at, value) in values.iter().enumerate() {
            self.put(address + 8 * at as u64, &value.to_le_bytes());
        }
    }

    /// Takes all memory away from the controller, as a guest that unmaps it.
    pub(crate) fn unmap_all(&mut self) {
        self.map.remove_all();
        self.controller.set_memory(self.map.table());
    }

    /// Gives it back.
    pub(crate) fn map_again(&mut self) {
        self.map
            .insert(Iova::new(BASE), self.memory.clone())
            .expect("an empty map");
        self.controller.set_memory(self.map.table());
    }

    // Queues.

    pub(crate) fn attach_cq(&mut self, id: u16, address: u64, depth: u32) {
        self.put(address, &vec![0; depth as usize * 16]);
        self.completions.insert(
            id,
            Completion {
                address,
                depth,
                head: 0,
                phase: true,
            },
        );
    }

    pub(crate) fn attach_sq(&mut self, id: u16, address: u64, depth: u32, completion: u16) {
        self.submissions.insert(
            id,
            Submission {
                address,
                depth,
                tail: 0,
                completion,
            },
        );
    }

    pub(crate) fn forget_sq(&mut self, id: u16) {
        self.submissions.remove(&id);
    }

    pub(crate) fn forget_cq(&mut self, id: u16) {
        self.completions.remove(&id);
    }

    /// Creates an I/O queue pair whose queues have the same identifier.
    pub(crate) fn create_pair(&mut self, id: u16, depth: u32) {
        self.create_cq(id, depth);
        self.create_sq(id, id, depth);
    }

    pub(crate) fn create_cq(&mut self, id: u16, depth: u32) {
        let address = self.allocate_queue(depth, 16);
        let status = self.admin(create_cq(id, depth, id, address)).status();
        assert_eq!(status, Status::SUCCESS, "completion queue {id}");
        self.attach_cq(id, address, depth);
    }

    pub(crate) fn create_sq(&mut self, id: u16, completion: u16, depth: u32) {
        let address = self.allocate_queue(depth, 64);
        let status = self
            .admin(create_sq(id, depth, completion, address))
            .status();
        assert_eq!(status, Status::SUCCESS, "submission queue {id}");
        self.attach_sq(id, address, depth, completion);
    }

    /// Puts an entry at the tail without telling the controller.
    pub(crate) fn place(&mut self, sq: u16, entry: SubmissionEntry) {
        let queue = self.submissions.get_mut(&sq).expect("a queue of the host");
        let address = queue.address + u64::from(queue.tail) * 64;
        queue.tail = (queue.tail + 1) % queue.depth;
        self.put_u64(address, &entry.words());
    }

    /// Tells the controller the tail, through the doorbell memory that the host has mapped.
    pub(crate) fn ring(&self, sq: u16) {
        let tail = self.submissions[&sq].tail;
        self.set_doorbell(2 * u32::from(sq), tail);
    }

    /// Stores any value in doorbell number `index` of the mapped doorbells.
    pub(crate) fn set_doorbell(&self, index: u32, value: u32) {
        let register = self
            .doorbells
            .register32(index as usize * 4)
            .expect("a doorbell");
        register.store_release(value);
    }

    /// Places an entry and rings.
    pub(crate) fn send(&mut self, sq: u16, entry: SubmissionEntry) {
        self.place(sq, entry);
        self.ring(sq);
    }

    pub(crate) fn next_cid(&mut self) -> CommandId {
        self.next_cid = self.next_cid.wrapping_add(1);
        CommandId::new(self.next_cid)
    }

    /// Reads the next completion, without giving its place back.
    pub(crate) fn peek(&mut self, cq: u16) -> Option<CompletionEntry> {
        let queue = self.completions.get_mut(&cq).expect("a queue of the host");
        let at = (queue.address - BASE) as usize + queue.head as usize * 16;
        let words = self
            .memory
            .window(at, 16)
            .expect("inside")
            .words()
            .expect("aligned");
        // The phase is in the second word, which the controller stores last.
        let entry = {
            let second = words.load_acquire(1);
            CompletionEntry::from_words([words.load_relaxed(0), second])
        };
        if entry.phase() != queue.phase {
            return None;
        }
        queue.head = (queue.head + 1) % queue.depth;
        queue.phase ^= queue.head == 0;
        Some(entry)
    }

    /// Gives the places of all completions that were read back.
    pub(crate) fn release(&self, cq: u16) {
        let head = self.completions[&cq].head;
        self.set_doorbell(2 * u32::from(cq) + 1, head);
    }

    /// Reads the next completion and gives its place back.
    pub(crate) fn reap(&mut self, cq: u16) -> Option<CompletionEntry> {
        let entry = self.peek(cq)?;
        self.release(cq);
        Some(entry)
    }

    pub(crate) fn reap_all(&mut self, cq: u16) -> Vec<CompletionEntry> {
        core::iter::from_fn(|| self.reap(cq)).collect()
    }

    pub(crate) fn tick(&mut self) {
        self.controller.tick(self.now);
    }

    pub(crate) fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            self.tick();
        }
    }

    /// Sends one command and waits for the next completion, which must be its own.
    pub(crate) fn command(&mut self, sq: u16, entry: SubmissionEntry) -> CompletionEntry {
        let cid = self.next_cid();
        self.send(sq, entry.with_cid(cid));
        let cq = self.submissions[&sq].completion;
        for _ in 0..TICKS_MAX {
            self.tick();
            if let Some(done) = self.reap(cq) {
                assert_eq!(done.cid(), cid);
                assert_eq!(done.sqid(), QueueId::new(sq));
                return done;
            }
        }
        panic!("no completion within {TICKS_MAX} ticks for {entry:?}");
    }

    pub(crate) fn admin(&mut self, entry: SubmissionEntry) -> CompletionEntry {
        self.command(0, entry)
    }

    /// An admin command's status.
    pub(crate) fn admin_status(&mut self, entry: SubmissionEntry) -> Status {
        self.admin(entry).status()
    }

    /// A command on I/O queue 1: its status.
    pub(crate) fn io_status(&mut self, entry: SubmissionEntry) -> Status {
        self.command(1, entry).status()
    }

    /// An admin command that answers with a page.
    pub(crate) fn admin_page(&mut self, entry: SubmissionEntry) -> Vec<u8> {
        let page = self.allocate(PAGE);
        let done = self.admin(entry.with_prps(page, 0));
        assert_eq!(done.status(), Status::SUCCESS, "{entry:?}");
        self.get(page, PAGE as usize)
    }

    /// Identify with this CNS for this namespace.
    pub(crate) fn identify(&mut self, cns: u32, nsid: u32) -> Vec<u8> {
        self.admin_page(admin(admin_opcode::IDENTIFY, nsid).with_cdw10(cns))
    }

    /// The first `len` bytes of a log page.
    pub(crate) fn log(&mut self, page: u32, len: u32) -> Vec<u8> {
        let address = self.allocate(len.into());
        let done = self.admin(get_log(page, len).with_prps(address, address + PAGE));
        assert_eq!(done.status(), Status::SUCCESS, "log page {page:02x}h");
        self.get(address, len as usize)
    }

    /// Waits for one more admin completion, if there is one.
    pub(crate) fn next_admin(&mut self) -> Option<CompletionEntry> {
        self.ticks(4);
        self.reap(0)
    }

    /// Parks an Asynchronous Event Request and returns its identifier.
    pub(crate) fn request_event(&mut self) -> CommandId {
        let cid = self.next_cid();
        self.send(0, admin(admin_opcode::ASYNC_EVENT_REQUEST, 0).with_cid(cid));
        self.ticks(2);
        cid
    }
}

// Entries.

pub(crate) fn admin(opcode: u8, nsid: u32) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::new(nsid))
}

/// Create I/O Completion Queue, contiguous, interrupts on.
pub(crate) fn create_cq(id: u16, depth: u32, vector: u16, address: u64) -> SubmissionEntry {
    admin(admin_opcode::CREATE_IO_CQ, 0)
        .with_cdw10(u32::from(id) | (depth.wrapping_sub(1) << 16))
        .with_cdw11(0b11 | u32::from(vector) << 16)
        .with_prps(address, 0)
}

/// Create I/O Submission Queue, contiguous.
pub(crate) fn create_sq(id: u16, depth: u32, completion: u16, address: u64) -> SubmissionEntry {
    admin(admin_opcode::CREATE_IO_SQ, 0)
        .with_cdw10(u32::from(id) | (depth.wrapping_sub(1) << 16))
        .with_cdw11(1 | u32::from(completion) << 16)
        .with_prps(address, 0)
}

pub(crate) fn delete_sq(id: u16) -> SubmissionEntry {
    admin(admin_opcode::DELETE_IO_SQ, 0).with_cdw10(id.into())
}

pub(crate) fn delete_cq(id: u16) -> SubmissionEntry {
    admin(admin_opcode::DELETE_IO_CQ, 0).with_cdw10(id.into())
}

/// Get Log Page of `len` bytes, a multiple of four.
pub(crate) fn get_log(page: u32, len: u32) -> SubmissionEntry {
    let dwords = len / 4 - 1;
    admin(admin_opcode::GET_LOG_PAGE, u32::MAX)
        .with_cdw10(page | (dwords & 0xffff) << 16)
        .with_cdw11(dwords >> 16)
}

pub(crate) fn set_feature(id: u32, value: u32) -> SubmissionEntry {
    admin(admin_opcode::SET_FEATURES, 0)
        .with_cdw10(id)
        .with_cdw11(value)
}

/// Get Features; `select` is 0 current, 1 default, 2 saved, 3 supported capabilities.
pub(crate) fn get_feature(id: u32, select: u32) -> SubmissionEntry {
    admin(admin_opcode::GET_FEATURES, 0).with_cdw10(id | select << 8)
}

pub(crate) fn transfer(
    opcode: u8,
    nsid: u32,
    slba: u64,
    blocks: u32,
    prp1: u64,
    prp2: u64,
) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::new(nsid))
        .with_slba(Lba::new(slba))
        .with_nlb(ZeroBased::<u16>::from_count(blocks).expect("1 to 65536 blocks"))
        .with_prps(prp1, prp2)
}

pub(crate) fn read(nsid: u32, slba: u64, blocks: u32, prp1: u64, prp2: u64) -> SubmissionEntry {
    transfer(io_opcode::READ, nsid, slba, blocks, prp1, prp2)
}

pub(crate) fn write(nsid: u32, slba: u64, blocks: u32, prp1: u64, prp2: u64) -> SubmissionEntry {
    transfer(io_opcode::WRITE, nsid, slba, blocks, prp1, prp2)
}

pub(crate) fn io(opcode: u8, nsid: u32, slba: u64, blocks: u32) -> SubmissionEntry {
    transfer(opcode, nsid, slba, blocks, 0, 0)
}

/// Bytes that differ from place to place and from `seed` to `seed`.
pub(crate) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9).wrapping_add(seed * 77) >> 7) as u8)
        .collect()
}
