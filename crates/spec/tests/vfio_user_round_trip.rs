//! For every parser of vfio-user: no bytes make it panic, and what was emitted is read as the same value.

use proptest::collection::vec;
use proptest::prelude::*;
use spec::Malformed;
use spec::vfio_user::limits::{MESSAGE_BYTES_MAX, SPARSE_AREAS_MAX};
use spec::vfio_user::{
    CapabilityHeader, Command, DeviceFeature, DeviceInfo, DmaAccess, DmaData, DmaMap, DmaUnmap,
    DmaWritten, Header, IrqInfo, RegionAccess, RegionData, RegionInfo, RegionIoFds, RegionWrite,
    RegionWriteMulti, RegionWritesDone, SetIrqs, SparseArea, SparseMmap, Version,
};

/// What a value appends to an empty payload.
macro_rules! emitted {
    ($value:expr) => {{
        let mut payload = Vec::new();
        $value.emit(&mut payload);
        payload
    }};
}

/// Checks one structure of fixed size: whatever is long enough is read, and emitted as it was.
macro_rules! fixed {
    ($bytes:expr, $($name:ident)*) => {$(
        match $name::parse($bytes) {
            Err(trouble) => {
                let wanted = Malformed::Short { wanted: $name::BYTES, found: $bytes.len() };
                prop_assert_eq!(trouble, wanted);
            }
            Ok(value) => {
                let emitted = value.to_bytes();
                for (at, byte) in emitted.iter().enumerate() {
                    let named = $name::FIELDS.iter().any(|&(_, first, len)| (first..first + len).contains(&at));
                    prop_assert_eq!(*byte, if named { $bytes[at] } else { 0 }, "byte {} of {}", at, stringify!($name));
                }
                prop_assert_eq!($name::parse(&emitted), Ok(value));
            }
        }
    )*};
}

/// Numbers that are mostly small, so that counts and places are often right.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, 0..300_u32, any::<u32>()]
}

/// Payloads of such numbers, cut off anywhere.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let words = vec(number(), 0..80);
    (words, 0..4_usize).prop_map(|(words, cut)| {
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes[..bytes.len().saturating_sub(cut)].to_vec()
    })
}

proptest! {
    #[test]
    fn structures_survive_any_bytes_and_are_emitted_as_they_were(bytes in vec(any::<u8>(), 0..48)) {
        fixed!(&bytes, CapabilityHeader DeviceFeature DeviceInfo DmaMap DmaUnmap DmaWritten IrqInfo RegionInfo
            RegionIoFds RegionWrite RegionWritesDone SparseArea SparseMmap);
    }

    #[test]
    fn a_header_survives_any_bytes_and_reads_back(mut bytes in any::<[u8; 16]>(), size in number(), kind in 0..2_u8) {
        let _ = Header::parse(&bytes);
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[8] = bytes[8] & 0xf0 | kind;
        match Header::parse(&bytes) {
            Err(_) => prop_assert!(!(16..=MESSAGE_BYTES_MAX).contains(&size)),
            Ok(header) => {
                prop_assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
                prop_assert_eq!(&header.to_bytes()[..8], &bytes[..8]);
            }
        }
    }

    #[test]
    fn every_command_number_reads_back(code in any::<u16>()) {
        prop_assert_eq!(Command::from_code(code).code(), code);
    }

    #[test]
    fn a_version_survives_any_bytes_and_reads_back(
        bytes in vec(any::<u8>(), 0..32), major in any::<u16>(), minor in any::<u16>(), json in "[^\0]{0,64}",
    ) {
        if let Ok(version) = Version::parse(&bytes) {
            let again = emitted!(version);
            prop_assert_eq!(Version::parse(&again), Ok(version));
        }
        let version = Version { major, minor, json: &json };
        let again = emitted!(version);
        prop_assert_eq!(Version::parse(&again), Ok(version));
    }

    #[test]
    fn set_irqs_survives_any_bytes_and_reads_back(mut bytes in payload(), flags in 0..64_u32) {
        let _ = SetIrqs::parse(&bytes);
        if let Some(place) = bytes.get_mut(4..8) {
            place.copy_from_slice(&flags.to_le_bytes());
        }
        if let Ok(set) = SetIrqs::parse(&bytes) {
            let again = emitted!(set);
            prop_assert_eq!(SetIrqs::parse(&again), Ok(set));
            prop_assert_eq!(&again[4..], &bytes[4..again.len()]);
            prop_assert_eq!(u32::from_le_bytes(again[..4].try_into().unwrap()) as usize, again.len());
        }
    }

    #[test]
    fn areas_survive_any_bytes_and_read_back(mut bytes in payload(), at in number(), next in number()) {
        for (place, word) in [(4, 8), (12, at), (at as usize, 1 + (1 << 16)), (at as usize + 4, next)] {
            if let Some(place) = bytes.get_mut(place..place + 4) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        if let Ok(info) = RegionInfo::parse(&bytes)
            && let Ok(Some(areas)) = info.areas(&bytes)
        {
            prop_assert!(areas.len() <= SPARSE_AREAS_MAX as usize);
            let mut again = Vec::new();
            info.emit_with_areas(&areas, &mut again);
            let read = RegionInfo::parse(&again).unwrap();
            prop_assert_eq!((read.size, read.offset, read.index), (info.size, info.offset, info.index));
            prop_assert_eq!(read.argsz as usize, again.len());
            prop_assert_eq!(read.areas(&again), Ok(Some(areas)));
        }
    }

    #[test]
    fn accesses_survive_any_bytes_and_read_back(bytes in payload()) {
        if let Ok(access) = RegionAccess::parse(&bytes) {
            prop_assert_eq!(&access.to_bytes(), &bytes[..16]);
        }
        if let Ok(access) = DmaAccess::parse(&bytes) {
            prop_assert_eq!(&access.to_bytes(), &bytes[..16]);
        }
        if let Ok(data) = RegionData::parse(&bytes) {
            prop_assert_eq!(&emitted!(data), &bytes[..16 + data.data.len()]);
        }
        if let Ok(data) = DmaData::parse(&bytes) {
            prop_assert_eq!(&emitted!(data), &bytes[..16 + data.data.len()]);
        }
        if let Ok(multi) = RegionWriteMulti::parse(&bytes) {
            let writes: Vec<_> = multi.iter().collect();
            prop_assert!(writes.iter().all(|write| write.counted().len() == write.count as usize));
            let mut again = Vec::new();
            RegionWriteMulti::emit(&writes, &mut again);
            prop_assert_eq!(&again, &bytes[..again.len()]);
        }
    }

    #[test]
    fn data_of_any_length_read_back(data in vec(any::<u8>(), 0..600), offset in 0..u64::MAX / 2, region in any::<u32>()) {
        let write = RegionData { offset, region, data: &data };
        let again = emitted!(write);
        prop_assert_eq!(RegionData::parse(&again), Ok(write));
        let write = DmaData { address: offset, data: &data };
        let again = emitted!(write);
        prop_assert_eq!(DmaData::parse(&again), Ok(write));
    }
}
