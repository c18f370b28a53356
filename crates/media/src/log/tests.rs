use std::sync::mpsc::{Receiver, channel};

use mem::Backing;
use spec::Lba;

use super::*;
use crate::fault::{FaultyMedia, Script};
use crate::{Operation, RamMedia};

/// Takes answers and does nothing with them.
struct Deaf;

impl Landing for Deaf {
    fn blocks(&mut self, _: Token, _: Span<'_>) -> Status {
        Status::SUCCESS
    }

    fn answer(&mut self, _: Token, _: Status) {}
}

/// A logged medium, and what its sink was given. Writes to block 9 take 3 ms, those to block 8 for ever.
fn logged() -> (LoggedMedia, Receiver<Record>) {
    let script = "version = 1
        [[rule]]
        op = \"deallocate\"
        lba = 9
        do = \"delay\"
        delay_us = 3000
        [[rule]]
        op = \"deallocate\"
        lba = 8
        do = \"drop\"
        [[rule]]
        op = \"verify\"
        do = \"fail\"
        status = \"unrecovered-read-error\"";
    let script = Script::from_toml(script).expect("a script");
    let ram = RamMedia::new(BlockCount::new(64), BlockSize::B512, Backing::Anonymous);
    let inner = FaultyMedia::new(Box::new(ram.expect("memory")), script, 1).expect("memory");
    let (to_test, records) = channel();
    let sink = move |record: &Record| to_test.send(*record).expect("the test waits");
    (LoggedMedia::new(Box::new(inner), Box::new(sink)), records)
}

fn request(op: Operation, at: u64) -> Request {
    Request {
        op,
        at: Lba::new(at),
        count: BlockCount::new(u64::from(op != Operation::Flush)),
        fua: at == 1,
    }
}

fn turn(medium: &mut LoggedMedia, ms: u64, starts: &[(u32, Request)]) {
    let now = Duration::from_millis(ms);
    medium.set_time(now);
    for (token, request) in starts {
        medium.start(Token(*token), request, &[]);
    }
    medium.poll(now, &mut Deaf);
}

/// Five requests of which the second is slow, the third is never answered and the fifth fails.
fn example() -> Vec<Record> {
    let (mut medium, records) = logged();
    turn(
        &mut medium,
        1,
        &[
            (1, request(Operation::Flush, 0)),
            (2, request(Operation::Deallocate, 9)),
            (3, request(Operation::Deallocate, 8)),
        ],
    );
    turn(&mut medium, 2, &[(1, request(Operation::Deallocate, 1))]);
    turn(&mut medium, 4, &[(1, request(Operation::Verify, 5))]);
    let mut all: Vec<Record> = records.try_iter().collect();
    assert_eq!(all.len(), 4, "all but the one without an answer");
    drop(medium);
    all.extend(records.iter());
    all
}

fn written(format: Format) -> String {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, format, BlockSize::B512).expect("memory takes all");
    for record in example() {
        writer.write(&record).expect("memory takes all");
    }
    writer.finish().expect("memory takes all");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn every_request_is_recorded_once_with_its_times_and_answer() {
    let ms = Duration::from_millis;
    let found: Vec<_> = example()
        .iter()
        .map(|record| (record.sequence, record.start, record.end, record.status))
        .collect();
    let fine = Some(Status::SUCCESS);
    let wanted = [
        (0, ms(1), ms(1), fine),
        (3, ms(2), ms(2), fine),
        (4, ms(4), ms(4), Some(Status::UNRECOVERED_READ_ERROR)),
        (1, ms(1), ms(4), fine),
        (2, ms(1), ms(4), None),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn the_text_is_a_line_of_keys_and_values() {
    let text = written(Format::Text);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "seq=0 start=0.001000000 end=0.001000000 op=flush lba=0 blocks=0 fua=0 status=ok",
            "seq=3 start=0.002000000 end=0.002000000 op=deallocate lba=1 blocks=1 fua=1 status=ok",
            "seq=4 start=0.004000000 end=0.004000000 op=verify lba=5 blocks=1 fua=0 \
             status=unrecovered-read-error sct=2 sc=0x81",
            "seq=1 start=0.001000000 end=0.004000000 op=deallocate lba=9 blocks=1 fua=0 status=ok",
            "seq=2 start=0.001000000 end=0.004000000 op=deallocate lba=8 blocks=1 fua=0 status=none",
        ]
    );
}

