//! A mounted drive: its beginning, the wait, its end.

use core::fmt;
use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use bridge::fuse::{Mount, MountOptions};
use controller::{Controller, Counters};
use driver::{Device, Link};
use local::{Inline, Threaded};
use media::MediaCounts;
use tracing::info;

use super::signals::Signals;
use super::{Announce, Service, point};
use crate::clock;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::size::Size;
use crate::telemetry::{self, Counts, Telemetry};

/// A file of the mount.
#[derive(Clone, Debug)]
pub(crate) struct ServedFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its size.
    pub(crate) bytes: u64,
    /// The URI of what is behind it.
    pub(crate) device: String,
}

/// Everything that was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    controller: Counters,
    media: MediaCounts,
}

impl Counted {
    pub(super) fn of(controller: &Controller) -> Self {
        Self {
            controller: *controller.counters(),
            media: controller.media_counts(),
        }
    }
}

/// A link whose controller can be asked what it counted.
pub(super) trait Counting: Link + Send + fmt::Debug + 'static {
    /// What was counted; nothing if the controller's thread is gone.
    fn counted(&mut self) -> Option<Counted>;
}

impl Counting for Inline {
    fn counted(&mut self) -> Option<Counted> {
        Some(Counted::of(self.controller()))
    }
}

impl Counting for Threaded {
    fn counted(&mut self) -> Option<Counted> {
        self.with_controller(|controller| Counted::of(controller))
            .ok()
    }
}

/// A drive that is being served.
pub(super) struct Session<'s, L: Link + Send + fmt::Debug + 'static> {
    service: &'s Service,
    mount: Mount<L>,
    files: Vec<ServedFile>,
}

/// Whether something can be mounted there, as far as that can be told before media are opened, and files made.
pub(super) fn check_point(point: &Path) -> Result<(), Failure> {
    if point::look(point) == point::Point::Served {
        return Err(Failure::environment(anyhow!(
            "mount point {} is in use: another dataplane-emu serves there; end it, or take another directory",
            point.display()
        )));
    }
    let refuse = |found: &str| {
        Failure::environment(anyhow!(
            "mount point {}: {found}; wanted an empty directory; mkdir -p makes one",
            point.display()
        ))
    };
    let mut entries = std::fs::read_dir(point).map_err(|error| refuse(&error.to_string()))?;
    match entries.next() {
        Some(_) => Err(refuse("is not empty")),
        None => Ok(()),
    }
}

impl<'s, L: Counting> Session<'s, L> {
    /// Mounts the device.
    pub(super) fn begin(service: &'s Service, device: Device<L>) -> Result<Self, Failure> {
        let standard = MountOptions::default();
        let options = MountOptions {
            threads: service.mount.threads.unwrap_or(standard.threads),
            allow_other: service.mount.allow_other,
            ..standard
        };
        let sizes: Vec<u64> = device
            .namespaces()
            .iter()
            .map(|namespace| namespace.blocks.get() * u64::from(namespace.block_bytes()))
            .collect();
        let mount = Mount::start(device, &service.mount.path, &options)
            .map_err(|error| Failure::environment(anyhow!(one_line(&error.to_string()))))?;
        let files = devices(&service.lab)
            .zip(sizes)
            .enumerate()
            .map(|(index, (device, bytes))| ServedFile {
                path: mount.point().join(format!("nvme_raw_{index}")),
                bytes,
                device,
            })
            .collect();
        Ok(Self {
            service,
            mount,
            files,
        })
    }

    /// Says that the files are there, waits for a reason to end, and ends.
    pub(super) fn hold(
        self,
        announce: Announce<'_>,
        signals: &Signals,
        out: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        let begun = clock::now();
        let mut telemetry = Telemetry::start(&self.service.lab.telemetry);
        // Whoever waits for these lines is gone when they cannot be written; then nobody needs the drive.
        announce(out, &self.files)?;
        let reason = loop {
            if let Some(signal) = signals.wait(telemetry::PERIOD) {
                break signal;
            }
            if self.mount.is_over() {
                break "somebody else's unmount";
            }
            if !telemetry.is_off() {
                telemetry.update(&self.counted().telemetry());
            }
            if self.is_late(begun) {
                break "the end of --duration";
            }
        };
        info!(reason, "ending");
        self.end(telemetry, out)
    }

