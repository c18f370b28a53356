//! Addresses of controllers outside this process.

use core::fmt;
use core::net::Ipv6Addr;

use super::{UriError, percent};
use crate::limits;

/// A subsystem behind NVMe/TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeTcp {
    /// A host name or an IPv4 or IPv6 address, the last without its brackets.
    pub host: String,
    /// The TCP port, not zero. The standard's own is 4420.
    pub port: u16,
    /// The subsystem's NVMe qualified name.
    pub nqn: String,
}

impl NvmeTcp {
    /// Reads `//HOST:PORT/NQN`.
    pub(super) fn parse(target: &str) -> Result<Self, UriError> {
        let refuse = |problem: &str| UriError::BadTarget {
            kind: "nvme-tcp",
            found: target.to_owned(),
            problem: problem.to_owned(),
            allowed: "//HOST:PORT/NQN, for example //192.0.2.1:4420/nqn.2026-11.io.example:drive, or //[2001:db8::1]:4420/...",
        };
        let rest = target
            .strip_prefix("//")
            .ok_or_else(|| refuse("it does not begin with //"))?;
        let (place, nqn) = rest
            .split_once('/')
            .ok_or_else(|| refuse("the NQN is missing"))?;
        let (host, port) = place
            .rsplit_once(':')
            .ok_or_else(|| refuse("the port is missing"))?;
        let port: u16 = port
            .parse()
            .ok()
            .filter(|&port| port != 0)
            .ok_or_else(|| refuse("the port is not a number from 1 to 65535"))?;
        let host =
            host_name(host).ok_or_else(|| refuse("the host is neither a name nor an address"))?;
        let nqn = percent::decode(nqn)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .filter(|nqn| (1..=limits::NQN_BYTES_MAX).contains(&nqn.len()))
            .ok_or_else(|| refuse("the NQN has 1 to 223 bytes of UTF-8"))?;
        Ok(Self { host, port, nqn })
    }
}

/// A host as it is kept: a name or IPv4 address of letters, digits, '-', '_' and '.', or an IPv6 address in brackets.
fn host_name(text: &str) -> Option<String> {
    if let Some(inside) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return inside
            .parse::<Ipv6Addr>()
            .ok()
            .map(|address| address.to_string());
    }
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!text.is_empty() && text.chars().all(sound)).then(|| text.to_owned())
}

impl fmt::Display for NvmeTcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, nqn } = self;
        let nqn = percent::encode(nqn.as_bytes());
        if host.contains(':') {
            write!(f, "[{host}]:{port}/{nqn}")
        } else {
            write!(f, "{host}:{port}/{nqn}")
        }
    }
}

/// The address of a PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    /// The domain (segment group).
    pub domain: u16,
    /// The bus.
    pub bus: u8,
    /// The device on its bus, 0 to 31.
    pub device: u8,
    /// The function of the device, 0 to 7.
    pub function: u8,
}

impl PciAddress {
    /// Reads `[DDDD:]BB:DD.F`, hexadecimal as `lspci -D` prints it.
    pub(super) fn parse(target: &str) -> Result<Self, UriError> {
        Self::read(target).ok_or_else(|| UriError::BadTarget {
            kind: "pci",
            found: target.to_owned(),
            problem: "it is not a PCI address".into(),
            allowed: "[domain:]bus:device.function in hexadecimal as lspci -D prints it, for example 0000:01:00.0",
        })
    }

    fn read(text: &str) -> Option<Self> {
        let (rest, function) = text.rsplit_once('.')?;
        let (rest, device) = rest.rsplit_once(':')?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0000", rest));
        let number = |digits: &str, length: usize, most: u16| {
            let sound = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let value = u16::from_str_radix(digits, 16).ok()?;
            (sound && value <= most).then_some(value)
        };
        Some(Self {
            domain: number(domain, 4, u16::MAX)?,
            bus: number(bus, 2, 0xff)?.try_into().ok()?,
            device: number(device, 2, 0x1f)?.try_into().ok()?,
            function: number(function, 1, 7)?.try_into().ok()?,
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}
