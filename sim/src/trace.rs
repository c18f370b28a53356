//! What happens in a world, step by step: hashed always, told when somebody listens.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;
use std::collections::VecDeque;

use spec::nvme::{AsyncEvent, Status};

use crate::command::Kind;
use crate::limits;
use crate::trouble::Trouble;

/// One thing that happened. Nothing in it depends on an address of this process or on real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A command was written into a ring.
    Sent {
        /// The queue pair.
        lane: usize,
        /// The command.
        ticket: u64,
        /// What it asks for.
        kind: Kind,
        /// The namespace that it names.
        namespace: u32,
        /// The first block of its (first) range.
        at: u64,
        /// Blocks.
        count: u64,
        /// Whether it has to be refused, and how.
        refused: Option<Status>,
    },
    /// Doorbells that were held back have arrived.
    Delivered {
        /// The queue pair.
        lane: usize,
    },
    /// The controller had a turn.
    Tick {
        /// Commands fetched.
        fetched: u32,
        /// Commands whose late answers came.
        landed: u32,
    },
    /// A command was answered.
    Ended {
        /// The queue pair.
        lane: usize,
        /// The command.
        ticket: u64,
        /// How.
        status: Status,
    },
    /// A command will never be answered.
    GivenUp {
        /// The queue pair.
        lane: usize,
        /// The command.
        ticket: u64,
    },
    /// Something goes wrong, or is asked for in the middle of everything.
    Trouble(Trouble),
    /// An asynchronous event arrived.
    Told(AsyncEvent),
    /// The driver reset the controller.
    Recovered,
    /// A queue pair was created.
    Created {
        /// The queue pair.
        lane: usize,
        /// Entries.
        depth: u32,
    },
    /// Nothing is in flight; counters add up.
    Quiet,
    /// A call of the block layer.
    Bytes {
        /// Its name.
        call: &'static str,
        /// The first byte.
        offset: u64,
        /// Bytes.
        len: u64,
        /// What came of it.
        answer: Result<(), String>,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent {
                lane,
                ticket,
                kind,
                namespace,
                at,
                count,
                refused,
            } => {
                write!(
                    f,
                    "lane {lane}: #{ticket} {kind} namespace {namespace} LBA {at} +{count}"
                )?;
                refused.map_or(Ok(()), |status| write!(f, ", to be refused: {status}"))
            }
            Self::Delivered { lane } => write!(f, "lane {lane}: doorbells arrive"),
            Self::Tick { fetched, landed } => {
                write!(f, "controller: {fetched} fetched, {landed} landed")
            }
            Self::Ended {
                lane,
                ticket,
                status,
            } => write!(f, "lane {lane}: #{ticket} {status}"),
            Self::GivenUp { lane, ticket } => write!(f, "lane {lane}: #{ticket} given up"),
            Self::Trouble(trouble) => write!(f, "trouble: {trouble}"),
            Self::Told(event) => write!(f, "event: {event}"),
            Self::Recovered => write!(f, "driver: controller reset, queue pairs back"),
            Self::Created { lane, depth } => write!(f, "lane {lane}: created, {depth} entries"),
            Self::Quiet => write!(f, "all quiet, counters add up"),
            Self::Bytes {
                call,
                offset,
                len,
                answer,
            } => match answer {
                Ok(()) => write!(f, "block layer: {call} {len} bytes at {offset}"),
                Err(error) => write!(f, "block layer: {call} {len} bytes at {offset}: {error}"),
            },
        }
    }
}

/// Hears events as they happen.
pub type Listener = Box<dyn FnMut(Duration, &Event)>;

/// The events of one run.
pub struct Trace {
    hash: Fnv,
    listener: Option<Listener>,
    recent: VecDeque<(Duration, Event)>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("hash", &self.hash.0).finish()
    }
}

impl Trace {
    /// A trace that may be listened to.
    pub fn new(listener: Option<Listener>) -> Self {
        Self {
            hash: Fnv::default(),
            listener,
            recent: VecDeque::with_capacity(limits::STORY_EVENTS),
        }
    }

    /// Notes an event.
    pub fn note(&mut self, now: Duration, event: Event) {
        now.hash(&mut self.hash);
        hash_event(&event, &mut self.hash);
        if let Some(listener) = &mut self.listener {
            listener(now, &event);
        }
        if self.recent.len() == limits::STORY_EVENTS {
            self.recent.pop_front();
        }
        self.recent.push_back((now, event));
    }

    /// A number that two runs share only if the same happened in both at the same times.
    pub fn hash(&self) -> u64 {
        self.hash.0
    }

    /// The last events as lines.
    pub fn recent(&self) -> Vec<String> {
        let line = |(now, event): &(Duration, Event)| line(*now, event);
        self.recent.iter().map(line).collect()
    }
}

/// An event as a line of a trace.
pub fn line(now: Duration, event: &Event) -> String {
    format!("{:>12} us  {event}", now.as_micros())
}

/// The words of an event, without the cost of writing them out: this runs for every event of every seed.
fn hash_event(event: &Event, hash: &mut Fnv) {
    core::mem::discriminant(event).hash(hash);
    match event {
        Event::Sent {
            lane,
            ticket,
            kind,
            namespace,
            at,
            count,
            refused,
        } => {
            (lane, ticket, kind, namespace, at, count).hash(hash);
            refused.map(Status::bits).hash(hash);
        }
        Event::Ended {
            lane,
            ticket,
            status,
        } => (lane, ticket, status.bits()).hash(hash),
        Event::Delivered { lane } => lane.hash(hash),
        Event::Tick { fetched, landed } => (fetched, landed).hash(hash),
        Event::GivenUp { lane, ticket } => (lane, ticket).hash(hash),
        Event::Trouble(trouble) => trouble.hash(hash),
        Event::Told(event) => event.result().hash(hash),
        Event::Created { lane, depth } => (lane, depth).hash(hash),
        Event::Recovered | Event::Quiet => {}
        Event::Bytes {
            call,
            offset,
            len,
            answer,
        } => (call, offset, len, answer).hash(hash),
    }
}

/// FNV-1a, because the standard library's hash may change between versions.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
