//! Tests a driver that is not ours against the controller: `cargo run -p dpe-controller --example own_driver`.
//!
//! [`try_it`] is the whole test, in ten lines. [`Theirs`] stands for your driver: put yours in its place. All it needs of
//! the world is in [`Platform`]: registers behind BAR0, and memory that both sides reach. It knows NVMe by the numbers of
//! the standard alone and uses nothing of this project's driver or of `spec`.
#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use core::error::Error;
use core::time::Duration;

use controller::NamespaceConfig;
use driver::Link;
use local::{Blueprint, Threaded};
use media::{BlockSize, RamMedia};
use mem::{Backing, DmaBuffer, MappedWords};
use ring::Words;
use spec::{BlockCount, NamespaceId};

/// The test: a drive of 2048 blocks, your driver on it, and what you expect of the two.
fn try_it() -> Result<(), Box<dyn Error>> {
    let ram = RamMedia::new(BlockCount::new(2048), BlockSize::B512, Backing::Anonymous)?;
    let namespace = NamespaceConfig {
        id: NamespaceId::new(1),
        media: Box::new(ram),
    };
    let drive = Threaded::new(Blueprint::new(vec![namespace]), || Duration::ZERO, || {})?;
    let mut theirs = Theirs::bring_up(Platform::new(drive, Theirs::PAGES)?)?;
    theirs.write_block(2047, [0x600d_da7a; 64])?;
    assert_eq!(theirs.read_block(2047)?, [0x600d_da7a; 64]);
    assert_eq!(theirs.read_block(2048), Err("status 0080h".into())); // LBA Out of Range
    Ok(())
}

/// What a driver asks of a machine, put on top of the emulated drive. The controller polls on a thread of its own, as a
/// drive has its own processor, so that a driver which spins on its completion queue needs no change.
struct Platform {
    drive: Threaded,
    dma: DmaBuffer,
    words: MappedWords,
}

impl Platform {
    /// A drive and `pages` zeroed pages of memory that it reaches.
    ///
    /// A driver that wants a pointer sets `Blueprint::backing` to `Backing::Memfd` and maps the file descriptor of
    /// `dma.window().region()` itself.
    fn new(mut drive: Threaded, pages: usize) -> Result<Self, Box<dyn Error>> {
        let dma = drive.allocate(pages * 4096)?;
        let words = dma.window().words().ok_or("pages hold whole words")?;
        Ok(Self { drive, dma, words })
    }

    fn read32(&mut self, offset: u32) -> Result<u32, Box<dyn Error>> {
        Ok(self.drive.read_register(offset, 4)? as u32)
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), Box<dyn Error>> {
        Ok(self.drive.write_register(offset, 4, value.into())?)
    }

    fn write64(&mut self, offset: u32, value: u64) -> Result<(), Box<dyn Error>> {
        Ok(self.drive.write_register(offset, 8, value)?)
    }

    /// The address of a page of the DMA memory, as the controller is told it.
    fn bus_address(&self, page: usize) -> u64 {
        self.dma.iova().get() + page as u64 * 4096
    }

    /// Reads a word of the DMA memory. Acquire: what the controller wrote before it is seen as well.
    fn load(&self, page: usize, word: usize) -> u64 {
        self.words.load_acquire(page * 512 + word)
    }

    /// Writes a word of the DMA memory. The doorbell, a register write, makes it known.
    fn store(&self, page: usize, word: usize, value: u64) {
        self.words.store_relaxed(page * 512 + word, value);
    }
}

/// Somebody's driver: one admin and one I/O queue pair, one command at a time, polled.
struct Theirs {
    platform: Platform,
    pairs: [Pair; 2],
}

/// The positions of one queue pair.
#[derive(Clone, Copy)]
struct Pair {
    tail: u32,
    head: u32,
    phase: u64,
}

impl Theirs {
    /// Entries of each queue.
    const DEPTH: u32 = 16;
    /// A page for each submission queue, each completion queue, and the data.
    const PAGES: usize = 5;
    const DATA: usize = 4;
    /// Looks at a register or a completion before the controller counts as dead.
    const LOOKS_MAX: u32 = 10_000_000;

