//! Registers: every value has its fields, and the fields make the value again.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::fields;
use libfuzzer_sys::fuzz_target;
use spec::QueueId;
use spec::nvme::register::{
    self, AdminQueueAttributes, Capabilities, Configuration, ControllerStatus, ReadyTimeouts,
    ShutdownStatus, Version,
};

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let bits_u32 = from.u32();
    let bits_u64 = from.u64();
    fields! { bits_u32;
        Version: ter with_ter mnr with_mnr mjr with_mjr;
        Configuration: en with_en css with_css mps with_mps ams with_ams shn with_shn iosqes with_iosqes
            iocqes with_iocqes crime with_crime;
        ControllerStatus: rdy with_rdy cfs with_cfs shst with_shst nssro with_nssro pp with_pp st with_st;
        AdminQueueAttributes: asqs with_asqs acqs with_acqs;
        ReadyTimeouts: crwmt with_crwmt crimt with_crimt;
    }
    fields! { bits_u64;
        Capabilities: mqes with_mqes cqr with_cqr ams with_ams to with_to dstrd with_dstrd nssrs with_nssrs
            css with_css bps with_bps cps with_cps mpsmin with_mpsmin mpsmax with_mpsmax pmrs with_pmrs cmbs
            with_cmbs nsss with_nsss crwms with_crwms crims with_crims;
    }
    meaning(&mut from);
});

/// What the views say beyond their fields.
fn meaning(from: &mut Decoder<'_>) {
    let capabilities = Capabilities::from_bits(from.u64());
    assert!((1..=65_536).contains(&capabilities.queue_entries_max()));
    assert!(capabilities.page_bytes_min().is_power_of_two());
    assert!(capabilities.page_bytes_max().is_power_of_two());
    assert!(capabilities.doorbell_stride_bytes().is_power_of_two());
    let _ = capabilities.timeout();

    let configuration = Configuration::from_bits(from.u32());
    assert!(configuration.page_bytes().is_power_of_two());
    let _ = (configuration.command_set(), configuration.shutdown());

    let status = ControllerStatus::from_bits(from.u32());
    assert_eq!(status.with_shutdown(status.shutdown()), status);
    let _ = ShutdownStatus::Normal;

    let queues = AdminQueueAttributes::from_bits(from.u32());
    let entries = 1..=AdminQueueAttributes::ENTRIES_MAX;
    assert!(entries.contains(&queues.submission_entries()));
    assert!(entries.contains(&queues.completion_entries()));

    let version = Version::new(from.u16(), from.u8(), from.u8());
    assert!(version.to_string().starts_with(&version.mjr().to_string()));

    let (queue, stride) = (QueueId::new(from.u16()), from.u8());
    let tail = register::submission_doorbell(queue, stride);
    let head = register::completion_doorbell(queue, stride);
    assert!(register::DOORBELLS <= tail && tail < head);
}
