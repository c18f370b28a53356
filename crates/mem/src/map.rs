//! The owner's side of I/O virtual addresses: which are mapped, and to what.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{IOVA_BITS, MAPPINGS_MAX, TABLE_LEAF_BITS, TABLE_LEAVES_MAX, TABLE_PAGE_BITS};
use crate::table::IovaTable;
use crate::window::Window;

/// An I/O virtual address: where a device finds a byte of its host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iova(u64);

impl Iova {
    /// The address `raw`; any 64 bits are an address, mapped or not.
    #[inline(always)]
    #[must_use]
    pub const fn new(raw: u64) -> Self {
        Self(raw)
    }

    /// The 64 bits.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Iova {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}

/// A change of an [`IovaMap`] was refused; the map is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A mapping or a removal of no bytes.
    #[error("wanted a range of 0 bytes at {iova}; a range has at least one byte")]
    Empty {
        /// First address asked for.
        iova: Iova,
    },
    /// The range goes beyond the addresses that a table can hold.
    #[error("wanted {len} bytes at {iova}, found that addresses have {IOVA_BITS} bits; map lower")]
    TooHigh {
        /// First address asked for.
        iova: Iova,
        /// Bytes asked for.
        len: u64,
    },
    /// Some of the addresses are mapped already, to something else.
    #[error(
        "wanted {len} bytes at {iova}, found {found_len} mapped at {found}; remove those first"
    )]
    Overlap {
        /// First address asked for.
        iova: Iova,
        /// Bytes asked for.
        len: u64,
        /// Where the other mapping begins.
        found: Iova,
        /// Its length in bytes.
        found_len: u64,
    },
    /// The map is full.
    #[error("wanted one more mapping, found {MAPPINGS_MAX}, the most there can be; remove some")]
    TooMany,
    /// The mappings are scattered too widely.
    #[error(
        "wanted one more mapping, found the addresses spread over {TABLE_LEAVES_MAX} ranges of 4 GiB, the most there can be; map closer together"
    )]
    TooScattered,
    /// Nothing is mapped there.
    #[error("wanted to remove {len} bytes at {iova}, found nothing mapped there")]
    NotMapped {
        /// First address asked for.
        iova: Iova,
        /// Bytes asked for.
        len: u64,
    },
    /// The removal would cut a mapping in two.
    #[error(
        "wanted to remove {len} bytes at {iova}, found {found_len} mapped as one at {found}; remove whole mappings"
    )]
    Split {
        /// First address asked for.
        iova: Iova,
        /// Bytes asked for.
        len: u64,
        /// Where the mapping that would be cut begins.
        found: Iova,
        /// Its length in bytes.
        found_len: u64,
    },
}

/// Which I/O virtual addresses are mapped to which windows. The owner changes it and gives
/// everybody who reads memory a new [`IovaTable`] afterwards.
#[derive(Clone, Debug, Default)]
pub struct IovaMap {
    /// By first address. Never empty windows, never overlapping, all below `1 << IOVA_BITS`.
    mappings: BTreeMap<u64, Window>,
    /// How many mappings reach into each leaf of the table.
    leaves: BTreeMap<u64, u32>,
}

impl IovaMap {
    /// A map of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps `window` at `iova`. The same mapping once more is accepted and changes nothing.
    ///
    /// # Errors
    /// [`MapError`] if the window is empty, too high or overlaps another mapping, or if the map has
    /// reached one of its limits.
    pub fn insert(&mut self, iova: Iova, window: Window) -> Result<(), MapError> {
        let len = window.len() as u64;
        let end = range_end(iova, len)?;
        if end > 1 << IOVA_BITS {
            return Err(MapError::TooHigh { iova, len });
        }
        if self
            .mappings
            .get(&iova.get())
            .is_some_and(|present| present.is_same(&window))
        {
            return Ok(());
        }
        if let Some((found, other)) = self.last_before(end)
            && found + other.len() as u64 > iova.get()
        {
            let (found, found_len) = (Iova::new(found), other.len() as u64);
            return Err(MapError::Overlap {
                iova,
                len,
                found,
                found_len,
            });
        }
        if self.mappings.len() >= MAPPINGS_MAX {
            return Err(MapError::TooMany);
        }
        let fresh = leaves_of(iova.get(), len).filter(|leaf| !self.leaves.contains_key(leaf));
        if self.leaves.len() + fresh.count() > TABLE_LEAVES_MAX {
            return Err(MapError::TooScattered);
        }
        for leaf in leaves_of(iova.get(), len) {
            *self.leaves.entry(leaf).or_default() += 1;
        }
        self.mappings.insert(iova.get(), window);
        Ok(())
    }

