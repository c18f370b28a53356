//! One connection: whole messages in, whole messages out.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use spec::vfio_user::limits::FDS_MAX;
use spec::vfio_user::{Header, HeaderError};

/// Why a connection is of no use any more. What a peer did wrong inside a message is not among it.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The socket failed, or the peer went away in the middle of a message.
    #[error("the socket: {0}")]
    Socket(#[from] io::Error),
    /// A header that is none: where the next message begins cannot be known.
    #[error("the peer's message has a wrong header: {0}")]
    Header(#[from] HeaderError),
}

/// A message that came.
#[derive(Debug)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// What follows the header.
    pub payload: Vec<u8>,
    /// The descriptors beside it, [`FDS_MAX`] at most; what a peer sends beyond is closed.
    pub fds: Vec<OwnedFd>,
}

/// A connection.
#[derive(Debug)]
pub struct Stream {
    socket: UnixStream,
    out: Vec<u8>,
}

impl Stream {
    /// Takes a connected socket.
    pub fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            out: Vec::new(),
        }
    }

    /// The socket, to wait for it.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// How long a message may take, in both directions. Without it, a peer may take for ever.
    ///
    /// # Errors
    /// When the system refuses; a duration of zero is refused.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)?;
        self.socket.set_write_timeout(timeout)
    }

    /// Ends the connection; whoever waits for a message has none.
    pub fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both); // it may be over already
    }

    /// The next message; nothing when the peer ended the connection between two.
    ///
    /// # Errors
    /// [`WireError`]; the connection is of no use afterwards.
    pub fn receive(&mut self) -> Result<Option<Message>, WireError> {
        let mut bytes = [0; Header::BYTES];
        let mut fds = Vec::new();
        let mut have = 0;
        while have < bytes.len() {
            // Descriptors come with the first byte of the message that they were sent with.
            let count = self.receive_part(&mut bytes[have..], &mut fds)?;
            if count == 0 && have == 0 {
                return Ok(None);
            }
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            have += count;
        }
        let header = Header::parse(&bytes)?;
        let mut payload = vec![0; header.payload_bytes() as usize];
        // Reading without room for descriptors has the kernel close those that come now.
        self.socket.read_exact(&mut payload)?;
        Ok(Some(Message {
            header,
            payload,
            fds,
        }))
    }

    /// Sends a message: the header, the payload whose size it says, and the descriptors beside them.
    ///
    /// # Errors
    /// [`WireError`]; the connection is of no use afterwards.
    ///
    /// # Panics
    /// If the header says another size, or there are more than [`FDS_MAX`] descriptors.
    pub fn send(
        &mut self,
        header: Header,
        payload: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), WireError> {
        assert_eq!(header.payload_bytes() as usize, payload.len());
        assert!(fds.len() <= FDS_MAX, "{} descriptors", fds.len());
        self.out.clear();
        self.out.extend_from_slice(&header.to_bytes());
        self.out.extend_from_slice(payload);
        let sent = if fds.is_empty() {
            0
        } else {
            self.send_with_fds(fds)?
        };
        self.socket.write_all(&self.out[sent..])?;
        Ok(())
    }

    /// Sends the beginning of what is to go out, with descriptors; says how many bytes went.
    fn send_with_fds(&self, fds: &[BorrowedFd<'_>]) -> Result<usize, WireError> {
        let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(fds));
        assert!(fits, "the buffer holds as many as a message may have");
        loop {
            let bytes = [IoSlice::new(&self.out)];
            let flags = SendFlags::NOSIGNAL;
            match rustix::net::sendmsg(&self.socket, &bytes, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
                Ok(sent) => return Ok(sent),
            }
        }
    }

    fn receive_part(&self, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> Result<usize, WireError> {
        let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let count = loop {
            let mut parts = [IoSliceMut::new(bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.socket, &mut parts, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
                Ok(message) => break message.bytes,
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(new) = message {
                // Dropping closes what is too many.
                fds.extend(new.take(FDS_MAX.saturating_sub(fds.len())));
            }
        }
        Ok(count)
    }
}

/// Room for the descriptors of one message.
const ANCILLARY_BYTES: usize = rustix::cmsg_space!(ScmRights(FDS_MAX));

#[cfg(test)]
mod tests;
