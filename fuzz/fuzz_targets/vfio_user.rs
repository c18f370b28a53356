//! vfio-user messages, and the configuration space that they read and write: a header, then the same payload for every parser.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::{fields, structures};
use libfuzzer_sys::fuzz_target;
use spec::pci::{
    Bar, ClassCode, CommandRegister, ConfigHeader, DeviceCapabilities, DeviceCapabilities2,
    DeviceControl, DeviceControl2, DeviceStatus, ExpressCapabilities, ExtendedCapability,
    HeaderType, LinkCapabilities, LinkCapabilities2, LinkControl, LinkControl2, LinkStatus,
    MaskableMsiCapability, MsiCapability, MsiControl, MsixCapability, MsixControl, MsixEntry,
    PciExpress, PowerCapabilities, PowerControl, PowerManagement, StatusRegister, TableLocation,
    VectorControl, pending_bytes,
};
use spec::vfio_user::limits::{DATA_BYTES_MAX, MESSAGE_BYTES_MAX, SPARSE_AREAS_MAX};
use spec::vfio_user::{
    CapabilityHeader, Command, DeviceFeature, DeviceFeatureFlags, DeviceFlags, DeviceInfo,
    DmaAccess, DmaData, DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags, DmaWritten, Header, IrqData,
    IrqFlags, IrqInfo, IrqSetFlags, MessageFlags, RegionAccess, RegionData, RegionFlags,
    RegionInfo, RegionIoFds, RegionWrite, RegionWriteMulti, RegionWritesDone, SetIrqs, SparseArea,
    SparseMmap, Version,
};

fuzz_target!(|bytes: &[u8]| {
    header(bytes);
    let payload = bytes.get(Header::BYTES..).unwrap_or_default();
    structures!(payload; CapabilityHeader DeviceFeature DeviceInfo DmaMap DmaUnmap DmaWritten IrqInfo RegionInfo
        RegionIoFds RegionWrite RegionWritesDone SparseArea SparseMmap);
    structures!(payload; ClassCode ConfigHeader MaskableMsiCapability MsiCapability MsixCapability MsixEntry PciExpress
        PowerManagement);
    version(payload);
    ranges(payload);
    irqs(payload);
    areas(payload);
    data(payload);
    writes(payload);
    flags(&mut Decoder::new(payload));
    configuration(&mut Decoder::new(payload));
    express(&mut Decoder::new(payload));
});

fn header(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk() else {
        return;
    };
    match Header::parse(bytes) {
        Err(error) => assert!(error.to_string().contains("wanted")),
        Ok(header) => {
            assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
            assert_eq!(
                header.payload_bytes() + 16,
                header.size,
                "a header counts itself"
            );
            assert!(header.size <= MESSAGE_BYTES_MAX);
            let asked = Header::command(header.id, header.command, header.payload_bytes());
            for answer in [asked.reply(8), asked.refusal(22)] {
                assert_eq!(Header::parse(&answer.to_bytes()), Ok(answer));
                assert_eq!((answer.id, answer.command), (header.id, header.command));
            }
            let named = Command::NAMED.contains(&header.command);
            assert_eq!(named, header.command.name() != "Unknown command");
            assert!(
                header
                    .command
                    .to_string()
                    .starts_with(header.command.name())
            );
        }
    }
}

fn version(payload: &[u8]) {
    if let Ok(version) = Version::parse(payload) {
        let mut again = Vec::new();
        version.emit(&mut again);
        assert_eq!(Version::parse(&again), Ok(version));
    }
}

fn ranges(payload: &[u8]) {
    if let Ok(map) = DmaMap::parse(payload) {
        let end = map.range().map(|range| range.end - range.start);
        assert!(end.is_none_or(|bytes| bytes == map.size && bytes > 0));
    }
    if let Ok(unmap) = DmaUnmap::parse(payload) {
        assert_eq!(
            unmap.range().is_none(),
            unmap.size == 0 || unmap.address > u64::MAX - unmap.size
        );
    }
}

