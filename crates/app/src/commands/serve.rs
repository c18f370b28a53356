//! `serve`: a drive that other programs use, until somebody ends it.

mod arguments;
pub(crate) mod logging;
pub(crate) mod point;
mod session;
mod signals;
mod socket;

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::Write;

use anyhow::{Context as _, anyhow};
use tracing::warn;

use crate::device;
use crate::failure::{Exit, Failure};
use crate::files::{Fresh, Uses};
use crate::lab::{Lab, MountSection};
use crate::uri::Placement;

pub(crate) use arguments::ServeArguments;
use session::Session;
pub(crate) use session::{ServedFile, human};
use signals::Signals;
use socket::{SocketDoor, SocketSession};

/// What is served, and for how long.
#[derive(Debug)]
pub(crate) struct Service {
    /// The drive.
    pub(crate) lab: Lab,
    /// Where it appears.
    pub(crate) mount: MountSection,
    /// Where its controller runs.
    pub(crate) placement: Placement,
    /// When it ends by itself.
    pub(crate) duration: Option<Duration>,
}

/// What is said when the files are there.
pub(crate) type Announce<'a> =
    &'a mut dyn FnMut(&mut dyn Write, &[ServedFile]) -> std::io::Result<()>;

/// Serves what the arguments name.
pub(crate) fn run(arguments: &ServeArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    logging::start(arguments.verbose);
    let mut ready = arguments.ready_fd.map(descriptor).transpose()?;
    let lab = arguments.lab()?;
    let door = arguments.socket(&lab)?;
    let mut announce = |out: &mut dyn Write, files: &[ServedFile]| {
        let line = |file: &ServedFile| {
            format!(
                "{} {} {}",
                file.path.display(),
                human(file.bytes),
                file.device
            )
        };
        let lines: Vec<String> = files.iter().map(line).collect();
        writeln!(out, "ready: {}", lines.join("; "))?;
        out.flush()?;
        match ready.take() {
            Some(mut file) => file.write_all(b"ready\n"),
            None => Ok(()),
        }
    };
    if let Some(door) = door {
        return serve_socket(&lab, arguments.duration, &door, &mut announce, out);
    }
    let Some(mount) = lab.mount.clone() else {
        return Err(Failure::usage(anyhow!(
            "no door: --mount DIR, or --vfio-user PATH"
        )));
    };
    let service = Service {
        placement: arguments.placement(&lab),
        mount,
        lab,
        duration: arguments.duration,
    };
    serve(&service, &mut announce, out)
}

/// Serves on a socket until a signal or the end of the time.
fn serve_socket(
    lab: &Lab,
    duration: Option<Duration>,
    door: &SocketDoor,
    announce: Announce<'_>,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let signals = listen()?;
    Uses::of_lab(lab).check()?;
    socket::check(&door.path)?;
    let mut fresh = Fresh::default();
    let (blueprint, remarks) = device::blueprint_of(lab, &mut fresh)?;
    for remark in remarks {
        warn!("{remark}");
    }
    let session = SocketSession::begin(lab, duration, door, blueprint)?;
    fresh.keep();
    session.hold(announce, &signals, out)
}

fn listen() -> Result<Signals, Failure> {
    Signals::listen()
        .context("wanted to listen to SIGINT, SIGTERM and SIGHUP")
        .map_err(Failure::environment)
}

/// Serves until a signal, somebody's unmount, or the end of the time.
pub(crate) fn serve(
    service: &Service,
    announce: Announce<'_>,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let signals = listen()?;
    Uses::of_lab(&service.lab).check()?;
    point::clean(&service.mount.path)?;
    session::check_point(&service.mount.path)?;
    let mut fresh = Fresh::default();
    let (blueprint, remarks) = device::blueprint_of(&service.lab, &mut fresh)?;
    for remark in remarks {
        warn!("{remark}");
    }
    match service.placement {
        Placement::Inline => {
            let device = device::bring_up_inline(blueprint)?;
            let session = Session::begin(service, device)?;
            fresh.keep();
            session.hold(announce, &signals, out)
        }
        Placement::Thread => {
            let device = device::bring_up_threaded(blueprint)?;
            let session = Session::begin(service, device)?;
            fresh.keep();
            session.hold(announce, &signals, out)
        }
    }
}

/// A descriptor that our caller has left open for us. The name under /proc opens it once more, so that what the caller has stays
/// as it is.
fn descriptor(number: u32) -> Result<File, Failure> {
    OpenOptions::new()
        .append(true)
        .open(format!("/proc/self/fd/{number}"))
        .map_err(|error| {
            Failure::usage(anyhow!(
                "--ready-fd: {number} cannot be written: {error}; open a pipe, fifo or file on it, as in --ready-fd 3 3>FILE"
            ))
        })
}