#[test]
fn the_json_is_an_object_in_each_line() {
    let text = written(Format::Json);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines[2],
        r#"{"seq":4,"start_ns":4000000,"end_ns":4000000,"op":"verify","lba":5,"blocks":1,"fua":false,"status":"unrecovered-read-error","sct":2,"sc":129}"#
    );
    assert!(lines[1].contains(r#""fua":true,"status":"successful-completion""#));
    assert!(lines[4].ends_with(r#""status":null}"#));
}

#[test]
fn the_iolog_is_sorted_by_start_and_counts_from_the_first() {
    let file = "nvme_raw_0".to_owned();
    assert_eq!(
        written(Format::Iolog { file }),
        "fio version 3 iolog\n\
         0 nvme_raw_0 add\n\
         0 nvme_raw_0 open\n\
         0 nvme_raw_0 sync 0 0\n\
         0 nvme_raw_0 trim 4608 512\n\
         0 nvme_raw_0 trim 4096 512\n\
         1000 nvme_raw_0 trim 512 512\n\
         3000 nvme_raw_0 read 2560 512\n\
         3000 nvme_raw_0 close\n"
    );
}

#[test]
fn a_request_that_was_overtaken_by_more_than_are_sorted_does_not_turn_time_back() {
    let mut bytes = Vec::new();
    let file = "f".to_owned();
    let mut writer =
        Writer::new(&mut bytes, Format::Iolog { file }, BlockSize::B512).expect("memory");
    let record = |sequence: u64| Record {
        sequence,
        start: Duration::from_micros(sequence),
        end: Duration::ZERO,
        request: request(Operation::Read, sequence),
        status: Some(Status::SUCCESS),
    };
    for sequence in (1..20_000).chain([0]) {
        writer.write(&record(sequence)).expect("memory");
    }
    drop(writer);
    let text = String::from_utf8(bytes).expect("text");
    let stamp = |line: &str| {
        line.split(' ')
            .next()
            .and_then(|word| word.parse::<u64>().ok())
    };
    let stamps: Vec<Option<u64>> = text.lines().skip(1).map(stamp).collect();
    assert_eq!(stamps.len(), 20_000 + 3);
    assert!(stamps.is_sorted() && stamps[0] == Some(0));
}

#[test]
fn an_iolog_of_a_name_that_fio_cannot_read_is_refused() {
    for name in ["", "my disk", "a\nb"] {
        let format = Format::Iolog {
            file: name.to_owned(),
        };
        let error = Writer::new(Vec::new(), format, BlockSize::B512).expect_err(name);
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_full_ring_loses_the_oldest_and_counts_them() {
    let (mut medium, records) = logged();
    for _ in 0..RECORDS_MAX + 5 {
        medium.start(Token(0), &request(Operation::Flush, 0), &[]);
    }
    assert_eq!(medium.lost(), 5);
    medium.poll(Duration::ZERO, &mut Deaf);
    let sequences: Vec<u64> = records.try_iter().map(|record| record.sequence).collect();
    assert_eq!(sequences.len(), RECORDS_MAX);
    assert_eq!(
        (sequences[0], sequences.last()),
        (5, Some(&(RECORDS_MAX as u64 + 4)))
    );
}

#[test]
fn what_the_medium_says_passes_through() {
    let (mut medium, _records) = logged();
    assert!(!medium.is_instant() && medium.moves_data());
    assert_eq!(medium.blocks(), BlockCount::new(64));
    medium.start(Token(3), &request(Operation::Deallocate, 8), &[]);
    medium.hurry(Token(3));
    let mut heard = Heard(Vec::new());
    medium.poll(Duration::ZERO, &mut heard);
    assert_eq!(heard.0, [Status::ABORT_REQUESTED]);
    assert_eq!(medium.counts().faults, 1);
}

struct Heard(Vec<Status>);

impl Landing for Heard {
    fn blocks(&mut self, _: Token, _: Span<'_>) -> Status {
        Status::SUCCESS
    }

    fn answer(&mut self, _: Token, status: Status) {
        self.0.push(status);
    }
}
