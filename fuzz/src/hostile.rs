//! A link whose other end lies: a real controller, and random bytes that change what it says. When the bytes are used up,
//! the controller is an honest one.

use core::cell::Cell;
use core::time::Duration;

use controller::{Config, Controller, NamespaceConfig, limits};
use driver::{Link, LinkError};
use media::{BlockSize, RamMedia};
use mem::{Backing, DmaBuffer, Iova, IovaMap, Region, Window};
use spec::nvme::register::CC;
use spec::nvme::{CompletionEntry, Status};
use spec::{BlockCount, CommandId, NamespaceId, QueueId};

use crate::decode::Decoder;

/// Turns that one call of the driver may take. Its longest wait is 60 s for each of some ten admin commands, twice over
/// when it recovers; a turn takes [`TURN`] at least. A driver that needs more waits for ever.
const TURNS_MAX: u32 = 200_000;

/// What one turn takes at least.
const TURN: Duration = Duration::from_millis(20);

/// Bytes that the driver may ask for in one piece: PRP lists for the deepest queue. More is a size that a controller
/// made up.
const ALLOCATION_MAX: usize = 1 << 29;

/// Where addresses begin, and how far apart buffers are at least.
const IOVA_FIRST: u64 = 0x10_0000;

/// A link to a controller that lies.
#[derive(Debug)]
pub struct Hostile<'b> {
    controller: Controller,
    doorbells: Window,
    map: IovaMap,
    next_iova: u64,
    buffers: Vec<DmaBuffer>,
    now: Duration,
    from: Decoder<'b>,
    turns: Cell<u32>,
}

impl<'b> Hostile<'b> {
    /// A controller with two namespaces that lies as `from` says.
    pub fn new(from: Decoder<'b>) -> Self {
        let doorbells = Region::allocate(limits::DOORBELL_BYTES, Backing::Anonymous)
            .expect("memory")
            .whole();
        let map = IovaMap::new();
        let namespaces =
            [(1, BlockSize::B512, 512), (2, BlockSize::B4096, 64)].map(|(id, size, blocks)| {
                let media = RamMedia::new(BlockCount::new(blocks), size, Backing::Anonymous)
                    .expect("memory");
                NamespaceConfig {
                    id: NamespaceId::new(id),
                    media: Box::new(media),
                }
            });
        let config = Config {
            transfer_pages_shift: 3,
            ..Config::default()
        };
        let controller = Controller::new(config, namespaces.into(), map.table(), doorbells.clone());
        Self {
            controller: controller.expect("a sound configuration"),
            doorbells,
            map,
            next_iova: IOVA_FIRST,
            buffers: Vec::new(),
            now: Duration::ZERO,
            from,
            turns: Cell::new(0),
        }
    }

