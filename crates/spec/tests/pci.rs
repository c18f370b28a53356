//! Configuration space as the PCI Express specification prints it: the places of fields, their bits, what a host may write.

use proptest::collection::vec;
use proptest::prelude::*;
use spec::pci::*;
use spec::{Malformed, Series, ZeroBased};

/// All bits from high to low.
fn mask(high: u32, low: u32) -> u64 {
    (u64::MAX >> (63 - high)) & (u64::MAX << low)
}

/// Each line: setter, getter, the largest value of the field, its bits as the standard prints them.
macro_rules! assert_bits {
    ($name:ident { $($with:ident $get:ident $max:literal $high:literal : $low:literal;)* }) => {$(
        let word = $name::from_bits(0).$with($max);
        assert_eq!(u64::from(word.bits()), mask($high, $low), stringify!($name $get));
        assert_eq!(word.$get(), $max, stringify!($name $get));
        let rest = $name::from_bits(!0).$with(Default::default());
        assert_eq!(u64::from(!rest.bits()), mask($high, $low), stringify!($name $get));
        assert_eq!(rest.$get(), Default::default(), stringify!($name $get));
    )*};
}

/// Compares the fields of a structure with (name, first byte, last byte) as the standard prints them.
fn assert_layout(fields: &[(&str, usize, usize)], printed: &[(&str, usize, usize)]) {
    let found: Vec<_> = fields
        .iter()
        .map(|&(name, first, bytes)| (name, first, first + bytes - 1))
        .collect();
    assert_eq!(found, printed);
}

mod header {
    use super::*;

    #[test]
    fn registers_stand_where_the_standard_prints_them() {
        assert_layout(
            ConfigHeader::FIELDS,
            &[
                ("vendor_id", 0x00, 0x01),
                ("device_id", 0x02, 0x03),
                ("command", 0x04, 0x05),
                ("status", 0x06, 0x07),
                ("revision_id", 0x08, 0x08),
                ("class_code", 0x09, 0x0b),
                ("cache_line_size", 0x0c, 0x0c),
                ("latency_timer", 0x0d, 0x0d),
                ("header_type", 0x0e, 0x0e),
                ("bist", 0x0f, 0x0f),
                ("bars", 0x10, 0x27),
                ("cardbus_cis", 0x28, 0x2b),
                ("subsystem_vendor_id", 0x2c, 0x2d),
                ("subsystem_id", 0x2e, 0x2f),
                ("expansion_rom", 0x30, 0x33),
                ("capabilities_pointer", 0x34, 0x34),
                ("interrupt_line", 0x3c, 0x3c),
                ("interrupt_pin", 0x3d, 0x3d),
                ("min_gnt", 0x3e, 0x3e),
                ("max_lat", 0x3f, 0x3f),
            ],
        );
    }

    #[test]
    fn the_names_of_places_are_the_places_of_the_header() {
        let named = [
            ("vendor_id", register::VENDOR_ID),
            ("device_id", register::DEVICE_ID),
            ("command", register::COMMAND),
            ("status", register::STATUS),
            ("revision_id", register::REVISION_ID),
            ("class_code", register::CLASS_CODE),
            ("cache_line_size", register::CACHE_LINE_SIZE),
            ("header_type", register::HEADER_TYPE),
            ("bars", register::BAR0),
            ("subsystem_vendor_id", register::SUBSYSTEM_VENDOR_ID),
            ("subsystem_id", register::SUBSYSTEM_ID),
            ("expansion_rom", register::EXPANSION_ROM),
            ("capabilities_pointer", register::CAPABILITIES_POINTER),
            ("interrupt_line", register::INTERRUPT_LINE),
            ("interrupt_pin", register::INTERRUPT_PIN),
        ];
        for (name, at) in named {
            let field = ConfigHeader::FIELDS.iter().find(|field| field.0 == name);
            assert_eq!(field.unwrap().1, at, "{name}");
        }
        assert_eq!(register::BAR1, register::BAR0 + 4);
        assert_eq!((CONFIG_BYTES, EXTENDED_CONFIG_BYTES), (256, 4096));
        assert_eq!(EXTENDED_CAPABILITIES, 0x100);
    }

