//! Who is to be told of an interrupt, and telling him.

use std::os::fd::OwnedFd;

use controller::Vectors;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::limits::VECTORS;

/// The eventfds that a client gave for the function's interrupts. The thread of the queues owns them.
#[derive(Debug)]
pub(super) struct Interrupts {
    msix: Box<[Option<OwnedFd>]>,
    intx: Option<OwnedFd>,
    /// Whether the client masked the pin.
    intx_masked: bool,
    /// What was asked for while the pin was masked.
    intx_pending: bool,
    /// Any of `msix` is there.
    has_msix: bool,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self {
            msix: (0..VECTORS).map(|_| None).collect(),
            intx: None,
            intx_masked: false,
            intx_pending: false,
            has_msix: false,
        }
    }
}

/// An interrupt of the function, as SET_IRQS names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The pin.
    Pin,
    /// An MSI-X vector.
    Msix(u16),
}

impl Interrupts {
    /// Gives a line somebody to tell, or nobody.
    pub(super) fn set(&mut self, line: Line, fd: Option<OwnedFd>) {
        match line {
            Line::Pin => {
                self.intx = fd;
                self.intx_pending &= self.intx.is_some();
            }
            Line::Msix(vector) => {
                if let Some(place) = self.msix.get_mut(usize::from(vector)) {
                    *place = fd;
                }
                self.has_msix = self.msix.iter().any(Option::is_some);
            }
        }
    }

    /// Masks the pin, or unmasks it, which brings what was held back.
    pub(super) fn mask_pin(&mut self, masked: bool) {
        self.intx_masked = masked;
        if !masked && core::mem::take(&mut self.intx_pending) {
            self.trigger(Line::Pin);
        }
    }

    /// Tells whoever listens to a line.
    pub(super) fn trigger(&mut self, line: Line) {
        let fd = match line {
            Line::Pin if self.intx_masked => {
                self.intx_pending = true;
                return;
            }
            Line::Pin => self.intx.as_ref(),
            Line::Msix(vector) => self.msix.get(usize::from(vector)).and_then(Option::as_ref),
        };
        if let Some(fd) = fd {
            // It does not block, and a counter that is full has told its reader already.
            let _ = rustix::io::write(fd, &1_u64.to_ne_bytes());
        }
    }

    /// Tells of a batch's interrupts. Without MSI-X, they share the pin, where the host's register masks them.
    pub(super) fn deliver(&mut self, vectors: &Vectors, masked: u32) {
        if self.has_msix {
            for vector in vectors.iter() {
                self.trigger(Line::Msix(vector));
            }
        } else if self.intx.is_some() {
            let heard = |vector: u16| vector >= 32 || masked >> vector & 1 == 0;
            if vectors.iter().any(heard) {
                self.trigger(Line::Pin);
            }
        }
    }
}

/// Whether a descriptor is one that an interrupt may be written to: an eventfd, and none that could block us.
pub(super) fn take_eventfd(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    let name = rustix::fs::readlink(
        format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd)),
        Vec::new(),
    )?;
    if name.as_bytes() != EVENTFD {
        return Err(Errno::INVAL);
    }
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    Ok(fd)
}

/// What the kernel calls an eventfd among a process's descriptors.
const EVENTFD: &[u8] = b"anon_inode:[eventfd]";
