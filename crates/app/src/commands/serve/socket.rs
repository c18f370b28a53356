//! The drive on a vfio-user socket: its beginning, the wait, its end.

use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use controller::Controller;
use local::Blueprint;
use port::vfio_user::{Activity, Endpoint, Options};
use tracing::info;

use super::Announce;
use super::session::{self, Counted, ServedFile};
use super::signals::Signals;
use crate::clock;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::telemetry::{self, Telemetry};

/// How the thread of the queues waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Waiting {
    /// It sleeps while nothing happens, up to a millisecond at a time
    #[default]
    Idle,
    /// It polls, and takes a CPU
    Busy,
}

/// Where a drive is served on a socket, and how.
#[derive(Clone, Debug)]
pub(crate) struct SocketDoor {
    /// A directory, or the socket itself.
    pub(crate) path: PathBuf,
    /// How its thread waits.
    pub(crate) waiting: Waiting,
}

/// A drive on a socket.
pub(super) struct SocketSession<'l> {
    lab: &'l Lab,
    duration: Option<Duration>,
    endpoint: Endpoint,
    namespaces: Vec<ServedFile>,
}

impl<'l> SocketSession<'l> {
    /// Makes the controller and listens.
    pub(super) fn begin(
        lab: &'l Lab,
        duration: Option<Duration>,
        door: &SocketDoor,
        blueprint: Blueprint,
    ) -> Result<Self, Failure> {
        let sizes: Vec<u64> = blueprint
            .namespaces
            .iter()
            .map(|namespace| {
                let media = &namespace.media;
                media.blocks().get() * media.block_size().bytes()
            })
            .collect();
        let options = Options {
            config: blueprint.config,
            namespaces: blueprint.namespaces,
            waiting: match door.waiting {
                Waiting::Idle => port::vfio_user::Waiting::Idle,
                Waiting::Busy => port::vfio_user::Waiting::Busy,
            },
            clock: clock::now,
        };
        let endpoint = Endpoint::open(&door.path, options).map_err(Failure::environment)?;
        let namespaces = session::devices(lab)
            .zip(sizes)
            .map(|(device, bytes)| ServedFile {
                path: endpoint.path().to_owned(),
                bytes,
                device,
            })
            .collect();
        Ok(Self {
            lab,
            duration,
            endpoint,
            namespaces,
        })
    }

    /// Says that somebody can connect, waits for a reason to end, and ends.
    pub(super) fn hold(
        self,
        announce: Announce<'_>,
        signals: &Signals,
        out: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        let begun = clock::now();
        let mut telemetry = Telemetry::start(&self.lab.telemetry);
        announce(out, &self.namespaces)?;
        let reason = loop {
            if let Some(signal) = signals.wait(telemetry::PERIOD) {
                break signal;
            }
            if !telemetry.is_off() {
                telemetry.update(&self.counted()?.telemetry());
            }
            if self.is_late(begun) {
                break "the end of --duration";
            }
        };
        info!(reason, "ending");
        let activity = self.endpoint.activity().map_err(Failure::environment)?;
        let last_flushes = self.namespaces.len() as u64;
        let controller = self
            .endpoint
            .close()
            .context("wanted to flush what was served")
            .map_err(Failure::Short)?;
        let counted = Counted::of(&controller);
        telemetry.finish(&counted.telemetry());
        session::print(&counted, 0, out)?;
        print_end(&controller, activity, last_flushes, out)?;
        Ok(Exit::Pass)
    }

    fn is_late(&self, begun: Duration) -> bool {
        self.duration
            .is_some_and(|duration| clock::now().saturating_sub(begun) >= duration)
    }

    fn counted(&self) -> Result<Counted, Failure> {
        self.endpoint
            .with_controller(Counted::of)
            .map_err(Failure::environment)
    }
}

/// What the thread of the queues did with its time.
fn print_end(
    controller: &Controller,
    activity: Activity,
    flushed: u64,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(
        out,
        "controller: resets {}, namespaces flushed at the end {flushed}; turns with work {}, without {}, sleeps {}",
        controller.counters().resets,
        activity.busy_ticks,
        activity.idle_ticks,
        activity.naps,
    )?;
    out.flush()
}

/// Whether a path can be that of a socket: what is there is a directory, a socket, or nothing in a directory that is.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    port::vfio_user::check_path(path).map_err(Failure::environment)
}
