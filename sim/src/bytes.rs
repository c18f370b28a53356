//! A world of bytes: the block layer, one call at a time, with the controller failing under it.
//!
//! As nothing else happens during a call, the oracle is simpler here: each block has the contents that it may hold. A call
//! that succeeds leaves one for each block it was sure of; a call that fails leaves the old ones and the new ones; a read
//! decides.

use core::time::Duration;

use driver::{BlockDevice, BlockError, BlockOptions, DriverError};
use spec::NamespaceId;

use crate::command::Kind;
use crate::judge::is_same;
use crate::limits;
use crate::link::{SimLink, Strike};
use crate::media::Plant;
use crate::plan::{NamespacePlan, Plan};
use crate::random::Random;
use crate::report::Caught;
use crate::trace::{Event, Trace};
use crate::trouble::Trouble;
use crate::world::{leave, open_device};

/// The contents that a block may hold; at least one.
type Contents = Vec<Box<[u8]>>;

/// What a call does to bytes.
#[derive(Clone, Copy, Debug)]
enum Change<'b> {
    /// They become these.
    Bytes(&'b [u8]),
    /// They become zeroes.
    Zeroes,
}

/// The world.
#[derive(Debug)]
pub struct ByteWorld<'t> {
    plan: Plan,
    random: Random,
    namespace: NamespacePlan,
    device: BlockDevice<SimLink>,
    blocks: Vec<Contents>,
    trace: &'t mut Trace,
    calls: u64,
    troubles: u64,
    /// Strikes that were forgiven: a call failed because of them.
    forgiven: u64,
}

impl<'t> ByteWorld<'t> {
    /// Opens a block device on one of the plan's namespaces.
    ///
    /// # Errors
    /// When that does not work.
    pub fn new(
        plan: Plan,
        plant: Option<Plant>,
        mut random: Random,
        trace: &'t mut Trace,
    ) -> Result<Self, Caught> {
        let device = open_device(&plan, plant, &mut random)?;
        let namespace = *random.pick(&plan.namespaces);
        let options = BlockOptions {
            depth: random.between(1, 12) as u32,
            bounce_bytes: 4096 << random.below(5),
            // Beyond the slowest medium's delay, as a host's patience is.
            io_timeout: Duration::from_micros(plan.faults.late_us_max) + Duration::from_millis(30),
            recoveries_max: 3,
        };
        let device = BlockDevice::open(device, NamespaceId::new(namespace.id), options)
            .map_err(|error| Caught::world(format!("opening the block device: {error}")))?;
        let block = vec![0; namespace.block_size.bytes() as usize].into_boxed_slice();
        let blocks = vec![vec![block]; namespace.blocks as usize];
        Ok(Self {
            plan,
            random,
            namespace,
            device,
            blocks,
            trace,
            calls: 0,
            troubles: 0,
            forgiven: 0,
        })
    }

