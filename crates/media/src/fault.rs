//! Faults by script: a medium that fails, stalls and lies as it is told.
//!
//! The language is explained in `docs/faults.md`. One request goes through [`FaultyMedia`] like this: the rules are asked in
//! order (`fault/rules.rs`) and give a plan; the plan starts the inner medium on all, a part or none of the request; what
//! is not answered at once is remembered in `fault/flights.rs`.

use core::fmt;
use core::time::Duration;

use mem::{RegionError, Span, SpanList};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

use crate::{BlockSize, Landing, Media, MediaCounts, Operation, Progress, Request, Token};

mod error;
mod flights;
mod flips;
pub mod limits;
mod parse;
mod rules;
mod script;

pub use error::ScriptError;
pub use rules::RuleCount;
pub use script::Script;

use flights::{Blocks, Ending, Flights, Watch};
use flips::{Detour, Flip};
use rules::{Act, Plan, Rules};
use script::Effect;

/// Who is told, in the end, how often each rule acted.
pub type Report = Box<dyn FnMut(RuleCount<'_>) + Send>;

/// A medium on which a script acts.
///
/// It keeps the promise of every medium: each request is answered once. A request that a script drops is answered, as
/// Command Abort Requested, when nobody waits for it any more ([`Media::hurry`]).
///
/// [`MediaCounts::faults`] counts the requests that a rule acted on, delays included.
pub struct FaultyMedia {
    inner: Box<dyn Media>,
    rules: Rules,
    flights: Flights,
    detour: Detour,
    /// The first time that was told: windows count from it.
    begin: Option<Duration>,
    now: Duration,
    faults: u64,
    unwatched: u64,
    report: Option<Report>,
}

impl FaultyMedia {
    /// Puts a script before a medium. The same script, seed ([`Script::seed`] is the script's own), requests and times give
    /// the same faults. Two namespaces under one script want two seeds.
    ///
    /// # Errors
    /// When the machine has no memory for the data whose bits the script flips, [`limits::FLIP_BYTES_MAX`] bytes.
    pub fn new(inner: Box<dyn Media>, script: Script, seed: u64) -> Result<Self, RegionError> {
        Ok(Self {
            inner,
            detour: Detour::new(script.flips())?,
            rules: Rules::new(script, seed),
            flights: Flights::new(),
            begin: None,
            now: Duration::ZERO,
            faults: 0,
            unwatched: 0,
            report: None,
        })
    }

    /// Has `report` told each rule's counts when the medium is dropped: by then it belongs to a controller, and nobody else
    /// can ask it.
    pub fn report_to(&mut self, report: Report) {
        self.report = Some(report);
    }

    /// How often each rule matched and acted, in the script's order.
    pub fn rule_counts(&self) -> impl Iterator<Item = RuleCount<'_>> {
        self.rules.counts()
    }

    /// Requests that passed without being held against the script, because [`limits::FLIGHTS_MAX`] were under way.
    pub fn unwatched(&self) -> u64 {
        self.unwatched
    }

    fn carry_out(
        &mut self,
        token: Token,
        request: &Request,
        data: &[Span<'_>],
        plan: Plan,
    ) -> Progress {
        let mut ending = Ending {
            status: None,
            due: Some(self.now.saturating_add(plan.delay)),
            blocks: Blocks::Forward,
        };
        let progress = match plan.act {
            Act::Pass => self.inner.start(token, request, data),
            Act::Fail { status, effect } => {
                ending.status = Some(status);
                self.start_some(token, request, data, effect, &mut ending)
            }
            Act::Drop { effect } => {
                ending.due = None;
                self.start_some(token, request, data, effect, &mut ending)
            }
            Act::Flip(flip) => {
                ending.blocks = Blocks::Flip(flip);
                self.start_flipped(token, request, data, &flip)
            }
            Act::Misdirect(to) => {
                // A range that would end beyond the last block is moved back to it.
                let last = self
                    .inner
                    .blocks()
                    .get()
                    .saturating_sub(request.count.get());
                let at = Lba::new(to.get().min(last));
                self.inner.start(token, &Request { at, ..*request }, data)
            }
            Act::Lose => Progress::Done(Status::SUCCESS),
        };
        match progress {
            Progress::Done(status) => match self.flights.end(token, status, &ending, self.now) {
                Some(status) => Progress::Done(status),
                None => Progress::Later,
            },
            Progress::Later => {
                self.flights.wait(token, ending);
                Progress::Later
            }
        }
    }

    /// Starts as much of a request as is done although its answer says otherwise.
    fn start_some(
        &mut self,
        token: Token,
        request: &Request,
        data: &[Span<'_>],
        effect: Effect,
        ending: &mut Ending,
    ) -> Progress {
        const NOTHING: Progress = Progress::Done(Status::SUCCESS);
        let all = request.count.get();
        let count = match effect {
            Effect::None => return NOTHING,
            Effect::Full => return self.inner.start(token, request, data),
            Effect::Partial(blocks) => blocks.unwrap_or(all / 2).min(all.saturating_sub(1)),
        };
        if count == 0 {
            return NOTHING;
        }
        ending.blocks = Blocks::Swallow;
        let request = Request {
            count: BlockCount::new(count),
            ..*request
        };
        // Fewer than the request's own bytes, which fit an address.
        let len = (count << self.inner.block_size().shift()) as usize;
        match first_bytes(data, len) {
            Some(data) => self.inner.start(token, &request, data.as_slice()),
            None => NOTHING,
        }
    }

    /// Starts a read or write whose bits are flipped on their way. Data longer than the detour pass as they are.
    fn start_flipped(
        &mut self,
        token: Token,
        request: &Request,
        data: &[Span<'_>],
        flip: &Flip,
    ) -> Progress {
        let Some(bits) = self.rules.bits(flip) else {
            return self.inner.start(token, request, data);
        };
        if request.op == Operation::Write {
            let flipped = self.detour.copy(data, |copy| {
                flip.apply(bits, &[copy]);
                self.inner.start(token, request, &[copy])
            });
            return flipped.unwrap_or_else(|| self.inner.start(token, request, data));
        }
        let progress = self.inner.start(token, request, data);
        if progress == Progress::Done(Status::SUCCESS) {
            flip.apply(bits, data);
        }
        progress
    }
}

/// The first `len` bytes of the data, or all there are. `None`: more spans than a list holds.
fn first_bytes<'m>(data: &[Span<'m>], len: usize) -> Option<SpanList<'m>> {
    let mut list = SpanList::new();
    for span in data {
        let missing = len - list.bytes();
        list.push(span.prefix(span.len().min(missing))).ok()?;
    }
    Some(list)
}