    /// The decisions that are left, for the caller's own.
    pub fn decisions(&mut self) -> &mut Decoder<'b> {
        &mut self.from
    }

    /// A new call of the driver begins: it has its turns again.
    pub fn begin_call(&self) {
        self.turns.set(0);
    }

    /// One lie, or none.
    fn lie(&mut self) {
        match self.from.u8() {
            0..160 => {}
            160..176 => self.make_completion_up(),
            176..208 => self.corrupt(),
            208..216 => {
                self.now = self
                    .now
                    .saturating_add(Duration::from_millis(self.from.u16().into()))
            }
            216..224 => {
                let value =
                    self.from
                        .pick(&[0, 0x0046_0001, 0x0046_4001, 0x0046_0081, 0xffff_ffff]);
                self.controller.write_register(CC, 4, value);
            }
            224..232 => self.controller.reset(),
            232..240 => {
                let index = self.from.below(8) as usize;
                let value = self.from.u32();
                let _ = self.doorbells.write_bytes(index * 4, &value.to_le_bytes());
            }
            _ => {
                // Time leaps and nothing happens in it.
                self.now = self
                    .now
                    .saturating_add(Duration::from_secs(self.from.u8().into()));
            }
        }
    }

    /// Writes a completion that nobody asked for into some memory that looks like a completion queue.
    fn make_completion_up(&mut self) {
        let Some(buffer) = self.buffer() else { return };
        let status = Status::from_bits(self.from.u16() & 0x7fff);
        let cid = CommandId::new(self.from.pick(&[0, 1, 2, 3, 30, 31, 0x7fff, 0xffff]));
        let phase = self.from.u8() & 1 == 0;
        let entry = CompletionEntry::new(self.from.u32(), 0, QueueId::ADMIN, cid, phase, status);
        let place = self.from.below(64) as usize * CompletionEntry::BYTES;
        let _ = buffer.window().write_bytes(place, &entry.to_bytes());
    }

    /// Changes a few bytes of some memory: rings, PRP lists, or what Identify returned.
    fn corrupt(&mut self) {
        let Some(buffer) = self.buffer() else { return };
        let place = usize::from(self.from.u16());
        let word: [u8; 8] = self.from.bytes();
        let len = self.from.pick(&[1_usize, 2, 4, 8]);
        let repeat = self.from.pick(&[1_usize, 1, 1, 16, 512]);
        for index in 0..repeat {
            let _ = buffer
                .window()
                .write_bytes(place + index * len, &word[..len]);
        }
    }

    fn buffer(&mut self) -> Option<DmaBuffer> {
        let index = usize::from(self.from.u8());
        self.buffers.get(index % self.buffers.len().max(1)).cloned()
    }
}

impl Link for Hostile<'_> {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        let value = self.controller.read_register(offset, bytes);
        match self.from.u8() {
            0..220 => Ok(value),
            220..235 => Ok(value ^ self.from.u64()),
            235..245 => Ok(value ^ 1 << (self.from.u8() % 64)),
            245..250 => Ok(u64::MAX >> (64 - 8 * bytes.min(8))),
            250..253 => Ok(0),
            253 => Ok(self.from.u64()),
            _ => Err(LinkError::Gone),
        }
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        match self.from.u8() {
            0..230 => self.controller.write_register(offset, bytes, value),
            230..245 => {} // lost
            245..253 => {
                let changed = value ^ 1 << (self.from.u8() % 64);
                self.controller.write_register(offset, bytes, changed);
            }
            _ => return Err(LinkError::Gone),
        }
        Ok(())
    }

    fn doorbells(&self) -> Window {
        self.doorbells.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        assert!(bytes <= ALLOCATION_MAX, "the driver asks for {bytes} bytes");
        if self.from.u8() >= 250 {
            let reason = "refused by the input".into();
            return Err(LinkError::Memory { bytes, reason });
        }
        let region = Region::allocate(bytes, Backing::Anonymous).expect("memory");
        let window = region.whole();
        let iova = Iova::new(self.next_iova);
        self.next_iova += (window.len() as u64).next_multiple_of(4096) + 4096;
        self.map
            .insert(iova, window.clone())
            .expect("an address of its own");
        self.controller.set_memory(self.map.table());
        let buffer = DmaBuffer::new(window, iova);
        self.buffers.push(buffer.clone());
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        let known = self
            .buffers
            .iter()
            .position(|other| other.iova() == buffer.iova());
        let known = known.expect("freed what was never allocated, or twice");
        let buffer = self.buffers.swap_remove(known);
        self.map
            .remove(buffer.iova(), buffer.len() as u64)
            .expect("it was inserted");
        self.controller.set_memory(self.map.table());
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn relax(&mut self) {
        let turns = self.turns.get() + 1;
        self.turns.set(turns);
        assert!(
            turns <= TURNS_MAX,
            "one call of the driver takes more than {TURNS_MAX} turns"
        );
        self.now = self.now.saturating_add(TURN);
        // A lie before the turn spoils what the controller reads, one after it what the driver reads.
        let early = self.from.u8() & 1 != 0;
        if early {
            self.lie();
        }
        self.controller.tick(self.now);
        if !early {
            self.lie();
        }
    }
}
