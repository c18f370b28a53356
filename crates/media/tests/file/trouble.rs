//! Files that are taken, wrong, short or full, and processes that end.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use media::file::Direct;
use media::{BlockSize, FileError, FileMedia, FileOptions, Media, Operation, Request, Token};
use mem::{Backing, Region};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use crate::host::{Folder, Host, MIB, options};

#[test]
fn a_second_opener_is_refused_with_the_name_of_the_first() {
    let folder = Folder::new(&std::env::temp_dir(), "second");
    let path = folder.file("image");
    let media = FileMedia::open(&path, options(BlockSize::B4096, MIB, Direct::Auto)).unwrap();
    let refused = FileMedia::open(&path, FileOptions::new(BlockSize::B4096))
        .map(drop)
        .unwrap_err();
    let ours = std::process::id();
    assert!(
        matches!(refused, FileError::InUse { holder: Some(process), .. } if process == ours),
        "{refused:?}"
    );
    assert!(
        refused
            .to_string()
            .contains(&format!("in use by process {ours}")),
        "{refused}"
    );
    drop(media);
    FileMedia::open(&path, FileOptions::new(BlockSize::B4096)).expect("it is free at once");
}

#[test]
fn what_is_no_file_of_whole_blocks_is_refused_and_left_alone() {
    let folder = Folder::new(&std::env::temp_dir(), "kinds");
    let open = |path: &Path, size| {
        let options = FileOptions {
            size,
            ..FileOptions::new(BlockSize::B4096)
        };
        FileMedia::open(path, options).map(drop).unwrap_err()
    };
    assert!(matches!(
        open(&folder.0, None),
        FileError::Kind {
            found: "a directory",
            ..
        }
    ));
    assert!(matches!(
        open(Path::new("/dev/null"), Some(4096)),
        FileError::Kind {
            found: "a character device",
            ..
        }
    ));
    assert!(matches!(
        open(&folder.file("none"), None),
        FileError::System { .. }
    ));
    assert!(matches!(
        open(&folder.file("none"), Some(0)),
        FileError::Size { found: 0, .. }
    ));
    assert!(matches!(
        open(&folder.file("none"), Some(4097)),
        FileError::Size { found: 4097, .. }
    ));
    assert!(!folder.file("none").exists(), "a wrong size makes no file");
    let odd = folder.file("odd");
    for (len, size) in [(0, None), (100, None), (4096 + 512, None)] {
        std::fs::write(&odd, vec![1; len]).unwrap();
        let found = len as u64;
        assert!(matches!(open(&odd, size), FileError::Size { found: at, .. } if at == found));
    }
    std::fs::write(&odd, vec![1; 8192]).unwrap();
    let other = open(&odd, Some(4096));
    assert!(matches!(
        other,
        FileError::OtherSize {
            wanted: 4096,
            found: 8192,
            ..
        }
    ));
    assert!(
        other.to_string().contains("wanted 4096 bytes, found 8192"),
        "{other}"
    );
    assert_eq!(std::fs::read(&odd).unwrap(), vec![1; 8192]);
}

#[test]
fn a_new_file_is_sparse_and_reads_as_zeroes() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new(&std::env::temp_dir(), "sparse");
    let path = folder.file("image");
    let mut media =
        FileMedia::open(&path, options(BlockSize::B4096, 64 * MIB, Direct::Auto)).unwrap();
    assert_eq!(media.blocks().get(), 16384);
    let mut bytes = vec![9; 2 * MIB];
    assert_eq!(
        Host::new().run(&mut media, Operation::Read, 16384 - 512, 512, &mut bytes),
        Status::SUCCESS
    );
    assert!(bytes.iter().all(|byte| *byte == 0));
    let metadata = std::fs::metadata(&path).unwrap();
    assert!(
        metadata.len() == 64 * MIB as u64 && metadata.blocks() < 1024,
        "{metadata:?}"
    );
}

/// Hands every log line to a channel.
#[derive(Clone)]
struct Lines(std::sync::mpsc::Sender<String>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_shrinks_fails_reads_beyond_its_end_with_a_log_line_and_the_rest_goes_on() {
    let (lines, log) = std::sync::mpsc::channel();
    let lines = Lines(lines);
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || lines.clone())
        .finish();
    let subscriber = std::sync::Arc::new(subscriber);
    for direct in [Direct::Auto, Direct::Never] {
        let folder = Folder::new(&std::env::temp_dir(), &format!("shrinks-{direct:?}"));
        let path = folder.file("image");
        let mut media = FileMedia::open(&path, options(BlockSize::B4096, MIB, direct)).unwrap();
        OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(10 * 4096 + 100)
            .unwrap();
        let mut host = Host::new();
        let mut block = vec![1; 4096];
        let mut run = |op, at, bytes: &mut [u8]| host.run(&mut media, op, at, 1, bytes);
        let _logged = tracing::subscriber::set_default(subscriber.clone());
        assert_eq!(run(Operation::Read, 9, &mut block), Status::SUCCESS);
        assert_eq!(
            run(Operation::Read, 10, &mut block),
            Status::UNRECOVERED_READ_ERROR
        );
        assert_eq!(
            run(Operation::Compare, 200, &mut block),
            Status::UNRECOVERED_READ_ERROR
        );
        assert_eq!(
            run(Operation::Verify, 200, &mut []),
            Status::UNRECOVERED_READ_ERROR
        );
        assert_eq!(
            run(Operation::Write, 255, &mut block),
            Status::SUCCESS,
            "a write makes it long again"
        );
        assert_eq!(run(Operation::Read, 255, &mut block), Status::SUCCESS);
        assert_eq!(media.counts().failures, 3);
        let logged: Vec<String> = log.try_iter().collect();
        let expected = format!(
            "{}: could not read 4096 bytes at byte 40960: the file ends before",
            path.display()
        );
        assert!(
            logged.iter().any(|line| line.contains(&expected)),
            "{expected} in {logged:?}"
        );
        assert_eq!(logged.len(), 1, "the first of a kind: {logged:?}");
    }
}

