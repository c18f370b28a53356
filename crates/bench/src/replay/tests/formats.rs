//! What is written reads back, what is wrong is refused with its place, and nothing panics.

use std::fs;
use std::io::{Cursor, Read};
use std::process::Command;

use proptest::prelude::*;

use super::super::survey::Survey;
use super::super::trace::{Format, Source, Stage, Trace, TraceError};
use super::super::{Kind, Op, Place};
use super::emit::{self, Record, act, op};

fn trace(files: &[Vec<u8>], stage: Stage) -> Result<Trace, TraceError> {
    let sources = files.iter().enumerate();
    let sources =
        sources.map(|(n, file)| Source::new(format!("file{n}"), Cursor::new(file.clone())));
    Trace::read(sources.collect(), stage)
}

/// All I/Os, without their places.
fn read(files: &[Vec<u8>], stage: Stage) -> Result<Vec<Op>, TraceError> {
    let mut trace = trace(files, stage)?;
    let mut ops = Vec::new();
    while let Some(op) = trace.next()? {
        let place = Place::default();
        ops.push(Op { place, ..op });
    }
    assert_eq!(trace.next(), Ok(None), "an ended trace stays ended");
    Ok(ops)
}

fn text(text: &str) -> Result<Vec<Op>, String> {
    read(&[text.as_bytes().to_vec()], Stage::Queue).map_err(|error| error.to_string())
}

/// I/Os at rising times, the first at zero, in whole sectors.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let one = (
        kind,
        0u64..1 << 40,
        1u64..4096,
        1u64..10_000,
        0u32..3,
        any::<bool>(),
    );
    prop::collection::vec(one, 1..60).prop_map(|drawn| {
        let (mut at, mut files) = (None, 0);
        let one = |(kind, sector, sectors, step, file, fua)| {
            let now = at.map_or(0, |last| last + step);
            at = Some(now);
            let (offset, bytes) = match kind {
                Kind::Flush => (0, 0),
                _ => (sector * 512, sectors * 512),
            };
            // Numbers are given in order of appearance.
            let file = std::cmp::min(file, files);
            files = std::cmp::max(files, file + 1);
            Op {
                file,
                fua: fua && kind == Kind::Write,
                ..op(kind, offset, bytes, now)
            }
        };
        drawn.into_iter().map(one).collect()
    })
}

fn as_iolog(ops: &[Op]) -> Vec<Op> {
    let change = |op: &Op| Op {
        fua: false,
        barrier: op.kind == Kind::Flush,
        ..*op
    };
    ops.iter().map(change).collect()
}

proptest! {
    #[test]
    fn an_iolog_that_is_written_reads_back(ops in ops(), version in 2u32..=3) {
        let log = emit::iolog(version, &ops);
        prop_assert_eq!(text(&log), Ok(as_iolog(&ops)), "{}", log);
    }

    #[test]
    fn a_block_trace_reads_back_in_either_byte_order_from_any_number_of_cpus(
        ops in ops(), cpus in 1usize..5, big_endian: bool, issue: bool,
    ) {
        let files = emit::blktrace(&ops, cpus, big_endian);
        let stage = if issue { Stage::Issue } else { Stage::Queue };
        prop_assert_eq!(read(&files, stage), Ok(ops));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), issue: bool, begin in 0usize..5) {
        let begins: [&[u8]; 5] = [b"", b"fio version 2 iolog\n", b"fio version 3 iolog\n", b"\x07tae", b"8,0 "];
        let stage = if issue { Stage::Issue } else { Stage::Queue };
        let _ = read(&[[begins[begin], &bytes].concat()], stage);
    }

    #[test]
    fn no_damage_to_a_trace_makes_a_reader_panic(
        ops in ops(), format in 0usize..4, at: prop::sample::Index, byte: u8, cut: prop::sample::Index,
    ) {
        let mut bytes = match format {
            0 => emit::iolog(2, &ops).into_bytes(),
            1 => emit::iolog(3, &ops).into_bytes(),
            2 => emit::blktrace(&ops, 1, false).remove(0),
            _ => emit::blktrace(&ops, 1, true).remove(0),
        };
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        let _ = trace(&[bytes], Stage::Queue).map(|trace| Survey::of(trace, None));
    }
}

