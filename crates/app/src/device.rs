//! From a device URI to an opened device.

mod media;

use anyhow::{Context as _, anyhow};
use driver::{Device, Link, Options};
use local::{Blueprint, Inline, Threaded};
use spec::NamespaceId;

use crate::clock;
use crate::failure::Failure;
use crate::files::Fresh;
use crate::lab::Lab;
use crate::uri::{Emulated, Placement, Uri};

use self::media::namespace_bytes;
pub(crate) use self::media::{Opened, logs, open_media, profile};

/// The device of a URI, if this version can open it.
pub(crate) fn require_built(uri: &Uri) -> Result<&Emulated, Failure> {
    uri.require_built().map_err(Failure::environment)
}

/// Refuses a namespace that a device has not.
pub(crate) fn check_nsid(device: &Emulated, nsid: u32) -> Result<(), Failure> {
    let count = device.namespaces;
    if (1..=count).contains(&nsid) {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "--nsid: {nsid} is not possible; allowed: 1 to the device's namespaces, {count}"
    )))
}

/// Bytes of a logical block and blocks of a namespace, known before anything is opened or made.
pub(crate) fn shape(device: &Emulated) -> Result<(u32, u64), Failure> {
    let bytes = namespace_bytes(device)?;
    let block = device.block_size.bytes();
    Ok((block as u32, bytes / block))
}

/// Opens a device whose controller runs in the thread that drives it.
pub(crate) fn open_inline(device: &Emulated) -> Result<Device<Inline>, Failure> {
    let mut fresh = Fresh::default();
    let link = Inline::new(blueprint(device, &mut fresh)?, clock::now)
        .with_context(|| format!("wanted to emulate {device}"))
        .map_err(Failure::environment)?;
    let opened = bring_up(device, link)?;
    fresh.keep();
    Ok(opened)
}

/// Opens a device whose controller runs in a thread of its own, pinned to a CPU if one is named.
pub(crate) fn open_threaded(
    device: &Emulated,
    cpu: Option<usize>,
) -> Result<Device<Threaded>, Failure> {
    let pin = move || {
        // A figure of an unpinned thread is still a figure; the report says where threads were wanted.
        let _ = cpu.map(bench::ceiling::placement::pin);
    };
    let mut fresh = Fresh::default();
    let link = Threaded::new(blueprint(device, &mut fresh)?, clock::now, pin)
        .with_context(|| format!("wanted to emulate {device} in a thread of its own"))
        .map_err(Failure::environment)?;
    let opened = bring_up(device, link)?;
    fresh.keep();
    Ok(opened)
}

fn bring_up<L: Link>(device: &Emulated, link: L) -> Result<Device<L>, Failure> {
    Device::open(link, Options::default())
        .with_context(|| format!("wanted to bring up {device}"))
        .map_err(Failure::environment)
}

/// Where the controller of a lab runs, if nobody says otherwise: in a thread of its own as soon as one device wants that, since
/// all share one controller.
pub(crate) fn placement(lab: &Lab) -> Placement {
    let thread = |line: &crate::lab::NamespaceLine| line.device.controller == Placement::Thread;
    if lab.namespaces.iter().any(thread) {
        Placement::Thread
    } else {
        Placement::Inline
    }
}

/// What the controller of a lab is made of, and what a user should know of its media. Files that were made are noted.
pub(crate) fn blueprint_of(
    lab: &Lab,
    fresh: &mut Fresh,
) -> Result<(Blueprint, Vec<String>), Failure> {
    let mut namespaces = Vec::new();
    let mut remarks = Vec::new();
    let devices: Vec<&Emulated> = lab.namespaces.iter().map(|line| &line.device).collect();
    for (line, media) in lab.namespaces.iter().zip(open_media(&devices, fresh)?) {
        for (id, opened) in (line.id..).zip(media) {
            remarks.extend(opened.remarks);
            namespaces.push(controller::NamespaceConfig {
                id: NamespaceId::new(id),
                media: opened.media,
            });
        }
    }
    let mut blueprint = Blueprint::new(namespaces);
    let (config, wanted) = (&mut blueprint.config, &lab.controller);
    if let Some(serial) = &wanted.serial {
        config.serial.clone_from(serial);
    }
    if let Some(model) = &wanted.model {
        config.model.clone_from(model);
    }
    config.queue_pairs = wanted.queue_pairs.unwrap_or(config.queue_pairs);
    config.transfer_pages_shift = wanted
        .transfer_pages_shift
        .unwrap_or(config.transfer_pages_shift);
    Ok((blueprint, remarks))
}

/// Opens a device made of several others, whose controller runs in the thread that drives it.
pub(crate) fn bring_up_inline(blueprint: Blueprint) -> Result<Device<Inline>, Failure> {
    let link = Inline::new(blueprint, clock::now)
        .context("wanted to emulate a controller")
        .map_err(Failure::environment)?;
    Device::open(link, Options::default()).map_err(Failure::environment)
}

/// Opens a device made of several others, whose controller runs in a thread of its own.
pub(crate) fn bring_up_threaded(blueprint: Blueprint) -> Result<Device<Threaded>, Failure> {
    let link = Threaded::new(blueprint, clock::now, || {})
        .context("wanted to emulate a controller in a thread of its own")
        .map_err(Failure::environment)?;
    Device::open(link, Options::default()).map_err(Failure::environment)
}

/// What the controller of one URI is made of.
fn blueprint(device: &Emulated, fresh: &mut Fresh) -> Result<Blueprint, Failure> {
    let mut namespaces = Vec::new();
    let media = open_media(&[device], fresh)?;
    for (number, opened) in (1..).zip(media.into_iter().flatten()) {
        namespaces.push(controller::NamespaceConfig {
            id: NamespaceId::new(number),
            media: opened.media,
        });
    }
    Ok(Blueprint::new(namespaces))
}