    /// The whole run but for the parting.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&mut self) -> Result<(), Caught> {
        for _ in 0..self.plan.steps {
            if self.random.chance(self.plan.troubles * 2) {
                self.arm();
            }
            self.call()?;
        }
        let bytes = self.namespace.block_size.bytes();
        for lba in 0..self.namespace.blocks {
            let mut attempts = 0..limits::FINAL_ATTEMPTS;
            loop {
                if attempts.next().is_none() {
                    return Err(Caught::world(format!("LBA {lba} cannot be read")));
                }
                if self.read(lba * bytes, bytes as usize)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Parts with the controller; nothing may be left behind.
    ///
    /// # Errors
    /// When parting fails or memory is left.
    pub fn part(mut self) -> Result<(), Caught> {
        self.link().disarm();
        // What struck after the last call was not noticed yet.
        let recovered = self.device.recover_now();
        recovered.map_err(|error| Caught::world(format!("recovering: {error}")))?;
        let device = self
            .device
            .close()
            .map_err(|error| Caught::world(format!("closing the block device: {error}")))?;
        leave(device)
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Troubles so far.
    pub fn troubles(&self) -> u64 {
        self.troubles
    }

    /// The virtual time.
    pub fn now(&mut self) -> Duration {
        self.link().time()
    }

    fn link(&mut self) -> &mut SimLink {
        self.device.device_mut().link_mut()
    }

    fn note(&mut self, event: Event) {
        let now = self.now();
        self.trace.note(now, event);
    }

    /// Something will strike in one of the next turns, unless something is yet to strike.
    fn arm(&mut self) {
        if self.link().is_armed() {
            return;
        }
        let strike = match self.random.below(4) {
            0 => Strike::SubsystemReset,
            1 => Strike::FunctionReset,
            2 => Strike::Failure,
            _ => Strike::Deaf(self.random.between(1_000, 200_000)),
        };
        let turns = self.random.below(30);
        self.link().arm(turns, strike);
        self.troubles += 1;
        self.note(Event::Trouble(Trouble::Strike(strike)));
    }

    fn call(&mut self) -> Result<(), Caught> {
        let (offset, len) = self.draw_range();
        match self.random.below(100) {
            0..40 => self.read(offset, len).map(|_| ()),
            40..75 => {
                let mut bytes = vec![0; len];
                for byte in &mut bytes {
                    *byte = self.random.bits() as u8;
                }
                let answer = self.device.write_at(offset, &bytes);
                let done = self.answered("write", offset, len, answer, Kind::Write)?;
                self.change(offset, len, Change::Bytes(&bytes), done);
                Ok(())
            }
            75..84 => {
                let answer = self.device.write_zeroes(offset, len as u64);
                let done = self.answered("write zeroes", offset, len, answer, Kind::Write)?;
                self.change(offset, len, Change::Zeroes, done);
                Ok(())
            }
            84..92 => {
                let answer = self.device.discard(offset, len as u64);
                let done = self.answered("discard", offset, len, answer, Kind::Write)?;
                // Blocks that are covered in part keep their bytes.
                let bytes = self.namespace.block_size.bytes();
                let begin = offset.next_multiple_of(bytes);
                let end = (offset + len as u64) / bytes * bytes;
                if begin < end {
                    self.change(begin, (end - begin) as usize, Change::Zeroes, done);
                }
                Ok(())
            }
            92..96 => {
                let answer = self.device.flush();
                self.answered("flush", 0, 0, answer, Kind::Flush)
                    .map(|_| ())
            }
            _ => self.beyond_the_end(),
        }
    }

    fn draw_range(&mut self) -> (u64, usize) {
        let capacity = self.device.capacity();
        let max = (3 * self.plan.transfer_bytes_max() as u64).min(capacity);
        let len = match self.random.below(10) {
            0 => 0,
            1..6 => self.random.between(1, max.min(1500)),
            6..9 => self.random.between(1, max.min(20_000)),
            _ => self.random.between(1, max),
        };
        let offset = self.random.between(0, capacity - len);
        // Whole blocks as well: that path has no read-modify-write.
        if self.random.chance(300) {
            let bytes = self.namespace.block_size.bytes();
            let (offset, len) = (offset / bytes * bytes, len.next_multiple_of(bytes));
            return (offset, len.min(capacity - offset) as usize);
        }
        (offset, len as usize)
    }

    /// A range that does not end within the namespace is refused before anything is done.
    fn beyond_the_end(&mut self) -> Result<(), Caught> {
        let capacity = self.device.capacity();
        let len = self.random.between(1, 5000);
        let offset = *self
            .random
            .pick(&[capacity, capacity + 1 - len.min(capacity), u64::MAX - 1]);
        let bytes = vec![1; len as usize];
        let answer = self.device.write_at(offset, &bytes);
        match answer {
            Err(BlockError::OutOfRange { .. }) => Ok(()),
            other => Err(Caught::world(format!(
                "{len} bytes at {offset} of {capacity} got {other:?}"
            ))),
        }
    }

    /// Reads, and holds what came against what may be there; says whether it succeeded.
    fn read(&mut self, offset: u64, len: usize) -> Result<bool, Caught> {
        let mut bytes = vec![0xee; len];
        let answer = self.device.read_at(offset, &mut bytes);
        let done = self.answered("read", offset, len, answer, Kind::Read)?;
        if done {
            self.judge(offset, &bytes)?;
        }
        Ok(done)
    }

    fn judge(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Caught> {
        let block_bytes = self.namespace.block_size.bytes();
        for (lba, skip, part) in parts(offset, bytes.len(), block_bytes) {
            let found = &bytes[part.clone()];
            let contents = &mut self.blocks[lba as usize];
            let holds = |content: &[u8]| content[skip..skip + found.len()] == *found;
            if !contents.iter().any(|content| holds(content)) {
                let wanted = &contents[0][skip..skip + found.len()];
                let mut differing = (0..)
                    .zip(wanted)
                    .zip(found)
                    .filter(|((_, wanted), found)| wanted != found);
                let (first, count) = match differing.next() {
                    Some(((at, wanted), found)) => (
                        format!("{at} is {found:#04x} and not {wanted:#04x}"),
                        1 + differing.count(),
                    ),
                    None => (String::new(), 0),
                };
                return Err(Caught::oracle(format!(
                    "LBA {lba}, {} bytes from byte {skip} of it: byte {first}, {count} bytes differ; {} contents are possible",
                    found.len(),
                    contents.len(),
                )));
            }
            // The others that fit as well stay possible beyond the bytes that were read.
            contents.retain(|content| holds(content));
        }
        Ok(())
    }

    /// What a call did to the map: for sure, or maybe.
    fn change(&mut self, offset: u64, len: usize, change: Change<'_>, sure: bool) {
        let block_bytes = self.namespace.block_size.bytes();
        for (lba, skip, part) in parts(offset, len, block_bytes) {
            let contents = &mut self.blocks[lba as usize];
            let mut after: Contents = contents.clone();
            for content in &mut after {
                let place = &mut content[skip..skip + part.len()];
                match change {
                    Change::Bytes(bytes) => place.copy_from_slice(&bytes[part.clone()]),
                    Change::Zeroes => place.fill(0),
                }
            }
            if !sure {
                after.append(contents);
            }
            after.sort_unstable();
            after.dedup();
            *contents = after;
        }
    }

    /// Whether a call succeeded; the error if it may not fail so.
    fn answered(
        &mut self,
        call: &'static str,
        offset: u64,
        len: usize,
        answer: Result<(), BlockError>,
        kind: Kind,
    ) -> Result<bool, Caught> {
        self.calls += 1;
        self.note(Event::Bytes {
            call,
            offset,
            len: len as u64,
            answer: answer.clone().map_err(|error| error.to_string()),
        });
        let error = match answer {
            Ok(()) => {
                self.forgiven = self.link().struck();
                return Ok(true);
            }
            Err(error) => error,
        };
        let fair = match &error {
            BlockError::Command { status, .. } if self.plan.faults.failing > 0 => {
                // A block written in part is read first.
                [kind, Kind::Read]
                    .into_iter()
                    .filter_map(Kind::media_error)
                    .any(|wanted| is_same(*status, wanted))
            }
            // One strike must be survived; a second one while the driver recovers from the first need not be.
            BlockError::Driver(
                DriverError::Timeout { .. }
                | DriverError::Fatal { .. }
                | DriverError::NotReady { .. }
                | DriverError::NeedsReset,
            ) => {
                let struck = self.link().struck();
                let since = struck - core::mem::replace(&mut self.forgiven, struck);
                since >= 2
            }
            _ => false,
        };
        match fair {
            true => Ok(false),
            false => Err(Caught::world(format!(
                "{call} of {len} bytes at {offset}: {error}"
            ))),
        }
    }
}

/// The blocks of a byte range: block, bytes skipped in it, and which bytes of the range it has.
fn parts(
    offset: u64,
    len: usize,
    block_bytes: u64,
) -> impl Iterator<Item = (u64, usize, core::ops::Range<usize>)> {
    let end = offset + len as u64;
    let mut next = offset;
    core::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let begin = next;
        next = (begin / block_bytes + 1)
            .saturating_mul(block_bytes)
            .min(end);
        let part = (begin - offset) as usize..(next - offset) as usize;
        Some((begin / block_bytes, (begin % block_bytes) as usize, part))
    })
}