#[test]
fn every_format_is_told_by_its_beginning() {
    let ops = [op(Kind::Read, 0, 512, 0)];
    let binary = |big| emit::blktrace(&ops, 1, big).remove(0);
    for (bytes, format) in [
        (emit::iolog(2, &ops).into_bytes(), Format::Iolog2),
        (emit::iolog(3, &ops).into_bytes(), Format::Iolog3),
        (binary(false), Format::Blktrace),
        (binary(true), Format::Blktrace),
        (
            b"  8,0    1  1  0.000000000  1  Q   R 8 + 8 [x]\n".to_vec(),
            Format::Blkparse,
        ),
    ] {
        assert_eq!(trace(&[bytes], Stage::Queue).unwrap().format(), format);
    }
    for nonsense in [
        "",
        "#!/bin/sh\n",
        "fio version 1 iolog\n",
        "fio",
        "8",
        "\u{7}",
    ] {
        let error = text(nonsense).unwrap_err();
        assert!(
            error.contains("allowed: \"fio version 2 iolog\""),
            "{error}"
        );
    }
}

#[test]
fn the_format_does_not_depend_on_how_much_arrives_at_once() {
    struct Dribble(Cursor<Vec<u8>>);
    impl Read for Dribble {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = into.len().min(5);
            self.0.read(&mut into[..most])
        }
    }
    for blanks in [0, 30, 70] {
        let text = format!(
            "{}8,0 1 1 0.000000000 1 Q R 8 + 8 [x]\n",
            " ".repeat(blanks)
        );
        let bytes = text.into_bytes();
        let at_once =
            trace(core::slice::from_ref(&bytes), Stage::Queue).map(|trace| trace.format());
        let source = Source::new("file0", Dribble(Cursor::new(bytes)));
        let dribbled = Trace::read(vec![source], Stage::Queue).map(|trace| trace.format());
        assert_eq!(at_once, dribbled, "{blanks} blanks");
    }
}

#[test]
fn an_iolog_is_refused_by_line_with_what_is_allowed() {
    for (version, line, found) in [
        (3, "5 f jump 0 1", "the action \"jump\""),
        (3, "5 f wait 100", "wait, which version 3 does not have"),
        (3, "f read 0 1", "\"f\" as the time"),
        (3, "5 f read x 1", "\"x\" as the offset"),
        (3, "5 f read 0 -1", "\"-1\" as the length"),
        (3, "5 f read 0", "no length"),
        (3, "5 f open 0", "\"0\" after open"),
        (3, "5 f read 0 1 2", "\"5 f read 0 1 2\""),
        (
            3,
            "5 f write 18446744073709551615 1",
            "an end beyond 64 bits",
        ),
        (3, "5 f write 0 4294967296", "a length of 4294967296 bytes"),
        (
            3,
            "18446744073709551615 f read 0 1",
            "a time of 18446744073709551615 us",
        ),
        (2, "f", "\"f\""),
        (2, "f wait", "no time to wait"),
        (2, "7 f read 0 1", "\"7 f read 0 1\""),
    ] {
        let error = text(&format!("fio version {version} iolog\n\n{line}\n")).unwrap_err();
        assert!(error.starts_with("file0 line 3: found "), "{error}");
        assert!(error.contains(found), "{line}: {error}");
        assert!(error.contains("read|write|trim|sync|datasync"), "{error}");
    }
}

