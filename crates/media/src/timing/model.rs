//! When a request is over, by the profile.
//!
//! Times are 64-bit numbers of 2^-32 ticks that wrap around: the upper half counts ticks, the lower is the fraction, and only
//! differences mean something. A tick is a power of two of nanoseconds, short beside the profile's times.

use super::deck::{self, CARDS, Dealer};
use super::profile::{Direction, Latency, Profile};
use crate::{Operation, Request};

/// The shortest tick is 2^4 nanoseconds: finer than a clock is read. The longest is about a millisecond.
const TICK_SHIFT: core::ops::RangeInclusive<u32> = 4..=20;

/// The shortest time that a profile has between two requests, or its middle latency, is at least so many ticks; its
/// shortest latency a quarter of that, [`AHEAD_MIN`].
const TICKS_OF_SHORTEST_MIN: f64 = 8.0;

/// What is due so far ahead, two ticks, is due in a tick that was not called out yet.
const AHEAD_MIN: u64 = 2 << 32;

/// No single cost or latency is longer, so that those of all tokens together stay far from wrapping around.
const SPAN_TICKS_MAX: u64 = deck::TICKS_MAX;

/// The most that the gate or a unit can lie ahead of the time: the longest span, for each token.
const BACKLOG_TICKS_MAX: u64 = SPAN_TICKS_MAX * crate::TOKENS_MAX as u64;

/// The longest transfer that the tick is chosen for; a longer one is cut to [`SPAN_TICKS_MAX`].
const TRANSFER_BYTES: f64 = (1 << 20) as f64;

/// The lowest bits of the gate name the card to be drawn next. Their weight, a millionth of a tick, is nothing in time.
const CARD_BITS: u64 = CARDS as u64 - 1;

/// What each request adds to these bits. It is odd, so that every card is drawn once before any is drawn again.
const CARD_STEP: u64 = 2531;

/// Operations, by [`kind`].
const KINDS: usize = 7;

fn kind(op: Operation) -> usize {
    // In the order of their declaration, which makes this no work.
    match op {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Compare => 2,
        Operation::WriteZeroes { .. } => 3,
        Operation::Verify => 4,
        Operation::Deallocate => 5,
        Operation::Flush => 6,
    }
}

/// What an operation takes.
///
/// Requests are *plain* if the inner medium is instant, no unit can be busy, and the bytes pass in less than the shortest
/// latency. The sums for them are done once for each change of their size.
struct Lane {
    /// Plain requests of so many blocks keep the gate for `cost`.
    plain_blocks: u64,
    cost: u64,
    /// How long a request keeps the gate at least, whatever its bytes.
    gap: u64,
    /// How long each block's bytes take.
    per_block: u64,
    /// The shortest latency, if requests can be plain, or else nothing.
    shortest: u64,
    /// Whether requests go through the gate and the units, and not beside them.
    gated: bool,
    deck: [u64; CARDS],
}

/// No request has so many blocks.
const NO_BLOCKS: u64 = u64::MAX;

/// The state of the modelled drive.
pub(super) struct Model {
    /// When the next request may begin; not before `now` after [`set_time`](Self::set_time). Its last bits name a card.
    gate: u64,
    lanes: [Box<Lane>; KINDS],
    now: u64,
    now_ns: u64,
    tick_shift: u32,
    /// Whether a unit can still be busy when its turn comes again.
    units_bind: bool,
    /// The nanosecond at which each unit is free.
    units: Box<[u64]>,
    /// Whose turn it is.
    unit: usize,
}

impl Model {
    /// The drive of a profile, idle. Without `plain`, no request is.
    pub(super) fn new(profile: &Profile, block_bytes: u64, seed: u64, plain: bool) -> Self {
        let tick_shift = tick_shift(profile);
        let mut dealer = Dealer::new(seed, tick_shift);
        let mut deal = |latency| dealer.deal(latency);
        let (read, write) = (&profile.read, &profile.write);
        let (reads, writes) = (deal(&read.latency), deal(&write.latency));
        let lane = |deck, gate: Option<&Direction>, bytes| {
            Box::new(Lane::new(deck, gate, bytes, tick_shift))
        };
        let mut lanes = [
            lane(reads, Some(read), block_bytes),
            lane(writes, Some(write), block_bytes),
            lane(reads, Some(read), block_bytes),
            lane(writes, Some(write), 0),
            lane(reads, Some(read), 0),
            lane(deal(&profile.deallocate), None, 0),
            lane(deal(&profile.flush), None, 0),
        ];
        // Begins lie at least the smallest gap apart. A unit's turn comes after as many of them as there are units.
        let gated = || lanes.iter().filter(|lane| lane.gated);
        let gap = gated().map(|lane| lane.gap).min().unwrap_or(0);
        let longest = gated().map(|lane| lane.longest()).max().unwrap_or(0);
        let units_bind = u128::from(gap) * u128::from(profile.units) < u128::from(longest);
        if units_bind || !plain {
            lanes.iter_mut().for_each(|lane| lane.shortest = 0);
        }
        Self {
            gate: 0,
            lanes,
            now: 0,
            now_ns: 0,
            tick_shift,
            units_bind,
            units: vec![0; profile.units as usize].into_boxed_slice(),
            unit: 0,
        }
    }

