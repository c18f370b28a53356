//! DEVICE_GET_INFO and DEVICE_FEATURE: what the device is.

bit_fields! {
    /// Flags of DEVICE_GET_INFO.
    DeviceFlags(u32) {
        /// VFIO_DEVICE_FLAGS_RESET: the device takes DEVICE_RESET.
        reset, with_reset: bool = 0;
        /// VFIO_DEVICE_FLAGS_PCI: it is a PCI device.
        pci, with_pci: bool = 1;
    }
}

layout! {
    /// The request of DEVICE_GET_INFO, where all but `argsz` is 0, and its reply [vfio-user 0.2 "VFIO_USER_DEVICE_GET_INFO"].
    DeviceInfo[16] {
        /// Of the request: the most bytes that the reply's payload may have. Of the reply: the bytes that it needs.
        0 => argsz: u32,
        /// What the device can do.
        4 => flags: DeviceFlags,
        /// Regions, whether they are empty or not.
        8 => num_regions: u32,
        /// Kinds of interrupts, whether there are any or not.
        12 => num_irqs: u32,
    }
}

bit_fields! {
    /// Flags of DEVICE_FEATURE.
    DeviceFeatureFlags(u32) {
        /// The feature; see [`feature_index`].
        index, with_index: u16 = 15:0;
        /// VFIO_DEVICE_FEATURE_GET: the reply is to hold the feature's data.
        get, with_get: bool = 16;
        /// VFIO_DEVICE_FEATURE_SET: the request holds the feature's data.
        set, with_set: bool = 17;
        /// VFIO_DEVICE_FEATURE_PROBE: success says that the feature is there, and can do all that the other flags ask.
        probe, with_probe: bool = 18;
    }
}

layout! {
    /// The first bytes of the request and of the reply of DEVICE_FEATURE; the feature's data follow
    /// [vfio-user 0.2 "VFIO_USER_DEVICE_FEATURE"].
    DeviceFeature[8] {
        /// Of the request: the most bytes that the reply's payload may have. Of the reply: the bytes that it needs.
        0 => argsz: u32,
        /// The feature, and what is asked of it.
        4 => flags: DeviceFeatureFlags,
    }
}

/// Features of a device [vfio-user 0.2 "Device Features"].
pub mod feature_index {
    /// VFIO_DEVICE_FEATURE_MIGRATION.
    pub const MIGRATION: u16 = 1;
    /// VFIO_DEVICE_FEATURE_MIG_DEVICE_STATE.
    pub const MIG_DEVICE_STATE: u16 = 2;
    /// VFIO_DEVICE_FEATURE_DMA_LOGGING_START.
    pub const DMA_LOGGING_START: u16 = 6;
    /// VFIO_DEVICE_FEATURE_DMA_LOGGING_STOP.
    pub const DMA_LOGGING_STOP: u16 = 7;
    /// VFIO_DEVICE_FEATURE_DMA_LOGGING_REPORT.
    pub const DMA_LOGGING_REPORT: u16 = 8;
}