#[test]
fn a_wait_moves_the_clock_on_and_what_stands_before_the_first_has_no_time() {
    let log = "fio version 2 iolog\nf add\nf open\nf read 0 512\nf wait 50\nf read 0 512\nf wait 1000 0\nf sync 0 0\nf trim 0 512\nf close\n";
    let times: Vec<Option<u64>> = text(log).unwrap().iter().map(|op| op.at_ns).collect();
    // The first I/O with a time is the origin of all.
    assert_eq!(times, [None, Some(0), Some(1_000_000), Some(1_000_000)]);
}

#[test]
fn times_that_run_backwards_are_counted_and_never_sent_back_in_time() {
    let log = "fio version 3 iolog\n10 f read 0 1\n30 f read 0 1\n20 f read 0 1\n5 f read 0 1\n40 f read 0 1\n";
    let mut trace = trace(&[log.as_bytes().to_vec()], Stage::Queue).unwrap();
    let mut times = Vec::new();
    while let Some(op) = trace.next().unwrap() {
        times.push(op.at_ns.unwrap() / 1000);
    }
    assert_eq!(times, [0, 20, 20, 20, 30]);
    assert_eq!(trace.out_of_order(), 2);
}

#[test]
fn a_torn_or_foreign_record_is_refused_by_byte() {
    let whole = emit::blktrace(&[op(Kind::Read, 0, 512, 0)], 1, false).remove(0);
    let error = |bytes: &[u8]| {
        let error = read(&[bytes.to_vec()], Stage::Queue).unwrap_err();
        error.to_string()
    };
    let torn = error(&whole[..whole.len() - 1]);
    assert!(
        torn.contains("file0 byte 144") && torn.contains("truncate -s 144 file0"),
        "{torn}"
    );
    let torn = error(&whole[..60]);
    assert!(
        torn.contains("byte 48: found the end of the file 12 bytes into"),
        "{torn}"
    );
    let mut version = whole.clone();
    version[48] = 8;
    let version = error(&version);
    assert!(
        version.contains("byte 48: found 0x65617408") && version.contains("version 7"),
        "{version}"
    );
    let mut far = Vec::new();
    let record = Record {
        sector: u64::MAX,
        bytes: 512,
        action: emit::action_of(&op(Kind::Write, 0, 512, 0), false),
        ..Record::default()
    };
    record.emit(false, &mut far);
    assert!(error(&far).contains("sector 18446744073709551615"));
}

#[test]
fn a_set_of_files_is_for_block_traces_alone() {
    let log = emit::iolog(3, &[op(Kind::Read, 0, 512, 0)]).into_bytes();
    let error = trace(&[log.clone(), log], Stage::Queue).unwrap_err();
    assert!(error.to_string().contains("allowed: one file"), "{error}");
    // A CPU on which nothing happened leaves an empty file.
    let ops = [op(Kind::Read, 512, 512, 0)];
    let mut set = emit::blktrace(&ops, 1, true);
    set.push(Vec::new());
    assert_eq!(read(&set, Stage::Queue), Ok(ops.to_vec()));
}

#[test]
fn a_flush_with_data_is_a_flush_and_a_write_and_passthrough_is_counted() {
    let mut file = Vec::new();
    let queued = |action| Record {
        sector: 8,
        bytes: 4096,
        action: action | act::QUEUE | act::OF_QUEUE,
        device: emit::SDA,
        ..Record::default()
    };
    queued(act::WRITE | act::FLUSH | act::FUA | act::FS).emit(false, &mut file);
    queued(act::WRITE | act::PASSTHROUGH).emit(false, &mut file);
    let empty = Record {
        bytes: 0,
        ..queued(act::READ | act::FS)
    };
    empty.emit(false, &mut file);
    // Since Linux 4.14 the next bit says that the payload names a cgroup.
    let of_cgroup = Record {
        payload: &[1; 8],
        ..queued(act::READ | act::FS | 1 << 8)
    };
    of_cgroup.emit(false, &mut file);
    let write = Op {
        fua: true,
        ..op(Kind::Write, 4096, 4096, 0)
    };
    let wanted = vec![
        op(Kind::Flush, 0, 0, 0),
        write,
        op(Kind::Read, 4096, 4096, 0),
    ];
    assert_eq!(read(core::slice::from_ref(&file), Stage::Queue), Ok(wanted));
    let survey = Survey::of(trace(&[file], Stage::Queue).unwrap(), None).unwrap();
    assert_eq!((survey.skipped.passthrough, survey.skipped.empty), (1, 1));
    assert_eq!(survey.extents[0].name, "8,0");
}

