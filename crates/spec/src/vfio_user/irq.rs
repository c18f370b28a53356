//! DEVICE_GET_IRQ_INFO and DEVICE_SET_IRQS: the device's interrupts.

use crate::layout::{Field, Malformed};
use crate::vfio_user::{data_of, split};

/// Kinds of interrupts of a PCI device [linux/vfio.h "VFIO_PCI_INTX_IRQ_INDEX"].
pub mod irq_index {
    /// INTx: one interrupt.
    pub const INTX: u32 = 0;
    /// MSI.
    pub const MSI: u32 = 1;
    /// MSI-X: one interrupt for each entry of its table.
    pub const MSIX: u32 = 2;
    /// The device reports an error.
    pub const ERR: u32 = 3;
    /// The device asks to be given back.
    pub const REQ: u32 = 4;
    /// How many there are.
    pub const COUNT: u32 = 5;
}

bit_fields! {
    /// Flags of DEVICE_GET_IRQ_INFO.
    IrqFlags(u32) {
        /// VFIO_IRQ_INFO_EVENTFD: an interrupt can be the signal of an eventfd.
        eventfd, with_eventfd: bool = 0;
        /// VFIO_IRQ_INFO_MASKABLE: the device takes the actions mask and unmask.
        maskable, with_maskable: bool = 1;
        /// VFIO_IRQ_INFO_AUTOMASKED: an interrupt masks itself when it is signalled.
        automasked, with_automasked: bool = 2;
        /// VFIO_IRQ_INFO_NORESIZE: more interrupts can be set up only after all of the kind were disabled.
        noresize, with_noresize: bool = 3;
    }
}

layout! {
    /// The request of DEVICE_GET_IRQ_INFO, where all but `argsz` and `index` is 0, and its reply
    /// [vfio-user 0.2 "VFIO_USER_DEVICE_GET_IRQ_INFO"].
    IrqInfo[16] {
        /// Of the request: the most bytes that the reply's payload may have. Of the reply: the bytes that it needs.
        0 => argsz: u32,
        /// What these interrupts can do.
        4 => flags: IrqFlags,
        /// The kind; see [`irq_index`].
        8 => index: u32,
        /// Interrupts of the kind; 0 where the device has none.
        12 => count: u32,
    }
}

bit_fields! {
    /// Flags of DEVICE_SET_IRQS: one kind of data and one action.
    IrqSetFlags(u32) {
        /// VFIO_IRQ_SET_DATA_NONE: there are no data, the action is for every interrupt of the range.
        data_none, with_data_none: bool = 0;
        /// VFIO_IRQ_SET_DATA_BOOL: a byte for each interrupt says whether the action is for it.
        data_bool, with_data_bool: bool = 1;
        /// VFIO_IRQ_SET_DATA_EVENTFD: the message carries an eventfd for each interrupt.
        data_eventfd, with_data_eventfd: bool = 2;
        /// VFIO_IRQ_SET_ACTION_MASK.
        mask, with_mask: bool = 3;
        /// VFIO_IRQ_SET_ACTION_UNMASK.
        unmask, with_unmask: bool = 4;
        /// VFIO_IRQ_SET_ACTION_TRIGGER.
        trigger, with_trigger: bool = 5;
        /// Bits that mean nothing.
        reserved, with_reserved: u32 = 31:6;
    }
}

/// What DEVICE_SET_IRQS does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IrqAction {
    /// Hold interrupts back.
    Mask,
    /// Let them through again.
    Unmask,
    /// Signal them, or, with eventfds, say how they are to be signalled.
    Trigger,
}

/// To which interrupts of the range the action of DEVICE_SET_IRQS belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IrqData<'d> {
    /// To all.
    None,
    /// To those whose byte is not 0. There is a byte for each.
    Bool(&'d [u8]),
    /// The action is not done: the message's eventfds, one for each interrupt, are signalled whenever it is. Without
    /// any file descriptor in the message, the interrupts of the range have none from now on.
    Eventfd,
}

