//! From the text of a profile to its numbers, or to what is wrong with it.

use core::ops::{Range, RangeInclusive};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::error::ProfileError;
use super::limits;
use super::profile::{Direction, Latency, Measured, Profile};

/// Characters of a text that an error shows at most.
const SHOWN_MAX: usize = 60;

type Given = Option<Spanned<Value>>;

/// Values are taken as they come and judged here, so that every refusal names line, key, value and what is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    version: Spanned<Value>,
    name: Spanned<Value>,
    summary: Spanned<Value>,
    source: Spanned<Value>,
    inferred: Given,
    units: Spanned<Value>,
    read: Spanned<DirectionText>,
    write: Spanned<DirectionText>,
    flush: Spanned<LatencyText>,
    deallocate: Spanned<LatencyText>,
    #[serde(default)]
    measured: Vec<MeasuredText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectionText {
    mean_us: Given,
    sigma: Given,
    quantiles_us: Given,
    iops_max: Given,
    bytes_per_second_max: Given,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyText {
    mean_us: Given,
    sigma: Given,
    quantiles_us: Given,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredText {
    depth: Spanned<Value>,
    block_bytes: Spanned<Value>,
    read_percent: Spanned<Value>,
    iops: Spanned<Value>,
    mean_us: Given,
}

impl Profile {
    /// Reads a profile; `docs/profiles.md` explains every key.
    ///
    /// # Errors
    /// When the text is no TOML, or says what no profile can say: line, key, what was found, what is allowed.
    pub fn from_toml(text: &str) -> Result<Self, ProfileError> {
        if text.len() > limits::PROFILE_BYTES_MAX {
            return Err(ProfileError::TooLong { bytes: text.len() });
        }
        let source = Source(text);
        let raw: ProfileText = toml::from_str(text).map_err(|error| source.syntax(&error))?;
        source.integer("version", &raw.version, 1..=1)?;
        if let Some(row) = raw.measured.get(limits::MEASURED_MAX) {
            let allowed = format!("at most {} rows", limits::MEASURED_MAX);
            return Err(source.refuse("measured", row.depth.span(), "one more row", allowed));
        }
        Ok(Self {
            name: source.name(&raw.name)?,
            summary: source.note("summary", &raw.summary)?,
            source: source.note("source", &raw.source)?,
            inferred: match &raw.inferred {
                Some(inferred) => source.note("inferred", inferred)?,
                None => String::new(),
            },
            units: source.integer("units", &raw.units, limits::UNITS)? as u32,
            read: source.direction("read", &raw.read)?,
            write: source.direction("write", &raw.write)?,
            flush: source.latency_alone("flush", &raw.flush)?,
            deallocate: source.latency_alone("deallocate", &raw.deallocate)?,
            measured: raw
                .measured
                .iter()
                .map(|row| source.measured(row))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The text, to say on which line something stands.
struct Source<'t>(&'t str);

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        let before = self.0.as_bytes().get(..at).unwrap_or(self.0.as_bytes());
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    fn syntax(&self, error: &toml::de::Error) -> ProfileError {
        let line = self.line(error.span().map_or(0, |span| span.start));
        let found = self.0.lines().nth(line - 1).unwrap_or_default();
        ProfileError::Syntax {
            line,
            found: shown(found.trim()),
            problem: error.message().replace('\n', "; "),
        }
    }

    fn refuse(
        &self,
        key: &str,
        span: Range<usize>,
        found: &str,
        allowed: impl Into<String>,
    ) -> ProfileError {
        ProfileError::Value {
            line: self.line(span.start),
            key: key.to_owned(),
            found: shown(found),
            allowed: allowed.into(),
        }
    }

    fn value(&self, key: &str, value: &Spanned<Value>, allowed: String) -> ProfileError {
        let found = value.get_ref().to_string();
        self.refuse(key, value.span(), &found, allowed)
    }

    fn integer(
        &self,
        key: &str,
        value: &Spanned<Value>,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ProfileError> {
        value
            .get_ref()
            .as_integer()
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                self.value(key, value, format!("a whole number from {least} to {most}"))
            })
    }

    fn number(
        &self,
        key: &str,
        value: &Spanned<Value>,
        range: RangeInclusive<f64>,
    ) -> Result<f64, ProfileError> {
        number(value.get_ref())
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                self.value(key, value, format!("a number from {least} to {most}"))
            })
    }

    fn optional(
        &self,
        key: &str,
        value: &Given,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ProfileError> {
        let read = |value| self.number(key, value, range);
        value.as_ref().map(read).transpose()
    }

    fn name(&self, value: &Spanned<Value>) -> Result<String, ProfileError> {
        let letter = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let sound = |name: &&str| {
            (1..=limits::NAME_LETTERS_MAX).contains(&name.len()) && name.chars().all(letter)
        };
        let name = value.get_ref().as_str().filter(sound);
        name.map(str::to_owned).ok_or_else(|| {
            let most = limits::NAME_LETTERS_MAX;
            let allowed = format!("a name of 1 to {most} letters, digits, '-', '.', '_'");
            self.value("name", value, allowed)
        })
    }

    fn note(&self, key: &str, value: &Spanned<Value>) -> Result<String, ProfileError> {
        let fits = |text: &&str| text.len() <= limits::NOTE_LETTERS_MAX;
        let note = value.get_ref().as_str().filter(fits);
        note.map(|note| note.trim().to_owned()).ok_or_else(|| {
            let most = limits::NOTE_LETTERS_MAX;
            self.value(key, value, format!("a text of at most {most} bytes"))
        })
    }

    fn direction(
        &self,
        table: &str,
        text: &Spanned<DirectionText>,
    ) -> Result<Direction, ProfileError> {
        let raw = text.get_ref();
        let iops_max = format!("{table}.iops_max");
        let bytes_max = format!("{table}.bytes_per_second_max");
        Ok(Direction {
            latency: self.latency(
                table,
                text.span(),
                [&raw.mean_us, &raw.sigma, &raw.quantiles_us],
            )?,
            iops_max: self.optional(&iops_max, &raw.iops_max, limits::IOPS)?,
            bytes_per_second_max: self.optional(
                &bytes_max,
                &raw.bytes_per_second_max,
                limits::BYTES_PER_SECOND,
            )?,
        })
    }

    fn latency_alone(
        &self,
        table: &str,
        text: &Spanned<LatencyText>,
    ) -> Result<Latency, ProfileError> {
        let raw = text.get_ref();
        self.latency(
            table,
            text.span(),
            [&raw.mean_us, &raw.sigma, &raw.quantiles_us],
        )
    }

    fn latency(
        &self,
        table: &str,
        span: Range<usize>,
        [mean_us, sigma, quantiles]: [&Given; 3],
    ) -> Result<Latency, ProfileError> {
        match (mean_us, quantiles) {
            (Some(mean_us), None) => {
                let key = format!("{table}.mean_us");
                let mean_us = self.number(&key, mean_us, limits::LATENCY_US)?;
                let key = format!("{table}.sigma");
                let sigma = self.optional(&key, sigma, limits::SIGMA)?.unwrap_or(0.0);
                Ok(Latency::LogNormal { mean_us, sigma })
            }
            (None, Some(points)) => match sigma {
                Some(sigma) => {
                    let allowed = "sigma beside mean_us; quantiles_us has its own spread";
                    Err(self.value(&format!("{table}.sigma"), sigma, allowed.to_owned()))
                }
                None => self.quantiles(&format!("{table}.quantiles_us"), points),
            },
            (mean_us, _) => {
                let found = if mean_us.is_some() { "both" } else { "neither" };
                Err(self.refuse(table, span, found, "either mean_us or quantiles_us"))
            }
        }
    }

    fn quantiles(&self, key: &str, value: &Spanned<Value>) -> Result<Latency, ProfileError> {
        let (fewest, most) = (limits::QUANTILES.start(), limits::QUANTILES.end());
        let refuse = |found: &str| {
            let allowed = format!(
                "{fewest} to {most} pairs [percent, microseconds], percent rising from 0 to 100, \
                 microseconds not falling, from {} to {}",
                limits::LATENCY_US.start(),
                limits::LATENCY_US.end()
            );
            self.refuse(key, value.span(), found, allowed)
        };
        let Some(list) = value.get_ref().as_array() else {
            return Err(refuse(&value.get_ref().to_string()));
        };
        if !limits::QUANTILES.contains(&list.len()) {
            return Err(refuse(&format!("{} pairs", list.len())));
        }
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(list.len());
        for entry in list {
            let pair = match entry.as_array().map(Vec::as_slice) {
                Some([percent, us]) => number(percent).zip(number(us)),
                _ => None,
            };
            let follows = |&(percent, us): &(f64, f64)| {
                let rises = match points.last() {
                    None => percent == 0.0,
                    Some(last) => percent > last.0 && us >= last.1,
                };
                rises && percent <= 100.0 && limits::LATENCY_US.contains(&us)
            };
            let Some(pair) = pair.filter(follows) else {
                return Err(refuse(&entry.to_string()));
            };
            points.push(pair);
        }
        match points.last() {
            Some(&(100.0, _)) => Ok(Latency::Quantiles(points)),
            _ => Err(refuse("a last pair that is not of 100 percent")),
        }
    }

    fn measured(&self, row: &MeasuredText) -> Result<Measured, ProfileError> {
        let block_bytes = self.integer(
            "measured.block_bytes",
            &row.block_bytes,
            limits::BLOCK_BYTES,
        )?;
        if block_bytes % 512 != 0 {
            let allowed = "a multiple of 512".to_owned();
            return Err(self.value("measured.block_bytes", &row.block_bytes, allowed));
        }
        Ok(Measured {
            depth: self.integer("measured.depth", &row.depth, limits::DEPTH)? as u32,
            block_bytes: block_bytes as u32,
            read_percent: self.number("measured.read_percent", &row.read_percent, 0.0..=100.0)?,
            iops: self.number("measured.iops", &row.iops, limits::IOPS)?,
            mean_us: self.optional("measured.mean_us", &row.mean_us, limits::MEASURED_US)?,
        })
    }
}

/// A number, whether it is written with a point or without.
fn number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A text short enough for an error.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
