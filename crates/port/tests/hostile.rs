//! Clients that do what no client should: nothing of it ends the endpoint, and the next client has the drive.

use core::time::Duration;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use controller::{Config, NamespaceConfig};
use media::{BlockSize, RamMedia};
use mem::{Backing, Region};
use port::vfio_user::{Endpoint, Options, Waiting};
use proptest::prelude::*;
use ring::sync::{AtomicU32, Ordering};
use spec::vfio_user::{
    Command, DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags, Header, IrqAction, IrqData, IrqInfo,
    MessageKind, RegionAccess, RegionData, RegionInfo, SetIrqs, Version, irq_index, region_index,
};
use spec::{BlockCount, NamespaceId};
use wire::Stream;

fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn endpoint(name: &str) -> (Endpoint, PathBuf) {
    let path = std::env::temp_dir().join(format!("dpe-port-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path); // it may be the first run
    let media = RamMedia::new(BlockCount::new(2048), BlockSize::B512, Backing::Anonymous);
    let options = Options {
        config: Config::default(),
        namespaces: vec![NamespaceConfig {
            id: NamespaceId::new(1),
            media: Box::new(media.unwrap()),
        }],
        waiting: Waiting::Idle,
        clock,
    };
    (Endpoint::open(&path, options).unwrap(), path)
}

/// A client that says what it likes.
struct Client(Stream);

impl Client {
    fn connect(path: &Path) -> Self {
        let stream = Stream::new(UnixStream::connect(path).unwrap());
        stream.set_timeout(Some(Duration::from_secs(10))).unwrap();
        Self(stream)
    }

    /// A client that has agreed on a version, in SPDK's manner: without a word about itself.
    fn agreed(path: &Path) -> Self {
        let mut client = Self::connect(path);
        let answer = client.ask(Command::Version, &[0, 0, 1, 0], &[]).unwrap();
        assert_eq!(answer, [0, 0, 1, 0]);
        client
    }

    /// The answer's payload, or its error number.
    fn ask(
        &mut self,
        command: Command,
        payload: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, u32> {
        let header = Header::command(0, command, payload.len() as u32);
        self.0.send(header, payload, fds).unwrap();
        let message = self.0.receive().unwrap().expect("an answer");
        assert_eq!(message.header.kind, MessageKind::Reply);
        assert_eq!((message.header.id, message.header.command), (0, command));
        match message.header.error {
            Some(errno) => Err(errno),
            None => Ok(message.payload),
        }
    }

    fn read(&mut self, region: u32, offset: u64, count: u32) -> Vec<u8> {
        let access = RegionAccess {
            offset,
            region,
            count,
        };
        let answer = self
            .ask(Command::RegionRead, &access.to_bytes(), &[])
            .unwrap();
        RegionData::parse(&answer).unwrap().data.to_vec()
    }

    fn map(&mut self, address: u64, size: u64, fd: Option<BorrowedFd<'_>>) -> Result<(), u32> {
        let request = DmaMap {
            argsz: 32,
            flags: DmaMapFlags::default()
                .with_readable(true)
                .with_writeable(true),
            offset: 0,
            address,
            size,
        };
        let fds: Vec<_> = fd.into_iter().collect();
        self.ask(Command::DmaMap, &request.to_bytes(), &fds)
            .map(drop)
    }

    fn unmap(&mut self, request: DmaUnmap) -> Result<u64, u32> {
        let answer = self.ask(Command::DmaUnmap, &request.to_bytes(), &[])?;
        Ok(DmaUnmap::parse(&answer).unwrap().size)
    }
}

/// The drive's VS register says which NVMe it speaks: somebody serves.
fn assert_serves(path: &Path) {
    let mut client = Client::agreed(path);
    let version = client.read(region_index::BAR0, 8, 4);
    assert_eq!(version[3], 0);
    assert!(version[2] >= 1, "{version:?}");
}

const EINVAL: u32 = 22;
const EEXIST: u32 = 17;
const EOPNOTSUPP: u32 = 95;

#[test]
fn without_a_version_nothing_is_answered_and_the_next_client_is_served() {
    let (endpoint, path) = endpoint("version");
    let mut client = Client::connect(&path);
    assert_eq!(client.ask(Command::DeviceReset, &[], &[]), Err(EINVAL));
    assert!(client.0.receive().unwrap().is_none(), "it is sent away");
    let mut client = Client::connect(&path);
    assert_eq!(
        client.ask(Command::Version, &[9, 0, 0, 0], &[]),
        Err(EINVAL)
    );
    let mut payload = Vec::new();
    let (major, minor, json) = (0, 2, r#"{"capabilities":{"max_msg_fds":99}}"#);
    Version { major, minor, json }.emit(&mut payload);
    let mut client = Client::connect(&path);
    let answer = client.ask(Command::Version, &payload, &[]).unwrap();
    assert!(answer.len() <= payload.len(), "QEMU wants no more");
    drop(client);
    assert_serves(&path);
    endpoint.close().unwrap();
}

#[test]
fn bytes_that_are_no_messages_end_their_connection_and_no_other() {
    let (endpoint, path) = endpoint("bytes");
    for bytes in [
        &[0xff; 4096][..],
        &[0; 16],
        &[1, 0, 1, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0],
        &[1],
    ] {
        let mut socket = UnixStream::connect(&path).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest); // it may be reset, too
        assert!(rest.is_empty());
    }
    for _ in 0..1000 {
        drop(UnixStream::connect(&path).unwrap());
    }
    assert_serves(&path);
    endpoint.close().unwrap();
}

#[test]
fn a_client_that_stops_in_the_middle_of_a_message_is_sent_away() {
    let (endpoint, path) = endpoint("half");
    let mut socket = UnixStream::connect(&path).unwrap();
    let header = Header::command(1, Command::Version, 4).to_bytes();
    socket.write_all(&header).unwrap();
    // It stays connected, and yet the next one is served, and the endpoint ends.
    assert_serves(&path);
    let mut idle = Client::agreed(&path);
    idle.0.set_timeout(None).unwrap();
    endpoint.close().unwrap();
    assert!(idle.0.receive().unwrap().is_none());
}

#[test]
fn every_region_and_interrupt_can_be_asked_for_and_holes_read_as_ones() {
    let (endpoint, path) = endpoint("regions");
    let mut client = Client::agreed(&path);
    for index in 0..region_index::COUNT {
        // SPDK's request is longer than the structure.
        let mut request = RegionInfo {
            argsz: 4064,
            index,
            ..RegionInfo::default()
        }
        .to_bytes()
        .to_vec();
        request.resize(4064, 0);
        let answer = client
            .ask(Command::DeviceGetRegionInfo, &request, &[])
            .unwrap();
        let info = RegionInfo::parse(&answer).unwrap();
        let wanted = match index {
            region_index::BAR0 => 16 << 10,
            region_index::CONFIG => 4096,
            _ => 0,
        };
        assert_eq!((info.size, info.argsz), (wanted, answer.len() as u32));
        let areas = info.areas(&answer).unwrap();
        assert_eq!(areas.is_some(), index == region_index::BAR0);
        assert_eq!(client.read(index, wanted, 8), [0xff; 8]);
        assert_eq!(client.read(index, u64::MAX - 8, 8), [0xff; 8]);
    }
    let beyond = RegionInfo {
        argsz: 32,
        index: region_index::COUNT,
        ..RegionInfo::default()
    };
    let answer = client.ask(Command::DeviceGetRegionInfo, &beyond.to_bytes(), &[]);
    assert_eq!(answer, Err(EINVAL));
    for (index, wanted) in [(irq_index::INTX, 1), (1, 0), (irq_index::MSIX, 129), (3, 0)] {
        let request = IrqInfo {
            argsz: 16,
            index,
            ..IrqInfo::default()
        };
        let answer = client.ask(Command::DeviceGetIrqInfo, &request.to_bytes(), &[]);
        assert_eq!(IrqInfo::parse(&answer.unwrap()).unwrap().count, wanted);
    }
    // A caller with room for the structure alone hears how much more there is.
    let short = RegionInfo {
        argsz: 32,
        ..RegionInfo::default()
    };
    let answer = client
        .ask(Command::DeviceGetRegionInfo, &short.to_bytes(), &[])
        .unwrap();
    let info = RegionInfo::parse(&answer).unwrap();
    assert_eq!((answer.len(), info.argsz, info.cap_offset), (32, 64, 0));
    assert!(info.flags.mmap() && !info.flags.caps(), "QEMU's condition");
    assert_eq!(
        client.ask(Command::Other(99), &[1; 100], &[]),
        Err(EOPNOTSUPP)
    );
    assert_eq!(client.ask(Command::RegionRead, &[0; 3], &[]), Err(EINVAL));
    drop(client);
    endpoint.close().unwrap();
}

#[test]
fn memory_that_is_none_is_refused_and_what_has_no_descriptor_is_taken() {
    let (endpoint, path) = endpoint("memory");
    let mut client = Client::agreed(&path);
    let region = Region::allocate(8192, Backing::Memfd).unwrap();
    let fd = region.fd();
    let zero = File::open("/dev/zero").unwrap();
    assert_eq!(client.map(0x10000, 4096, Some(zero.as_fd())), Err(EINVAL));
    assert_eq!(client.map(0x10000, 1 << 40, fd), Err(EINVAL), "not in it");
    assert_eq!(client.map(0x10000, 0, fd), Err(EINVAL));
    assert_eq!(client.map(u64::MAX - 4095, 8192, fd), Err(EINVAL));
    assert_eq!(client.map(0x10000, 8192, fd), Ok(()));
    assert_eq!(client.map(0x10000, 8192, fd), Ok(()), "the same once more");
    assert_eq!(client.map(0x11000, 8192, fd), Err(EEXIST));
    assert_eq!(client.map(0xf000, 1 << 20, None), Err(EEXIST));
    assert_eq!(client.map(0xfee0_0000, 4096, None), Ok(()), "a ROM, say");
    let request = |address, size| DmaUnmap {
        argsz: 24,
        address,
        size,
        ..DmaUnmap::default()
    };
    assert_eq!(client.unmap(request(0x10000, 4096)), Err(EINVAL), "cut");
    assert_eq!(client.unmap(request(0x11000, 4096)), Err(EINVAL), "cut");
    assert_eq!(
        client.unmap(request(0x5000_0000, 4096)),
        Ok(4096),
        "not there"
    );
    let all = DmaUnmap {
        flags: DmaUnmapFlags::default().with_all(true),
        ..request(0, 0)
    };
    assert_eq!(client.unmap(all), Ok(12_288));
    assert_eq!(client.map(0x11000, 8192, fd), Ok(()));
    drop(client);
    endpoint.close().unwrap();
}

#[test]
fn interrupts_go_to_eventfds_and_to_nothing_else() {
    let (endpoint, path) = endpoint("interrupts");
    let mut client = Client::agreed(&path);
    let set = |index, start, count, action, data| {
        let mut payload = Vec::new();
        let request = SetIrqs {
            action,
            data,
            index,
            start,
            count,
        };
        request.emit(&mut payload);
        payload
    };
    let eventfd = || {
        let flags = rustix::event::EventfdFlags::NONBLOCK;
        rustix::event::eventfd(0, flags).unwrap()
    };
    let count_of = |fd: BorrowedFd<'_>| {
        let mut bytes = [0; 8];
        rustix::io::read(fd, &mut bytes).map_or(0, |_| u64::from_ne_bytes(bytes))
    };
    let (first, second) = (eventfd(), eventfd());
    let both = set(irq_index::MSIX, 3, 2, IrqAction::Trigger, IrqData::Eventfd);
    let fds = [first.as_fd(), second.as_fd()];
    assert_eq!(client.ask(Command::DeviceSetIrqs, &both, &fds), Ok(vec![]));
    let chosen = IrqData::Bool(&[0, 1]);
    let ring = set(irq_index::MSIX, 3, 2, IrqAction::Trigger, chosen);
    assert_eq!(client.ask(Command::DeviceSetIrqs, &ring, &[]), Ok(vec![]));
    assert_eq!((count_of(fds[0]), count_of(fds[1])), (0, 1));
    let zero = File::open("/dev/zero").unwrap();
    for (fds, why) in [
        (vec![zero.as_fd(), zero.as_fd()], "no eventfds"),
        (vec![first.as_fd()], "too few"),
    ] {
        let answer = client.ask(Command::DeviceSetIrqs, &both, &fds);
        assert_eq!(answer, Err(EINVAL), "{why}");
    }
    let beyond = set(irq_index::MSIX, 128, 2, IrqAction::Trigger, IrqData::None);
    assert_eq!(
        client.ask(Command::DeviceSetIrqs, &beyond, &[]),
        Err(EINVAL)
    );
    let off = set(irq_index::MSIX, 0, 0, IrqAction::Trigger, IrqData::None);
    assert_eq!(client.ask(Command::DeviceSetIrqs, &off, &[]), Ok(vec![]));
    assert_eq!(client.ask(Command::DeviceSetIrqs, &ring, &[]), Ok(vec![]));
    assert_eq!(count_of(fds[1]), 0, "nobody is told any more");
    // The pin, held back while it is masked.
    let pin = set(irq_index::INTX, 0, 1, IrqAction::Trigger, IrqData::Eventfd);
    assert_eq!(
        client.ask(Command::DeviceSetIrqs, &pin, &fds[..1]),
        Ok(vec![])
    );
    for (action, wanted) in [
        (IrqAction::Mask, 0),
        (IrqAction::Trigger, 0),
        (IrqAction::Unmask, 1),
    ] {
        let payload = set(irq_index::INTX, 0, 1, action, IrqData::None);
        assert_eq!(
            client.ask(Command::DeviceSetIrqs, &payload, &[]),
            Ok(vec![])
        );
        assert_eq!(count_of(fds[0]), wanted, "{action:?}");
    }
    drop(client);
    endpoint.close().unwrap();
}

fn any_message() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let code = prop_oneof![1_u16..19, any::<u16>()];
    // Small numbers, so that indexes, counts and sizes are often right.
    let word = prop_oneof![0_u32..16, any::<u32>(), Just(4096)];
    let payload = proptest::collection::vec(word, 0..24)
        .prop_map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect());
    (code, payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_messages_are_answered_one_by_one_and_end_nothing(
        messages in proptest::collection::vec(any_message(), 1..40)
    ) {
        static NAME: AtomicU32 = AtomicU32::new(0);
        let number = NAME.fetch_add(1, Ordering::Relaxed);
        let (endpoint, path) = endpoint(&format!("any-{number}"));
        let mut client = Client::agreed(&path);
        let region = Region::allocate(8192, Backing::Memfd).unwrap();
        for (index, (code, payload)) in messages.iter().enumerate() {
            let fds: Vec<_> = region.fd().into_iter().take(index % 2).collect();
            let _ = client.ask(Command::from_code(*code), payload, &fds);
        }
        drop(client);
        assert_serves(&path);
        endpoint.close().unwrap();
    }
}
