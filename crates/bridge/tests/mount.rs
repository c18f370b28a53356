//! A mounted device as programs see it: bytes, sizes, errors, names.

mod support;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bridge::fuse::{Mount, MountError, MountOptions};
use media::{BlockSize, Media, Operation, Progress, Request, Token};
use mem::Span;
use ring::sync::{AtomicU64, Ordering};
use rustix::fs::FallocateFlags;
use spec::BlockCount;
use support::{Folder, Mounted, Random, cannot_mount, counters, device, faulty, ram, slow};

const BYTES: u64 = 4 << 20;

fn code<T: std::fmt::Debug>(result: std::io::Result<T>) -> Option<i32> {
    result.expect_err("an error").raw_os_error()
}

const ENOSPC: Option<i32> = Some(rustix::io::Errno::NOSPC.raw_os_error());
const EINVAL: Option<i32> = Some(rustix::io::Errno::INVAL.raw_os_error());
const EPERM: Option<i32> = Some(rustix::io::Errno::PERM.raw_os_error());
const EIO: Option<i32> = Some(rustix::io::Errno::IO.raw_os_error());

/// Random reads and writes of one file in a part of it, beside a shadow of the part.
fn random_io(file: &File, random: &mut Random, begin: u64, len: u64, rounds: u32) {
    let mut shadow = vec![0; len as usize];
    file.read_exact_at(&mut shadow, begin).expect("a read");
    for _ in 0..rounds {
        let (offset, count) = random.range(len);
        let range = offset as usize..offset as usize + count;
        if random.below(2) == 0 {
            shadow[range.clone()].copy_from_slice(&random.bytes(count));
            let wrote = file.write_all_at(&shadow[range], begin + offset);
            wrote.expect("a write");
        } else {
            let mut found = vec![0; count];
            file.read_exact_at(&mut found, begin + offset)
                .expect("a read");
            assert!(
                found == shadow[range],
                "{count} bytes at {}",
                begin + offset
            );
        }
    }
    let mut all = vec![0; len as usize];
    file.read_exact_at(&mut all, begin).expect("a read");
    assert!(all == shadow, "nothing else changed");
}

#[test]
fn random_reads_and_writes_at_any_offset_are_those_of_a_plain_file() {
    if cannot_mount() {
        return;
    }
    let media = vec![ram(BYTES, BlockSize::B4096), ram(BYTES, BlockSize::B512)];
    let mounted = Mounted::new("random", media);
    for index in 0..2 {
        random_io(
            &mounted.open(index),
            &mut Random(index as u64),
            0,
            BYTES,
            400,
        );
    }
}

#[test]
fn four_threads_on_parts_that_share_blocks_do_not_disturb_each_other() {
    if cannot_mount() {
        return;
    }
    let media = vec![ram(BYTES, BlockSize::B4096), slow(BYTES, BlockSize::B4096)];
    let mounted = Mounted::new("threads", media);
    for (index, rounds) in [(0, 400), (1, 60)] {
        let file = mounted.open(index);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let file = &file;
                // Each part ends in the middle of a block, where the next begins.
                let (begin, len) = (777_777 * thread, 777_777);
                scope.spawn(move || random_io(file, &mut Random(50 + thread), begin, len, rounds));
            }
        });
    }
}

