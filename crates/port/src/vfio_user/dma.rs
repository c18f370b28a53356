//! What the client's addresses mean.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mem::{Iova, IovaMap, IovaTable, MapError, Region};
use rustix::io::Errno;
use spec::vfio_user::{DmaMap, DmaUnmap};

use crate::limits::DMA_MAPS_MAX;

/// The client's memory, range by range.
#[derive(Debug, Default)]
pub(super) struct Dma {
    map: IovaMap,
    /// Every range that the client mapped, by its first address. One that is not in `map` was accepted and cannot be
    /// reached: a ROM, say, for which there is no descriptor.
    ranges: BTreeMap<u64, Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    bytes: u64,
    offset: u64,
    flags: u32,
    reachable: bool,
}

impl Dma {
    /// Takes a range.
    ///
    /// # Errors
    /// `EINVAL` for a range of no bytes or beyond 64 bits, or memory that is none; `EEXIST` when it overlaps another;
    /// `ENOSPC` when there are too many. The same range once more is accepted.
    pub(super) fn map(&mut self, request: &DmaMap, fd: Option<OwnedFd>) -> Result<(), Errno> {
        let wanted = request.range().ok_or(Errno::INVAL)?;
        let flags = request.flags;
        let new = Range {
            bytes: request.size,
            offset: request.offset,
            flags: flags.bits(),
            // The controller may be told to write anywhere, so what it may not write it cannot use.
            reachable: fd.is_some() && flags.readable() && flags.writeable(),
        };
        if self.ranges.get(&wanted.start) == Some(&new) {
            return Ok(());
        }
        let before = self.ranges.range(..wanted.end).next_back();
        if before.is_some_and(|(at, range)| at + range.bytes > wanted.start) {
            return Err(Errno::EXIST);
        }
        if self.ranges.len() >= DMA_MAPS_MAX {
            return Err(Errno::NOSPC);
        }
        if let Some(fd) = fd.filter(|_| new.reachable) {
            let bytes = usize::try_from(request.size).map_err(|_| Errno::INVAL)?;
            let region = Region::of_file(fd, request.offset, bytes).map_err(|error| {
                tracing::warn!("DMA_MAP at {:#x}: {error}", wanted.start);
                Errno::INVAL
            })?;
            let inserted = self.map.insert(Iova::new(wanted.start), region.whole());
            inserted.map_err(|error| {
                tracing::warn!("DMA_MAP: {error}");
                match error {
                    MapError::TooMany | MapError::TooScattered => Errno::NOSPC,
                    _ => Errno::INVAL,
                }
            })?;
        }
        self.ranges.insert(wanted.start, new);
        Ok(())
    }

    /// Gives ranges up that lie within what is named, or all; says how many bytes that were.
    ///
    /// # Errors
    /// `EINVAL` when a range would be cut, or the request is none.
    pub(super) fn unmap(&mut self, request: &DmaUnmap) -> Result<u64, Errno> {
        if request.flags.all() {
            if request.address != 0 || request.size != 0 {
                return Err(Errno::INVAL);
            }
            let bytes = self.ranges.values().map(|range| range.bytes).sum();
            self.ranges.clear();
            self.map.remove_all();
            return Ok(bytes);
        }
        let wanted = request.range().ok_or(Errno::INVAL)?;
        let cut = |edge: u64| {
            let before = self.ranges.range(..edge).next_back();
            before.is_some_and(|(at, range)| at + range.bytes > edge)
        };
        if cut(wanted.start) || cut(wanted.end) {
            return Err(Errno::INVAL);
        }
        let doomed: Vec<u64> = self
            .ranges
            .range(wanted.clone())
            .map(|(at, _)| *at)
            .collect();
        let mut bytes = 0;
        for at in doomed {
            let Some(range) = self.ranges.remove(&at) else {
                continue;
            };
            bytes += range.bytes;
            if range.reachable {
                let removed = self.map.remove(Iova::new(at), range.bytes);
                assert!(
                    removed.is_ok(),
                    "what is reachable is in the map: {removed:?}"
                );
            }
        }
        Ok(bytes)
    }

    /// The addresses as the controller looks them up.
    pub(super) fn table(&self) -> Arc<IovaTable> {
        self.map.table()
    }
}
