//! The bits that the standard prints, transcribed as high:low, against those that the setters set and the getters read.

use core::time::Duration;

use spec::QueueId;
use spec::nvme::dsm::RangeContext;
use spec::nvme::event::AsyncEvent;
use spec::nvme::feature::{
    Arbitration, AsyncEventConfiguration, AutonomousPowerStates, ErrorRecovery,
    FeatureCapabilities, HostMemoryBuffer, InterruptCoalescing, InterruptVectorConfiguration,
    KeepAliveTimer, NonOperationalPower, NumberOfQueues, PowerManagement, PowerStateTransition,
    TemperatureThreshold, ThermalManagement, Timestamp, WriteAtomicity, WriteCache,
};
use spec::nvme::identify::{
    AsyncEventsSupported, ControllerAttributes, DeallocateFeatures, EntrySizes, FirmwareUpdates,
    FormatIndex, LbaFormat, LogPageAttributes, NamespaceFeatures, OptionalAdminCommands,
    OptionalNvmCommands, SglSupport, VolatileWriteCache,
};
use spec::nvme::log::{ActiveFirmware, CommandEffects, ErrorLocation, LogPageSupport};
use spec::nvme::register::{
    self, AdminQueueAttributes, Capabilities, CommandSetSelected, Configuration, ControllerStatus,
    ReadyTimeouts, ShutdownNotification, ShutdownStatus, Version,
};

/// All bits from high to low.
fn mask(high: u32, low: u32) -> u64 {
    (u64::MAX >> (63 - high)) & (u64::MAX << low)
}

/// Each line: setter, getter, the largest value of the field, its bits as the standard prints them.
macro_rules! assert_bits {
    ($name:ident { $($with:ident $get:ident $max:literal $high:literal : $low:literal;)* }) => {$(
        let word = $name::from_bits(0).$with($max);
        assert_eq!(u64::from(word.bits()), mask($high, $low), stringify!($name $get));
        assert_eq!(word.$get(), $max, stringify!($name $get));
        let rest = $name::from_bits(!0).$with(Default::default());
        assert_eq!(u64::from(!rest.bits()), mask($high, $low), stringify!($name $get));
        assert_eq!(rest.$get(), Default::default(), stringify!($name $get));
    )*};
}

#[test]
fn registers_hold_their_fields_where_the_standard_prints_them() {
    assert_bits!(Capabilities {
        with_mqes mqes 0xffff 15:0; with_cqr cqr true 16:16; with_ams ams 3 18:17; with_to to 0xff 31:24;
        with_dstrd dstrd 15 35:32; with_nssrs nssrs true 36:36; with_css css 0xff 44:37; with_bps bps true 45:45;
        with_cps cps 3 47:46; with_mpsmin mpsmin 15 51:48; with_mpsmax mpsmax 15 55:52; with_pmrs pmrs true 56:56;
        with_cmbs cmbs true 57:57; with_nsss nsss true 58:58; with_crwms crwms true 59:59; with_crims crims true 60:60;
    });
    assert_bits!(Version { with_ter ter 0xff 7:0; with_mnr mnr 0xff 15:8; with_mjr mjr 0xffff 31:16; });
    assert_bits!(Configuration {
        with_en en true 0:0; with_css css 7 6:4; with_mps mps 15 10:7; with_ams ams 7 13:11; with_shn shn 3 15:14;
        with_iosqes iosqes 15 19:16; with_iocqes iocqes 15 23:20; with_crime crime true 24:24;
    });
    assert_bits!(ControllerStatus {
        with_rdy rdy true 0:0; with_cfs cfs true 1:1; with_shst shst 3 3:2; with_nssro nssro true 4:4;
        with_pp pp true 5:5; with_st st true 6:6;
    });
    assert_bits!(AdminQueueAttributes { with_asqs asqs 0xfff 11:0; with_acqs acqs 0xfff 27:16; });
    assert_bits!(ReadyTimeouts { with_crwmt crwmt 0xffff 15:0; with_crimt crimt 0xffff 31:16; });
}

