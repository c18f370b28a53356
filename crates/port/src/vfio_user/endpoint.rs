//! An endpoint: a socket on which one client at a time has the drive.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use controller::{Config, ConfigError, Controller, NamespaceConfig};
use mem::{Backing, IovaMap, Region, RegionError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use spec::nvme::register::{self, ShutdownStatus};
use spec::nvme::{Configuration, ControllerStatus};

use super::function::Function;
use super::session;
use super::worker::{Activity, Clock, Gone, Waiting, Worker};
use crate::limits::{BACKLOG, BAR0_BYTES, DOORBELL_BYTES, DOORBELLS, SHUTDOWN};

/// The file that SPDK's client looks for in the directory that it is given.
const SOCKET_NAME: &str = "cntrl";

/// What an endpoint is made of.
#[derive(Debug)]
pub struct Options {
    /// How the controller presents itself.
    pub config: Config,
    /// Its namespaces.
    pub namespaces: Vec<NamespaceConfig>,
    /// How the thread of the queues waits.
    pub waiting: Waiting,
    /// The time since a start that never changes.
    pub clock: Clock,
}

/// Why an endpoint could not be opened, or ended other than it should.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The controller's configuration is wrong.
    #[error("controller configuration: {0}")]
    Config(#[from] ConfigError),
    /// No memory for BAR0.
    #[error("BAR0: {0}")]
    Memory(#[from] RegionError),
    /// Somebody listens there.
    #[error("{}: wanted to listen, found that somebody does already; stop that first, or choose another path", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// There is something else than a socket.
    #[error("{}: wanted a directory, a socket or nothing, found {found}; choose another path", path.display())]
    Kind {
        /// What was named.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The system refused.
    #[error("{}: wanted to {doing}, found: {found}", path.display())]
    System {
        /// The socket.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The system's answer.
        found: io::Error,
    },
    /// Media did not answer to the last flush.
    #[error("media have not confirmed the last flush for {} s; what no host flushed may be lost", SHUTDOWN.as_secs())]
    NotFlushed,
    /// The thread of the queues panicked, which was reported when it happened.
    #[error("the controller's thread has ended")]
    Gone,
}

impl From<Gone> for EndpointError {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// A served drive. Its controller keeps its state from client to client, but for what a function reset clears.
#[derive(Debug)]
pub struct Endpoint {
    path: PathBuf,
    clock: Clock,
    worker: Worker,
    /// Gives back the write end's fate: dropping it ends the thread of the socket.
    stop: Option<OwnedFd>,
    acceptor: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Makes the drive and listens: at `path` if that is a socket's name, at `path/cntrl` if it is a directory.
    ///
    /// The socket has mode 0600. What a dead process left there is replaced.
    ///
    /// # Errors
    /// [`EndpointError`]. Nothing is left behind then.
    ///
    /// # Panics
    /// Never: the doorbells lie in BAR0.
    pub fn open(path: &Path, options: Options) -> Result<Self, EndpointError> {
        let path = socket_path(path)?;
        let bar0 = Region::allocate(BAR0_BYTES as usize, Backing::Memfd)?;
        let doorbells = bar0
            .window(DOORBELLS as usize, DOORBELL_BYTES as usize)
            .expect("the doorbells lie in BAR0");
        let vendor_id = options.config.vendor_id;
        let table = IovaMap::new().table();
        let controller = Controller::new(options.config, options.namespaces, table, doorbells)?;
        let system = |doing| {
            let path = path.clone();
            move |found| EndpointError::System { path, doing, found }
        };
        let listener = listen(&path)?;
        let worker = Worker::start(controller, options.clock, options.waiting)
            .map_err(system("start the controller's thread"))?;
        let (wake, stop) =
            rustix::pipe::pipe().map_err(|errno| system("make a pipe")(errno.into()))?;
        let mailbox = worker.mailbox();
        let acceptor = std::thread::Builder::new()
            .name("vfio-user".into())
            .spawn(move || {
                let function = Function::new(mailbox, bar0, vendor_id);
                accept(&listener, &wake, function);
            })
            .map_err(system("start the socket's thread"))?;
        Ok(Self {
            path,
            clock: options.clock,
            worker,
            stop: Some(stop),
            acceptor: Some(acceptor),
        })
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the thread of the queues has done.
    ///
    /// # Errors
    /// [`EndpointError::Gone`].
    pub fn activity(&self) -> Result<Activity, EndpointError> {
        Ok(self.worker.mailbox().ask(|served| served.activity)?)
    }

    /// Looks at the controller on its own thread, between two turns.
    ///
    /// # Errors
    /// [`EndpointError::Gone`].
    pub fn with_controller<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Controller) -> T + Send + 'static,
    ) -> Result<T, EndpointError> {
        Ok(self
            .worker
            .mailbox()
            .ask(|served| look(&served.controller))?)
    }

    /// Sends a client away that there may be, takes the socket away, has every namespace flushed, and gives the controller back.
    ///
    /// # Errors
    /// [`EndpointError::Gone`], [`EndpointError::NotFlushed`].
    pub fn close(mut self) -> Result<Controller, EndpointError> {
        drop(self.stop.take());
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join(); // its panic was reported when it happened
        }
        let _ = fs::remove_file(&self.path); // somebody may have taken it away before
        let mut controller = self.worker.stop()?.controller;
        shut_down(&mut controller, self.clock)?;
        Ok(controller)
    }
}

/// A normal shutdown, as CC.SHN has it.
const SHN_NORMAL: u8 = 0b01;

/// The orderly end that a host would have asked for [NVMe Base 2.0 §3.6.1].
fn shut_down(controller: &mut Controller, clock: Clock) -> Result<(), EndpointError> {
    let asked = Configuration::default().with_shn(SHN_NORMAL);
    controller.write_register(register::CC, 4, asked.bits().into());
    let begun = clock();
    loop {
        let now = clock();
        controller.tick(now);
        let status = controller.read_register(register::CSTS, 4) as u32;
        if ControllerStatus::from_bits(status).shutdown() == ShutdownStatus::Complete {
            return Ok(());
        }
        if now.saturating_sub(begun) > SHUTDOWN {
            return Err(EndpointError::NotFlushed);
        }
    }
}

/// Looks whether a drive could be served at this path, without making anything.
///
/// # Errors
/// [`EndpointError::Kind`] or [`EndpointError::InUse`].
pub fn check_path(path: &Path) -> Result<(), EndpointError> {
    let path = socket_path(path)?;
    match UnixStream::connect(&path) {
        Ok(_) => Err(EndpointError::InUse { path }),
        Err(_) => Ok(()),
    }
}

/// Where to listen.
fn socket_path(path: &Path) -> Result<PathBuf, EndpointError> {
    let kind = |found| EndpointError::Kind {
        path: path.to_owned(),
        found,
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(path.join(SOCKET_NAME)),
        Ok(metadata) if metadata.file_type().is_socket() => Ok(path.to_owned()),
        Ok(metadata) if metadata.is_file() => Err(kind("a file")),
        Ok(_) => Err(kind("something else")),
        Err(_) => Ok(path.to_owned()),
    }
}

fn listen(path: &Path) -> Result<UnixListener, EndpointError> {
    let system = |doing| {
        move |found: rustix::io::Errno| EndpointError::System {
            path: path.to_owned(),
            doing,
            found: found.into(),
        }
    };
    match UnixStream::connect(path) {
        Ok(_) => {
            return Err(EndpointError::InUse {
                path: path.to_owned(),
            });
        }
        // Nobody listens: a process that died left it there.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _ = fs::remove_file(path); // the next step says what is wrong
        }
        Err(_) => {}
    }
    let address = SocketAddrUnix::new(path).map_err(system("name a socket"))?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(system("make a socket"))?;
    rustix::net::bind(&socket, &address).map_err(system("make a socket there"))?;
    // Before anybody can connect, since nobody listens yet.
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|found| {
        EndpointError::System {
            path: path.to_owned(),
            doing: "keep others away from it",
            found,
        }
    })?;
    rustix::net::listen(&socket, BACKLOG).map_err(system("listen"))?;
    Ok(socket.into())
}

/// One client after the other, until `wake` is hung up.
fn accept(listener: &UnixListener, wake: &OwnedFd, mut function: Function) {
    loop {
        let mut polled = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => {
                tracing::error!("waiting for clients: {error}");
                return;
            }
            Ok(_) => {}
        }
        if !polled[1].revents().is_empty() {
            return;
        }
        let Ok((socket, _)) = listener.accept() else {
            continue; // it went away again
        };
        tracing::info!("a client came");
        match session::serve(socket, wake, &mut function) {
            Ok(session::End::Stopped) => return,
            Ok(session::End::Left) => tracing::info!("the client left"),
            Err(error) => tracing::warn!("the client was sent away: {error}"),
        }
        if function.forget_client().is_err() {
            return;
        }
    }
}
