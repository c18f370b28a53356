//! A controller's place above file media: starts requests at random, polls, and notes all that it is told.

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;

use media::file::Geometry;
use media::{BlockSize, FileMedia, Landing, Media, Operation, Progress, Request, Token};
use mem::{Backing, Region, Span};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use crate::disk::Recorder;
use crate::history::{Change, Flush, History, Moment};
use crate::random::Random;

/// Few blocks, so that requests meet.
pub(crate) const BLOCKS: u64 = 16;
const BLOCK: usize = 512;
const DEPTH: usize = 12;

/// A request that is not answered.
#[derive(Debug)]
enum Open {
    /// The change's place in the history.
    Change(usize),
    Flush(Moment),
    Read {
        first: u64,
        started: Moment,
        found: Option<Vec<u8>>,
    },
    Verify,
}

pub(crate) struct Caller {
    pub(crate) media: FileMedia<Recorder>,
    host: Region,
    random: Random,
    pub(crate) history: History,
    open: BTreeMap<u32, Open>,
    cache: bool,
    turn: u64,
    stamp: u64,
    /// Answers that were not well.
    pub(crate) refused: usize,
}

impl Caller {
    pub(crate) fn new(seed: u64, durable_writes: bool) -> Self {
        let geometry = Geometry {
            block_size: BlockSize::B512,
            blocks: BlockCount::new(BLOCKS),
            durable_writes,
            path: PathBuf::from("recorder"),
        };
        let bytes = BLOCKS as usize * BLOCK;
        let mut media =
            FileMedia::on(geometry, |memory| Recorder::new(memory, bytes, !seed)).unwrap();
        media.disk_mut().durable_writes = durable_writes;
        Self {
            media,
            host: Region::allocate(bytes, Backing::Anonymous).unwrap(),
            random: Random(seed),
            history: History::default(),
            open: BTreeMap::new(),
            cache: true,
            turn: 0,
            stamp: 0,
            refused: 0,
        }
    }

    fn moment(&mut self) -> Moment {
        self.turn += 1;
        Moment {
            turn: self.turn,
            record: self.media.disk().log.len(),
        }
    }

    /// Starts one request or polls.
    pub(crate) fn step(&mut self) {
        let free = (0..DEPTH as u32).find(|token| !self.open.contains_key(token));
        match free {
            Some(token) if self.random.percent(55) => self.start(token),
            _ => self.poll(),
        }
        if self.random.percent(2) {
            let started = self.moment();
            self.cache = !self.cache;
            self.media.set_write_cache(self.cache);
            let answered = self.moment();
            if !self.cache && !self.media.lost_a_sync() {
                self.history.flushes.push(Flush { started, answered });
            }
        }
    }

    /// Polls until everything is answered.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.open.is_empty() {
                return;
            }
            self.poll();
        }
        panic!("never answered: {:?}", self.open);
    }

    fn start(&mut self, token: u32) {
        let first = self.random.below(BLOCKS);
        let count = 1 + self.random.below((BLOCKS - first).min(4));
        let op = match self.random.below(100) {
            0..55 => Operation::Write,
            55..65 => Operation::WriteZeroes {
                deallocate: self.random.percent(50),
            },
            65..70 => Operation::Deallocate,
            70..85 => Operation::Flush,
            85..87 => Operation::Verify,
            _ => Operation::Read,
        };
        let fua = self.random.percent(15);
        let started = self.moment();
        let whole = self.host.whole();
        let mut data = whole.span(0, count as usize * BLOCK).unwrap();
        let open = match op {
            Operation::Flush => Open::Flush(started),
            Operation::Verify => Open::Verify,
            Operation::Read => Open::Read {
                first,
                started,
                found: None,
            },
            _ => {
                let mut stamp = 0;
                if op == Operation::Write {
                    self.stamp += 100;
                    stamp = self.stamp;
                    let blocks = (stamp..).take(count as usize);
                    let bytes: Vec<u8> = blocks
                        .flat_map(|stamp| stamp.to_le_bytes().repeat(BLOCK / 8))
                        .collect();
                    data.write_from(&bytes);
                }
                self.history.changes.push(Change {
                    first,
                    count,
                    stamp,
                    started,
                    answered: None,
                    // Deallocate has no FUA bit; the medium is told what the request says.
                    durable: fua,
                });
                Open::Change(self.history.changes.len() - 1)
            }
        };
        if !matches!(op, Operation::Write | Operation::Read) {
            data = data.prefix(0);
        }
        let parts = data.split_at(data.len() / 3);
        let count = if op == Operation::Flush { 0 } else { count };
        let request = Request {
            op,
            at: Lba::new(first),
            count: BlockCount::new(count),
            fua,
        };
        self.open.insert(token, open);
        let progress = self
            .media
            .start(Token(token), &request, &[parts.0, parts.1]);
        // From here on the host may do with its memory what it likes.
        whole.fill(0, whole.len(), 0xEE).unwrap();
        match progress {
            Progress::Done(status) => self.answered(token, status),
            Progress::Later => {}
        }
    }

    fn poll(&mut self) {
        struct Notes<'c>(&'c mut BTreeMap<u32, Open>, Vec<(u32, Status)>);
        impl Landing for Notes<'_> {
            fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
                let Some(Open::Read {
                    found: found @ None,
                    ..
                }) = self.0.get_mut(&token.0)
                else {
                    panic!("blocks for {token:?}, which did not ask or has them");
                };
                let mut bytes = vec![0; blocks.len()];
                blocks.read_into(&mut bytes);
                *found = Some(bytes);
                Status::SUCCESS
            }
            fn answer(&mut self, token: Token, status: Status) {
                assert!(self.0.contains_key(&token.0), "{token:?} is not in use");
                self.1.push((token.0, status));
            }
        }
        let mut notes = Notes(&mut self.open, Vec::new());
        self.media.poll(Duration::ZERO, &mut notes);
        let Notes(_, answers) = notes;
        for (token, status) in answers {
            self.answered(token, status);
        }
    }

    fn answered(&mut self, token: u32, status: Status) {
        let open = self.open.remove(&token).expect("answered once");
        let answered = self.moment();
        let well = status.is_success();
        self.refused += usize::from(!well);
        match open {
            Open::Change(at) => {
                let change = &mut self.history.changes[at];
                change.answered = Some((answered, well));
                change.durable |= !self.cache;
            }
            Open::Flush(started) if well => self.history.flushes.push(Flush { started, answered }),
            Open::Flush(_) | Open::Verify => {}
            Open::Read {
                first,
                started,
                found,
            } => {
                assert_eq!(
                    found.is_some(),
                    well,
                    "a read hands over its blocks when it is well"
                );
                for (block, bytes) in (first..).zip(found.unwrap_or_default().chunks(BLOCK)) {
                    let stamp = stamp(bytes);
                    let allowed = self.history.allowed_in_read(block, started, answered);
                    assert!(
                        allowed.contains(&stamp),
                        "block {block} reads as {stamp}, allowed: {allowed:?}"
                    );
                }
            }
        }
    }
}

/// What a block holds, which is one number again and again.
pub(crate) fn stamp(block: &[u8]) -> u64 {
    let first = u64::from_le_bytes(block[..8].try_into().unwrap());
    assert!(
        block.chunks(8).all(|word| word == first.to_le_bytes()),
        "a block is not torn"
    );
    first
}
