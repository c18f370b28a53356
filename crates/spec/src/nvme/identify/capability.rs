//! The bit fields of the Identify Controller data structure [NVMe Base 2.0 §5.17.2.1, figure "Identify - Identify
//! Controller Data Structure"].

bit_fields! {
    /// Controller Multi-Path I/O and Namespace Sharing Capabilities (CMIC).
    MultiPath(u8) {
        /// The subsystem may have several ports.
        ports, with_ports: bool = 0;
        /// The subsystem may have several controllers.
        controllers, with_controllers: bool = 1;
        /// This controller belongs to an SR-IOV virtual function.
        virtual_function, with_virtual_function: bool = 2;
        /// Asymmetric namespace access is reported.
        asymmetric_access, with_asymmetric_access: bool = 3;
    }
}

bit_fields! {
    /// Optional Asynchronous Events Supported (OAES).
    AsyncEventsSupported(u32) {
        /// Namespace Attribute Notices.
        namespace_attribute, with_namespace_attribute: bool = 8;
        /// Firmware Activation Notices.
        firmware_activation, with_firmware_activation: bool = 9;
        /// Asymmetric Namespace Access Change Notices.
        asymmetric_access, with_asymmetric_access: bool = 11;
        /// Predictable Latency Event Aggregate Log Change Notices.
        predictable_latency, with_predictable_latency: bool = 12;
        /// LBA Status Information Notices.
        lba_status, with_lba_status: bool = 13;
        /// Endurance Group Event Aggregate Log Change Notices.
        endurance_group, with_endurance_group: bool = 14;
        /// Normal NVM Subsystem Shutdown event.
        subsystem_shutdown, with_subsystem_shutdown: bool = 15;
        /// Zone Descriptor Changed Notices.
        zone_descriptor, with_zone_descriptor: bool = 27;
        /// Discovery Log Page Change Notices.
        discovery_log, with_discovery_log: bool = 31;
    }
}

bit_fields! {
    /// Controller Attributes (CTRATT).
    ControllerAttributes(u32) {
        /// 128-bit Host Identifier.
        host_id_128, with_host_id_128: bool = 0;
        /// Non-Operational Power State Permissive Mode.
        permissive_power, with_permissive_power: bool = 1;
        /// NVM Sets.
        nvm_sets, with_nvm_sets: bool = 2;
        /// Read Recovery Levels.
        read_recovery_levels, with_read_recovery_levels: bool = 3;
        /// Endurance Groups.
        endurance_groups, with_endurance_groups: bool = 4;
        /// Predictable Latency Mode.
        predictable_latency, with_predictable_latency: bool = 5;
        /// Traffic Based Keep Alive Support (TBKAS): any command restarts the Keep Alive Timer.
        traffic_keep_alive, with_traffic_keep_alive: bool = 6;
        /// Namespace Granularity.
        namespace_granularity, with_namespace_granularity: bool = 7;
        /// SQ Associations.
        sq_associations, with_sq_associations: bool = 8;
        /// UUID List.
        uuid_list, with_uuid_list: bool = 9;
        /// Multi-Domain Subsystem.
        multi_domain, with_multi_domain: bool = 10;
        /// Fixed Capacity Management.
        fixed_capacity, with_fixed_capacity: bool = 11;
        /// Variable Capacity Management.
        variable_capacity, with_variable_capacity: bool = 12;
        /// Delete Endurance Group.
        delete_endurance_group, with_delete_endurance_group: bool = 13;
        /// Delete NVM Set.
        delete_nvm_set, with_delete_nvm_set: bool = 14;
        /// Extended LBA Formats Supported (ELBAS).
        extended_lba_formats, with_extended_lba_formats: bool = 15;
    }
}

bit_fields! {
    /// Controller Type (CNTRLTYPE).
    ControllerType(u8) {
        /// The type as a number.
        code, with_code: u8 = 7:0;
    }
}

impl ControllerType {
    /// The type is not reported.
    pub const NOT_REPORTED: Self = Self::from_bits(0);
    /// An I/O controller.
    pub const IO: Self = Self::from_bits(1);
    /// A discovery controller.
    pub const DISCOVERY: Self = Self::from_bits(2);
    /// An administrative controller.
    pub const ADMINISTRATIVE: Self = Self::from_bits(3);
}

