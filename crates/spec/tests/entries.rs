//! Queue entries: each accessor against the bytes that the standard prints.

use spec::nvme::{
    Abort, CompletionEntry, CreateCompletionQueue, CreateSubmissionQueue, GetFeatures, GetLogPage,
    Identify, QueuePriority, Select, SetFeatures, Status, SubmissionEntry, admin_opcode, cns,
    feature_id, io_opcode, log_id,
};
use spec::{ByteOffset, CommandId, Lba, NamespaceId, QueueId, ZeroBased};

/// An entry whose every byte differs: byte n holds n + 1.
fn counted() -> SubmissionEntry {
    SubmissionEntry::from_bytes(&core::array::from_fn(|at| at as u8 + 1))
}

#[test]
fn a_submission_entry_holds_its_fields_where_the_standard_prints_them() {
    let entry = counted();
    assert_eq!(entry.opcode(), 0x01, "byte 0");
    assert_eq!(entry.cid(), CommandId::new(0x0403), "bytes 2 and 3");
    assert_eq!(entry.nsid(), NamespaceId::new(0x0807_0605), "bytes 4 to 7");
    assert_eq!(entry.cdw2(), 0x0c0b_0a09, "bytes 8 to 11");
    assert_eq!(entry.cdw3(), 0x100f_0e0d, "bytes 12 to 15");
    assert_eq!(entry.mptr(), 0x1817_1615_1413_1211, "bytes 16 to 23");
    assert_eq!(entry.prp1(), 0x201f_1e1d_1c1b_1a19, "bytes 24 to 31");
    assert_eq!(entry.prp2(), 0x2827_2625_2423_2221, "bytes 32 to 39");
    assert_eq!(entry.cdw10(), 0x2c2b_2a29, "bytes 40 to 43");
    assert_eq!(entry.cdw11(), 0x302f_2e2d, "bytes 44 to 47");
    assert_eq!(entry.cdw12(), 0x3433_3231, "bytes 48 to 51");
    assert_eq!(entry.cdw13(), 0x3837_3635, "bytes 52 to 55");
    assert_eq!(entry.cdw14(), 0x3c3b_3a39, "bytes 56 to 59");
    assert_eq!(entry.cdw15(), 0x403f_3e3d, "bytes 60 to 63");
    assert_eq!(entry.slba(), Lba::new(0x302f_2e2d_2c2b_2a29));
    assert_eq!(entry.nlb().raw(), 0x3231);
}

#[test]
fn flags_of_a_submission_entry_are_the_bits_that_the_standard_prints() {
    let zero = SubmissionEntry::default();
    let cdw0 = |entry: SubmissionEntry| entry.words()[0] as u32;
    assert_eq!(cdw0(zero.with_opcode(0xff)), 0x0000_00ff);
    assert_eq!(cdw0(zero.with_fuse(3)), 0b11 << 8);
    assert_eq!(cdw0(zero.with_psdt(3)), 0b11 << 14);
    assert_eq!(cdw0(zero.with_cid(CommandId::new(0xffff))), 0xffff_0000);
    assert_eq!(zero.with_fua(true).cdw12(), 1 << 30);
    assert_eq!(zero.with_limited_retry(true).cdw12(), 1 << 31);
    assert_eq!(zero.with_deallocate(true).cdw12(), 1 << 25);
    assert_eq!(zero.with_cdw12(0b1111 << 26).prinfo(), 0b1111);
    assert_eq!(zero.with_nlb(ZeroBased::<u16>::new(0xffff)).cdw12(), 0xffff);
    let all = SubmissionEntry::from_words([u64::MAX; 8]);
    assert_eq!(
        (all.fuse(), all.psdt(), all.fua(), all.deallocate()),
        (3, 3, true, true)
    );
}

#[test]
fn a_setter_changes_its_own_field_only() {
    let entry = counted();
    let changed = entry
        .with_cid(CommandId::new(0xaaaa))
        .with_nsid(NamespaceId::new(0xbbbb_bbbb))
        .with_cdw2(2)
        .with_cdw3(3)
        .with_mptr(16)
        .with_prps(24, 32)
        .with_slba(Lba::new(40))
        .with_cdw12(12)
        .with_cdw13(13)
        .with_cdw14(14)
        .with_cdw15(15);
    assert_eq!(changed.opcode(), entry.opcode());
    assert_eq!(
        (changed.fuse(), changed.psdt()),
        (entry.fuse(), entry.psdt())
    );
    let back = changed
        .with_cid(entry.cid())
        .with_nsid(entry.nsid())
        .with_cdw2(entry.cdw2())
        .with_cdw3(entry.cdw3())
        .with_mptr(entry.mptr())
        .with_prps(entry.prp1(), entry.prp2())
        .with_cdw10(entry.cdw10())
        .with_cdw11(entry.cdw11())
        .with_cdw12(entry.cdw12())
        .with_cdw13(entry.cdw13())
        .with_cdw14(entry.cdw14())
        .with_cdw15(entry.cdw15());
    assert_eq!(back, entry);
}

