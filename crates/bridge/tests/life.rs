//! The bad moments of a mount: programs that die, fork or stay, and mounts that end under them.

mod support;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use bridge::engine::{Engine, EngineOptions, Request};
use local::Inline;
use media::BlockSize;
use ring::sync::{AtomicBool, AtomicU64, Ordering};
use support::{Mounted, Random, cannot_mount, counters_of, faulty, lacks, ram, slow};

const BYTES: u64 = 4 << 20;

/// Reads from a device that is mounted no more.
fn read(engine: &mut Engine<Inline>, offset: u64, len: usize) -> Vec<u8> {
    let request = Request::Read {
        volume: 0,
        offset,
        len,
    };
    let ticket = engine.submit(&request).expect("room");
    let mut bytes = vec![0; len];
    while engine.next_done().is_none() {
        engine.pump();
    }
    assert_eq!(engine.outcome(ticket), Ok(()));
    engine.read_out(ticket, &mut bytes);
    engine.release(ticket);
    bytes
}

#[test]
fn an_unmount_under_load_ends_soon_and_loses_nothing_that_was_answered() {
    if cannot_mount() {
        return;
    }
    for (name, media) in [
        ("load", ram(BYTES, BlockSize::B4096)),
        ("load-slow", slow(BYTES, BlockSize::B4096)),
    ] {
        let mut mounted = Mounted::new(name, vec![media]);
        let stop = AtomicBool::new(false);
        let written = [const { AtomicU64::new(0) }; 8];
        let before = support::counters(mounted.mount()).flushes;
        let mut device = std::thread::scope(|scope| {
            for (thread, written) in written.iter().enumerate() {
                let (file, stop) = (mounted.open(0), &stop);
                scope.spawn(move || {
                    // Each write says its number in an unaligned part of the file; what was answered must be there.
                    for number in 1_u64.. {
                        let bytes = number.to_le_bytes().repeat(100);
                        match file.write_at(&bytes, thread as u64 * 10_000 + 1) {
                            Ok(len) => assert_eq!(len, 800),
                            Err(_) => break,
                        }
                        written.store(number, Ordering::Relaxed);
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
            }
            while written
                .iter()
                .any(|written| written.load(Ordering::Relaxed) < 20)
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            let begin = support::clock();
            let device = mounted.unmount();
            assert!(
                support::clock() - begin < Duration::from_secs(5),
                "it ends soon"
            );
            stop.store(true, Ordering::Relaxed);
            device
        });
        assert_eq!(
            counters_of(&mut device).flushes - before,
            1,
            "the one at the end"
        );
        let mut engine = Engine::open(device, &EngineOptions::default()).expect("an engine");
        for (thread, written) in written.iter().enumerate() {
            let found = read(&mut engine, thread as u64 * 10_000 + 1, 800);
            let number = u64::from_le_bytes(found[..8].try_into().expect("8 bytes"));
            assert!(
                found == number.to_le_bytes().repeat(100),
                "one write, whole"
            );
            let answered = written.load(Ordering::Relaxed);
            assert!(
                number == answered || number == answered + 1,
                "{number} of {answered}"
            );
        }
    }
}

#[test]
fn what_is_under_way_when_the_mount_ends_is_done_and_answered() {
    if cannot_mount() {
        return;
    }
    let rules = "[[rule]]\nop = \"write\"\ndo = \"delay\"\ndelay_us = 400_000";
    let mut mounted = Mounted::new("way", vec![faulty(BYTES, BlockSize::B4096, rules)]);
    let file = mounted.open(0);
    let device = std::thread::scope(|scope| {
        let write = scope.spawn(|| file.write_at(&[6; 4096], 8192));
        std::thread::sleep(Duration::from_millis(150));
        let device = mounted.unmount();
        let wrote = write.join().expect("a thread");
        assert_eq!(wrote.expect("an answer before the end"), 4096);
        device
    });
    let mut engine = Engine::open(device, &EngineOptions::default()).expect("an engine");
    assert_eq!(read(&mut engine, 8192, 4096), [6; 4096]);
}

#[test]
fn somebody_elses_unmount_is_noticed_and_the_device_comes_back() {
    if cannot_mount() {
        return;
    }
    let mut mounted = Mounted::new("elsewhere", vec![ram(BYTES, BlockSize::B4096)]);
    mounted.open(0).write_all_at(b"kept", 77).expect("a write");
    assert!(!mounted.mount().is_over());
    let unmounted = Command::new("umount").arg(&mounted.folder.0).status();
    assert!(unmounted.expect("umount").success());
    for _ in 0..1000 {
        if mounted.mount().is_over() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(mounted.mount().is_over());
    let device = mounted.unmount();
    let mut engine = Engine::open(device, &EngineOptions::default()).expect("an engine");
    assert_eq!(read(&mut engine, 77, 4), b"kept");
}

#[test]
fn a_mount_that_is_dropped_is_gone() {
    if cannot_mount() {
        return;
    }
    let mut mounted = Mounted::new("dropped", vec![ram(BYTES, BlockSize::B4096)]);
    let file = mounted.open(0);
    let begin = support::clock();
    drop(mounted.mount.take());
    let waited = support::clock() - begin;
    assert!(
        waited < Duration::from_secs(5),
        "open files do not hold it up"
    );
    assert!(file.read_at(&mut [0; 10], 0).is_err());
    let mut entries = std::fs::read_dir(&mounted.folder.0).expect("the empty directory");
    assert!(entries.next().is_none());
}

#[test]
fn a_program_killed_in_the_middle_of_writing_leaves_whole_pieces_and_a_working_mount() {
    if cannot_mount() || lacks("dd") {
        return;
    }
    let mounted = Mounted::new("killed", vec![slow(32 << 20, BlockSize::B4096)]);
    let file = mounted.open(0);
    let mut random = Random(3);
    for round in 1..=10_u8 {
        let mut source = Command::new("dd")
            .arg(format!("of={}", mounted.path(0).display()))
            .args(["bs=256k", "conv=notrunc", "iflag=fullblock"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dd");
        let mut pipe = source.stdin.take().expect("a pipe");
        let bytes = vec![round; 1 << 20];
        std::thread::scope(|scope| {
            scope.spawn(move || while pipe.write_all(&bytes).is_ok() {});
            std::thread::sleep(Duration::from_millis(3 + random.below(30)));
            source.kill().expect("kill");
            source.wait().expect("dead");
        });
        let mut found = vec![0; 1 << 20];
        file.read_exact_at(&mut found, 0).expect("a read");
        for block in found.chunks(4096) {
            assert!(
                block.iter().all(|byte| *byte == block[0]),
                "blocks are whole"
            );
        }
        file.write_all_at(&[0xff; 4096], 0).expect("a write");
        file.sync_all().expect("fsync");
    }
}

#[test]
fn children_that_inherit_the_file_use_it_beside_their_parent() {
    if cannot_mount() || lacks("dd") {
        return;
    }
    let mounted = Mounted::new("fork", vec![ram(BYTES, BlockSize::B4096)]);
    let (stop, file) = (AtomicBool::new(false), mounted.open(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(1);
            while !stop.load(Ordering::Relaxed) {
                let bytes = random.bytes(6000);
                file.write_all_at(&bytes, 2_000_001).expect("a write");
                let mut found = vec![0; 6000];
                file.read_exact_at(&mut found, 2_000_001).expect("a read");
                assert!(found == bytes);
            }
        });
        // The server's own process forks, too. Parent and children share one file position.
        for _ in 0..20 {
            let script = "exec 3<>\"$1\"; printf aaaa >&3; (printf bbbb >&3; (printf cccc >&3)); printf dddd >&3";
            let shell = Command::new("sh")
                .args(["-c", script, "sh"])
                .arg(mounted.path(0))
                .status();
            assert!(shell.expect("a shell").success());
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut found = [0; 20];
    mounted
        .open(0)
        .read_exact_at(&mut found, 0)
        .expect("a read");
    assert_eq!(&found, b"aaaabbbbccccdddd\0\0\0\0");
}

/// Whether the kernel's version is this or later.
fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split('.').map_while(|part| part.parse().ok());
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

#[test]
fn memory_maps_show_what_was_written_and_write_what_was_changed() {
    if cannot_mount() || lacks("python3") {
        return;
    }
    let mounted = Mounted::new("mmap", vec![ram(BYTES, BlockSize::B4096)]);
    let file: File = mounted.open(0);
    file.write_all_at(b"from a write", 123_456)
        .expect("a write");
    let script = "
import mmap, sys
with open(sys.argv[1], 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0)
    assert m[123456:123468] == b'from a write', m[123456:123468]
    m[200000:200010] = b'from a map'
    m.flush()
";
    let map = Command::new("python3")
        .args(["-c", script])
        .arg(mounted.path(0))
        .output();
    let map = map.expect("python3");
    let said = String::from_utf8_lossy(&map.stderr);
    if said.contains("No such device") && !kernel_is_at_least(6, 6) {
        return support::not_run("this kernel maps no files that are opened for direct I/O");
    }
    assert!(map.status.success(), "{said}");
    let mut found = [0; 10];
    file.read_exact_at(&mut found, 200_000).expect("a read");
    assert_eq!(&found, b"from a map");
}