fn irqs(payload: &[u8]) {
    if let Ok(set) = SetIrqs::parse(payload) {
        let mut again = Vec::new();
        set.emit(&mut again);
        assert_eq!(SetIrqs::parse(&again), Ok(set));
        assert!(set.start.checked_add(set.count).is_some());
        assert!(!set.disables_all() || set.data == IrqData::None);
    }
}

fn areas(payload: &[u8]) {
    let Ok(info) = RegionInfo::parse(payload) else {
        return;
    };
    if let Ok(Some(areas)) = info.areas(payload) {
        assert!(areas.len() <= SPARSE_AREAS_MAX as usize);
        let mut again = Vec::new();
        info.emit_with_areas(&areas, &mut again);
        let read = RegionInfo::parse(&again).expect("it is whole");
        assert_eq!(read.argsz as usize, again.len());
        assert_eq!(read.areas(&again), Ok(Some(areas)));
    }
}

fn data(payload: &[u8]) {
    if let Ok(access) = RegionAccess::parse(payload) {
        assert_eq!(RegionAccess::parse(&access.to_bytes()), Ok(access));
        assert!(access.count <= DATA_BYTES_MAX);
    }
    if let Ok(access) = DmaAccess::parse(payload) {
        assert_eq!(DmaAccess::parse(&access.to_bytes()), Ok(access));
        assert!(access.count <= DATA_BYTES_MAX.into());
    }
    if let Ok(data) = RegionData::parse(payload) {
        let mut again = Vec::new();
        data.emit(&mut again);
        assert_eq!(RegionData::parse(&again), Ok(data));
    }
    if let Ok(data) = DmaData::parse(payload) {
        let mut again = Vec::new();
        data.emit(&mut again);
        assert_eq!(DmaData::parse(&again), Ok(data));
    }
}

fn writes(payload: &[u8]) {
    if let Ok(multi) = RegionWriteMulti::parse(payload) {
        let writes: Vec<_> = multi.iter().collect();
        assert!(
            writes
                .iter()
                .all(|write| write.counted().len() == write.count as usize)
        );
        let mut again = Vec::new();
        RegionWriteMulti::emit(&writes, &mut again);
        assert_eq!(RegionWriteMulti::parse(&again), Ok(multi));
    }
}

fn flags(from: &mut Decoder<'_>) {
    let bits_u32 = from.u32();
    fields! { bits_u32;
        MessageFlags: kind with_kind no_reply with_no_reply error with_error;
        DmaMapFlags: readable with_readable writeable with_writeable mmap with_mmap file_io with_file_io;
        DmaUnmapFlags: get_dirty_bitmap with_get_dirty_bitmap all with_all;
        DeviceFlags: reset with_reset pci with_pci;
        DeviceFeatureFlags: index with_index get with_get set with_set probe with_probe;
        RegionFlags: read with_read write with_write mmap with_mmap caps with_caps;
        IrqFlags: eventfd with_eventfd maskable with_maskable automasked with_automasked noresize with_noresize;
        IrqSetFlags: data_none with_data_none data_bool with_data_bool data_eventfd with_data_eventfd mask with_mask
            unmask with_unmask trigger with_trigger reserved with_reserved;
    }
}

