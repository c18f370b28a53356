//! Our driver over vfio-user on our own endpoint, and what happens when one of the two goes away.
#![expect(
    clippy::disallowed_methods,
    reason = "a second client on a thread of its own"
)]

use core::time::Duration;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use controller::{Config, NamespaceConfig};
use driver::{BlockDevice, BlockOptions, Device, Options};
use link::{ConnectError, VfioUser};
use media::{BlockSize, FileMedia, FileOptions, RamMedia};
use mem::Backing;
use port::vfio_user::{Endpoint, EndpointError, Waiting};
use spec::{BlockCount, NamespaceId};

fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// An empty folder of one test alone.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dpe-link-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder); // it may be the first run
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A drive of 4 MiB.
fn options(waiting: Waiting) -> port::vfio_user::Options {
    let media = RamMedia::new(BlockCount::new(8192), BlockSize::B512, Backing::Anonymous);
    port::vfio_user::Options {
        config: Config::default(),
        namespaces: vec![NamespaceConfig {
            id: NamespaceId::new(1),
            media: Box::new(media.unwrap()),
        }],
        waiting,
        clock,
    }
}

fn connect(path: &Path) -> BlockDevice<VfioUser> {
    let link = VfioUser::connect(path, clock).unwrap();
    let device = Device::open(link, Options::default()).unwrap();
    BlockDevice::open(device, NamespaceId::new(1), BlockOptions::default()).unwrap()
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at as u8).wrapping_mul(31) ^ seed)
        .collect()
}

#[test]
fn what_is_written_over_the_socket_is_read_back_by_the_next_client() {
    for waiting in [Waiting::Busy, Waiting::Idle] {
        let folder = folder(&format!("bytes-{waiting:?}"));
        let endpoint = Endpoint::open(&folder, options(waiting)).unwrap();
        assert_eq!(endpoint.path(), folder.join("cntrl"));
        let mut drive = connect(&folder);
        let long = bytes(7, 1_000_001);
        drive.write_at(4097, &long).unwrap();
        drive.flush().unwrap();
        let mut found = vec![0; long.len()];
        drive.read_at(4097, &mut found).unwrap();
        assert!(found == long);
        drive.close().unwrap().shutdown().unwrap();
        let mut next = connect(endpoint.path());
        found.fill(0);
        next.read_at(4097, &mut found).unwrap();
        assert!(found == long);
        let counters = endpoint.with_controller(|controller| *controller.counters());
        let counters = counters.unwrap();
        assert!(counters.written_bytes >= long.len() as u64);
        assert_eq!((counters.bad_doorbells, counters.failures), (0, 0));
        drop(next);
        endpoint.close().unwrap();
        assert!(!folder.join("cntrl").exists());
    }
}

#[test]
fn a_client_that_vanishes_in_mid_write_leaves_a_drive_that_works_at_once() {
    let folder = folder("vanish");
    let endpoint = Endpoint::open(&folder, options(Waiting::Idle)).unwrap();
    for round in 0..20 {
        let mut drive = connect(&folder);
        drive.write_at(0, &bytes(round, 65_536)).unwrap();
        // Neither queues nor the controller are told.
        drop(drive);
    }
    let mut drive = connect(&folder);
    let mut found = vec![0; 65_536];
    drive.read_at(0, &mut found).unwrap();
    assert!(found == bytes(19, 65_536));
    drop(drive);
    endpoint.close().unwrap();
}

#[test]
fn a_second_client_waits_until_the_first_has_gone() {
    let folder = folder("second");
    let endpoint = Endpoint::open(&folder, options(Waiting::Idle)).unwrap();
    let mut first = connect(&folder);
    let path = folder.clone();
    let second = std::thread::spawn(move || {
        let mut drive = connect(&path);
        let mut found = [0; 4];
        drive.read_at(100, &mut found).unwrap();
        found
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!second.is_finished());
    first.write_at(100, &[1, 2, 3, 4]).unwrap();
    drop(first);
    assert_eq!(second.join().unwrap(), [1, 2, 3, 4]);
    endpoint.close().unwrap();
}

#[test]
fn a_driver_whose_endpoint_ends_gets_errors_and_does_not_hang() {
    let folder = folder("gone");
    let endpoint = Endpoint::open(&folder, options(Waiting::Idle)).unwrap();
    let link = VfioUser::connect(&folder, clock).unwrap();
    let mut device = Device::open(link, Options::default()).unwrap();
    endpoint.close().unwrap();
    assert!(device.create_queue_pair(16).is_err());
    assert!(matches!(
        VfioUser::connect(&folder, clock),
        Err(ConnectError::Connect { .. })
    ));
}

#[test]
fn the_socket_is_ours_alone_and_what_the_dead_left_is_replaced() {
    let folder = folder("socket");
    let path = folder.join("drive.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let endpoint = Endpoint::open(&path, options(Waiting::Idle)).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = Endpoint::open(&path, options(Waiting::Idle));
    assert!(matches!(second, Err(EndpointError::InUse { .. })));
    let mut drive = connect(&path);
    drive.write_at(0, &[1]).unwrap();
    drop(drive);
    endpoint.close().unwrap();
    std::fs::write(&path, "a file").unwrap();
    let refused = Endpoint::open(&path, options(Waiting::Idle));
    assert!(matches!(refused, Err(EndpointError::Kind { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
}

#[test]
fn the_end_makes_durable_what_no_host_flushed() {
    let folder = folder("flush");
    let size = Some(1 << 20);
    let mut file = FileOptions::new(BlockSize::B512);
    file.size = size;
    let media = FileMedia::open(folder.join("blocks"), file).unwrap();
    let mut wanted = options(Waiting::Idle);
    wanted.namespaces = vec![NamespaceConfig {
        id: NamespaceId::new(1),
        media: Box::new(media),
    }];
    let endpoint = Endpoint::open(&folder, wanted).unwrap();
    let mut drive = connect(&folder);
    drive.write_at(0, &bytes(3, 4096)).unwrap();
    drop(drive);
    let controller = endpoint.close().unwrap();
    assert_eq!(controller.media_counts().syncs, 1);
    drop(controller);
    let kept = std::fs::read(folder.join("blocks")).unwrap();
    assert!(kept.starts_with(&bytes(3, 4096)));
}

#[test]
fn an_idle_drive_sleeps_and_wakes_up_for_a_command() {
    let folder = folder("idle");
    let endpoint = Endpoint::open(&folder, options(Waiting::Idle)).unwrap();
    let mut drive = connect(&folder);
    drive.write_at(0, &[5; 512]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let before = endpoint.activity().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let after = endpoint.activity().unwrap();
    // At most a thousand times a second, with a few ticks each.
    let (naps, ticks) = (
        after.naps - before.naps,
        after.idle_ticks - before.idle_ticks,
    );
    assert!((1..1000).contains(&naps), "{naps} naps in half a second");
    assert!(ticks < 200_000, "{ticks} ticks in half a second");
    let mut found = [0; 512];
    drive.read_at(0, &mut found).unwrap();
    assert_eq!(found, [5; 512]);
    drop(drive);
    endpoint.close().unwrap();
}
