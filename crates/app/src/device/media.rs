//! What keeps the blocks of a device, with everything that its options put in front.

use std::fs::File;
use std::io::{BufWriter, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use media::fault::{FaultyMedia, Script};
use media::file::FileOptions;
use media::log::{Format, LoggedMedia, Writer};
use media::timing::{Profile as TimingProfile, TimedMedia};
use media::{FileMedia, Media, NullMedia, RamMedia};
use spec::BlockCount;

use crate::failure::Failure;
use crate::limits;
use crate::uri::{Emulated, Keeps, Profile};

/// The media of one namespace, opened.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The media, wrappers and all.
    pub(crate) media: Box<dyn Media>,
    /// What a user should know of them, such as that a file goes through the page cache.
    pub(crate) remarks: Vec<String>,
}

/// Opens the media of every namespace of a device. From the host's side: log, faults, timing, blocks; so the log says
/// what the host was told, and a fault may be slow as well.
pub(crate) fn open_media(device: &Emulated) -> Result<Vec<Opened>, Failure> {
    let profile = profile(device)?;
    let script = script(device)?;
    let mut all = Vec::new();
    for number in 0..device.namespaces {
        let mut opened = keeper(device)?;
        // Namespaces differ in what is left to chance, as drives of one make do.
        let seed = device.seed.wrapping_add(number.into());
        if let Some(profile) = &profile {
            opened.media = Box::new(TimedMedia::new(opened.media, profile, seed));
        }
        if let Some(script) = &script {
            let faulty = FaultyMedia::new(opened.media, script.clone(), seed ^ script.seed())
                .with_context(|| format!("wanted {device} with its faults"))
                .map_err(Failure::environment)?;
            opened.media = Box::new(faulty);
        }
        if let Some(path) = &device.log {
            opened.media = logged(opened.media, &numbered(path, number, device.namespaces))?;
        }
        all.push(opened);
    }
    Ok(all)
}

/// The medium that keeps the blocks of one namespace.
fn keeper(device: &Emulated) -> Result<Opened, Failure> {
    let blocks = |bytes: u64| BlockCount::new(bytes / device.block_size.bytes());
    let mut remarks = Vec::new();
    let media: Box<dyn Media> = match &device.keeps {
        Keeps::Null(bytes) => Box::new(NullMedia::new(blocks(*bytes), device.block_size)),
        Keeps::Ram { bytes, memory } => Box::new(
            RamMedia::new(blocks(*bytes), device.block_size, *memory)
                .with_context(|| format!("wanted {device}"))
                .map_err(Failure::environment)?,
        ),
        Keeps::File { path, size, direct } => {
            let options = FileOptions {
                block_size: device.block_size,
                size: *size,
                direct: *direct,
            };
            let file = FileMedia::open(path, options)
                .with_context(|| format!("wanted {device}"))
                .map_err(Failure::environment)?;
            if !file.is_direct() {
                remarks.push(format!(
                    "{} goes through the page cache: its figures are the cache's, not the disk's",
                    path.display()
                ));
            }
            Box::new(file)
        }
    };
    Ok(Opened { media, remarks })
}

/// The timing profile of a device; `None` is no time at all.
pub(crate) fn profile(device: &Emulated) -> Result<Option<TimingProfile>, Failure> {
    let profile = match &device.profile {
        Profile::Instant => return Ok(None),
        Profile::Named(name) => TimingProfile::named(name).ok_or_else(|| {
            let names: Vec<&str> = TimingProfile::names().collect();
            Failure::usage(anyhow!(
                "option profile: value {name:?} is not possible; allowed: {}, or a path that holds '/' or ends in .toml",
                names.join(", ")
            ))
        })?,
        Profile::File(path) => {
            let text = text(path, "a timing profile")?;
            TimingProfile::from_toml(&text)
                .with_context(|| path.display().to_string())
                .map_err(Failure::Usage)?
        }
    };
    Ok((!profile.is_instant()).then_some(profile))
}

fn script(device: &Emulated) -> Result<Option<Script>, Failure> {
    let Some(path) = &device.fault else {
        return Ok(None);
    };
    let text = text(path, "a script of faults")?;
    let script = Script::from_toml(&text)
        .with_context(|| path.display().to_string())
        .map_err(Failure::Usage)?;
    Ok(Some(script))
}

/// The text of a file of bounded length.
fn text(path: &Path, what: &str) -> Result<String, Failure> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        let mut file = File::open(path)?.take(limits::LAB_FILE_BYTES_MAX + 1);
        file.read_to_string(&mut text)?;
        if text.len() as u64 > limits::LAB_FILE_BYTES_MAX {
            let most = limits::LAB_FILE_BYTES_MAX;
            return Err(std::io::Error::other(format!("more than {most} bytes")));
        }
        Ok(text)
    };
    read()
        .map_err(|error| anyhow!("{}: wanted {what}, found: {error}", path.display()))
        .map_err(Failure::Environment)
}

/// Several namespaces write to several files: the name, a dot, the number of the namespace.
fn numbered(path: &Path, number: u32, namespaces: u32) -> PathBuf {
    if namespaces == 1 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", number + 1));
    PathBuf::from(name)
}

fn logged(inner: Box<dyn Media>, path: &Path) -> Result<Box<dyn Media>, Failure> {
    let unwritable = |error: std::io::Error| {
        Failure::environment(anyhow!(
            "{}: wanted to write a log of requests, found: {error}",
            path.display()
        ))
    };
    let format = match path.extension().and_then(|name| name.to_str()) {
        Some("iolog") => Format::Iolog {
            file: "nvme_raw_0".into(),
        },
        Some("json" | "jsonl") => Format::Json,
        _ => Format::Text,
    };
    let file = BufWriter::new(File::create(path).map_err(unwritable)?);
    let mut writer = Writer::new(file, format, inner.block_size()).map_err(unwritable)?;
    let mut broken = false;
    let name = path.to_owned();
    let sink = move |record: &media::log::Record| {
        if let Err(error) = writer.write(record)
            && !core::mem::replace(&mut broken, true)
        {
            tracing::error!("{}: the log of requests ends here: {error}", name.display());
        }
    };
    Ok(Box::new(LoggedMedia::new(inner, Box::new(sink))))
}
