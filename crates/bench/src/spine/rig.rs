//! What the spine measures: a device, a queue pair, buffers, and the tightest honest loop around them.

use core::time::Duration;
use std::time::Instant;

use driver::{Device, Done, IoBuffer, Link, Options, QueuePair};
use local::{Blueprint, Inline, Threaded};
use media::{BlockSize, Media, NullMedia, RamMedia};
use mem::Backing;
use spec::{BlockCount, Lba, NamespaceId};

use crate::lane::buffer_stride;

/// The bench's clock, for links.
#[expect(clippy::disallowed_methods, reason = "the bench owns a clock")]
pub(crate) fn clock() -> Duration {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// What keeps the blocks of a rig.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// Nothing: no data moved.
    Null,
    /// So many bytes of memory, touched beforehand.
    Ram(usize),
    /// So many bytes of memory that take no room until they are written.
    RamUntouched(usize),
}

fn blueprint(kept: Kept) -> Result<Blueprint, String> {
    Ok(over(media(kept)?))
}

/// A device with one namespace.
fn over(media: Box<dyn Media>) -> Blueprint {
    let id = NamespaceId::new(1);
    Blueprint::new(vec![controller::NamespaceConfig { id, media }])
}

fn media(kept: Kept) -> Result<Box<dyn Media>, String> {
    let blocks = |bytes: usize| BlockCount::new(bytes as u64 / 512);
    let media: Box<dyn Media> = match kept {
        Kept::Null => Box::new(NullMedia::new(blocks(1 << 30), BlockSize::B512)),
        Kept::Ram(bytes) | Kept::RamUntouched(bytes) => {
            let ram = RamMedia::new(blocks(bytes), BlockSize::B512, Backing::Anonymous)
                .map_err(|error| error.to_string())?;
            if matches!(kept, Kept::Ram(_)) {
                ram.prefault().map_err(|error| error.to_string())?;
            }
            Box::new(ram)
        }
    };
    Ok(media)
}

/// A device with one queue pair and a buffer for each command in flight.
pub(crate) struct Rig<L: Link> {
    pub(crate) device: Device<L>,
    pub(crate) pair: QueuePair,
    /// One registered buffer for each command in flight; a command's tag is its index here.
    buffers: Box<[IoBuffer; DEPTH_MAX]>,
    block: usize,
    blocks: u64,
    state: u64,
    /// Where completions are reaped to. The first `idle` of them are not in flight: their buffers are used again.
    done: Box<[Done; DEPTH_MAX]>,
    idle: usize,
}

/// What a rig's loop measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) commands: u64,
    pub(crate) seconds: f64,
}

impl Rate {
    pub(crate) fn per_second(self) -> f64 {
        self.commands as f64 / self.seconds
    }
}

/// The most commands that a rig keeps in flight.
pub(crate) const DEPTH_MAX: usize = 128;

impl Rig<Inline> {
    /// A rig whose controller runs in the caller's thread.
    pub(crate) fn inline(kept: Kept, block: usize) -> Result<Self, String> {
        let link = Inline::new(blueprint(kept)?, clock).map_err(|error| error.to_string())?;
        Self::open(link, block)
    }

    /// A rig over media of the caller's, with logical blocks of 512 bytes.
    pub(crate) fn over(media: Box<dyn Media>, block: usize) -> Result<Self, String> {
        let link = Inline::new(over(media), clock).map_err(|error| error.to_string())?;
        Self::open(link, block)
    }

    /// Reads one block and waits for it.
    pub(crate) fn read_one(&mut self) {
        self.begin(1);
        self.resubmit();
        while self.reap() == 0 {
            self.device.link_mut().turn();
        }
    }

    /// Writes every block once, so that reads move real bytes and no page is the system's shared zero page.
    pub(crate) fn fill(&mut self) -> Result<(), String> {
        let step = 512 * 128_u64;
        let pattern = self
            .device
            .allocate(step as usize)
            .map_err(|error| error.to_string())?;
        pattern
            .window()
            .fill(0, pattern.len(), 0xA7)
            .map_err(|_| "a fill within the buffer")?;
        let bytes = self.blocks * self.block as u64;
        let mut done = [Done::EMPTY; 1];
        for at in (0..bytes).step_by(step as usize) {
            let len = step.min(bytes - at);
            let buffer = IoBuffer::new(pattern.iova().get(), len as u32);
            let at = Lba::new(at / 512);
            let sent = self
                .pair
                .write(NamespaceId::new(1), at, (len / 512) as u32, buffer, 0);
            assert!(sent.is_ok(), "the pair is idle");
            self.pair.publish();
            while self.pair.reap(&mut done) == 0 {
                self.device.link_mut().turn();
            }
            assert!(
                done[0].status.is_success(),
                "a write failed: {}",
                done[0].status
            );
        }
        Ok(())
    }