#[test]
fn registers_stand_at_the_offsets_that_the_standard_prints() {
    use register::*;
    let offsets = [
        CAP, VS, INTMS, INTMC, CC, CSTS, NSSR, AQA, ASQ, ACQ, CMBLOC, CMBSZ, BPINFO,
    ];
    let printed = [
        0x00, 0x08, 0x0c, 0x10, 0x14, 0x1c, 0x20, 0x24, 0x28, 0x30, 0x38, 0x3c, 0x40,
    ];
    assert_eq!(offsets, printed);
    let offsets = [
        BPRSEL, BPMBL, CMBMSC, CMBSTS, CMBEBS, CMBSWTP, NSSD, CRTO, PMRCAP,
    ];
    assert_eq!(
        offsets,
        [0x44, 0x48, 0x50, 0x58, 0x5c, 0x60, 0x64, 0x68, 0xe00]
    );
    assert_eq!(NSSR_MAGIC.to_be_bytes(), *b"NVMe");
    assert_eq!(NSSD_NORMAL.to_be_bytes(), *b"Nrml");
    assert_eq!(NSSD_ABRUPT.to_be_bytes(), *b"Abpt");
}

#[test]
fn doorbells_follow_the_formula_of_the_standard() {
    for (queue, stride) in [(0, 0), (1, 0), (3, 2), (65_535, 0), (65_535, 8)] {
        let id = QueueId::new(queue);
        let queue = u32::from(queue);
        let tail = 0x1000 + (2 * queue) * (4 << stride);
        let head = 0x1000 + (2 * queue + 1) * (4 << stride);
        assert_eq!(register::submission_doorbell(id, stride as u8), tail);
        assert_eq!(register::completion_doorbell(id, stride as u8), head);
    }
}

#[test]
fn register_values_mean_what_the_standard_says() {
    let cap = Capabilities::from_bits(0)
        .with_mqes(0xffff)
        .with_to(3)
        .with_dstrd(1)
        .with_mpsmax(4);
    assert_eq!(cap.queue_entries_max(), 65_536);
    assert_eq!(cap.timeout(), Duration::from_millis(1500));
    assert_eq!(cap.doorbell_stride_bytes(), 8);
    assert_eq!((cap.page_bytes_min(), cap.page_bytes_max()), (4096, 65_536));
    assert_eq!(Version::V1_4.bits(), 0x0001_0400);
    assert_eq!(Version::V2_0.to_string(), "2.0");
    assert_eq!(Version::new(1, 2, 1).to_string(), "1.2.1");
    // What Linux writes to enable a controller with 4 KiB pages.
    let cc = Configuration::from_bits(0x0046_0001);
    assert!(cc.en());
    assert_eq!((cc.iosqes(), cc.iocqes(), cc.page_bytes()), (6, 4, 4096));
    assert_eq!(cc.command_set(), CommandSetSelected::Nvm);
    assert_eq!(cc.with_css(6).command_set(), CommandSetSelected::All);
    assert_eq!(cc.with_shn(1).shutdown(), ShutdownNotification::Normal);
    let status = ControllerStatus::from_bits(1).with_shutdown(ShutdownStatus::Complete);
    assert_eq!(
        (status.bits(), status.shutdown()),
        (0b1001, ShutdownStatus::Complete)
    );
    let aqa = AdminQueueAttributes::from_bits(0x001f_000f);
    assert_eq!(
        (aqa.submission_entries(), aqa.completion_entries()),
        (16, 32)
    );
}