    fn is_late(&self, begun: Duration) -> bool {
        let end = self.service.duration;
        end.is_some_and(|duration| clock::now().saturating_sub(begun) >= duration)
    }

    fn counted(&self) -> Counted {
        let ask = |engine: &mut bridge::engine::Engine<L>| engine.device_mut().link_mut().counted();
        self.mount.with_engine(ask).unwrap_or_default()
    }

    /// Unmounts, has everything made durable, and says what was counted.
    fn end(self, telemetry: Telemetry, out: &mut dyn Write) -> Result<Exit, Failure> {
        let files = self.files.len() as u64;
        let before = self.counted();
        let ended = part(self.mount);
        let (counted, last_flushes) = match &ended {
            Ok(after) => (*after, files),
            // The device is lost; what it counted until then is not.
            Err(_) => (before, 0),
        };
        telemetry.finish(&counted.telemetry());
        let printed = print(&counted, last_flushes, out);
        ended?;
        printed?;
        Ok(Exit::Pass)
    }
}

/// Takes the mount away and shuts the device down.
fn part<L: Counting>(mount: Mount<L>) -> Result<Counted, Failure> {
    let device = mount
        .unmount()
        .map_err(|error| Failure::Short(error.into()))?;
    let mut link = device
        .shutdown()
        .context("wanted to shut the controller down; what no fsync confirmed may be lost")
        .map_err(Failure::Short)?;
    Ok(link.counted().unwrap_or_default())
}

impl Counted {
    pub(super) fn telemetry(&self) -> Counts {
        Counts::of(&self.controller, &self.media)
    }
}

/// Prints what was counted. Of the flushes, the last ones are our own: one for each namespace when the mount ended.
pub(super) fn print(
    counted: &Counted,
    last_flushes: u64,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let Counted { controller, media } = counted;
    writeln!(
        out,
        "commands {}: reads {} ({} bytes), writes {} ({} bytes), flushes {} and {last_flushes} at the end; refused {}",
        controller.commands,
        controller.reads,
        controller.read_bytes,
        controller.writes,
        controller.written_bytes,
        controller.flushes.saturating_sub(last_flushes),
        controller.refused,
    )?;
    writeln!(
        out,
        "media: reads of blocks never written {}, faults injected {}, failures of the machine {}, syncs {}",
        media.unwritten_reads, media.faults, media.failures, media.syncs,
    )?;
    out.flush()
}

/// What was said in several lines, in one: fusermount3 ends its own with a line break.
fn one_line(text: &str) -> String {
    let parts: Vec<&str> = text.lines().map(str::trim).collect();
    parts.join(" ").replace(" ;", ";")
}

/// The device behind each file, in order.
pub(crate) fn devices(lab: &Lab) -> impl Iterator<Item = String> {
    lab.namespaces.iter().flat_map(|line| {
        let count = line.device.namespaces as usize;
        std::iter::repeat_n(line.device.to_string(), count)
    })
}

/// A size for people: 1 GiB, 512 B.
pub(crate) fn human(bytes: u64) -> String {
    let text = Size(bytes).to_string();
    match text.strip_suffix(|letter: char| letter.is_ascii_uppercase()) {
        Some(number) => format!("{number} {}iB", &text[number.len()..]),
        None => format!("{text} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_fusermount_is_one_line() {
        let said = "mounting on mnt failed: fusermount3: not allowed\n; it needs root";
        let wanted = "mounting on mnt failed: fusermount3: not allowed; it needs root";
        assert_eq!(one_line(said), wanted);
    }
}