bit_fields! {
    /// Optional Admin Command Support (OACS).
    OptionalAdminCommands(u16) {
        /// Security Send and Security Receive.
        security, with_security: bool = 0;
        /// Format NVM.
        format_nvm, with_format_nvm: bool = 1;
        /// Firmware Commit and Firmware Image Download.
        firmware, with_firmware: bool = 2;
        /// Namespace Management and Namespace Attachment.
        namespace_management, with_namespace_management: bool = 3;
        /// Device Self-test.
        self_test, with_self_test: bool = 4;
        /// Directives.
        directives, with_directives: bool = 5;
        /// NVMe-MI Send and NVMe-MI Receive.
        nvme_mi, with_nvme_mi: bool = 6;
        /// Virtualization Management.
        virtualization, with_virtualization: bool = 7;
        /// Doorbell Buffer Config.
        doorbell_buffer, with_doorbell_buffer: bool = 8;
        /// Get LBA Status.
        get_lba_status, with_get_lba_status: bool = 9;
        /// Lockdown.
        lockdown, with_lockdown: bool = 10;
    }
}

bit_fields! {
    /// Firmware Updates (FRMW).
    FirmwareUpdates(u8) {
        /// Slot 1 is read-only.
        first_slot_read_only, with_first_slot_read_only: bool = 0;
        /// Number of firmware slots, 1 to 7.
        slots, with_slots: u8 = 3:1;
        /// Firmware can be activated without a reset.
        without_reset, with_without_reset: bool = 4;
        /// Overlapping firmware updates by several hosts are detected (SMUD).
        overlap_detected, with_overlap_detected: bool = 5;
    }
}

bit_fields! {
    /// Log Page Attributes (LPA).
    LogPageAttributes(u8) {
        /// SMART / Health Information per namespace.
        smart_per_namespace, with_smart_per_namespace: bool = 0;
        /// Commands Supported and Effects log page.
        command_effects, with_command_effects: bool = 1;
        /// Extended data for Get Log Page: 32-bit dword counts and offsets.
        extended_data, with_extended_data: bool = 2;
        /// Telemetry log pages and notices.
        telemetry, with_telemetry: bool = 3;
        /// Persistent Event log page.
        persistent_event, with_persistent_event: bool = 4;
        /// Supported Log Pages, Feature Identifiers and NVMe-MI Commands Supported and Effects log pages, and the scope of
        /// each command in the Commands Supported and Effects log page.
        supported_pages, with_supported_pages: bool = 5;
        /// Data area 4 of the telemetry log pages.
        telemetry_area_4, with_telemetry_area_4: bool = 6;
    }
}

bit_fields! {
    /// Submission or Completion Queue Entry Size (SQES, CQES), as powers of two.
    EntrySizes(u8) {
        /// The size that is required and the least one.
        required, with_required: u8 = 3:0;
        /// The largest size.
        maximum, with_maximum: u8 = 7:4;
    }
}

impl EntrySizes {
    /// One size only, `1 << shift` bytes.
    pub const fn only(shift: u8) -> Self {
        Self::from_bits(0).with_required(shift).with_maximum(shift)
    }
}

bit_fields! {
    /// Optional NVM Command Support (ONCS).
    OptionalNvmCommands(u16) {
        /// Compare.
        compare, with_compare: bool = 0;
        /// Write Uncorrectable.
        write_uncorrectable, with_write_uncorrectable: bool = 1;
        /// Dataset Management.
        dataset_management, with_dataset_management: bool = 2;
        /// Write Zeroes.
        write_zeroes, with_write_zeroes: bool = 3;
        /// The Save field of Set Features and the Select field of Get Features.
        save_and_select, with_save_and_select: bool = 4;
        /// Reservations.
        reservations, with_reservations: bool = 5;
        /// The Timestamp feature.
        timestamp, with_timestamp: bool = 6;
        /// Verify.
        verify, with_verify: bool = 7;
        /// Copy.
        copy, with_copy: bool = 8;
    }
}

bit_fields! {
    /// Fused Operation Support (FUSES).
    FusedOperations(u16) {
        /// Compare and Write.
        compare_and_write, with_compare_and_write: bool = 0;
    }
}

bit_fields! {
    /// Format NVM Attributes (FNA).
    FormatAttributes(u8) {
        /// A format applies to all namespaces.
        format_all, with_format_all: bool = 0;
        /// A secure erase applies to all namespaces.
        erase_all, with_erase_all: bool = 1;
        /// Cryptographic erase.
        cryptographic_erase, with_cryptographic_erase: bool = 2;
        /// Format NVM does not take the broadcast namespace identifier.
        no_broadcast, with_no_broadcast: bool = 3;
    }
}

bit_fields! {
    /// Volatile Write Cache (VWC).
    VolatileWriteCache(u8) {
        /// There is a volatile write cache.
        present, with_present: bool = 0;
        /// Flush with the broadcast namespace identifier: 0 not said, 2 refused, 3 flushes all namespaces.
        flush_broadcast, with_flush_broadcast: u8 = 2:1;
    }
}