    #[test]
    fn an_nvme_drive_is_these_bytes() {
        let [bar0, bar1] = Bar::memory_64(0x12_3456_4000, false);
        let header = ConfigHeader {
            vendor_id: 0x1b36,
            device_id: 0x0010,
            command: CommandRegister::from_bits(0)
                .with_memory_space(true)
                .with_bus_master(true),
            status: StatusRegister::from_bits(0).with_capabilities_list(true),
            revision_id: 2,
            class_code: ClassCode::NVME,
            bars: Series([
                bar0,
                bar1,
                Bar::default(),
                Bar::default(),
                Bar::default(),
                Bar::default(),
            ]),
            subsystem_vendor_id: 0x1af4,
            subsystem_id: 0x1100,
            capabilities_pointer: 0x40,
            interrupt_pin: 1,
            ..ConfigHeader::default()
        };
        let bytes = [
            0x36, 0x1b, 0x10, 0x00, 0x06, 0x00, 0x10, 0x00, 0x02, 0x02, 0x08, 0x01, 0, 0, 0,
            0, //
            0x04, 0x40, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf4, 0x1a, 0x00, 0x11, //
            0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
        ];
        assert_eq!(header.to_bytes(), bytes);
        assert_eq!(ConfigHeader::parse(&bytes), Ok(header));
    }

    #[test]
    fn words_of_the_header_hold_their_fields_where_the_standard_prints_them() {
        assert_bits!(CommandRegister {
            with_io_space io_space true 0:0; with_memory_space memory_space true 1:1; with_bus_master bus_master true 2:2;
            with_parity_error_response parity_error_response true 6:6; with_serr serr true 8:8;
            with_interrupt_disable interrupt_disable true 10:10;
        });
        assert_bits!(StatusRegister {
            with_immediate_readiness immediate_readiness true 0:0; with_interrupt interrupt true 3:3;
            with_capabilities_list capabilities_list true 4:4;
            with_master_data_parity_error master_data_parity_error true 8:8;
            with_signaled_target_abort signaled_target_abort true 11:11;
            with_received_target_abort received_target_abort true 12:12;
            with_received_master_abort received_master_abort true 13:13;
            with_signaled_system_error signaled_system_error true 14:14;
            with_detected_parity_error detected_parity_error true 15:15;
        });
        assert_bits!(HeaderType { with_layout layout 0x7f 6:0; with_multi_function multi_function true 7:7; });
        assert_bits!(Bar {
            with_io io true 0:0; with_kind kind 3 2:1; with_prefetchable prefetchable true 3:3;
            with_base base 0xfff_ffff 31:4;
        });
    }

    #[test]
    fn a_host_writes_command_but_no_status_it_clears_errors() {
        let command = CommandRegister::from_bits(0)
            .with_io_space(true)
            .with_memory_space(true)
            .with_bus_master(true)
            .with_parity_error_response(true)
            .with_serr(true)
            .with_interrupt_disable(true);
        assert_eq!(CommandRegister::WRITABLE, command.bits());
        let errors = StatusRegister::from_bits(0)
            .with_master_data_parity_error(true)
            .with_signaled_target_abort(true)
            .with_received_target_abort(true)
            .with_received_master_abort(true)
            .with_signaled_system_error(true)
            .with_detected_parity_error(true);
        assert_eq!(StatusRegister::CLEARED_BY_ONE, errors.bits());
    }

