//! The IOVA table against a model that is too simple to be wrong: a list of mapped ranges, asked
//! byte by byte.

use std::sync::Arc;

use mem::{Backing, Iova, IovaMap, IovaTable, Region, Window};
use proptest::prelude::*;
use proptest::test_runner::Config;

const PAGE: u64 = 2 << 20;
const LEAF: u64 = 4 << 30;
/// Lengths and gaps are kept short under Miri, which touches every byte slowly.
const CASES: u32 = if cfg!(miri) { 2 } else { 400 };
const REGION_BYTES: usize = if cfg!(miri) { 64 << 10 } else { 8 << 20 };

/// What a table should say, from the mapped ranges alone.
#[derive(Debug, Default)]
struct Model {
    /// First address, window; in no order.
    mappings: Vec<(u64, Window)>,
}

impl Model {
    fn host_of(&self, iova: u64) -> Option<usize> {
        self.mappings.iter().find_map(|(start, window)| {
            let offset = iova.checked_sub(*start)?;
            let offset = usize::try_from(offset).ok()?;
            (offset < window.len()).then(|| window.span(offset, 1).unwrap().host_address())
        })
    }

    /// How many bytes from `iova` on, at most `len`, are mapped one after the other.
    fn mapped(&self, iova: u64, len: usize) -> usize {
        self.run(iova, len, |_, _| true)
    }

    /// The same, as long as they also follow each other in host memory.
    fn contiguous(&self, iova: u64, len: usize) -> usize {
        let first = self.host_of(iova).unwrap_or(0);
        self.run(iova, len, |host, done| host == first + done)
    }

    /// Goes from mapping to mapping rather than from byte to byte, which is the same and quicker.
    fn run(&self, iova: u64, len: usize, goes_on: impl Fn(usize, usize) -> bool) -> usize {
        let mut done = 0;
        while done < len {
            let Some(at) = iova.checked_add(done as u64) else {
                break;
            };
            let Some(host) = self.host_of(at) else { break };
            if !goes_on(host, done) {
                break;
            }
            let end = self
                .mappings
                .iter()
                .map(|(start, window)| start + window.len() as u64)
                .filter(|end| *end > at)
                .min()
                .unwrap();
            done += usize::try_from(end - at).unwrap().min(len - done);
        }
        done
    }
}

impl Model {
    /// The mapped places among `len` bytes from `iova`, up to the first hole: offset from `iova`,
    /// window, offset in its region, bytes.
    fn places(&self, iova: u64, len: usize) -> Vec<(usize, &Window, usize, usize)> {
        let (mut places, mut done) = (Vec::new(), 0);
        while done < len {
            let Some(at) = iova.checked_add(done as u64) else {
                break;
            };
            let holds = |(start, window): &&(u64, Window)| {
                (*start..*start + window.len() as u64).contains(&at)
            };
            let Some((start, window)) = self.mappings.iter().find(holds) else {
                break;
            };
            let into = usize::try_from(at - start).unwrap();
            let count = (window.len() - into).min(len - done);
            places.push((done, window, window.region_offset() + into, count));
            done += count;
        }
        places
    }

    fn shadow_of<'s>(&self, shadow: &'s mut Shadow, window: &Window) -> &'s mut Vec<u8> {
        let first = &self.mappings[0].1;
        &mut shadow[usize::from(!window.region().is_same(first.region()))]
    }
}

fn check_look_up(model: &Model, table: &IovaTable, iova: u64, len: usize) {
    let mapped = model.host_of(iova).is_some();
    let valid = mapped && model.contiguous(iova, len) == len;
    let span = table.span(iova, len);
    assert_eq!(span.is_some(), valid, "span of {len} bytes at {iova:#x}");
    if let Some(span) = span {
        assert_eq!(Some(span.host_address()), model.host_of(iova));
        assert_eq!(span.len(), len);
    }
    let in_page = len as u64 <= 4096 - iova % 4096;
    let short = u32::try_from(len)
        .ok()
        .and_then(|len| table.span_in_page(iova, len));
    assert_eq!(
        short.is_some(),
        valid && in_page,
        "{len} bytes in the page of {iova:#x}"
    );
    if let Some(short) = short {
        assert_eq!(
            (Some(short.host_address()), short.len()),
            (model.host_of(iova), len)
        );
    }
    let window = table.window(iova, len);
    assert_eq!(
        window.is_some(),
        valid,
        "window of {len} bytes at {iova:#x}"
    );
    if let Some(window) = window {
        assert_eq!(window.len(), len);
        assert_eq!(
            Some(window.span(0, len).unwrap().host_address()),
            model.host_of(iova)
        );
    }
}

/// What each region should hold.
type Shadow = [Vec<u8>; 2];