#[test]
fn a_full_disk_is_capacity_exceeded_and_reads_and_overwrites_go_on() {
    let folder = Folder::new(&std::env::temp_dir(), "full");
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&folder.0)
        .output();
    match mount {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            return println!(
                "not run: mount: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Err(error) => return println!("not run: mount: {error}"),
    }
    let checked = std::panic::catch_unwind(|| {
        let path = folder.file("image");
        let mut media =
            FileMedia::open(&path, options(BlockSize::B4096, 4 * MIB, Direct::Auto)).unwrap();
        let mut host = Host::new();
        let mut bytes = vec![3; MIB];
        bytes.truncate(64 << 10);
        let statuses: Vec<Status> = (0..64)
            .map(|part| host.run(&mut media, Operation::Write, part * 16, 16, &mut bytes))
            .collect();
        let full = statuses
            .iter()
            .position(|status| !status.is_success())
            .expect("1 MiB is not 4");
        assert!(full > 8, "some room there was: {full}");
        assert!(
            statuses[full..]
                .iter()
                .all(|status| *status == Status::CAPACITY_EXCEEDED),
            "{statuses:?}"
        );
        assert_eq!(
            host.run(&mut media, Operation::Write, 0, 16, &mut bytes),
            Status::SUCCESS
        );
        assert_eq!(
            host.run(&mut media, Operation::Read, 0, 16, &mut bytes),
            Status::SUCCESS
        );
        assert_eq!(
            host.run(&mut media, Operation::Flush, 1, 0, &mut []),
            Status::SUCCESS
        );
        assert_eq!(
            host.run(&mut media, Operation::Deallocate, 0, 64, &mut []),
            Status::SUCCESS
        );
        assert_eq!(
            host.run(&mut media, Operation::Write, 1000, 16, &mut bytes),
            Status::SUCCESS,
            "there is room again"
        );
    });
    let freed = Command::new("umount").arg(&folder.0).status();
    assert!(
        freed.is_ok_and(|status| status.success()),
        "{} is unmounted",
        folder.0.display()
    );
    checked.unwrap();
}

/// Writes `count` blocks of `value` without waiting for any.
fn start_writes(media: &mut FileMedia, count: u32, value: u8) {
    let memory = Region::allocate(4096, Backing::Anonymous).unwrap().whole();
    memory.fill(0, 4096, value).unwrap();
    for token in 0..count {
        let request = Request {
            op: Operation::Write,
            at: Lba::new(token.into()),
            count: BlockCount::new(1),
            fua: false,
        };
        media.start(Token(token), &request, &[memory.span(0, 4096).unwrap()]);
    }
}

#[test]
fn a_medium_is_made_used_and_dropped_in_different_threads() {
    let folder = Folder::new(&std::env::temp_dir(), "threads");
    let path = folder.file("image");
    let mut media =
        FileMedia::open(&path, options(BlockSize::B4096, 4 * MIB, Direct::Auto)).unwrap();
    std::thread::scope(|scope| {
        let used = scope.spawn(move || {
            start_writes(&mut media, 300, 5);
            media
        });
        // That thread is gone when this one drops what it has begun.
        let media = used.join().unwrap();
        scope.spawn(move || drop(media)).join().unwrap();
    });
    let found = std::fs::read(&path).unwrap();
    assert!(
        found[..300 * 4096].iter().all(|byte| *byte == 5),
        "dropping waits for what is under way"
    );
    FileMedia::open(&path, FileOptions::new(BlockSize::B4096)).expect("and frees the file");
}

#[test]
fn dropping_waits_for_what_is_under_way() {
    let folder = Folder::new(&std::env::temp_dir(), "dropped");
    for round in 1..=5 {
        let path = folder.file(&format!("image-{round}"));
        let size = options(BlockSize::B4096, 4 * MIB, Direct::Auto);
        let mut media = FileMedia::open(&path, size).unwrap();
        start_writes(&mut media, 300, round);
        drop(media);
        let found = std::fs::read(&path).unwrap();
        assert!(found[..300 * 4096].iter().all(|byte| *byte == round));
    }
}

const CHILD: &str = "DPE_MEDIA_TEST_CHILD";

#[test]
fn the_file_of_a_process_that_was_killed_can_be_opened_at_once() {
    if let Some(path) = std::env::var_os(CHILD) {
        let mut media = FileMedia::open(path, FileOptions::new(BlockSize::B4096)).unwrap();
        loop {
            start_writes(&mut media, 4000, 6);
            println!("begun");
            media.poll(Duration::ZERO, &mut Host::new());
        }
    }
    let folder = Folder::new(&std::env::temp_dir(), "killed");
    let path = folder.file("image");
    drop(FileMedia::open(&path, options(BlockSize::B4096, 16 * MIB, Direct::Auto)).unwrap());
    for _ in 0..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "trouble::the_file_of_a_process_that_was_killed_can_be_opened_at_once",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut begun = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("begun") {
            assert_ne!(
                std::io::BufRead::read_line(&mut begun, &mut line).unwrap(),
                0,
                "the child works"
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
        FileMedia::open(&path, FileOptions::new(BlockSize::B4096)).unwrap();
    }
    let mut byte = [0];
    File::open(&path)
        .unwrap()
        .read_exact_at(&mut byte, 0)
        .unwrap();
    assert_eq!(byte, [6], "what was begun was written");
}