    fn bring_up(platform: Platform) -> Result<Self, Box<dyn Error>> {
        let pair = Pair {
            tail: 0,
            head: 0,
            phase: 1,
        };
        let mut theirs = Self {
            platform,
            pairs: [pair; 2],
        };
        let platform = &mut theirs.platform;
        platform.write32(0x14, 0)?; // CC.EN = 0
        theirs.wait_ready(0)?;
        let platform = &mut theirs.platform;
        platform.write32(0x24, (Self::DEPTH - 1) << 16 | (Self::DEPTH - 1))?; // AQA
        platform.write64(0x28, platform.bus_address(0))?; // ASQ
        platform.write64(0x30, platform.bus_address(1))?; // ACQ
        platform.write32(0x14, 4 << 20 | 6 << 16 | 1)?; // CC: entries of 16 and 64 bytes, EN = 1
        theirs.wait_ready(1)?;
        let size_and_id = u64::from(Self::DEPTH - 1) << 16 | 1;
        let (queue, contiguous) = (theirs.platform.bus_address(3), 1 << 32);
        theirs.command(0, 0x05, queue, contiguous | size_and_id, 0)?; // Create I/O Completion Queue 1
        let (queue, completions_to) = (theirs.platform.bus_address(2), 1 << 48);
        let flags = completions_to | contiguous | size_and_id;
        theirs.command(0, 0x01, queue, flags, 0)?; // Create I/O Submission Queue 1
        Ok(theirs)
    }

    fn wait_ready(&mut self, wanted: u32) -> Result<(), Box<dyn Error>> {
        for _ in 0..Self::LOOKS_MAX {
            match self.platform.read32(0x1c)? {
                status if status & 2 != 0 => return Err("CSTS.CFS".into()),
                status if status & 1 == wanted => return Ok(()),
                _ => std::thread::yield_now(),
            }
        }
        Err("CSTS.RDY does not follow CC.EN".into())
    }

    fn read_block(&mut self, at: u64) -> Result<[u64; 64], String> {
        let data = self.platform.bus_address(Self::DATA);
        self.command(1, 0x02, data, at, 0)
            .map_err(|error| error.to_string())?;
        Ok(core::array::from_fn(|word| {
            self.platform.load(Self::DATA, word)
        }))
    }

    fn write_block(&mut self, at: u64, block: [u64; 64]) -> Result<(), Box<dyn Error>> {
        for (word, value) in block.into_iter().enumerate() {
            self.platform.store(Self::DATA, word, value);
        }
        let data = self.platform.bus_address(Self::DATA);
        self.command(1, 0x01, data, at, 0)
    }

    /// Sends one command to namespace 1 (admin commands ignore it) and waits for its completion.
    fn command(
        &mut self,
        queue: usize,
        opcode: u64,
        prp1: u64,
        cdw10_and_11: u64,
        cdw12_and_13: u64,
    ) -> Result<(), Box<dyn Error>> {
        let (submissions, completions, doorbell) = (queue * 2, queue * 2 + 1, queue as u32 * 8);
        let namespace = if queue == 0 { 0 } else { 1 << 32 };
        let mut pair = self.pairs[queue];
        let entry = [
            namespace | opcode,
            0,
            0,
            prp1,
            0,
            cdw10_and_11,
            cdw12_and_13,
            0,
        ];
        for (word, value) in entry.into_iter().enumerate() {
            let place = pair.tail as usize * 8 + word;
            self.platform.store(submissions, place, value);
        }
        pair.tail = (pair.tail + 1) % Self::DEPTH;
        self.platform.write32(0x1000 + doorbell, pair.tail)?;
        let last_word = self.wait_for_completion(completions, pair)?;
        pair.head = (pair.head + 1) % Self::DEPTH;
        pair.phase ^= u64::from(pair.head == 0);
        self.platform.write32(0x1004 + doorbell, pair.head)?;
        self.pairs[queue] = pair;
        match last_word >> 49 & 0x3ff {
            0 => Ok(()),
            status => Err(format!("status {status:04x}h").into()),
        }
    }

    /// The last word of the completion at the head, once its phase tag has turned.
    fn wait_for_completion(&self, completions: usize, pair: Pair) -> Result<u64, &'static str> {
        for _ in 0..Self::LOOKS_MAX {
            let word = self.platform.load(completions, pair.head as usize * 2 + 1);
            if word >> 48 & 1 == pair.phase {
                return Ok(word);
            }
            std::thread::yield_now();
        }
        Err("no completion came")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    try_it()?;
    println!(
        "the foreign driver brought the controller up, wrote a block, read it back and was refused one too many"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_foreign_driver_brings_the_controller_up_and_reads_what_it_wrote() {
        super::try_it().expect("the example works");
    }
}