fn check_copies(model: &Model, shadow: &mut Shadow, table: &IovaTable, iova: u64, len: usize) {
    let valid = model.mapped(iova, len) == len;
    let data: Vec<u8> = (0..len).map(|at| (at % 253 + 1) as u8).collect();
    assert_eq!(
        table.copy_out(iova, &data).is_some(),
        valid,
        "{len} bytes to {iova:#x}"
    );
    let places = model.places(iova, len);
    if valid {
        for (at, window, offset, count) in &places {
            // Two addresses may be one place; what comes later stays.
            model.shadow_of(shadow, window)[*offset..offset + count]
                .copy_from_slice(&data[*at..at + count]);
        }
    }
    let mut back = vec![0; len];
    assert_eq!(
        table.copy_in(iova, &mut back).is_some(),
        valid,
        "{len} bytes from {iova:#x}"
    );
    assert!(
        valid || back.iter().all(|byte| *byte == 0),
        "a refused copy moves nothing"
    );
    for (at, window, offset, count) in places {
        let expected = &model.shadow_of(shadow, window)[offset..offset + count];
        let mut found = vec![0; count];
        window
            .read_bytes(offset - window.region_offset(), &mut found)
            .unwrap();
        assert_eq!(found, expected, "{count} bytes after a copy to {iova:#x}");
        assert!(
            !valid || back[at..at + count] == *expected,
            "a copy from {iova:#x}"
        );
    }
}

/// One mapping: the gap before it, its length, and where in the region it begins (or, for nothing,
/// right behind the mapping before it).
#[derive(Clone, Debug)]
struct Piece {
    gap: u64,
    len: usize,
    offset: Option<usize>,
    region: usize,
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let page = PAGE as usize;
    let gap = prop_oneof![
        3 => Just(0),
        2 => 0..10_000u64,
        1 => 0..3 * PAGE,
        1 => Just(PAGE),
        1 => Just(LEAF - PAGE),
    ];
    let len = prop_oneof![
        4 => 1..9000usize,
        1 => Just(4096usize),
        2 => 1..REGION_BYTES / 2,
        1 => Just(page.min(REGION_BYTES)),
    ];
    let offset = proptest::option::weighted(0.6, 0..REGION_BYTES);
    let piece = (gap, len, offset, 0..2usize).prop_map(|(gap, len, offset, region)| Piece {
        gap,
        len,
        offset,
        region,
    });
    proptest::collection::vec(piece, 1..if cfg!(miri) { 5 } else { 12 })
}

/// Where the first mapping begins: near the edges of pages, leaves, and of all addresses.
fn bases() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..3 * PAGE,
        (1..5u64).prop_map(|pages| pages * PAGE - 100),
        Just(LEAF - 5000),
        // The end of the short table of the lowest pages.
        Just((64 << 30) - 5000),
        Just((64 << 30) - PAGE),
        Just(0x7fff_0000_0000),
        Just((1 << 48) - 3 * PAGE),
    ]
}

fn build(base: u64, pieces: &[Piece]) -> (Model, IovaMap) {
    let regions = [(); 2].map(|()| Region::allocate(REGION_BYTES, Backing::Anonymous).unwrap());
    let (mut model, mut map) = (Model::default(), IovaMap::new());
    let mut iova = base;
    let mut behind = 0;
    for piece in pieces {
        iova += piece.gap;
        let offset = piece.offset.unwrap_or(behind).min(REGION_BYTES - 1);
        let len = piece.len.min(REGION_BYTES - offset);
        let window = regions[piece.region].window(offset, len).unwrap();
        if map.insert(Iova::new(iova), window.clone()).is_ok() {
            model.mappings.push((iova, window));
        } else {
            assert!(
                iova + len as u64 > 1 << 48,
                "only what is too high is refused here"
            );
        }
        iova += len as u64;
        behind = offset + len;
    }
    (model, map)
}

