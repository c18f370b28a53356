//! What the tests of the bridge share: devices, mount points, random numbers, and a file that is right by definition.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bridge::fuse::{Mount, MountOptions};
use controller::{Counters, NamespaceConfig};
use driver::Device;
use local::{Blueprint, Inline};
use media::fault::{FaultyMedia, Script};
use media::timing::{Profile, TimedMedia};
use media::{BlockSize, Media, RamMedia};
use mem::Backing;
use spec::{BlockCount, NamespaceId};

#[expect(clippy::disallowed_methods, reason = "a test may read the clock")]
pub(crate) fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// RAM that reads as zeros.
pub(crate) fn ram(bytes: u64, size: BlockSize) -> Box<dyn Media> {
    let blocks = BlockCount::new(bytes / size.bytes());
    Box::new(RamMedia::new(blocks, size, Backing::Anonymous).expect("memory"))
}

/// The same, as slow as a real drive.
pub(crate) fn slow(bytes: u64, size: BlockSize) -> Box<dyn Media> {
    let profile = Profile::named("aws-c7gd").expect("it comes with the crate");
    Box::new(TimedMedia::new(ram(bytes, size), &profile, 7))
}

/// RAM that does what a script says.
pub(crate) fn faulty(bytes: u64, size: BlockSize, rules: &str) -> Box<dyn Media> {
    let script = Script::from_toml(&format!("version = 1\n{rules}")).expect("a right script");
    Box::new(FaultyMedia::new(ram(bytes, size), script, 1).expect("memory"))
}

/// A device with these namespaces.
pub(crate) fn device(media: Vec<Box<dyn Media>>) -> Device<Inline> {
    let namespaces = media
        .into_iter()
        .zip(1..)
        .map(|(media, id)| NamespaceConfig {
            id: NamespaceId::new(id),
            media,
        })
        .collect();
    let link = Inline::new(Blueprint::new(namespaces), clock).expect("a device");
    Device::open(link, driver::Options::default()).expect("bring-up")
}

/// What the controller behind a mount has counted.
pub(crate) fn counters(mount: &Mount<Inline>) -> Counters {
    mount.with_engine(|engine| counters_of(engine.device_mut()))
}

/// What the controller of a device has counted.
pub(crate) fn counters_of(device: &mut Device<Inline>) -> Counters {
    *device.link_mut().controller().counters()
}

/// Why a mount cannot be tested here, said on the way.
pub(crate) fn cannot_mount() -> bool {
    let reason = if !rustix::process::geteuid().is_root() {
        "mounting needs root"
    } else if !Path::new("/dev/fuse").exists() {
        "there is no /dev/fuse"
    } else {
        return false;
    };
    not_run(reason);
    true
}

/// Says why a test is none here.
pub(crate) fn not_run(reason: &str) {
    eprintln!("not run: {reason}");
}

/// Whether a program is there; says so if not.
pub(crate) fn lacks(program: &str) -> bool {
    let found = std::process::Command::new(program)
        .arg("--version")
        .output();
    let lacks = found.is_err();
    if lacks {
        not_run(&format!("there is no {program}"));
    }
    lacks
}

/// An empty directory, taken away at the end.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bridge-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder for temporary files");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Never the contents: a mount that did not go away would lose its files.
        if let Err(error) = std::fs::remove_dir(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

/// A mounted device. The mount ends before its directory goes.
pub(crate) struct Mounted {
    pub(crate) mount: Option<Mount<Inline>>,
    pub(crate) folder: Folder,
}

impl Mounted {
    pub(crate) fn new(name: &str, media: Vec<Box<dyn Media>>) -> Self {
        Self::with(name, media, &MountOptions::default())
    }

    pub(crate) fn with(name: &str, media: Vec<Box<dyn Media>>, options: &MountOptions) -> Self {
        let folder = Folder::new(name);
        let mount = Mount::start(device(media), &folder.0, options).expect("a mount");
        Self {
            mount: Some(mount),
            folder,
        }
    }

    pub(crate) fn mount(&self) -> &Mount<Inline> {
        self.mount.as_ref().expect("mounted")
    }

    pub(crate) fn path(&self, index: usize) -> PathBuf {
        self.folder.0.join(format!("nvme_raw_{index}"))
    }

    /// The file, for reading and writing.
    pub(crate) fn open(&self, index: usize) -> File {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path(index));
        opened.expect("the file of a namespace")
    }

    pub(crate) fn unmount(&mut self) -> Device<Inline> {
        let mount = self.mount.take().expect("mounted");
        mount.unmount().expect("a clean end")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.mount.take());
    }
}

/// Random numbers of a seed: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next().to_le_bytes());
        words.flatten().take(len).collect()
    }

    /// A range within `capacity`: often short, often near a block's edge, sometimes longer than a command.
    pub(crate) fn range(&mut self, capacity: u64) -> (u64, usize) {
        let longest = [16, 4096, 9000, 300_000][self.below(4) as usize];
        let offset = match self.below(3) {
            0 => self.below(capacity),
            1 => self.below(capacity) & !511,
            _ => (self.below(capacity) & !4095).saturating_sub(self.below(3)),
        };
        let len = 1 + self.below(longest);
        let len = if self.below(3) == 0 {
            len.next_multiple_of(512)
        } else {
            len
        };
        (offset, len.min(capacity - offset) as usize)
    }
}
