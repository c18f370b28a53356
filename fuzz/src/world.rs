//! A host beside a controller: memory, rings, doorbells and small namespaces, all at known places.

use core::time::Duration;
use std::sync::Arc;

use controller::{Config, Controller, NamespaceConfig, limits};
use media::{BlockSize, Landing, Media, Progress, RamMedia, Request, Token};
use mem::{Backing, Iova, IovaMap, IovaTable, Region, Span, Window};
use ring::Register32;
use ring::sync::{AtomicBool, Ordering};
use spec::nvme::register::{
    self, AdminQueueAttributes, CQ_ENTRY_SHIFT, Configuration, ControllerStatus, SQ_ENTRY_SHIFT,
};
use spec::nvme::{CompletionEntry, Status};
use spec::{BlockCount, NamespaceId};

/// A memory page.
pub const PAGE: usize = 4096;
/// Where the host's memory begins, as the controller addresses it.
pub const BASE: u64 = 0x4000_0000;
/// Pages for rings: one for each queue, some spare.
pub const RING_PAGES: usize = 16;
/// Pages for data and PRP lists.
pub const DATA_PAGES: usize = 48;
/// Where data begin, as the controller addresses them.
pub const DATA: u64 = BASE + (RING_PAGES * PAGE) as u64;
/// Where data begin in the host's memory.
pub const DATA_OFFSET: usize = RING_PAGES * PAGE;
/// Bytes of the host's memory.
pub const BYTES: usize = (RING_PAGES + DATA_PAGES) * PAGE;
/// I/O queue identifiers that the host uses, besides 0.
pub const QUEUES: u16 = 3;
/// Entries of the admin queues.
pub const ADMIN_DEPTH: u32 = 16;
/// Entries of an I/O queue at most: a submission queue takes one page.
pub const DEPTH_MAX: u32 = 64;
/// The largest transfer: 2^4 pages, less than the largest namespace, so that it can be exceeded.
pub const TRANSFER_PAGES_SHIFT: u8 = 4;

/// A namespace: identifier, block size, blocks. Identifier 3 is left out, so that it is valid and not attached.
pub const NAMESPACES: [(u32, BlockSize, u64); 3] = [
    (1, BlockSize::B512, 64),
    (2, BlockSize::B4096, 20),
    (4, BlockSize::B512, 8),
];

/// What of the host's memory the controller can address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The data, and not the rings: no command can write over a queue. Queues keep the memory that they were made on.
    Data,
    /// The first half of the data.
    Half,
    /// The data with the two halves exchanged.
    Exchanged,
    /// The data but for their last 512 bytes.
    Ragged,
    /// Nothing.
    Nothing,
    /// Data and rings, as real hosts map them.
    All,
}

/// RAM that holds its answers back while it is told to.
#[derive(Debug)]
struct HeldMedia {
    ram: RamMedia,
    hold: Arc<AtomicBool>,
    waiting: Vec<(Token, Status)>,
}

impl Media for HeldMedia {
    fn block_size(&self) -> BlockSize {
        self.ram.block_size()
    }
    fn blocks(&self) -> BlockCount {
        self.ram.blocks()
    }
    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        match self.ram.start(token, request, data) {
            Progress::Done(status) => self.waiting.push((token, status)),
            Progress::Later => unreachable!("RAM answers at once"),
        }
        Progress::Later
    }
    fn poll(&mut self, _now: Duration, landing: &mut dyn Landing) {
        if !self.hold.load(Ordering::Relaxed) {
            for (token, status) in self.waiting.drain(..) {
                landing.answer(token, status);
            }
        }
    }
}

/// The controller and its host.
#[derive(Debug)]
pub struct World {
    /// The controller.
    pub controller: Controller,
    /// The time that the controller is told.
    pub now: Duration,
    memory: Window,
    /// One table for each view that was shown; making one costs more than all else.
    tables: Vec<(View, Arc<IovaTable>)>,
    doorbells: Window,
    hold: Arc<AtomicBool>,
    slow: bool,
}

impl World {
    /// A controller in its power-on state. With `slow`, media answer later, and not while they are held.
    pub fn new(slow: bool) -> Self {
        let region = |bytes| {
            Region::allocate(bytes, Backing::Anonymous)
                .expect("memory")
                .whole()
        };
        let hold = Arc::new(AtomicBool::new(false));
        let namespaces = NAMESPACES.map(|(id, block_size, blocks)| {
            let ram = RamMedia::new(BlockCount::new(blocks), block_size, Backing::Anonymous);
            let ram = ram.expect("memory");
            let media: Box<dyn Media> = if slow {
                Box::new(HeldMedia {
                    ram,
                    hold: Arc::clone(&hold),
                    waiting: Vec::new(),
                })
            } else {
                Box::new(ram)
            };
            NamespaceConfig {
                id: NamespaceId::new(id),
                media,
            }
        });
        let config = Config {
            queue_pairs: QUEUES + 1,
            queue_entries: DEPTH_MAX,
            transfer_pages_shift: TRANSFER_PAGES_SHIFT,
            ..Config::default()
        };
        let (memory, doorbells) = (region(BYTES), region(limits::DOORBELL_BYTES));
        let table = IovaMap::new().table();
        let controller = Controller::new(config, namespaces.into(), table, doorbells.clone())
            .expect("a sound configuration");
        Self {
            controller,
            now: Duration::ZERO,
            memory,
            tables: Vec::new(),
            doorbells,
            hold,
            slow,
        }
    }

