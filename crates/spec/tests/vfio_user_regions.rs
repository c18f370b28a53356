//! vfio-user messages about regions and memory: byte arrays as the specification and linux/vfio.h lay them out, and what must
//! be refused.

use spec::Malformed;
use spec::vfio_user::limits::{
    DATA_BYTES_MAX, MULTI_WRITES_MAX, REGION_CAPABILITIES_MAX, SPARSE_AREAS_MAX,
};
use spec::vfio_user::{
    CapabilityHeader, DmaAccess, DmaData, RegionAccess, RegionData, RegionFlags, RegionInfo,
    RegionWrite, RegionWriteMulti, SparseArea, SparseMmap, region_index,
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

mod regions {
    use super::*;

    const AREA: SparseArea = SparseArea {
        offset: 0x1000,
        size: 0x3000,
    };

    /// BAR0 of 16 KiB, whose part from 1000h on can be mapped.
    const WITH_AREA: [u8; 64] = [
        64, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, // argsz, flags, index, cap_offset
        0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, // size, offset
        1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
        0, // id, version, next, nr_areas, reserved
        0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, // the area
    ];

    fn info() -> RegionInfo {
        RegionInfo {
            flags: RegionFlags::from_bits(0)
                .with_read(true)
                .with_write(true)
                .with_mmap(true),
            size: 0x4000,
            offset: 0x10_0000,
            ..RegionInfo::default()
        }
    }

    /// A reply whose capabilities, with their places, are these.
    fn chain(capabilities: &[(usize, u16, u32)]) -> Vec<u8> {
        let mut payload = vec![0; 4096];
        let info = RegionInfo {
            flags: RegionFlags::from_bits(8),
            cap_offset: capabilities[0].0 as u32,
            ..RegionInfo::default()
        };
        payload[..32].copy_from_slice(&info.to_bytes());
        for &(at, id, next) in capabilities {
            let header = CapabilityHeader {
                id,
                version: 1,
                next,
            };
            payload[at..at + 8].copy_from_slice(&header.to_bytes());
        }
        payload
    }

    fn areas(payload: &[u8]) -> Result<Option<Vec<SparseArea>>, Malformed> {
        RegionInfo::parse(payload)?.areas(payload)
    }

    #[test]
    fn region_info_stands_where_the_specification_prints_it() {
        let bytes = ramp::<32>();
        let info = RegionInfo::parse(&bytes).unwrap();
        assert_eq!((info.argsz, info.flags.bits()), (0x0403_0201, 0x0807_0605));
        assert_eq!((info.index, info.cap_offset), (0x0c0b_0a09, 0x100f_0e0d));
        assert_eq!(info.size, 0x1817_1615_1413_1211);
        assert_eq!(info.offset, 0x201f_1e1d_1c1b_1a19);
        assert_eq!(info.to_bytes(), bytes);
        let flags = RegionFlags::from_bits(0);
        assert_eq!(flags.with_read(true).bits(), 1);
        assert_eq!(flags.with_write(true).bits(), 2);
        assert_eq!(flags.with_mmap(true).bits(), 4);
        assert_eq!(flags.with_caps(true).bits(), 8);
    }

    #[test]
    fn regions_have_the_numbers_of_vfio() {
        use region_index::*;
        let numbers = [BAR0, BAR1, BAR2, BAR3, BAR4, BAR5, ROM, CONFIG, VGA, COUNT];
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn the_area_that_can_be_mapped_follows_in_a_capability() {
        let mut payload = Vec::new();
        info().emit_with_areas(&[AREA], &mut payload);
        assert_eq!(payload, WITH_AREA);
        assert_eq!(RegionInfo::bytes_with_areas(1), 64);
        assert_eq!(areas(&payload), Ok(Some(vec![AREA])));
        payload.extend([0xff; 7]);
        assert_eq!(areas(&payload), Ok(Some(vec![AREA])));
    }

    #[test]
    fn a_reply_without_the_capability_limits_nothing() {
        assert_eq!(areas(&info().to_bytes()), Ok(None));
        let cut_off = &WITH_AREA[..32];
        assert_eq!(areas(cut_off), short(40, 32));
        let mut told = WITH_AREA;
        told[12] = 0;
        assert_eq!(areas(&told[..32]), Ok(None));
    }

    #[test]
    fn other_capabilities_are_passed_over() {
        let mut payload = chain(&[(0x100, 3, 0x40), (0x40, 2, 0x80), (0x80, 1, 0)]);
        payload[0x88] = 2;
        payload[0x90..0xa0].copy_from_slice(&AREA.to_bytes());
        payload[0xa0..0xb0].copy_from_slice(&WITH_AREA[48..]);
        assert_eq!(areas(&payload), Ok(Some(vec![AREA; 2])));
        assert_eq!(areas(&chain(&[(0x40, 2, 0)])), Ok(None));
    }

    #[test]
    fn chains_that_go_round_or_leave_the_payload_are_refused() {
        assert_eq!(areas(&chain(&[(0x40, 2, 0x40)])), field("next"));
        assert_eq!(areas(&chain(&[(0x40, 2, 31)])), field("cap_offset"));
        assert_eq!(areas(&chain(&[(0x40, 2, 4089)])), short(4097, 4096));
        assert_eq!(areas(&chain(&[(0x40, 2, 4090)])), short(4098, 4096));
        let most = u32::MAX as usize;
        assert_eq!(areas(&chain(&[(0x40, 2, u32::MAX)])), short(most + 8, 4096));
    }

    #[test]
    fn a_chain_may_be_as_long_as_the_limit() {
        let long = |links: usize, last: u16| {
            let mut links: Vec<_> = (0..links)
                .map(|link| (64 + 8 * link, 2, 72 + 8 * link as u32))
                .collect();
            let end = links.last_mut().unwrap();
            (end.1, end.2) = (last, 0);
            areas(&chain(&links))
        };
        let most = REGION_CAPABILITIES_MAX;
        assert_eq!(long(most, 2), Ok(None));
        assert_eq!(long(most, SparseMmap::ID), Ok(Some(vec![])));
        assert_eq!(long(most + 1, 2), field("next"));
        assert_eq!(long(most + 1, SparseMmap::ID), field("next"));
    }

    #[test]
    fn more_areas_than_there_are_bytes_or_than_the_limit_are_refused() {
        let with = |nr_areas: u32| {
            let mut payload = WITH_AREA.to_vec();
            payload[40..44].copy_from_slice(&nr_areas.to_le_bytes());
            areas(&payload)
        };
        assert_eq!(with(0), Ok(Some(vec![])));
        assert_eq!(with(2), short(80, 64));
        assert_eq!(with(SPARSE_AREAS_MAX), short(80, 64));
        assert_eq!(with(SPARSE_AREAS_MAX + 1), field("nr_areas"));
        assert_eq!(with(u32::MAX), field("nr_areas"));
        let mut version = WITH_AREA;
        version[34] = 2;
        assert_eq!(areas(&version), field("version"));
    }

    #[test]
    fn as_many_areas_as_the_limit_are_emitted_and_read() {
        let many: Vec<_> = (0..u64::from(SPARSE_AREAS_MAX))
            .map(|at| SparseArea {
                offset: at << 12,
                size: at,
            })
            .collect();
        let mut payload = Vec::new();
        info().emit_with_areas(&many, &mut payload);
        assert_eq!(
            payload.len() as u32,
            RegionInfo::bytes_with_areas(SPARSE_AREAS_MAX)
        );
        assert_eq!(areas(&payload), Ok(Some(many)));
    }
}

mod accesses {
    use super::*;

    #[test]
    fn region_accesses_stand_where_the_specification_prints_them() {
        let bytes = [
            0x08, 0x10, 0, 0, 0, 0, 0, 0x40, 7, 0, 0, 0, 4, 0, 0, 0, 0xa, 0xb, 0xc, 0xd,
        ];
        let access = RegionAccess {
            offset: 0x4000_0000_0000_1008,
            region: region_index::CONFIG,
            count: 4,
        };
        assert_eq!(RegionAccess::parse(&bytes[..16]), Ok(access));
        assert_eq!(access.to_bytes(), bytes[..16]);
        let write = RegionData {
            offset: access.offset,
            region: 7,
            data: &[0xa, 0xb, 0xc, 0xd],
        };
        assert_eq!(RegionData::parse(&bytes), Ok(write));
        assert_eq!(emitted!(write), bytes);
        assert_eq!(RegionData::parse(&bytes[..19]), short(20, 19));
        let longer = [&bytes[..], &[0xff; 9]].concat();
        assert_eq!(RegionData::parse(&longer), Ok(write));
    }

    #[test]
    fn dma_accesses_stand_where_the_specification_prints_them() {
        let bytes = [
            0, 0x20, 1, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 0, 0, 0, 0, 0xa, 0xb,
        ];
        let access = DmaAccess {
            address: 0x8000_0000_0001_2000,
            count: 2,
        };
        assert_eq!(DmaAccess::parse(&bytes[..16]), Ok(access));
        assert_eq!(access.to_bytes(), bytes[..16]);
        let write = DmaData {
            address: access.address,
            data: &[0xa, 0xb],
        };
        assert_eq!(DmaData::parse(&bytes), Ok(write));
        assert_eq!(emitted!(write), bytes);
        assert_eq!(DmaData::parse(&bytes[..17]), short(18, 17));
    }

    #[test]
    fn a_count_beyond_the_limit_is_refused_before_its_data_are_looked_for() {
        let region = |offset, count| {
            RegionAccess::parse(
                &RegionAccess {
                    offset,
                    region: 0,
                    count,
                }
                .to_bytes(),
            )
            .map(|access| access.count)
        };
        assert_eq!(region(0, DATA_BYTES_MAX), Ok(DATA_BYTES_MAX));
        assert_eq!(region(0, DATA_BYTES_MAX + 1), field("count"));
        assert_eq!(region(u64::MAX, 1), field("offset"));
        assert_eq!(region(u64::MAX, 0), Ok(0));
        let dma = |address, count| {
            DmaAccess::parse(&DmaAccess { address, count }.to_bytes()).map(|access| access.count)
        };
        let most = u64::from(DATA_BYTES_MAX);
        assert_eq!(dma(0, most), Ok(most));
        assert_eq!(dma(0, most + 1), field("count"));
        assert_eq!(dma(0, 1 << 32), field("count"));
        assert_eq!(dma(u64::MAX, 1), field("address"));
        assert_eq!(RegionAccess::parse(&[0; 15]), short(16, 15));
        assert_eq!(DmaAccess::parse(&[0; 15]), short(16, 15));
    }

    #[test]
    fn writes_of_one_message_stand_behind_each_other() {
        let bytes = [
            2, 0, 0, 0, 0, 0, 0, 0, //
            0, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, //
            4, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1,
        ];
        let writes = [
            RegionWrite {
                offset: 0x1000,
                region: 1,
                count: 4,
                data: [1, 2, 3, 4, 0, 0, 0, 0],
            },
            RegionWrite {
                offset: 0x1004,
                region: 2,
                count: 8,
                data: [8, 7, 6, 5, 4, 3, 2, 1],
            },
        ];
        let multi = RegionWriteMulti::parse(&bytes).unwrap();
        assert_eq!(multi.iter().collect::<Vec<_>>(), writes);
        assert_eq!(writes[0].counted(), [1, 2, 3, 4]);
        let mut payload = Vec::new();
        RegionWriteMulti::emit(&writes, &mut payload);
        assert_eq!(payload, bytes);
        let short_of_one = RegionWriteMulti::parse(&bytes[..55]);
        assert_eq!(short_of_one, short(56, 55));
    }

    #[test]
    fn wrong_writes_of_one_message_are_refused() {
        let with = |count: u64, write: RegionWrite| {
            let mut payload = count.to_le_bytes().to_vec();
            for _ in 0..MULTI_WRITES_MAX {
                payload.extend(write.to_bytes());
            }
            RegionWriteMulti::parse(&payload).map(|multi| multi.iter().len())
        };
        let write = RegionWrite::default();
        assert_eq!(with(0, write), Ok(0));
        assert_eq!(with(200, write), Ok(200));
        assert_eq!(with(201, write), field("wr_cnt"));
        assert_eq!(with(u64::MAX, write), field("wr_cnt"));
        assert_eq!(with(3, RegionWrite { count: 9, ..write }), field("count"));
        let last = RegionWrite {
            offset: u64::MAX,
            count: 1,
            ..write
        };
        assert_eq!(with(3, last), field("offset"));
        assert_eq!(RegionWriteMulti::parse(&[0; 7]), short(8, 7));
    }
}
