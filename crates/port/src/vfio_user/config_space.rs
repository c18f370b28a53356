//! PCI configuration space: what the function says of itself, and what a client may change there.

use spec::Series;
use spec::pci::{
    Bar, ClassCode, CommandRegister, ConfigHeader, DeviceCapabilities, DeviceControl,
    DeviceControl2, EXTENDED_CONFIG_BYTES, ExpressCapabilities, LinkCapabilities,
    LinkCapabilities2, LinkControl, LinkControl2, LinkStatus, MsixCapability, MsixControl,
    PciExpress, PowerCapabilities, PowerControl, PowerManagement, StatusRegister, TableLocation,
    register,
};

use crate::limits::{BAR0_BYTES, MSIX_PENDING, MSIX_TABLE, VECTORS};

/// The device, among those that vendor 1AF4h leaves to experiments. Not the 0010h of vendor 1B36h, QEMU's NVMe controller:
/// Linux takes that for one without usable identifiers and Write Zeroes.
const DEVICE_ID: u16 = 0x10f0;

/// Where the capabilities stand, each beginning with a multiple of 16.
const POWER_AT: usize = 0x40;
const MSIX_AT: usize = 0x50;
const EXPRESS_AT: usize = 0x60;

/// Device Control's place in configuration space.
const DEVICE_CONTROL_AT: usize = EXPRESS_AT + 8;

/// What a write asks for beyond being remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// A function level reset.
    Reset,
}

/// The 4096 bytes, and which of their bits may be written.
#[derive(Clone, Debug)]
pub(super) struct ConfigSpace {
    bytes: Box<[u8; EXTENDED_CONFIG_BYTES]>,
    writable: Box<[u8; EXTENDED_CONFIG_BYTES]>,
}

impl ConfigSpace {
    /// Bytes of the space.
    pub(super) const BYTES: usize = EXTENDED_CONFIG_BYTES;

    /// A function of this vendor's, as after a reset.
    pub(super) fn new(vendor_id: u16) -> Self {
        let mut new = Self {
            bytes: Box::new([0; EXTENDED_CONFIG_BYTES]),
            writable: Box::new([0; EXTENDED_CONFIG_BYTES]),
        };
        new.put(0, &header(vendor_id).to_bytes());
        new.put(POWER_AT, &power().to_bytes());
        new.put(MSIX_AT, &msix().to_bytes());
        new.put(EXPRESS_AT, &express().to_bytes());
        let command =
            CommandRegister::WRITABLE & !CommandRegister::default().with_io_space(true).bits();
        new.allow(register::COMMAND, &command.to_le_bytes());
        new.allow(register::CACHE_LINE_SIZE, &[0xff]);
        new.allow(register::INTERRUPT_LINE, &[0xff]);
        let [low, high] = Bar::writable_64(BAR0_BYTES);
        new.allow(register::BAR0, &low.to_le_bytes());
        new.allow(register::BAR1, &high.to_le_bytes());
        new.allow(POWER_AT + 4, &PowerControl::WRITABLE.to_le_bytes());
        new.allow(MSIX_AT + 2, &MsixControl::WRITABLE.to_le_bytes());
        new.allow(DEVICE_CONTROL_AT, &DeviceControl::WRITABLE.to_le_bytes());
        new.allow(EXPRESS_AT + 16, &LinkControl::WRITABLE.to_le_bytes());
        new.allow(EXPRESS_AT + 40, &DeviceControl2::WRITABLE.to_le_bytes());
        new
    }

    /// Reads from `offset` on; what lies outside is left as it is.
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) {
        for (to, from) in bytes.iter_mut().zip(self.bytes.iter().skip(offset)) {
            *to = *from;
        }
    }

    /// Writes from `offset` on: the bits that may be written, and no other.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) -> Effect {
        let mut effect = Effect::None;
        let places = self.bytes.iter_mut().zip(self.writable.iter()).enumerate();
        for ((at, (place, &mask)), &new) in places.skip(offset).zip(bytes) {
            *place = *place & !mask | new & mask;
            // Initiate Function Level Reset is the highest bit of Device Control.
            if at == DEVICE_CONTROL_AT + 1 && new & 0x80 != 0 {
                effect = Effect::Reset;
            }
        }
        effect
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }

    fn allow(&mut self, at: usize, mask: &[u8]) {
        for (to, from) in self.writable.iter_mut().skip(at).zip(mask) {
            *to = *from;
        }
    }
}

fn header(vendor_id: u16) -> ConfigHeader {
    let [low, high] = Bar::memory_64(0, false);
    let none = Bar::default();
    ConfigHeader {
        vendor_id,
        device_id: DEVICE_ID,
        status: StatusRegister::default().with_capabilities_list(true),
        revision_id: 2,
        class_code: ClassCode::NVME,
        bars: Series([low, high, none, none, none, none]),
        subsystem_vendor_id: vendor_id,
        subsystem_id: DEVICE_ID,
        capabilities_pointer: POWER_AT as u8,
        interrupt_pin: 1,
        ..ConfigHeader::default()
    }
}

