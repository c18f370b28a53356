//! From the text of a script to its rules, or to what is wrong with it.

use core::ops::Range;
use core::time::Duration;

use serde::Deserialize;
use spec::Lba;
use spec::nvme::Status;
use toml::{Spanned, Value};

use super::error::ScriptError;
use super::limits;
use super::script::{Bits, Deed, Effect, Rule, Script, When};
use crate::names::{self, StatusName};

/// Characters of a text that an error shows at most.
const SHOWN_MAX: usize = 60;

/// The greatest whole number that TOML can hold.
const INTEGER_MAX: u64 = i64::MAX as u64;

type Given = Option<Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptText {
    version: Spanned<Value>,
    seed: Given,
    #[serde(default)]
    rule: Vec<Spanned<RuleText>>,
}

/// Values are taken as they come and judged here, so that every refusal names line, key, value and what is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    name: Given,
    op: Given,
    lba: Given,
    after_ms: Given,
    until_ms: Given,
    skip: Given,
    every: Given,
    probability: Given,
    count: Given,
    r#do: Given,
    status: Given,
    sct: Given,
    sc: Given,
    dnr: Given,
    effect: Given,
    done_blocks: Given,
    bits: Given,
    at_bits: Given,
    to: Given,
    delay_us: Given,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// When the text is no TOML, or says what no script can say: line, key, what was found, what is allowed.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        if text.len() > limits::SCRIPT_BYTES_MAX {
            return Err(ScriptError::TooLong { bytes: text.len() });
        }
        let source = Source(text);
        let raw: ScriptText = toml::from_str(text).map_err(|error| source.syntax(&error))?;
        source.integer("version", &raw.version, 1..=1)?;
        let seed = match &raw.seed {
            Some(seed) => source.integer("seed", seed, 0..=INTEGER_MAX)?,
            None => 1,
        };
        let mut rules: Vec<Rule> = Vec::new();
        for (index, rule) in raw.rule.iter().enumerate() {
            if index == limits::RULES_MAX {
                let allowed = format!("at most {} rules", limits::RULES_MAX);
                return Err(source.refuse("rule", rule.span(), "one more rule", allowed));
            }
            let read = source.rule(index, rule)?;
            if rules.iter().any(|other| other.name == read.name) {
                let found = format!("a second rule named {:?}", read.name);
                return Err(source.refuse("name", rule.span(), &found, "a name of its own"));
            }
            rules.push(read);
        }
        Ok(Self { seed, rules })
    }
}

