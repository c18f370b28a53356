//! Reads and writes that travel in messages: REGION_READ, REGION_WRITE, REGION_WRITE_MULTI, DMA_READ, DMA_WRITE
//! [vfio-user 0.2 "Read and Write Operations"].

use crate::layout::{Field, Malformed};
use crate::vfio_user::limits::{DATA_BYTES_MAX, MULTI_WRITE_BYTES_MAX, MULTI_WRITES_MAX};
use crate::vfio_user::{data_of, split};

/// Stops a count that no message may have before anybody makes room for it.
fn bounded(count: u64) -> Result<u64, Malformed> {
    if count > DATA_BYTES_MAX.into() {
        return Err(Malformed::Field { name: "count" });
    }
    Ok(count)
}

/// The same for what is sent, where a larger count is our mistake.
fn count_of(data: &[u8]) -> u32 {
    assert!(
        data.len() <= DATA_BYTES_MAX as usize,
        "data fit one message"
    );
    data.len() as u32
}

/// The request of REGION_READ and the reply of REGION_WRITE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionAccess {
    /// The first byte in the region.
    pub offset: u64,
    /// The region; see [`region_index`](crate::vfio_user::region_index). Not checked.
    pub region: u32,
    /// Bytes to move, or that were moved: at most [`DATA_BYTES_MAX`].
    pub count: u32,
}

impl RegionAccess {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Reads the payload.
    ///
    /// # Errors
    /// If there are fewer than 16 bytes, the count is more than [`DATA_BYTES_MAX`], or the end passes 64 bits.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (head, _) = split::<{ Self::BYTES }>(payload)?;
        let (offset, rest) = head.split_at(8);
        let (region, count) = rest.split_at(4);
        let access = Self {
            offset: Field::read(offset),
            region: Field::read(region),
            count: Field::read(count),
        };
        ends(access.offset, bounded(access.count.into())?, "offset")?;
        Ok(access)
    }

    /// Writes every byte of the structure.
    pub fn emit(&self, bytes: &mut [u8; Self::BYTES]) {
        let (offset, rest) = bytes.split_at_mut(8);
        let (region, count) = rest.split_at_mut(4);
        self.offset.write(offset);
        self.region.write(region);
        self.count.write(count);
    }

    /// The structure as bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        self.emit(&mut bytes);
        bytes
    }
}

/// The request of REGION_WRITE and the reply of REGION_READ: a [`RegionAccess`] and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionData<'d> {
    /// The first byte in the region.
    pub offset: u64,
    /// The region. Not checked.
    pub region: u32,
    /// What was read, or what is to be written: at most [`DATA_BYTES_MAX`].
    pub data: &'d [u8],
}

impl<'d> RegionData<'d> {
    /// Reads the payload. What follows the counted data is passed over.
    ///
    /// # Errors
    /// As of [`RegionAccess::parse`], or if there are fewer data than counted.
    pub fn parse(payload: &'d [u8]) -> Result<Self, Malformed> {
        let access = RegionAccess::parse(payload)?;
        Ok(Self {
            offset: access.offset,
            region: access.region,
            data: data_of(payload, RegionAccess::BYTES, access.count as usize)?,
        })
    }

    /// What the payload says before its data.
    ///
    /// # Panics
    /// If there are more data than [`DATA_BYTES_MAX`].
    pub fn access(&self) -> RegionAccess {
        RegionAccess {
            offset: self.offset,
            region: self.region,
            count: count_of(self.data),
        }
    }

    /// Appends the payload to `payload`.
    ///
    /// # Panics
    /// If there are more data than [`DATA_BYTES_MAX`].
    pub fn emit(&self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.access().to_bytes());
        payload.extend_from_slice(self.data);
    }
}

/// The request of DMA_READ and the reply of DMA_WRITE as libvfio-user has it; see [`DmaWritten`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmaAccess {
    /// The DMA address of the first byte.
    pub address: u64,
    /// Bytes to move, or that were moved: at most [`DATA_BYTES_MAX`].
    pub count: u64,
}

impl DmaAccess {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Reads the payload.
    ///
    /// # Errors
    /// If there are fewer than 16 bytes, the count is more than [`DATA_BYTES_MAX`], or the end passes 64 bits.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (head, _) = split::<{ Self::BYTES }>(payload)?;
        let (address, count) = head.split_at(8);
        let access = Self {
            address: Field::read(address),
            count: Field::read(count),
        };
        ends(access.address, bounded(access.count)?, "address")?;
        Ok(access)
    }

    /// Writes every byte of the structure.
    pub fn emit(&self, bytes: &mut [u8; Self::BYTES]) {
        let (address, count) = bytes.split_at_mut(8);
        self.address.write(address);
        self.count.write(count);
    }

    /// The structure as bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        self.emit(&mut bytes);
        bytes
    }
}

/// The request of DMA_WRITE and the reply of DMA_READ: a [`DmaAccess`] and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaData<'d> {
    /// The DMA address of the first byte.
    pub address: u64,
    /// What was read, or what is to be written: at most [`DATA_BYTES_MAX`].
    pub data: &'d [u8],
}

