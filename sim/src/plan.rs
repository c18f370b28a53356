//! What kind of world a seed makes.

use core::fmt;

use media::BlockSize;

use crate::limits;
use crate::media::Faults;
use crate::random::Random;

/// Who talks to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Commands on queue pairs, many at once.
    Queues,
    /// The block layer, bytes at any offset, one call at a time.
    Bytes,
}

/// One namespace.
#[derive(Clone, Copy, Debug)]
pub struct NamespacePlan {
    /// Its identifier.
    pub id: u32,
    /// The size of its blocks.
    pub block_size: BlockSize,
    /// Its blocks.
    pub blocks: u64,
}

/// Everything about a world that is fixed at its start.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who talks to the controller.
    pub style: Style,
    /// The namespaces, in rising order of identifier.
    pub namespaces: Vec<NamespacePlan>,
    /// The entries of each queue pair.
    pub depths: Vec<u32>,
    /// MDTS as a power of two of pages.
    pub transfer_pages_shift: u8,
    /// What the media do.
    pub faults: Faults,
    /// Actions of the run.
    pub steps: u64,
    /// Doorbells held back, per mille: a posted write may take its time.
    pub held_doorbells: u64,
    /// Of a thousand actions, so many reap.
    pub reaping: u64,
    /// Of a thousand actions, so many are trouble.
    pub troubles: u64,
    /// The longest time between two turns of the controller, in microseconds.
    pub step_us_max: u64,
}

impl Plan {
    /// The plan of a seed's generator.
    pub fn draw(random: &mut Random) -> Self {
        let style = match random.chance(200) {
            true => Style::Bytes,
            false => Style::Queues,
        };
        let lanes = random.between(1, limits::LANES_MAX);
        Self {
            style,
            namespaces: draw_namespaces(random),
            depths: (0..lanes).map(|_| draw_depth(random)).collect(),
            transfer_pages_shift: random.between(1, limits::TRANSFER_PAGES_SHIFT_MAX) as u8,
            faults: Faults {
                late: *random.pick(&[0, 0, 100, 500, 900]),
                late_us_max: *random.pick(&[50, 500, 20_000]),
                failing: *random.pick(&[0, 0, 10, 50]),
            },
            steps: random.between(limits::STEPS_MAX / 4, limits::STEPS_MAX),
            held_doorbells: *random.pick(&[0, 0, 200, 800]),
            reaping: *random.pick(&[30, 150, 300]),
            troubles: *random.pick(&[0, 5, 20, 40]),
            step_us_max: *random.pick(&[2, 50, 500]),
        }
    }

    /// Bytes of one command's data at most.
    pub fn transfer_bytes_max(&self) -> usize {
        4096 << self.transfer_pages_shift
    }

    /// The namespace of an identifier, if it is attached.
    pub fn namespace(&self, id: u32) -> Option<&NamespacePlan> {
        self.namespaces.iter().find(|namespace| namespace.id == id)
    }
}

/// One to three namespaces; sometimes with an identifier left out.
fn draw_namespaces(random: &mut Random) -> Vec<NamespacePlan> {
    let count = random.between(1, 3);
    let mut id = 0;
    let mut namespaces = Vec::new();
    for _ in 0..count {
        id += 1 + u32::from(random.chance(250));
        let (block_size, max) = match random.chance(500) {
            true => (BlockSize::B512, limits::BLOCKS_512_MAX),
            false => (BlockSize::B4096, limits::BLOCKS_4096_MAX),
        };
        namespaces.push(NamespacePlan {
            id,
            block_size,
            blocks: random.between(limits::BLOCKS_MIN, max),
        });
    }
    namespaces
}

/// The entries of a queue: often very few, so that it wraps and fills.
pub fn draw_depth(random: &mut Random) -> u32 {
    let max = *random.pick(&[4, 16, limits::DEPTH_MAX]);
    random.between(2, max) as u32
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = match self.style {
            Style::Queues => "queue pairs",
            Style::Bytes => "block layer",
        };
        write!(f, "{style};")?;
        for namespace in &self.namespaces {
            let bytes = namespace.block_size.bytes();
            write!(
                f,
                " namespace {}: {} x {bytes} bytes,",
                namespace.id, namespace.blocks
            )?;
        }
        write!(
            f,
            " depths {:?}, MDTS {} KiB, {} steps, {} of 1000 troubles, reaping {}, doorbells held {}, \
             turns up to {} us, media late {} of 1000 up to {} us, failing {} of 1000",
            self.depths,
            self.transfer_bytes_max() / 1024,
            self.steps,
            self.troubles,
            self.reaping,
            self.held_doorbells,
            self.step_us_max,
            self.faults.late,
            self.faults.late_us_max,
            self.faults.failing,
        )
    }
}
