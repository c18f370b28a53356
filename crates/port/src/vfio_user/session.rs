//! One client: its messages, one after the other, and our answers.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use spec::Malformed;
use spec::vfio_user::{
    Command, DeviceFlags, DeviceInfo, DmaMap, DmaUnmap, Header, IrqFlags, IrqInfo, MessageKind,
    RegionAccess, RegionData, RegionFlags, RegionInfo, RegionIoFds, RegionWriteMulti,
    RegionWritesDone, SetIrqs, SparseArea, Version, irq_index, region_index,
};
use wire::{Message, Stream, WireError};

use super::function::{Function, Refusal};
use super::version;
use super::worker::Gone;
use crate::limits::{DOORBELL_BYTES, DOORBELLS, MESSAGE_TIMEOUT};

/// How a client's time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It left.
    Left,
    /// We were told to stop.
    Stopped,
}

/// Why a client is sent away.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// Its connection is of no use any more.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It speaks another version, or does not say which.
    #[error("wanted VERSION with major version 0 as the first message, found {0}")]
    Version(String),
    /// The controller's thread has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The system refused to wait.
    #[error("waiting for the client: {0}")]
    Wait(Errno),
}

/// An answer.
struct Answer {
    payload: Vec<u8>,
    /// Whether the descriptor of BAR0 goes with it.
    with_bar0: bool,
}

impl From<Vec<u8>> for Answer {
    fn from(payload: Vec<u8>) -> Self {
        Self {
            payload,
            with_bar0: false,
        }
    }
}

/// Serves a client until it leaves, breaks the protocol so that nothing can be read any more, or `wake` is hung up.
pub(super) fn serve(
    socket: UnixStream,
    wake: &OwnedFd,
    function: &mut Function,
) -> Result<End, SessionError> {
    let mut stream = Stream::new(socket);
    // Between messages a client may be silent for ever, but not in the middle of one.
    stream
        .set_timeout(Some(MESSAGE_TIMEOUT))
        .map_err(WireError::Socket)?;
    let mut agreed = false;
    loop {
        if wait(&stream, wake)? {
            return Ok(End::Stopped);
        }
        let Some(message) = stream.receive()? else {
            return Ok(End::Left);
        };
        let header = message.header;
        if header.kind == MessageKind::Reply {
            tracing::debug!("a reply that nobody waits for: {}", header.command);
            continue;
        }
        if !agreed {
            agree(&mut stream, &message)?;
            agreed = true;
            continue;
        }
        let answer = handle(message, function);
        if let Err(Refusal::Gone(gone)) = answer {
            return Err(gone.into());
        }
        if !header.no_reply {
            reply(&mut stream, header, answer, function)?;
        }
    }
}

/// Waits for the client; true if we are told to stop.
fn wait(stream: &Stream, wake: &OwnedFd) -> Result<bool, SessionError> {
    loop {
        let socket = stream.as_fd();
        let mut polled = [
            PollFd::new(&socket, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        match poll(&mut polled, None) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SessionError::Wait(errno)),
            Ok(_) => return Ok(!polled[1].revents().is_empty()),
        }
    }
}

fn agree(stream: &mut Stream, message: &Message) -> Result<(), SessionError> {
    let header = message.header;
    let mut refuse = |found: String| {
        stream.send(header.refusal(Errno::INVAL.raw_os_error() as u32), &[], &[])?;
        Err(SessionError::Version(found))
    };
    if header.command != Command::Version {
        return refuse(header.command.to_string());
    }
    let request = match Version::parse(&message.payload) {
        Ok(request) => request,
        Err(error) => return refuse(error.to_string()),
    };
    let Some((agreed, json)) = version::answer(&request) else {
        return refuse(format!("version {}.{}", request.major, request.minor));
    };
    tracing::debug!(?agreed, "a version was agreed");
    let mut payload = Vec::new();
    let answer = Version {
        major: request.major,
        minor: agreed.minor,
        json: &json,
    };
    answer.emit(&mut payload);
    stream.send(header.reply(payload.len() as u32), &payload, &[])?;
    Ok(())
}

fn reply(
    stream: &mut Stream,
    header: Header,
    answer: Result<Answer, Refusal>,
    function: &Function,
) -> Result<(), WireError> {
    match answer {
        Ok(Answer { payload, with_bar0 }) => {
            let bar0 = [function.bar0()];
            let fds = if with_bar0 { &bar0[..] } else { &[] };
            stream.send(header.reply(payload.len() as u32), &payload, fds)
        }
        Err(refusal) => {
            tracing::debug!("{}: {refusal}", header.command);
            let errno = match refusal {
                Refusal::Errno(errno) => errno,
                Refusal::Gone(_) => Errno::NODEV,
            };
            stream.send(header.refusal(errno.raw_os_error() as u32), &[], &[])
        }
    }
}

impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Self {
        Self::Errno(Errno::INVAL)
    }
}

