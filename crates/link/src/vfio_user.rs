//! A controller on a vfio-user socket, ours or anybody's.

use core::time::Duration;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use driver::{Link, LinkError};
use mem::{Backing, DmaBuffer, Iova, Region, RegionError, Window};
use spec::Malformed;
use spec::vfio_user::{
    Command, DeviceInfo, DmaMap, DmaMapFlags, DmaUnmap, Header, MessageKind, RegionAccess,
    RegionData, RegionInfo, SparseArea, Version, region_index, version,
};
use wire::{Stream, WireError};

use crate::limits;

/// What we say of ourselves. SPDK's target needs no more, and a longer answer than this is allowed to nobody.
const CAPABILITIES: &str = r#"{"capabilities":{"max_msg_fds":1,"max_data_xfer_size":1048576,"max_dma_maps":65535,"pgsizes":4096}}"#;

/// Where the doorbells begin in BAR0 [NVMe Base 2.0 §3.1.4].
const DOORBELLS: u64 = 0x1000;

/// Where Command is in configuration space, and its bits Memory Space and Bus Master.
const COMMAND: u64 = 4;
const COMMAND_WANTED: [u8; 2] = [0b110, 0];

/// Why an endpoint could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens.
    #[error("{}: wanted a vfio-user socket, found: {found}; is somebody serving there (dataplane-emu serve --vfio-user)?", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The system's answer.
        found: io::Error,
    },
    /// The other end does not answer as it should.
    #[error("{}: {doing}: {found}", path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// What was asked for.
        doing: Command,
        /// What came.
        found: Trouble,
    },
    /// The doorbells cannot be mapped.
    #[error("{}: wanted BAR0 with a page of doorbells that can be mapped, found {found}; serve it in a mode that maps them", path.display())]
    Doorbells {
        /// The socket.
        path: PathBuf,
        /// What BAR0 is.
        found: String,
    },
}

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The connection.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The other end hung up.
    #[error("the other end hung up")]
    HungUp,
    /// It answers something else.
    #[error("the answer is to another message")]
    Other,
    /// It refuses.
    #[error("refused: {0}")]
    Refused(io::Error),
    /// The answer cannot be read.
    #[error("the answer cannot be read: {0}")]
    Malformed(#[from] Malformed),
    /// The answer is not what was asked for.
    #[error("{0}")]
    Unexpected(String),
}

/// A link to a controller that another process serves.
#[derive(Debug)]
pub struct VfioUser {
    peer: Peer,
    doorbells: Window,
    next: u64,
    backing: Backing,
    clock: fn() -> Duration,
    spins: u32,
}

impl VfioUser {
    /// Connects to a socket, or to the socket `cntrl` in a directory, and maps the doorbells.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(path: &Path, clock: fn() -> Duration) -> Result<Self, ConnectError> {
        let path = if path.is_dir() {
            path.join("cntrl")
        } else {
            path.to_owned()
        };
        let failed = |found| ConnectError::Connect {
            path: path.clone(),
            found,
        };
        let socket = UnixStream::connect(&path).map_err(failed)?;
        let stream = Stream::new(socket);
        stream.set_timeout(Some(limits::ANSWER)).map_err(failed)?;
        let mut peer = Peer { stream, next_id: 0 };
        let answer = |doing| {
            let path = path.clone();
            move |found| ConnectError::Answer { path, doing, found }
        };
        peer.agree().map_err(answer(Command::Version))?;
        let info = DeviceInfo {
            argsz: DeviceInfo::BYTES as u32,
            ..DeviceInfo::default()
        };
        let doing = Command::DeviceGetInfo;
        let found = peer
            .ask(doing, &info.to_bytes(), &[])
            .map_err(answer(doing))?;
        DeviceInfo::parse(&found.payload).map_err(|found| answer(doing)(found.into()))?;
        let doorbells = peer.doorbells(&path)?;
        peer.write_region(region_index::CONFIG, COMMAND, &COMMAND_WANTED)
            .map_err(answer(Command::RegionWrite))?;
        Ok(Self {
            peer,
            doorbells,
            next: limits::IOVA_FIRST,
            backing: Backing::Memfd,
            clock,
            spins: 0,
        })
    }

    fn map(&mut self, region: &Region) -> Result<Iova, String> {
        let grains = (region.len() as u64).div_ceil(limits::IOVA_GRAIN);
        let end = grains
            .checked_mul(limits::IOVA_GRAIN)
            .and_then(|bytes| self.next.checked_add(bytes))
            .filter(|&end| end <= limits::IOVA_END)
            .ok_or("the controller's addresses are used up")?;
        let request = DmaMap {
            argsz: DmaMap::BYTES as u32,
            flags: DmaMapFlags::default()
                .with_readable(true)
                .with_writeable(true),
            offset: 0,
            address: self.next,
            size: region.len() as u64,
        };
        let fd = region.fd().ok_or("only a memory file can be shared")?;
        self.peer
            .ask(Command::DmaMap, &request.to_bytes(), &[fd])
            .map_err(|error| error.to_string())?;
        let iova = Iova::new(self.next);
        self.next = end;
        Ok(iova)
    }
}