    /// Removes all mappings within `len` bytes from `iova`, which may be several with gaps between.
    ///
    /// # Errors
    /// [`MapError`] if the range is empty, holds no mapping, or ends or begins inside one.
    pub fn remove(&mut self, iova: Iova, len: u64) -> Result<(), MapError> {
        let end = range_end(iova, len)?;
        let cut = |(found, window): (u64, &Window)| {
            let found_len = window.len() as u64;
            MapError::Split {
                iova,
                len,
                found: Iova::new(found),
                found_len,
            }
        };
        let crosses = |at: u64, (found, window): &(u64, &Window)| {
            *found < at && at < found + window.len() as u64
        };
        for edge in [iova.get(), end] {
            if let Some(mapping) = self.last_before(edge).filter(|found| crosses(edge, found)) {
                return Err(cut(mapping));
            }
        }
        let doomed: Vec<u64> = self
            .mappings
            .range(iova.get()..end)
            .map(|(at, _)| *at)
            .collect();
        if doomed.is_empty() {
            return Err(MapError::NotMapped { iova, len });
        }
        for at in doomed {
            self.forget(at);
        }
        Ok(())
    }

    /// Removes everything.
    pub fn remove_all(&mut self) {
        self.mappings.clear();
        self.leaves.clear();
    }

    /// Number of mappings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.mappings.len()
    }

    /// Whether nothing is mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// The mappings, by address.
    pub fn iter(&self) -> impl Iterator<Item = (Iova, &Window)> {
        self.mappings
            .iter()
            .map(|(at, window)| (Iova::new(*at), window))
    }

    /// A snapshot for those who look addresses up. It keeps the mapped regions alive, and stays as
    /// it is when the map changes. Takes time in proportion to the mapped bytes: one store for each
    /// 2 MiB.
    #[must_use]
    pub fn table(&self) -> Arc<IovaTable> {
        Arc::new(IovaTable::build(
            self.mappings.iter().map(|(at, window)| (*at, window)),
        ))
    }

    /// The mapping with the highest first address below `at`.
    fn last_before(&self, at: u64) -> Option<(u64, &Window)> {
        self.mappings
            .range(..at)
            .next_back()
            .map(|(found, window)| (*found, window))
    }

    fn forget(&mut self, at: u64) {
        let Some(window) = self.mappings.remove(&at) else {
            return;
        };
        for leaf in leaves_of(at, window.len() as u64) {
            if let Some(count) = self.leaves.get_mut(&leaf) {
                *count -= 1;
                if *count == 0 {
                    self.leaves.remove(&leaf);
                }
            }
        }
    }
}

/// The address behind the range.
fn range_end(iova: Iova, len: u64) -> Result<u64, MapError> {
    if len == 0 {
        return Err(MapError::Empty { iova });
    }
    iova.get()
        .checked_add(len)
        .ok_or(MapError::TooHigh { iova, len })
}

/// The leaves of the table that hold `len` bytes (at least one) from `start`.
fn leaves_of(start: u64, len: u64) -> impl Iterator<Item = u64> {
    let leaf = |address: u64| address >> (TABLE_PAGE_BITS + TABLE_LEAF_BITS);
    leaf(start)..=leaf(start + (len - 1))
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