impl Media for FaultyMedia {
    fn block_size(&self) -> BlockSize {
        self.inner.block_size()
    }

    fn blocks(&self) -> BlockCount {
        self.inner.blocks()
    }

    fn start(&mut self, token: Token, request: &Request, data: &[Span<'_>]) -> Progress {
        if self.flights.is_full() {
            self.unwatched += 1;
            return self.inner.start(token, request, data);
        }
        let elapsed = self.now.saturating_sub(self.begin.unwrap_or(self.now));
        let shift = self.inner.block_size().shift();
        match self.rules.plan(request, elapsed, shift) {
            None => self.inner.start(token, request, data),
            Some(plan) => {
                self.faults += 1;
                self.carry_out(token, request, data, plan)
            }
        }
    }

    fn set_time(&mut self, now: Duration) {
        self.begin.get_or_insert(now);
        self.now = now;
        if !self.inner.is_instant() {
            self.inner.set_time(now);
        }
    }

    fn poll(&mut self, now: Duration, landing: &mut dyn Landing) {
        self.now = now;
        if !self.inner.is_instant() {
            let mut watch = Watch {
                flights: &mut self.flights,
                rules: &self.rules,
                detour: &self.detour,
                now,
                landing: &mut *landing,
            };
            self.inner.poll(now, &mut watch);
        }
        self.flights.release(now, landing);
    }

    fn hurry(&mut self, token: Token) {
        self.flights.hurry(token);
        self.inner.hurry(token);
    }

    fn set_write_cache(&mut self, enabled: bool) {
        self.inner.set_write_cache(enabled);
    }

    fn moves_data(&self) -> bool {
        self.inner.moves_data()
    }

    fn counts(&self) -> MediaCounts {
        let mut counts = self.inner.counts();
        counts.faults += self.faults;
        counts
    }
}

impl Drop for FaultyMedia {
    fn drop(&mut self) {
        if let Some(report) = &mut self.report {
            self.rules.counts().for_each(report);
        }
    }
}

impl fmt::Debug for FaultyMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyMedia")
            .field("inner", &self.inner)
            .field("rules", &self.rules)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}
