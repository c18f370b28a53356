//! DMA_MAP and DMA_UNMAP: which of the host's memory the device may reach.

use core::ops::Range;

bit_fields! {
    /// Flags of DMA_MAP. QEMU and libvfio-user pick how to reach the memory by the last two; without either, a file
    /// descriptor in the message says that it can be mapped.
    DmaMapFlags(u32) {
        /// The device may read.
        readable, with_readable: bool = 0;
        /// The device may write.
        writeable, with_writeable: bool = 1;
        /// The file can be mapped.
        mmap, with_mmap: bool = 2;
        /// The file can be read and written.
        file_io, with_file_io: bool = 3;
    }
}

layout! {
    /// The request of DMA_MAP; its reply has no payload [vfio-user 0.2 "VFIO_USER_DMA_MAP"].
    DmaMap[32] {
        /// Bytes of this structure.
        0 => argsz: u32,
        /// What the device may do, and how.
        4 => flags: DmaMapFlags,
        /// Where the memory begins in the file that the message carries, in bytes; 0 without a file.
        8 => offset: u64,
        /// The DMA address of the first byte.
        16 => address: u64,
        /// Bytes.
        24 => size: u64,
    }
}

impl DmaMap {
    /// The DMA addresses, or `None` where there are none or they pass 64 bits.
    pub fn range(&self) -> Option<Range<u64>> {
        addresses(self.address, self.size)
    }
}

bit_fields! {
    /// Flags of DMA_UNMAP [linux/vfio.h "struct vfio_iommu_type1_dma_unmap"].
    DmaUnmapFlags(u32) {
        /// VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP: the reply is to say which pages were written.
        get_dirty_bitmap, with_get_dirty_bitmap: bool = 0;
        /// VFIO_DMA_UNMAP_FLAG_ALL: everything is to be unmapped; address and size are 0.
        all, with_all: bool = 1;
    }
}

layout! {
    /// The request of DMA_UNMAP, and its reply, which repeats it [vfio-user 0.2 "VFIO_USER_DMA_UNMAP"].
    DmaUnmap[24] {
        /// The most bytes that the reply's payload may have.
        0 => argsz: u32,
        /// What is to be unmapped.
        4 => flags: DmaUnmapFlags,
        /// The DMA address of the first byte.
        8 => address: u64,
        /// Bytes.
        16 => size: u64,
    }
}

impl DmaUnmap {
    /// The DMA addresses, or `None` where there are none or they pass 64 bits.
    pub fn range(&self) -> Option<Range<u64>> {
        addresses(self.address, self.size)
    }
}

fn addresses(address: u64, size: u64) -> Option<Range<u64>> {
    let end = address.checked_add(size)?;
    (size != 0).then_some(address..end)
}