#[test]
fn small_writes_into_one_block_from_many_threads_all_arrive() {
    if cannot_mount() {
        return;
    }
    for (name, media) in [
        ("block", ram(BYTES, BlockSize::B4096)),
        ("late", slow(BYTES, BlockSize::B4096)),
    ] {
        let mounted = Mounted::new(name, vec![media]);
        let file = mounted.open(0);
        std::thread::scope(|scope| {
            for thread in 0..16_u64 {
                let file = &file;
                scope.spawn(move || {
                    for round in 1..=60_u8 {
                        // 16 threads, 256 bytes each, of the second block.
                        let mine = [round ^ thread as u8; 256];
                        file.write_all_at(&mine, 4096 + thread * 256)
                            .expect("a write");
                        let mut found = [0; 256];
                        file.read_exact_at(&mut found, 4096 + thread * 256)
                            .expect("a read");
                        assert_eq!(found, mine, "thread {thread}, round {round}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_hundred_and_fifty_threads_are_served() {
    if cannot_mount() {
        return;
    }
    let mounted = Mounted::new("many", vec![slow(BYTES, BlockSize::B512)]);
    let file = mounted.open(0);
    std::thread::scope(|scope| {
        for thread in 0..150_u64 {
            let file = &file;
            scope.spawn(move || random_io(file, &mut Random(thread), thread * 20_000, 20_000, 20));
        }
    });
}

#[test]
fn each_fsync_and_fdatasync_is_exactly_one_flush() {
    if cannot_mount() {
        return;
    }
    let media = vec![ram(BYTES, BlockSize::B4096), ram(BYTES, BlockSize::B4096)];
    let mut mounted = Mounted::new("flush", media);
    let file = mounted.open(0);
    let before = counters(mounted.mount()).flushes;
    for round in 0..10 {
        file.write_all_at(b"abc", round * 5).expect("a write");
        file.sync_all().expect("fsync");
        file.sync_data().expect("fdatasync");
    }
    assert_eq!(counters(mounted.mount()).flushes - before, 20);
    drop(file);
    assert_eq!(
        counters(mounted.mount()).flushes - before,
        20,
        "close is none"
    );
    let mut device = mounted.unmount();
    let after = support::counters_of(&mut device).flushes;
    assert_eq!(after - before, 22, "one for each namespace at the end");
}

/// RAM that counts the writes which had to be durable when they were answered.
#[derive(Debug)]
struct CountsFua(Box<dyn Media>, Arc<AtomicU64>);

impl Media for CountsFua {
    fn block_size(&self) -> BlockSize {
        self.0.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.0.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        if request.op == Operation::Write && request.fua {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        self.0.start(token, request, data)
    }

    fn is_instant(&self) -> bool {
        true
    }
}

#[test]
fn a_synchronous_write_is_durable_without_a_flush_and_no_other_is() {
    if cannot_mount() {
        return;
    }
    let durable = Arc::new(AtomicU64::new(0));
    let media = CountsFua(ram(BYTES, BlockSize::B4096), Arc::clone(&durable));
    let mounted = Mounted::new("fua", vec![Box::new(media)]);
    let before = counters(mounted.mount()).flushes;
    let file = mounted.open(0);
    file.write_all_at(&[1; 8192], 4096).expect("a write");
    assert_eq!(durable.load(Ordering::Relaxed), 0);
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::DSYNC.bits() as i32;
    let opened = options.write(true).custom_flags(flags);
    let synchronous = opened.open(mounted.path(0)).expect("open");
    // A whole block and a part of one.
    synchronous.write_all_at(&[2; 5000], 4096).expect("a write");
    assert_eq!(durable.load(Ordering::Relaxed), 2);
    assert_eq!(counters(mounted.mount()).flushes, before);
}

#[test]
fn the_end_is_that_of_a_block_device() {
    if cannot_mount() {
        return;
    }
    let mut mounted = Mounted::new("end", vec![ram(BYTES, BlockSize::B4096)]);
    let mut file = mounted.open(0);
    let metadata = file.metadata().expect("stat");
    assert_eq!((metadata.len(), metadata.blksize()), (BYTES, 4096));
    assert_eq!(metadata.blocks() * 512, BYTES);
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o666);

    let mut bytes = [9; 100];
    assert_eq!(file.read_at(&mut bytes, BYTES).expect("end of file"), 0);
    assert_eq!(
        file.read_at(&mut bytes, BYTES + 5000).expect("behind it"),
        0
    );
    assert_eq!(file.read_at(&mut bytes, BYTES - 30).expect("over it"), 30);
    assert_eq!(code(file.write_at(&bytes, BYTES)), ENOSPC);
    assert_eq!(code(file.write_at(&bytes, BYTES + 4096)), ENOSPC);
    assert_eq!(file.write_at(&bytes, BYTES - 30).expect("over the end"), 30);
    let long = vec![3; 3 << 20];
    assert_eq!(
        file.write_at(&long, BYTES - (2 << 20) - 1)
            .expect("over the end"),
        (2 << 20) + 1
    );
    assert_eq!(file.seek(SeekFrom::End(0)).expect("seek"), BYTES);
    assert_eq!(code(file.write(&[1])), ENOSPC);
    assert_eq!(file.metadata().expect("stat").len(), BYTES);

    assert!(file.set_len(BYTES).is_ok(), "to the same size");
    assert_eq!(code(file.set_len(BYTES - 1)), EINVAL);
    assert_eq!(code(file.set_len(BYTES + 1)), EINVAL);
    assert_eq!(code(file.set_len(0)), EINVAL);
    drop(file);
    let device = mounted.unmount();
    assert_eq!(device.namespaces()[0].bytes(), BYTES);
}

#[test]
fn opening_with_truncation_changes_nothing_for_anybody() {
    if cannot_mount() {
        return;
    }
    let mounted = Mounted::new("trunc", vec![ram(BYTES, BlockSize::B4096)]);
    let file = mounted.open(0);
    file.write_all_at(b"kept", 5000).expect("a write");
    let mut options = OpenOptions::new();
    let again = options
        .write(true)
        .create(true)
        .truncate(true)
        .open(mounted.path(0));
    let again = again.expect("open with O_TRUNC");
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, 5000).expect("a read");
    assert_eq!(
        (&bytes, again.metadata().expect("stat").len()),
        (b"kept", BYTES)
    );
}

#[test]
fn holes_and_zeros_are_what_fallocate_promises() {
    if cannot_mount() {
        return;
    }
    for size in [BlockSize::B512, BlockSize::B4096] {
        let mounted = Mounted::new("fallocate", vec![ram(BYTES, size)]);
        let file = mounted.open(0);
        let mut shadow = vec![0xaa; BYTES as usize];
        file.write_all_at(&shadow, 0).expect("a write");
        let keep = FallocateFlags::KEEP_SIZE;
        let punch = FallocateFlags::PUNCH_HOLE | keep;
        let zero = FallocateFlags::ZERO_RANGE;
        let calls = [
            (punch, 100, 20_000_u64, Ok(20_000)),
            (punch, 1 << 20, 1 << 20, Ok(1 << 20)),
            (punch, BYTES - 100, 4096, Ok(100)),
            (punch, BYTES + 100, 4096, Ok(0)),
            (zero, 600_000, 5, Ok(5)),
            (zero | keep, 700_000, 100_000, Ok(100_000)),
            (zero | keep, BYTES - 5000, 10_000, Ok(5000)),
            (zero, BYTES - 5000, 10_000, Err(rustix::io::Errno::NOSPC)),
            (FallocateFlags::empty(), 0, BYTES, Ok(0)),
            (keep, 4096, 4096, Ok(0)),
            (
                FallocateFlags::empty(),
                1,
                BYTES,
                Err(rustix::io::Errno::NOSPC),
            ),
            (
                FallocateFlags::COLLAPSE_RANGE,
                0,
                4096,
                Err(rustix::io::Errno::OPNOTSUPP),
            ),
        ];
        for (mode, offset, len, expected) in calls {
            let found = rustix::fs::fallocate(&file, mode, offset, len);
            assert_eq!(
                found,
                expected.map(|_: usize| ()),
                "{mode:?} {offset} {len}"
            );
            if let Ok(zeros @ 1..) = expected {
                shadow[offset as usize..offset as usize + zeros].fill(0);
            }
        }
        let mut found = vec![1; BYTES as usize];
        file.read_exact_at(&mut found, 0).expect("a read");
        assert!(found == shadow);
        assert_eq!(file.metadata().expect("stat").len(), BYTES);
    }
}

#[test]
fn a_name_goes_with_unlink_and_open_files_go_on() {
    if cannot_mount() {
        return;
    }
    let media = vec![ram(BYTES, BlockSize::B4096), ram(BYTES, BlockSize::B4096)];
    let mut mounted = Mounted::new("unlink", media);
    let file = mounted.open(0);
    std::fs::remove_file(mounted.path(0)).expect("unlink");
    assert_eq!(names(&mounted), ["nvme_raw_1"]);
    let gone = File::open(mounted.path(0)).expect_err("the name is gone");
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    file.write_all_at(b"still here", 9).expect("a write");
    let mut bytes = [0; 10];
    file.read_exact_at(&mut bytes, 9).expect("a read");
    assert_eq!(
        (&bytes, file.metadata().expect("stat").nlink()),
        (b"still here", 0)
    );
    assert_eq!(code(File::create(mounted.path(0))), EPERM);
    drop(file);

    let device = mounted.unmount();
    let again = Mount::start(device, &mounted.folder.0, &MountOptions::default());
    mounted.mount = Some(again.expect("the same device again"));
    assert_eq!(names(&mounted), ["nvme_raw_0", "nvme_raw_1"]);
    let mut found = [0; 10];
    mounted
        .open(0)
        .read_exact_at(&mut found, 9)
        .expect("a read");
    assert_eq!(found, bytes);
}

fn names(mounted: &Mounted) -> Vec<String> {
    let entries = std::fs::read_dir(&mounted.folder.0).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

#[test]
fn owners_modes_and_times_are_remembered_and_other_files_cannot_be_made() {
    if cannot_mount() {
        return;
    }
    let mounted = Mounted::new("names", vec![ram(BYTES, BlockSize::B4096)]);
    let path = mounted.path(0);
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("chmod");
    std::os::unix::fs::chown(&path, Some(12), Some(34)).expect("chown");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    mounted.open(0).set_modified(time).expect("utimens");
    let metadata = std::fs::metadata(&path).expect("stat");
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o640);
    assert_eq!(
        (metadata.uid(), metadata.gid(), metadata.len()),
        (12, 34, BYTES)
    );
    assert_eq!(metadata.modified().expect("a time"), time);

    let folder = &mounted.folder.0;
    assert_eq!(code(File::create(folder.join("other"))), EPERM);
    assert_eq!(code(std::fs::create_dir(folder.join("other"))), EPERM);
    assert_eq!(code(std::fs::rename(&path, folder.join("other"))), EPERM);
    assert_eq!(code(std::fs::hard_link(&path, folder.join("other"))), EPERM);
    assert_eq!(
        code(std::os::unix::fs::symlink(&path, folder.join("other"))),
        EPERM
    );
    assert_eq!(names(&mounted), ["nvme_raw_0"]);
    let found = rustix::fs::statvfs(folder).expect("statvfs");
    assert_eq!(
        (found.f_frsize * found.f_blocks, found.f_bavail),
        (BYTES, 0)
    );
}

#[test]
fn an_nvme_error_is_an_errno_and_the_rest_goes_on() {
    if cannot_mount() {
        return;
    }
    let rules =
        "[[rule]]\nop = \"read\"\nlba = 3\ndo = \"fail\"\nstatus = \"unrecovered-read-error\"
[[rule]]\nop = \"write\"\nlba = 4\ndo = \"fail\"\nstatus = \"capacity-exceeded\"";
    let mounted = Mounted::new("errors", vec![faulty(BYTES, BlockSize::B4096, rules)]);
    let file = mounted.open(0);
    let mut bytes = vec![0; 4096];
    assert_eq!(code(file.read_at(&mut bytes, 3 * 4096)), EIO);
    assert_eq!(code(file.write_at(&bytes, 4 * 4096)), ENOSPC);
    assert!(file.read_at(&mut bytes, 4 * 4096).is_ok());
    let mut whole = Vec::new();
    let read = (&file).take(BYTES).read_to_end(&mut whole);
    assert_eq!(code(read), EIO);
}

#[test]
fn a_controller_that_hangs_is_eio_and_works_again_after_a_reset() {
    if cannot_mount() {
        return;
    }
    let rules = "[[rule]]\nop = \"read\"\ncount = 1\ndo = \"drop\"";
    let mut options = MountOptions::default();
    options.engine.io_timeout = Duration::from_millis(200);
    let media = vec![faulty(BYTES, BlockSize::B4096, rules)];
    let mounted = Mounted::with("hang", media, &options);
    let file = mounted.open(0);
    let mut bytes = [1; 4096];
    assert_eq!(code(file.read_at(&mut bytes, 0)), EIO);
    assert_eq!(file.read_at(&mut bytes, 0).expect("after the reset"), 4096);
}

#[test]
fn one_thread_serves_slow_devices_too() {
    if cannot_mount() {
        return;
    }
    let options = MountOptions {
        threads: 1,
        clone_fd: false,
        ..MountOptions::default()
    };
    let mounted = Mounted::with("one", vec![slow(BYTES, BlockSize::B4096)], &options);
    random_io(&mounted.open(0), &mut Random(5), 0, 1 << 20, 50);
}

#[test]
fn a_directory_that_cannot_be_a_mount_point_is_refused_with_the_reason() {
    if cannot_mount() {
        return;
    }
    let start = |point: &std::path::Path| {
        let device = device(vec![ram(BYTES, BlockSize::B4096)]);
        let mount = Mount::start(device, point, &MountOptions::default());
        mount.expect_err("no mount point")
    };
    let mounted = Mounted::new("in-use", vec![ram(BYTES, BlockSize::B4096)]);
    let in_use = start(&mounted.folder.0);
    assert!(matches!(in_use, MountError::InUse { .. }), "{in_use}");
    let folder = Folder::new("missing");
    let missing = start(&folder.0.join("nothing"));
    assert!(missing.to_string().contains("No such file"), "{missing}");
    let file = folder.0.join("file");
    std::fs::write(&file, "x").expect("a file");
    assert!(start(&file).to_string().contains("no directory"));
    assert!(start(&folder.0).to_string().contains("not empty"));
    std::fs::remove_file(&file).expect("a file");
}
