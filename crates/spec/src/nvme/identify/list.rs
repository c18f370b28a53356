//! The lists that Identify returns.

use crate::layout::{Malformed, Series, prefix};
use crate::types::NamespaceId;

layout! {
    /// A Namespace List (CNS 02h, 07h, 10h, 1Ah; also the Changed Namespace List log page): identifiers in increasing order,
    /// ended by zero if there are fewer than 1024 [NVMe Base 2.0 "Namespace List"].
    NamespaceIdList[4096] {
        /// The identifiers, zeros behind the last one.
        0 => ids: Series<NamespaceId, 1024>,
    }
}

impl NamespaceIdList {
    /// Identifiers that fit one list.
    pub const CAPACITY: usize = 1024;

    /// A Changed Namespace List that says that more than 1024 namespaces changed: FFFFFFFFh alone.
    pub fn overflow() -> Self {
        [NamespaceId::BROADCAST].into_iter().collect()
    }

    /// Whether this is a Changed Namespace List that says that more than 1024 namespaces changed.
    pub fn is_overflow(&self) -> bool {
        self.ids.0.first() == Some(&NamespaceId::BROADCAST)
    }

    /// The identifiers before the first zero.
    pub fn iter(&self) -> impl Iterator<Item = NamespaceId> + '_ {
        self.ids
            .0
            .iter()
            .copied()
            .take_while(|&id| id != NamespaceId::NONE)
    }
}

impl FromIterator<NamespaceId> for NamespaceIdList {
    /// Takes the first 1024 identifiers, which must come in increasing order.
    fn from_iter<I: IntoIterator<Item = NamespaceId>>(ids: I) -> Self {
        let mut list = Self::default();
        for (place, id) in list.ids.0.iter_mut().zip(ids) {
            *place = id;
        }
        list
    }
}

bit_fields! {
    /// One combination of I/O command sets that can be enabled together.
    CommandSetVector(u64) {
        /// NVM command set.
        nvm, with_nvm: bool = 0;
        /// Key Value command set.
        key_value, with_key_value: bool = 1;
        /// Zoned Namespace command set.
        zoned, with_zoned: bool = 2;
    }
}

layout! {
    /// Identify I/O Command Set (CNS 1Ch) [NVMe Base 2.0 §5.17.2.21 Identify I/O Command Set]: combinations, ended by zero if there are fewer than
    /// 512.
    IoCommandSets[4096] {
        /// The combinations.
        0 => vectors: Series<CommandSetVector, 512>,
    }
}

impl IoCommandSets {
    /// The NVM command set and nothing else.
    pub fn nvm_only() -> Self {
        let mut sets = Self::default();
        if let Some(first) = sets.vectors.0.first_mut() {
            *first = first.with_nvm(true);
        }
        sets
    }
}

/// Namespace Identifier Types (NIDT) and the bytes of each.
const EUI64: u8 = 1;
const NGUID: u8 = 2;
const UUID: u8 = 3;
const CSI: u8 = 4;

/// Type, length and two reserved bytes before each identifier.
const HEADER_BYTES: usize = 4;

/// The Namespace Identification Descriptor list (CNS 03h) [NVMe Base 2.0 §5.17.2.3 Namespace Identification Descriptor list]: how a namespace is known to the world.
/// Identifiers are big-endian, as they are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceDescriptors {
    /// IEEE Extended Unique Identifier.
    pub eui64: Option<[u8; 8]>,
    /// Namespace Globally Unique Identifier.
    pub nguid: Option<[u8; 16]>,
    /// Namespace UUID.
    pub uuid: Option<[u8; 16]>,
    /// Command Set Identifier.
    pub csi: Option<u8>,
}

impl NamespaceDescriptors {
    /// Bytes on the wire.
    pub const BYTES: usize = 4096;

    /// Reads the list. Types that have no name are passed over.
    ///
    /// # Errors
    /// If there are fewer than 4096 bytes, a descriptor runs past them, has a length that is not its type's, or comes twice.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let bytes: &[u8; Self::BYTES] = prefix(bytes)?;
        let mut found = Self::default();
        let mut rest = bytes.as_slice();
        while let Some(([kind, len, _, _], tail)) = rest.split_first_chunk::<HEADER_BYTES>() {
            if *len == 0 {
                break;
            }
            let (id, tail) = tail
                .split_at_checked(usize::from(*len))
                .ok_or(Malformed::Field { name: "NIDL" })?;
            match *kind {
                EUI64 => once(&mut found.eui64, id)?,
                NGUID => once(&mut found.nguid, id)?,
                UUID => once(&mut found.uuid, id)?,
                CSI => {
                    let mut csi = found.csi.map(|csi| [csi]);
                    once(&mut csi, id)?;
                    found.csi = csi.map(|[csi]| csi);
                }
                _ => {}
            }
            rest = tail;
        }
        Ok(found)
    }

    /// Writes the list, zeros behind it.
    pub fn emit(&self, bytes: &mut [u8; Self::BYTES]) {
        bytes.fill(0);
        let mut rest = bytes.as_mut_slice();
        if let Some(id) = &self.eui64 {
            rest = descriptor(rest, EUI64, id);
        }
        if let Some(id) = &self.nguid {
            rest = descriptor(rest, NGUID, id);
        }
        if let Some(id) = &self.uuid {
            rest = descriptor(rest, UUID, id);
        }
        // The planted bug forgets the last descriptor when the one before it is missing.
        let forgotten = cfg!(fuzz_planted_bug) && self.nguid.is_some() && self.uuid.is_none();
        if let Some(id) = self.csi.filter(|_| !forgotten) {
            descriptor(rest, CSI, &[id]);
        }
    }
}