const HEAD_BYTES: usize = 20;

/// The request of DEVICE_SET_IRQS; its reply has no payload [vfio-user 0.2 "VFIO_USER_DEVICE_SET_IRQS"].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetIrqs<'d> {
    /// What is done.
    pub action: IrqAction,
    /// To which interrupts of the range.
    pub data: IrqData<'d>,
    /// The kind; see [`irq_index`]. Not checked.
    pub index: u32,
    /// The first interrupt of the range, within its kind.
    pub start: u32,
    /// Interrupts of the range; `start` and this add up within 32 bits. Not checked against what the device has.
    pub count: u32,
}

impl<'d> SetIrqs<'d> {
    /// Bytes before the data.
    pub const HEAD_BYTES: usize = HEAD_BYTES;

    /// Reads the payload. `argsz` is not looked at: the message says its size itself.
    ///
    /// # Errors
    /// If there are fewer than 20 bytes, or fewer data than interrupts; if the flags do not name one kind of data and one
    /// action and nothing else; if the range passes 32 bits.
    pub fn parse(payload: &'d [u8]) -> Result<Self, Malformed> {
        let (head, _) = split::<HEAD_BYTES>(payload)?;
        let (_argsz, rest) = head.split_at(4);
        let (flags, rest) = rest.split_at(4);
        let (index, rest) = rest.split_at(4);
        let (start, count) = rest.split_at(4);
        let flags = IrqSetFlags::read(flags);
        let (start, count) = (u32::read(start), u32::read(count));
        let wrong = Malformed::Field { name: "flags" };
        if flags.reserved() != 0 {
            return Err(wrong);
        }
        let action = match (flags.mask(), flags.unmask(), flags.trigger()) {
            (true, false, false) => IrqAction::Mask,
            (false, true, false) => IrqAction::Unmask,
            (false, false, true) => IrqAction::Trigger,
            _ => return Err(wrong),
        };
        let kinds = (flags.data_none(), flags.data_bool(), flags.data_eventfd());
        if start.checked_add(count).is_none() {
            return Err(Malformed::Field { name: "count" });
        }
        let data = match kinds {
            (true, false, false) => IrqData::None,
            (false, true, false) => IrqData::Bool(data_of(payload, HEAD_BYTES, count as usize)?),
            (false, false, true) => IrqData::Eventfd,
            _ => return Err(wrong),
        };
        Ok(Self {
            action,
            data,
            index: Field::read(index),
            start,
            count,
        })
    }

    /// Whether this disables every interrupt of its kind: to trigger none of them, without data
    /// [linux/vfio.h "struct vfio_irq_set"].
    pub fn disables_all(&self) -> bool {
        self.action == IrqAction::Trigger && self.data == IrqData::None && self.count == 0
    }

    /// Appends the payload to `payload`, with its size as `argsz`.
    ///
    /// # Panics
    /// If there are more or fewer data than interrupts.
    pub fn emit(&self, payload: &mut Vec<u8>) {
        let flags = IrqSetFlags::from_bits(0);
        let flags = match self.action {
            IrqAction::Mask => flags.with_mask(true),
            IrqAction::Unmask => flags.with_unmask(true),
            IrqAction::Trigger => flags.with_trigger(true),
        };
        let (flags, data): (_, &[u8]) = match self.data {
            IrqData::None => (flags.with_data_none(true), &[]),
            IrqData::Bool(data) => (flags.with_data_bool(true), data),
            IrqData::Eventfd => (flags.with_data_eventfd(true), &[]),
        };
        assert!(
            !flags.data_bool() || data.len() == self.count as usize,
            "every interrupt of the range has its byte"
        );
        let argsz = (HEAD_BYTES + data.len()) as u32;
        for word in [argsz, flags.bits(), self.index, self.start, self.count] {
            payload.extend_from_slice(&word.to_le_bytes());
        }
        payload.extend_from_slice(data);
    }
}
