//! A place for files, and a host that asks for one thing at a time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use media::file::Direct;
use media::{BlockSize, FileOptions, Landing, Media, Operation, Progress, Request, Token};
use mem::{Backing, Region, Span, Window};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

pub(crate) const MIB: usize = 1 << 20;

/// A folder of its own, removed with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(base: &Path, name: &str) -> Self {
        let path = base.join(format!("dpe-media-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A block device with blocks of 4096 bytes.
pub(crate) struct LoopDevice {
    pub(crate) path: String,
    _folder: Folder,
}

impl LoopDevice {
    /// None, with the reason printed, where there is no losetup or no right to it.
    pub(crate) fn new(name: &str, bytes: usize) -> Option<Self> {
        let folder = Folder::new(&std::env::temp_dir(), &format!("loop-{name}"));
        let image = folder.file("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(bytes as u64)
            .unwrap();
        let made = Command::new("losetup")
            .args(["--find", "--show", "--sector-size", "4096"])
            .arg(&image)
            .output();
        let why = match made {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
                return Some(Self {
                    path,
                    _folder: folder,
                });
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        println!("not run: losetup: {}", why.trim());
        None
    }

    /// Flushes that the kernel sent to the device so far.
    pub(crate) fn flushes(&self) -> u64 {
        let name = Path::new(&self.path).file_name().unwrap();
        let stat = Path::new("/sys/block").join(name).join("stat");
        let words = std::fs::read_to_string(stat).unwrap();
        words
            .split_whitespace()
            .nth(15)
            .expect("Linux 5.5 counts flushes")
            .parse()
            .unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let freed = Command::new("losetup")
            .arg("--detach")
            .arg(&self.path)
            .status();
        assert!(freed.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Where files are tried: on a disk, and in memory if this machine has that.
pub(crate) fn bases() -> Vec<PathBuf> {
    let mut bases = vec![std::env::temp_dir()];
    bases.extend(Some(PathBuf::from("/dev/shm")).filter(|path| path.is_dir()));
    bases
}

pub(crate) fn options(block_size: BlockSize, size: usize, direct: Direct) -> FileOptions {
    FileOptions {
        size: Some(size as u64),
        direct,
        ..FileOptions::new(block_size)
    }
}

/// A host with 4 MiB of memory, which it lends in spans at odd addresses.
pub(crate) struct Host {
    memory: Window,
    landed: Option<(usize, Operation)>,
    answers: Vec<(Token, Status)>,
}

impl Host {
    pub(crate) fn new() -> Self {
        let memory = Region::allocate(4 * MIB, Backing::Anonymous)
            .unwrap()
            .whole();
        Self {
            memory,
            landed: None,
            answers: Vec::new(),
        }
    }

    /// One request, from its start to its answer.
    pub(crate) fn run<M: Media + ?Sized>(
        &mut self,
        media: &mut M,
        op: Operation,
        at: u64,
        count: u64,
        bytes: &mut [u8],
    ) -> Status {
        let request = Request {
            op,
            at: Lba::new(at),
            count: BlockCount::new(count),
            fua: at.is_multiple_of(3),
        };
        self.memory.write_bytes(7, bytes).unwrap();
        self.landed = Some((bytes.len(), op));
        let memory = self.memory.clone();
        let (first, rest) = memory
            .span(7, bytes.len())
            .unwrap()
            .split_at(bytes.len() / 3);
        let progress = media.start(Token(1), &request, &[first, rest]);
        if op == Operation::Write {
            memory.fill(0, bytes.len() + 7, 0xEE).unwrap();
        }
        let status = match progress {
            Progress::Done(status) => status,
            Progress::Later => {
                while self.answers.is_empty() {
                    media.poll(Duration::ZERO, self);
                }
                self.answers.remove(0).1
            }
        };
        if op == Operation::Read && status.is_success() {
            self.memory.read_bytes(7, bytes).unwrap();
        }
        status
    }
}

impl Landing for Host {
    fn blocks(&mut self, _token: Token, blocks: Span<'_>) -> Status {
        let (len, op) = self.landed.expect("a read is under way");
        let place = self.memory.span(7, len).unwrap();
        match op {
            Operation::Read => blocks.copy_to(place),
            _ if !blocks.compare(place) => return Status::COMPARE_FAILURE,
            _ => {}
        }
        Status::SUCCESS
    }

    fn answer(&mut self, token: Token, status: Status) {
        self.answers.push((token, status));
    }
}

pub(crate) fn next(random: &mut u64) -> u64 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}
