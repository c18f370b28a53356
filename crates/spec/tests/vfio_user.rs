//! vfio-user messages: byte arrays as the specification and linux/vfio.h lay them out, and what must be refused.

use spec::Malformed;
use spec::vfio_user::limits::{MESSAGE_BYTES_MAX, VERSION_DATA_BYTES_MAX};
use spec::vfio_user::{
    Command, DeviceFeature, DeviceFeatureFlags, DeviceFlags, DeviceInfo, DmaAccess, DmaMap,
    DmaMapFlags, DmaUnmap, DmaUnmapFlags, DmaWritten, Header, HeaderError, IrqAction, IrqData,
    IrqFlags, IrqInfo, MessageKind, RegionIoFds, RegionWritesDone, SetIrqs, Version, feature_index,
    irq_index, region_index,
};

/// What a value appends to an empty payload.
macro_rules! emitted {
    ($value:expr) => {{
        let mut payload = Vec::new();
        $value.emit(&mut payload);
        payload
    }};
}

fn field<T>(name: &'static str) -> Result<T, Malformed> {
    Err(Malformed::Field { name })
}

fn short<T>(wanted: usize, found: usize) -> Result<T, Malformed> {
    Err(Malformed::Short { wanted, found })
}

/// Every byte differs from its neighbours, so that a field at a wrong place reads a wrong value.
fn ramp<const N: usize>() -> [u8; N] {
    core::array::from_fn(|at| at as u8 + 1)
}

mod header {
    use super::*;

