//! The reference: what a controller has to do with blocks and memory, written as plainly as the standard allows.
//!
//! Blocks are arrays of bytes, the host's memory is a copy. A command either must succeed, with known effects, or must be
//! refused with one of the statuses whose cause is there: which of several causes is named is the controller's choice.

use spec::nvme::{DatasetManagement, DsmRange, Status, SubmissionEntry, io_opcode};
use spec::{NamespaceId, QueueId};

use crate::world::{BYTES, DATA_OFFSET, NAMESPACES, PAGE, TRANSFER_PAGES_SHIFT, View, pieces};

/// What has to become of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Success, after which `touched` pieces of the host's memory may differ from before.
    Good,
    /// One of these.
    Refused(Vec<Status>),
}

/// The blocks of one namespace.
#[derive(Debug)]
struct Disk {
    id: NamespaceId,
    shift: u32,
    bytes: Vec<u8>,
}

/// Blocks, memory, and what of it can be addressed.
#[derive(Debug)]
pub struct Model {
    disks: Vec<Disk>,
    memory: Vec<u8>,
    view: View,
}

impl Default for Model {
    fn default() -> Self {
        let disks = NAMESPACES.map(|(id, size, blocks)| Disk {
            id: NamespaceId::new(id),
            shift: size.shift(),
            bytes: vec![0; (blocks * size.bytes()) as usize],
        });
        Self {
            disks: disks.into(),
            memory: vec![0; BYTES],
            view: View::Nothing,
        }
    }
}

impl Model {
    /// What of the memory can be addressed from now on.
    pub fn show(&mut self, view: View) {
        self.view = view;
    }

