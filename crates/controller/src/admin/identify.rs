//! Identify: what the controller and its namespaces say of themselves [NVMe Base 2.0 §5.17].

use spec::nvme::identify::{
    AsyncEventsSupported, CSI_NVM, ControllerType, DeallocateFeatures, EntrySizes, FirmwareUpdates,
    IdentifyController, IdentifyNamespace, IndependentNamespace, IoCommandSets, LbaFormat,
    LogPageAttributes, NamespaceDescriptors, NamespaceIdList, NamespaceStatus,
    NvmIdentifyController, NvmIdentifyNamespace, OptionalNvmCommands, SubsystemReport,
    VolatileWriteCache, cns,
};
use spec::nvme::register::{CQ_ENTRY_SHIFT, SQ_ENTRY_SHIFT};
use spec::nvme::{Identify, Status, SubmissionEntry};
use spec::{BlockCount, Kelvin, NamespaceId, Text, ZeroBased};

use crate::namespace::Namespace;
use crate::registers::VERSION;
use crate::{Answer, Config, Controller, limits};

type Data = [u8; IdentifyController::BYTES];
type Make = fn(&Controller, &Identify, NamespaceId) -> Result<Data, Status>;

/// An entry of the table of data structures.
struct Structure {
    cns: u8,
    make: Make,
}

/// Every data structure that Identify returns. To add one, add a line.
const STRUCTURES: &[Structure] = &[
    Structure {
        cns: cns::NAMESPACE,
        make: namespace,
    },
    Structure {
        cns: cns::CONTROLLER,
        make: |controller, _, _| Ok(whole(controller).to_bytes()),
    },
    Structure {
        cns: cns::ACTIVE_NAMESPACES,
        make: namespace_list,
    },
    Structure {
        cns: cns::NAMESPACE_DESCRIPTORS,
        make: descriptors,
    },
    Structure {
        cns: cns::COMMAND_SET_NAMESPACE,
        make: nvm_namespace,
    },
    Structure {
        cns: cns::COMMAND_SET_CONTROLLER,
        make: nvm_controller,
    },
    Structure {
        cns: cns::COMMAND_SET_ACTIVE_NAMESPACES,
        make: nvm_namespace_list,
    },
    Structure {
        cns: cns::INDEPENDENT_NAMESPACE,
        make: independent_namespace,
    },
    // Every namespace that exists is attached, so "allocated" is "active".
    Structure {
        cns: cns::ALLOCATED_NAMESPACES,
        make: namespace_list,
    },
    Structure {
        cns: cns::ALLOCATED_NAMESPACE,
        make: namespace,
    },
    Structure {
        cns: cns::COMMAND_SETS,
        make: command_sets,
    },
];

/// Identify.
pub(super) fn serve(
    controller: &mut Controller,
    entry: &SubmissionEntry,
) -> Result<Answer, Status> {
    let command = Identify::parse(entry);
    let structure = STRUCTURES
        .iter()
        .find(|structure| structure.cns == command.cns)
        .ok_or(Status::INVALID_FIELD)?;
    let data = (structure.make)(controller, &command, entry.nsid())?;
    controller.copy_to_host(entry, &data)?;
    Ok(Answer::Done(Status::SUCCESS))
}

/// Identify Controller.
fn whole(controller: &Controller) -> IdentifyController {
    let config = &controller.config;
    let one_based = |count: u8| ZeroBased::<u8>::new(count.saturating_sub(1));
    IdentifyController {
        vid: config.vendor_id,
        ssvid: config.vendor_id,
        sn: Text::ascii(&config.serial),
        mn: Text::ascii(&config.model),
        fr: Text::ascii(&config.firmware),
        rab: RECOMMENDED_BURST,
        mdts: config.transfer_pages_shift,
        cntlid: config.controller_id,
        ver: VERSION,
        oaes: AsyncEventsSupported::default().with_namespace_attribute(true),
        cntrltype: ControllerType::IO,
        nvmsr: SubsystemReport::default().with_storage_device(true),
        acl: one_based(config.aborts),
        aerl: one_based(config.event_requests),
        frmw: FirmwareUpdates::default()
            .with_first_slot_read_only(true)
            .with_slots(1),
        lpa: LogPageAttributes::default()
            .with_command_effects(true)
            .with_extended_data(true)
            .with_supported_pages(true),
        elpe: ZeroBased::<u8>::new(const { (limits::ERROR_LOG_ENTRIES - 1) as u8 }),
        wctemp: Kelvin::new(limits::WARNING_TEMPERATURE_KELVIN),
        cctemp: Kelvin::new(limits::CRITICAL_TEMPERATURE_KELVIN),
        kas: const { (limits::KEEP_ALIVE_GRANULARITY_MS / 100) as u16 },
        sqes: EntrySizes::only(SQ_ENTRY_SHIFT),
        cqes: EntrySizes::only(CQ_ENTRY_SHIFT),
        nn: controller.namespaces.highest(),
        oncs: OptionalNvmCommands::default()
            .with_compare(true)
            .with_dataset_management(true)
            .with_write_zeroes(true)
            .with_verify(true)
            .with_save_and_select(true),
        vwc: VolatileWriteCache::default()
            .with_present(true)
            .with_flush_broadcast(VolatileWriteCache::BROADCAST_FLUSHES_ALL),
        subnqn: Text::null_terminated(&config.subsystem_nqn),
        ..Default::default()
    }
}

