#![expect(clippy::disallowed_methods, reason = "a peer on a thread of its own")]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;

use spec::vfio_user::Command;

use super::*;

fn pair() -> (Stream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Stream::new(ours), theirs)
}

fn header(bytes: u32) -> Header {
    Header::command(7, Command::RegionRead, bytes)
}

#[test]
fn a_message_arrives_whole_with_its_descriptors_and_in_order() {
    let (mut ours, theirs) = pair();
    let mut theirs = Stream::new(theirs);
    let zero = File::open("/dev/zero").unwrap();
    ours.send(header(3), &[1, 2, 3], &[zero.as_fd(), zero.as_fd()])
        .unwrap();
    ours.send(header(0), &[], &[]).unwrap();
    let first = theirs.receive().unwrap().unwrap();
    assert_eq!(
        (first.header, &first.payload[..]),
        (header(3), &[1, 2, 3][..])
    );
    assert_eq!(first.fds.len(), 2);
    let mut byte = [9];
    assert_eq!(rustix::io::read(&first.fds[1], &mut byte).unwrap(), 1);
    assert_eq!(byte, [0], "it is the file that was sent");
    let second = theirs.receive().unwrap().unwrap();
    assert_eq!((second.payload.len(), second.fds.len()), (0, 0));
    ours.close();
    assert!(theirs.receive().unwrap().is_none());
}

#[test]
fn a_message_may_come_a_byte_at_a_time() {
    let (mut ours, mut theirs) = pair();
    let sender = std::thread::spawn(move || {
        let mut bytes = header(4).to_bytes().to_vec();
        bytes.extend([4, 3, 2, 1]);
        for byte in bytes {
            theirs.write_all(&[byte]).unwrap();
        }
    });
    let found = ours.receive().unwrap().unwrap();
    assert_eq!(found.payload, [4, 3, 2, 1]);
    sender.join().unwrap();
}

#[test]
fn a_large_message_with_descriptors_is_sent_whole() {
    let (mut ours, theirs) = pair();
    let mut theirs = Stream::new(theirs);
    let payload = vec![5; Header::PAYLOAD_BYTES_MAX as usize];
    let wanted = payload.clone();
    let zero = File::open("/dev/zero").unwrap();
    let sender = std::thread::spawn(move || {
        let header = header(Header::PAYLOAD_BYTES_MAX);
        ours.send(header, &payload, &[zero.as_fd()]).unwrap();
    });
    let found = theirs.receive().unwrap().unwrap();
    assert!(found.payload == wanted && found.fds.len() == 1);
    sender.join().unwrap();
}

#[test]
fn what_ends_in_the_middle_or_lies_about_its_size_ends_the_connection() {
    let bytes = header(8).to_bytes();
    for cut in [1, 15, 16] {
        let (mut ours, mut theirs) = pair();
        theirs.write_all(&bytes[..cut]).unwrap();
        drop(theirs);
        assert!(matches!(ours.receive(), Err(WireError::Socket(_))), "{cut}");
    }
    for size in [0, 15, u32::MAX] {
        let (mut ours, mut theirs) = pair();
        let mut bytes = bytes;
        bytes[4..8].copy_from_slice(&u32::to_le_bytes(size));
        theirs.write_all(&bytes).unwrap();
        assert!(matches!(ours.receive(), Err(WireError::Header(_))));
    }
}

#[test]
fn a_peer_that_says_nothing_is_given_up_after_the_timeout() {
    let (mut ours, _theirs) = pair();
    ours.set_timeout(Some(Duration::from_millis(20))).unwrap();
    assert!(matches!(ours.receive(), Err(WireError::Socket(_))));
}
