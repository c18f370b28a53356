//! A file system that does nothing, to compare the door with: `null_fs MOUNT [MIB] [COPY] [THREADS] [CLONE_FD]`.
//!
//! It stands on the same crate with the same options. Its one file answers each read with as many bytes of memory as were
//! asked for, and forgets each write. What the door needs more than this is its own; what this needs is the kernel's and
//! the crate's. With COPY, a read first copies the bytes at its offset out of a memory as long as the file: what no drive
//! that keeps its data can do without. Ends when it is unmounted.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bridge::fuse::{MountOptions, OPENED, negotiate};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    ReplyXattr, Request, WriteFlags,
};
use mem::{Backing, Region, Window};

/// One file.
#[derive(Debug)]
struct Null {
    size: u64,
    bytes: Vec<u8>,
    /// Where reads copy from, if they do.
    source: Option<Window>,
}

thread_local! {
    /// Where they copy to.
    static COPY: RefCell<Vec<u8>> = RefCell::new(vec![0; bridge::limits::REQUEST_BYTES_MAX as usize]);
}

const FILE: INodeNo = INodeNo(2);
const TTL: Duration = Duration::from_secs(60);

impl Null {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode {
            FILE => (FileType::RegularFile, 0o666, self.size),
            _ => (FileType::Directory, 0o755, 0),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: bridge::limits::BLKSIZE,
            flags: 0,
        }
    }
}

impl Filesystem for Null {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        negotiate(config)
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "nvme_raw_0" {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), OPENED);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let len = self.bytes.len().min(size as usize);
        let Some(source) = &self.source else {
            return reply.data(&self.bytes[..len]);
        };
        COPY.with_borrow_mut(
            |bytes| match source.read_bytes(offset as usize, &mut bytes[..len]) {
                Ok(()) => reply.data(&bytes[..len]),
                Err(_) => reply.error(Errno::EINVAL),
            },
        );
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let wrong = || io::Error::other("usage: null_fs MOUNT [MIB] [COPY] [THREADS] [CLONE_FD]");
    let point = PathBuf::from(arguments.next().ok_or_else(wrong)?);
    let mut number = |otherwise| match arguments.next() {
        Some(text) => text.parse::<u64>().map_err(|_| wrong()),
        None => Ok(otherwise),
    };
    let standard = MountOptions::default();
    let size = number(64)? << 20;
    let copies = number(0)? != 0;
    let options = MountOptions {
        threads: number(standard.threads as u64)? as usize,
        clone_fd: number(standard.clone_fd.into())? != 0,
        ..standard
    };
    let source = if !copies {
        None
    } else {
        let region =
            Region::allocate(size as usize, Backing::Anonymous).map_err(io::Error::other)?;
        let written = region.whole();
        written
            .fill(0, written.len(), 0x5a)
            .map_err(io::Error::other)?;
        Some(written)
    };
    let null = Null {
        size,
        source,
        bytes: vec![0x5a; bridge::limits::REQUEST_BYTES_MAX as usize],
    };
    fuser::mount(null, point, &options.session())
}
