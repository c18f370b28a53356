//! What a read may return: a plain map of blocks.
//!
//! Each block holds the writes that it may show. A write becomes possible when it is sent; when it succeeds, every write
//! that was settled before it was sent becomes impossible. A write that failed, or was under way when the controller went
//! away, stays possible until a later one succeeds, or until a read that no write overlapped has shown which one it was: a
//! block does not change its mind. A read must find, in each block, a stamp that was possible at some moment of the read.

use std::collections::BTreeMap;

pub use crate::stamp::{Stamp, ZEROES};

/// Names a command in flight. No two commands of a world have the same.
pub type Ticket = u64;

/// A range of blocks: the first, and how many.
pub type Range = (u64, u64);

/// A write that a block may show.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    write: Ticket,
    stamp: Stamp,
    /// Answered or given up: whatever it did is done.
    settled: bool,
}

#[derive(Clone, Debug)]
struct Block {
    candidates: Vec<Candidate>,
    /// Writes sent to this block so far.
    sent: u64,
}

impl Block {
    /// A block of a new medium. No write has the ticket zero.
    fn new() -> Self {
        let candidates = vec![Candidate {
            write: 0,
            stamp: ZEROES,
            settled: true,
        }];
        Self {
            candidates,
            sent: 0,
        }
    }

    fn is_quiet(&self) -> bool {
        self.candidates.iter().all(|candidate| candidate.settled)
    }
}

#[derive(Debug)]
struct Write {
    namespace: u32,
    /// Each block, with the writes that were settled when this one was sent: impossible once it succeeds.
    replaces: Vec<(u64, Vec<Ticket>)>,
}

/// A block under a read or a compare.
#[derive(Debug)]
struct Look {
    allowed: Vec<Stamp>,
    /// The number of writes sent before, if all of them were settled.
    quiet_since: Option<u64>,
}

#[derive(Debug)]
struct Read {
    namespace: u32,
    at: u64,
    looks: Vec<Look>,
}

/// The map of blocks and the commands under way.
#[derive(Debug)]
pub struct Oracle {
    namespaces: BTreeMap<u32, Vec<Block>>,
    writes: BTreeMap<Ticket, Write>,
    reads: BTreeMap<Ticket, Read>,
}

impl Oracle {
    /// A map of namespaces, each with its blocks, all of them zeroes.
    pub fn new(namespaces: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let namespaces = namespaces
            .into_iter()
            .map(|(id, blocks)| (id, vec![Block::new(); blocks as usize]));
        Self {
            namespaces: namespaces.collect(),
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
        }
    }

    /// A write of `stamp` was sent, or anything else that changes blocks. The ranges lie inside the namespace; they may
    /// overlap.
    pub fn write_sent(&mut self, ticket: Ticket, namespace: u32, ranges: &[Range], stamp: Stamp) {
        let Some(blocks) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        let mut replaces = Vec::new();
        for lba in ranges.iter().flat_map(|&(at, count)| at..at + count) {
            let block = &mut blocks[lba as usize];
            if block.candidates.iter().any(|found| found.write == ticket) {
                continue;
            }
            let settled = block.candidates.iter().filter(|found| found.settled);
            replaces.push((lba, settled.map(|found| found.write).collect()));
            block.candidates.push(Candidate {
                write: ticket,
                stamp,
                settled: false,
            });
            block.sent += 1;
        }
        for read in self
            .reads
            .values_mut()
            .filter(|read| read.namespace == namespace)
        {
            for &(lba, _) in &replaces {
                let look = lba.checked_sub(read.at).map(|index| index as usize);
                if let Some(look) = look.and_then(|index| read.looks.get_mut(index)) {
                    look.allowed.push(stamp);
                }
            }
        }
        let write = Write {
            namespace,
            replaces,
        };
        self.writes.insert(ticket, write);
    }

    /// A write ended. Success settles it and buries what it replaced; anything else leaves both possible.
    pub fn write_ended(&mut self, ticket: Ticket, success: bool) {
        let Some(write) = self.writes.remove(&ticket) else {
            return;
        };
        let Some(blocks) = self.namespaces.get_mut(&write.namespace) else {
            return;
        };
        for (lba, replaced) in write.replaces {
            let candidates = &mut blocks[lba as usize].candidates;
            if success {
                candidates.retain(|found| !replaced.contains(&found.write));
            }
            for candidate in candidates.iter_mut().filter(|found| found.write == ticket) {
                candidate.settled = true;
            }
        }
    }

    /// A read or compare of a range inside the namespace was sent.
    pub fn read_sent(&mut self, ticket: Ticket, namespace: u32, (at, count): Range) {
        let Some(blocks) = self.namespaces.get(&namespace) else {
            return;
        };
        let look = |block: &Block| Look {
            allowed: block.candidates.iter().map(|found| found.stamp).collect(),
            quiet_since: block.is_quiet().then_some(block.sent),
        };
        let looks = blocks[at as usize..(at + count) as usize]
            .iter()
            .map(look)
            .collect();
        self.reads.insert(
            ticket,
            Read {
                namespace,
                at,
                looks,
            },
        );
    }

    /// A read succeeded and found these stamps, or a compare found its blocks equal to them.
    ///
    /// # Errors
    /// In words, for the report of a failing seed: which block showed what it could not hold.
    pub fn read_ended(&mut self, ticket: Ticket, found: &[Stamp]) -> Result<(), String> {
        let Some(read) = self.reads.remove(&ticket) else {
            return Err(format!("read {ticket} ended but was never sent"));
        };
        let namespace = read.namespace;
        let Some(blocks) = self.namespaces.get_mut(&namespace) else {
            return Ok(());
        };
        for ((lba, look), &found) in (read.at..).zip(&read.looks).zip(found) {
            if !look.allowed.contains(&found) {
                return Err(format!(
                    "namespace {namespace} LBA {lba}: command {ticket} found stamp {found}, possible were {:?}",
                    look.allowed
                ));
            }
            let block = &mut blocks[lba as usize];
            if look.quiet_since == Some(block.sent) {
                block
                    .candidates
                    .retain(|candidate| candidate.stamp == found);
            }
        }
        Ok(())
    }

