//! The driver against the project's controller, in one thread, with a clock that only moves when it is read.

mod block;
mod buffers;
mod device;
mod link;
mod media;
mod pairs;

use ::media::{BlockSize, Media, RamMedia};
use driver::{BlockDevice, BlockOptions, Device, Options};
use local::{Blueprint, Inline};
use mem::Backing;
use spec::{BlockCount, NamespaceId};

use link::Troubled;

/// A RAM namespace.
fn namespace(id: u32, blocks: u64, size: BlockSize) -> controller::NamespaceConfig {
    let media = RamMedia::new(BlockCount::new(blocks), size, Backing::Anonymous);
    over(id, media.expect("the machine has memory"))
}

/// A namespace over media.
fn over(id: u32, media: impl Media + 'static) -> controller::NamespaceConfig {
    controller::NamespaceConfig {
        id: NamespaceId::new(id),
        media: Box::new(media),
    }
}

/// A link to a controller.
fn link_to(blueprint: Blueprint) -> Troubled {
    Troubled::new(Inline::new(blueprint, link::clock).expect("the configuration is right"))
}

/// A device with one namespace of 1 MiB.
fn device(size: BlockSize) -> Device<Troubled> {
    let blocks = (1 << 20) / size.bytes();
    let link = link_to(Blueprint::new(vec![namespace(1, blocks, size)]));
    Device::open(link, Options::default()).expect("the controller comes up")
}

/// A block device of 1 MiB.
fn block_device(size: BlockSize, options: BlockOptions) -> BlockDevice<Troubled> {
    BlockDevice::open(device(size), NamespaceId::new(1), options).expect("the namespace is there")
}