    #[test]
    fn a_host_that_writes_ones_to_a_bar_reads_its_size() {
        let [low, high] = Bar::writable_64(0x4000);
        assert_eq!((low, high), (0xffff_c000, 0xffff_ffff));
        let read = u64::from(high) << 32 | u64::from(low);
        assert_eq!(!read + 1, 0x4000);
        assert_eq!(Bar::writable_64(16), [0xffff_fff0, 0xffff_ffff]);
        assert_eq!(Bar::writable_64(1 << 33), [0, 0xffff_fffe]);
    }

    #[test]
    fn a_bar_of_64_bits_is_two_registers() {
        let [low, high] = Bar::memory_64(0x8000_0001_8765_4320, true);
        assert_eq!((low.bits(), high.bits()), (0x8765_432c, 0x8000_0001));
        assert_eq!((low.io(), low.kind()), (false, Bar::TYPE_64));
        assert_eq!(low.address_64(high), 0x8000_0001_8765_4320);
        assert_eq!((Bar::TYPE_32, Bar::TYPE_64), (0, 2));
    }
}

mod capabilities {
    use super::*;

    #[test]
    fn capabilities_have_the_identifiers_that_the_standard_prints() {
        use capability_id::*;
        let ids = [POWER_MANAGEMENT, MSI, VENDOR_SPECIFIC, PCI_EXPRESS, MSIX];
        assert_eq!(ids, [0x01, 0x05, 0x09, 0x10, 0x11]);
        assert_eq!(PowerManagement::default().to_bytes()[0], 0x01);
        assert_eq!(MsiCapability::default().to_bytes()[0], 0x05);
        assert_eq!(MaskableMsiCapability::default().to_bytes()[0], 0x05);
        assert_eq!(PciExpress::default().to_bytes()[0], 0x10);
        assert_eq!(MsixCapability::default().to_bytes()[0], 0x11);
    }

    #[test]
    fn power_management_stands_where_the_standard_prints_it() {
        let bytes = [0x01, 0x50, 0x03, 0x00, 0x0b, 0x00, 0, 0x77];
        let capability = PowerManagement {
            next: 0x50,
            capabilities: PowerCapabilities::from_bits(0).with_version(3),
            control: PowerControl::from_bits(0)
                .with_power_state(3)
                .with_no_soft_reset(true),
            data: 0x77,
            ..PowerManagement::default()
        };
        assert_eq!(capability.to_bytes(), bytes);
        assert_eq!(PowerManagement::parse(&bytes), Ok(capability));
        assert_bits!(PowerCapabilities {
            with_version version 7 2:0; with_pme_clock pme_clock true 3:3;
            with_immediate_readiness immediate_readiness true 4:4;
            with_device_specific_initialization device_specific_initialization true 5:5;
            with_aux_current aux_current 7 8:6; with_d1 d1 true 9:9; with_d2 d2 true 10:10;
            with_pme_support pme_support 31 15:11;
        });
        assert_bits!(PowerControl {
            with_power_state power_state 3 1:0; with_no_soft_reset no_soft_reset true 3:3;
            with_pme_enable pme_enable true 8:8; with_data_select data_select 15 12:9;
            with_data_scale data_scale 3 14:13; with_pme_status pme_status true 15:15;
        });
        assert_eq!(u64::from(PowerControl::WRITABLE), mask(1, 0));
    }

    #[test]
    fn an_extended_capability_header_is_identifier_version_and_next() {
        assert_bits!(ExtendedCapability {
            with_id id 0xffff 15:0; with_version version 15 19:16; with_next next 0xfff 31:20;
        });
        assert_eq!(ExtendedCapability::NONE.bits(), 0);
        let serial = ExtendedCapability::from_bits(0x1481_0003);
        assert_eq!(
            (serial.id(), serial.version(), serial.next()),
            (3, 1, 0x148)
        );
    }
}

mod interrupts {
    use super::*;

