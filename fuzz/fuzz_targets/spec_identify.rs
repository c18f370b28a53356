//! Identify: its data structures, its lists and the words in them.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::round_trip::GUARD;
use fuzz::{fields, structures};
use libfuzzer_sys::fuzz_target;
use spec::nvme::identify::{
    AnaCapabilities, AsyncEventsSupported, CommandSetVector, ControllerAttributes, ControllerType,
    DeallocateFeatures, EntrySizes, ExtendedLbaFormat, FirmwareUpdates, FormatAttributes,
    FormatIndex, FormatProgress, FusedOperations, IdentifyController, IdentifyNamespace,
    IndependentNamespace, IoCommandSets, LbaFormat, LogPageAttributes, MetadataCapabilities,
    MultiPath, NamespaceAttributes, NamespaceDescriptors, NamespaceFeatures, NamespaceIdList,
    NamespaceSharing, NamespaceStatus, NvmIdentifyController, NvmIdentifyNamespace,
    OptionalAdminCommands, OptionalNvmCommands, PowerScale, PowerState, PowerStateFlags,
    ProtectionCapabilities, ProtectionSettings, RelativePerformance, ReplayProtectedMemory,
    ReservationCapabilities, SanitizeCapabilities, SglSupport, SubsystemReport, Supported,
    ThermalManagementSupport, VolatileWriteCache, WriteProtection, cns,
};
use spec::{NamespaceId, ZeroBased};

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let kind = from.u8();
    let bytes = from.rest();
    match kind % 4 {
        0 => structures(bytes),
        1 => words(bytes),
        2 => descriptors(bytes),
        _ => lists(bytes),
    }
});

/// The structures, filled up with zeros so that short inputs reach the long ones.
fn structures(bytes: &[u8]) {
    structures!(bytes; IdentifyController IdentifyNamespace IndependentNamespace IoCommandSets NamespaceIdList
        NvmIdentifyController NvmIdentifyNamespace PowerState);
    let mut page = bytes.to_vec();
    page.resize(4096, 0);
    structures!(&page; IdentifyController IdentifyNamespace IndependentNamespace IoCommandSets NamespaceIdList
        NvmIdentifyController NvmIdentifyNamespace PowerState);
    if let Ok(controller) = IdentifyController::parse(&page) {
        let bytes = controller.transfer_bytes_max(4096);
        assert!(bytes.is_none_or(u64::is_power_of_two));
        let _ = format!("{controller:?}");
    }
    if let Ok(namespace) = IdentifyNamespace::parse(&page) {
        assert!(namespace.format_index() < 64);
        let bytes = namespace.format().block_bytes();
        assert!(bytes.is_none_or(|bytes| bytes >= 512 && bytes.is_power_of_two()));
        let _ = matches!(
            namespace.format().relative_performance(),
            RelativePerformance::Best
        );
        let _ = format!("{namespace:?}");
    }
}

