//! From a device URI to an opened device.

use anyhow::Context as _;
use driver::{Device, Link, Options};
use local::{Blueprint, Inline, Threaded};
use media::{Media, NullMedia, RamMedia};
use spec::{BlockCount, NamespaceId};

use crate::clock;
use crate::failure::Failure;
use crate::uri::{Emulated, Keeps, NotBuilt, Uri};

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

fn not_built(device: &Emulated) -> Failure {
    Failure::environment(NotBuilt {
        what: "file:".into(),
        uri: device.to_string(),
    })
}

/// What the controller is made of.
fn blueprint(device: &Emulated) -> Result<Blueprint, Failure> {
    let mut namespaces = Vec::new();
    for id in 1..=device.namespaces {
        namespaces.push(controller::NamespaceConfig {
            id: NamespaceId::new(id),
            media: media(device)?,
        });
    }
    Ok(Blueprint::new(namespaces))
}

/// What keeps the blocks of one namespace.
fn media(device: &Emulated) -> Result<Box<dyn Media>, Failure> {
    let blocks = |bytes: u64| BlockCount::new(bytes / device.block_size.bytes());
    match &device.keeps {
        Keeps::Null(bytes) => Ok(Box::new(NullMedia::new(blocks(*bytes), device.block_size))),
        Keeps::Ram { bytes, memory } => RamMedia::new(blocks(*bytes), device.block_size, *memory)
            .map(|media| Box::new(media) as Box<dyn Media>)
            .with_context(|| format!("wanted {device}"))
            .map_err(Failure::environment),
        Keeps::File(_) => Err(not_built(device)),
    }
}
