//! From PRP entries to a complete list of spans, or a named refusal [NVMe Base 2.0 §4.1.1 Physical Region Page].

use mem::{IovaTable, Span, SpanList};
use spec::nvme::{Status, SubmissionEntry};

use crate::{Controller, limits};

const PAGE: u64 = limits::PAGE_BYTES;

/// The host's memory of a command that stays within one page, which is most of them. `None`: it does not, or its address
/// is odd or not mapped; [`resolve`] says which.
#[inline(always)]
pub(crate) fn one_page<'m>(
    memory: &'m IovaTable,
    entry: &SubmissionEntry,
    len: u32,
) -> Option<Span<'m>> {
    let prp1 = entry.prp1();
    if !prp1.is_multiple_of(4) {
        return None;
    }
    memory.span_in_page(prp1, len)
}

/// Lists the host's memory that a command names: exactly `len` bytes, or nothing.
#[inline(never)]
pub(crate) fn resolve<'m>(
    memory: &'m IovaTable,
    entry: &SubmissionEntry,
    len: u64,
    list: &mut SpanList<'m>,
) -> Result<(), Status> {
    let prp1 = entry.prp1();
    if !prp1.is_multiple_of(4) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    let first = PAGE - prp1 % PAGE;
    if len <= first {
        return push(memory, list, prp1, len);
    }
    push(memory, list, prp1, first)?;
    let rest = len - first;
    let prp2 = entry.prp2();
    if rest <= PAGE {
        return page(memory, list, prp2, rest);
    }
    walk(memory, prp2, rest, list)
}

/// Walks a PRP list. The list may begin anywhere in its page, eight bytes aligned; its last entry in a page links to the
/// next page of the list if bytes are left beyond that one entry. Each entry is read once.
fn walk<'m>(
    memory: &'m IovaTable,
    list_address: u64,
    mut rest: u64,
    list: &mut SpanList<'m>,
) -> Result<(), Status> {
    let mut address = list_address;
    for _ in 0..limits::PRP_LIST_PAGES_MAX {
        if !address.is_multiple_of(8) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        let page_end = PAGE - address % PAGE;
        // What lies behind the last entry used is no part of the list, and the host need not have mapped it.
        let bytes = page_end.min(rest.div_ceil(PAGE) * 8);
        let entries = span(memory, address, bytes)?;
        let mut offset = 0;
        loop {
            let entry = entries.load_u64(offset as usize);
            offset += 8;
            if offset == page_end && rest > PAGE {
                address = entry; // the link to the next page of the list
                break;
            }
            if cfg!(fuzz_planted_bug) && offset == page_end && rest == PAGE {
                address = entry; // taken for a link although it names the one page that is left
                break;
            }
            let piece = rest.min(PAGE);
            page(memory, list, entry, piece)?;
            rest -= piece;
            if rest == 0 {
                return Ok(());
            }
        }
        if !address.is_multiple_of(PAGE) {
            return Err(Status::INVALID_PRP_OFFSET); // only the first page of a list may have an offset
        }
    }
    // A list that spends its pages on links and not on data.
    Err(Status::INVALID_FIELD)
}

/// Adds a PRP entry that must name the start of a page.
fn page<'m>(
    memory: &'m IovaTable,
    list: &mut SpanList<'m>,
    address: u64,
    len: u64,
) -> Result<(), Status> {
    if !address.is_multiple_of(PAGE) {
        return Err(Status::INVALID_PRP_OFFSET);
    }
    push(memory, list, address, len)
}

#[inline(always)]
fn push<'m>(
    memory: &'m IovaTable,
    list: &mut SpanList<'m>,
    address: u64,
    len: u64,
) -> Result<(), Status> {
    let span = span(memory, address, len)?;
    list.push(span).map_err(|_| Status::INVALID_FIELD)
}

#[inline(always)]
fn span(memory: &IovaTable, address: u64, len: u64) -> Result<Span<'_>, Status> {
    // Memory that the host never gave us: the transfer fails, nothing else does.
    memory
        .span(address, len as usize)
        .ok_or(Status::DATA_TRANSFER_ERROR)
}

impl Controller {
    /// Writes an admin command's answer to the memory that the command names.
    pub(crate) fn copy_to_host(&self, entry: &SubmissionEntry, data: &[u8]) -> Result<(), Status> {
        let mut list = SpanList::new();
        resolve(&self.memory, entry, data.len() as u64, &mut list)?;
        let mut rest = data;
        for span in list.as_slice() {
            let (piece, tail) = rest
                .split_at_checked(span.len())
                .ok_or(Status::INTERNAL_ERROR)?;
            span.write_from(piece);
            rest = tail;
        }
        Ok(())
    }
}

/// Copies a command's data out of the host's memory, once.
pub(crate) fn copy_in(
    memory: &IovaTable,
    entry: &SubmissionEntry,
    data: &mut [u8],
) -> Result<(), Status> {
    let mut list = SpanList::new();
    resolve(memory, entry, data.len() as u64, &mut list)?;
    let mut rest = data;
    for span in list.as_slice() {
        let (piece, tail) = rest
            .split_at_mut_checked(span.len())
            .ok_or(Status::INTERNAL_ERROR)?;
        span.read_into(piece);
        rest = tail;
    }
    Ok(())
}
