//! DEVICE_GET_REGION_INFO and DEVICE_GET_REGION_IO_FDS: the device's regions and what of them can be mapped.

use crate::layout::{Field, Malformed};
use crate::vfio_user::limits::{REGION_CAPABILITIES_MAX, SPARSE_AREAS_MAX};

/// Regions of a PCI device [linux/vfio.h "VFIO_PCI_BAR0_REGION_INDEX"].
pub mod region_index {
    /// What base address register 0 names.
    pub const BAR0: u32 = 0;
    /// What base address register 1 names; empty where BAR0 has 64 bits.
    pub const BAR1: u32 = 1;
    /// What base address register 2 names.
    pub const BAR2: u32 = 2;
    /// What base address register 3 names.
    pub const BAR3: u32 = 3;
    /// What base address register 4 names.
    pub const BAR4: u32 = 4;
    /// What base address register 5 names.
    pub const BAR5: u32 = 5;
    /// The expansion ROM.
    pub const ROM: u32 = 6;
    /// Configuration space.
    pub const CONFIG: u32 = 7;
    /// The VGA ranges.
    pub const VGA: u32 = 8;
    /// How many there are.
    pub const COUNT: u32 = 9;
}

bit_fields! {
    /// Flags of DEVICE_GET_REGION_INFO.
    RegionFlags(u32) {
        /// VFIO_REGION_INFO_FLAG_READ: the host may read.
        read, with_read: bool = 0;
        /// VFIO_REGION_INFO_FLAG_WRITE: the host may write.
        write, with_write: bool = 1;
        /// VFIO_REGION_INFO_FLAG_MMAP: the host may map; the reply carries a file descriptor.
        mmap, with_mmap: bool = 2;
        /// VFIO_REGION_INFO_FLAG_CAPS: the region has capabilities.
        caps, with_caps: bool = 3;
    }
}

layout! {
    /// The request of DEVICE_GET_REGION_INFO, where all but `argsz` and `index` is 0, and the first bytes of its reply
    /// [vfio-user 0.2 "VFIO_USER_DEVICE_GET_REGION_INFO"].
    RegionInfo[32] {
        /// Of the request: the most bytes that the reply's payload may have. Of the reply: the bytes that it needs with
        /// every capability. A reply that may not have so many ends after this structure.
        0 => argsz: u32,
        /// What the host may do.
        4 => flags: RegionFlags,
        /// The region; see [`region_index`].
        8 => index: u32,
        /// Where the first capability is, in bytes from the start of this structure; 0 where the reply holds none.
        12 => cap_offset: u32,
        /// Bytes; 0 where the device has no such region.
        16 => size: u64,
        /// Where the region begins in the file that the reply carries, in bytes.
        24 => offset: u64,
    }
}

layout! {
    /// The first bytes of a capability [linux/vfio.h "struct vfio_info_cap_header"].
    CapabilityHeader[8] {
        /// What it is.
        0 => id: u16,
        /// Version of its layout.
        2 => version: u16,
        /// Where the next one is, in bytes from the start of [`RegionInfo`]; 0 behind the last.
        4 => next: u32,
    }
}

layout! {
    /// The first bytes of the capability that says which areas can be mapped; the areas follow
    /// [linux/vfio.h "struct vfio_region_info_cap_sparse_mmap"].
    SparseMmap[16] {
        /// Capability 1, version 1.
        0 => header: CapabilityHeader,
        /// Areas that follow.
        8 => nr_areas: u32,
    }
}

impl SparseMmap {
    /// VFIO_REGION_INFO_CAP_SPARSE_MMAP.
    pub const ID: u16 = 1;
    /// The version of this layout.
    pub const VERSION: u16 = 1;
}

layout! {
    /// A part of a region that can be mapped [linux/vfio.h "struct vfio_region_sparse_mmap_area"].
    SparseArea[16] {
        /// Where it begins in the region, in bytes; added to the region's place in the file.
        0 => offset: u64,
        /// Bytes.
        8 => size: u64,
    }
}

impl RegionInfo {
    /// Bytes of the reply's payload with the capability for so many areas.
    pub const fn bytes_with_areas(areas: u32) -> u32 {
        let head = (Self::BYTES + SparseMmap::BYTES) as u32;
        head.saturating_add(areas.saturating_mul(SparseArea::BYTES as u32))
    }