/// Identify's RAB, a power of two of commands: what one tick takes from a queue.
const RECOMMENDED_BURST: u8 = limits::BATCH_MAX.ilog2() as u8;

impl Controller {
    /// The namespace that Identify names.
    ///
    /// # Errors
    /// Invalid Namespace or Format for an identifier that no namespace can have, the broadcast one included.
    fn identified(&self, id: NamespaceId) -> Result<Option<&Namespace>, Status> {
        if (1..=self.namespaces.highest()).contains(&id.get()) {
            Ok(self.namespaces.get(id))
        } else {
            Err(Status::INVALID_NAMESPACE)
        }
    }
}

/// Identify Namespace. An identifier that could be active but is not reads as zeroes.
fn namespace(controller: &Controller, _: &Identify, id: NamespaceId) -> Result<Data, Status> {
    let Some(namespace) = controller.identified(id)? else {
        return Ok(IdentifyNamespace::default().to_bytes());
    };
    let blocks = BlockCount::new(namespace.blocks);
    let mut data = IdentifyNamespace {
        nsze: blocks,
        ncap: blocks,
        nuse: blocks,
        dlfeat: DeallocateFeatures::default()
            .with_read_as(DeallocateFeatures::READS_ZEROS)
            .with_write_zeroes_deallocate(true),
        nvmcap: u128::from(namespace.blocks) * u128::from(namespace.block_size().bytes()),
        ..Default::default()
    };
    if let Some(format) = data.lbaf.0.first_mut() {
        *format = LbaFormat::plain(namespace.block_shift as u8);
    }
    Ok(data.to_bytes())
}

/// Active Namespace ID list: the identifiers above NSID.
fn namespace_list(
    controller: &Controller,
    _: &Identify,
    after: NamespaceId,
) -> Result<Data, Status> {
    // The last two identifiers have none above them that could be valid.
    if after.get() >= NamespaceId::BROADCAST.get() - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let above = controller
        .namespaces
        .iter()
        .map(|namespace| namespace.id)
        .filter(|id| *id > after);
    Ok(above.collect::<NamespaceIdList>().to_bytes())
}

/// The same list for one I/O command set.
fn nvm_namespace_list(
    controller: &Controller,
    command: &Identify,
    after: NamespaceId,
) -> Result<Data, Status> {
    check_command_set(command)?;
    namespace_list(controller, command, after)
}

fn descriptors(controller: &Controller, _: &Identify, id: NamespaceId) -> Result<Data, Status> {
    let namespace = controller
        .identified(id)?
        .ok_or(Status::INVALID_NAMESPACE)?;
    let mut data = [0; NamespaceDescriptors::BYTES];
    NamespaceDescriptors {
        uuid: Some(uuid(&controller.config, namespace.id)),
        csi: Some(CSI_NVM),
        ..Default::default()
    }
    .emit(&mut data);
    Ok(data)
}

/// A UUID that is the namespace's as long as subsystem, serial number and identifier stay the same: custom (version 8,
/// RFC 9562), as nobody here may roll dice.
fn uuid(config: &Config, id: NamespaceId) -> [u8; 16] {
    let mut uuid = [0; 16];
    for (half, seed) in uuid.chunks_exact_mut(8).zip([FNV_OFFSET, !FNV_OFFSET]) {
        let parts = [
            config.subsystem_nqn.as_bytes(),
            config.serial.as_bytes(),
            &id.get().to_le_bytes(),
        ];
        let hash = parts.into_iter().flatten().fold(seed, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
        });
        half.copy_from_slice(&hash.to_be_bytes());
    }
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut uuid;
    *version = 0x80 + *version % 0x10;
    *variant = 0x80 + *variant % 0x40;
    uuid
}

/// The constants of the hash FNV-1a for 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Refuses command sets other than NVM.
fn check_command_set(command: &Identify) -> Result<(), Status> {
    if command.csi == CSI_NVM {
        Ok(())
    } else {
        Err(Status::INVALID_FIELD)
    }
}

/// I/O Command Set specific Identify Namespace: no protection information, hence nothing to say.
fn nvm_namespace(
    controller: &Controller,
    command: &Identify,
    id: NamespaceId,
) -> Result<Data, Status> {
    check_command_set(command)?;
    controller.identified(id)?;
    Ok(NvmIdentifyNamespace::default().to_bytes())
}

/// I/O Command Set specific Identify Controller: no limit beyond those of the commands' own fields.
fn nvm_controller(_: &Controller, command: &Identify, _: NamespaceId) -> Result<Data, Status> {
    check_command_set(command)?;
    Ok(NvmIdentifyController::default().to_bytes())
}

fn independent_namespace(
    controller: &Controller,
    _: &Identify,
    id: NamespaceId,
) -> Result<Data, Status> {
    let ready = controller.identified(id)?.is_some();
    let nstat = NamespaceStatus::default().with_ready(ready);
    Ok(IndependentNamespace {
        nstat,
        ..Default::default()
    }
    .to_bytes())
}

/// Identify I/O Command Set, for this controller by its own identifier or by FFFFh.
fn command_sets(
    controller: &Controller,
    command: &Identify,
    _: NamespaceId,
) -> Result<Data, Status> {
    if ![controller.config.controller_id, THIS_CONTROLLER].contains(&command.cntid) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(IoCommandSets::nvm_only().to_bytes())
}

/// The controller identifier that stands for the controller that processes the command.
const THIS_CONTROLLER: u16 = 0xffff;
