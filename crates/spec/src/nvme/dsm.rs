//! Dataset Management [NVM Command Set 1.0 §3.2.3 Dataset Management command].

use crate::layout::{Field, Malformed, prefix};
use crate::nvme::entries::SubmissionEntry;
use crate::types::{BlockCount, Lba, ZeroBased};

bit_fields! {
    /// Command dword 11.
    Attributes(u32) {
        /// Integral Dataset for Read.
        idr, with_idr: bool = 0;
        /// Integral Dataset for Write.
        idw, with_idw: bool = 1;
        /// Attribute - Deallocate.
        ad, with_ad: bool = 2;
    }
}

/// The command's own double words. Every value is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatasetManagement {
    /// Ranges that the data buffer holds (NR), 1 to 256.
    pub ranges: ZeroBased<u8>,
    /// The host is about to read the ranges as one (IDR); a hint.
    pub integral_read: bool,
    /// The host is about to write the ranges as one (IDW); a hint.
    pub integral_write: bool,
    /// The host no longer needs what the ranges hold (AD).
    pub deallocate: bool,
}

impl DatasetManagement {
    /// The most ranges that one command can name.
    pub const RANGES_MAX: u32 = 256;

    /// Reads the command's double words.
    #[inline]
    pub const fn parse(entry: &SubmissionEntry) -> Self {
        let attributes = Attributes::from_bits(entry.cdw11());
        let [ranges, ..] = entry.cdw10().to_le_bytes();
        Self {
            ranges: ZeroBased::<u8>::new(ranges),
            integral_read: attributes.idr(),
            integral_write: attributes.idw(),
            deallocate: attributes.ad(),
        }
    }

    /// Writes the command's double words over those of `entry`.
    #[inline]
    pub const fn emit(&self, entry: SubmissionEntry) -> SubmissionEntry {
        let attributes = Attributes::from_bits(0)
            .with_idr(self.integral_read)
            .with_idw(self.integral_write)
            .with_ad(self.deallocate);
        entry
            .with_cdw10(self.ranges.raw() as u32)
            .with_cdw11(attributes.bits())
    }
}

bit_fields! {
    /// Context attributes of a range: how it will be accessed; hints that may be ignored.
    RangeContext(u32) {
        /// Access Frequency.
        access_frequency, with_access_frequency: u8 = 3:0;
        /// Access Latency.
        access_latency, with_access_latency: u8 = 5:4;
        /// Sequential Read Range.
        sequential_read, with_sequential_read: bool = 8;
        /// Sequential Write Range.
        sequential_write, with_sequential_write: bool = 9;
        /// Write Prepare: the range is about to be written.
        write_prepare, with_write_prepare: bool = 10;
        /// Command Access Size: logical blocks per command, 0 for unknown.
        command_access_size, with_command_access_size: u8 = 31:24;
    }
}

/// One range of the data buffer [NVM Command Set 1.0 §3.2.3, figure "Dataset Management - Range Definition"].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DsmRange {
    /// Context attributes.
    pub context: RangeContext,
    /// Length in logical blocks, 0 to 2 to the power of 32 less one. Not 0's based: 0 is an empty range.
    pub count: BlockCount,
    /// The first block.
    pub at: Lba,
}

impl DsmRange {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Reads a range from the start of `bytes`.
    ///
    /// # Errors
    /// If there are fewer than [`Self::BYTES`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let bytes: &[u8; Self::BYTES] = prefix(bytes)?;
        let (context, rest) = bytes.split_at(4);
        let (count, at) = rest.split_at(4);
        Ok(Self {
            context: Field::read(context),
            count: BlockCount::new(u32::read(count).into()),
            at: Field::read(at),
        })
    }

    /// Writes the range.
    ///
    /// # Panics
    /// If the count does not fit 32 bits.
    pub fn emit(&self, bytes: &mut [u8; Self::BYTES]) {
        let count = self.count.get();
        assert!(
            count <= u32::MAX.into(),
            "a range holds fewer than 2^32 blocks, not {count}"
        );
        let (context, rest) = bytes.split_at_mut(4);
        let (count_bytes, at) = rest.split_at_mut(4);
        self.context.write(context);
        (count as u32).write(count_bytes);
        self.at.write(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_as_context_length_and_first_block() {
        let mut bytes = [0; 16];
        let range = DsmRange {
            context: RangeContext::from_bits(0).with_sequential_write(true),
            count: BlockCount::new(0x0403_0201),
            at: Lba::new(0x1817_1615_1413_1211),
        };
        range.emit(&mut bytes);
        let wanted = [
            0, 2, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        ];
        assert_eq!(bytes, wanted);
        assert_eq!(DsmRange::parse(&bytes), Ok(range));
        assert_eq!(
            DsmRange::parse(&bytes[..15]),
            Err(Malformed::Short {
                wanted: 16,
                found: 15
            })
        );
    }

    #[test]
    fn the_number_of_ranges_is_zero_based_and_deallocate_is_bit_2() {
        let entry = SubmissionEntry::default()
            .with_cdw10(0xffff_ff03)
            .with_cdw11(0b100);
        let command = DatasetManagement::parse(&entry);
        assert_eq!(command.ranges.count(), 4);
        assert!(command.deallocate && !command.integral_read && !command.integral_write);
    }
}