impl<'d> DmaData<'d> {
    /// Reads the payload. What follows the counted data is passed over.
    ///
    /// # Errors
    /// As of [`DmaAccess::parse`], or if there are fewer data than counted.
    pub fn parse(payload: &'d [u8]) -> Result<Self, Malformed> {
        let access = DmaAccess::parse(payload)?;
        Ok(Self {
            address: access.address,
            // No loss: the count was found to be at most 1 MiB.
            data: data_of(payload, DmaAccess::BYTES, access.count as usize)?,
        })
    }

    /// What the payload says before its data.
    ///
    /// # Panics
    /// If there are more data than [`DATA_BYTES_MAX`].
    pub fn access(&self) -> DmaAccess {
        DmaAccess {
            address: self.address,
            count: count_of(self.data).into(),
        }
    }

    /// Appends the payload to `payload`.
    ///
    /// # Panics
    /// If there are more data than [`DATA_BYTES_MAX`].
    pub fn emit(&self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.access().to_bytes());
        payload.extend_from_slice(self.data);
    }
}

layout! {
    /// The reply of DMA_WRITE as the specification prints it, with a count of 32 bits. libvfio-user replies with a
    /// [`DmaAccess`], whose first bytes are the same for every count that fits a message; so this reads both.
    DmaWritten[12] {
        /// The DMA address of the first byte.
        0 => address: u64,
        /// Bytes that were written.
        8 => count: u32,
    }
}

layout! {
    /// One write of REGION_WRITE_MULTI [vfio-user 0.2 "Single Device Write Format"].
    RegionWrite[24] {
        /// The first byte in the region.
        0 => offset: u64,
        /// The region; see [`region_index`](crate::vfio_user::region_index).
        8 => region: u32,
        /// Bytes to write, 0 to 8.
        12 => count: u32,
        /// What to write, from the first byte on; the rest means nothing.
        16 => data: [u8; 8],
    }
}

impl RegionWrite {
    /// The bytes to write; all 8 where the count is wrong.
    pub fn counted(&self) -> &[u8] {
        self.data.get(..self.count as usize).unwrap_or(&self.data)
    }

    /// Refuses what cannot be a write.
    fn check(&self) -> Result<(), Malformed> {
        if self.count > MULTI_WRITE_BYTES_MAX {
            return Err(Malformed::Field { name: "count" });
        }
        ends(self.offset, self.count.into(), "offset")
    }
}

const HEAD_BYTES: usize = 8;

/// The request of REGION_WRITE_MULTI: writes to be done in their order [vfio-user 0.2 "VFIO_USER_REGION_WRITE_MULTI"].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionWriteMulti<'d> {
    /// Writes that were checked.
    writes: &'d [[u8; RegionWrite::BYTES]],
}

impl<'d> RegionWriteMulti<'d> {
    /// Bytes before the writes.
    pub const HEAD_BYTES: usize = HEAD_BYTES;

    /// Reads the payload. What follows the counted writes is passed over.
    ///
    /// # Errors
    /// If there are fewer than 8 bytes, more writes than [`MULTI_WRITES_MAX`], fewer than counted, or one of them has more
    /// than 8 bytes or passes 64 bits.
    pub fn parse(payload: &'d [u8]) -> Result<Self, Malformed> {
        let (head, _) = split::<HEAD_BYTES>(payload)?;
        let count = u64::read(head);
        if count > MULTI_WRITES_MAX {
            return Err(Malformed::Field { name: "wr_cnt" });
        }
        // No loss: there are at most 200.
        let bytes = data_of(payload, HEAD_BYTES, count as usize * RegionWrite::BYTES)?;
        let (writes, _) = bytes.as_chunks();
        let multi = Self { writes };
        multi.iter().try_for_each(|write| write.check())?;
        Ok(multi)
    }

    /// The writes, in the order in which they are to be done.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RegionWrite> + use<'d> {
        self.writes.iter().map(|bytes| RegionWrite::read(bytes))
    }

    /// Appends the payload of these writes to `payload`.
    ///
    /// # Panics
    /// If there are more than [`MULTI_WRITES_MAX`], or one has more than 8 bytes.
    pub fn emit(writes: &[RegionWrite], payload: &mut Vec<u8>) {
        let count = writes.len() as u64;
        assert!(count <= MULTI_WRITES_MAX, "writes fit one message");
        payload.extend_from_slice(&count.to_le_bytes());
        for write in writes {
            assert!(
                write.count <= MULTI_WRITE_BYTES_MAX,
                "a write fits its field"
            );
            payload.extend_from_slice(&write.to_bytes());
        }
    }
}

layout! {
    /// The reply of REGION_WRITE_MULTI.
    RegionWritesDone[8] {
        /// Writes that were done.
        0 => wr_cnt: u64,
    }
}

/// Refuses bytes whose end has no 64-bit number.
fn ends(first: u64, count: u64, name: &'static str) -> Result<(), Malformed> {
    match first.checked_add(count) {
        Some(_) => Ok(()),
        None => Err(Malformed::Field { name }),
    }
}