/// Addresses worth asking for: every edge and its neighbours, and what surrounds all of them.
fn edges(model: &Model) -> Vec<u64> {
    let mut edges = vec![0, 1 << 47, 1 << 48, u64::MAX, u64::MAX - 4095, 1 << 63];
    for (start, window) in &model.mappings {
        let end = start + window.len() as u64;
        let crossing = (start | (PAGE - 1)) + 1;
        for edge in [*start, end, crossing, (start + end) / 2] {
            edges.extend([edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
        }
    }
    edges
}

fn config() -> Config {
    Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_look_up_says_what_the_model_says(
        base in bases(),
        pieces in pieces(),
        lengths in proptest::collection::vec(0..20_000usize, 4),
    ) {
        let (model, map) = build(base, &pieces);
        let table = map.table();
        for iova in edges(&model) {
            let special = [0, 1, 2, 512, 4096, PAGE as usize, usize::MAX, usize::MAX - 1];
            for len in special.into_iter().chain(lengths.iter().copied()) {
                check_look_up(&model, &table, iova, len);
            }
        }
    }

    #[test]
    fn a_whole_mapping_is_one_span_and_one_byte_more_is_not_its_own(
        base in bases(),
        pieces in pieces(),
    ) {
        let (model, map) = build(base, &pieces);
        let table = map.table();
        for (start, window) in &model.mappings {
            check_look_up(&model, &table, *start, window.len());
            check_look_up(&model, &table, *start, window.len() + 1);
            check_look_up(&model, &table, start.wrapping_sub(1), window.len() + 1);
        }
    }

    #[test]
    fn a_copy_moves_all_bytes_or_none(
        base in bases(),
        pieces in pieces(),
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0..30_000usize), 8),
    ) {
        let (model, map) = build(base, &pieces);
        let table = map.table();
        let edges = edges(&model);
        let mut shadow = [(); 2].map(|()| vec![0; REGION_BYTES]);
        for (pick, len) in picks {
            let len = if cfg!(miri) { len / 8 } else { len };
            check_copies(&model, &mut shadow, &table, *pick.get(&edges), len);
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_a_snapshot_stays(
        base in bases(),
        pieces in pieces(),
        doomed in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let (mut model, mut map) = build(base, &pieces);
        let before = map.table();
        let was = model.mappings.clone();
        let mut doomed = doomed.into_iter();
        model.mappings.retain(|(start, window)| {
            let goes = doomed.next().unwrap_or(false);
            if goes {
                map.remove(Iova::new(*start), window.len() as u64).unwrap();
            }
            !goes
        });
        let after = map.table();
        for (start, window) in &was {
            assert!(before.span(*start, window.len()).is_some());
            for len in [0, 1, 4096, window.len()] {
                check_look_up(&model, &after, *start, len);
            }
        }
        map.remove_all();
        assert!(edges(&model).into_iter().all(|iova| map.table().span(iova, 0).is_none()));
    }
}

fn table_of(mappings: &[(u64, &Window)]) -> Arc<IovaTable> {
    let mut map = IovaMap::new();
    for (iova, window) in mappings {
        map.insert(Iova::new(*iova), (*window).clone()).unwrap();
    }
    map.table()
}

#[test]
fn an_empty_table_knows_no_address() {
    let table = IovaMap::new().table();
    for iova in [0, 1, PAGE, LEAF, 1 << 48, u64::MAX] {
        for len in [0, 1, 4096, usize::MAX] {
            assert!(table.span(iova, len).is_none());
            assert!(table.window(iova, len).is_none());
        }
        assert!(table.copy_in(iova, &mut [0]).is_none());
        assert!(table.copy_out(iova, &[0]).is_none());
        assert!(
            table.copy_in(iova, &mut []).is_some(),
            "nothing can be copied from anywhere"
        );
    }
}

#[test]
fn a_table_keeps_its_memory_and_a_window_of_it_does_too() {
    let whole = Region::allocate(8192, Backing::Anonymous).unwrap().whole();
    whole.fill(0, 8192, 7).unwrap();
    let table = table_of(&[(0x10_0000, &whole)]);
    drop(whole);
    let window = table.window(0x10_1000, 4096).unwrap();
    assert!(table.span(0x10_0000, 8192).unwrap().is_all(7));
    drop(table);
    assert!(window.span(0, 4096).unwrap().is_all(7));
}

#[test]
fn neighbouring_mappings_of_one_region_are_one_run_of_bytes() {
    let region = Region::allocate(16_384, Backing::Anonymous).unwrap();
    let [a, b, c] = [0, 4096, 12_288].map(|offset| region.window(offset, 4096).unwrap());
    let table = table_of(&[(PAGE - 4096, &a), (PAGE, &b), (PAGE + 4096, &c)]);
    assert_eq!(table.span(PAGE - 4096, 8192).unwrap().len(), 8192);
    assert!(table.window(PAGE - 4096, 8192).is_some());
    assert!(
        table.span(PAGE - 4096, 8193).is_none(),
        "the third is elsewhere in host memory"
    );
    let mut bytes = vec![1; 12_288];
    table.copy_in(PAGE - 4096, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn a_refused_copy_changes_nothing_on_the_way_to_the_hole() {
    let region = Region::allocate(8192, Backing::Anonymous).unwrap();
    let [a, b] = [0, 4096].map(|offset| region.window(offset, 4096).unwrap());
    // Swapped, so that the copy has to go piece by piece.
    let table = table_of(&[(0x1000, &b), (0x2000, &a)]);
    assert!(table.copy_out(0x1000, &[9; 8193]).is_none());
    assert!(region.whole().span(0, 8192).unwrap().is_all(0));
    let mut bytes = [5; 8193];
    assert!(table.copy_in(0x1000, &mut bytes).is_none());
    assert_eq!(bytes, [5; 8193]);
    let data: Vec<u8> = (0..8192).map(|at| (at / 4096 + 1) as u8).collect();
    table.copy_out(0x1000, &data).unwrap();
    assert!(a.span(0, 4096).unwrap().is_all(2) && b.span(0, 4096).unwrap().is_all(1));
}

#[test]
fn tables_are_shared_between_threads() {
    let whole = Region::allocate(4096, Backing::Anonymous).unwrap().whole();
    let table = table_of(&[(0, &whole)]);
    let threads = [1u8, 2].map(|value| {
        let table = Arc::clone(&table);
        move || table.copy_out(u64::from(value) * 64, &[value; 64]).unwrap()
    });
    std::thread::scope(|scope| threads.map(|copy| scope.spawn(copy).join().unwrap()));
    assert!(whole.span(64, 64).unwrap().is_all(1) && whole.span(128, 64).unwrap().is_all(2));
}