#[test]
fn a_read_of_eight_blocks_looks_as_it_does_on_the_wire() {
    let entry = SubmissionEntry::new(io_opcode::READ, CommandId::new(0x1234), NamespaceId::new(1))
        .with_prps(0x1000, 0)
        .with_slba(Lba::new(0x1_0000_0002))
        .with_nlb(ZeroBased::<u16>::from_count(8).unwrap());
    let mut wanted = [0; 64];
    wanted[..8].copy_from_slice(&[2, 0, 0x34, 0x12, 1, 0, 0, 0]);
    wanted[25] = 0x10;
    wanted[40..50].copy_from_slice(&[2, 0, 0, 0, 1, 0, 0, 0, 7, 0]);
    assert_eq!(entry.to_bytes(), wanted);
}

#[test]
fn a_completion_entry_holds_its_fields_where_the_standard_prints_them() {
    let status = Status::LBA_OUT_OF_RANGE.with_dnr();
    let (queue, command) = (QueueId::new(0x0807), CommandId::new(0x0a09));
    let entry = CompletionEntry::new(0x0403_0201, 0x0605, queue, command, true, status);
    let wanted = [1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 9, 10, 0x01, 0x81];
    assert_eq!(entry.to_bytes(), wanted);
    let read = CompletionEntry::from_bytes(&wanted);
    assert_eq!(
        (read.result(), read.dw1(), read.sqhd()),
        (0x0403_0201, 0, 0x0605)
    );
    assert_eq!((read.sqid(), read.cid()), (queue, command));
    assert_eq!((read.phase(), read.status()), (true, status));
    assert_eq!(read.with_dw1(7).dw1(), 7);
    assert!(CompletionEntry::default().status().is_success());
}

#[test]
fn creating_queues_looks_as_the_standard_prints_it() {
    let command = CreateCompletionQueue {
        qid: QueueId::new(3),
        size: ZeroBased::<u16>::from_count(256).unwrap(),
        contiguous: true,
        interrupts: true,
        vector: 5,
        prp1: 0x7000,
    };
    let entry = command.emit(SubmissionEntry::default().with_opcode(admin_opcode::CREATE_IO_CQ));
    assert_eq!(
        (entry.cdw10(), entry.cdw11(), entry.prp1()),
        (0x00ff_0003, 0x0005_0003, 0x7000)
    );
    let command = CreateSubmissionQueue {
        qid: QueueId::new(3),
        size: ZeroBased::<u16>::from_count(256).unwrap(),
        contiguous: true,
        priority: QueuePriority::Medium,
        cqid: QueueId::new(4),
        nvm_set: 0,
        prp1: 0x8000,
    };
    let entry = command.emit(SubmissionEntry::default());
    assert_eq!(
        (entry.cdw10(), entry.cdw11(), entry.prp1()),
        (0x00ff_0003, 0x0004_0005, 0x8000)
    );
}

#[test]
fn identify_looks_as_the_standard_prints_it() {
    let entry = SubmissionEntry::default()
        .with_cdw10(0x1234_0002)
        .with_cdw11(0xab00_5678)
        .with_cdw14(0xff);
    let wanted = Identify {
        cns: cns::ACTIVE_NAMESPACES,
        cntid: 0x1234,
        specific: 0x5678,
        csi: 0xab,
        uuid_index: 0x7f,
    };
    assert_eq!(Identify::parse(&entry), wanted);
}

#[test]
fn get_log_page_splits_its_count_and_offset_as_the_standard_prints_it() {
    let command = GetLogPage {
        lid: log_id::SMART,
        specific_parameter: 0x11,
        retain_event: true,
        dwords_raw: 0x0001_007f,
        specific_identifier: 0x2233,
        offset: ByteOffset::new(0x4_0000_0008),
        index_offset: true,
        csi: 0x44,
        uuid_index: 5,
    };
    let entry = command.emit(SubmissionEntry::default());
    assert_eq!(entry.cdw10(), 0x007f_9102);
    assert_eq!(entry.cdw11(), 0x2233_0001);
    assert_eq!((entry.cdw12(), entry.cdw13()), (8, 4));
    assert_eq!(entry.cdw14(), 0x4480_0005);
    assert_eq!(command.bytes(), 0x1_0080 * 4);
    assert_eq!(GetLogPage::dwords_for(512), Some(127));
    assert_eq!(GetLogPage::dwords_for(1), Some(0));
    assert_eq!(GetLogPage::dwords_for(0), None);
    assert_eq!(GetLogPage::dwords_for(1 << 34), Some(u32::MAX));
    assert_eq!(GetLogPage::dwords_for((1 << 34) + 1), None);
}

#[test]
fn features_and_abort_look_as_the_standard_prints_them() {
    let entry = SubmissionEntry::default()
        .with_cdw10(0x8000_0307)
        .with_cdw11(9);
    let get = GetFeatures::parse(&entry);
    assert_eq!(
        (get.fid, get.select),
        (feature_id::NUMBER_OF_QUEUES, Select::Supported)
    );
    let set = SetFeatures::parse(&entry);
    assert_eq!(
        (set.fid, set.save, set.value),
        (feature_id::NUMBER_OF_QUEUES, true, 9)
    );
    let abort = Abort {
        sqid: QueueId::new(2),
        cid: CommandId::new(0x0304),
    };
    assert_eq!(abort.emit(SubmissionEntry::default()).cdw10(), 0x0304_0002);
    assert!(Abort::was_aborted(Abort::ABORTED) && !Abort::was_aborted(Abort::NOT_ABORTED));
}