    /// A tick is two to this power of nanoseconds.
    pub(super) const fn tick_shift(&self) -> u32 {
        self.tick_shift
    }

    /// The time that was told last, in nanoseconds.
    pub(super) const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Tells the time in nanoseconds.
    pub(super) fn set_time(&mut self, ns: u64) {
        let elapsed = ns.saturating_sub(self.now_ns);
        self.now_ns = ns;
        self.now = ns << (32 - self.tick_shift);
        // Differences wrap around, so a gate in the past looks like a backlog beyond any. Beyond any it also is when those
        // who waited were hurried over and over.
        let backlog = self.gate.wrapping_sub(self.now);
        if backlog > BACKLOG_TICKS_MAX << 32 || elapsed >> self.tick_shift > BACKLOG_TICKS_MAX {
            self.open_gate();
        }
    }

    /// Nobody waits: what the drive had still to do is forgotten.
    pub(super) fn forget_backlog(&mut self) {
        self.open_gate();
        self.units.fill(self.now_ns);
    }

    fn open_gate(&mut self) {
        self.gate = (self.now & !CARD_BITS) | (self.gate & CARD_BITS);
    }

    /// When a request is over, if it is plain.
    #[inline(always)]
    pub(super) fn due_if_plain(&mut self, request: &Request) -> Option<u64> {
        let lane = &self.lanes[kind(request.op)];
        if request.count.get() != lane.plain_blocks {
            return None;
        }
        let begin = self.gate;
        self.gate = begin.wrapping_add(lane.cost);
        Some(begin.wrapping_add(lane.deck[(begin & CARD_BITS) as usize]))
    }

    /// When any request is over. Others of its size may be plain from now on.
    pub(super) fn due(&mut self, request: &Request) -> u64 {
        let lane = &mut self.lanes[kind(request.op)];
        let begin = self.gate;
        let card = lane.deck[(begin & CARD_BITS) as usize];
        if !lane.gated {
            self.gate = (begin & !CARD_BITS) | (begin.wrapping_add(CARD_STEP) & CARD_BITS);
            return self.now.wrapping_add(card);
        }
        let count = request.count.get();
        let transfer = count
            .saturating_mul(lane.per_block)
            .min(SPAN_TICKS_MAX << 32);
        let cost = step(lane.gap.max(transfer));
        if transfer <= lane.shortest && lane.shortest >= AHEAD_MIN {
            (lane.plain_blocks, lane.cost) = (count, cost);
        }
        self.gate = begin.wrapping_add(cost);
        let took = card.max(transfer);
        if self.units_bind {
            self.begin_in_unit(begin, took).wrapping_add(took)
        } else {
            begin.wrapping_add(took)
        }
    }

    /// Whether a due time lies [`AHEAD_MIN`] or more ahead.
    pub(super) fn is_ahead(&self, due: u64) -> bool {
        due.wrapping_sub(self.now) >= AHEAD_MIN
    }

    /// Takes the next unit in turn for as long as the request takes, and says when that begins.
    fn begin_in_unit(&mut self, begin: u64, took: u64) -> u64 {
        let to_ns = |time: u64| time >> (32 - self.tick_shift);
        let begin_ns = self.now_ns + to_ns(begin.wrapping_sub(self.now));
        let Some(free_ns) = self.units.get_mut(self.unit) else {
            return begin;
        };
        let wait_ns = free_ns
            .saturating_sub(begin_ns)
            .min(BACKLOG_TICKS_MAX << self.tick_shift);
        // The unit is free when the answer goes out, at the beginning of its tick.
        *free_ns = (begin_ns + wait_ns + to_ns(took)) >> self.tick_shift << self.tick_shift;
        self.unit = if self.unit + 1 < self.units.len() {
            self.unit + 1
        } else {
            0
        };
        begin.wrapping_add(wait_ns << (32 - self.tick_shift))
    }
}