impl Link for VfioUser {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        let access = RegionAccess {
            offset: offset.into(),
            region: region_index::BAR0,
            count: bytes,
        };
        self.peer
            .read_region(access)
            .map_err(|error| register(offset, &error))
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        let data = value.to_le_bytes();
        let data = data.get(..bytes as usize).unwrap_or(&data);
        self.peer
            .write_region(region_index::BAR0, offset.into(), data)
            .map_err(|error| register(offset, &error))
    }

    fn doorbells(&self) -> Window {
        self.doorbells.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let failed = |reason| LinkError::Memory { bytes, reason };
        let region = Region::allocate(bytes, self.backing)
            .map_err(|error: RegionError| failed(error.to_string()))?;
        let iova = self.map(&region).map_err(failed)?;
        Ok(DmaBuffer::new(region.whole(), iova))
    }

    fn free(&mut self, buffer: DmaBuffer) {
        let request = DmaUnmap {
            argsz: DmaUnmap::BYTES as u32,
            address: buffer.iova().get(),
            size: buffer.len() as u64,
            ..DmaUnmap::default()
        };
        // An end that is gone uses nothing any more.
        let _ = self.peer.ask(Command::DmaUnmap, &request.to_bytes(), &[]);
    }

    fn now(&mut self) -> Duration {
        (self.clock)()
    }

    fn relax(&mut self) {
        // The controller works on another CPU, or needs this one to.
        self.spins = self.spins.wrapping_add(1);
        if self.spins.is_multiple_of(limits::SPINS) {
            std::thread::yield_now();
        } else {
            core::hint::spin_loop();
        }
    }
}

fn register(offset: u32, error: &Trouble) -> LinkError {
    match error {
        Trouble::HungUp | Trouble::Wire(_) => LinkError::Gone,
        other => LinkError::Register {
            offset,
            reason: other.to_string(),
        },
    }
}

/// The other end of the socket.
#[derive(Debug)]
struct Peer {
    stream: Stream,
    next_id: u16,
}

/// An answer.
struct Answer {
    payload: Vec<u8>,
    fds: Vec<OwnedFd>,
}

