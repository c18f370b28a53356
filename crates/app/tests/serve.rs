//! `serve` as its users meet it: the built program, its files, its signals, its end.

mod served;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use served::{Served, can_mount, is_mounted, scratch, text, wait_until};

fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.open(path).expect("a served file opens")
}

/// Writes, syncs, reads back, at a place that is no block's beginning.
fn use_it(path: &Path) {
    let file = open(path);
    let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    file.write_all_at(&bytes, 4097).expect("a write");
    file.sync_all().expect("a flush");
    let mut found = vec![0; bytes.len()];
    file.read_exact_at(&mut found, 4097).expect("a read");
    assert_eq!(found, bytes);
}

/// Runs the program to its end; its exit code and all that it said.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut served = Served::spawn_plainly(folder, arguments);
    let code = served.wait().code();
    (code, served.said())
}

#[test]
fn both_signals_end_a_served_drive_in_peace_and_leave_nothing_mounted() {
    if !can_mount() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let folder = scratch("signals");
        let served = Served::start(&folder, &["ram:64M"]);
        let file = served.file(0);
        use_it(&file);
        assert_eq!(
            served.stdout(),
            format!("ready: {} 64 MiB ram:64M\n", text(&file))
        );
        let said = served.end(signal);
        assert!(
            said.contains("flushes 1 and 1 at the end; refused 0"),
            "{said}"
        );
    }
}

#[test]
fn what_a_drive_did_is_counted_with_one_flush_for_each_fsync() {
    if !can_mount() {
        return;
    }
    let folder = scratch("counted");
    let served = Served::start(&folder, &["ram:1M", "--controller", "thread"]);
    let file = open(&served.file(0));
    for round in 0..5 {
        file.write_all_at(&[1; 4096], round * 4096)
            .expect("a write");
        file.sync_data().expect("a flush");
    }
    file.read_exact_at(&mut [0; 8192], 0).expect("a read");
    file.read_exact_at(&mut [0; 512], 1 << 19)
        .expect("a read of nothing written");
    drop(file);
    let said = served.end(Signal::TERM);
    for words in [
        "reads 2 (8704 bytes), writes 5 (20480 bytes), flushes 5 and 1 at the end; refused 0",
        "reads of blocks never written 1, faults injected 0, failures of the machine 0",
    ] {
        assert!(said.contains(words), "{words:?} is missing in {said}");
    }
}

#[test]
fn a_drive_ends_in_peace_while_programs_write_to_it() {
    if !can_mount() {
        return;
    }
    let folder = scratch("load");
    fs::write(folder.join("disk.img"), vec![0; 16 << 20]).expect("a file");
    for device in ["ram:16M", "ram:16M?profile=aws-c7gd", "file:disk.img"] {
        let served = Served::start(&folder, &[device]);
        let path = served.file(0);
        std::thread::scope(|scope| {
            let load = |first: u64| {
                let file = open(&path);
                let write = |round: u64| {
                    file.write_all_at(&[3; 65536], first + round % 16 * 65536)?;
                    if round.is_multiple_of(8) {
                        file.sync_data()
                    } else {
                        Ok(())
                    }
                };
                (0..).map(write).find_map(Result::err)
            };
            let writers = [0, 4 << 20, 8 << 20].map(|first| scope.spawn(move || load(first)));
            std::thread::sleep(Duration::from_millis(300));
            let said = served.end(Signal::TERM);
            assert!(
                !said.contains("writes 0"),
                "{device}: there was no load: {said}"
            );
            for writer in writers {
                let error = writer
                    .join()
                    .expect("a writer")
                    .expect("writers go on until refused");
                let gone = [
                    rustix::io::Errno::NODEV,
                    rustix::io::Errno::NOTCONN,
                    rustix::io::Errno::CONNABORTED,
                ];
                let gone = gone.map(|errno| Some(errno.raw_os_error()));
                assert!(gone.contains(&error.raw_os_error()), "{device}: {error}");
            }
        });
    }
}

#[test]
fn somebody_elses_unmount_and_the_end_of_the_time_end_it_with_success() {
    if !can_mount() {
        return;
    }
    let folder = scratch("unmounted");
    let mut served = Served::start(&folder, &["ram:1M"]);
    use_it(&served.file(0));
    let umount = Command::new("umount").arg(folder.join("mnt")).status();
    assert!(umount.expect("umount runs").success());
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    assert!(served.stdout().contains("flushes 1 and 1 at the end"));

    let mut served = Served::start(&folder, &["ram:1M", "--duration", "300ms"]);
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    assert!(!is_mounted(&folder.join("mnt")));
}

