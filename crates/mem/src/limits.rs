//! The maxima of this crate, each with its reason.

/// Bytes in one region at most: 64 TiB, half of the 47-bit user address space of x86-64 and the
/// most that leaves room for anything else in the process.
pub const REGION_BYTES_MAX: usize = 1 << 46;

/// Unused bytes kept behind every region, so that two regions never touch in host memory and an
/// overrun meets a page that cannot be read or written. Widened to whole pages.
pub const GUARD_BYTES: usize = 4096;

/// Bits of an I/O virtual address: 47 for a client that uses its own virtual addresses, 48 with the
/// largest guest physical addresses in practical use.
pub const IOVA_BITS: u32 = 48;

/// Bits of an address inside one page of the IOVA table: 2 MiB, the huge page that guests and
/// user-space drivers map.
pub const TABLE_PAGE_BITS: u32 = 21;

/// Bits of the page number resolved by one leaf of the IOVA table: 2048 entries, that is 4 GiB of
/// addresses in 32 KiB.
pub const TABLE_LEAF_BITS: u32 = 11;

/// Leaves in one IOVA table at most: 128 MiB of entries, which covers 16 TiB of densely mapped
/// memory. A client that scatters tiny mappings is refused here before it can exhaust the host.
pub const TABLE_LEAVES_MAX: usize = 4096;

/// Pages of 2 MiB that the IOVA table holds in one piece at most: 64 GiB of addresses in 512 KiB, more than most guests
/// have. Addresses beyond take the way through the directory.
pub const TABLE_LOW_PAGES_MAX: usize = 32_768;

/// Mappings in one IOVA map at most: vfio-user's customary bound of DMA regions, 65,536.
pub const MAPPINGS_MAX: usize = 65_536;

/// Spans in one list at most: a transfer of 2 MiB in pages of 4 KiB, and one more because the first
/// page may begin in its middle.
pub const SPANS_MAX: usize = 513;

/// Buffers in one pool at most: sixteen queue pairs of the deepest kind, 65,536 entries each.
pub const POOL_BUFFERS_MAX: usize = 1 << 20;

/// Discards shorter than this are done by writing zeros. Giving back a part of a transparent huge
/// page breaks it up: on the machine of the first measurement, writing zeros over 64 KiB took 4 us,
/// giving them back and touching them again 65 us; over 2 MiB 0.2 ms and 0.35 ms.
pub const DISCARD_BYTES_MIN: usize = 2 << 20;

/// Bytes compared at a time on the stack: long enough for wide loads, short enough for the L1 cache.
pub(crate) const CHUNK_BYTES: usize = 512;
