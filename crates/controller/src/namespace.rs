//! The namespaces of a controller.

use core::time::Duration;

use media::{BlockSize, Media, Operation, Request, Token};
use spec::nvme::Status;
use spec::{BlockCount, Lba, NamespaceId};

use crate::config::{ConfigError, NamespaceConfig};
use crate::limits;

/// One namespace: its media and what the I/O path asks about them.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) id: NamespaceId,
    pub(crate) media: Box<dyn Media>,
    pub(crate) blocks: u64,
    pub(crate) block_shift: u32,
    /// Whether its media answer at once, always.
    pub(crate) instant: bool,
}

impl Namespace {
    /// The block size, for Identify.
    pub(crate) fn block_size(&self) -> BlockSize {
        self.media.block_size()
    }

    /// Checks a range against the capacity, without overflow for any input [NVM Command Set 1.0 §2.1.1].
    #[inline(always)]
    pub(crate) fn check(&self, at: Lba, count: u64) -> Result<(), Status> {
        if contains(self.blocks, at, count) {
            Ok(())
        } else {
            Err(Status::LBA_OUT_OF_RANGE)
        }
    }

    /// A request that makes everything durable.
    pub(crate) fn flush_request() -> Request {
        Request {
            op: Operation::Flush,
            at: Lba::new(0),
            count: BlockCount::new(0),
            fua: false,
        }
    }
}

/// Whether `count` blocks from `at` on lie within a capacity of `blocks`, for any values.
#[inline(always)]
pub(crate) const fn contains(blocks: u64, at: Lba, count: u64) -> bool {
    let at = at.get();
    at <= blocks && count <= blocks - at
}

/// All namespaces, by identifier.
#[derive(Debug)]
pub(crate) struct NamespaceTable {
    /// Slot `n` is namespace `n + 1`; its length is the highest identifier in use.
    slots: Vec<Option<Namespace>>,
    /// Whether all media are.
    instant: bool,
}

impl NamespaceTable {
    pub(crate) fn new(configs: Vec<NamespaceConfig>) -> Result<Self, ConfigError> {
        let mut slots: Vec<Option<Namespace>> = Vec::new();
        for NamespaceConfig { id, media } in configs {
            let found = id.get();
            if !(1..=limits::NAMESPACES_MAX).contains(&found) {
                return Err(ConfigError::Range {
                    field: "namespace identifier",
                    found: found.into(),
                    min: 1,
                    max: limits::NAMESPACES_MAX.into(),
                });
            }
            let index = found as usize - 1;
            if slots.len() <= index {
                slots.resize_with(index + 1, || None);
            }
            let namespace = Namespace {
                id,
                blocks: media.blocks().get(),
                block_shift: media.block_size().shift(),
                instant: media.is_instant(),
                media,
            };
            if let Some(slot) = slots.get_mut(index)
                && slot.replace(namespace).is_some()
            {
                return Err(ConfigError::DuplicateNamespace(id));
            }
        }
        let instant = slots.iter().flatten().all(|namespace| namespace.instant);
        Ok(Self { slots, instant })
    }

    /// Whether the media of every namespace answer at once, always.
    #[inline(always)]
    pub(crate) fn are_instant(&self) -> bool {
        self.instant
    }

    /// Those whose media may answer later.
    pub(crate) fn slow_mut(&mut self) -> impl Iterator<Item = &mut Namespace> {
        self.iter_mut().filter(|namespace| !namespace.instant)
    }

    /// Tells media that are not instant the time.
    #[cold]
    pub(crate) fn set_time(&mut self, now: Duration) {
        for namespace in self.slow_mut() {
            namespace.media.set_time(now);
        }
    }

    /// Tells media that nobody waits for a request any more.
    pub(crate) fn hurry(&mut self, token: Token) {
        for namespace in self.slow_mut() {
            namespace.media.hurry(token);
        }
    }

    /// The namespace of an I/O command, or the refusal: never valid is Invalid Namespace or Format, valid but not
    /// attached is Invalid Field in Command [NVMe Base 2.0 §3.2.1.2].
    #[inline(always)]
    pub(crate) fn active(&mut self, id: NamespaceId) -> Result<&mut Namespace, Status> {
        match self.slots.get_mut((id.get() as usize).wrapping_sub(1)) {
            Some(Some(namespace)) => Ok(namespace),
            Some(None) => Err(Status::INVALID_FIELD),
            None => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// The same without the right to change it, for Identify and logs.
    pub(crate) fn get(&self, id: NamespaceId) -> Option<&Namespace> {
        self.slots
            .get((id.get() as usize).wrapping_sub(1))?
            .as_ref()
    }

    /// The highest identifier: Identify's NN.
    pub(crate) fn highest(&self) -> u32 {
        self.slots.len() as u32
    }

    /// All attached namespaces in rising order of identifier.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Namespace> {
        self.slots.iter().flatten()
    }

    /// The same with the right to change them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Namespace> {
        self.slots.iter_mut().flatten()
    }
}
