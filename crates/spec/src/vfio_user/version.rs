//! VERSION: the first message of both sides [vfio-user 0.2 "VFIO_USER_VERSION"].

use crate::layout::{Field, Malformed};
use crate::vfio_user::limits::VERSION_DATA_BYTES_MAX;
use crate::vfio_user::split;

/// The major version that this module lays out. Sides whose major versions differ cannot speak.
pub const MAJOR: u16 = 0;
/// The minor version that this module lays out. The reply holds the smaller of both sides' minor versions.
pub const MINOR: u16 = 2;

const HEAD_BYTES: usize = 4;

/// The request and the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<'d> {
    /// Major version.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// Version data: JSON without the NUL behind it, or empty where the sender has nothing to say. That it is JSON is not
    /// checked.
    pub json: &'d str,
}

impl<'d> Version<'d> {
    /// Bytes before the version data.
    pub const HEAD_BYTES: usize = HEAD_BYTES;

    /// Reads the payload. The version data end before the NULs at their end, or with the payload where there is none.
    ///
    /// # Errors
    /// If there are fewer than 4 bytes, or the version data are no UTF-8 or longer than [`VERSION_DATA_BYTES_MAX`].
    pub fn parse(payload: &'d [u8]) -> Result<Self, Malformed> {
        let (head, data) = split::<HEAD_BYTES>(payload)?;
        let (major, minor) = head.split_at(2);
        let end = data.iter().rposition(|&byte| byte != 0);
        let text = data
            .get(..end.map_or(0, |last| last + 1))
            .unwrap_or_default();
        let wrong = Malformed::Field {
            name: "version data",
        };
        if text.len() > VERSION_DATA_BYTES_MAX {
            return Err(wrong);
        }
        Ok(Self {
            major: Field::read(major),
            minor: Field::read(minor),
            json: core::str::from_utf8(text).map_err(|_| wrong)?,
        })
    }

    /// Appends the payload to `payload`; version data that are not empty get their NUL.
    pub fn emit(&self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.major.to_le_bytes());
        payload.extend_from_slice(&self.minor.to_le_bytes());
        if !self.json.is_empty() {
            payload.extend_from_slice(self.json.as_bytes());
            payload.push(0);
        }
    }
}