fn power() -> PowerManagement {
    PowerManagement {
        next: MSIX_AT as u8,
        capabilities: PowerCapabilities::default().with_version(3),
        control: PowerControl::default().with_no_soft_reset(true),
        ..PowerManagement::default()
    }
}

fn msix() -> MsixCapability {
    MsixCapability {
        next: EXPRESS_AT as u8,
        // The table's size is 0's based.
        control: MsixControl::default().with_size(VECTORS - 1),
        table: TableLocation::new(0, MSIX_TABLE as u32),
        pending: TableLocation::new(0, MSIX_PENDING as u32),
        ..MsixCapability::default()
    }
}

/// An endpoint on four lanes at 8 GT/s, as drives of this kind have.
fn express() -> PciExpress {
    const GT8: u8 = 3;
    PciExpress {
        capabilities: ExpressCapabilities::ENDPOINT,
        device_capabilities: DeviceCapabilities::default()
            .with_max_payload(1)
            .with_role_based_error_reporting(true)
            .with_function_level_reset(true),
        device_control: DeviceControl::RESET,
        link_capabilities: LinkCapabilities::default()
            .with_max_speed(GT8)
            .with_max_width(4)
            .with_aspm_optionality(true),
        link_status: LinkStatus::default().with_speed(GT8).with_width(4),
        device_capabilities_2: spec::pci::DeviceCapabilities2::default()
            .with_completion_timeout_disable(true),
        link_capabilities_2: LinkCapabilities2::default().with_speeds(0b111),
        link_control_2: LinkControl2::default().with_target_speed(GT8),
        ..PciExpress::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(space: &ConfigSpace, at: usize) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn it_is_an_nvme_controller_with_its_capabilities_in_a_chain() {
        let space = ConfigSpace::new(0x1af4);
        assert_eq!(word(&space, 0), 0x10f0_1af4);
        assert_eq!(word(&space, 8) >> 8, 0x01_08_02, "class code");
        let (mut found, mut at) = (Vec::new(), word(&space, 0x34) as usize & 0xff);
        while at != 0 {
            found.push(word(&space, at) & 0xff);
            at = word(&space, at) as usize >> 8 & 0xff;
        }
        assert_eq!(found, [0x01, 0x11, 0x10]);
        assert_eq!(word(&space, 0x52) & 0x7ff, 128, "129 vectors");
        assert_eq!((word(&space, 0x54), word(&space, 0x58)), (0x2000, 0x3000));
        assert_eq!(word(&space, 0x100), 0, "no extended capability");
    }

    #[test]
    fn a_host_finds_the_size_of_bar0_by_writing_ones() {
        let mut space = ConfigSpace::new(0x1af4);
        assert_eq!(space.write(0x10, &[0xff; 24]), Effect::None);
        assert_eq!(word(&space, 0x10), 0xffff_c004, "16 KiB, 64-bit memory");
        assert_eq!(word(&space, 0x14), 0xffff_ffff);
        for bar in [0x18, 0x1c, 0x20, 0x24] {
            assert_eq!(word(&space, bar), 0);
        }
    }

    #[test]
    fn only_what_may_be_written_changes_and_nothing_outside_is_touched() {
        let fresh = ConfigSpace::new(0x1af4);
        let mut space = fresh.clone();
        for at in 0..ConfigSpace::BYTES {
            // All but the bit that resets.
            let new = if at == DEVICE_CONTROL_AT + 1 {
                0x7f
            } else {
                0xff
            };
            assert_eq!(space.write(at, &[new]), Effect::None);
        }
        assert_eq!(word(&space, 0), word(&fresh, 0));
        assert_eq!(word(&space, 4) & 0xffff, 0x0546, "no I/O space");
        assert_eq!(word(&space, 0x34), word(&fresh, 0x34));
        assert_eq!(word(&space, MSIX_AT) >> 16, 0xc080);
        assert_eq!(space.write(ConfigSpace::BYTES - 1, &[1; 8]), Effect::None);
        assert_eq!(space.write(usize::MAX, &[1; 8]), Effect::None);
    }

    #[test]
    fn a_function_level_reset_is_asked_for_by_one_bit() {
        let mut space = ConfigSpace::new(0x1af4);
        let control = (DeviceControl::RESET.bits() | 0x8000).to_le_bytes();
        assert_eq!(space.write(DEVICE_CONTROL_AT, &control), Effect::Reset);
        assert_eq!(
            word(&space, DEVICE_CONTROL_AT) & 0x8000,
            0,
            "it reads as zero"
        );
    }
}
