//! One namespace as the engine sees it.

use driver::{AdminData, Device, DriverError, Link, Namespace};
use spec::nvme::identify::DeallocateFeatures;
use spec::nvme::{Identify, IdentifyNamespace, SubmissionEntry, admin_opcode, cns};
use spec::{CommandId, NamespaceId};

/// A namespace, and what the engine found out about it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its identifier.
    pub id: NamespaceId,
    /// Bytes.
    pub bytes: u64,
    /// The size of a logical block as a power of two.
    pub block_shift: u32,
    /// Blocks of one Read or Write.
    pub(super) blocks_max: u32,
    /// Blocks of one Write Zeroes; none if the controller has no such command.
    pub(super) zeroes_blocks_max: Option<u32>,
    /// Blocks of one deallocated range; none if the namespace does not promise that they read as zeros.
    pub(super) discard_blocks_max: Option<u32>,
}

impl Volume {
    /// Looks at a namespace. `piece_bytes` is what one command may move at most.
    ///
    /// # Errors
    /// When its blocks have metadata or are larger than a command, or the controller does not answer.
    pub(super) fn look_at<L: Link>(
        device: &mut Device<L>,
        namespace: &Namespace,
        piece_bytes: u32,
    ) -> Result<Self, DriverError> {
        if namespace.metadata_bytes != 0 {
            return Err(DriverError::Unsupported {
                what: "MS of the namespace's format",
                wanted: "no metadata",
                found: format!(
                    "{} bytes with each block of namespace {}",
                    namespace.metadata_bytes, namespace.id
                ),
            });
        }
        let block_shift = namespace.block_shift;
        let blocks_max = piece_bytes >> block_shift;
        if blocks_max == 0 {
            return Err(DriverError::Unsupported {
                what: "MDTS",
                wanted: "transfers of a whole logical block",
                found: format!(
                    "{piece_bytes} bytes for blocks of {} in namespace {}",
                    namespace.block_bytes(),
                    namespace.id
                ),
            });
        }
        let offers = device.identify().oncs;
        let zeroed = offers.dataset_management() && reads_zeros(device, namespace.id)?;
        Ok(Self {
            id: namespace.id,
            bytes: namespace.bytes(),
            block_shift,
            blocks_max: blocks_max.min(driver::limits::COMMAND_BLOCKS_MAX),
            zeroes_blocks_max: offers
                .write_zeroes()
                .then(|| device.zeroes_blocks_max(block_shift)),
            discard_blocks_max: zeroed.then(|| device.discard_blocks_max()),
        })
    }
}

/// Whether deallocated blocks read as zeros (DLFEAT) [NVM Command Set 1.0 §3.2.3.2].
fn reads_zeros<L: Link>(device: &mut Device<L>, id: NamespaceId) -> Result<bool, DriverError> {
    let identify = Identify {
        cns: cns::NAMESPACE,
        ..Identify::default()
    };
    let entry = SubmissionEntry::new(admin_opcode::IDENTIFY, CommandId::new(0), id);
    let mut bytes = [0; IdentifyNamespace::BYTES];
    device.admin(identify.emit(entry), AdminData::FromController(&mut bytes))?;
    // Bring-up has understood the same structure; whoever now sends another promises nothing.
    Ok(IdentifyNamespace::parse(&bytes)
        .is_ok_and(|found| found.dlfeat.read_as() == DeallocateFeatures::READS_ZEROS))
}
