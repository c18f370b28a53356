//! Fault scripts: any text, and what the scripts among them do to a medium.
#![no_main]

use core::time::Duration;

use libfuzzer_sys::fuzz_target;
use media::fault::{FaultyMedia, Script};
use media::{BlockSize, Landing, Media, Operation, Progress, RamMedia, Request, Token};
use mem::{Backing, Region, Span};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

const BLOCKS: u64 = 16;

fuzz_target!(|text: &str| {
    match Script::from_toml(text) {
        Ok(script) => {
            let shown = script.to_string();
            assert_eq!(Script::from_toml(&shown).as_ref(), Ok(&script), "{shown}");
            act(script);
        }
        Err(error) => {
            let words = error.to_string();
            assert!(
                words.starts_with("fault script") && !words.contains('\n'),
                "{words}"
            );
        }
    }
});

/// Counts answers.
struct Answers(u32);

impl Landing for Answers {
    fn blocks(&mut self, _: Token, _: Span<'_>) -> Status {
        panic!("RAM answers at once");
    }

    fn answer(&mut self, _: Token, _: Status) {
        self.0 += 1;
    }
}

/// Every operation on ranges of every place: each request is answered once, some only when nobody waits.
fn act(script: Script) {
    let ram = RamMedia::new(BlockCount::new(BLOCKS), BlockSize::B512, Backing::Anonymous);
    let seed = script.seed();
    let mut medium =
        FaultyMedia::new(Box::new(ram.expect("memory")), script, seed).expect("memory");
    let host = Region::allocate(8192, Backing::Anonymous)
        .expect("memory")
        .whole();
    let mut answers = Answers(0);
    let mut token = 0;
    for at in 0..BLOCKS {
        let now = Duration::from_millis(at * 700);
        medium.set_time(now);
        for op in [
            Operation::Write,
            Operation::Read,
            Operation::Compare,
            Operation::Flush,
            Operation::WriteZeroes { deallocate: true },
            Operation::Deallocate,
            Operation::Verify,
        ] {
            let count = match op {
                Operation::Flush => 0,
                _ => (BLOCKS - at).min(1 + at % 3),
            };
            let request = Request {
                op,
                at: Lba::new(at),
                count: BlockCount::new(count),
                fua: false,
            };
            let span = host.span(0, count as usize * 512).expect("inside");
            let data = [span];
            let moves = matches!(op, Operation::Write | Operation::Read | Operation::Compare);
            let data = if moves { &data[..] } else { &[] };
            if let Progress::Done(_) = medium.start(Token(token), &request, data) {
                answers.0 += 1;
            }
            token += 1;
        }
        medium.poll(now, &mut answers);
    }
    for one in 0..token {
        medium.hurry(Token(one));
    }
    medium.poll(Duration::from_millis(BLOCKS * 700), &mut answers);
    assert_eq!(answers.0, token, "one answer for each request");
}