#[test]
fn telemetry_does_not_write_over_a_file_that_holds_something_else() {
    if !can_mount() {
        return;
    }
    let folder = scratch("notes");
    let notes = "what was found, in a file longer than a page of counters\n".repeat(99);
    fs::write(folder.join("notes.txt"), &notes).expect("a file");
    for flag in ["--telemetry-v1", "--telemetry-v2"] {
        let served = Served::start(&folder, &["ram:1M", flag, "notes.txt"]);
        let words = "notes.txt: no telemetry here: wanted a file";
        assert!(served.stderr().contains(words), "{}", served.said());
        served.end(Signal::TERM);
        let found = fs::read_to_string(folder.join("notes.txt")).expect("text");
        assert_eq!(found, notes, "{flag}");
    }
}

#[test]
fn one_media_file_is_served_once_at_a_time() {
    if !can_mount() {
        return;
    }
    let folder = scratch("locked");
    let first = Served::start(&folder, &["file:disk.img?size=1M"]);
    let elsewhere = scratch("locked-second");
    let device = format!("file:{}", text(&folder.join("disk.img")));
    let (code, said) = run(&elsewhere, &["serve", &device, "--mount", "mnt"]);
    assert_eq!(code, Some(3), "{said}");
    let holder = format!("in use by process {}", first.id());
    assert!(
        said.contains(&holder) && said.contains("stop that first"),
        "{said}"
    );
    use_it(&first.file(0));
    first.end(Signal::TERM);
    assert!(is_free(&elsewhere, &device), "its lock goes with it");
}

fn is_free(folder: &Path, device: &str) -> bool {
    let mut served = Served::spawn(folder, &["serve", device, "--mount", "mnt"]);
    served.is_ready()
}

#[test]
fn a_mount_point_that_will_not_do_is_refused_before_anything_is_made() {
    if !can_mount() {
        return;
    }
    let folder = scratch("points");
    let served = Served::start(&folder, &["ram:1M"]);
    fs::write(folder.join("file"), b"").expect("a file");
    for (point, words) in [
        ("mnt", "in use"),
        ("missing", "No such file"),
        (".", "not empty"),
        ("file", "Not a directory"),
        ("/proc", "not empty"),
    ] {
        let said = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
            .args(["serve", "file:new.img?size=1M", "--mount", point])
            .current_dir(&folder)
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(3), "{point}: {text}");
        assert!(
            text.contains(words) && text.contains("mount point"),
            "{point}: {text}"
        );
        assert!(!folder.join("new.img").exists(), "{point}");
    }
    use_it(&served.file(0));
    served.end(Signal::TERM);
}

#[test]
fn a_mount_whose_server_was_killed_is_taken_away_by_the_next() {
    if !can_mount() {
        return;
    }
    let folder = scratch("dead");
    let served = Served::start(&folder, &["ram:1M"]);
    // The kernel remembers what it was told of the folder, and tells it after the server's death too.
    fs::metadata(folder.join("mnt")).expect("a folder");
    served.kill();
    assert!(is_mounted(&folder.join("mnt")));
    let mut next = Served::spawn(&folder, &["serve", "ram:1M", "--mount", "mnt"]);
    assert!(next.is_ready(), "{}", next.said());
    assert!(
        next.stderr().contains("took away a dead mount"),
        "{}",
        next.said()
    );
    use_it(&next.file(0));
    next.end(Signal::TERM);
}

#[test]
fn a_lab_file_is_served_with_paths_beside_it() {
    if !can_mount() {
        return;
    }
    let folder = scratch("lab");
    let lab = "version = 1\n[[namespace]]\ndevice = \"ram:1M?lba=4096\"\nid = 7\n[[namespace]]\n\
               device = \"file:disk.img?size=2M\"\nid = 3\n[[mount]]\npath = \"mnt\"\n\
               [telemetry]\nv1 = \"none\"\nv2 = \"page\"\n";
    fs::write(folder.join("lab.toml"), lab).expect("a lab");
    let elsewhere = scratch("lab-started-from");
    let path = text(&folder.join("lab.toml"));
    let mut served = Served::spawn_with_ready(&elsewhere, &["serve", &path]);
    assert!(served.is_ready(), "{}", served.said());
    let mnt = text(&folder.join("mnt"));
    let disk = text(&folder.join("disk.img"));
    assert_eq!(
        served.stdout(),
        format!(
            "ready: {mnt}/nvme_raw_0 2 MiB file:{disk}?size=2M; {mnt}/nvme_raw_1 1 MiB ram:1M?lba=4096\n"
        )
    );
    for index in 0..2 {
        use_it(&folder.join("mnt").join(format!("nvme_raw_{index}")));
    }
    assert!(folder.join("page").exists());
    served.signal(Signal::TERM);
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    let kept = fs::read(disk).expect("the media file");
    assert_eq!(kept[4097..4101], [0, 7, 14, 21]);
}