    /// Whether media answer later.
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Has slow media hold their answers back, or not.
    pub fn hold(&self, hold: bool) {
        self.hold.store(hold, Ordering::Relaxed);
    }

    /// Changes what the controller can address.
    pub fn show(&mut self, view: View) {
        let made = self.tables.iter().find(|(other, _)| *other == view);
        let table = match made {
            Some((_, table)) => Arc::clone(table),
            None => {
                let table = self.table(view);
                self.tables.push((view, Arc::clone(&table)));
                table
            }
        };
        self.controller.set_memory(table);
    }

    fn table(&self, view: View) -> Arc<IovaTable> {
        let mut map = IovaMap::new();
        for (iova, offset, len) in pieces(view) {
            let window = self.memory.window(offset, len).expect("inside");
            map.insert(Iova::new(iova), window).expect("no overlap");
        }
        map.table()
    }

    /// CSTS.
    pub fn csts(&self) -> ControllerStatus {
        ControllerStatus::from_bits(self.controller.read_register(register::CSTS, 4) as u32)
    }

    /// Whether commands are served: ready, not failed, no shutdown.
    pub fn is_serving(&self) -> bool {
        let status = self.csts();
        status.rdy() && !status.cfs() && status.shst() == 0
    }

    /// Resets the controller by the book and enables it with fresh admin queues on ring pages 0 and 1.
    pub fn restart(&mut self) {
        self.hold(false);
        self.show(View::All);
        let write = |controller: &mut Controller, offset, value: u32| {
            controller.write_register(offset, 4, value.into());
        };
        write(&mut self.controller, register::CC, 0);
        // Answers of the old life land now, at nobody.
        self.controller.tick(self.now);
        assert!(
            !self.csts().rdy() && !self.csts().cfs(),
            "a reset clears CSTS"
        );
        self.memory.fill(0, RING_PAGES * PAGE, 0).expect("inside");
        let last = (ADMIN_DEPTH - 1) as u16;
        let sizes = AdminQueueAttributes::default()
            .with_asqs(last)
            .with_acqs(last);
        write(&mut self.controller, register::AQA, sizes.bits());
        self.controller.write_register(register::ASQ, 8, BASE);
        self.controller
            .write_register(register::ACQ, 8, BASE + PAGE as u64);
        let enable = Configuration::default()
            .with_en(true)
            .with_iosqes(SQ_ENTRY_SHIFT)
            .with_iocqes(CQ_ENTRY_SHIFT);
        write(&mut self.controller, register::CC, enable.bits());
        assert!(
            self.is_serving(),
            "enabled: {:?}",
            self.controller.failure()
        );
    }

    /// Copies the host's memory.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.memory.read_bytes(offset, bytes).expect("inside");
    }

    /// Writes the host's memory; what lies beyond its end is dropped.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let len = bytes.len().min(BYTES.saturating_sub(offset));
        if len > 0 {
            self.memory
                .write_bytes(offset, &bytes[..len])
                .expect("inside");
        }
    }

    /// One completion queue entry, as it stands in memory.
    pub fn completion(&self, offset: usize) -> CompletionEntry {
        let mut bytes = [0; CompletionEntry::BYTES];
        self.read(offset, &mut bytes);
        CompletionEntry::from_bytes(&bytes)
    }

    /// Stores a doorbell in the memory that a host has mapped: 2 × queue for tails, one more for heads.
    pub fn ring(&self, index: u32, value: u32) {
        if let Some(doorbell) = self.doorbells.register32(index as usize * 4) {
            doorbell.store_release(value); // pairs with the controller's acquire load in its tick
        }
    }

    /// Writes a doorbell through its register.
    pub fn ring_register(&mut self, index: u32, value: u32) {
        let offset = register::DOORBELLS + index * 4;
        self.controller.write_register(offset, 4, value.into());
    }
}

/// The pieces of a view: address, place in the host's memory, bytes.
pub fn pieces(view: View) -> Vec<(u64, usize, usize)> {
    let (data, half) = (DATA_PAGES * PAGE, DATA_PAGES * PAGE / 2);
    let upper = DATA + half as u64;
    match view {
        View::Data => vec![(DATA, DATA_OFFSET, data)],
        View::Half => vec![(DATA, DATA_OFFSET, half)],
        View::Exchanged => vec![(DATA, DATA_OFFSET + half, half), (upper, DATA_OFFSET, half)],
        View::Ragged => vec![(DATA, DATA_OFFSET, data - 512)],
        View::Nothing => Vec::new(),
        View::All => vec![(BASE, 0, BYTES)],
    }
}
