//! Where on the device each I/O of a trace goes, in whole blocks.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::survey::Survey;
use super::{Kind, Op, Place};

/// What happens to an I/O that reaches beyond the end of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    /// Nothing is replayed at all.
    #[default]
    Refuse,
    /// Its offset is taken modulo the device's size; one that then crosses the end is moved in front of it.
    Wrap,
    /// The part beyond the end is left out; an I/O that lies there as a whole is dropped.
    Clip,
}

/// A layout that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// `--map` names a file that the trace does not.
    #[error("--map {name}: the trace has no file of this name; it has: {known}")]
    UnknownName {
        /// The name.
        name: String,
        /// The names there are, the first few of them.
        known: String,
    },
    /// `--map` gives an offset inside a block.
    #[error(
        "--map {name}={offset}: not at the beginning of a block; allowed: multiples of {block_bytes}"
    )]
    Unaligned {
        /// The name.
        name: String,
        /// The offset.
        offset: u64,
        /// Bytes of a block.
        block_bytes: u64,
    },
    /// An I/O reaches beyond the end.
    #[error(
        "{place}: {what} of {bytes} bytes at offset {offset}{mapped} ends beyond the device, which has {capacity} bytes; use a \
         device of at least {wanted} bytes, or --wrap (offsets modulo the device's size) or --clip (leave out what is beyond)"
    )]
    Beyond {
        /// Where it stands in the trace.
        place: String,
        /// What it does.
        what: &'static str,
        /// Its length.
        bytes: u64,
        /// Its offset in the trace.
        offset: u64,
        /// Where its file begins on the device, if not at zero.
        mapped: String,
        /// Bytes of the device.
        capacity: u64,
        /// Bytes that would do for the whole trace.
        wanted: u128,
    },
}

/// Where one file of the trace lies on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// Its name in the trace.
    pub name: String,
    /// The byte of the device where it begins.
    pub offset: u64,
    /// Bytes that the trace uses of it, in whole blocks.
    pub bytes: u64,
    /// I/Os on it.
    pub ios: u64,
}

/// Marks what was done to an I/O on its way from the trace to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// It began or ended inside a block, and is now whole blocks.
    pub aligned: bool,
    /// It was moved by [`Outside::Wrap`].
    pub wrapped: bool,
    /// It was shortened by [`Outside::Clip`], or to the device's size.
    pub clipped: bool,
}

/// One I/O in blocks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// What it does.
    pub kind: Kind,
    /// Force Unit Access.
    pub fua: bool,
    /// A flush that waits for the writes in front of it.
    pub barrier: bool,
    /// First block.
    pub lba: u64,
    /// Blocks; zero for a flush, and for an I/O of which nothing is left.
    pub blocks: u64,
    /// Nanoseconds since the first I/O, if the trace says.
    pub at_ns: Option<u64>,
    /// What was done to it.
    pub changed: Changed,
    /// Where it stands in the trace.
    pub place: Place,
}

/// Where files lie on a device.
#[derive(Clone, Debug)]
pub struct Layout {
    places: Vec<FilePlace>,
    block_bytes: u64,
    blocks: u64,
    outside: Outside,
}

impl Layout {
    /// Lays the files of a trace out on `blocks` blocks of `block_bytes` bytes (a power of two): those of `maps` where these
    /// say, the others one after another, in order of appearance, behind the highest end of those. A trace of one file
    /// begins at byte zero.
    ///
    /// # Errors
    /// [`LayoutError`]; with [`Outside::Refuse`] also if any I/O reaches beyond the device.
    ///
    /// # Panics
    /// If `block_bytes` is no power of two, or `blocks` is zero.
    pub fn new(
        survey: &Survey,
        maps: &[(String, u64)],
        (block_bytes, blocks): (u64, u64),
        outside: Outside,
    ) -> Result<Self, LayoutError> {
        assert!(
            block_bytes.is_power_of_two(),
            "block of {block_bytes} bytes"
        );
        assert!(blocks > 0, "a device has a block");
        check_maps(survey, maps, block_bytes)?;
        let mapped = |name: &str| maps.iter().find(|(known, _)| known == name).map(|m| m.1);
        let whole = |bytes: u64| bytes.div_ceil(block_bytes).saturating_mul(block_bytes);
        let mut next = survey
            .extents
            .iter()
            .filter_map(|extent| Some(mapped(&extent.name)?.saturating_add(whole(extent.end))))
            .max()
            .unwrap_or(0);
        let mut places = Vec::with_capacity(survey.extents.len());
        let mut beyond = None;
        let mut wanted = 0;
        for extent in &survey.extents {
            let bytes = whole(extent.end);
            let offset = mapped(&extent.name).unwrap_or(next);
            if mapped(&extent.name).is_none() {
                next = next.saturating_add(bytes);
            }
            let end = u128::from(offset) + u128::from(bytes);
            wanted = wanted.max(end);
            if end > u128::from(blocks) * u128::from(block_bytes) && beyond.is_none() {
                beyond = Some((extent, offset));
            }
            places.push(FilePlace {
                name: extent.name.clone(),
                offset,
                bytes,
                ios: extent.ios,
            });
        }
        if let (Outside::Refuse, Some((extent, base))) = (outside, beyond)
            && let Some(op) = &extent.farthest
        {
            return Err(LayoutError::Beyond {
                place: survey.describe(op),
                what: op.kind.name(),
                bytes: op.bytes,
                offset: op.offset,
                mapped: match base {
                    0 => String::new(),
                    base => format!(
                        " of {} (which begins at byte {base} of the device)",
                        extent.name
                    ),
                },
                capacity: blocks * block_bytes,
                wanted,
            });
        }
        Ok(Self {
            places,
            block_bytes,
            blocks,
            outside,
        })
    }

