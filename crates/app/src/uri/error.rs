//! What can be wrong with a device URI, in words that name the key, the value and what is allowed.

use core::fmt;

use crate::limits;

/// A text is no device URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UriError {
    /// Longer than [`limits::URI_BYTES_MAX`].
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It does not begin with a kind of device and a colon.
    NoKind {
        /// The text.
        found: String,
    },
    /// The word before the colon names no kind of device.
    UnknownKind {
        /// The word.
        kind: String,
        /// The kind that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The part that says which device (a size, a path, an address) is missing or wrong.
    BadTarget {
        /// The kind of device.
        kind: &'static str,
        /// What was found after the colon.
        found: String,
        /// What is wrong with it.
        problem: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An option is not of the form `key=value`.
    NoValue {
        /// The kind of device.
        kind: &'static str,
        /// The option as typed.
        option: String,
    },
    /// This kind of device has no such option.
    UnknownKey {
        /// The kind of device.
        kind: &'static str,
        /// The key as typed.
        key: String,
        /// Its value.
        value: String,
        /// The keys that this kind has.
        allowed: Vec<&'static str>,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The key is right, its value is not.
    BadValue {
        /// The key.
        key: &'static str,
        /// The value as typed.
        value: String,
        /// What is allowed.
        allowed: String,
        /// The value that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A key is given twice.
    Repeated {
        /// The key.
        key: String,
    },
}

/// The kinds of devices, for messages.
pub(super) const KINDS: [&str; 6] = ["ram", "null", "file", "vfio-user", "nvme-tcp", "pci"];

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(
                    f,
                    "a device of {bytes} bytes: at most {} are allowed",
                    limits::URI_BYTES_MAX
                )
            }
            Self::NoKind { found } => write!(
                f,
                "device {found:?}: it begins with no kind of device; allowed: {}; for example ram:1G",
                kinds()
            ),
            Self::UnknownKind { kind, nearest } => {
                write!(f, "device kind {kind:?} is unknown; allowed: {}", kinds())?;
                suggest(f, *nearest)
            }
            Self::BadTarget {
                kind,
                found,
                problem,
                allowed,
            } => {
                write!(f, "{kind}: {found:?}: {problem}; allowed: {allowed}")
            }
            Self::NoValue { kind, option } => write!(
                f,
                "{kind}: option {option:?} has no value; write key=value, joined by '&'"
            ),
            Self::UnknownKey {
                kind,
                key,
                value,
                allowed,
                nearest,
            } => {
                write!(f, "{kind}: no option {key:?} (value {value:?}); ")?;
                if allowed.is_empty() {
                    return write!(f, "this kind of device has no options");
                }
                write!(f, "allowed: {}", allowed.join(", "))?;
                suggest(f, *nearest)
            }
            Self::BadValue {
                key,
                value,
                allowed,
                nearest,
            } => {
                write!(
                    f,
                    "option {key}: value {value:?} is not possible; allowed: {allowed}"
                )?;
                suggest(f, *nearest)
            }
            Self::Repeated { key } => write!(f, "option {key:?} is given twice; give it once"),
        }
    }
}

impl core::error::Error for UriError {}

fn kinds() -> String {
    KINDS.map(|kind| format!("{kind}:")).join(" ")
}

fn suggest(f: &mut fmt::Formatter<'_>, nearest: Option<&'static str>) -> fmt::Result {
    match nearest {
        Some(word) => write!(f, "; did you mean {word:?}?"),
        None => Ok(()),
    }
}
