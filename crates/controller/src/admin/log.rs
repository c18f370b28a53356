//! Get Log Page [NVMe Base 2.0 §5.16].

use spec::NamespaceId;
use spec::nvme::identify::NamespaceIdList;
use spec::nvme::log::{
    CommandEffects, CommandEffectsLog, FeatureEffects, FeatureEffectsLog, SupportedLogPages, scope,
};
use spec::nvme::{GetLogPage, Status, SubmissionEntry, log_id};

use crate::features::FEATURES;
use crate::{Answer, Controller, admin, io, logs};

/// Makes a whole log page; the command picks its part afterwards.
type Make = fn(&Controller) -> Vec<u8>;

/// An entry of the table of log pages.
struct Page {
    id: u8,
    make: Make,
}

/// Every log page that the controller has. To add one, add a line; the Supported Log Pages page follows from it.
const PAGES: &[Page] = &[
    Page {
        id: log_id::SUPPORTED_LOG_PAGES,
        make: |_| supported_pages(),
    },
    Page {
        id: log_id::ERROR_INFORMATION,
        make: |controller| controller.logs.error_page(),
    },
    Page {
        id: log_id::SMART,
        make: smart,
    },
    Page {
        id: log_id::FIRMWARE_SLOT,
        make: |controller| logs::firmware_page(&controller.config).to_bytes().to_vec(),
    },
    Page {
        id: log_id::CHANGED_NAMESPACES,
        make: changed_namespaces,
    },
    Page {
        id: log_id::COMMAND_EFFECTS,
        make: |_| command_effects(),
    },
    Page {
        id: log_id::FEATURE_EFFECTS,
        make: |_| feature_effects(),
    },
    // There is no management endpoint, so no NVMe-MI command is supported.
    Page {
        id: log_id::MI_COMMAND_EFFECTS,
        make: |_| vec![0; CommandEffectsLog::BYTES],
    },
];

/// Get Log Page. The part of the request beyond the end of the page is left as it was in the host's memory.
pub(super) fn get(controller: &mut Controller, entry: &SubmissionEntry) -> Result<Answer, Status> {
    let command = GetLogPage::parse(entry);
    let page = PAGES
        .iter()
        .find(|page| page.id == command.lid)
        .ok_or(Status::INVALID_LOG_PAGE)?;
    controller.check_log_request(&command, entry.nsid())?;
    let bytes = (page.make)(controller);
    let start = usize::try_from(command.offset.get()).map_err(|_| Status::INVALID_FIELD)?;
    let rest = bytes.get(start..).ok_or(Status::INVALID_FIELD)?;
    let wanted = usize::try_from(command.bytes()).unwrap_or(usize::MAX);
    let part = rest.get(..wanted).unwrap_or(rest);
    if !part.is_empty() {
        controller.copy_to_host(entry, part)?;
    }
    if !command.retain_event {
        controller.events.clear(command.lid);
        if command.lid == log_id::CHANGED_NAMESPACES {
            controller.logs.clear_changed_namespaces();
        }
        // Another event of the same type may have waited for this one to be read.
        controller.wake();
    }
    Ok(Answer::Done(Status::SUCCESS))
}

impl Controller {
    /// The checks that all log pages share. Every page is about the whole controller: SMART per namespace is not offered
    /// (Identify LPA).
    fn check_log_request(&mut self, command: &GetLogPage, nsid: NamespaceId) -> Result<(), Status> {
        if ![NamespaceId::NONE, NamespaceId::BROADCAST].contains(&nsid) {
            self.namespaces.active(nsid)?;
            return Err(Status::INVALID_FIELD);
        }
        let aligned = command.offset.get().is_multiple_of(4);
        let fits = command.bytes() <= self.config.transfer_bytes_max();
        if command.index_offset || !aligned || !fits {
            return Err(Status::INVALID_FIELD);
        }
        Ok(())
    }
}

fn supported_pages() -> Vec<u8> {
    let ids: Vec<u8> = PAGES.iter().map(|page| page.id).collect();
    SupportedLogPages::of(&ids).to_bytes().to_vec()
}

fn smart(controller: &Controller) -> Vec<u8> {
    let Controller {
        logs,
        counters,
        features,
        now,
        ..
    } = controller;
    logs.smart_page(counters, features, *now)
        .to_bytes()
        .to_vec()
}

fn changed_namespaces(controller: &Controller) -> Vec<u8> {
    controller
        .logs
        .changed_namespaces()
        .collect::<NamespaceIdList>()
        .to_bytes()
        .to_vec()
}

/// What the tables of admin and I/O commands say of themselves.
fn command_effects() -> Vec<u8> {
    let mut page = CommandEffectsLog::default();
    for command in admin::COMMANDS {
        let effects = CommandEffects::default()
            .with_supported(true)
            .with_scope(command.scope);
        page.set_admin(command.opcode, effects);
    }
    for command in io::COMMANDS {
        let effects = CommandEffects::default()
            .with_supported(true)
            .with_changes_blocks(command.changes_blocks)
            .with_scope(scope::NAMESPACE);
        page.set_io(command.opcode, effects);
    }
    page.to_bytes().to_vec()
}

/// What the table of features says of itself.
fn feature_effects() -> Vec<u8> {
    let mut page = FeatureEffectsLog::default();
    for feature in FEATURES {
        let scope = if feature.per_namespace {
            scope::NAMESPACE
        } else {
            scope::CONTROLLER
        };
        if let Some(place) = page.features.0.get_mut(usize::from(feature.id)) {
            *place = FeatureEffects::default()
                .with_supported(true)
                .with_scope(scope);
        }
    }
    page.to_bytes().to_vec()
}