    /// A compare found a difference to these stamps.
    ///
    /// # Errors
    /// When no block could have held anything else.
    pub fn compare_differed(&mut self, ticket: Ticket, wanted: &[Stamp]) -> Result<(), String> {
        let Some(read) = self.reads.remove(&ticket) else {
            return Err(format!("compare {ticket} ended but was never sent"));
        };
        let mut looks = read.looks.iter().zip(wanted);
        if looks.any(|(look, wanted)| look.allowed.iter().any(|stamp| stamp != wanted)) {
            return Ok(());
        }
        Err(format!(
            "namespace {} LBA {} and {} more: compare {ticket} found a difference, but they hold {wanted:?} for sure",
            read.namespace,
            read.at,
            wanted.len() - 1
        ))
    }

    /// A read or compare failed or was given up.
    pub fn read_given_up(&mut self, ticket: Ticket) {
        self.reads.remove(&ticket);
    }

    /// One of the stamps that a block may hold, the latest, to compare it with.
    pub fn likely(&self, namespace: u32, lba: u64) -> Stamp {
        let block = self
            .namespaces
            .get(&namespace)
            .and_then(|blocks| blocks.get(lba as usize));
        block
            .and_then(|block| block.candidates.last())
            .map_or(ZEROES, |candidate| candidate.stamp)
    }

    /// Commands that were sent and have not ended.
    pub fn under_way(&self) -> usize {
        self.writes.len() + self.reads.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Range = (5, 1);

    fn oracle() -> Oracle {
        Oracle::new([(1, 8)])
    }

    fn read(oracle: &mut Oracle, found: Stamp) -> Result<(), String> {
        oracle.read_sent(99, 1, AT);
        oracle.read_ended(99, &[found])
    }

    /// Whether a read may find a stamp, without the reading making up the block's mind.
    fn possible(oracle: &mut Oracle, found: Stamp) -> bool {
        oracle.read_sent(99, 1, AT);
        let allowed = oracle.reads[&99].looks[0].allowed.contains(&found);
        oracle.read_given_up(99);
        allowed
    }

    #[test]
    fn a_successful_write_buries_what_was_there() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        oracle.write_ended(1, true);
        assert!(read(&mut oracle, 11).is_ok());
        assert!(read(&mut oracle, ZEROES).is_err());
    }

    #[test]
    fn a_failed_write_leaves_both_possible_until_a_later_one_succeeds() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        oracle.write_ended(1, false);
        assert!(possible(&mut oracle, 11) && possible(&mut oracle, ZEROES));
        oracle.write_sent(2, 1, &[AT], 12);
        oracle.write_ended(2, true);
        assert!(read(&mut oracle, 11).is_err());
    }

    #[test]
    fn a_block_that_showed_one_of_two_does_not_change_its_mind() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        oracle.write_ended(1, false);
        assert!(read(&mut oracle, ZEROES).is_ok());
        assert!(read(&mut oracle, 11).is_err());
    }

    #[test]
    fn a_read_beside_a_write_decides_nothing() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        assert!(read(&mut oracle, ZEROES).is_ok());
        oracle.write_ended(1, true);
        assert!(read(&mut oracle, 11).is_ok());
    }

    #[test]
    fn writes_that_overlap_in_time_may_land_in_either_order() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        oracle.write_sent(2, 1, &[AT], 12);
        oracle.write_ended(2, true);
        oracle.write_ended(1, true);
        assert!(possible(&mut oracle, 11) && possible(&mut oracle, 12));
        assert!(!possible(&mut oracle, ZEROES));
    }

    #[test]
    fn zeroes_written_beside_a_write_over_zeroes_may_land_last() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[AT], 11);
        oracle.write_sent(2, 1, &[AT], ZEROES);
        oracle.write_ended(2, true);
        oracle.write_ended(1, true);
        assert!(possible(&mut oracle, ZEROES) && possible(&mut oracle, 11));
    }

    #[test]
    fn a_read_may_see_a_write_that_was_sent_after_it() {
        let mut oracle = oracle();
        oracle.read_sent(1, 1, AT);
        oracle.write_sent(2, 1, &[AT], 12);
        oracle.write_ended(2, true);
        assert!(oracle.read_ended(1, &[12]).is_ok());
    }

    #[test]
    fn a_compare_may_differ_only_where_something_else_was_possible() {
        let mut oracle = oracle();
        oracle.read_sent(1, 1, AT);
        assert!(oracle.compare_differed(1, &[ZEROES]).is_err());
        oracle.read_sent(2, 1, AT);
        assert!(oracle.compare_differed(2, &[7]).is_ok());
        oracle.read_sent(3, 1, AT);
        oracle.write_sent(4, 1, &[AT], 44);
        assert!(oracle.compare_differed(3, &[ZEROES]).is_ok());
    }

    #[test]
    fn ranges_of_one_command_may_overlap() {
        let mut oracle = oracle();
        oracle.write_sent(1, 1, &[(4, 2), (5, 2)], 11);
        oracle.write_ended(1, true);
        assert!(read(&mut oracle, 11).is_ok());
        assert_eq!(oracle.under_way(), 0);
    }
}
