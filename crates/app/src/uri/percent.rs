//! Percent encoding of paths and names [RFC 3986 §2.1 Percent-Encoding], byte by byte.

use core::fmt::Write as _;

/// The text holds a `%` that two hexadecimal digits do not follow, or the byte zero, which no path can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadEscape;

/// The bytes that a percent-encoded text stands for.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, BadEscape> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let high = rest.next().and_then(hex).ok_or(BadEscape)?;
                let low = rest.next().and_then(hex).ok_or(BadEscape)?;
                high << 4 | low
            }
            plain => plain,
        };
        if byte == 0 {
            return Err(BadEscape);
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// The text that stands for `bytes`: letters, digits and `/._-~:+,@=` as they are, everything else as `%XX`.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        // The planted bug shows an escaped percent sign bare, which then begins an escape itself.
        let bare = cfg!(fuzz_planted_bug) && byte == b'%';
        if bare || byte.is_ascii_alphanumeric() || b"/._-~:+,@=".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}"); // writing to a String cannot fail
        }
    }
    text
}
