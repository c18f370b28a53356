//! The form of a lab file: what may be written, and how it becomes a [`Lab`].

use std::path::PathBuf;

use controller::limits::{NAMESPACES_MAX, QUEUE_PAIRS_MAX, TRANSFER_PAGES_SHIFT_MAX};
use media::timing::Profile as TimingProfile;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::error::Wrongs;
use super::{ControllerSection, Lab, LabError, MountSection, TelemetrySection, VERSION};
use crate::limits::MOUNT_THREADS_MAX;
use crate::uri::{Emulated, Profile, Uri};

/// What `dataplane-emu serve` serves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "lab.toml of dataplane-emu, version 1")]
struct File {
    /// The version of this format: 1.
    #[schemars(with = "u32", range(min = 1, max = 1))]
    version: Spanned<i64>,
    /// How the controller presents itself. What is left out keeps its default.
    #[serde(default)]
    controller: ControllerTable,
    /// The namespaces, at least one.
    #[serde(default)]
    #[schemars(length(min = 1))]
    namespace: Vec<NamespaceTable>,
    /// A FUSE mount, one at most: a file for each namespace, `nvme_raw_0` for the first.
    #[serde(default)]
    #[schemars(with = "Vec<MountTable>", length(max = 1))]
    mount: Vec<Spanned<MountTable>>,
    /// What other programs may read while the drive is served (docs/telemetry.md).
    #[serde(default)]
    telemetry: TelemetryTable,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ControllerTable {
    /// Serial number: at most 20 printable ASCII characters.
    #[schemars(with = "Option<String>", length(max = 20), regex(pattern = "^[ -~]*$"))]
    serial: Option<Spanned<String>>,
    /// Model number: at most 40 printable ASCII characters.
    #[schemars(with = "Option<String>", length(max = 40), regex(pattern = "^[ -~]*$"))]
    model: Option<Spanned<String>>,
    /// I/O queue pairs offered.
    #[schemars(with = "Option<u16>", range(min = 1, max = QUEUE_PAIRS_MAX))]
    queue_pairs: Option<Spanned<i64>>,
    /// The largest transfer as a power of two of 4 KiB pages.
    #[schemars(with = "Option<u8>", range(min = 1, max = TRANSFER_PAGES_SHIFT_MAX))]
    transfer_pages_shift: Option<Spanned<i64>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamespaceTable {
    /// A device emulated in the serving process, as on the command line: ram:1G, file:disk.img?size=1G&profile=aws-c7gd.
    #[schemars(with = "String")]
    device: Spanned<String>,
    /// The namespace identifier; the next one when left out.
    #[schemars(with = "Option<u32>", range(min = 1, max = NAMESPACES_MAX))]
    id: Option<Spanned<i64>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MountTable {
    /// An empty directory. A relative one counts from the directory of the lab file.
    #[schemars(with = "PathBuf")]
    path: Spanned<PathBuf>,
    /// Whether users other than the server's may use it.
    #[serde(default)]
    allow_other: bool,
    /// Threads that take requests; two when left out.
    #[schemars(with = "Option<u8>", range(min = 1, max = MOUNT_THREADS_MAX))]
    threads: Option<Spanned<i64>>,
}

/// What other programs may read while the drive is served (docs/telemetry.md).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TelemetrySection")]
struct TelemetryTable {
    /// The file of version 1, 64 bytes; /tmp/dataplane_telemetry.bin when left out. "none": no file.
    #[schemars(with = "Option<PathBuf>")]
    v1: Option<Spanned<PathBuf>>,
    /// The file of version 2, a page with a sequence lock; /dev/shm/dataplane_telemetry when left out. "none": no file.
    #[schemars(with = "Option<PathBuf>")]
    v2: Option<Spanned<PathBuf>>,
}

/// The JSON schema of the format.
pub fn schema() -> String {
    let settings = SchemaSettings::default().with_transform(RecursiveTransform(without_null));
    let mut schema = settings.into_generator().into_root_schema_for::<File>();
    // The parser gives a lab without a namespace better words than "missing field", and so has it as optional.
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.push("namespace".into());
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Takes out what TOML has not, the null that stands for a value left out.
fn without_null(part: &mut Schema) {
    if let Some(kinds) = part.get_mut("type")
        && let Some([kind, Value::String(null)]) = kinds.as_array().map(Vec::as_slice)
        && null == "null"
    {
        *kinds = kind.clone();
    }
}

impl Lab {
    /// Reads the text of a lab file. Nothing is opened, and paths stay as they are written.
    ///
    /// # Errors
    /// Everything that is wrong with it, with the line, the key and what is allowed.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        match Self::parse_all(text) {
            (lab, None) => Ok(lab),
            (_, Some(error)) => Err(error),
        }
    }

    /// As [`parse`](Self::parse), with what is right in a text of which some is wrong.
    pub(super) fn parse_all(text: &str) -> (Self, Option<LabError>) {
        let mut lab = Self::empty();
        let mut wrongs = Wrongs::of(text);
        match toml::from_str::<File>(text) {
            Err(error) => wrongs.syntax(&error),
            Ok(file) if *file.version.get_ref() != i64::from(VERSION) => {
                let problem = format!("it is {}", file.version.get_ref());
                let allowed =
                    format!("{VERSION}, the version of the format that this program reads");
                wrongs.at(&file.version.span(), "version", &problem, &allowed);
            }
            Ok(file) => file.fill(&mut lab, &mut wrongs),
        }
        (lab, wrongs.error())
    }
}

impl File {
    fn fill(self, lab: &mut Lab, wrongs: &mut Wrongs<'_>) {
        lab.controller = self.controller.section(wrongs);
        lab.mount = mount(self.mount, lab, wrongs);
        lab.lines.telemetry = [&self.telemetry.v1, &self.telemetry.v2]
            .map(|page| page.as_ref().map(|page| wrongs.line(&page.span())));
        lab.telemetry = TelemetrySection {
            v1: self.telemetry.v1.map(Spanned::into_inner),
            v2: self.telemetry.v2.map(Spanned::into_inner),
        };
        if self.namespace.is_empty() {
            let allowed = "at least one [[namespace]] with a device";
            wrongs.whole("namespace", "there is none", allowed);
        }
        for section in self.namespace {
            section.add_to(lab, wrongs);
        }
    }
}

impl ControllerTable {
    fn section(self, wrongs: &mut Wrongs<'_>) -> ControllerSection {
        ControllerSection {
            serial: words("controller.serial", self.serial, 20, wrongs),
            model: words("controller.model", self.model, 40, wrongs),
            queue_pairs: number(
                "controller.queue_pairs",
                self.queue_pairs,
                QUEUE_PAIRS_MAX,
                wrongs,
            ),
            transfer_pages_shift: number(
                "controller.transfer_pages_shift",
                self.transfer_pages_shift,
                TRANSFER_PAGES_SHIFT_MAX,
                wrongs,
            ),
        }
    }
}

/// A text of printable ASCII characters, if there is one.
fn words(
    key: &str,
    value: Option<Spanned<String>>,
    bytes_max: usize,
    wrongs: &mut Wrongs<'_>,
) -> Option<String> {
    let value = value?;
    let text = value.get_ref();
    let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if text.len() > bytes_max || !printable {
        let allowed = format!("at most {bytes_max} printable ASCII characters");
        wrongs.at(&value.span(), key, &format!("it is {text:?}"), &allowed);
        return None;
    }
    Some(value.into_inner())
}

/// A number from 1 to `most`, if there is one.
fn number<N>(key: &str, value: Option<Spanned<i64>>, most: N, wrongs: &mut Wrongs<'_>) -> Option<N>
where
    N: Copy + PartialOrd + From<u8> + TryFrom<i64> + core::fmt::Display,
{
    let value = value?;
    let found = *value.get_ref();
    let number = N::try_from(found).ok();
    let number = number.filter(|number| (N::from(1)..=most).contains(number));
    if number.is_none() {
        let allowed = format!("1 to {most}");
        wrongs.at(&value.span(), key, &format!("it is {found}"), &allowed);
    }
    number
}

/// The one mount, if there is one.
fn mount(
    mounts: Vec<Spanned<MountTable>>,
    lab: &mut Lab,
    wrongs: &mut Wrongs<'_>,
) -> Option<MountSection> {
    if let Some(second) = mounts.get(1) {
        let problem = format!("there are {}", mounts.len());
        let allowed = "one [[mount]]: a queue pair has one owner";
        wrongs.at(&second.span(), "mount", &problem, allowed);
    }
    let table = mounts.into_iter().next()?.into_inner();
    lab.lines.mount = Some(wrongs.line(&table.path.span()));
    let threads: Option<u32> = number(
        "mount.threads",
        table.threads,
        MOUNT_THREADS_MAX as u32,
        wrongs,
    );
    Some(MountSection {
        path: table.path.into_inner(),
        allow_other: table.allow_other,
        threads: threads.map(|threads| threads as usize),
    })
}

impl NamespaceTable {
    fn add_to(self, lab: &mut Lab, wrongs: &mut Wrongs<'_>) {
        let span = self.device.span();
        let device = match self.device() {
            Ok(device) => Some(device),
            Err((problem, allowed)) => {
                wrongs.at(&span, "namespace.device", &problem, &allowed);
                None
            }
        };
        let id = number("namespace.id", self.id.clone(), NAMESPACES_MAX, wrongs);
        let (Some(device), true) = (device, id.is_some() || self.id.is_none()) else {
            return;
        };
        let line = Some(wrongs.line(&span));
        if let Err(problem) = lab.add_from(device, id, line) {
            let (span, key) = match &self.id {
                Some(id) => (id.span(), "namespace.id"),
                None => (span, "namespace.device"),
            };
            let allowed = format!(
                "identifiers 1 to {NAMESPACES_MAX}, each once, and files of one namespace each"
            );
            wrongs.at(&span, key, &problem, &allowed);
        }
    }

    /// The device, or what is wrong with it and what is allowed.
    fn device(&self) -> Result<Emulated, (String, String)> {
        let allowed =
            "a device emulated in this process: ram:SIZE, null:SIZE, file:PATH, with options";
        let device = match Uri::parse(self.device.get_ref()) {
            Ok(Uri::Emulated(device)) => device,
            Ok(other) => {
                return Err((format!("{other} is a device elsewhere"), allowed.into()));
            }
            Err(error) => return Err((error.to_string(), allowed.into())),
        };
        if let Profile::Named(name) = &device.profile
            && TimingProfile::named(name).is_none()
        {
            let names: Vec<&str> = TimingProfile::names().collect();
            let allowed = format!(
                "{}, or a path that holds '/' or ends in .toml",
                names.join(", ")
            );
            return Err((format!("there is no profile {name:?}"), allowed));
        }
        Ok(device)
    }
}
