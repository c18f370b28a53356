//! Loses power: what may be on the disk after a part of its record.

use crate::caller::{BLOCKS, Caller, stamp};
use crate::disk::{Event, Kept};
use crate::random::Random;

const BLOCK: usize = 512;

/// A write as far as a crash is concerned.
struct Write<'l> {
    at: usize,
    bytes: &'l [u8],
    durable: bool,
    /// Where in the record it ended, and so in which sequence writes took effect.
    ended: Option<usize>,
    /// It failed: nobody was told that it is there.
    failed: bool,
}

/// Splits the first `cut` lines into writes that must have survived and others, both in the sequence in which they took
/// effect.
///
/// A write must have survived if it was durable and over, or if a sync began after it was over and was over, well, itself. A sync
/// that failed leaves all that was not safe by then unsafe for ever: a kernel forgets what it could not write.
fn writes(log: &[Event]) -> Vec<(Write<'_>, bool)> {
    let mut all: Vec<(usize, Write<'_>)> = Vec::new();
    let mut safe: Vec<usize> = Vec::new();
    let mut doomed: Vec<usize> = Vec::new();
    let mut syncs: Vec<(usize, usize)> = Vec::new();
    for (line, event) in log.iter().enumerate() {
        match event {
            Event::Given {
                id,
                what: Kept::Bytes { at, bytes, durable },
            } => {
                let write = Write {
                    at: *at as usize,
                    bytes,
                    durable: *durable,
                    ended: None,
                    failed: false,
                };
                all.push((*id, write));
            }
            Event::Given {
                id,
                what: Kept::Sync,
            } => syncs.push((*id, line)),
            Event::Given {
                what: Kept::Nothing,
                ..
            } => {}
            Event::Over { id, len } => {
                if let Some((_, write)) = all.iter_mut().find(|(known, _)| known == id) {
                    write.ended = Some(line);
                    write.bytes = &write.bytes[..*len];
                    if write.durable {
                        safe.push(*id);
                    }
                }
                if let Some((_, began)) = syncs.iter().find(|(known, _)| known == id) {
                    let covered = |write: &Write<'_>| {
                        !write.failed && write.ended.is_some_and(|end| end < *began)
                    };
                    let news = all
                        .iter()
                        .filter(|(id, write)| covered(write) && !doomed.contains(id));
                    safe.extend(news.map(|(id, _)| *id));
                }
            }
            Event::Failed { id } => {
                if let Some((_, write)) = all.iter_mut().find(|(known, _)| known == id) {
                    write.ended = Some(line);
                    write.failed = true;
                }
                if syncs.iter().any(|(known, _)| known == id) {
                    let lost = all
                        .iter()
                        .filter(|(id, write)| write.ended.is_some() && !safe.contains(id));
                    doomed.extend(lost.map(|(id, _)| *id));
                }
            }
        }
    }
    all.sort_by_key(|(_, write)| write.ended.unwrap_or(usize::MAX));
    all.into_iter()
        .map(|(id, write)| (write, safe.contains(&id)))
        .collect()
}

/// Looks for a block that breaks a promise, at every cut, for several choices of what survives.
pub(crate) fn broken_promise(caller: &Caller, choices: u64, random: &mut Random) -> Option<String> {
    let log = &caller.media.disk().log;
    for cut in 0..=log.len() {
        let writes = writes(&log[..cut]);
        let allowed: Vec<Vec<u64>> = (0..BLOCKS)
            .map(|block| caller.history.allowed_after_crash(block, cut))
            .collect();
        for choice in 0..choices {
            // Nothing, everything, and then a coin for each block of each write.
            let percent = [0, 100, 50, 15, 85][choice.min(4) as usize];
            let mut image = vec![0_u8; BLOCKS as usize * BLOCK];
            for (write, safe) in &writes {
                for (part, bytes) in write.bytes.chunks(BLOCK).enumerate() {
                    if *safe || random.percent(percent) {
                        let at = write.at + part * BLOCK;
                        image[at..at + bytes.len()].copy_from_slice(bytes);
                    }
                }
            }
            for (block, bytes) in image.chunks(BLOCK).enumerate() {
                let (found, allowed) = (stamp(bytes), &allowed[block]);
                if !allowed.contains(&found) {
                    return Some(format!(
                        "power lost after {cut} of {} lines: block {block} holds {found}, promised was one of {allowed:?}",
                        log.len()
                    ));
                }
            }
        }
    }
    None
}