impl Peer {
    /// Sends a command and waits for its answer.
    fn ask(
        &mut self,
        command: Command,
        payload: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<Answer, Trouble> {
        self.next_id = self.next_id.wrapping_add(1);
        let header = Header::command(self.next_id, command, payload.len() as u32);
        self.stream.send(header, payload, fds)?;
        loop {
            let message = self.stream.receive()?.ok_or(Trouble::HungUp)?;
            let found = message.header;
            if found.kind == MessageKind::Command {
                // The other end may ask for memory that has no descriptor; ours always has one.
                if !found.no_reply {
                    let errno = rustix::io::Errno::OPNOTSUPP.raw_os_error() as u32;
                    self.stream.send(found.refusal(errno), &[], &[])?;
                }
                continue;
            }
            if found.id != header.id || found.command != command {
                return Err(Trouble::Other);
            }
            if let Some(errno) = found.error {
                return Err(Trouble::Refused(io::Error::from_raw_os_error(errno as i32)));
            }
            return Ok(Answer {
                payload: message.payload,
                fds: message.fds,
            });
        }
    }

    fn agree(&mut self) -> Result<(), Trouble> {
        let mut payload = Vec::new();
        let ours = Version {
            major: version::MAJOR,
            minor: 1, // what SPDK's target and libvfio-user speak
            json: CAPABILITIES,
        };
        ours.emit(&mut payload);
        let answer = self.ask(Command::Version, &payload, &[])?;
        let theirs = Version::parse(&answer.payload)?;
        if theirs.major == version::MAJOR {
            Ok(())
        } else {
            Err(Trouble::Unexpected(format!(
                "wanted major version {}, found {}",
                version::MAJOR,
                theirs.major
            )))
        }
    }

    /// Maps the page of doorbells.
    fn doorbells(&mut self, path: &Path) -> Result<Window, ConnectError> {
        let doing = Command::DeviceGetRegionInfo;
        let wrong = |found: Trouble| ConnectError::Answer {
            path: path.to_owned(),
            doing,
            found,
        };
        let none = |found: String| ConnectError::Doorbells {
            path: path.to_owned(),
            found,
        };
        let request = RegionInfo {
            // Room for a few areas.
            argsz: RegionInfo::bytes_with_areas(8),
            index: region_index::BAR0,
            ..RegionInfo::default()
        };
        let answer = self.ask(doing, &request.to_bytes(), &[]).map_err(wrong)?;
        let info = RegionInfo::parse(&answer.payload).map_err(|error| wrong(error.into()))?;
        let areas = info
            .areas(&answer.payload)
            .map_err(|error| wrong(error.into()))?;
        let whole = SparseArea {
            offset: 0,
            size: info.size,
        };
        let areas = areas.unwrap_or_else(|| vec![whole]);
        let end = DOORBELLS + limits::DOORBELL_BYTES as u64;
        let covers = |area: &&SparseArea| {
            area.offset <= DOORBELLS
                && area
                    .offset
                    .checked_add(area.size)
                    .is_some_and(|last| last >= end)
        };
        let fd = answer.fds.into_iter().next();
        let (Some(fd), true, Some(_)) = (fd, info.flags.mmap(), areas.iter().find(covers)) else {
            return Err(none(format!(
                "{} bytes, of which {areas:?} can be mapped",
                info.size
            )));
        };
        let at = info.offset.checked_add(DOORBELLS);
        let at = at.ok_or_else(|| none("an offset beyond 64 bits".into()))?;
        let region = Region::of_file(fd, at, limits::DOORBELL_BYTES)
            .map_err(|error| none(error.to_string()))?;
        Ok(region.whole())
    }

    fn read_region(&mut self, access: RegionAccess) -> Result<u64, Trouble> {
        let answer = self.ask(Command::RegionRead, &access.to_bytes(), &[])?;
        let found = RegionData::parse(&answer.payload)?;
        let mut value = [0; 8];
        let wanted = value.get_mut(..access.count as usize);
        match wanted.filter(|wanted| wanted.len() == found.data.len()) {
            Some(place) => place.copy_from_slice(found.data),
            None => {
                return Err(Trouble::Unexpected(format!(
                    "wanted {} bytes, found {}",
                    access.count,
                    found.data.len()
                )));
            }
        }
        Ok(u64::from_le_bytes(value))
    }

    fn write_region(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Trouble> {
        let mut payload = Vec::new();
        let request = RegionData {
            offset,
            region,
            data,
        };
        request.emit(&mut payload);
        self.ask(Command::RegionWrite, &payload, &[]).map(drop)
    }
}
