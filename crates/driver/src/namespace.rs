//! The namespaces of a controller, as far as the driver has to know them.

use spec::nvme::{IdentifyNamespace, NamespaceIdList};
use spec::{BlockCount, NamespaceId};

use crate::error::DriverError;
use crate::limits;

/// An active namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its identifier.
    pub id: NamespaceId,
    /// Logical blocks.
    pub blocks: BlockCount,
    /// The size of a logical block as a power of two, 9 to 16.
    pub block_shift: u32,
    /// Bytes of metadata with each block. The driver moves no metadata, so anything but zero keeps [`crate::BlockDevice`]
    /// away.
    pub metadata_bytes: u16,
    /// Namespace Globally Unique Identifier; zeros if there is none.
    pub nguid: [u8; 16],
}

impl Namespace {
    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        1 << self.block_shift
    }

    /// Bytes of the namespace. The product fits: bring-up refuses a namespace that is larger.
    pub fn bytes(&self) -> u64 {
        self.blocks.get() << self.block_shift
    }

    /// What Identify Namespace says; nothing for a namespace without blocks, which is on the point of going away.
    ///
    /// # Errors
    /// When it says what cannot be, or has blocks that the driver cannot use.
    pub(crate) fn parse(
        id: NamespaceId,
        found: &IdentifyNamespace,
    ) -> Result<Option<Self>, DriverError> {
        if found.nsze.get() == 0 {
            return Ok(None);
        }
        let format = found.format();
        let block_shift = u32::from(format.lbads());
        if !(limits::BLOCK_SHIFT_MIN..=limits::BLOCK_SHIFT_MAX).contains(&block_shift) {
            return Err(DriverError::BadAnswer {
                what: "LBADS of the namespace's format",
                wanted: "9 to 16",
                found: format!("{block_shift} (namespace {id})"),
            });
        }
        if found.nsze.get() > u64::MAX >> block_shift {
            return Err(DriverError::BadAnswer {
                what: "NSZE",
                wanted: "a capacity below 2^64 bytes",
                found: format!(
                    "{} blocks of 2^{block_shift} bytes (namespace {id})",
                    found.nsze
                ),
            });
        }
        Ok(Some(Self {
            id,
            blocks: found.nsze,
            block_shift,
            metadata_bytes: format.ms(),
            nguid: found.nguid,
        }))
    }
}

/// The identifiers of all active namespaces, gathered list by list.
#[derive(Debug, Default)]
pub(crate) struct ActiveIds(Vec<NamespaceId>);

impl ActiveIds {
    /// The identifier that the next list shall begin behind.
    pub(crate) fn last(&self) -> NamespaceId {
        self.0.last().copied().unwrap_or(NamespaceId::NONE)
    }

    /// Takes a list in; says whether there may be another.
    ///
    /// # Errors
    /// When the identifiers do not rise, which could go on for ever, or are more than the driver looks at.
    pub(crate) fn extend(&mut self, list: &NamespaceIdList) -> Result<bool, DriverError> {
        let mut count = 0;
        for id in list.iter() {
            let last = self.last();
            if id <= last || !id.is_valid() {
                return Err(DriverError::BadAnswer {
                    what: "Active Namespace ID list",
                    wanted: "valid identifiers in rising order",
                    found: format!("{id} after {last}"),
                });
            }
            if self.0.len() == limits::NAMESPACES_MAX {
                return Err(DriverError::Unsupported {
                    what: "active namespaces",
                    wanted: "8192 at most",
                    found: "more".into(),
                });
            }
            self.0.push(id);
            count += 1;
        }
        Ok(count == NamespaceIdList::CAPACITY)
    }

    /// What was gathered.
    pub(crate) fn into_ids(self) -> Vec<NamespaceId> {
        self.0
    }
}

const _: () = assert!(limits::NAMESPACES_MAX == 8192, "an error message says so");

#[cfg(test)]
mod tests {
    use super::*;
    use spec::nvme::identify::LbaFormat;

    fn identify(blocks: u64, shift: u8) -> IdentifyNamespace {
        let mut found = IdentifyNamespace {
            nsze: BlockCount::new(blocks),
            ..Default::default()
        };
        found.lbaf.0[0] = LbaFormat::plain(shift);
        found
    }

    #[test]
    fn a_namespace_says_its_size_in_bytes() {
        let id = NamespaceId::new(7);
        let found = Namespace::parse(id, &identify(1000, 12)).unwrap().unwrap();
        assert_eq!((found.block_bytes(), found.bytes()), (4096, 4_096_000));
    }

    #[test]
    fn impossible_block_sizes_and_capacities_are_refused_and_no_blocks_is_no_namespace() {
        let id = NamespaceId::new(7);
        assert!(Namespace::parse(id, &identify(1, 8)).is_err());
        assert!(Namespace::parse(id, &identify(1, 255)).is_err());
        assert!(Namespace::parse(id, &identify(u64::MAX, 9)).is_err());
        assert_eq!(Namespace::parse(id, &identify(0, 0)), Ok(None));
    }

    #[test]
    fn identifiers_that_do_not_rise_are_refused() {
        let list = |ids: &[u32]| ids.iter().copied().map(NamespaceId::new).collect();
        assert_eq!(ActiveIds::default().extend(&list(&[1, 5, 9])), Ok(false));
        assert!(ActiveIds::default().extend(&list(&[1, 5, 5])).is_err());
        assert!(ActiveIds::default().extend(&list(&[u32::MAX])).is_err());
    }

    #[test]
    fn a_full_list_asks_for_another_and_the_total_is_bounded() {
        let mut ids = ActiveIds::default();
        for page in 0..8 {
            let list = (1..=1024)
                .map(|n| NamespaceId::new(page * 1024 + n))
                .collect();
            assert_eq!(ids.extend(&list), Ok(true));
        }
        assert!(
            ids.extend(&[NamespaceId::new(9000)].into_iter().collect())
                .is_err()
        );
        assert_eq!(ids.into_ids().len(), limits::NAMESPACES_MAX);
    }
}