/// The text, to say on which line something stands.
struct Source<'t>(&'t str);

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        let before = self.0.as_bytes().get(..at).unwrap_or(self.0.as_bytes());
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    fn syntax(&self, error: &toml::de::Error) -> ScriptError {
        let line = self.line(error.span().map_or(0, |span| span.start));
        let found = self.0.lines().nth(line - 1).unwrap_or_default();
        ScriptError::Syntax {
            line,
            found: shown(found.trim()),
            problem: error.message().replace('\n', "; "),
        }
    }

    fn refuse(
        &self,
        key: &'static str,
        span: Range<usize>,
        found: &str,
        allowed: impl Into<String>,
    ) -> ScriptError {
        ScriptError::Value {
            line: self.line(span.start),
            key,
            found: shown(found),
            allowed: allowed.into(),
        }
    }

    fn refuse_value(
        &self,
        key: &'static str,
        value: &Spanned<Value>,
        allowed: impl Into<String>,
    ) -> ScriptError {
        self.refuse(key, value.span(), &value.get_ref().to_string(), allowed)
    }

    fn integer(
        &self,
        key: &'static str,
        value: &Spanned<Value>,
        allowed: core::ops::RangeInclusive<u64>,
    ) -> Result<u64, ScriptError> {
        let number = value.get_ref().as_integer();
        number
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| {
                let (low, high) = (allowed.start(), allowed.end());
                let words = match (low == high, *high == INTEGER_MAX) {
                    (true, _) => low.to_string(),
                    (_, true) => format!("a whole number, at least {low}"),
                    _ => format!("a whole number from {low} to {high}"),
                };
                self.refuse_value(key, value, words)
            })
    }

    fn maybe_integer(
        &self,
        key: &'static str,
        value: &Given,
        allowed: core::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ScriptError> {
        value
            .as_ref()
            .map(|value| self.integer(key, value, allowed))
            .transpose()
    }

    /// One of some words.
    fn word(
        &self,
        key: &'static str,
        value: &Spanned<Value>,
        allowed: &[&'static str],
    ) -> Result<&'static str, ScriptError> {
        let found = value.get_ref().as_str();
        allowed
            .iter()
            .copied()
            .find(|&word| found == Some(word))
            .ok_or_else(|| self.refuse_value(key, value, allowed.join(", ")))
    }

    fn rule(&self, index: usize, text: &Spanned<RuleText>) -> Result<Rule, ScriptError> {
        let (raw, span) = (text.get_ref(), text.span());
        let name = match &raw.name {
            Some(name) => self.name(name)?,
            None => format!("rule {}", index + 1),
        };
        let delay = self.maybe_integer("delay_us", &raw.delay_us, 1..=limits::DELAY_US_MAX)?;
        let when = self.when(raw)?;
        Ok(Rule {
            name,
            deed: self.deed(raw, span, &when)?,
            when,
            delay: Duration::from_micros(delay.unwrap_or_default()),
        })
    }

    fn name(&self, value: &Spanned<Value>) -> Result<String, ScriptError> {
        let name = value.get_ref().as_str().filter(|name| {
            (1..=limits::NAME_BYTES_MAX).contains(&name.len())
                && !name.contains(|letter: char| letter.is_control())
        });
        name.map(str::to_owned).ok_or_else(|| {
            let most = limits::NAME_BYTES_MAX;
            self.refuse_value(
                "name",
                value,
                format!("a text of 1 to {most} bytes in one line"),
            )
        })
    }

    fn when(&self, raw: &RuleText) -> Result<When, ScriptError> {
        let plain = When::default();
        let op = match &raw.op {
            Some(op) => {
                let mut words = names::OPERATIONS.to_vec();
                words.push("any");
                Some(self.word("op", op, &words)?).filter(|&word| word != "any")
            }
            None => None,
        };
        let after = self.maybe_integer("after_ms", &raw.after_ms, 0..=limits::TIME_MS_MAX)?;
        let after = after.unwrap_or_default();
        let until = self.maybe_integer(
            "until_ms",
            &raw.until_ms,
            after + 1..=limits::TIME_MS_MAX + 1,
        )?;
        let skip = self.maybe_integer("skip", &raw.skip, 0..=INTEGER_MAX)?;
        let every = self.maybe_integer("every", &raw.every, 1..=INTEGER_MAX)?;
        Ok(When {
            op,
            lba: raw.lba.as_ref().map(|lba| self.lba(lba)).transpose()?,
            after: Duration::from_millis(after),
            until: until.map(Duration::from_millis),
            skip: skip.unwrap_or(plain.skip),
            every: every.unwrap_or(plain.every),
            probability: match &raw.probability {
                Some(value) => self.probability(value)?,
                None => plain.probability,
            },
            count: self.maybe_integer("count", &raw.count, 1..=INTEGER_MAX)?,
        })
    }

    fn lba(&self, value: &Spanned<Value>) -> Result<core::ops::RangeInclusive<u64>, ScriptError> {
        let range = match value.get_ref() {
            Value::Integer(lba) => u64::try_from(*lba).ok().map(|lba| lba..=lba),
            Value::String(text) => range(text),
            _ => None,
        };
        range.ok_or_else(|| {
            let allowed =
                "a block such as 100, or a range such as \"100-199\" that holds both ends";
            self.refuse_value("lba", value, allowed)
        })
    }

    fn probability(&self, value: &Spanned<Value>) -> Result<f64, ScriptError> {
        let number = match value.get_ref() {
            Value::Float(number) => Some(*number),
            Value::Integer(0) => Some(0.0),
            Value::Integer(1) => Some(1.0),
            _ => None,
        };
        number
            .filter(|number| (0.0..=1.0).contains(number))
            .ok_or_else(|| self.refuse_value("probability", value, "a number from 0.0 to 1.0"))
    }

    fn deed(&self, raw: &RuleText, span: Range<usize>, when: &When) -> Result<Deed, ScriptError> {
        const DEEDS: [&str; 6] = ["fail", "delay", "drop", "flip", "misdirect", "lose"];
        let Some(value) = &raw.r#do else {
            return Err(self.refuse("do", span, "no such key in this rule", DEEDS.join(", ")));
        };
        let deed = self.word("do", value, &DEEDS)?;
        self.refuse_strangers(raw, deed)?;
        let ops: &[&str] = match deed {
            "flip" | "misdirect" => &["read", "write"],
            "lose" => &["write", "write-zeroes", "deallocate", "flush"],
            _ => &[],
        };
        if !ops.is_empty() && when.op.is_none_or(|op| !ops.contains(&op)) {
            let allowed = format!("with do = \"{deed}\": {}", ops.join(", "));
            let (found, span) = match &raw.op {
                Some(op) => (op.get_ref().to_string(), op.span()),
                None => ("no such key in this rule".to_owned(), span),
            };
            return Err(self.refuse("op", span, &found, allowed));
        }
        Ok(match deed {
            "fail" => Deed::Fail {
                status: self.status(raw, value)?,
                effect: self.effect(raw)?,
            },
            "drop" => Deed::Drop {
                effect: self.effect(raw)?,
            },
            "flip" => Deed::Flip(self.bits(raw)?),
            "misdirect" => {
                let to = self.needed("to", &raw.to, value)?;
                Deed::Misdirect(Lba::new(self.integer("to", to, 0..=INTEGER_MAX)?))
            }
            "lose" => Deed::Lose,
            _ => {
                self.needed("delay_us", &raw.delay_us, value)?;
                Deed::Delay
            }
        })
    }

    /// Refuses keys that mean nothing with this deed: whoever wrote them expects something that will not happen.
    fn refuse_strangers(&self, raw: &RuleText, deed: &str) -> Result<(), ScriptError> {
        let fail: &[&str] = &["fail"];
        let keys: [(&'static str, &Given, &[&str]); 9] = [
            ("status", &raw.status, fail),
            ("sct", &raw.sct, fail),
            ("sc", &raw.sc, fail),
            ("dnr", &raw.dnr, fail),
            ("effect", &raw.effect, &["fail", "drop"]),
            ("done_blocks", &raw.done_blocks, &["fail", "drop"]),
            ("bits", &raw.bits, &["flip"]),
            ("at_bits", &raw.at_bits, &["flip"]),
            ("to", &raw.to, &["misdirect"]),
        ];
        let late = ["fail", "delay", "flip", "misdirect", "lose"];
        let delay = ("delay_us", &raw.delay_us, late.as_slice());
        for (key, value, deeds) in keys.into_iter().chain([delay]) {
            if let Some(value) = value
                && !deeds.contains(&deed)
            {
                let allowed = format!("this key only with do = {}", deeds.join(" or "));
                return Err(self.refuse_value(key, value, allowed));
            }
        }
        Ok(())
    }

    /// A key without which the rule's `do` means nothing.
    fn needed<'v>(
        &self,
        key: &'static str,
        value: &'v Given,
        deed: &Spanned<Value>,
    ) -> Result<&'v Spanned<Value>, ScriptError> {
        value.as_ref().ok_or_else(|| {
            let allowed = format!("with do = {}, a value for it", deed.get_ref());
            self.refuse(key, deed.span(), "no such key in this rule", allowed)
        })
    }

    fn status(&self, raw: &RuleText, deed: &Spanned<Value>) -> Result<Status, ScriptError> {
        let status = match (&raw.status, &raw.sct) {
            (Some(status), None) => self.status_by_name(status)?,
            (None, Some(sct)) => {
                let sc = self.needed("sc", &raw.sc, deed)?;
                let numbers = (
                    self.integer("sct", sct, 0..=7)? as u8,
                    self.integer("sc", sc, 0..=255)? as u8,
                );
                match Status::new(numbers.0, numbers.1) {
                    Status::SUCCESS => return Err(self.refuse_success("sc", sc)),
                    status => status,
                }
            }
            (Some(_), Some(sct)) => {
                let allowed = "either status, or sct and sc";
                return Err(self.refuse_value("sct", sct, allowed));
            }
            (None, None) => {
                let allowed = format!("with do = \"fail\": {}, or sct and sc", status_words());
                let found = "no such key in this rule";
                return Err(self.refuse("status", deed.span(), found, allowed));
            }
        };
        if let (Some(sc), Some(_)) = (&raw.sc, &raw.status) {
            return Err(self.refuse_value("sc", sc, "either status, or sct and sc"));
        }
        match &raw.dnr {
            None => Ok(status),
            Some(dnr) => match dnr.get_ref().as_bool() {
                Some(true) => Ok(status.with_dnr()),
                Some(false) => Ok(status),
                None => Err(self.refuse_value("dnr", dnr, "true, false")),
            },
        }
    }

    fn status_by_name(&self, value: &Spanned<Value>) -> Result<Status, ScriptError> {
        match value.get_ref().as_str().and_then(names::status_named) {
            Some(Status::SUCCESS) => Err(self.refuse_success("status", value)),
            Some(status) => Ok(status),
            None => Err(self.refuse_value("status", value, status_words())),
        }
    }

    fn refuse_success(&self, key: &'static str, value: &Spanned<Value>) -> ScriptError {
        let allowed = "a failure; do = \"lose\" acknowledges what was not done";
        self.refuse_value(key, value, allowed)
    }

    fn effect(&self, raw: &RuleText) -> Result<Effect, ScriptError> {
        let effect = match &raw.effect {
            Some(effect) => self.word("effect", effect, &["none", "partial", "full"])?,
            None => "none",
        };
        match (effect, &raw.done_blocks) {
            ("partial", done) => {
                let blocks = self.maybe_integer("done_blocks", done, 0..=INTEGER_MAX)?;
                Ok(Effect::Partial(blocks))
            }
            (_, Some(done)) => {
                let allowed = "this key only with effect = \"partial\"";
                Err(self.refuse_value("done_blocks", done, allowed))
            }
            ("full", None) => Ok(Effect::Full),
            _ => Ok(Effect::None),
        }
    }

    fn bits(&self, raw: &RuleText) -> Result<Bits, ScriptError> {
        let most = limits::BITS_MAX;
        let Some(given) = &raw.at_bits else {
            let count = self.maybe_integer("bits", &raw.bits, 1..=most as u64)?;
            return Ok(Bits::Random(count.map_or(1, |count| count as usize)));
        };
        if let Some(bits) = &raw.bits {
            return Err(self.refuse_value("bits", bits, "either bits or at_bits"));
        }
        let position = |value: &Value| {
            let bit = u16::try_from(value.as_integer()?).ok()?;
            (bit < limits::BIT_POSITIONS).then_some(bit)
        };
        let list = given.get_ref().as_array();
        let bits: Option<Vec<u16>> = list.and_then(|list| list.iter().map(position).collect());
        bits.filter(|bits| {
            let repeats = |at: usize, bit: &u16| bits.iter().take(at).any(|other| other == bit);
            (1..=most).contains(&bits.len())
                && !bits.iter().enumerate().any(|(at, bit)| repeats(at, bit))
        })
        .map(Bits::Given)
        .ok_or_else(|| {
            let last = limits::BIT_POSITIONS - 1;
            let allowed = format!("a list of 1 to {most} different positions from 0 to {last}");
            self.refuse_value("at_bits", given, allowed)
        })
    }
}

/// `100` or `100-199`.
fn range(text: &str) -> Option<core::ops::RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = number(first)?..=number(last)?;
    (!range.is_empty()).then_some(range)
}

/// The names that scripts mostly want, and how the others are made.
fn status_words() -> String {
    let media = Status::NAMED
        .iter()
        .filter(|status| status.sct() == Status::WRITE_FAULT.sct());
    let names: Vec<String> = media
        .map(|&status| StatusName(status).to_string())
        .collect();
    format!(
        "{}, or any other name of the standard in lower case with hyphens",
        names.join(", ")
    )
}

/// A text short enough for one line of an error.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short.replace('\n', " ")
}