    /// Where the files lie.
    #[must_use]
    pub fn places(&self) -> &[FilePlace] {
        &self.places
    }

    /// Bytes of a block.
    #[must_use]
    pub const fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Puts an I/O onto the device. Reads and writes grow to whole blocks; discards shrink to them, since the rest of a
    /// block may be in use.
    #[must_use]
    pub fn place(&self, op: &Op) -> Io {
        let mut io = Io {
            kind: op.kind,
            fua: op.fua,
            barrier: op.barrier,
            lba: 0,
            blocks: 0,
            at_ns: op.at_ns,
            changed: Changed::default(),
            place: op.place,
        };
        if op.kind == Kind::Flush {
            return io;
        }
        let base = self.places.get(op.file as usize).map_or(0, |p| p.offset);
        let begin = u128::from(base) + u128::from(op.offset);
        let end = begin + u128::from(op.bytes);
        let block = u128::from(self.block_bytes);
        let (first, last) = match op.kind {
            Kind::Discard => (begin.div_ceil(block), end / block),
            _ => (begin / block, end.div_ceil(block)),
        };
        io.changed.aligned = first * block != begin || last * block != end;
        let count = last.saturating_sub(first);
        let device = u128::from(self.blocks);
        let (lba, count) = match self.outside {
            _ if count == 0 || first + count <= device => (first, count),
            Outside::Wrap => {
                let fits = count.min(device);
                io.changed.wrapped = true;
                io.changed.clipped = fits < count;
                ((first % device).min(device - fits), fits)
            }
            // A refusing layout was checked as a whole; if the trace has changed since, what is beyond must not be sent.
            Outside::Clip | Outside::Refuse => {
                io.changed.clipped = true;
                (first, device.saturating_sub(first))
            }
        };
        // Both are at most the device's blocks now, or nothing is left.
        (io.lba, io.blocks) = if count == 0 {
            (0, 0)
        } else {
            (lba as u64, count as u64)
        };
        io
    }
}

