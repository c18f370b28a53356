//! vfio-user 0.2: a device's regions, interrupts and DMA as messages on a Unix socket, in the words of VFIO.
//!
//! The side that uses the device is the host here; the specification calls it the client. The side that is the device is
//! the specification's server. Numbers are little-endian, structures have no padding but what is named reserved.
//!
//! Every `parse` takes a payload that is longer than its structure, since hosts send such, and refuses a shorter one. What
//! has no room for data of its own has `emit` into an array; what carries data appends itself to a vector.

pub mod access;
pub mod command;
pub mod device;
pub mod dma;
pub mod header;
pub mod irq;
pub mod limits;
pub mod region;
pub mod version;

pub use access::{
    DmaAccess, DmaData, DmaWritten, RegionAccess, RegionData, RegionWrite, RegionWriteMulti,
    RegionWritesDone,
};
pub use command::Command;
pub use device::{DeviceFeature, DeviceFeatureFlags, DeviceFlags, DeviceInfo, feature_index};
pub use dma::{DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags};
pub use header::{Header, HeaderError, MessageFlags, MessageKind};
pub use irq::{IrqAction, IrqData, IrqFlags, IrqInfo, IrqSetFlags, SetIrqs, irq_index};
pub use region::{
    CapabilityHeader, RegionFlags, RegionInfo, RegionIoFds, SparseArea, SparseMmap, region_index,
};
pub use version::Version;

use crate::layout::Malformed;

/// What is wrong with a payload. [`Malformed::Short`] counts from the start of the payload, and a count in the payload that
/// promises more bytes than are there is one; [`Malformed::Field`] names the field as the specification does.
pub type PayloadError = Malformed;

/// The first `N` bytes of a payload and what follows them.
fn split<const N: usize>(payload: &[u8]) -> Result<(&[u8; N], &[u8]), Malformed> {
    payload.split_first_chunk().ok_or(Malformed::Short {
        wanted: N,
        found: payload.len(),
    })
}

/// The `count` bytes of data that follow the first `head` bytes of a payload.
fn data_of(payload: &[u8], head: usize, count: usize) -> Result<&[u8], Malformed> {
    let rest = payload.get(head..).unwrap_or_default();
    rest.get(..count).ok_or(Malformed::Short {
        wanted: head.saturating_add(count),
        found: payload.len(),
    })
}