    /// Appends the payload of a reply whose region can be mapped in these areas and nowhere else. What `argsz`,
    /// `cap_offset` and the flag for capabilities hold here is not looked at: the reply has what belongs to it.
    ///
    /// # Panics
    /// If there are more than [`SPARSE_AREAS_MAX`] areas.
    pub fn emit_with_areas(&self, areas: &[SparseArea], payload: &mut Vec<u8>) {
        assert!(
            areas.len() <= SPARSE_AREAS_MAX as usize,
            "a region has few areas that can be mapped"
        );
        let count = areas.len() as u32;
        let info = Self {
            argsz: Self::bytes_with_areas(count),
            flags: self.flags.with_caps(true),
            cap_offset: Self::BYTES as u32,
            ..*self
        };
        let capability = SparseMmap {
            header: CapabilityHeader {
                id: SparseMmap::ID,
                version: SparseMmap::VERSION,
                next: 0,
            },
            nr_areas: count,
        };
        payload.extend_from_slice(&info.to_bytes());
        payload.extend_from_slice(&capability.to_bytes());
        for area in areas {
            payload.extend_from_slice(&area.to_bytes());
        }
    }

    /// The areas that can be mapped, from the payload of the reply that begins with this structure. `None` where the reply
    /// does not limit them; look at `argsz` to know whether it was cut off. Other capabilities are passed over.
    ///
    /// # Errors
    /// If a capability stands inside this structure or runs past the payload, if there are more than
    /// [`REGION_CAPABILITIES_MAX`] of them or more than [`SPARSE_AREAS_MAX`] areas, or the version is not 1.
    pub fn areas(&self, payload: &[u8]) -> Result<Option<Vec<SparseArea>>, Malformed> {
        if !self.flags.caps() {
            return Ok(None);
        }
        let (mut at, mut left) = (self.cap_offset, REGION_CAPABILITIES_MAX);
        while at != 0 {
            left = left
                .checked_sub(1)
                .ok_or(Malformed::Field { name: "next" })?;
            let header: CapabilityHeader = read_at(payload, at)?;
            if header.id == SparseMmap::ID {
                return sparse_areas(payload, at).map(Some);
            }
            at = header.next;
        }
        Ok(None)
    }
}

/// A structure at a place in the payload of a reply, behind its [`RegionInfo`].
fn read_at<T: Field>(payload: &[u8], at: u32) -> Result<T, Malformed> {
    if (at as usize) < RegionInfo::BYTES {
        return Err(Malformed::Field { name: "cap_offset" });
    }
    let end = (at as usize).saturating_add(T::BYTES);
    match payload.get(at as usize..end) {
        Some(bytes) => Ok(T::read(bytes)),
        None => Err(Malformed::Short {
            wanted: end,
            found: payload.len(),
        }),
    }
}

/// The areas of the capability at this place.
fn sparse_areas(payload: &[u8], at: u32) -> Result<Vec<SparseArea>, Malformed> {
    let capability: SparseMmap = read_at(payload, at)?;
    if capability.header.version != SparseMmap::VERSION {
        return Err(Malformed::Field { name: "version" });
    }
    if capability.nr_areas > SPARSE_AREAS_MAX {
        return Err(Malformed::Field { name: "nr_areas" });
    }
    let first = at.saturating_add(SparseMmap::BYTES as u32);
    (0..capability.nr_areas)
        .map(|index| {
            read_at(
                payload,
                first.saturating_add(index * SparseArea::BYTES as u32),
            )
        })
        .collect()
}

layout! {
    /// The request of DEVICE_GET_REGION_IO_FDS, where all but `argsz` and `index` is 0, and the first bytes of its reply;
    /// sub-regions would follow [vfio-user 0.2 "VFIO_USER_DEVICE_GET_REGION_IO_FDS"].
    RegionIoFds[16] {
        /// Of the request: the most bytes that the reply's payload may have. Of the reply: the bytes that it needs.
        0 => argsz: u32,
        /// Zero.
        4 => flags: u32,
        /// The region; see [`region_index`].
        8 => index: u32,
        /// Sub-regions; 0 where the region has no such file descriptors.
        12 => count: u32,
    }
}