    #[test]
    fn msi_stands_where_the_standard_prints_it() {
        let bytes = [
            0x05, 0x60, 0x86, 0x00, 0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11, 0x22, 0x21,
        ];
        let msi = MsiCapability::parse(&bytes).unwrap();
        assert_eq!(msi.next, 0x60);
        assert_eq!(msi.address, 0x1112_1314_0102_0304);
        assert_eq!(msi.data, 0x2122);
        assert!(msi.control.address_64() && !msi.control.enable());
        assert_eq!(msi.control.multiple_message_capable(), 3);
        assert_eq!(msi.to_bytes(), bytes);
        assert_eq!(MsiCapability::ADDRESS_WRITABLE, !3);
        assert_layout(
            MaskableMsiCapability::FIELDS,
            &[
                ("id", 0x00, 0x00),
                ("next", 0x01, 0x01),
                ("control", 0x02, 0x03),
                ("address", 0x04, 0x0b),
                ("data", 0x0c, 0x0d),
                ("mask", 0x10, 0x13),
                ("pending", 0x14, 0x17),
            ],
        );
        assert_bits!(MsiControl {
            with_enable enable true 0:0; with_multiple_message_capable multiple_message_capable 7 3:1;
            with_multiple_message_enable multiple_message_enable 7 6:4; with_address_64 address_64 true 7:7;
            with_maskable maskable true 8:8;
        });
        assert_eq!(u64::from(MsiControl::WRITABLE), mask(0, 0) | mask(6, 4));
    }

    #[test]
    fn msix_stands_where_the_standard_prints_it() {
        let bytes = [
            0x11, 0x00, 0x41, 0x80, 0x00, 0x20, 0x00, 0x00, 0x04, 0x30, 0x00, 0x00,
        ];
        let entries = ZeroBased::<u16>::from_count(66).unwrap();
        let capability = MsixCapability {
            next: 0,
            control: MsixControl::from_bits(0)
                .with_entries(entries)
                .with_enable(true),
            table: TableLocation::new(0, 0x2000),
            pending: TableLocation::new(4, 0x3000),
            ..MsixCapability::default()
        };
        assert_eq!(capability.to_bytes(), bytes);
        assert_eq!(MsixCapability::parse(&bytes), Ok(capability));
        assert_eq!(capability.control.entries(), entries);
        assert_eq!(
            (capability.pending.bir(), capability.pending.offset()),
            (4, 0x3000)
        );
        assert_bits!(MsixControl {
            with_size size 0x7ff 10:0; with_function_mask function_mask true 14:14; with_enable enable true 15:15;
        });
        assert_bits!(TableLocation { with_bir bir 7 2:0; with_units units 0x1fff_ffff 31:3; });
        assert_eq!(u64::from(MsixControl::WRITABLE), mask(15, 14));
        assert_eq!(
            MsixControl::from_bits(0x7ff).entries().count(),
            MsixControl::ENTRIES_MAX
        );
    }

    #[test]
    fn an_entry_of_the_msix_table_is_address_data_and_mask() {
        let bytes = [
            0x04, 0x10, 0xe0, 0xfe, 0x02, 0, 0, 0, 0x21, 0x40, 0, 0, 1, 0, 0, 0,
        ];
        let entry = MsixEntry {
            address: 0x2_fee0_1004,
            data: 0x4021,
            control: VectorControl::RESET,
        };
        assert_eq!(entry.to_bytes(), bytes);
        assert_eq!(MsixEntry::parse(&bytes), Ok(entry));
        assert_eq!(MsixEntry::BYTES, 16);
        assert_eq!(MsixEntry::ADDRESS_WRITABLE, !3);
        assert_bits!(VectorControl { with_masked masked true 0:0; });
        assert_eq!(VectorControl::WRITABLE, 1);
    }

    #[test]
    fn pending_bits_fill_whole_words_of_8_bytes() {
        let bytes = |count| pending_bytes(ZeroBased::<u16>::from_count(count).unwrap());
        let found = [1, 64, 65, 128, 2048].map(bytes);
        assert_eq!(found, [8, 8, 16, 16, 256]);
    }
}

