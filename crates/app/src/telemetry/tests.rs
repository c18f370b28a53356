//! The files as docs/telemetry.md describes them, read as it tells readers to.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::PathBuf;

use super::file::Target;
use super::page::{Rates, State, Update, V1_BYTES, V2_BYTES, V2_USED};
use super::*;

/// A folder of one test alone, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dpe-telemetry-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes"))
}

fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("4 bytes"))
}

/// The reader's algorithm: a page that was read whole, within 100 tries.
fn read_page(file: &File) -> Option<[u8; V2_BYTES]> {
    let sequence = || {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0).expect("a sequence");
        u64::from_le_bytes(bytes)
    };
    for _ in 0..100 {
        let before = sequence();
        let mut page = [0; V2_BYTES];
        file.read_exact_at(&mut page, 0).expect("a page");
        if before.is_multiple_of(2) && sequence() == before {
            return (&page[32..40] == b"DPE-TELE").then_some(page);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

const COUNTS: Counts = Counts {
    reads: 1,
    writes: 2,
    flushes: 3,
    read_bytes: 4,
    written_bytes: 5,
    errors: 6,
    unwritten_reads: 7,
};

fn update(state: State) -> Update {
    Update {
        state,
        counts: COUNTS,
        rates: Rates {
            iops: 8,
            interval_ns: 9,
        },
        started_ns: 10,
        now_ns: 11,
    }
}

#[test]
fn every_field_stands_where_the_document_says() {
    let page = page::v2(&update(State::Running));
    let long = [
        (8, 8),
        (16, 0),
        (24, 0),
        (56, 10),
        (64, 11),
        (72, 1_000_000_000),
        (80, 0),
        (128, 1),
        (136, 2),
        (144, 3),
        (152, 4),
        (160, 5),
        (168, 6),
        (176, 7),
        (184, 0),
        (192, 9),
        (200, 0),
    ];
    for (at, value) in long {
        assert_eq!(u64_at(&page, at), value, "offset {at}");
    }
    assert_eq!(&page[32..40], b"DPE-TELE");
    assert_eq!((u32_at(&page, 40), u32_at(&page, 44)), (2, 256));
    assert_eq!(
        (u32_at(&page, 48), u32_at(&page, 52)),
        (std::process::id(), 1)
    );
    assert!(
        page[V2_USED..]
            .iter()
            .chain(&page[88..128])
            .all(|&byte| byte == 0)
    );
    assert_eq!(u32_at(&page::v2(&update(State::Ended)), 52), 2);

    let page = page::v1(&update(State::Running), 77);
    let words = [0, 8, 16, 24, 32].map(|at| u64_at(&page, at));
    assert_eq!((words, page[40], page.len()), ([77, 1, 2, 0, 0], 1, 64));
    assert_eq!(page::v1(&update(State::Ended), 78)[40], 0);
}

#[test]
fn rates_are_of_the_last_interval_alone() {
    let after = Counts {
        reads: 1 + 300,
        writes: 2 + 33,
        ..COUNTS
    };
    let rates = Rates::between(&COUNTS, &after, Duration::from_millis(100));
    assert_eq!((rates.iops, rates.interval_ns), (3330, 100_000_000));
    // A clock that stands still and counters that went round are no reason to stop.
    let _ = Rates::between(&after, &COUNTS, Duration::ZERO);
}

#[test]
fn a_reader_never_takes_a_page_of_two_updates_for_one() {
    let path = folder("torn").join("page");
    let mut target = Target::open(&path, V2_BYTES).expect("a file");
    // Each word says the sequence of the update that wrote it.
    let page_of = |sequence: u64| {
        let mut page = page::v2(&update(State::Running));
        for word in page[128..V2_USED].chunks_exact_mut(8) {
            word.copy_from_slice(&sequence.to_le_bytes());
        }
        page
    };
    target.write_in_sequence(&page_of(2)).expect("written");
    std::thread::scope(|scope| {
        let path = &path;
        let reader = move || {
            let file = File::open(path).expect("there is a file");
            for _ in 0..5000 {
                // A hundred tries may all fall into updates that come without a pause.
                let Some(page) = read_page(&file) else {
                    continue;
                };
                let sequence = u64_at(&page, 0);
                for word in page[128..V2_USED].chunks_exact(8) {
                    assert_eq!(u64_at(word, 0), sequence);
                }
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let mut sequence = 2;
        while !readers.iter().all(|reader| reader.is_finished()) {
            sequence += 2;
            target
                .write_in_sequence(&page_of(sequence))
                .expect("written");
        }
        for reader in readers {
            reader.join().expect("no page was torn");
        }
    });
}

#[test]
fn the_sequence_goes_on_from_what_was_found_even_if_its_writer_was_killed() {
    let path = folder("sequence").join("page");
    for (found, odd) in [
        (0_u64, 1_u64),
        (6, 7),
        (7, 9),
        (u64::MAX, 1),
        (u64::MAX - 1, u64::MAX),
    ] {
        let mut short = [0; 40];
        short[..8].copy_from_slice(&found.to_le_bytes());
        short[32..].copy_from_slice(b"DPE-TELE");
        fs::write(&path, short).expect("a short file");
        let mut target = Target::open(&path, V2_BYTES).expect("a file");
        assert_eq!(fs::metadata(&path).expect("there").len(), V2_BYTES as u64);
        target.write_in_sequence(&[1; V2_BYTES]).expect("written");
        let page = fs::read(&path).expect("a page");
        assert_eq!(u64_at(&page, 0), odd.wrapping_add(1), "after {found}");
        assert!(page[8..].iter().all(|&byte| byte == 1));
    }
    fs::write(&path, [0; V2_BYTES]).expect("made, and never written");
    assert!(Target::open(&path, V2_BYTES).is_ok());
}

#[test]
fn a_whole_life_is_written_to_both_files_and_a_longer_file_is_not_cut() {
    let folder = folder("life");
    let wanted = TelemetrySection {
        v1: Some(folder.join("v1")),
        v2: Some(folder.join("v2")),
    };
    fs::write(folder.join("v1"), [7; 64]).expect("an old file");
    let mut later = vec![0; 5000];
    later[32..40].copy_from_slice(b"DPE-TELE");
    fs::write(folder.join("v2"), &later).expect("a later version's file");
    let mut telemetry = Telemetry::start(&wanted);
    let file = File::open(folder.join("v2")).expect("made");
    let first = read_page(&file).expect("a page");
    assert_eq!(
        (u32_at(&first, 52), u64_at(&first, 0), u64_at(&first, 192)),
        (1, 2, 0)
    );
    telemetry.update(&COUNTS);
    let second = read_page(&file).expect("a page");
    assert_eq!((u64_at(&second, 0), u64_at(&second, 128)), (4, 1));
    assert!(u64_at(&second, 192) > 0 && u64_at(&second, 8) > 0);
    telemetry.finish(&COUNTS);
    let last = read_page(&file).expect("a page");
    assert_eq!(
        (u32_at(&last, 52), u64_at(&last, 8), u64_at(&last, 136)),
        (2, 0, 2)
    );
    let v1 = fs::read(folder.join("v1")).expect("there");
    let length = fs::metadata(folder.join("v2")).expect("there").len();
    assert_eq!(length, 5000, "a reader may have it mapped");
    let number = u64::from_le_bytes([7; 8]);
    assert_eq!((u64_at(&v1, 0), u64_at(&v1, 8), v1[40]), (number + 3, 1, 0));
}

#[test]
#[expect(clippy::print_stdout, reason = "what does not run says so")]
fn what_is_not_ours_is_left_alone() {
    let folder = folder("foreign");
    let target = folder.join("target");
    fs::write(&target, b"precious").expect("a file");
    let link = folder.join("link");
    symlink(&target, &link).expect("a link");
    assert!(
        Target::open(&link, V1_BYTES).is_err(),
        "a link is not followed"
    );
    assert_eq!(fs::read(&target).expect("there"), b"precious");
    let refused = Target::open(std::path::Path::new("/dev/null"), V1_BYTES);
    assert!(refused.is_err_and(|error| error.to_string().contains("regular")));

    let shared = folder.join("shared");
    let first = Target::open(&shared, V1_BYTES).expect("a file");
    let refused = Target::open(&shared, V1_BYTES);
    assert!(refused.is_err_and(|error| error.to_string().contains("another process")));
    drop(first);
    assert!(Target::open(&shared, V1_BYTES).is_ok());

    if rustix::process::geteuid().is_root() {
        let other = folder.join("other");
        fs::write(&other, b"theirs").expect("a file");
        std::os::unix::fs::chown(&other, Some(65534), None).expect("given away");
        let refused = Target::open(&other, V1_BYTES);
        assert!(refused.is_err_and(|error| error.to_string().contains("user 65534")));
        assert_eq!(fs::read(&other).expect("there"), b"theirs");
    } else {
        println!("not run: a file of another user's, since only root can make one");
    }
}

#[test]
fn a_file_that_holds_something_else_is_left_as_it_is() {
    let path = folder("content").join("notes.txt");
    for (bytes, lengths) in [
        (V1_BYTES, [1, 63, 65, 4096]),
        (V2_BYTES, [1, 64, 4096, 5000]),
    ] {
        for length in lengths {
            let notes = vec![b'n'; length];
            fs::write(&path, &notes).expect("a file");
            let said = super::file::look(&path, bytes).expect_err("it is no telemetry");
            let refused = Target::open(&path, bytes).expect_err("it is no telemetry");
            for error in [said, refused] {
                let words = format!("found {length} bytes of something else");
                assert!(error.to_string().contains(&words), "{error}");
            }
            assert_eq!(fs::read(&path).expect("there"), notes);
        }
    }
    fs::write(&path, b"").expect("a file");
    assert!(Target::open(&path, V2_BYTES).is_ok());
    assert!(Target::open(&path, V1_BYTES).is_err(), "that is version 2");
}

#[test]
fn none_is_no_file_and_no_telemetry_at_all_is_off() {
    let none = || Some(PathBuf::from("none"));
    let telemetry = Telemetry::start(&TelemetrySection {
        v1: none(),
        v2: none(),
    });
    assert!(telemetry.is_off());
    assert!(!std::path::Path::new("none").exists());
}
