//! Log pages: their structures and the words in them.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::{fields, structures};
use libfuzzer_sys::fuzz_target;
use spec::nvme::Status;
use spec::nvme::log::{
    ActiveFirmware, ChangedNamespaceList, CommandEffects, CommandEffectsLog, CriticalWarning,
    ErrorLocation, ErrorLogEntry, ErrorStatus, FeatureEffects, FeatureEffectsLog, FirmwareSlotLog,
    LogPageSupport, SmartLog, SupportedLogPages, data_units, log_id,
};

fuzz_target!(|bytes: &[u8]| {
    structures!(bytes; ChangedNamespaceList CommandEffectsLog ErrorLogEntry FeatureEffectsLog
        FirmwareSlotLog SmartLog SupportedLogPages);
    let mut from = Decoder::new(bytes);
    let bits_u16 = from.u16();
    let bits_u32 = from.u32();
    let bits_u8 = from.u8();
    fields! { bits_u16;
        ErrorStatus: phase with_phase field with_field;
        ErrorLocation: byte with_byte bit with_bit;
    }
    fields! { bits_u32;
        LogPageSupport: supported with_supported index_offset with_index_offset parameter with_parameter;
        CommandEffects: supported with_supported changes_blocks with_changes_blocks changes_namespace
            with_changes_namespace changes_inventory with_changes_inventory changes_controller
            with_changes_controller exclusion with_exclusion uuid_selection with_uuid_selection scope
            with_scope;
        FeatureEffects: supported with_supported changes_blocks with_changes_blocks changes_namespace
            with_changes_namespace changes_inventory with_changes_inventory changes_controller
            with_changes_controller uuid_selection with_uuid_selection scope with_scope;
    }
    fields! { bits_u8;
        CriticalWarning: spare with_spare temperature with_temperature reliability with_reliability read_only
            with_read_only backup_failed with_backup_failed persistent_memory with_persistent_memory;
        ActiveFirmware: active with_active next with_next;
    }
    meaning(&mut from);
    by_code(&mut from);
});

/// What the structures say beyond their fields.
fn meaning(from: &mut Decoder<'_>) {
    let status = Status::from_bits(from.u16() & 0x7fff);
    assert_eq!(ErrorStatus::new(status).status(), status);
    let read = u128::from(from.u64());
    let units = data_units(read);
    assert!(units * 512_000 >= read && (units * 512_000 - read) < 512_000);
}

/// Tables by code: what is set for one code is said of that code, and of no other.
fn by_code(from: &mut Decoder<'_>) {
    let (code, other) = (from.u8(), from.u8());
    let page = SupportedLogPages::of(&[code]);
    assert!(page.support(code).supported());
    assert!(other == code || !page.support(other).supported());
    let effects = CommandEffects::from_bits(from.u32() | 1);
    let mut log = CommandEffectsLog::default();
    log.set_admin(code, effects);
    assert_eq!(log.admin_command(code), effects);
    assert_eq!(log.io_command(code), CommandEffects::default());
    log.set_io(other, effects);
    assert_eq!(log.io_command(other), effects);
    assert_eq!(
        log_id::ALL.contains(&code),
        log_id::name(code) != "Unknown log page"
    );
}
