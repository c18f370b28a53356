//! What keeps the blocks of a device, with everything that its options put in front.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use media::fault::{FaultyMedia, Script};
use media::file::{Direct, FileOptions};
use media::log::{Format, LoggedMedia, Writer};
use media::timing::{Profile as TimingProfile, TimedMedia};
use media::{FileMedia, Media, NullMedia, RamMedia};
use spec::BlockCount;

use crate::failure::Failure;
use crate::files::{self, Fresh};
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

/// Opens the media of every namespace of some devices. From the host's side: log, faults, timing, blocks; so the log says
/// what the host was told, and a fault may be slow as well.
///
/// What can be wrong without opening anything comes first, what empties a file (a log) last. Files that were made are noted.
pub(crate) fn open_media(
    devices: &[&Emulated],
    fresh: &mut Fresh,
) -> Result<Vec<Vec<Opened>>, Failure> {
    let mut plans = Vec::new();
    for &device in devices {
        plans.push((device, profile(device)?, script(device)?));
        namespace_bytes(device)?;
    }
    let mut all = Vec::new();
    for (device, profile, script) in &plans {
        let mut namespaces = Vec::new();
        for number in 0..device.namespaces {
            let mut opened = keeper(device, fresh)?;
            // Namespaces differ in what is left to chance, as drives of one make do.
            let seed = device.seed.wrapping_add(number.into());
            if let Some(profile) = profile {
                opened.media = Box::new(TimedMedia::new(opened.media, profile, seed));
            }
            if let Some(script) = script {
                let faulty = FaultyMedia::new(opened.media, script.clone(), seed ^ script.seed())
                    .with_context(|| format!("wanted {device} with its faults"))
                    .map_err(Failure::environment)?;
                opened.media = Box::new(faulty);
            }
            namespaces.push(opened);
        }
        all.push(namespaces);
    }
    let mut logged = Vec::new();
    for (&device, namespaces) in devices.iter().zip(all) {
        let mut logs = logs(device).into_iter();
        let mut with_log = |opened: Opened| {
            let media = match logs.next() {
                Some(path) => log_to(opened.media, &path, fresh)?,
                None => opened.media,
            };
            Ok(Opened { media, ..opened })
        };
        let namespaces: Result<Vec<Opened>, Failure> =
            namespaces.into_iter().map(&mut with_log).collect();
        logged.push(namespaces?);
    }
    Ok(logged)
}

/// Bytes of one namespace of a device. Nothing is made, opened for writing or changed for that.
pub(crate) fn namespace_bytes(device: &Emulated) -> Result<u64, Failure> {
    match &device.keeps {
        Keeps::Ram { bytes, .. } | Keeps::Null(bytes) => Ok(*bytes),
        Keeps::File { path, .. } => file_options(device)
            .look(path)
            .with_context(|| format!("wanted {device}"))
            .map_err(Failure::environment),
    }
}

/// The logs that a device writes, one for each namespace. Of several, each has the name, a dot, the number of its namespace.
pub(crate) fn logs(device: &Emulated) -> Vec<PathBuf> {
    let Some(path) = &device.log else {
        return Vec::new();
    };
    if device.namespaces == 1 {
        return vec![path.clone()];
    }
    let numbered = |number| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    (1..=device.namespaces).map(numbered).collect()
}

fn file_options(device: &Emulated) -> FileOptions {
    let (size, direct) = match &device.keeps {
        Keeps::File { size, direct, .. } => (*size, *direct),
        Keeps::Ram { .. } | Keeps::Null(_) => (None, Direct::Auto),
    };
    FileOptions {
        block_size: device.block_size,
        size,
        direct,
    }
}

/// The medium that keeps the blocks of one namespace.
fn keeper(device: &Emulated, fresh: &mut Fresh) -> Result<Opened, Failure> {
    let blocks = |bytes: u64| BlockCount::new(bytes / device.block_size.bytes());
    let mut remarks = Vec::new();
    let media: Box<dyn Media> = match &device.keeps {
        Keeps::Null(bytes) => Box::new(NullMedia::new(blocks(*bytes), device.block_size)),
        Keeps::Ram { bytes, memory } => Box::new(
            RamMedia::new(blocks(*bytes), device.block_size, *memory)
                .with_context(|| format!("wanted {device}"))
                .map_err(Failure::environment)?,
        ),
        Keeps::File { path, .. } => {
            let file = FileMedia::open(path, file_options(device))
                .with_context(|| format!("wanted {device}"))
                .map_err(Failure::environment)?;
            if file.was_made() {
                fresh.add(path);
            }
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
    files::text(path, limits::LAB_FILE_BYTES_MAX)
        .map_err(|unreadable| unreadable.failure(path, what))
}

/// Puts a log in front of a medium: a new file, or one that is emptied for it.
fn log_to(
    inner: Box<dyn Media>,
    path: &Path,
    fresh: &mut Fresh,
) -> Result<Box<dyn Media>, Failure> {
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
    let file = match File::create_new(path) {
        Ok(file) => {
            fresh.add(path);
            file
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            File::create(path).map_err(unwritable)?
        }
        Err(error) => return Err(unwritable(error)),
    };
    let mut writer =
        Writer::new(BufWriter::new(file), format, inner.block_size()).map_err(unwritable)?;
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
