//! Features: their words, and the structures that travel as data.
#![no_main]

use fuzz::decode::Decoder;
use fuzz::{fields, structures};
use libfuzzer_sys::fuzz_target;
use spec::ZeroBased;
use spec::nvme::feature::{
    Arbitration, AsyncEventConfiguration, AutonomousPowerStates, ErrorRecovery,
    FeatureCapabilities, HostBehavior, HostMemoryBuffer, InterruptCoalescing,
    InterruptVectorConfiguration, KeepAliveTimer, LbaRange, LbaRangeAttributes, LbaRangeTypes,
    NonOperationalPower, NumberOfQueues, PowerManagement, PowerStateTransition,
    TemperatureThreshold, ThermalManagement, Timestamp, WriteAtomicity, WriteCache, feature_id,
};

fuzz_target!(|bytes: &[u8]| {
    structures!(bytes; HostBehavior LbaRange);
    let mut from = Decoder::new(bytes);
    let bits_u32 = from.u32();
    let bits_u64 = from.u64();
    let bits_u8 = from.u8();
    fields! { bits_u32;
        FeatureCapabilities: saveable with_saveable namespace_specific with_namespace_specific changeable
            with_changeable;
        Arbitration: burst with_burst low_weight with_low_weight medium_weight with_medium_weight high_weight
            with_high_weight;
        PowerManagement: power_state with_power_state workload_hint with_workload_hint;
        LbaRangeTypes: number with_number;
        TemperatureThreshold: threshold with_threshold sensor with_sensor threshold_type with_threshold_type;
        ErrorRecovery: time_limit with_time_limit deallocated_error with_deallocated_error;
        WriteCache: enabled with_enabled;
        NumberOfQueues: submission_raw with_submission_raw completion_raw with_completion_raw;
        InterruptCoalescing: threshold_raw with_threshold_raw time with_time;
        InterruptVectorConfiguration: vector with_vector coalescing_disabled with_coalescing_disabled;
        WriteAtomicity: normal_disabled with_normal_disabled;
        AsyncEventConfiguration: spare with_spare temperature with_temperature reliability with_reliability
            read_only with_read_only backup_failed with_backup_failed persistent_memory with_persistent_memory
            critical_warnings with_critical_warnings namespace_attribute with_namespace_attribute
            firmware_activation with_firmware_activation telemetry with_telemetry asymmetric_access
            with_asymmetric_access predictable_latency with_predictable_latency lba_status with_lba_status
            endurance_group with_endurance_group subsystem_shutdown with_subsystem_shutdown;
        AutonomousPowerStates: enabled with_enabled;
        HostMemoryBuffer: enabled with_enabled memory_return with_memory_return;
        KeepAliveTimer: timeout_ms with_timeout_ms;
        ThermalManagement: heavy with_heavy light with_light;
        NonOperationalPower: permissive with_permissive;
    }
    fields! { bits_u64;
        PowerStateTransition: power_state with_power_state idle_ms with_idle_ms;
        Timestamp: milliseconds with_milliseconds stopped with_stopped origin with_origin;
    }
    fields! { bits_u8;
        LbaRangeAttributes: overwritable with_overwritable hidden with_hidden;
    }
    meaning(&mut from);
});

/// What the views say beyond their fields.
fn meaning(from: &mut Decoder<'_>) {
    let queues = NumberOfQueues::from_bits(from.u32());
    assert_eq!(
        NumberOfQueues::new(queues.submission(), queues.completion()),
        queues
    );
    let coalescing = InterruptCoalescing::from_bits(from.u32());
    let threshold = coalescing.threshold().count();
    assert_eq!(
        ZeroBased::<u8>::from_count(threshold),
        Some(coalescing.threshold())
    );
    assert!(coalescing.delay().as_micros() <= 25_500);
    let threshold = TemperatureThreshold::from_bits(from.u32());
    assert_eq!(threshold.temperature().get(), threshold.threshold());
    let timer = KeepAliveTimer::from_bits(from.u32());
    assert_eq!(timer.timeout().is_none(), timer.timeout_ms() == 0);
    let id = from.u8();
    assert_eq!(
        feature_id::ALL.contains(&id),
        feature_id::name(id) != "Unknown feature"
    );
}