impl core::fmt::Debug for Model {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Model")
            .field("now_ns", &self.now_ns)
            .field("tick_shift", &self.tick_shift)
            .field("units_bind", &self.units_bind)
            .finish_non_exhaustive()
    }
}

impl Lane {
    fn new(
        deck: [u64; CARDS],
        gate: Option<&Direction>,
        block_bytes: u64,
        tick_shift: u32,
    ) -> Self {
        let ns = |cap: Option<f64>, amount: f64| cap.map_or(0.0, |cap| amount * 1e9 / cap);
        let gap = gate.map_or(0.0, |gate| ns(gate.iops_max, 1.0));
        let per_block = gate.map_or(0.0, |gate| {
            ns(gate.bytes_per_second_max, block_bytes as f64)
        });
        Self {
            plain_blocks: NO_BLOCKS,
            cost: 0,
            gap: time(gap, tick_shift),
            per_block: time(per_block, tick_shift),
            shortest: deck.iter().copied().min().unwrap_or(0),
            gated: gate.is_some(),
            deck,
        }
    }

    fn longest(&self) -> u64 {
        self.deck.iter().copied().max().unwrap_or(0)
    }
}

/// The nearest time that ends in [`CARD_STEP`].
fn step(time: u64) -> u64 {
    (time.saturating_sub(CARD_STEP) + CARDS as u64 / 2) & !CARD_BITS | CARD_STEP
}

/// Nanoseconds as a time.
fn time(ns: f64, tick_shift: u32) -> u64 {
    let ticks = ns / (1_u64 << tick_shift) as f64;
    ((ticks * (1_u64 << 32) as f64).round() as u64).min(SPAN_TICKS_MAX << 32)
}

/// The tick for a profile: a small part of its shortest time, and not too small for its longest.
fn tick_shift(profile: &Profile) -> u32 {
    let mut times = Vec::new();
    let ns = |cap: Option<f64>, amount: f64| cap.map_or(0.0, |cap| amount * 1e9 / cap);
    let mut longest = 0.0_f64;
    for direction in [&profile.read, &profile.write] {
        let gap = ns(direction.iops_max, 1.0);
        let transfer = ns(direction.bytes_per_second_max, TRANSFER_BYTES);
        times.push(gap);
        longest = longest.max(gap).max(transfer);
    }
    let (read, write) = (&profile.read.latency, &profile.write.latency);
    for latency in [read, write, &profile.flush, &profile.deallocate] {
        times.extend([latency.middle_us() * 1e3, latency.shortest_us() * 4e3]);
        longest = longest.max(latency.longest_us() * 1e3);
    }
    let above_zero = times.into_iter().filter(|ns| *ns > 0.0);
    let shortest = above_zero.min_by(f64::total_cmp).unwrap_or(0.0);
    let fits = |shift: &u32| (1_u64 << shift) as f64 * TICKS_OF_SHORTEST_MIN <= shortest;
    let fine = TICK_SHIFT.rev().find(fits).unwrap_or(*TICK_SHIFT.start());
    let reaches = |shift: &u32| longest <= (SPAN_TICKS_MAX << shift) as f64;
    (fine..=*TICK_SHIFT.end())
        .find(reaches)
        .unwrap_or(*TICK_SHIFT.end())
}

impl Latency {
    fn middle_us(&self) -> f64 {
        match self {
            Self::LogNormal { mean_us, .. } => *mean_us,
            Self::Quantiles(points) => points.get(points.len() / 2).map_or(0.0, |point| point.1),
        }
    }

    /// At most the shortest card.
    fn shortest_us(&self) -> f64 {
        match self {
            Self::LogNormal { mean_us, sigma } => {
                mean_us * (-4.0 * sigma - sigma * sigma / 2.0).exp()
            }
            Self::Quantiles(points) => points.first().map_or(0.0, |point| point.1),
        }
    }

    /// At least the longest card.
    fn longest_us(&self) -> f64 {
        match self {
            // The last card's score is 3.67, and the median is not above the mean.
            Self::LogNormal { mean_us, sigma } => mean_us * (4.0 * sigma).exp(),
            Self::Quantiles(points) => points.last().map_or(0.0, |point| point.1),
        }
    }
}
