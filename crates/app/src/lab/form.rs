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

use super::{ControllerSection, Lab, LabError, MountSection, VERSION, check_threads};
use crate::uri::{Emulated, Profile, Uri};

/// What `dataplane-emu serve` serves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "lab.toml of dataplane-emu, version 1")]
struct File {
    /// The version of this format: 1.
    #[schemars(with = "u32", range(min = 1, max = 1))]
    version: Spanned<u32>,
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
    telemetry: TelemetrySection,
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
    queue_pairs: Option<Spanned<u16>>,
    /// The largest transfer as a power of two of 4 KiB pages.
    #[schemars(with = "Option<u8>", range(min = 1, max = TRANSFER_PAGES_SHIFT_MAX))]
    transfer_pages_shift: Option<Spanned<u8>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NamespaceTable {
    /// A device emulated in the serving process, as on the command line: ram:1G, file:disk.img?size=1G&profile=aws-c7gd.
    #[schemars(with = "String")]
    device: Spanned<String>,
    /// The namespace identifier; the next one when left out.
    #[schemars(with = "Option<u32>", range(min = 1, max = NAMESPACES_MAX))]
    id: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MountTable {
    /// An empty directory. A relative one counts from the directory of the lab file.
    path: PathBuf,
    /// Whether users other than the server's may use it.
    #[serde(default)]
    allow_other: bool,
    /// Threads that take requests; two when left out.
    #[schemars(with = "Option<u8>", range(min = 1, max = crate::limits::MOUNT_THREADS_MAX))]
    threads: Option<Spanned<usize>>,
}

/// What other programs may read while the drive is served (docs/telemetry.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySection {
    /// The file of version 1, 64 bytes; /tmp/dataplane_telemetry.bin when left out. "none": no file.
    pub v1: Option<PathBuf>,
    /// The file of version 2, a page with a sequence lock; /dev/shm/dataplane_telemetry when left out. "none": no file.
    pub v2: Option<PathBuf>,
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
    /// What is wrong with it, with the line, the key and what is allowed.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let file: File = toml::from_str(text).map_err(|error| LabError::of_toml(&error))?;
        if *file.version.get_ref() != VERSION {
            return Err(LabError::at(
                text,
                file.version.span(),
                "version",
                format!("it is {}", file.version.get_ref()),
                format!("{VERSION}, the version of the format that this program reads"),
            ));
        }
        let mut lab = Self {
            controller: file.controller.section(text)?,
            mount: mount(text, file.mount)?,
            telemetry: file.telemetry,
            ..Self::empty()
        };
        for section in file.namespace {
            section.add_to(&mut lab, text)?;
        }
        if lab.namespaces.is_empty() {
            return Err(LabError::whole(
                "namespace",
                "there is none".into(),
                "at least one [[namespace]] with a device".into(),
            ));
        }
        Ok(lab)
    }
}

impl ControllerTable {
    fn section(self, text: &str) -> Result<ControllerSection, LabError> {
        let words = |key, value: Option<Spanned<String>>, bytes_max: usize| {
            let Some(value) = value else {
                return Ok(None);
            };
            let printable = value
                .get_ref()
                .bytes()
                .all(|byte| (0x20..0x7f).contains(&byte));
            if value.get_ref().len() > bytes_max || !printable {
                let problem = format!("it is {:?}", value.get_ref());
                let allowed = format!("at most {bytes_max} printable ASCII characters");
                return Err(LabError::at(text, value.span(), key, problem, allowed));
            }
            Ok(Some(value.into_inner()))
        };
        Ok(ControllerSection {
            serial: words("controller.serial", self.serial, 20)?,
            model: words("controller.model", self.model, 40)?,
            queue_pairs: number(
                text,
                "controller.queue_pairs",
                self.queue_pairs,
                QUEUE_PAIRS_MAX,
            )?,
            transfer_pages_shift: number(
                text,
                "controller.transfer_pages_shift",
                self.transfer_pages_shift,
                TRANSFER_PAGES_SHIFT_MAX,
            )?,
        })
    }
}

/// A number from 1 to `most`, if there is one.
fn number<N>(
    text: &str,
    key: &'static str,
    value: Option<Spanned<N>>,
    most: N,
) -> Result<Option<N>, LabError>
where
    N: Copy + PartialOrd + From<u8> + core::fmt::Display,
{
    let Some(value) = value else {
        return Ok(None);
    };
    let found = *value.get_ref();
    if !(N::from(1)..=most).contains(&found) {
        let problem = format!("it is {found}");
        let allowed = format!("1 to {most}");
        return Err(LabError::at(text, value.span(), key, problem, allowed));
    }
    Ok(Some(found))
}

/// The one mount, if there is one.
fn mount(text: &str, mounts: Vec<Spanned<MountTable>>) -> Result<Option<MountSection>, LabError> {
    if let Some(second) = mounts.get(1) {
        return Err(LabError::at(
            text,
            second.span(),
            "mount",
            format!("there are {}", mounts.len()),
            "one [[mount]]: a queue pair has one owner".into(),
        ));
    }
    let Some(mount) = mounts.into_iter().next() else {
        return Ok(None);
    };
    let table = mount.into_inner();
    if let Some(threads) = &table.threads {
        check_threads(*threads.get_ref()).map_err(|allowed| {
            let problem = format!("it is {}", threads.get_ref());
            LabError::at(text, threads.span(), "mount.threads", problem, allowed)
        })?;
    }
    Ok(Some(MountSection {
        path: table.path,
        allow_other: table.allow_other,
        threads: table.threads.map(Spanned::into_inner),
    }))
}

impl NamespaceTable {
    fn add_to(self, lab: &mut Lab, text: &str) -> Result<(), LabError> {
        let device = self.device(text)?;
        let id = self.id.as_ref().map(|id| *id.get_ref());
        lab.add(device, id).map_err(|problem| {
            let (span, key) = match &self.id {
                Some(id) => (id.span(), "namespace.id"),
                None => (self.device.span(), "namespace.device"),
            };
            let allowed = format!(
                "identifiers 1 to {NAMESPACES_MAX}, each once, and files of one namespace each"
            );
            LabError::at(text, span, key, problem, allowed)
        })
    }

    fn device(&self, text: &str) -> Result<Emulated, LabError> {
        let refuse = |problem: String, allowed: String| {
            LabError::at(
                text,
                self.device.span(),
                "namespace.device",
                problem,
                allowed,
            )
        };
        let allowed =
            "a device emulated in this process: ram:SIZE, null:SIZE, file:PATH, with options";
        let device = match Uri::parse(self.device.get_ref()) {
            Ok(Uri::Emulated(device)) => device,
            Ok(other) => {
                return Err(refuse(
                    format!("{other} is a device elsewhere"),
                    allowed.into(),
                ));
            }
            Err(error) => return Err(refuse(error.to_string(), allowed.into())),
        };
        if let Profile::Named(name) = &device.profile
            && TimingProfile::named(name).is_none()
        {
            let names: Vec<&str> = TimingProfile::names().collect();
            return Err(refuse(
                format!("there is no profile {name:?}"),
                format!(
                    "{}, or a path that holds '/' or ends in .toml",
                    names.join(", ")
                ),
            ));
        }
        Ok(device)
    }
}