#[test]
fn telemetry_follows_the_drive_to_its_end() {
    if !can_mount() {
        return;
    }
    let folder = scratch("telemetry");
    let flags = ["ram:1M", "--telemetry-v1", "v1", "--telemetry-v2", "v2"];
    let served = Served::start(&folder, &flags);
    let word = |name: &str, at: usize| {
        let page = fs::read(folder.join(name)).expect("a page");
        u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes"))
    };
    let state = || word("v2", 48) >> 32;
    use_it(&served.file(0));
    wait_until("the counters appear", || {
        word("v2", 144) == 1 && word("v1", 16) > 0
    });
    assert_eq!((state(), word("v1", 40)), (1, 1));
    assert_eq!(word("v2", 48) & 0xffff_ffff, u64::from(served.id()));
    let before = word("v2", 0);
    wait_until("it goes on", || word("v2", 0) > before);

    let shared = scratch("telemetry-second");
    let page = text(&folder.join("v2"));
    let mut second = Served::spawn(
        &shared,
        &["serve", "ram:1M", "--mount", "mnt", "--telemetry-v2", &page],
    );
    assert!(second.is_ready(), "a page in use is no reason not to serve");
    assert!(
        second.stderr().contains("another process writes it"),
        "{}",
        second.said()
    );
    second.end(Signal::TERM);

    served.end(Signal::TERM);
    assert_eq!((state(), word("v1", 40), word("v2", 8)), (2, 0, 0));
    assert_eq!(word("v2", 144), 2, "the last flush is counted");
}

#[test]
fn a_cache_between_drive_and_disk_is_said() {
    if !can_mount() {
        return;
    }
    let folder = scratch("cached");
    let served = Served::start(&folder, &["file:disk.img?size=1M&direct=never"]);
    assert!(served.stderr().contains("page cache"), "{}", served.said());
    served.end(Signal::TERM);
}

#[test]
fn nonsense_is_answered_with_what_is_allowed() {
    let folder = scratch("nonsense");
    let cases: [(&[&str], i32, &[&str]); 15] = [
        (&[], 2, &["nothing to serve", "lab example"]),
        (&["ram:1M"], 2, &["no door", "--mount DIR"]),
        (&["rom:1M", "--mount", "mnt"], 2, &["rom", "ram"]),
        (&["lab", "--mount", "mnt"], 2, &["\"lab\"", "ends in .toml"]),
        (&["lab.toml"], 2, &["lab.toml", "No such file"]),
        (&["LAB.TOML"], 2, &["LAB.TOML", "No such file"]),
        (&["lab.toml", "ram:1M"], 2, &["stands alone"]),
        (
            &["ram:1M?profile=x.toml", "--mount", "mnt"],
            3,
            &["x.toml", "profile"],
        ),
        (
            &["ram:1M?profil=x.toml", "--mount", "mnt"],
            2,
            &["\"profil\"", "profile"],
        ),
        (
            &["ram:1M?profile=none", "--mount", "mnt"],
            2,
            &["\"none\"", "aws-c7gd"],
        ),
        (
            &["file:a", "file:a", "--mount", "mnt"],
            2,
            &["a is in use by file:a"],
        ),
        (
            &["pci:0000:00:01.0", "--mount", "mnt"],
            3,
            &["not built yet"],
        ),
        (
            &["ram:1M", "--mount", "mnt", "--threads", "0"],
            2,
            &["--threads", "1 to 16"],
        ),
        (
            &["ram:1M", "--mount", "mnt", "--duration", "soon"],
            2,
            &["--duration", "10s"],
        ),
        (
            &["ram:1M", "--mount", "mnt", "--ready-fd", "77"],
            2,
            &["--ready-fd", "77"],
        ),
    ];
    for (arguments, code, words) in cases {
        let (found, said) = run(&folder, &[&["serve"], arguments].concat());
        assert_eq!(found, Some(code), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments:?}: no {word:?} in {said}");
        }
    }
}