fn configuration(from: &mut Decoder<'_>) {
    let (bits_u32, bits_u16, bits_u8) = (from.u32(), from.u16(), from.u8());
    fields! { bits_u32;
        Bar: io with_io kind with_kind prefetchable with_prefetchable base with_base;
        ExtendedCapability: id with_id version with_version next with_next;
        TableLocation: bir with_bir units with_units;
        VectorControl: masked with_masked;
    }
    fields! { bits_u16;
        CommandRegister: io_space with_io_space memory_space with_memory_space bus_master with_bus_master
            parity_error_response with_parity_error_response serr with_serr interrupt_disable with_interrupt_disable;
        StatusRegister: immediate_readiness with_immediate_readiness interrupt with_interrupt capabilities_list
            with_capabilities_list master_data_parity_error with_master_data_parity_error signaled_target_abort
            with_signaled_target_abort received_target_abort with_received_target_abort received_master_abort
            with_received_master_abort signaled_system_error with_signaled_system_error detected_parity_error
            with_detected_parity_error;
        PowerCapabilities: version with_version pme_clock with_pme_clock immediate_readiness with_immediate_readiness
            device_specific_initialization with_device_specific_initialization aux_current with_aux_current d1 with_d1
            d2 with_d2 pme_support with_pme_support;
        PowerControl: power_state with_power_state no_soft_reset with_no_soft_reset pme_enable with_pme_enable
            data_select with_data_select data_scale with_data_scale pme_status with_pme_status;
        MsiControl: enable with_enable multiple_message_capable with_multiple_message_capable multiple_message_enable
            with_multiple_message_enable address_64 with_address_64 maskable with_maskable;
        MsixControl: size with_size function_mask with_function_mask enable with_enable entries with_entries;
    }
    fields! { bits_u8; HeaderType: layout with_layout multi_function with_multi_function; }
    let address = from.u64();
    let [low, high] = Bar::memory_64(address, bits_u8 & 1 != 0);
    assert_eq!(low.address_64(high), address & !15);
    let [low, high] = Bar::writable_64(1 << (4 + bits_u8 % 60));
    assert_eq!(
        (u64::from(high) << 32 | u64::from(low)).count_zeros(),
        4 + u32::from(bits_u8 % 60)
    );
    let place = TableLocation::new(bits_u8 & 7, bits_u32);
    assert_eq!((place.bir(), place.offset()), (bits_u8 & 7, bits_u32 & !7));
    let entries = MsixControl::from_bits(bits_u16).entries();
    let pending = pending_bytes(entries) * 8;
    assert!(pending >= entries.count() && pending - entries.count() < 64);
}

fn express(from: &mut Decoder<'_>) {
    let (bits_u32, bits_u16) = (from.u32(), from.u16());
    fields! { bits_u32;
        DeviceCapabilities: max_payload with_max_payload phantom_functions with_phantom_functions extended_tag
            with_extended_tag l0s_latency with_l0s_latency l1_latency with_l1_latency role_based_error_reporting
            with_role_based_error_reporting slot_power_value with_slot_power_value slot_power_scale
            with_slot_power_scale function_level_reset with_function_level_reset;
        LinkCapabilities: max_speed with_max_speed max_width with_max_width aspm with_aspm l0s_exit with_l0s_exit
            l1_exit with_l1_exit clock_power_management with_clock_power_management aspm_optionality
            with_aspm_optionality port_number with_port_number;
        DeviceCapabilities2: completion_timeout_ranges with_completion_timeout_ranges completion_timeout_disable
            with_completion_timeout_disable ltr with_ltr;
        LinkCapabilities2: speeds with_speeds;
    }
    fields! { bits_u16;
        ExpressCapabilities: version with_version port_type with_port_type slot with_slot interrupt_message
            with_interrupt_message;
        DeviceControl: correctable with_correctable non_fatal with_non_fatal fatal with_fatal unsupported_request
            with_unsupported_request relaxed_ordering with_relaxed_ordering max_payload with_max_payload extended_tag
            with_extended_tag phantom_functions with_phantom_functions aux_power with_aux_power no_snoop with_no_snoop
            max_read_request with_max_read_request function_level_reset with_function_level_reset;
        DeviceStatus: correctable with_correctable non_fatal with_non_fatal fatal with_fatal unsupported_request
            with_unsupported_request aux_power with_aux_power transactions_pending with_transactions_pending;
        LinkControl: aspm with_aspm read_completion_boundary with_read_completion_boundary common_clock
            with_common_clock extended_synch with_extended_synch clock_power_management with_clock_power_management
            autonomous_width_disable with_autonomous_width_disable;
        LinkStatus: speed with_speed width with_width slot_clock with_slot_clock;
        DeviceControl2: completion_timeout with_completion_timeout completion_timeout_disable
            with_completion_timeout_disable ltr with_ltr;
        LinkControl2: target_speed with_target_speed;
    }
}