mod express {
    use super::*;

    #[test]
    fn registers_stand_where_the_standard_prints_them() {
        assert_layout(
            PciExpress::FIELDS,
            &[
                ("id", 0x00, 0x00),
                ("next", 0x01, 0x01),
                ("capabilities", 0x02, 0x03),
                ("device_capabilities", 0x04, 0x07),
                ("device_control", 0x08, 0x09),
                ("device_status", 0x0a, 0x0b),
                ("link_capabilities", 0x0c, 0x0f),
                ("link_control", 0x10, 0x11),
                ("link_status", 0x12, 0x13),
                ("device_capabilities_2", 0x24, 0x27),
                ("device_control_2", 0x28, 0x29),
                ("link_capabilities_2", 0x2c, 0x2f),
                ("link_control_2", 0x30, 0x31),
                ("link_status_2", 0x32, 0x33),
            ],
        );
        assert_eq!(PciExpress::BYTES, 0x3c);
    }

    #[test]
    fn words_of_the_device_hold_their_fields_where_the_standard_prints_them() {
        assert_bits!(ExpressCapabilities {
            with_version version 15 3:0; with_port_type port_type 15 7:4; with_slot slot true 8:8;
            with_interrupt_message interrupt_message 31 13:9;
        });
        assert_bits!(DeviceCapabilities {
            with_max_payload max_payload 7 2:0; with_phantom_functions phantom_functions 3 4:3;
            with_extended_tag extended_tag true 5:5; with_l0s_latency l0s_latency 7 8:6;
            with_l1_latency l1_latency 7 11:9;
            with_role_based_error_reporting role_based_error_reporting true 15:15;
            with_slot_power_value slot_power_value 0xff 25:18; with_slot_power_scale slot_power_scale 3 27:26;
            with_function_level_reset function_level_reset true 28:28;
        });
        assert_bits!(DeviceControl {
            with_correctable correctable true 0:0; with_non_fatal non_fatal true 1:1; with_fatal fatal true 2:2;
            with_unsupported_request unsupported_request true 3:3;
            with_relaxed_ordering relaxed_ordering true 4:4; with_max_payload max_payload 7 7:5;
            with_extended_tag extended_tag true 8:8; with_phantom_functions phantom_functions true 9:9;
            with_aux_power aux_power true 10:10; with_no_snoop no_snoop true 11:11;
            with_max_read_request max_read_request 7 14:12;
            with_function_level_reset function_level_reset true 15:15;
        });
        assert_bits!(DeviceStatus {
            with_correctable correctable true 0:0; with_non_fatal non_fatal true 1:1; with_fatal fatal true 2:2;
            with_unsupported_request unsupported_request true 3:3; with_aux_power aux_power true 4:4;
            with_transactions_pending transactions_pending true 5:5;
        });
        assert_bits!(DeviceCapabilities2 {
            with_completion_timeout_ranges completion_timeout_ranges 15 3:0;
            with_completion_timeout_disable completion_timeout_disable true 4:4; with_ltr ltr true 11:11;
        });
        assert_bits!(DeviceControl2 {
            with_completion_timeout completion_timeout 15 3:0;
            with_completion_timeout_disable completion_timeout_disable true 4:4; with_ltr ltr true 10:10;
        });
    }

