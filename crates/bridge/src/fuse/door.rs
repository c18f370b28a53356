//! What each file operation means.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use driver::Link;
use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request as Caller, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, OFlags};

use super::answer::Asker;
use super::files::{self, Change};
use super::session::negotiate;
use super::turns::Shared;
use crate::engine::{Request, Volume};
use crate::limits;

/// The file system. Everything that changes is in `shared`.
#[derive(Debug)]
pub(super) struct Door<L: Link> {
    shared: Arc<Shared<L>>,
    /// Bytes of each volume.
    sizes: Box<[u64]>,
}

/// How files are opened: past the page cache, and without the kernel's lock for writes within the file.
pub const OPENED: FopenFlags =
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

impl<L: Link> Door<L> {
    pub(super) fn new(shared: Arc<Shared<L>>, volumes: &[Volume]) -> Self {
        Self {
            shared,
            sizes: volumes.iter().map(|volume| volume.bytes).collect(),
        }
    }

    /// The volume of an inode and its size.
    #[inline]
    fn volume(&self, inode: INodeNo) -> Option<(usize, u64)> {
        let volume = files::volume_of(inode, self.sizes.len())?;
        Some((volume, self.sizes[volume]))
    }

    /// What setattr says of a file's size: `Ok` if nothing is to be done about it.
    fn check_size(
        &self,
        inode: INodeNo,
        size: Option<u64>,
        handle: Option<FileHandle>,
    ) -> Result<(), Errno> {
        let Some(size) = size else { return Ok(()) };
        let (_, bytes) = self.volume(inode).ok_or(Errno::EISDIR)?;
        // An open with O_TRUNC asks for size 0 without a handle, which ftruncate has. truncate by name to 0 looks the
        // same, and is let through with it.
        if size == bytes || (size == 0 && handle.is_none()) {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        }
    }
}

