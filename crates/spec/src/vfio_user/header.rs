//! The header of every message [vfio-user 0.2 "Header"].

use core::fmt;

use crate::layout::Field;
use crate::vfio_user::Command;
use crate::vfio_user::limits::MESSAGE_BYTES_MAX;

bit_fields! {
    /// Flags of the header.
    MessageFlags(u32) {
        /// Type: 0 command, 1 reply.
        kind, with_kind: u8 = 3:0;
        /// No_reply: the sender of this command wants no reply.
        no_reply, with_no_reply: bool = 4;
        /// Error: this reply says that the command failed.
        error, with_error: bool = 5;
    }
}

/// Whether a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Type 0.
    Command,
    /// Type 1.
    Reply,
}

/// What is wrong with a header. Nothing that follows on the socket can be told apart after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The size of the message is less than that of its header.
    Small {
        /// The size in the header, bytes.
        size: u32,
    },
    /// The size of the message is more than [`MESSAGE_BYTES_MAX`].
    Large {
        /// The size in the header, bytes.
        size: u32,
    },
    /// The type is neither a command nor a reply.
    Kind {
        /// The type in the header.
        kind: u8,
    },
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small { size } => write!(
                f,
                "the header says a message of {size} bytes, wanted at least {}",
                Header::BYTES
            ),
            Self::Large { size } => write!(
                f,
                "the header says a message of {size} bytes, wanted at most {MESSAGE_BYTES_MAX}"
            ),
            Self::Kind { kind } => write!(
                f,
                "the header says a message of type {kind}, wanted 0 (command) or 1 (reply)"
            ),
        }
    }
}

impl core::error::Error for HeaderError {}

/// The 16 bytes before every payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Message ID: the sender's name for a command; its reply has the same. Need not be unique.
    pub id: u16,
    /// The command, also in its reply.
    pub command: Command,
    /// Bytes of the whole message, header included: 16 to [`MESSAGE_BYTES_MAX`].
    pub size: u32,
    /// Command or reply.
    pub kind: MessageKind,
    /// The sender of this command wants no reply.
    pub no_reply: bool,
    /// The command failed, with a Unix error number, which may be 0.
    pub error: Option<u32>,
}

impl Header {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Payload that fits one message, in bytes.
    pub const PAYLOAD_BYTES_MAX: u32 = MESSAGE_BYTES_MAX - Self::BYTES as u32;

    /// A command with a payload of so many bytes, which wants a reply.
    ///
    /// # Panics
    /// If the payload is larger than [`Self::PAYLOAD_BYTES_MAX`].
    pub const fn command(id: u16, command: Command, payload_bytes: u32) -> Self {
        Self {
            id,
            command,
            size: size_with(payload_bytes),
            kind: MessageKind::Command,
            no_reply: false,
            error: None,
        }
    }

    /// The reply to this command with a payload of so many bytes.
    ///
    /// # Panics
    /// If the payload is larger than [`Self::PAYLOAD_BYTES_MAX`].
    pub const fn reply(&self, payload_bytes: u32) -> Self {
        Self {
            size: size_with(payload_bytes),
            kind: MessageKind::Reply,
            no_reply: false,
            error: None,
            ..*self
        }
    }

    /// The reply that refuses this command: a header alone, with a Unix error number.
    pub const fn refusal(&self, errno: u32) -> Self {
        Self {
            error: Some(errno),
            ..self.reply(0)
        }
    }

    /// Bytes that follow the header.
    pub const fn payload_bytes(&self) -> u32 {
        self.size.saturating_sub(Self::BYTES as u32)
    }

    /// Reads the header. Reserved flags are ignored, and so is the error number of a message without the error flag.
    ///
    /// # Errors
    /// If the size is less than 16 or more than [`MESSAGE_BYTES_MAX`], or the type is neither command nor reply.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, HeaderError> {
        let (id, rest) = bytes.split_at(2);
        let (command, rest) = rest.split_at(2);
        let (size, rest) = rest.split_at(4);
        let (flags, error) = rest.split_at(4);
        let (size, flags) = (u32::read(size), MessageFlags::read(flags));
        if size < Self::BYTES as u32 {
            return Err(HeaderError::Small { size });
        }
        if size > MESSAGE_BYTES_MAX {
            return Err(HeaderError::Large { size });
        }
        let kind = match flags.kind() {
            0 => MessageKind::Command,
            1 => MessageKind::Reply,
            kind => return Err(HeaderError::Kind { kind }),
        };
        Ok(Self {
            id: Field::read(id),
            command: Field::read(command),
            size,
            kind,
            no_reply: flags.no_reply(),
            error: flags.error().then(|| Field::read(error)),
        })
    }

    /// Writes every byte of the header.
    pub fn emit(&self, bytes: &mut [u8; Self::BYTES]) {
        let (id, rest) = bytes.split_at_mut(2);
        let (command, rest) = rest.split_at_mut(2);
        let (size, rest) = rest.split_at_mut(4);
        let (flags_bytes, error) = rest.split_at_mut(4);
        let kind = match self.kind {
            MessageKind::Command => 0,
            MessageKind::Reply => 1,
        };
        let flags = MessageFlags::from_bits(0)
            .with_kind(kind)
            .with_no_reply(self.no_reply)
            .with_error(self.error.is_some());
        self.id.write(id);
        self.command.write(command);
        self.size.write(size);
        flags.write(flags_bytes);
        self.error.unwrap_or_default().write(error);
    }

    /// The header as bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        self.emit(&mut bytes);
        bytes
    }
}

/// Bytes of a whole message.
const fn size_with(payload_bytes: u32) -> u32 {
    assert!(
        payload_bytes <= Header::PAYLOAD_BYTES_MAX,
        "a payload fits its message"
    );
    Header::BYTES as u32 + payload_bytes
}