fn check_maps(
    survey: &Survey,
    maps: &[(String, u64)],
    block_bytes: u64,
) -> Result<(), LayoutError> {
    const NAMES_SHOWN: usize = 8;
    for (name, offset) in maps {
        if !survey.extents.iter().any(|extent| extent.name == *name) {
            let names = survey.extents.iter().map(|extent| extent.name.as_str());
            let mut known: Vec<&str> = names.take(NAMES_SHOWN).collect();
            if survey.extents.len() > NAMES_SHOWN {
                known.push("...");
            }
            return Err(LayoutError::UnknownName {
                name: name.clone(),
                known: known.join(", "),
            });
        }
        if !offset.is_multiple_of(block_bytes) {
            return Err(LayoutError::Unaligned {
                name: name.clone(),
                offset: *offset,
                block_bytes,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::PerKind;
    use super::super::survey::Extent;
    use super::super::trace::{Format, Skipped};
    use super::*;
    use proptest::prelude::*;

    fn op(kind: Kind, file: u32, offset: u64, bytes: u64) -> Op {
        Op {
            kind,
            fua: false,
            barrier: false,
            file,
            offset,
            bytes,
            at_ns: None,
            place: Place { source: 0, at: 7 },
        }
    }

    fn survey(ends: &[(&str, u64)]) -> Survey {
        let extents = ends.iter().zip(0..).map(|(&(name, end), file)| Extent {
            name: name.to_owned(),
            ios: 1,
            end,
            farthest: Some(op(Kind::Write, file, end.saturating_sub(4096), 4096)),
        });
        Survey {
            format: Format::Iolog3,
            sources: vec!["log".to_owned()],
            ios: PerKind::default(),
            bytes: PerKind::default(),
            timed: 0,
            span_ns: 0,
            longest: 0,
            extents: extents.collect(),
            skipped: Skipped::default(),
            out_of_order: 0,
        }
    }

    fn offsets(layout: &Layout) -> Vec<u64> {
        layout.places().iter().map(|place| place.offset).collect()
    }

    #[test]
    fn files_lie_one_after_another_and_mapped_ones_where_they_were_mapped() {
        let survey = survey(&[("a", 5000), ("b", 4096), ("c", 1)]);
        let layout = Layout::new(&survey, &[], (4096, 100), Outside::Refuse).unwrap();
        assert_eq!(offsets(&layout), [0, 8192, 12288]);
        let maps = [("b".to_owned(), 40960)];
        let layout = Layout::new(&survey, &maps, (4096, 100), Outside::Refuse).unwrap();
        assert_eq!(offsets(&layout), [45056, 40960, 53248]);
    }

    #[test]
    fn a_refusal_names_line_offset_and_what_to_do() {
        let survey = survey(&[("a", 8192)]);
        let error = Layout::new(&survey, &[], (512, 8), Outside::Refuse).unwrap_err();
        let text = error.to_string();
        for part in [
            "log line 7",
            "offset 4096",
            "4096 bytes",
            "8192",
            "--wrap",
            "--clip",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for (maps, part) in [
            (("x".to_owned(), 0), "it has: a"),
            (("a".to_owned(), 7), "multiples of 512"),
        ] {
            let error = Layout::new(&survey, &[maps], (512, 800), Outside::Refuse).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn reads_and_writes_grow_to_whole_blocks_and_discards_shrink() {
        let layout =
            Layout::new(&survey(&[("a", 4096)]), &[], (512, 100), Outside::Refuse).unwrap();
        let blocks = |kind, offset, bytes| {
            let io = layout.place(&op(kind, 0, offset, bytes));
            (io.lba, io.blocks, io.changed.aligned)
        };
        assert_eq!(blocks(Kind::Write, 512, 1024), (1, 2, false));
        assert_eq!(blocks(Kind::Write, 511, 2), (0, 2, true));
        assert_eq!(blocks(Kind::Read, 1000, 1), (1, 1, true));
        assert_eq!(blocks(Kind::Discard, 100, 1500), (1, 2, true));
        assert_eq!(blocks(Kind::Discard, 100, 500), (0, 0, true));
    }

    #[test]
    fn what_lies_beyond_is_wrapped_or_clipped_as_asked() {
        let place = |outside, offset, bytes| {
            let layout = Layout::new(&survey(&[("a", 1 << 40)]), &[], (512, 10), outside).unwrap();
            let io = layout.place(&op(Kind::Write, 0, offset, bytes));
            assert!(io.changed.wrapped || io.changed.clipped);
            (io.lba, io.blocks)
        };
        assert_eq!(place(Outside::Wrap, 12 * 512, 1024), (2, 2));
        assert_eq!(place(Outside::Wrap, 9 * 512, 1024), (8, 2));
        assert_eq!(place(Outside::Wrap, 3 * 512, 100 * 512), (0, 10));
        assert_eq!(place(Outside::Clip, 9 * 512, 1024), (9, 1));
        assert_eq!(place(Outside::Clip, 10 * 512, 1024), (0, 0));
    }

    proptest! {
        #[test]
        fn nothing_is_ever_placed_outside_the_device(
            kind in prop::sample::select(&Kind::ALL[..]), file in 0u32..3, offset: u64, bytes in 1..=u64::from(u32::MAX),
            blocks in 1u64..1 << 40, shift in 9u32..13, wrap: bool, map in 0u64..1 << 40,
        ) {
            prop_assume!(offset.checked_add(bytes).is_some());
            let outside = if wrap { Outside::Wrap } else { Outside::Clip };
            let maps = [("b".to_owned(), map << shift)];
            let survey = survey(&[("a", u64::MAX), ("b", u64::MAX)]);
            let layout = Layout::new(&survey, &maps, (1 << shift, blocks), outside).unwrap();
            let io = layout.place(&op(kind, file, offset, bytes));
            prop_assert!(io.lba + io.blocks <= blocks);
            prop_assert!(kind != Kind::Flush || io.blocks == 0);
        }
    }
}