    /// Message 4321h, REGION_READ, 32 bytes, a command that wants no reply.
    const COMMAND: [u8; 16] = [0x21, 0x43, 9, 0, 32, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn the_fields_of_a_header_stand_where_the_specification_prints_them() {
        let header = Header {
            no_reply: true,
            ..Header::command(0x4321, Command::RegionRead, 16)
        };
        assert_eq!(Header::parse(&COMMAND), Ok(header));
        assert_eq!(header.to_bytes(), COMMAND);
        assert_eq!(header.payload_bytes(), 16);
        let refusal = [0x21, 0x43, 9, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 95, 1, 0, 0];
        assert_eq!(header.refusal(0x015f).to_bytes(), refusal);
        let read = Header::parse(&refusal).unwrap();
        assert_eq!((read.kind, read.error), (MessageKind::Reply, Some(0x015f)));
        let reply = [0x21, 0x43, 9, 0, 0x18, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(header.reply(0x108).to_bytes(), reply);
    }

    #[test]
    fn a_header_with_a_wrong_size_or_type_is_refused() {
        let with = |at: usize, value: u32| {
            let mut bytes = COMMAND;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            Header::parse(&bytes)
        };
        assert_eq!(with(4, 15), Err(HeaderError::Small { size: 15 }));
        assert_eq!(with(4, 16).unwrap().payload_bytes(), 0);
        let size = MESSAGE_BYTES_MAX;
        let most = with(4, size).unwrap();
        assert_eq!(most.payload_bytes(), Header::PAYLOAD_BYTES_MAX);
        let size = size + 1;
        assert_eq!(with(4, size), Err(HeaderError::Large { size }));
        for kind in 2..16_u8 {
            assert_eq!(with(8, kind.into()), Err(HeaderError::Kind { kind }));
        }
    }

    #[test]
    fn the_error_number_counts_only_with_its_flag_and_reserved_flags_never() {
        let mut bytes = COMMAND;
        bytes[8..].copy_from_slice(&[0xc1, 0xff, 0xff, 0xff, 5, 0, 0, 0]);
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(
            (header.kind, header.no_reply, header.error),
            (MessageKind::Reply, false, None)
        );
        assert_eq!(header.to_bytes()[8..], [1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_header_error_says_what_was_found_and_what_was_wanted() {
        let texts = [
            HeaderError::Small { size: 3 }.to_string(),
            HeaderError::Large { size: 2_000_000 }.to_string(),
            HeaderError::Kind { kind: 7 }.to_string(),
        ];
        assert!(texts[0].contains("3 bytes, wanted at least 16"));
        assert!(texts[1].contains("2000000 bytes, wanted at most 1052672"));
        assert!(texts[2].contains("type 7"));
    }

    #[test]
    fn commands_have_the_numbers_that_the_specification_prints() {
        use Command::*;
        let printed = [
            (1, Version, "VERSION"),
            (2, DmaMap, "DMA_MAP"),
            (3, DmaUnmap, "DMA_UNMAP"),
            (4, DeviceGetInfo, "DEVICE_GET_INFO"),
            (5, DeviceGetRegionInfo, "DEVICE_GET_REGION_INFO"),
            (6, DeviceGetRegionIoFds, "DEVICE_GET_REGION_IO_FDS"),
            (7, DeviceGetIrqInfo, "DEVICE_GET_IRQ_INFO"),
            (8, DeviceSetIrqs, "DEVICE_SET_IRQS"),
            (9, RegionRead, "REGION_READ"),
            (10, RegionWrite, "REGION_WRITE"),
            (11, DmaRead, "DMA_READ"),
            (12, DmaWrite, "DMA_WRITE"),
            (13, DeviceReset, "DEVICE_RESET"),
            (15, RegionWriteMulti, "REGION_WRITE_MULTI"),
            (16, DeviceFeature, "DEVICE_FEATURE"),
            (17, MigDataRead, "MIG_DATA_READ"),
            (18, MigDataWrite, "MIG_DATA_WRITE"),
        ];
        for (code, command, name) in printed {
            assert_eq!((command.code(), command.name()), (code, name));
        }
        assert_eq!(Command::NAMED, printed.map(|(_, command, _)| command));
        for code in [0, 14, 19, 0xffff] {
            assert_eq!(Command::from_code(code), Other(code));
        }
        assert_eq!(DmaRead.to_string(), "DMA_READ (11)");
        assert_eq!(Other(14).to_string(), "Unknown command (14)");
    }
}

mod version {
    use super::*;

    #[test]
    fn the_version_data_end_before_their_nul_and_may_have_none_or_be_missing() {
        let whole = b"\x02\x01\x04\x03{\"capabilities\":{}}\0";
        let version = Version {
            major: 0x0102,
            minor: 0x0304,
            json: "{\"capabilities\":{}}",
        };
        assert_eq!(Version::parse(whole), Ok(version));
        assert_eq!(emitted!(version), whole);
        assert_eq!(Version::parse(&whole[..whole.len() - 1]), Ok(version));
        assert_eq!(Version::parse(&[&whole[..], &[0; 9]].concat()), Ok(version));
        let bare = Version {
            json: "",
            ..version
        };
        assert_eq!(Version::parse(&whole[..4]), Ok(bare));
        assert_eq!(Version::parse(b"\x02\x01\x04\x03\0"), Ok(bare));
        assert_eq!(emitted!(bare), whole[..4]);
    }

    #[test]
    fn version_data_that_are_no_text_or_too_long_are_refused() {
        assert_eq!(Version::parse(&[0, 0, 2]), short(4, 3));
        assert_eq!(Version::parse(b"\0\0\0\0\xff\0"), field("version data"));
        let mut long = vec![b' '; 4 + VERSION_DATA_BYTES_MAX];
        assert!(Version::parse(&long).is_ok());
        long.push(0);
        assert!(Version::parse(&long).is_ok());
        long.extend_from_slice(b"}");
        assert_eq!(Version::parse(&long), field("version data"));
    }
}

mod fixed {
    use super::*;

    #[test]
    fn dma_map_stands_where_the_specification_prints_it() {
        let bytes = ramp::<32>();
        let map = DmaMap::parse(&bytes).unwrap();
        assert_eq!(map.argsz, 0x0403_0201);
        assert_eq!(map.flags.bits(), 0x0807_0605);
        assert_eq!(map.offset, 0x100f_0e0d_0c0b_0a09);
        assert_eq!(map.address, 0x1817_1615_1413_1211);
        assert_eq!(map.size, 0x201f_1e1d_1c1b_1a19);
        assert_eq!(map.to_bytes(), bytes);
        let flags = DmaMapFlags::from_bits(0);
        assert_eq!(flags.with_readable(true).bits(), 1);
        assert_eq!(flags.with_writeable(true).bits(), 2);
        assert_eq!(flags.with_mmap(true).bits(), 4);
        assert_eq!(flags.with_file_io(true).bits(), 8);
    }

    #[test]
    fn dma_unmap_stands_where_the_specification_prints_it() {
        let bytes = ramp::<24>();
        let unmap = DmaUnmap::parse(&bytes).unwrap();
        assert_eq!(unmap.argsz, 0x0403_0201);
        assert_eq!(unmap.flags.bits(), 0x0807_0605);
        assert_eq!(unmap.address, 0x100f_0e0d_0c0b_0a09);
        assert_eq!(unmap.size, 0x1817_1615_1413_1211);
        assert_eq!(unmap.to_bytes(), bytes);
        let flags = DmaUnmapFlags::from_bits(0);
        assert_eq!(flags.with_get_dirty_bitmap(true).bits(), 1);
        assert_eq!(flags.with_all(true).bits(), 2);
    }

    #[test]
    fn addresses_that_pass_64_bits_or_are_none_are_no_range() {
        let range = |address, size| {
            let map = DmaMap {
                address,
                size,
                ..DmaMap::default()
            };
            let unmap = DmaUnmap {
                address,
                size,
                ..DmaUnmap::default()
            };
            assert_eq!(map.range(), unmap.range());
            map.range()
        };
        assert_eq!(range(0x1000, 0x2000), Some(0x1000..0x3000));
        assert_eq!(range(u64::MAX - 1, 1), Some(u64::MAX - 1..u64::MAX));
        assert_eq!(range(u64::MAX, 1), None);
        assert_eq!(range(1, u64::MAX), None);
        assert_eq!(range(0x1000, 0), None);
    }

    #[test]
    fn device_info_stands_where_the_specification_prints_it() {
        let bytes = [16, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0];
        let info = DeviceInfo {
            argsz: 16,
            flags: DeviceFlags::from_bits(0).with_reset(true).with_pci(true),
            num_regions: region_index::COUNT,
            num_irqs: irq_index::COUNT,
        };
        assert_eq!(info.to_bytes(), bytes);
        assert_eq!(DeviceInfo::parse(&bytes), Ok(info));
        assert_eq!(DeviceFlags::from_bits(0).with_reset(true).bits(), 1);
    }

    #[test]
    fn device_feature_stands_where_the_specification_prints_it() {
        let bytes = [24, 0, 0, 0, 8, 0, 7, 0];
        let flags = DeviceFeatureFlags::from_bits(0).with_index(feature_index::DMA_LOGGING_REPORT);
        assert_eq!(flags.with_get(true).bits(), 0x1_0008);
        assert_eq!(flags.with_set(true).bits(), 0x2_0008);
        assert_eq!(flags.with_probe(true).bits(), 0x4_0008);
        let feature = DeviceFeature {
            argsz: 24,
            flags: flags.with_get(true).with_set(true).with_probe(true),
        };
        assert_eq!(feature.to_bytes(), bytes);
        assert_eq!(DeviceFeature::parse(&bytes), Ok(feature));
        use feature_index::*;
        let others = [
            MIGRATION,
            MIG_DEVICE_STATE,
            DMA_LOGGING_START,
            DMA_LOGGING_STOP,
        ];
        assert_eq!(others, [1, 2, 6, 7]);
    }

    #[test]
    fn irq_info_stands_where_the_specification_prints_it() {
        let bytes = [16, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 0, 8, 0, 0];
        let flags = IrqFlags::from_bits(0);
        let info = IrqInfo {
            argsz: 16,
            flags: flags.with_eventfd(true).with_noresize(true),
            index: irq_index::MSIX,
            count: 2048,
        };
        assert_eq!(info.to_bytes(), bytes);
        assert_eq!(IrqInfo::parse(&bytes), Ok(info));
        assert_eq!(flags.with_maskable(true).bits(), 2);
        assert_eq!(flags.with_automasked(true).bits(), 4);
        use irq_index::*;
        assert_eq!([INTX, MSI, MSIX, ERR, REQ, COUNT], [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn region_io_fds_and_written_counts_stand_where_the_specification_prints_them() {
        let bytes = ramp::<16>();
        let fds = RegionIoFds::parse(&bytes).unwrap();
        assert_eq!((fds.argsz, fds.flags), (0x0403_0201, 0x0807_0605));
        assert_eq!((fds.index, fds.count), (0x0c0b_0a09, 0x100f_0e0d));
        let written = DmaWritten::parse(&bytes[..12]).unwrap();
        assert_eq!(written.address, 0x0807_0605_0403_0201);
        assert_eq!(written.count, 0x0c0b_0a09);
        let done = RegionWritesDone::parse(&bytes).unwrap();
        assert_eq!(done.wr_cnt, 0x0807_0605_0403_0201);
    }

    #[test]
    fn a_written_count_is_read_from_the_longer_reply_as_well() {
        let long = DmaAccess {
            address: 0x1_2000,
            count: 0x345,
        };
        let written = DmaWritten::parse(&long.to_bytes()).unwrap();
        assert_eq!((written.address, written.count), (0x1_2000, 0x345));
    }
}

mod irqs {
    use super::*;

    fn head(flags: u32, start: u32, count: u32) -> Vec<u8> {
        let words = [20, flags, irq_index::MSIX, start, count];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn set_irqs_stands_where_the_specification_prints_it() {
        let bytes = [
            23, 0, 0, 0, 0x12, 0, 0, 0, 2, 0, 0, 0, 0x34, 0x12, 0, 0, 3, 0, 0, 0, 1, 0, 1,
        ];
        let set = SetIrqs {
            action: IrqAction::Unmask,
            data: IrqData::Bool(&[1, 0, 1]),
            index: 2,
            start: 0x1234,
            count: 3,
        };
        assert_eq!(SetIrqs::parse(&bytes), Ok(set));
        assert_eq!(emitted!(set), bytes);
    }

    #[test]
    fn each_kind_of_data_goes_with_each_action_and_never_two_of_a_kind() {
        let actions = [
            (8, IrqAction::Mask),
            (16, IrqAction::Unmask),
            (32, IrqAction::Trigger),
        ];
        let datas = [
            (1, IrqData::None),
            (2, IrqData::Bool(&[])),
            (4, IrqData::Eventfd),
        ];
        let mut good = Vec::new();
        for (action_bit, action) in actions {
            for (data_bit, data) in datas {
                let payload = head(action_bit | data_bit, 0, 0);
                let set = SetIrqs::parse(&payload).unwrap();
                assert_eq!((set.action, set.data), (action, data));
                assert_eq!(emitted!(set), payload);
                assert_eq!(set.disables_all(), action_bit | data_bit == 33);
                good.push(action_bit | data_bit);
            }
        }
        for flags in (0..64).filter(|flags| !good.contains(flags)) {
            assert_eq!(SetIrqs::parse(&head(flags, 0, 0)), field("flags"));
        }
        for bit in 6..32 {
            let flags = 33 | 1 << bit;
            assert_eq!(SetIrqs::parse(&head(flags, 0, 0)), field("flags"));
        }
    }

    #[test]
    fn a_range_past_32_bits_and_fewer_data_than_interrupts_are_refused() {
        assert_eq!(SetIrqs::parse(&head(33, 0, 0)[..19]), short(20, 19));
        assert!(SetIrqs::parse(&head(36, u32::MAX - 1, 1)).is_ok());
        assert_eq!(SetIrqs::parse(&head(36, u32::MAX, 1)), field("count"));
        assert_eq!(SetIrqs::parse(&head(36, 2, u32::MAX)), field("count"));
        let mut payload = head(34, 0, 3);
        payload.extend([1, 1]);
        assert_eq!(SetIrqs::parse(&payload), short(23, 22));
        payload.extend([0, 9, 9]);
        let set = SetIrqs::parse(&payload).unwrap();
        assert_eq!(set.data, IrqData::Bool(&[1, 1, 0]));
        let most = u32::MAX as usize;
        assert_eq!(SetIrqs::parse(&head(34, 0, u32::MAX)), short(20 + most, 20));
    }

    #[test]
    fn only_triggering_none_without_data_disables_all() {
        let all = SetIrqs::parse(&head(33, 0, 1)).map(|set| set.disables_all());
        assert_eq!(all, Ok(false));
    }
}