#[test]
fn text_of_blkparse_is_refused_by_line() {
    for (line, found) in [
        ("8,0 1 1 0.5 1 Q R 8 + 8 [x]", "\"0.5\" as the time"),
        ("8,0 1 1 0.000000000 1 Q X 8 + 8 [x]", "\"X\" as the kind"),
        (
            "8,0 1 1 0.000000000 1 Q R x + 8 [x]",
            "\"x + 8\" as sectors",
        ),
        (
            "8,0 1 1 0.000000000 1 Q R 36028797018963968 + 8 [x]",
            "as sectors",
        ),
        ("8,0 1 1", "\"8,0 1 1\""),
    ] {
        let good = "8,0 1 1 0.000000000 1 Q R 8 + 8 [x]";
        let error = text(&format!("{good}\n{line}\n")).unwrap_err();
        assert!(error.starts_with("file0 line 2: found "), "{error}");
        assert!(error.contains(found), "{line}: {error}");
        let error = text(&format!("{good}\nCPU0 (x):\n{good}\n")).unwrap_err();
        assert!(
            error.contains("line 3: found an event after the summary"),
            "{error}"
        );
    }
}

/// What `blkparse` makes of a set of files named NAME.blktrace.N: its text, and the merged binary trace. `None`, with the
/// reason printed, where it is not installed.
fn blkparse(files: &[Vec<u8>]) -> Option<(Vec<u8>, Vec<u8>)> {
    let folder = std::env::temp_dir().join(format!("dpe-replay-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (cpu, file) in files.iter().enumerate() {
        fs::write(folder.join(format!("t.blktrace.{cpu}")), file).unwrap();
    }
    let run = Command::new("blkparse")
        .args(["-i", "t", "-d", "merged"])
        .current_dir(&folder)
        .output();
    let result = match run {
        #[expect(clippy::print_stdout, reason = "says why nothing was tested")]
        Err(error) => {
            println!("not run: wanted blkparse (package blktrace), found: {error}");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some((output.stdout, fs::read(folder.join("merged")).unwrap()))
        }
    };
    fs::remove_dir_all(&folder).unwrap();
    result
}

#[test]
fn blkparse_reads_what_the_emitter_writes_and_its_text_and_merged_file_replay_the_same() {
    let mut ops = Vec::new();
    for at in 0..200_u64 {
        let kind = Kind::ALL[at as usize % 4];
        let (offset, bytes) = match kind {
            Kind::Flush => (0, 0),
            _ => (at * 8192, 4096 * (1 + at % 3)),
        };
        ops.push(Op {
            fua: kind == Kind::Write && at % 8 == 1,
            ..op(kind, offset, bytes, at * 10)
        });
    }
    let files = emit::blktrace(&ops, 2, false);
    let Some((printed, merged)) = blkparse(&files) else {
        return;
    };
    for stage in [Stage::Queue, Stage::Issue] {
        assert_eq!(read(&files, stage).as_ref(), Ok(&ops), "the set");
        assert_eq!(
            read(core::slice::from_ref(&merged), stage).as_ref(),
            Ok(&ops),
            "blkparse -d"
        );
        assert_eq!(
            read(core::slice::from_ref(&printed), stage).as_ref(),
            Ok(&ops),
            "the text"
        );
    }
}