#[test]
fn identify_controller_words_hold_their_fields_where_the_standard_prints_them() {
    assert_bits!(AsyncEventsSupported {
        with_namespace_attribute namespace_attribute true 8:8; with_firmware_activation firmware_activation true 9:9;
        with_asymmetric_access asymmetric_access true 11:11; with_discovery_log discovery_log true 31:31;
    });
    assert_bits!(ControllerAttributes {
        with_host_id_128 host_id_128 true 0:0; with_traffic_keep_alive traffic_keep_alive true 6:6;
        with_uuid_list uuid_list true 9:9; with_extended_lba_formats extended_lba_formats true 15:15;
    });
    assert_bits!(OptionalAdminCommands {
        with_security security true 0:0; with_format_nvm format_nvm true 1:1; with_firmware firmware true 2:2;
        with_namespace_management namespace_management true 3:3; with_self_test self_test true 4:4;
        with_directives directives true 5:5; with_nvme_mi nvme_mi true 6:6; with_virtualization virtualization true 7:7;
        with_doorbell_buffer doorbell_buffer true 8:8; with_get_lba_status get_lba_status true 9:9;
        with_lockdown lockdown true 10:10;
    });
    assert_bits!(OptionalNvmCommands {
        with_compare compare true 0:0; with_write_uncorrectable write_uncorrectable true 1:1;
        with_dataset_management dataset_management true 2:2; with_write_zeroes write_zeroes true 3:3;
        with_save_and_select save_and_select true 4:4; with_reservations reservations true 5:5;
        with_timestamp timestamp true 6:6; with_verify verify true 7:7; with_copy copy true 8:8;
    });
    assert_bits!(FirmwareUpdates {
        with_first_slot_read_only first_slot_read_only true 0:0; with_slots slots 7 3:1;
        with_without_reset without_reset true 4:4; with_overlap_detected overlap_detected true 5:5;
    });
    assert_bits!(LogPageAttributes {
        with_smart_per_namespace smart_per_namespace true 0:0; with_command_effects command_effects true 1:1;
        with_extended_data extended_data true 2:2; with_telemetry telemetry true 3:3;
        with_persistent_event persistent_event true 4:4; with_supported_pages supported_pages true 5:5;
    });
    assert_bits!(VolatileWriteCache { with_present present true 0:0; with_flush_broadcast flush_broadcast 3 2:1; });
    assert_bits!(EntrySizes { with_required required 15 3:0; with_maximum maximum 15 7:4; });
    assert_eq!(
        (EntrySizes::only(6).bits(), EntrySizes::only(4).bits()),
        (0x66, 0x44)
    );
    assert_bits!(SglSupport {
        with_support support 3 1:0; with_keyed keyed true 2:2; with_descriptor_threshold descriptor_threshold 0xff 15:8;
        with_bit_bucket bit_bucket true 16:16; with_transport_data_block transport_data_block true 21:21;
    });
}

#[test]
fn identify_namespace_words_hold_their_fields_where_the_standard_prints_them() {
    assert_bits!(NamespaceFeatures {
        with_thin thin true 0:0; with_own_atomics own_atomics true 1:1; with_deallocated_error deallocated_error true 2:2;
        with_identifiers_not_reused identifiers_not_reused true 3:3; with_preferred_sizes preferred_sizes true 4:4;
    });
    assert_bits!(FormatIndex { with_low low 15 3:0; with_extended extended true 4:4; with_high high 3 6:5; });
    assert_bits!(DeallocateFeatures {
        with_read_as read_as 7 2:0; with_write_zeroes_deallocate write_zeroes_deallocate true 3:3;
        with_guard_is_crc guard_is_crc true 4:4;
    });
    assert_bits!(LbaFormat { with_ms ms 0xffff 15:0; with_lbads lbads 0xff 23:16; with_rp rp 3 25:24; });
}

#[test]
fn log_and_event_words_hold_their_fields_where_the_standard_prints_them() {
    assert_bits!(CommandEffects {
        with_supported supported true 0:0; with_changes_blocks changes_blocks true 1:1;
        with_changes_namespace changes_namespace true 2:2; with_changes_inventory changes_inventory true 3:3;
        with_changes_controller changes_controller true 4:4; with_exclusion exclusion 7 18:16;
        with_uuid_selection uuid_selection true 19:19; with_scope scope 0xfff 31:20;
    });
    assert_bits!(LogPageSupport {
        with_supported supported true 0:0; with_index_offset index_offset true 1:1; with_parameter parameter 0xffff 31:16;
    });
    assert_bits!(ErrorLocation { with_byte byte 0xff 7:0; with_bit bit 7 10:8; });
    assert_bits!(ActiveFirmware { with_active active 7 2:0; with_next next 7 6:4; });
    assert_bits!(AsyncEvent { with_kind kind 7 2:0; with_information information 0xff 15:8; with_log_page log_page 0xff 23:16; });
}