impl VolatileWriteCache {
    /// `flush_broadcast`: Flush fails for the broadcast namespace identifier.
    pub const BROADCAST_REFUSED: u8 = 0b10;
    /// `flush_broadcast`: Flush takes the broadcast namespace identifier.
    pub const BROADCAST_FLUSHES_ALL: u8 = 0b11;
}

bit_fields! {
    /// SGL Support (SGLS).
    SglSupport(u32) {
        /// 0 none, 1 without alignment, 2 dword-aligned.
        support, with_support: u8 = 1:0;
        /// Keyed SGL Data Block descriptor.
        keyed, with_keyed: bool = 2;
        /// SGL Descriptor Threshold: how many descriptors are recommended at most.
        descriptor_threshold, with_descriptor_threshold: u8 = 15:8;
        /// Bit Bucket descriptor.
        bit_bucket, with_bit_bucket: bool = 16;
        /// A byte-aligned contiguous metadata buffer.
        metadata_buffer, with_metadata_buffer: bool = 17;
        /// SGLs may be longer than the data.
        longer_than_data, with_longer_than_data: bool = 18;
        /// MPTR may point to an SGL descriptor.
        metadata_sgl, with_metadata_sgl: bool = 19;
        /// The address of a descriptor may be an offset.
        offset_address, with_offset_address: bool = 20;
        /// Transport SGL Data Block descriptor.
        transport_data_block, with_transport_data_block: bool = 21;
    }
}

bit_fields! {
    /// Sanitize Capabilities (SANICAP).
    SanitizeCapabilities(u32) {
        /// Crypto Erase Support.
        crypto_erase, with_crypto_erase: bool = 0;
        /// Block Erase Support.
        block_erase, with_block_erase: bool = 1;
        /// Overwrite Support.
        overwrite, with_overwrite: bool = 2;
        /// No-Deallocate Inhibited.
        no_deallocate_inhibited, with_no_deallocate_inhibited: bool = 29;
        /// No-Deallocate Modifies Media After Sanitize.
        modifies_media, with_modifies_media: u8 = 31:30;
    }
}

bit_fields! {
    /// Asymmetric Namespace Access Capabilities (ANACAP).
    AnaCapabilities(u8) {
        /// Reports ANA Optimized state.
        optimized, with_optimized: bool = 0;
        /// Reports ANA Non-Optimized state.
        non_optimized, with_non_optimized: bool = 1;
        /// Reports ANA Inaccessible state.
        inaccessible, with_inaccessible: bool = 2;
        /// Reports ANA Persistent Loss state.
        persistent_loss, with_persistent_loss: bool = 3;
        /// Reports ANA Change state.
        change, with_change: bool = 4;
        /// The group of a namespace does not change while it is attached.
        fixed_group, with_fixed_group: bool = 6;
        /// ANAGRPID of Namespace Management may be non-zero.
        group_selectable, with_group_selectable: bool = 7;
    }
}

bit_fields! {
    /// NVM Subsystem Report (NVMSR).
    SubsystemReport(u8) {
        /// Part of an NVMe storage device (NVMESD).
        storage_device, with_storage_device: bool = 0;
        /// Part of an NVMe enclosure (NVMEE).
        enclosure, with_enclosure: bool = 1;
    }
}

bit_fields! {
    /// Replay Protected Memory Block Support (RPMBS).
    ReplayProtectedMemory(u32) {
        /// Number of RPMB units, 0 for none.
        units, with_units: u8 = 2:0;
        /// Authentication Method: 0 HMAC SHA-256.
        authentication, with_authentication: u8 = 5:3;
        /// Total Size in units of 128 KiB, 0's based.
        total_size, with_total_size: u8 = 23:16;
        /// Access Size in units of 512 bytes, 0's based.
        access_size, with_access_size: u8 = 31:24;
    }
}

bit_fields! {
    /// Host Controlled Thermal Management Attributes (HCTMA).
    ThermalManagementSupport(u16) {
        /// Host controlled thermal management is supported.
        supported, with_supported: bool = 0;
    }
}

bit_fields! {
    /// Namespace Write Protection Capabilities (NWPC).
    WriteProtection(u8) {
        /// No Write Protect and Write Protect.
        write_protect, with_write_protect: bool = 0;
        /// Write Protect Until Power Cycle.
        until_power_cycle, with_until_power_cycle: bool = 1;
        /// Permanent Write Protect.
        permanent, with_permanent: bool = 2;
    }
}

bit_fields! {
    /// A byte that says yes or no in its lowest bit: AVSCC, APSTA, DSTO, ICSVSCC.
    Supported(u8) {
        /// Yes.
        yes, with_yes: bool = 0;
    }
}