fn once<const N: usize>(place: &mut Option<[u8; N]>, id: &[u8]) -> Result<(), Malformed> {
    let id = id
        .try_into()
        .map_err(|_| Malformed::Field { name: "NIDL" })?;
    match place.replace(id) {
        None => Ok(()),
        Some(_) => Err(Malformed::Field { name: "NIDT" }),
    }
}

/// Writes one descriptor and returns what is left. All four together take 57 bytes, so there is room.
fn descriptor<'b, const N: usize>(bytes: &'b mut [u8], kind: u8, id: &[u8; N]) -> &'b mut [u8] {
    let (header, rest) = bytes.split_at_mut(HEADER_BYTES);
    let (place, rest) = rest.split_at_mut(N);
    header.copy_from_slice(&[kind, const { N as u8 }, 0, 0]);
    place.copy_from_slice(id);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_follow_each_other_and_end_with_a_length_of_zero() {
        let descriptors = NamespaceDescriptors {
            eui64: Some([1; 8]),
            nguid: None,
            uuid: Some([3; 16]),
            csi: Some(0),
        };
        let mut bytes = [0xff; 4096];
        descriptors.emit(&mut bytes);
        assert_eq!(bytes[..5], [1, 8, 0, 0, 1]);
        assert_eq!(bytes[12..17], [3, 16, 0, 0, 3]);
        assert_eq!(bytes[32..37], [4, 1, 0, 0, 0]);
        assert!(bytes[37..].iter().all(|&byte| byte == 0));
        assert_eq!(NamespaceDescriptors::parse(&bytes), Ok(descriptors));
    }

    #[test]
    fn a_descriptor_of_a_wrong_length_or_a_second_one_is_refused() {
        let mut bytes = [0; 4096];
        bytes[..2].copy_from_slice(&[NGUID, 8]);
        assert_eq!(
            NamespaceDescriptors::parse(&bytes),
            Err(Malformed::Field { name: "NIDL" })
        );
        bytes[..2].copy_from_slice(&[CSI, 1]);
        bytes[5..7].copy_from_slice(&[CSI, 1]);
        assert_eq!(
            NamespaceDescriptors::parse(&bytes),
            Err(Malformed::Field { name: "NIDT" })
        );
    }

    #[test]
    fn a_descriptor_of_an_unknown_type_is_passed_over() {
        let mut bytes = [0; 4096];
        bytes[..2].copy_from_slice(&[9, 3]);
        bytes[7..9].copy_from_slice(&[CSI, 1]);
        bytes[11] = 2;
        assert_eq!(
            NamespaceDescriptors::parse(&bytes).map(|found| found.csi),
            Ok(Some(2))
        );
    }

    #[test]
    fn a_descriptor_that_runs_past_the_list_is_refused() {
        let mut bytes = [0; 4096];
        for chunk in bytes.chunks_mut(259) {
            chunk[..2].copy_from_slice(&[9, 255]);
        }
        assert_eq!(
            NamespaceDescriptors::parse(&bytes),
            Err(Malformed::Field { name: "NIDL" })
        );
    }

    #[test]
    fn a_namespace_list_ends_at_the_first_zero_and_takes_no_more_than_1024() {
        let list: NamespaceIdList = (1..=2000).map(NamespaceId::new).collect();
        assert_eq!(list.iter().count(), 1024);
        let list: NamespaceIdList = [3, 5].map(NamespaceId::new).into_iter().collect();
        assert_eq!(list.to_bytes()[..12], [3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            list.iter().collect::<Vec<_>>(),
            [3, 5].map(NamespaceId::new)
        );
        assert!(NamespaceIdList::overflow().is_overflow());
        assert!(!list.is_overflow());
    }

    #[test]
    fn the_nvm_command_set_is_bit_0_of_the_first_combination() {
        let bytes = IoCommandSets::nvm_only().to_bytes();
        assert_eq!(bytes[0], 1);
        assert!(bytes[1..].iter().all(|&byte| byte == 0));
    }
}
