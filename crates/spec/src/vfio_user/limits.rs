//! Maxima of what is read from the other side.

/// Data that one message may move, in bytes: 1 MiB. It is what the specification assumes of a side that does not say
/// `max_data_xfer_size`, so no host needs to be told.
pub const DATA_BYTES_MAX: u32 = 1 << 20;

/// A whole message with its header, in bytes: the data, and one page for the header, the fields before the data, and what
/// hosts send beyond them.
pub const MESSAGE_BYTES_MAX: u32 = DATA_BYTES_MAX + 4096;

/// File descriptors of one message. QEMU refuses a device that says more than 16, and cloud-hypervisor sends up to 16
/// whatever the device said.
pub const FDS_MAX: usize = 16;

/// The text in a VERSION message without its NULs, in bytes. The capabilities that have names fill a tenth of it.
pub const VERSION_DATA_BYTES_MAX: usize = 4096;

/// Areas of a region that can be mapped. A region around an MSI-X table needs two, and a BAR has few more holes.
pub const SPARSE_AREAS_MAX: u32 = 64;

/// Capabilities of a region that are looked at. VFIO has defined five; a chain that is longer goes round in circles.
pub const REGION_CAPABILITIES_MAX: usize = 16;

/// Writes in one REGION_WRITE_MULTI message. QEMU, the one host that sends it, packs 200.
pub const MULTI_WRITES_MAX: u64 = 200;

/// Bytes of one write in a REGION_WRITE_MULTI message: its field has no room for more.
pub const MULTI_WRITE_BYTES_MAX: u32 = 8;