fn handle(message: Message, function: &mut Function) -> Result<Answer, Refusal> {
    let payload = &message.payload[..];
    match message.header.command {
        Command::DmaMap => {
            let request = DmaMap::parse(payload)?;
            function.dma_map(&request, message.fds.into_iter().next())?;
            Ok(Vec::new().into())
        }
        Command::DmaUnmap => dma_unmap(DmaUnmap::parse(payload)?, function),
        Command::DeviceGetInfo => Ok(device_info(DeviceInfo::parse(payload)?)),
        Command::DeviceGetRegionInfo => region_info(RegionInfo::parse(payload)?),
        Command::DeviceGetRegionIoFds => {
            let request = RegionIoFds::parse(payload)?;
            let none = RegionIoFds {
                argsz: RegionIoFds::BYTES as u32,
                flags: 0,
                index: request.index,
                count: 0,
            };
            Ok(none.to_bytes().to_vec().into())
        }
        Command::DeviceGetIrqInfo => irq_info(IrqInfo::parse(payload)?),
        Command::DeviceSetIrqs => {
            function.set_irqs(&SetIrqs::parse(payload)?, message.fds)?;
            Ok(Vec::new().into())
        }
        Command::RegionRead => {
            let access = RegionAccess::parse(payload)?;
            let mut reply = access.to_bytes().to_vec();
            reply.resize(RegionAccess::BYTES + access.count as usize, 0);
            let (_, bytes) = reply.split_at_mut(RegionAccess::BYTES);
            function.read(access.region, access.offset, bytes)?;
            Ok(reply.into())
        }
        Command::RegionWrite => {
            let write = RegionData::parse(payload)?;
            function.write(write.region, write.offset, write.data)?;
            Ok(write.access().to_bytes().to_vec().into())
        }
        Command::RegionWriteMulti => {
            let writes = RegionWriteMulti::parse(payload)?;
            let wr_cnt = writes.iter().len() as u64;
            for write in writes.iter() {
                function.write(write.region, write.offset, write.counted())?;
            }
            Ok(RegionWritesDone { wr_cnt }.to_bytes().to_vec().into())
        }
        Command::DeviceReset => {
            function.reset()?;
            Ok(Vec::new().into())
        }
        Command::Version => Err(Errno::INVAL.into()),
        _ => Err(Errno::OPNOTSUPP.into()),
    }
}

fn dma_unmap(request: DmaUnmap, function: &mut Function) -> Result<Answer, Refusal> {
    if request.flags.get_dirty_bitmap() {
        return Err(Errno::OPNOTSUPP.into());
    }
    let bytes = function.dma_unmap(&request)?;
    let size = if request.flags.all() {
        bytes
    } else {
        request.size
    };
    if bytes == 0 {
        // An error would leave cloud-hypervisor waiting for ever.
        tracing::info!(
            "DMA_UNMAP at {:#x}: nothing was mapped there",
            request.address
        );
    }
    let reply = DmaUnmap { size, ..request };
    Ok(reply.to_bytes().to_vec().into())
}

fn device_info(request: DeviceInfo) -> Answer {
    let reply = DeviceInfo {
        argsz: DeviceInfo::BYTES as u32,
        flags: DeviceFlags::default().with_reset(true).with_pci(true),
        num_regions: region_index::COUNT,
        num_irqs: irq_index::COUNT,
    };
    tracing::trace!(request.argsz, "DEVICE_GET_INFO");
    reply.to_bytes().to_vec().into()
}

/// Each of the nine regions is there for whoever asks; most are empty.
fn region_info(request: RegionInfo) -> Result<Answer, Refusal> {
    if request.index >= region_index::COUNT {
        return Err(Errno::INVAL.into());
    }
    let size = Function::region_bytes(request.index);
    let access = size > 0;
    let flags = RegionFlags::default().with_read(access).with_write(access);
    let mut reply = RegionInfo {
        argsz: RegionInfo::BYTES as u32,
        flags,
        index: request.index,
        cap_offset: 0,
        size,
        offset: 0,
    };
    if request.index != region_index::BAR0 {
        return Ok(reply.to_bytes().to_vec().into());
    }
    let areas = [SparseArea {
        offset: DOORBELLS,
        size: DOORBELL_BYTES,
    }];
    // The flag for capabilities comes with them: QEMU refuses it in an answer that has no room for them.
    reply.flags = flags.with_mmap(true);
    reply.argsz = RegionInfo::bytes_with_areas(areas.len() as u32);
    let mut payload = Vec::new();
    if request.argsz < reply.argsz {
        payload.extend_from_slice(&reply.to_bytes());
    } else {
        reply.emit_with_areas(&areas, &mut payload);
    }
    Ok(Answer {
        payload,
        with_bar0: true,
    })
}

fn irq_info(request: IrqInfo) -> Result<Answer, Refusal> {
    if request.index >= irq_index::COUNT {
        return Err(Errno::INVAL.into());
    }
    let count = Function::interrupts(request.index);
    let pin = request.index == irq_index::INTX;
    let flags = IrqFlags::default()
        .with_eventfd(count > 0)
        .with_maskable(pin)
        .with_noresize(count > 1);
    let reply = IrqInfo {
        argsz: IrqInfo::BYTES as u32,
        flags,
        index: request.index,
        count,
    };
    Ok(reply.to_bytes().to_vec().into())
}
