//! Registers [NVMe Base 2.0 §3.1.3].

use spec::nvme::register::{
    self, AdminQueueAttributes, CSS_NVM, Capabilities, Configuration, ReadyTimeouts, Version,
};

use crate::support::{BASE, Host, PAGE};

#[test]
fn capabilities_say_what_is_offered() {
    let host = Host::new();
    let cap = Capabilities::from_bits(host.controller.read_register(register::CAP, 8));
    assert_eq!(cap.mqes(), 4095);
    assert!(cap.cqr());
    assert_eq!(cap.ams(), 0);
    assert!(cap.to() > 0);
    assert_eq!(cap.dstrd(), 0);
    assert!(cap.nssrs());
    assert_eq!(cap.css(), CSS_NVM);
    assert_eq!((cap.mpsmin(), cap.mpsmax()), (0, 0));
    assert!(
        cap.crwms(),
        "version 2.0 demands Controller Ready With Media"
    );
    assert_eq!(Version::from_bits(host.read(register::VS)), Version::V2_0);
    let timeouts = ReadyTimeouts::from_bits(host.read(register::CRTO));
    assert_eq!(timeouts.crwmt(), u16::from(cap.to()));
}

#[test]
fn an_eight_byte_register_reads_the_same_in_halves() {
    let host = Host::ready();
    for offset in [register::CAP, register::ASQ, register::ACQ] {
        let whole = host.controller.read_register(offset, 8);
        let halves = u64::from(host.read(offset + 4)) << 32 | u64::from(host.read(offset));
        assert_eq!(whole, halves, "offset {offset:02x}h");
        assert_ne!(whole, 0);
    }
}

#[test]
fn accesses_of_other_sizes_or_alignment_read_as_zero_and_write_nothing() {
    let mut host = Host::new();
    for (offset, bytes) in [
        (0, 1),
        (0, 2),
        (0, 16),
        (2, 4),
        (4, 8),
        (0x2c, 8),
        (u32::MAX, 4),
    ] {
        assert_eq!(
            host.controller.read_register(offset, bytes),
            0,
            "{offset:x}h, {bytes} bytes"
        );
    }
    host.controller.write_register(register::ASQ, 2, u64::MAX);
    host.controller
        .write_register(register::ASQ + 4, 8, u64::MAX);
    host.controller
        .write_register(register::ASQ + 1, 4, u64::MAX);
    assert_eq!(host.controller.read_register(register::ASQ, 8), 0);
}

#[test]
fn registers_that_are_not_offered_read_as_zero() {
    let host = Host::ready();
    for offset in (register::CMBLOC..register::CRTO).step_by(4) {
        assert_eq!(host.read(offset), 0, "offset {offset:x}h");
    }
    for offset in (register::CRTO + 4..register::DOORBELLS + 64).step_by(4) {
        assert_eq!(host.read(offset), 0, "offset {offset:x}h");
    }
    assert_eq!(host.read(register::NSSR), 0);
}

#[test]
fn writes_to_read_only_registers_change_nothing() {
    let mut host = Host::ready();
    let readable = [
        register::CAP,
        register::CAP + 4,
        register::VS,
        register::CSTS,
        register::CRTO,
    ];
    let before = readable.map(|offset| host.read(offset));
    for offset in readable {
        host.write(offset, u32::MAX);
    }
    assert_eq!(readable.map(|offset| host.read(offset)), before);
}

#[test]
fn admin_queue_registers_can_be_read_back_while_the_controller_is_enabled() {
    let mut host = Host::new();
    host.prepare();
    let registers = |host: &Host| {
        let read = |offset| host.controller.read_register(offset, 8);
        (
            host.read(register::AQA),
            read(register::ASQ),
            read(register::ACQ),
        )
    };
    let written = registers(&host);
    host.write(register::CC, Host::cc().bits());
    assert!(host.csts().rdy());
    assert_eq!(registers(&host), written);
    assert_eq!(written.1, BASE);
}

#[test]
fn admin_queue_addresses_can_be_written_in_halves_and_begin_at_a_page() {
    let mut host = Host::new();
    host.write(register::ASQ, 0x1234_5fff);
    host.write(register::ASQ + 4, 0xabcd);
    assert_eq!(
        host.controller.read_register(register::ASQ, 8),
        0xabcd_1234_5000
    );
    host.write8(register::ACQ, 7 * PAGE + 5);
    assert_eq!(host.controller.read_register(register::ACQ, 8), 7 * PAGE);
}

#[test]
fn reserved_bits_of_the_admin_queue_attributes_stay_zero() {
    let mut host = Host::new();
    host.write(register::AQA, u32::MAX);
    let wanted = AdminQueueAttributes::default()
        .with_asqs(0xfff)
        .with_acqs(0xfff);
    assert_eq!(host.read(register::AQA), wanted.bits());
}

#[test]
fn interrupt_mask_set_and_clear_act_on_one_mask() {
    let mut host = Host::ready();
    host.write(register::INTMS, 0b1110);
    host.write(register::INTMC, 0b0100);
    assert_eq!(host.read(register::INTMS), 0b1010);
    assert_eq!(host.read(register::INTMC), 0b1010);
    assert_eq!(host.controller.interrupt_mask(), 0b1010);
    host.disable();
    assert_eq!(host.read(register::INTMS), 0, "a reset unmasks");
}

#[test]
fn fields_that_count_at_enabling_keep_showing_what_was_enabled() {
    let mut host = Host::ready();
    let changed: Configuration = Host::cc().with_mps(3).with_css(6).with_ams(1);
    host.write(register::CC, changed.bits());
    assert_eq!(host.read(register::CC), Host::cc().bits());
    assert!(host.csts().rdy() && !host.csts().cfs());
}
