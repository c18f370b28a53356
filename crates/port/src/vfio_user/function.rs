//! The PCIe function that a client sees: its regions, its interrupts, its memory.

use std::os::fd::{BorrowedFd, OwnedFd};

use mem::{IovaMap, Region};
use rustix::io::Errno;
use spec::vfio_user::{DmaMap, DmaUnmap, IrqAction, IrqData, SetIrqs, irq_index, region_index};

use super::config_space::{ConfigSpace, Effect};
use super::dma::Dma;
use super::interrupts::{Interrupts, Line, take_eventfd};
use super::worker::{Gone, Mailbox};
use crate::limits::{BAR0_BYTES, DOORBELL_BYTES, DOORBELLS, MSIX_PENDING, MSIX_TABLE, VECTORS};

/// Bytes of an entry of the MSI-X table.
const MSIX_ENTRY_BYTES: usize = 16;

/// Why the client hears an error.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// What it wants cannot be: this error number.
    #[error("{0}")]
    Errno(#[from] Errno),
    /// The controller's thread has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// The function.
#[derive(Debug)]
pub(super) struct Function {
    mailbox: Mailbox,
    /// BAR0 as the client may map it. Only the doorbells are looked at there.
    bar0: Region,
    vendor_id: u16,
    config: ConfigSpace,
    /// The MSI-X table, for those who read back what they wrote. Where interrupts go is said with SET_IRQS.
    msix_table: Vec<u8>,
    dma: Dma,
}

impl Function {
    pub(super) fn new(mailbox: Mailbox, bar0: Region, vendor_id: u16) -> Self {
        Self {
            mailbox,
            bar0,
            vendor_id,
            config: ConfigSpace::new(vendor_id),
            msix_table: fresh_table(),
            dma: Dma::default(),
        }
    }

    /// BAR0's memory, for the client to map the doorbells.
    pub(super) fn bar0(&self) -> BorrowedFd<'_> {
        self.bar0.fd().expect("BAR0 is a memory file")
    }

    /// Bytes of a region; 0 where there is none.
    pub(super) fn region_bytes(index: u32) -> u64 {
        match index {
            region_index::BAR0 => BAR0_BYTES,
            region_index::CONFIG => ConfigSpace::BYTES as u64,
            _ => 0,
        }
    }

    /// Interrupts of a kind; 0 where there are none.
    pub(super) fn interrupts(index: u32) -> u32 {
        match index {
            irq_index::INTX => 1,
            irq_index::MSIX => VECTORS.into(),
            _ => 0,
        }
    }

    /// Reads from a region into `bytes`; what is not there reads as all ones.
    pub(super) fn read(&self, region: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Gone> {
        bytes.fill(0xff);
        let Some(inside) = bytes_inside(region, offset, bytes.len()) else {
            return Ok(());
        };
        let bytes = &mut bytes[..inside];
        if region == region_index::CONFIG {
            self.config.read(offset as usize, bytes);
            return Ok(());
        }
        match offset {
            0..DOORBELLS => return self.read_registers(offset as u32, bytes),
            DOORBELLS..MSIX_TABLE => {
                let read = self.bar0.whole().read_bytes(offset as usize, bytes);
                assert!(read.is_ok(), "the access lies in BAR0");
            }
            MSIX_TABLE..MSIX_PENDING => {
                let table = self.msix_table.iter().skip((offset - MSIX_TABLE) as usize);
                bytes.fill(0);
                for (to, from) in bytes.iter_mut().zip(table) {
                    *to = *from;
                }
            }
            // Nothing is pending: what is masked with MSI-X is masked at the client.
            _ => bytes.fill(0),
        }
        Ok(())
    }

    /// Writes to a region; what is not there swallows it.
    pub(super) fn write(&mut self, region: u32, offset: u64, bytes: &[u8]) -> Result<(), Gone> {
        let Some(inside) = bytes_inside(region, offset, bytes.len()) else {
            return Ok(());
        };
        let bytes = &bytes[..inside];
        if region == region_index::CONFIG {
            return match self.config.write(offset as usize, bytes) {
                Effect::None => Ok(()),
                Effect::Reset => self.reset(),
            };
        }
        if offset >= MSIX_TABLE {
            let table = self.msix_table.iter_mut();
            for (to, from) in table.skip((offset - MSIX_TABLE) as usize).zip(bytes) {
                *to = *from;
            }
            return Ok(());
        }
        let (offset, count) = (offset as u32, bytes.len() as u32);
        let mut value = [0; 8];
        let Some(low) = value.get_mut(..bytes.len()) else {
            return Ok(()); // no processor writes so much at once
        };
        low.copy_from_slice(bytes);
        let value = u64::from_le_bytes(value);
        self.mailbox.ask(move |served| {
            served.controller.write_register(offset, count, value);
        })
    }

    /// Registers in one errand. A read of another size than the controller knows is put together from whole words.
    fn read_registers(&self, offset: u32, bytes: &mut [u8]) -> Result<(), Gone> {
        let count = bytes.len() as u32;
        let whole = matches!(count, 4 | 8) && offset.is_multiple_of(count);
        let found = self.mailbox.ask(move |served| {
            if whole {
                let value = served.controller.read_register(offset, count);
                return value.to_le_bytes().to_vec();
            }
            let first = offset & !3;
            let words = (first..offset + count).step_by(4);
            let word = |at| served.controller.read_register(at, 4) as u32;
            let image: Vec<u8> = words.flat_map(|at| word(at).to_le_bytes()).collect();
            image.into_iter().skip((offset - first) as usize).collect()
        })?;
        for (to, from) in bytes.iter_mut().zip(found) {
            *to = from;
        }
        Ok(())
    }

    /// Takes memory of the client's. The controller knows it when this returns.
    pub(super) fn dma_map(&mut self, request: &DmaMap, fd: Option<OwnedFd>) -> Result<(), Refusal> {
        self.dma.map(request, fd)?;
        Ok(self.publish_memory()?)
    }

    /// Gives memory of the client's up. The controller has let go of it when this returns; says how many bytes it was.
    pub(super) fn dma_unmap(&mut self, request: &DmaUnmap) -> Result<u64, Refusal> {
        let bytes = self.dma.unmap(request)?;
        self.publish_memory()?;
        Ok(bytes)
    }

    fn publish_memory(&self) -> Result<(), Gone> {
        let table = self.dma.table();
        self.mailbox
            .ask(move |served| served.controller.set_memory(table))
    }

    /// What SET_IRQS asks for, with the descriptors that came with it.
    pub(super) fn set_irqs(&self, request: &SetIrqs<'_>, fds: Vec<OwnedFd>) -> Result<(), Refusal> {
        let have = Self::interrupts(request.index);
        if request.disables_all() {
            let index = request.index;
            let all = move |interrupts: &mut Interrupts| {
                (0..have).for_each(|at| interrupts.set(line(index, at), None));
            };
            return Ok(self
                .mailbox
                .ask(move |served| all(&mut served.interrupts))?);
        }
        // The sum was checked when the request was read.
        if request.start + request.count > have {
            return Err(Errno::INVAL.into());
        }
        let lines = (request.start..request.start + request.count)
            .map(|at| line(request.index, at))
            .collect::<Vec<_>>();
        let chosen = match request.data {
            IrqData::Eventfd => return self.set_eventfds(request.action, lines, fds),
            IrqData::None => lines,
            IrqData::Bool(wanted) => {
                let pairs = lines.into_iter().zip(wanted);
                pairs
                    .filter_map(|(line, &byte)| (byte != 0).then_some(line))
                    .collect()
            }
        };
        let action = request.action;
        Ok(self.mailbox.ask(move |served| {
            for line in chosen {
                match (action, line) {
                    (IrqAction::Trigger, line) => served.interrupts.trigger(line),
                    (IrqAction::Mask, Line::Pin) => served.interrupts.mask_pin(true),
                    (IrqAction::Unmask, Line::Pin) => served.interrupts.mask_pin(false),
                    // The table masks MSI-X, and the client keeps the table.
                    (IrqAction::Mask | IrqAction::Unmask, Line::Msix(_)) => {}
                }
            }
        })?)
    }

    fn set_eventfds(
        &self,
        action: IrqAction,
        lines: Vec<Line>,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Refusal> {
        if action != IrqAction::Trigger || (!fds.is_empty() && fds.len() != lines.len()) {
            return Err(Errno::INVAL.into());
        }
        let fds = fds
            .into_iter()
            .map(take_eventfd)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(self.mailbox.ask(move |served| {
            let mut fds = fds.into_iter();
            for line in lines {
                served.interrupts.set(line, fds.next());
            }
        })?)
    }

    /// Function level reset: as after power-on, but for what the client's memory is and whom it tells of interrupts.
    pub(super) fn reset(&mut self) -> Result<(), Gone> {
        self.config = ConfigSpace::new(self.vendor_id);
        self.msix_table = fresh_table();
        self.mailbox.ask(|served| served.controller.reset())
    }

    /// The client has gone: nothing of it is left.
    pub(super) fn forget_client(&mut self) -> Result<(), Gone> {
        self.config = ConfigSpace::new(self.vendor_id);
        self.msix_table = fresh_table();
        self.dma = Dma::default();
        let nothing = IovaMap::new().table();
        self.mailbox.ask(move |served| {
            served.controller.reset();
            served.controller.set_memory(nothing);
            served.interrupts = Interrupts::default();
        })
    }
}

/// Every vector of the table, masked, as after a reset [PCI Express Base §7.7.2].
fn fresh_table() -> Vec<u8> {
    let mut table = vec![0; usize::from(VECTORS) * MSIX_ENTRY_BYTES];
    for entry in table.chunks_exact_mut(MSIX_ENTRY_BYTES) {
        if let Some(control) = entry.get_mut(12) {
            *control = 1;
        }
    }
    table
}

fn line(index: u32, at: u32) -> Line {
    if index == irq_index::MSIX {
        Line::Msix(at as u16)
    } else {
        Line::Pin
    }
}

/// How many bytes of an access lie in its region and in the same part of BAR0; nothing if it begins outside.
fn bytes_inside(region: u32, offset: u64, count: usize) -> Option<usize> {
    let mut end = Function::region_bytes(region);
    if region == region_index::BAR0 {
        let parts = [
            DOORBELLS,
            DOORBELLS + DOORBELL_BYTES,
            MSIX_PENDING,
            BAR0_BYTES,
        ];
        end = parts.into_iter().find(|&part| offset < part)?;
    }
    let room = end.checked_sub(offset).filter(|&room| room > 0)?;
    Some(count.min(usize::try_from(room).unwrap_or(usize::MAX)))
}
