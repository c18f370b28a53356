//! The directory: a file for each namespace, and what is remembered of it.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};

use crate::engine::Volume;
use crate::limits;

/// What is remembered of the directory or a file until the unmount.
#[derive(Clone, Debug)]
struct Node {
    name: OsString,
    /// Whether the name is still there.
    linked: bool,
    attributes: FileAttr,
}

/// Everything that the mount shows. Node 0 is the directory, node `n + 1` the file of volume `n`.
#[derive(Clone, Debug)]
pub(super) struct Files {
    nodes: Vec<Node>,
    bytes: u64,
}

/// The changes that chmod, chown and utimens ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub(super) mode: Option<u32>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) atime: Option<TimeOrNow>,
    pub(super) mtime: Option<TimeOrNow>,
}

/// How long the kernel may keep what it was told of a file.
pub(super) const TTL: Duration = limits::ATTRIBUTES_TTL;

/// The permission bits, with set-user-ID and the like.
const MODE_MASK: u32 = 0o7777;

/// The volume that an inode stands for; nothing for the directory and for numbers that were never given out.
#[inline]
pub(super) fn volume_of(inode: INodeNo, volumes: usize) -> Option<usize> {
    let volume = inode.0.checked_sub(INodeNo::ROOT.0 + 1)?;
    let volume = usize::try_from(volume).ok()?;
    (volume < volumes).then_some(volume)
}

impl Files {
    pub(super) fn new(volumes: &[Volume]) -> Self {
        let now = SystemTime::now();
        let attributes = FileAttr {
            ino: INodeNo::ROOT,
            size: 0,
            blocks: 0,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind: FileType::Directory,
            perm: 0o755,
            nlink: 2,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: limits::BLKSIZE,
            flags: 0,
        };
        let directory = Node {
            name: OsString::from("."),
            linked: true,
            attributes,
        };
        let file = |(index, volume): (usize, &Volume)| Node {
            name: OsString::from(format!("nvme_raw_{index}")),
            linked: true,
            attributes: FileAttr {
                ino: INodeNo(INodeNo::ROOT.0 + 1 + index as u64),
                size: volume.bytes,
                blocks: volume.bytes / 512,
                kind: FileType::RegularFile,
                perm: 0o666,
                nlink: 1,
                ..attributes
            },
        };
        let files = volumes.iter().enumerate().map(file);
        Self {
            nodes: std::iter::once(directory).chain(files).collect(),
            bytes: volumes.iter().map(|volume| volume.bytes).sum(),
        }
    }

    /// What stat says of an inode.
    pub(super) fn attributes(&self, inode: INodeNo) -> Option<&FileAttr> {
        self.node(inode).map(|node| &node.attributes)
    }

    /// The file of a name.
    pub(super) fn find(&self, name: &OsStr) -> Option<&FileAttr> {
        self.listed()
            .find(|node| node.name == name)
            .map(|node| &node.attributes)
    }

    /// Names that are there, with their inodes.
    pub(super) fn names(&self) -> impl Iterator<Item = (&OsStr, INodeNo)> {
        self.listed()
            .map(|node| (node.name.as_os_str(), node.attributes.ino))
    }

    /// Takes a name away; says whether it was there.
    pub(super) fn unlink(&mut self, name: &OsStr) -> bool {
        let mut files = self.nodes.iter_mut().skip(1);
        let Some(node) = files.find(|node| node.linked && node.name == name) else {
            return false;
        };
        node.linked = false;
        node.attributes.nlink = 0;
        node.attributes.ctime = SystemTime::now();
        true
    }

    /// Remembers changed attributes, and says what they are now.
    pub(super) fn change(&mut self, inode: INodeNo, change: Change) -> Option<&FileAttr> {
        let index = usize::try_from(inode.0.checked_sub(INodeNo::ROOT.0)?).ok()?;
        let now = SystemTime::now();
        let attributes = &mut self.nodes.get_mut(index)?.attributes;
        if let Some(mode) = change.mode {
            attributes.perm = (mode & MODE_MASK) as u16;
        }
        attributes.uid = change.uid.unwrap_or(attributes.uid);
        attributes.gid = change.gid.unwrap_or(attributes.gid);
        let time = |wanted| match wanted {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => now,
        };
        attributes.atime = change.atime.map_or(attributes.atime, time);
        attributes.mtime = change.mtime.map_or(attributes.mtime, time);
        attributes.ctime = now;
        Some(attributes)
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Files, with or without a name.
    pub(super) fn count(&self) -> u64 {
        self.nodes.len() as u64 - 1
    }

    fn node(&self, inode: INodeNo) -> Option<&Node> {
        let index = inode.0.checked_sub(INodeNo::ROOT.0)?;
        self.nodes.get(usize::try_from(index).ok()?)
    }

    fn listed(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().skip(1).filter(|node| node.linked)
    }
}
