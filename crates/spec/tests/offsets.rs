//! The offsets that the standard prints, transcribed as (field, first byte, last byte), against those that the code uses.

use spec::nvme::DsmRange;
use spec::nvme::feature::{HostBehavior, LbaRange};
use spec::nvme::identify::{
    IdentifyController, IdentifyNamespace, IndependentNamespace, IoCommandSets, NamespaceIdList,
    NvmIdentifyController, NvmIdentifyNamespace, PowerState,
};
use spec::nvme::log::{
    CommandEffectsLog, ErrorLogEntry, FeatureEffectsLog, FirmwareSlotLog, SmartLog,
    SupportedLogPages,
};

type Printed<'t> = &'t [(&'t str, usize, usize)];

fn assert_layout(fields: &[(&str, usize, usize)], printed: Printed<'_>) {
    let found: Vec<_> = fields
        .iter()
        .map(|&(name, first, bytes)| (name, first, first + bytes - 1))
        .collect();
    assert_eq!(found, printed);
}

/// [NVMe Base 2.0 §5.17.2.1, figure "Identify - Identify Controller Data Structure"].
const CONTROLLER: Printed<'_> = &[
    ("vid", 0, 1),
    ("ssvid", 2, 3),
    ("sn", 4, 23),
    ("mn", 24, 63),
    ("fr", 64, 71),
    ("rab", 72, 72),
    ("ieee", 73, 75),
    ("cmic", 76, 76),
    ("mdts", 77, 77),
    ("cntlid", 78, 79),
    ("ver", 80, 83),
    ("rtd3r", 84, 87),
    ("rtd3e", 88, 91),
    ("oaes", 92, 95),
    ("ctratt", 96, 99),
    ("rrls", 100, 101),
    ("cntrltype", 111, 111),
    ("fguid", 112, 127),
    ("crdt1", 128, 129),
    ("crdt2", 130, 131),
    ("crdt3", 132, 133),
    ("nvmsr", 253, 253),
    ("vwci", 254, 254),
    ("mec", 255, 255),
    ("oacs", 256, 257),
    ("acl", 258, 258),
    ("aerl", 259, 259),
    ("frmw", 260, 260),
    ("lpa", 261, 261),
    ("elpe", 262, 262),
    ("npss", 263, 263),
    ("avscc", 264, 264),
    ("apsta", 265, 265),
    ("wctemp", 266, 267),
    ("cctemp", 268, 269),
    ("mtfa", 270, 271),
    ("hmpre", 272, 275),
    ("hmmin", 276, 279),
    ("tnvmcap", 280, 295),
    ("unvmcap", 296, 311),
    ("rpmbs", 312, 315),
    ("edstt", 316, 317),
    ("dsto", 318, 318),
    ("fwug", 319, 319),
    ("kas", 320, 321),
    ("hctma", 322, 323),
    ("mntmt", 324, 325),
    ("mxtmt", 326, 327),
    ("sanicap", 328, 331),
    ("hmminds", 332, 335),
    ("hmmaxd", 336, 337),
    ("nsetidmax", 338, 339),
    ("endgidmax", 340, 341),
    ("anatt", 342, 342),
    ("anacap", 343, 343),
    ("anagrpmax", 344, 347),
    ("nanagrpid", 348, 351),
    ("pels", 352, 355),
    ("domain", 356, 357),
    ("megcap", 368, 383),
    ("sqes", 512, 512),
    ("cqes", 513, 513),
    ("maxcmd", 514, 515),
    ("nn", 516, 519),
    ("oncs", 520, 521),
    ("fuses", 522, 523),
    ("fna", 524, 524),
    ("vwc", 525, 525),
    ("awun", 526, 527),
    ("awupf", 528, 529),
    ("nvscc", 530, 530),
    ("nwpc", 531, 531),
    ("acwu", 532, 533),
    ("cdfs", 534, 535),
    ("sgls", 536, 539),
    ("mnan", 540, 543),
    ("maxdna", 544, 559),
    ("maxcna", 560, 563),
    ("subnqn", 768, 1023),
    ("ioccsz", 1792, 1795),
    ("iorcsz", 1796, 1799),
    ("icdoff", 1800, 1801),
    ("fcatt", 1802, 1802),
    ("msdbd", 1803, 1803),
    ("ofcs", 1804, 1805),
    ("psd", 2048, 3071),
];

#[test]
fn identify_controller_stands_where_the_standard_prints_it() {
    assert_eq!(IdentifyController::BYTES, 4096);
    assert_layout(IdentifyController::FIELDS, CONTROLLER);
}

#[test]
fn a_power_state_stands_where_the_standard_prints_it() {
    assert_eq!(PowerState::BYTES, 32);
    let printed = [
        ("mp", 0, 1),
        ("flags", 3, 3),
        ("enlat", 4, 7),
        ("exlat", 8, 11),
        ("rrt", 12, 12),
        ("rrl", 13, 13),
        ("rwt", 14, 14),
        ("rwl", 15, 15),
        ("idlp", 16, 17),
        ("ips", 18, 18),
        ("actp", 20, 21),
        ("apw", 22, 22),
    ];
    assert_layout(PowerState::FIELDS, &printed);
}

#[test]
fn identify_namespace_stands_where_the_standard_prints_it() {
    assert_eq!(IdentifyNamespace::BYTES, 4096);
    let printed = [
        ("nsze", 0, 7),
        ("ncap", 8, 15),
        ("nuse", 16, 23),
        ("nsfeat", 24, 24),
        ("nlbaf", 25, 25),
        ("flbas", 26, 26),
        ("mc", 27, 27),
        ("dpc", 28, 28),
        ("dps", 29, 29),
        ("nmic", 30, 30),
        ("rescap", 31, 31),
        ("fpi", 32, 32),
        ("dlfeat", 33, 33),
        ("nawun", 34, 35),
        ("nawupf", 36, 37),
        ("nacwu", 38, 39),
        ("nabsn", 40, 41),
        ("nabo", 42, 43),
        ("nabspf", 44, 45),
        ("noiob", 46, 47),
        ("nvmcap", 48, 63),
        ("npwg", 64, 65),
        ("npwa", 66, 67),
        ("npdg", 68, 69),
        ("npda", 70, 71),
        ("nows", 72, 73),
        ("mssrl", 74, 75),
        ("mcl", 76, 79),
        ("msrc", 80, 80),
        ("anagrpid", 92, 95),
        ("nsattr", 99, 99),
        ("nvmsetid", 100, 101),
        ("endgid", 102, 103),
        ("nguid", 104, 119),
        ("eui64", 120, 127),
        ("lbaf", 128, 383),
    ];
    assert_layout(IdentifyNamespace::FIELDS, &printed);
}

#[test]
fn the_other_identify_structures_stand_where_the_standard_prints_them() {
    let printed = [
        ("nsfeat", 0, 0),
        ("nmic", 1, 1),
        ("rescap", 2, 2),
        ("fpi", 3, 3),
        ("anagrpid", 4, 7),
        ("nsattr", 8, 8),
        ("nvmsetid", 10, 11),
        ("endgid", 12, 13),
        ("nstat", 14, 14),
    ];
    assert_layout(IndependentNamespace::FIELDS, &printed);
    let printed = [
        ("vsl", 0, 0),
        ("wzsl", 1, 1),
        ("wusl", 2, 2),
        ("dmrl", 3, 3),
        ("dmrsl", 4, 7),
        ("dmsl", 8, 15),
    ];
    assert_layout(NvmIdentifyController::FIELDS, &printed);
    let printed = [("lbstm", 0, 7), ("pic", 8, 8), ("elbaf", 12, 267)];
    assert_layout(NvmIdentifyNamespace::FIELDS, &printed);
    assert_layout(NamespaceIdList::FIELDS, &[("ids", 0, 4095)]);
    assert_layout(IoCommandSets::FIELDS, &[("vectors", 0, 4095)]);
    for bytes in [
        IndependentNamespace::BYTES,
        NvmIdentifyController::BYTES,
        NvmIdentifyNamespace::BYTES,
        NamespaceIdList::BYTES,
        IoCommandSets::BYTES,
    ] {
        assert_eq!(bytes, spec::nvme::identify::IDENTIFY_BYTES);
    }
}

#[test]
fn the_smart_log_stands_where_the_standard_prints_it() {
    assert_eq!(SmartLog::BYTES, 512);
    let printed = [
        ("critical_warning", 0, 0),
        ("composite_temperature", 1, 2),
        ("available_spare", 3, 3),
        ("available_spare_threshold", 4, 4),
        ("percentage_used", 5, 5),
        ("endurance_group_warning", 6, 6),
        ("data_units_read", 32, 47),
        ("data_units_written", 48, 63),
        ("host_reads", 64, 79),
        ("host_writes", 80, 95),
        ("busy_minutes", 96, 111),
        ("power_cycles", 112, 127),
        ("power_on_hours", 128, 143),
        ("unsafe_shutdowns", 144, 159),
        ("media_errors", 160, 175),
        ("error_log_entries", 176, 191),
        ("warning_temperature_minutes", 192, 195),
        ("critical_temperature_minutes", 196, 199),
        ("temperature_sensors", 200, 215),
        ("thermal_1_transitions", 216, 219),
        ("thermal_2_transitions", 220, 223),
        ("thermal_1_seconds", 224, 227),
        ("thermal_2_seconds", 228, 231),
    ];
    assert_layout(SmartLog::FIELDS, &printed);
}

#[test]
fn the_other_log_pages_stand_where_the_standard_prints_them() {
    assert_eq!(ErrorLogEntry::BYTES, 64);
    let printed = [
        ("error_count", 0, 7),
        ("sqid", 8, 9),
        ("cid", 10, 11),
        ("status", 12, 13),
        ("location", 14, 15),
        ("lba", 16, 23),
        ("nsid", 24, 27),
        ("vendor_log", 28, 28),
        ("transport_type", 29, 29),
        ("command_specific", 32, 39),
        ("transport_specific", 40, 41),
    ];
    assert_layout(ErrorLogEntry::FIELDS, &printed);
    assert_eq!(FirmwareSlotLog::BYTES, 512);
    assert_layout(FirmwareSlotLog::FIELDS, &[("afi", 0, 0), ("frs", 8, 63)]);
    assert_eq!(SupportedLogPages::BYTES, 1024);
    assert_layout(SupportedLogPages::FIELDS, &[("pages", 0, 1023)]);
    assert_eq!(CommandEffectsLog::BYTES, 4096);
    assert_layout(
        CommandEffectsLog::FIELDS,
        &[("admin", 0, 1023), ("io", 1024, 2047)],
    );
    assert_eq!(FeatureEffectsLog::BYTES, 1024);
    assert_layout(FeatureEffectsLog::FIELDS, &[("features", 0, 1023)]);
}

#[test]
fn the_data_buffers_of_features_stand_where_the_standard_prints_them() {
    assert_eq!(
        (LbaRange::BYTES, HostBehavior::BYTES, DsmRange::BYTES),
        (64, 512, 16)
    );
    let printed = [
        ("range_type", 0, 0),
        ("attributes", 1, 1),
        ("slba", 16, 23),
        ("nlb", 24, 31),
        ("guid", 32, 47),
    ];
    assert_layout(LbaRange::FIELDS, &printed);
    let printed = [
        ("advanced_command_retry", 0, 0),
        ("extended_telemetry", 1, 1),
        ("lba_format_extension", 2, 2),
    ];
    assert_layout(HostBehavior::FIELDS, &printed);
}
