//! The scripts in `examples/faults` and in `docs/faults.md` do what their comments say.
//!
//! Each is put before a medium and sent what the fio command in its comment sends.

use core::time::Duration;
use std::fs;
use std::path::PathBuf;

use media::fault::{FaultyMedia, Script};
use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Span, Window};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use crate::support::memory;

const BLOCKS: u64 = 16 << 11;
/// Blocks of one 4 KiB request.
const EACH: u64 = 8;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A loop of 4 KiB requests at depth one, like fio's psync.
struct Loop {
    medium: FaultyMedia,
    host: Window,
    now: Duration,
    answer: Option<Status>,
}

impl Loop {
    fn of(file: &str) -> Self {
        let path = root().join("examples/faults").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let script = Script::from_toml(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let ram = RamMedia::new(BlockCount::new(BLOCKS), BlockSize::B512, Backing::Anonymous);
        let seed = script.seed();
        Self {
            medium: FaultyMedia::new(Box::new(ram.expect("memory")), script, seed).expect("memory"),
            host: memory(4096),
            now: Duration::ZERO,
            answer: None,
        }
    }

    /// The answer and how long it took; `None` after a host's 30 s.
    fn run(&mut self, op: Operation, at: u64) -> (Option<Status>, Duration) {
        let begin = self.now;
        self.medium.set_time(begin);
        let request = Request {
            op,
            at: Lba::new(at),
            count: BlockCount::new(EACH),
            fua: false,
        };
        let host = self.host.clone();
        let span = host.span(0, 4096).expect("inside");
        self.answer = match self.medium.start(Token(1), &request, &[span]) {
            Progress::Done(status) => Some(status),
            Progress::Later => None,
        };
        while self.answer.is_none() && self.now - begin < Duration::from_secs(30) {
            self.now += Duration::from_millis(1);
            self.poll();
        }
        (self.answer, self.now - begin)
    }

    fn poll(&mut self) {
        let now = self.now;
        let mut told = Told(None);
        self.medium.poll(now, &mut told);
        self.answer = self.answer.or(told.0);
    }

    /// Sends requests to the whole range in order; the first that does not succeed.
    fn sweep(&mut self, op: Operation) -> Option<(u64, Option<Status>)> {
        (0..BLOCKS).step_by(EACH as usize).find_map(|at| {
            let (answer, _) = self.run(op, at);
            (answer != Some(Status::SUCCESS)).then_some((at, answer))
        })
    }

    /// Writes a pattern of its own to each 4 KiB and reads it back: the places that are wrong, with the wrong bits' number.
    fn verify(&mut self) -> Vec<(u64, usize)> {
        let pattern = |at: u64| [(at / EACH % 250) as u8 + 1; 4096];
        for at in (0..BLOCKS).step_by(EACH as usize) {
            self.host.write_bytes(0, &pattern(at)).expect("inside");
            assert_eq!(self.run(Operation::Write, at).0, Some(Status::SUCCESS));
        }
        let mut wrong = Vec::new();
        for at in (0..BLOCKS).step_by(EACH as usize) {
            assert_eq!(self.run(Operation::Read, at).0, Some(Status::SUCCESS));
            let mut bytes = [0; 4096];
            self.host.read_bytes(0, &mut bytes).expect("inside");
            let bits = bytes
                .iter()
                .zip(pattern(at))
                .map(|(one, other)| (one ^ other).count_ones());
            match bits.sum::<u32>() {
                0 => {}
                bits => wrong.push((at, bits as usize)),
            }
        }
        wrong
    }
}

struct Told(Option<Status>);

impl Landing for Told {
    fn blocks(&mut self, _: Token, _: Span<'_>) -> Status {
        panic!("RAM answers at once");
    }

    fn answer(&mut self, _: Token, status: Status) {
        self.0 = Some(status);
    }
}

#[test]
fn the_read_error_stops_a_sweep_at_its_place() {
    let failed = Loop::of("media-read-error.toml").sweep(Operation::Read);
    assert_eq!(
        failed,
        Some((4096, Some(Status::UNRECOVERED_READ_ERROR.with_dnr())))
    );
    assert_eq!(4096 * 512, 2_097_152, "the offset that the comment says");
}

#[test]
fn the_write_fault_comes_with_the_thousand_and_first_write_and_stays() {
    let mut run = Loop::of("write-fault-after-1000.toml");
    let (at, status) = run.sweep(Operation::Write).expect("a fault");
    assert_eq!((at * 512, status), (4_096_000, Some(Status::WRITE_FAULT)));
    assert_eq!(run.run(Operation::Write, 0).0, Some(Status::WRITE_FAULT));
    assert_eq!(run.run(Operation::Read, 0).0, Some(Status::SUCCESS));
}

#[test]
fn the_turned_bit_is_found_by_verifying_and_by_nothing_else() {
    let mut run = Loop::of("silent-read-corruption.toml");
    assert_eq!(run.verify(), [(8192, 1)]);
    assert_eq!(8192 * 512, 4_194_304, "the offset that the comment says");
}

#[test]
fn the_lost_write_is_found_by_verifying_and_the_next_write_is_not_lost() {
    let mut run = Loop::of("lost-write.toml");
    let wrong: Vec<u64> = run.verify().iter().map(|wrong| wrong.0).collect();
    assert_eq!(wrong, [12288]);
    assert_eq!(12288 * 512, 6_291_456, "the offset that the comment says");
    assert_eq!(run.verify(), []);
}

#[test]
fn the_stalls_show_at_the_percentile_that_the_comment_says_and_not_below() {
    let mut run = Loop::of("stalls.toml");
    let mut times: Vec<Duration> = (0..10_000)
        .map(|at| run.run(Operation::Read, at % 4096 * EACH).1)
        .collect();
    times.sort();
    assert_eq!(times[9_900], Duration::ZERO, "99th percentile");
    assert_eq!(
        times[9_990],
        Duration::from_millis(200),
        "99.9th percentile"
    );
}

#[test]
fn the_dropped_command_runs_into_the_hosts_time_out_once() {
    let mut run = Loop::of("dropped-command.toml");
    let failed = run.sweep(Operation::Read);
    assert_eq!(failed, Some((1000 * EACH, None)));
    run.medium.hurry(Token(1));
    run.poll();
    assert_eq!(run.answer, Some(Status::ABORT_REQUESTED));
    assert_eq!(run.sweep(Operation::Read), None);
}

#[test]
fn every_script_of_the_folder_and_of_the_page_is_read() {
    let folder = root().join("examples/faults");
    let files = fs::read_dir(folder).expect("the folder");
    let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("a text"));
    let scripts: Vec<Script> = texts
        .map(|text| Script::from_toml(&text).expect(&text))
        .collect();
    assert_eq!(scripts.len(), 6);

    let page = fs::read_to_string(root().join("docs/faults.md")).expect("the page");
    let mut scripts = 0;
    for part in page.split("```toml\n").skip(1) {
        let (text, _) = part.split_once("```").expect("an end");
        let whole = if text.contains("version") {
            text.to_owned()
        } else {
            format!("version = 1\n{text}")
        };
        Script::from_toml(&whole).unwrap_or_else(|error| panic!("{error}\n{text}"));
        scripts += 1;
    }
    assert!(scripts >= 5, "{scripts} scripts in docs/faults.md");
}
