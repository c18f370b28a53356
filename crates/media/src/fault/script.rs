//! What a script says, as types, and back to its text.

use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

use spec::Lba;
use spec::nvme::Status;

use crate::names::StatusName;

/// A fault script: rules, of which the first that matches a request acts on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(super) seed: u64,
    pub(super) rules: Vec<Rule>,
}

/// Which requests, and what happens to them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) when: When,
    /// How much later the answer comes.
    pub(super) delay: Duration,
    pub(super) deed: Deed,
}

/// Which requests a rule acts on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct When {
    /// An operation's name, or any.
    pub(super) op: Option<&'static str>,
    /// Requests that touch one of these blocks, or any.
    pub(super) lba: Option<RangeInclusive<u64>>,
    /// Not before, since the first time that the medium was told.
    pub(super) after: Duration,
    /// Before.
    pub(super) until: Option<Duration>,
    /// The first so many pass.
    pub(super) skip: u64,
    /// Of the others each so manieth.
    pub(super) every: u64,
    /// Of these a share.
    pub(super) probability: f64,
    /// Of these the first so many.
    pub(super) count: Option<u64>,
}

impl Default for When {
    fn default() -> Self {
        Self {
            op: None,
            lba: None,
            after: Duration::ZERO,
            until: None,
            skip: 0,
            every: 1,
            probability: 1.0,
            count: None,
        }
    }
}

/// How much of a request is done although its answer says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// The first blocks: so many, or half of them.
    Partial(Option<u64>),
    Full,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    /// Nothing but the delay; the rules behind it are asked as well.
    Delay,
    /// Answer with a status.
    Fail { status: Status, effect: Effect },
    /// Do not answer until nobody waits any more.
    Drop { effect: Effect },
    /// Flip bits between the blocks and the host.
    Flip(Bits),
    /// Go to other blocks, the first of them this.
    Misdirect(Lba),
    /// Acknowledge and do nothing.
    Lose,
}

/// Which bits of the blocks that rule and request share are flipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    /// So many, anywhere in those blocks.
    Random(usize),
    /// These positions in the first of those blocks.
    Given(Vec<u16>),
}

impl Deed {
    /// What `do` calls it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Fail { .. } => "fail",
            Self::Drop { .. } => "drop",
            Self::Flip(_) => "flip",
            Self::Misdirect(_) => "misdirect",
            Self::Lose => "lose",
        }
    }
}

impl Script {
    /// The seed that the script names, 1 if it names none.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The names of the rules, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    pub(super) fn flips(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| matches!(rule.deed, Deed::Flip(_)))
    }
}

/// The script as TOML that reads back as the same script.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "version = 1\nseed = {}", self.seed)?;
        for rule in &self.rules {
            let name = toml::Value::String(rule.name.clone());
            writeln!(f, "\n[[rule]]\nname = {name}\n{}{}", rule.when, rule.deed)?;
            if !rule.delay.is_zero() {
                writeln!(f, "delay_us = {}", rule.delay.as_micros())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = self.op {
            writeln!(f, "op = \"{op}\"")?;
        }
        if let Some(lba) = &self.lba {
            writeln!(f, "lba = \"{}-{}\"", lba.start(), lba.end())?;
        }
        writeln!(f, "after_ms = {}", self.after.as_millis())?;
        if let Some(until) = self.until {
            writeln!(f, "until_ms = {}", until.as_millis())?;
        }
        writeln!(f, "skip = {}\nevery = {}", self.skip, self.every)?;
        let probability = toml::Value::Float(self.probability);
        writeln!(f, "probability = {probability}")?;
        match self.count {
            Some(count) => writeln!(f, "count = {count}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "do = \"{}\"", self.name())?;
        match self {
            Self::Delay | Self::Lose => Ok(()),
            Self::Fail { status, effect } => {
                if Status::NAMED.contains(&status.code()) {
                    write!(f, "\nstatus = \"{}\"", StatusName(*status))?;
                } else {
                    write!(f, "\nsct = {}\nsc = {}", status.sct(), status.sc())?;
                }
                write!(f, "\ndnr = {}{effect}", status.dnr())
            }
            Self::Drop { effect } => write!(f, "{effect}"),
            Self::Flip(Bits::Random(count)) => write!(f, "\nbits = {count}"),
            Self::Flip(Bits::Given(bits)) => write!(f, "\nat_bits = {bits:?}"),
            Self::Misdirect(to) => write!(f, "\nto = {}", to.get()),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Full => write!(f, "\neffect = \"full\""),
            Self::Partial(None) => write!(f, "\neffect = \"partial\""),
            Self::Partial(Some(blocks)) => {
                write!(f, "\neffect = \"partial\"\ndone_blocks = {blocks}")
            }
        }
    }
}
