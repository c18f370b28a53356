//! From a device URI to an opened device.

mod media;

use anyhow::Context as _;
use driver::{Device, Link, Options};
use local::{Blueprint, Inline, Threaded};
use spec::NamespaceId;

use crate::clock;
use crate::failure::Failure;
use crate::lab::Lab;
use crate::uri::{Emulated, Placement, Uri};

pub(crate) use self::media::{Opened, open_media, profile};

/// The device of a URI, if this version can open it.
pub(crate) fn require_built(uri: &Uri) -> Result<&Emulated, Failure> {
    uri.require_built().map_err(Failure::environment)
}

/// Opens a device whose controller runs in the thread that drives it.
pub(crate) fn open_inline(device: &Emulated) -> Result<Device<Inline>, Failure> {
    let link = Inline::new(blueprint(device)?, clock::now)
        .with_context(|| format!("wanted to emulate {device}"))
        .map_err(Failure::environment)?;
    bring_up(device, link)
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
    let link = Threaded::new(blueprint(device)?, clock::now, pin)
        .with_context(|| format!("wanted to emulate {device} in a thread of its own"))
        .map_err(Failure::environment)?;
    bring_up(device, link)
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

/// What the controller of a lab is made of, and what a user should know of its media.
pub(crate) fn blueprint_of(lab: &Lab) -> Result<(Blueprint, Vec<String>), Failure> {
    let mut namespaces = Vec::new();
    let mut remarks = Vec::new();
    for line in &lab.namespaces {
        for (id, opened) in (line.id..).zip(open_media(&line.device)?) {
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
fn blueprint(device: &Emulated) -> Result<Blueprint, Failure> {
    let mut namespaces = Vec::new();
    for (number, opened) in (1..).zip(open_media(device)?) {
        namespaces.push(controller::NamespaceConfig {
            id: NamespaceId::new(number),
            media: opened.media,
        });
    }
    Ok(Blueprint::new(namespaces))
}