impl<L: Link + Send + std::fmt::Debug + 'static> Filesystem for Door<L> {
    fn init(&mut self, _: &Caller, config: &mut KernelConfig) -> io::Result<()> {
        negotiate(config)
    }

    #[inline]
    fn read(
        &self,
        _: &Caller,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some((volume, bytes)) = self.volume(inode) else {
            return reply.error(Errno::EISDIR);
        };
        let len = u64::from(size.min(limits::REQUEST_BYTES_MAX)).min(bytes.saturating_sub(offset));
        if len == 0 {
            return reply.data(&[]);
        }
        let len = len as usize;
        let request = Request::Read {
            volume,
            offset,
            len,
        };
        self.shared.ask(&request, Asker::Read(reply, len));
    }

    #[inline]
    fn write(
        &self,
        _: &Caller,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some((volume, bytes)) = self.volume(inode) else {
            return reply.error(Errno::EISDIR);
        };
        if data.is_empty() {
            return reply.written(0);
        }
        let room = bytes.saturating_sub(offset);
        if room == 0 {
            return reply.error(Errno::ENOSPC);
        }
        let len = room
            .min(data.len() as u64)
            .min(limits::REQUEST_BYTES_MAX.into());
        let data = &data[..len as usize];
        // O_SYNC contains the bit of O_DSYNC; the kernel adds them for RWF_DSYNC and RWF_SYNC.
        let durable = flags.0 & OFlags::DSYNC.bits() as i32 != 0;
        let request = Request::Write {
            volume,
            offset,
            data,
            durable,
        };
        self.shared.ask(&request, Asker::Write(reply, len as u32));
    }

    fn fsync(&self, _: &Caller, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some((volume, _)) = self.volume(inode) else {
            return reply.error(Errno::EISDIR);
        };
        self.shared
            .ask(&Request::Flush { volume }, Asker::Other(reply));
    }

    fn fallocate(
        &self,
        _: &Caller,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some((volume, bytes)) = self.volume(inode) else {
            return reply.error(Errno::EISDIR);
        };
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let keeps_size = mode.contains(FallocateFlags::KEEP_SIZE);
        let beyond = offset.checked_add(len).is_none_or(|end| end > bytes);
        let clipped = len.min(bytes.saturating_sub(offset));
        let what = mode - FallocateFlags::KEEP_SIZE;
        let request = if what == FallocateFlags::PUNCH_HOLE && keeps_size {
            Request::Discard {
                volume,
                offset,
                len: clipped,
            }
        } else if what == FallocateFlags::ZERO_RANGE && (keeps_size || !beyond) {
            Request::Zero {
                volume,
                offset,
                len: clipped,
            }
        } else if what.is_empty() && !beyond {
            return reply.ok();
        } else if what.is_empty() || what == FallocateFlags::ZERO_RANGE {
            return reply.error(Errno::ENOSPC);
        } else {
            return reply.error(Errno::EOPNOTSUPP);
        };
        if clipped == 0 {
            return reply.ok();
        }
        self.shared.ask(&request, Asker::Other(reply));
    }

    fn open(&self, _: &Caller, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.volume(inode) {
            Some(_) => reply.opened(FileHandle(0), OPENED),
            None => reply.error(Errno::EISDIR),
        }
    }

    fn flush(&self, _: &Caller, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // The kernel does not ask again; close writes back what was changed through memory maps all the same.
        reply.error(Errno::ENOSYS);
    }

    fn lookup(&self, _: &Caller, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let turns = self.shared.turn();
        match turns.files.find(name) {
            Some(found) if parent == INodeNo::ROOT => {
                reply.entry(&files::TTL, found, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Caller, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.shared.turn().files.attributes(inode) {
            Some(found) => reply.attr(&files::TTL, found),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Caller,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let Err(errno) = self.check_size(inode, size, handle) {
            return reply.error(errno);
        }
        let change = Change {
            mode,
            uid,
            gid,
            atime,
            // What comes with a size is not what anybody asked for: nothing was modified.
            mtime: mtime.filter(|_| size.is_none()),
        };
        match self.shared.turn().files.change(inode, change) {
            Some(changed) => reply.attr(&files::TTL, changed),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Caller,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if inode != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let turns = self.shared.turn();
        let dots = [".", ".."].map(|name| (OsStr::new(name), INodeNo::ROOT, FileType::Directory));
        let names = turns.files.names();
        let entries = names.map(|(name, inode)| (name, inode, FileType::RegularFile));
        // An entry's offset is the number of the file, so that a name that goes away moves no other.
        for (name, inode, kind) in dots.into_iter().chain(entries) {
            let number = match name.to_str() {
                Some(".") => 1,
                Some("..") => 2,
                _ => inode.0 + 1,
            };
            if number > offset && reply.add(inode, number, kind, name) {
                break;
            }
        }
        drop(turns);
        reply.ok();
    }

    fn unlink(&self, _: &Caller, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if self.shared.turn().files.unlink(name) {
            reply.ok();
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn statfs(&self, _: &Caller, _: INodeNo, reply: ReplyStatfs) {
        let turns = self.shared.turn();
        let (blocks, count) = (
            turns.files.bytes() / u64::from(limits::BLKSIZE),
            turns.files.count(),
        );
        drop(turns);
        reply.statfs(
            blocks,
            0,
            0,
            count,
            0,
            limits::BLKSIZE,
            255,
            limits::BLKSIZE,
        );
    }

    fn lseek(&self, _: &Caller, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: ReplyLseek) {
        // The kernel then answers SEEK_DATA and SEEK_HOLE by itself: all is data.
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        _: &Caller,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    // No extended attributes; the kernel does not ask again, which it would before each write.

    fn getxattr(&self, _: &Caller, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Caller, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn setxattr(
        &self,
        _: &Caller,
        _: INodeNo,
        _: &OsStr,
        _: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn removexattr(&self, _: &Caller, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    // The directory holds the namespaces and nothing else.

    fn create(
        &self,
        _: &Caller,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EPERM);
    }

    fn mknod(&self, _: &Caller, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn mkdir(&self, _: &Caller, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn symlink(&self, _: &Caller, _: INodeNo, _: &OsStr, _: &Path, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn link(&self, _: &Caller, _: INodeNo, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn rmdir(&self, _: &Caller, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn rename(
        &self,
        _: &Caller,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EPERM);
    }
}