    #[test]
    fn words_of_the_link_hold_their_fields_where_the_standard_prints_them() {
        assert_bits!(LinkCapabilities {
            with_max_speed max_speed 15 3:0; with_max_width max_width 63 9:4; with_aspm aspm 3 11:10;
            with_l0s_exit l0s_exit 7 14:12; with_l1_exit l1_exit 7 17:15;
            with_clock_power_management clock_power_management true 18:18;
            with_aspm_optionality aspm_optionality true 22:22; with_port_number port_number 0xff 31:24;
        });
        assert_bits!(LinkControl {
            with_aspm aspm 3 1:0; with_read_completion_boundary read_completion_boundary true 3:3;
            with_common_clock common_clock true 6:6; with_extended_synch extended_synch true 7:7;
            with_clock_power_management clock_power_management true 8:8;
            with_autonomous_width_disable autonomous_width_disable true 9:9;
        });
        assert_bits!(LinkStatus {
            with_speed speed 15 3:0; with_width width 63 9:4; with_slot_clock slot_clock true 12:12;
        });
        assert_bits!(LinkCapabilities2 { with_speeds speeds 0x7f 7:1; });
        assert_bits!(LinkControl2 { with_target_speed target_speed 15 3:0; });
    }

    #[test]
    fn an_endpoint_starts_with_version_2_relaxed_ordering_no_snoop_and_reads_of_512_bytes() {
        let endpoint = ExpressCapabilities::ENDPOINT;
        assert_eq!(
            (endpoint.version(), endpoint.port_type(), endpoint.slot()),
            (2, 0, false)
        );
        let control = DeviceControl::RESET;
        assert!(control.relaxed_ordering() && control.no_snoop());
        assert_eq!((control.max_payload(), control.max_read_request()), (0, 2));
        assert_eq!(control.bits() & !DeviceControl::WRITABLE, 0);
    }

    #[test]
    fn a_host_writes_what_an_endpoint_has() {
        let device = mask(8, 0) | mask(14, 11);
        assert_eq!(u64::from(DeviceControl::WRITABLE), device);
        assert_eq!(u64::from(DeviceStatus::CLEARED_BY_ONE), mask(3, 0));
        let link = mask(1, 0) | mask(3, 3) | mask(7, 6);
        assert_eq!(u64::from(LinkControl::WRITABLE), link);
        assert_eq!(u64::from(DeviceControl2::WRITABLE), mask(4, 4));
    }
}

/// Checks one structure on arbitrary bytes: named bytes are emitted as they were read, others as zero, and a capability's
/// identifier as its own.
macro_rules! round_trips {
    ($bytes:expr, $($name:ident)*) => {$(
        match $name::parse($bytes) {
            Err(trouble) => {
                let wanted = Malformed::Short { wanted: $name::BYTES, found: $bytes.len() };
                prop_assert_eq!(trouble, wanted);
            }
            Ok(value) => {
                let emitted = value.to_bytes();
                for (at, byte) in emitted.iter().enumerate() {
                    let field = $name::FIELDS.iter().find(|&&(_, first, len)| (first..first + len).contains(&at));
                    match field {
                        Some(("id", ..)) => {}
                        Some(_) => prop_assert_eq!(*byte, $bytes[at], "byte {} of {}", at, stringify!($name)),
                        None => prop_assert_eq!(*byte, 0, "byte {} of {}", at, stringify!($name)),
                    }
                }
                prop_assert_eq!($name::parse(&emitted), Ok(value));
            }
        }
    )*};
}

proptest! {
    #[test]
    fn structures_survive_any_bytes_and_are_emitted_as_they_were(bytes in vec(any::<u8>(), 0..80)) {
        round_trips!(&bytes, ClassCode ConfigHeader MaskableMsiCapability MsiCapability MsixCapability MsixEntry
            PciExpress PowerManagement);
    }

    #[test]
    fn an_address_in_two_registers_reads_back(address in any::<u64>(), prefetchable in any::<bool>()) {
        let [low, high] = Bar::memory_64(address, prefetchable);
        prop_assert_eq!(low.address_64(high), address & !15);
        prop_assert_eq!(low.prefetchable(), prefetchable);
    }

    #[test]
    fn a_table_is_where_it_was_put(bir in 0..6_u8, offset in any::<u32>()) {
        let place = TableLocation::new(bir, offset);
        prop_assert_eq!((place.bir(), place.offset()), (bir, offset & !7));
    }
}