    /// Reads random blocks at a depth for about `window`, with a turn for the controller after each doorbell.
    pub(crate) fn read_for(&mut self, depth: usize, window: Duration) -> Rate {
        self.begin(depth);
        let begin = clock();
        let mut commands = 0;
        loop {
            for _ in 0..(1024 / depth).max(1) {
                self.resubmit();
                self.device.link_mut().turn();
                commands += self.reap();
            }
            let elapsed = clock() - begin;
            if elapsed >= window {
                while self.pair.in_flight() > 0 {
                    self.device.link_mut().turn();
                    self.reap();
                }
                return Rate {
                    commands,
                    seconds: elapsed.as_secs_f64(),
                };
            }
        }
    }
}

impl Rig<Threaded> {
    /// A rig whose controller runs on a CPU of its own.
    pub(crate) fn threaded(kept: Kept, block: usize, cpu: usize) -> Result<Self, String> {
        let pin = move || {
            crate::ceiling::placement::pin(cpu);
        };
        let link =
            Threaded::new(blueprint(kept)?, clock, pin).map_err(|error| error.to_string())?;
        Self::open(link, block)
    }

    /// Reads random blocks at a depth for about `window`; the controller polls on its own CPU.
    pub(crate) fn read_for(&mut self, depth: usize, window: Duration) -> Rate {
        self.begin(depth);
        let (mut begin, mut commands, mut warm) = (clock(), 0, false);
        loop {
            for _ in 0..256 {
                self.resubmit();
                commands += self.reap();
            }
            let elapsed = clock() - begin;
            if !warm && elapsed >= window / 10 {
                (begin, commands, warm) = (clock(), 0, true);
            } else if elapsed >= window {
                while self.pair.in_flight() > 0 {
                    self.reap();
                }
                return Rate {
                    commands,
                    seconds: elapsed.as_secs_f64(),
                };
            }
        }
    }
}

impl<L: Link> Rig<L> {
    fn open(link: L, block: usize) -> Result<Self, String> {
        let mut device =
            Device::open(link, Options::default()).map_err(|error| error.to_string())?;
        let pair = device
            .create_queue_pair(DEPTH_MAX as u32 + 1)
            .map_err(|error| error.to_string())?;
        let stride = buffer_stride(block as u32);
        let memory = device
            .allocate(DEPTH_MAX * stride)
            .map_err(|error| error.to_string())?;
        memory
            .window()
            .fill(0, memory.len(), 1)
            .map_err(|_| "a fill within the buffer")?;
        let buffer =
            |slot| IoBuffer::new(memory.iova().get() + (slot * stride) as u64, block as u32);
        let namespace = device
            .namespaces()
            .first()
            .ok_or("the rig has one namespace")?;
        let blocks = namespace.blocks.get() / (block as u64 / 512);
        Ok(Self {
            device,
            pair,
            buffers: Box::new(core::array::from_fn(buffer)),
            block,
            blocks,
            state: 1,
            done: Box::new([Done::EMPTY; DEPTH_MAX]),
            idle: 0,
        })
    }

    /// The buffer of one command.
    pub(crate) fn buffer(&self, slot: usize) -> IoBuffer {
        self.buffers[slot]
    }

    /// Makes the first `depth` buffers ready for use. Nothing is in flight.
    fn begin(&mut self, depth: usize) {
        for (tag, done) in (0..).zip(&mut self.done[..depth]) {
            done.tag = tag;
        }
        self.idle = depth;
    }

    /// Reads a random block into each idle buffer, and rings once.
    #[inline(always)]
    fn resubmit(&mut self) {
        let per_command = (self.block / 512) as u32;
        for done in &self.done[..self.idle] {
            self.state = self
                .state
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(1);
            let at = ((u128::from(self.state) * u128::from(self.blocks)) >> 64) as u64;
            let at = Lba::new(at * u64::from(per_command));
            let buffer = self.buffers[done.tag as usize % DEPTH_MAX];
            let sent = self
                .pair
                .read(NamespaceId::new(1), at, per_command, buffer, done.tag);
            assert!(sent.is_ok(), "the pair has a slot for each buffer");
        }
        self.idle = 0;
        self.pair.publish();
    }

    /// Takes completions; a failed read ends the run.
    #[inline(always)]
    fn reap(&mut self) -> u64 {
        self.idle = self.pair.reap(&mut self.done[..]);
        for done in &self.done[..self.idle] {
            assert!(done.status.is_success(), "a read failed: {}", done.status);
        }
        self.idle as u64
    }
}