    /// The host wrote to its memory, or a command did in a way that is not modelled.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = BYTES.min(offset + bytes.len());
        if offset < end {
            self.memory[offset..end].copy_from_slice(&bytes[..end - offset]);
        }
    }

    /// The memory as it should be.
    pub fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Bytes of a namespace as they should be.
    pub fn blocks_mut(&mut self, id: u32, from: usize, len: usize) -> &mut [u8] {
        let disk = self.disks.iter_mut().find(|disk| disk.id.get() == id);
        &mut disk.expect("a namespace of the world").bytes[from..from + len]
    }

    /// The place of `len` bytes at an address, when one piece of the view holds them.
    fn place(&self, address: u64, len: usize) -> Option<usize> {
        pieces(self.view)
            .into_iter()
            .find_map(|(iova, offset, bytes)| {
                let from = usize::try_from(address.checked_sub(iova)?).ok()?;
                (from.checked_add(len)? <= bytes).then_some(offset + from)
            })
    }

    /// The pieces of memory that a command's PRPs name, or the causes for which they must be refused.
    pub fn resolve(
        &self,
        entry: &SubmissionEntry,
        len: usize,
    ) -> Result<Vec<(usize, usize)>, Vec<Status>> {
        let mut pages = vec![(entry.prp1(), PAGE - entry.prp1() as usize % PAGE)];
        let mut rest = len.saturating_sub(pages[0].1);
        pages[0].1 = pages[0].1.min(len);
        if !entry.prp1().is_multiple_of(4) {
            return Err(self.causes(entry.prp1(), pages[0].1, true));
        }
        self.check(pages[0].0, pages[0].1, 4)?;
        if rest > PAGE {
            let mut at = entry.prp2();
            let mut first = true;
            while rest > 0 {
                self.check(at, 8, if first { 8 } else { PAGE as u64 })?;
                first = false;
                // All of a list page up to its end has to be there, as the controller may fetch it at once.
                let entries = (PAGE - at as usize % PAGE) / 8;
                self.check(at, entries * 8, 8)?;
                let list = self.place(at, entries * 8).expect("just checked");
                for index in 0..entries {
                    let word = &self.memory[list + index * 8..][..8];
                    let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                    if index + 1 == entries && rest > PAGE {
                        at = word;
                        break;
                    }
                    let piece = rest.min(PAGE);
                    self.check(word, piece, PAGE as u64)?;
                    pages.push((word, piece));
                    rest -= piece;
                    if rest == 0 {
                        break;
                    }
                }
            }
        } else if rest > 0 {
            self.check(entry.prp2(), rest, PAGE as u64)?;
            pages.push((entry.prp2(), rest));
        }
        let place = |(address, len)| (self.place(address, len).expect("checked"), len);
        Ok(pages.into_iter().map(place).collect())
    }

    fn check(&self, address: u64, len: usize, grain: u64) -> Result<(), Vec<Status>> {
        let odd = !address.is_multiple_of(grain);
        if odd || self.place(address, len).is_none() {
            return Err(self.causes(address, len, odd));
        }
        Ok(())
    }

    fn causes(&self, address: u64, len: usize, odd: bool) -> Vec<Status> {
        let mut causes = Vec::new();
        if odd {
            causes.push(Status::INVALID_PRP_OFFSET);
        }
        if self.place(address, len).is_none() {
            causes.push(Status::DATA_TRANSFER_ERROR);
        }
        causes
    }

    /// Carries an I/O command out and says what its completion must be.
    pub fn execute(&mut self, entry: &SubmissionEntry) -> Verdict {
        let mut causes = Vec::new();
        if entry.fuse() != 0 || entry.psdt() != 0 {
            causes.push(Status::INVALID_FIELD);
        }
        let transfers = [io_opcode::READ, io_opcode::WRITE, io_opcode::COMPARE];
        let opcode = entry.opcode();
        let known = [
            io_opcode::FLUSH,
            io_opcode::WRITE_ZEROES,
            io_opcode::DATASET_MANAGEMENT,
            io_opcode::VERIFY,
        ];
        if !transfers.contains(&opcode) && !known.contains(&opcode) {
            causes.push(Status::INVALID_OPCODE);
        } else if opcode == io_opcode::FLUSH && entry.nsid() == NamespaceId::BROADCAST {
            // Every namespace is flushed, and RAM has nothing to flush.
        } else {
            let disk = self.disks.iter().position(|disk| disk.id == entry.nsid());
            match disk {
                None => causes.push(missing(entry.nsid())),
                Some(disk) if causes.is_empty() => return self.execute_on(disk, entry),
                Some(_) => {}
            }
        }
        if causes.is_empty() {
            Verdict::Good
        } else {
            Verdict::Refused(causes)
        }
    }

    fn execute_on(&mut self, disk: usize, entry: &SubmissionEntry) -> Verdict {
        let shift = self.disks[disk].shift;
        let capacity = self.disks[disk].bytes.len() as u128;
        let from = u128::from(entry.slba().get()) << shift;
        let len = u128::from(entry.nlb().count()) << shift;
        let mut causes = Vec::new();
        match entry.opcode() {
            io_opcode::FLUSH => return Verdict::Good,
            io_opcode::DATASET_MANAGEMENT => return self.discard(disk, entry),
            _ => {}
        }
        if from + len > capacity {
            causes.push(Status::LBA_OUT_OF_RANGE);
        }
        let moves = [io_opcode::READ, io_opcode::WRITE, io_opcode::COMPARE];
        let mut spans = Vec::new();
        if moves.contains(&entry.opcode()) {
            if len > (PAGE as u128) << TRANSFER_PAGES_SHIFT {
                causes.push(Status::INVALID_FIELD);
            } else {
                match self.resolve(entry, len as usize) {
                    Ok(found) => spans = found,
                    Err(more) => causes.extend(more),
                }
            }
        }
        if !causes.is_empty() {
            return Verdict::Refused(causes);
        }
        self.carry_out(disk, entry.opcode(), from as usize, len as usize, &spans)
    }

    /// The command is right in all respects.
    fn carry_out(
        &mut self,
        disk: usize,
        opcode: u8,
        from: usize,
        len: usize,
        spans: &[(usize, usize)],
    ) -> Verdict {
        let blocks = &mut self.disks[disk].bytes[from..from + len];
        let mut at = 0;
        let mut same = true;
        for &(place, bytes) in spans {
            let (blocks, memory) = (
                &mut blocks[at..at + bytes],
                &mut self.memory[place..place + bytes],
            );
            match opcode {
                io_opcode::READ => memory.copy_from_slice(blocks),
                io_opcode::WRITE => blocks.copy_from_slice(memory),
                _ => same &= blocks == memory,
            }
            at += bytes;
        }
        if opcode == io_opcode::WRITE_ZEROES {
            blocks.fill(0);
        }
        if same {
            Verdict::Good
        } else {
            Verdict::Refused(vec![Status::COMPARE_FAILURE])
        }
    }

    /// Dataset Management: deallocated blocks read as zeros.
    fn discard(&mut self, disk: usize, entry: &SubmissionEntry) -> Verdict {
        let command = DatasetManagement::parse(entry);
        let spans = match self.resolve(entry, command.ranges.count() as usize * DsmRange::BYTES) {
            Ok(spans) => spans,
            Err(causes) => return Verdict::Refused(causes),
        };
        let list: Vec<u8> = spans
            .iter()
            .flat_map(|&(place, len)| &self.memory[place..place + len])
            .copied()
            .collect();
        let disk = &mut self.disks[disk];
        let ranges: Vec<DsmRange> = list
            .chunks_exact(DsmRange::BYTES)
            .filter_map(|bytes| DsmRange::parse(bytes).ok())
            .collect();
        let end = |range: &DsmRange| u128::from(range.at.get()) + u128::from(range.count.get());
        if ranges
            .iter()
            .any(|range| end(range) << disk.shift > disk.bytes.len() as u128)
        {
            return Verdict::Refused(vec![Status::LBA_OUT_OF_RANGE]);
        }
        for range in ranges.iter().filter(|_| command.deallocate) {
            let from = (range.at.get() << disk.shift) as usize;
            disk.bytes[from..from + ((range.count.get() << disk.shift) as usize)].fill(0);
        }
        Verdict::Good
    }
}

/// The refusal of a namespace that is not there: never valid, or valid and not attached.
fn missing(id: NamespaceId) -> Status {
    let highest = NAMESPACES
        .map(|(id, _, _)| id)
        .into_iter()
        .max()
        .unwrap_or(0);
    if (1..=highest).contains(&id.get()) {
        Status::INVALID_FIELD
    } else {
        Status::INVALID_NAMESPACE
    }
}

/// Where the rings of a queue are in the host's memory: submission queues on pages 0, 2, 3, 4, completion queues on pages
/// 1, 5, 6, 7.
pub fn ring_offset(queue: QueueId, completion: bool) -> usize {
    let id = usize::from(queue.get());
    let page = match (id, completion) {
        (0, false) => 0,
        (0, true) => 1,
        (_, false) => 1 + id,
        (_, true) => 4 + id,
    };
    debug_assert!(page * PAGE < DATA_OFFSET, "a queue of the world");
    page * PAGE
}