/// Blocks of the drive that each writer has for itself.
const BLOCKS: u64 = 64;
const BLOCK_BYTES: usize = 4096;
const WRITERS: usize = 4;

/// What one writer knows of its blocks: the last generation that was confirmed as durable, and the last that was tried.
#[derive(Clone)]
struct Known {
    durable: Vec<u64>,
    tried: Vec<u64>,
}

/// A row of numbers without order, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % below
    }
}

/// A block that says in each word which it is, and which generation.
fn stamped(block: u64, generation: u64) -> Vec<u8> {
    let word = (generation << 16 | block).to_le_bytes();
    word.repeat(BLOCK_BYTES / word.len())
}

/// Writes until the drive is gone. The last writer's writes are durable by themselves, the others' after an fsync.
fn write_until_killed(
    path: &Path,
    writer: usize,
    known: &mut Known,
    numbers: &mut Numbers,
) -> io::Result<()> {
    let durable = writer == WRITERS - 1;
    let flags = if durable {
        rustix::fs::OFlags::DSYNC
    } else {
        rustix::fs::OFlags::empty()
    };
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    loop {
        let block = numbers.next(BLOCKS) as usize;
        let place = writer as u64 * BLOCKS + block as u64;
        known.tried[block] += 1;
        file.write_all_at(
            &stamped(place, known.tried[block]),
            place * BLOCK_BYTES as u64,
        )?;
        if durable {
            known.durable[block] = known.tried[block];
        } else if numbers.next(4) == 0 {
            file.sync_data()?;
            known.durable.clone_from(&known.tried);
        }
    }
}

/// Looks at each block; what was found is what is known from then on.
fn check(path: &Path, writer: usize, known: &mut Known) {
    let file = File::open(path).expect("a served file opens");
    for block in 0..BLOCKS as usize {
        let place = writer as u64 * BLOCKS + block as u64;
        let mut found = vec![0; BLOCK_BYTES];
        file.read_exact_at(&mut found, place * BLOCK_BYTES as u64)
            .expect("a block");
        let generation = u64::from_le_bytes(found[..8].try_into().expect("8 bytes")) >> 16;
        let (least, most) = (known.durable[block], known.tried[block]);
        assert!(
            (least..=most).contains(&generation),
            "block {place}: wanted generation {least} to {most}, found {generation}"
        );
        let whole = if generation == 0 {
            vec![0; BLOCK_BYTES]
        } else {
            stamped(place, generation)
        };
        assert!(found == whole, "block {place}: a write of it was torn");
        known.durable[block] = generation;
        known.tried[block] = generation;
    }
}

/// As many kills as DPE_KILLS says; ten without it.
#[test]
#[expect(clippy::print_stdout, reason = "says how much was checked")]
fn what_was_synced_outlives_kills_at_random_moments() {
    if !can_mount() {
        return;
    }
    let kills: u64 = match std::env::var("DPE_KILLS") {
        Ok(text) => text.parse().expect("DPE_KILLS is a number"),
        Err(_) => 10,
    };
    let folder = scratch("kills");
    let device = "file:disk.img?size=8M&lba=4096";
    let mut all = vec![
        Known {
            durable: vec![0; BLOCKS as usize],
            tried: vec![0; BLOCKS as usize],
        };
        WRITERS
    ];
    let mut durable_sum = 0;
    for kill in 0..kills {
        let served = Served::start(&folder, &[device]);
        let path = served.file(0);
        for (writer, known) in all.iter_mut().enumerate() {
            check(&path, writer, known);
        }
        std::thread::scope(|scope| {
            for (writer, known) in all.iter_mut().enumerate() {
                let mut numbers = Numbers(kill * WRITERS as u64 + writer as u64 + 1);
                let path = &path;
                scope.spawn(move || write_until_killed(path, writer, known, &mut numbers));
            }
            std::thread::sleep(Duration::from_micros(Numbers(kill).next(200_000)));
            served.kill();
        });
    }
    let served = Served::start(&folder, &[device]);
    for (writer, known) in all.iter_mut().enumerate() {
        check(&served.file(0), writer, known);
        durable_sum += known.durable.iter().sum::<u64>();
    }
    assert!(durable_sum > 0, "nothing was ever written");
    println!(
        "{kills} kills, {durable_sum} generations of {} blocks",
        BLOCKS * WRITERS as u64
    );
    served.end(Signal::TERM);
}