#[test]
fn feature_values_hold_their_fields_where_the_standard_prints_them() {
    assert_bits!(FeatureCapabilities {
        with_saveable saveable true 0:0; with_namespace_specific namespace_specific true 1:1;
        with_changeable changeable true 2:2;
    });
    assert_bits!(Arbitration {
        with_burst burst 7 2:0; with_low_weight low_weight 0xff 15:8; with_medium_weight medium_weight 0xff 23:16;
        with_high_weight high_weight 0xff 31:24;
    });
    assert_bits!(PowerManagement { with_power_state power_state 31 4:0; with_workload_hint workload_hint 7 7:5; });
    assert_bits!(TemperatureThreshold {
        with_threshold threshold 0xffff 15:0; with_sensor sensor 15 19:16; with_threshold_type threshold_type 3 21:20;
    });
    assert_bits!(ErrorRecovery { with_time_limit time_limit 0xffff 15:0; with_deallocated_error deallocated_error true 16:16; });
    assert_bits!(WriteCache { with_enabled enabled true 0:0; });
    assert_bits!(NumberOfQueues {
        with_submission_raw submission_raw 0xffff 15:0; with_completion_raw completion_raw 0xffff 31:16;
    });
    assert_bits!(InterruptCoalescing { with_threshold_raw threshold_raw 0xff 7:0; with_time time 0xff 15:8; });
    assert_bits!(InterruptVectorConfiguration {
        with_vector vector 0xffff 15:0; with_coalescing_disabled coalescing_disabled true 16:16;
    });
    assert_bits!(WriteAtomicity { with_normal_disabled normal_disabled true 0:0; });
    assert_bits!(AsyncEventConfiguration {
        with_critical_warnings critical_warnings 0xff 7:0; with_namespace_attribute namespace_attribute true 8:8;
        with_firmware_activation firmware_activation true 9:9; with_telemetry telemetry true 10:10;
        with_asymmetric_access asymmetric_access true 11:11;
    });
    assert_bits!(AutonomousPowerStates { with_enabled enabled true 0:0; });
    assert_bits!(PowerStateTransition { with_power_state power_state 31 7:3; with_idle_ms idle_ms 0xff_ffff 31:8; });
    assert_bits!(HostMemoryBuffer { with_enabled enabled true 0:0; with_memory_return memory_return true 1:1; });
    assert_bits!(Timestamp {
        with_milliseconds milliseconds 0xffff_ffff_ffff 47:0; with_stopped stopped true 48:48; with_origin origin 7 51:49;
    });
    assert_bits!(KeepAliveTimer { with_timeout_ms timeout_ms 0xffff_ffff 31:0; });
    assert_bits!(ThermalManagement { with_heavy heavy 0xffff 15:0; with_light light 0xffff 31:16; });
    assert_bits!(NonOperationalPower { with_permissive permissive true 0:0; });
}

#[test]
fn a_dataset_range_holds_its_hints_where_the_standard_prints_them() {
    assert_bits!(RangeContext {
        with_access_frequency access_frequency 15 3:0; with_access_latency access_latency 3 5:4;
        with_sequential_read sequential_read true 8:8; with_sequential_write sequential_write true 9:9;
        with_write_prepare write_prepare true 10:10; with_command_access_size command_access_size 0xff 31:24;
    });
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_value_too_large_for_its_field_is_our_mistake() {
    let _ = AdminQueueAttributes::from_bits(0).with_asqs(4096);
}