/// The words in them.
#[expect(clippy::too_many_lines, reason = "a list of fields")]
fn words(bytes: &[u8]) {
    let mut from = Decoder::new(bytes);
    let bits_u16 = from.u16();
    let bits_u32 = from.u32();
    let bits_u64 = from.u64();
    let bits_u8 = from.u8();
    fields! { bits_u16;
        OptionalAdminCommands: security with_security format_nvm with_format_nvm firmware with_firmware
            namespace_management with_namespace_management self_test with_self_test directives with_directives
            nvme_mi with_nvme_mi virtualization with_virtualization doorbell_buffer with_doorbell_buffer
            get_lba_status with_get_lba_status lockdown with_lockdown;
        OptionalNvmCommands: compare with_compare write_uncorrectable with_write_uncorrectable
            dataset_management with_dataset_management write_zeroes with_write_zeroes save_and_select
            with_save_and_select reservations with_reservations timestamp with_timestamp verify with_verify
            copy with_copy;
        FusedOperations: compare_and_write with_compare_and_write;
        ThermalManagementSupport: supported with_supported;
    }
    fields! { bits_u32;
        AsyncEventsSupported: namespace_attribute with_namespace_attribute firmware_activation
            with_firmware_activation asymmetric_access with_asymmetric_access predictable_latency
            with_predictable_latency lba_status with_lba_status endurance_group with_endurance_group
            subsystem_shutdown with_subsystem_shutdown zone_descriptor with_zone_descriptor discovery_log
            with_discovery_log;
        ControllerAttributes: host_id_128 with_host_id_128 permissive_power with_permissive_power nvm_sets
            with_nvm_sets read_recovery_levels with_read_recovery_levels endurance_groups
            with_endurance_groups predictable_latency with_predictable_latency traffic_keep_alive
            with_traffic_keep_alive namespace_granularity with_namespace_granularity sq_associations
            with_sq_associations uuid_list with_uuid_list multi_domain with_multi_domain fixed_capacity
            with_fixed_capacity variable_capacity with_variable_capacity delete_endurance_group
            with_delete_endurance_group delete_nvm_set with_delete_nvm_set extended_lba_formats
            with_extended_lba_formats;
        SglSupport: support with_support keyed with_keyed descriptor_threshold with_descriptor_threshold
            bit_bucket with_bit_bucket metadata_buffer with_metadata_buffer longer_than_data
            with_longer_than_data metadata_sgl with_metadata_sgl offset_address with_offset_address
            transport_data_block with_transport_data_block;
        SanitizeCapabilities: crypto_erase with_crypto_erase block_erase with_block_erase overwrite
            with_overwrite no_deallocate_inhibited with_no_deallocate_inhibited modifies_media
            with_modifies_media;
        ReplayProtectedMemory: units with_units authentication with_authentication total_size with_total_size
            access_size with_access_size;
        ExtendedLbaFormat: storage_tag_bits with_storage_tag_bits protection_format with_protection_format;
        LbaFormat: ms with_ms lbads with_lbads rp with_rp;
    }
    fields! { bits_u64;
        CommandSetVector: nvm with_nvm key_value with_key_value zoned with_zoned;
    }
    fields! { bits_u8;
        MultiPath: ports with_ports controllers with_controllers virtual_function with_virtual_function
            asymmetric_access with_asymmetric_access;
        ControllerType: code with_code;
        FirmwareUpdates: first_slot_read_only with_first_slot_read_only slots with_slots without_reset
            with_without_reset overlap_detected with_overlap_detected;
        LogPageAttributes: smart_per_namespace with_smart_per_namespace command_effects with_command_effects
            extended_data with_extended_data telemetry with_telemetry persistent_event with_persistent_event
            supported_pages with_supported_pages telemetry_area_4 with_telemetry_area_4;
        EntrySizes: required with_required maximum with_maximum;
        FormatAttributes: format_all with_format_all erase_all with_erase_all cryptographic_erase
            with_cryptographic_erase no_broadcast with_no_broadcast;
        VolatileWriteCache: present with_present flush_broadcast with_flush_broadcast;
        AnaCapabilities: optimized with_optimized non_optimized with_non_optimized inaccessible
            with_inaccessible persistent_loss with_persistent_loss change with_change fixed_group
            with_fixed_group group_selectable with_group_selectable;
        SubsystemReport: storage_device with_storage_device enclosure with_enclosure;
        WriteProtection: write_protect with_write_protect until_power_cycle with_until_power_cycle permanent
            with_permanent;
        Supported: yes with_yes;
        PowerStateFlags: fine_scale with_fine_scale non_operational with_non_operational;
        PowerScale: workload with_workload scale with_scale;
        NamespaceFeatures: thin with_thin own_atomics with_own_atomics deallocated_error
            with_deallocated_error identifiers_not_reused with_identifiers_not_reused preferred_sizes
            with_preferred_sizes;
        FormatIndex: low with_low extended with_extended high with_high;
        DeallocateFeatures: read_as with_read_as write_zeroes_deallocate with_write_zeroes_deallocate
            guard_is_crc with_guard_is_crc;
        NamespaceSharing: shared with_shared;
        FormatProgress: remaining with_remaining supported with_supported;
        NamespaceAttributes: write_protected with_write_protected;
        NamespaceStatus: ready with_ready;
        MetadataCapabilities: extended with_extended separate with_separate;
        ProtectionCapabilities: type_1 with_type_1 type_2 with_type_2 type_3 with_type_3 first_bytes
            with_first_bytes last_bytes with_last_bytes;
        ProtectionSettings: protection_type with_protection_type first_bytes with_first_bytes;
        ReservationCapabilities: persist with_persist types with_types ignore_existing_key
            with_ignore_existing_key;
    }
    let shift = from.u8();
    assert_eq!(
        (
            EntrySizes::only(shift & 15).required(),
            EntrySizes::only(shift & 15).maximum()
        ),
        (shift & 15, shift & 15)
    );
    assert_eq!(LbaFormat::plain(shift).lbads(), shift);
    assert_eq!(ZeroBased::<u8>::new(shift).count(), u32::from(shift) + 1);
    assert_eq!(
        cns::ALL.contains(&shift),
        cns::name(shift) != "Unknown structure"
    );
}

/// The Namespace Identification Descriptor list, whose entries have lengths of their own.
fn descriptors(bytes: &[u8]) {
    let mut page = bytes.to_vec();
    page.resize(NamespaceDescriptors::BYTES, 0);
    let found = match NamespaceDescriptors::parse(&page) {
        Ok(found) => found,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut emitted = [GUARD; NamespaceDescriptors::BYTES];
    found.emit(&mut emitted);
    assert_eq!(NamespaceDescriptors::parse(&emitted), Ok(found));
}

/// Namespace lists: the identifiers before the first zero.
fn lists(bytes: &[u8]) {
    if let Err(short) = NamespaceIdList::parse(bytes) {
        assert!(bytes.len() < 4096 && short.to_string().contains("4096"));
    }
    let mut page = bytes.to_vec();
    page.resize(4096, 0);
    let Ok(list) = NamespaceIdList::parse(&page) else {
        unreachable!("a page is long enough");
    };
    let ids: Vec<NamespaceId> = list.iter().collect();
    assert!(ids.len() <= NamespaceIdList::CAPACITY && !ids.contains(&NamespaceId::NONE));
    let again: NamespaceIdList = ids.iter().copied().collect();
    assert!(again.iter().eq(ids));
    assert!(NamespaceIdList::overflow().is_overflow());
    let _ = list.is_overflow();
    assert!(IoCommandSets::nvm_only().vectors.0[0].nvm());
}
