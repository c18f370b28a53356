//! What a profile says.

/// How long a drive takes, and where that is known from. Made by [`from_toml`](Self::from_toml) or
/// [`named`](Self::named), so its numbers lie within [`limits`](super::limits).
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) source: String,
    pub(super) inferred: String,
    pub(super) units: u32,
    pub(super) read: Direction,
    pub(super) write: Direction,
    pub(super) flush: Latency,
    pub(super) deallocate: Latency,
    pub(super) measured: Vec<Measured>,
}

/// How long requests of one direction take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direction {
    pub(super) latency: Latency,
    pub(super) iops_max: Option<f64>,
    pub(super) bytes_per_second_max: Option<f64>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Latency {
    /// Log-normal with this mean; `sigma` is the deviation of the logarithm.
    LogNormal { mean_us: f64, sigma: f64 },
    /// Points of the distribution, percent from 0 to 100 and microseconds, straight lines between them.
    Quantiles(Vec<(f64, f64)>),
}

/// A row of the source: what the drive did in a closed loop of random requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Requests in flight.
    pub depth: u32,
    /// Bytes of each.
    pub block_bytes: u32,
    /// Percent of reads; the rest were writes.
    pub read_percent: f64,
    /// Requests per second.
    pub iops: f64,
    /// Mean latency in microseconds, where the source has one.
    pub mean_us: Option<f64>,
}

/// The published profiles, each with its text.
const PUBLISHED: [(&str, &str); 4] = [
    ("instant", include_str!("../../profiles/instant.toml")),
    ("aws-c7gd", include_str!("../../profiles/aws-c7gd.toml")),
    (
        "azure-d4pds-v6",
        include_str!("../../profiles/azure-d4pds-v6.toml"),
    ),
    ("aisio-gen5", include_str!("../../profiles/aisio-gen5.toml")),
];

impl Profile {
    /// The names of the published profiles, `instant` first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PUBLISHED.iter().map(|(name, _)| *name)
    }

    /// The text of a published profile.
    pub fn text(name: &str) -> Option<&'static str> {
        let found = PUBLISHED.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    /// A published profile.
    ///
    /// # Panics
    /// If a published text is no profile, which a test rules out.
    pub fn named(name: &str) -> Option<Self> {
        let text = Self::text(name)?;
        Some(Self::from_toml(text).unwrap_or_else(|error| panic!("profile {name}: {error}")))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What drive this is, in a line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Where the figures are from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Which figures the source does not have, and how they were chosen.
    pub fn inferred(&self) -> &str {
        &self.inferred
    }

    /// What the source measured.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// Whether nothing takes any time. Such a medium needs no [`TimedMedia`](super::TimedMedia).
    pub fn is_instant(&self) -> bool {
        let no_cap = |direction: &Direction| {
            direction.iops_max.is_none() && direction.bytes_per_second_max.is_none()
        };
        let lanes = [&self.read, &self.write];
        lanes.into_iter().all(no_cap)
            && [
                &self.read.latency,
                &self.write.latency,
                &self.flush,
                &self.deallocate,
            ]
            .into_iter()
            .all(Latency::is_zero)
    }
}

impl Latency {
    fn is_zero(&self) -> bool {
        match self {
            Self::LogNormal { mean_us, .. } => *mean_us == 0.0,
            Self::Quantiles(points) => points.iter().all(|point| point.1 == 0.0),
        }
    }
}
