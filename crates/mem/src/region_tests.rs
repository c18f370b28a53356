//! Tests of regions and windows.

use std::collections::VecDeque;

use super::*;
use crate::limits::GUARD_BYTES;

const LONG: usize = if cfg!(miri) {
    DISCARD_BYTES_MIN + 12_288
} else {
    4 << 20
};

/// The ordinary backings that this build has.
fn backings() -> &'static [Backing] {
    if cfg!(miri) {
        &[Backing::Anonymous]
    } else {
        &[Backing::Anonymous, Backing::Memfd]
    }
}

#[test]
fn a_region_is_zeroed_rounded_to_pages_and_aligned() {
    for backing in backings() {
        let region = Region::allocate(4097, *backing).unwrap();
        assert_eq!(region.backing(), *backing);
        assert!(region.len() > 4097 && region.len().is_multiple_of(4096) && !region.is_empty());
        let whole = region.whole();
        let span = whole.span(0, region.len()).unwrap();
        assert!(span.is_all(0));
        assert!(span.host_address().is_multiple_of(4096));
    }
}

#[test]
fn an_impossible_length_is_refused_with_the_possible_ones() {
    for wanted in [0, REGION_BYTES_MAX + 1, usize::MAX] {
        let error = Region::allocate(wanted, Backing::Anonymous).unwrap_err();
        assert!(matches!(error, RegionError::Length { wanted: found } if found == wanted));
        assert!(error.to_string().contains(&REGION_BYTES_MAX.to_string()));
    }
}

#[test]
fn more_than_the_machine_has_is_a_typed_error() {
    if cfg!(miri) {
        return;
    }
    // The whole address space is never available in one piece.
    match Region::allocate(REGION_BYTES_MAX, Backing::Anonymous) {
        Err(RegionError::System { source, .. }) => assert!(source.raw_os_error().is_some()),
        Err(other) => panic!("{other}"),
        // A machine that commits without bound may grant it; untouched, it costs nothing.
        Ok(region) => assert_eq!(region.len(), REGION_BYTES_MAX),
    }
}

#[test]
fn missing_huge_pages_are_named_with_the_remedy() {
    if cfg!(miri) {
        return;
    }
    for (backing, page) in [
        (Backing::HugePages2M, 2 << 20),
        (Backing::HugePages1G, 1 << 30),
    ] {
        match Region::allocate(1, backing) {
            Ok(region) => {
                assert_eq!(region.len(), page);
                region.whole().fill(0, page, 1).unwrap();
                region.discard(0, page).unwrap();
                assert!(region.whole().span(0, page).unwrap().is_all(0));
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("wanted") && text.contains("found"), "{text}");
                assert!(
                    text.contains("ordinary pages") || text.contains("ask for less"),
                    "{text}"
                );
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn not_run(reason: &str) {
    eprintln!("not run: {reason}");
}

/// Huge pages of 2 MiB that the machine has free.
fn free_huge_pages() -> usize {
    let free = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    std::fs::read_to_string(free).map_or(0, |text| text.trim().parse().unwrap())
}

#[test]
fn huge_pages_are_aligned_apart_and_given_back_when_there_are_too_few() {
    const PAGE: usize = 2 << 20;
    // A refusal takes all of them for a moment.
    if cfg!(miri) || !(8..=1024).contains(&free_huge_pages()) {
        return not_run("wanted 8 to 1024 free huge pages of 2 MiB");
    }
    let backing = Backing::HugePages2M;
    let mut regions = [PAGE, 1, 2 * PAGE].map(|len| Region::allocate(len, backing).unwrap());
    for region in &regions {
        assert!(region.start().is_aligned_to(PAGE));
        assert!(region.whole().span(0, region.len()).unwrap().is_all(0));
        region.whole().fill(0, region.len(), 1).unwrap();
        region.prefault().unwrap();
        region.discard(1, region.len() - 1).unwrap();
        assert!(region.whole().span(0, 1).unwrap().is_all(1));
    }
    regions.sort_by_key(|region| region.start().addr());
    for pair in regions.windows(2) {
        let end = pair[0].start().addr() + pair[0].len();
        assert!(pair[1].start().addr() >= end + GUARD_BYTES);
    }
    match Region::allocate(1 << 40, backing) {
        Err(RegionError::HugePages { wanted, found, .. }) => {
            assert_eq!(wanted, 1 << 19);
            assert!(found > 0, "what was taken for the refused region is free");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_region_takes_no_memory_of_other_threads_along() {
    if cfg!(miri) || free_huge_pages() > 0 {
        return not_run("a refusal takes huge pages for a moment, and other tests want them");
    }
    let check = |region: Region| assert!(region.whole().span(0, 4096).unwrap().is_all(1));
    std::thread::scope(|scope| {
        let refusals = scope.spawn(|| {
            for _ in 0..500 {
                Region::allocate(1 << 40, Backing::HugePages2M).unwrap_err();
            }
        });
        // Long, so that no small gap takes them but the highest large one, and of a memory file, so that they cost little.
        let mut regions = VecDeque::new();
        while !refusals.is_finished() {
            let region = Region::allocate(LONG, Backing::Memfd).unwrap();
            region.whole().fill(0, 4096, 1).unwrap();
            regions.push_back(region);
            if regions.len() > 32 {
                regions.pop_front().map(check);
            }
        }
        regions.into_iter().for_each(check);
    });
}

#[test]
fn a_long_anonymous_region_is_aligned_for_huge_pages() {
    if cfg!(miri) {
        return;
    }
    let region = Region::allocate(LONG, Backing::Anonymous).unwrap();
    assert!(
        region
            .whole()
            .span(0, 1)
            .unwrap()
            .host_address()
            .is_multiple_of(2 << 20)
    );
}

#[test]
fn only_a_memory_file_has_a_descriptor_and_nobody_can_resize_it() {
    if cfg!(miri) {
        return;
    }
    assert!(
        Region::allocate(1, Backing::Anonymous)
            .unwrap()
            .fd()
            .is_none()
    );
    let region = Region::allocate(8192, Backing::Memfd).unwrap();
    let file = region.fd().unwrap();
    assert!(rustix::fs::ftruncate(file, 4096).is_err());
    assert!(rustix::fs::ftruncate(file, 1 << 20).is_err());
    region.whole().write_bytes(8191, &[7]).unwrap();
    let mut byte = [0];
    assert_eq!(rustix::io::pread(file, &mut byte, 8191), Ok(1));
    assert_eq!(byte, [7]);
}

#[test]
fn regions_never_touch() {
    for backing in backings() {
        let regions = [(); 8].map(|()| Region::allocate(4096, *backing).unwrap());
        let mut starts = regions.each_ref().map(|region| region.start().addr());
        starts.sort_unstable();
        assert!(
            starts
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= 4096 + GUARD_BYTES)
        );
    }
}

#[test]
fn prefaulting_changes_no_byte() {
    for backing in backings() {
        let region = Region::allocate(LONG, *backing).unwrap();
        region.whole().write_bytes(LONG / 2, b"kept").unwrap();
        region.prefault().unwrap();
        let mut bytes = [0; 4];
        region.whole().read_bytes(LONG / 2, &mut bytes).unwrap();
        assert_eq!(&bytes, b"kept");
    }
}

#[test]
fn discarded_bytes_are_zero_and_their_neighbours_are_kept() {
    for backing in backings() {
        let region = Region::allocate(LONG, *backing).unwrap();
        let whole = region.whole();
        for (offset, len) in [
            (0, LONG),
            (1, LONG - 2),
            (5000, 100),
            (4096, 4096),
            (LONG, 0),
        ] {
            whole.fill(0, LONG, 0xee).unwrap();
            whole.discard(offset, len).unwrap();
            assert!(whole.span(0, offset).unwrap().is_all(0xee));
            assert!(whole.span(offset, len).unwrap().is_all(0));
            assert!(
                whole
                    .span(offset + len, LONG - offset - len)
                    .unwrap()
                    .is_all(0xee)
            );
        }
    }
}

#[test]
fn a_discard_through_a_window_stays_in_the_window() {
    let region = Region::allocate(LONG, Backing::Anonymous).unwrap();
    region.whole().fill(0, LONG, 1).unwrap();
    let window = region.window(4096, LONG - 8192).unwrap();
    assert!(window.discard(1, window.len()).is_err());
    assert!(region.discard(1, usize::MAX).is_err());
    assert!(region.whole().span(0, LONG).unwrap().is_all(1));
    window.discard(0, window.len()).unwrap();
    assert!(region.whole().span(0, 4096).unwrap().is_all(1));
    assert!(window.span(0, window.len()).unwrap().is_all(0));
    assert!(region.whole().span(LONG - 4096, 4096).unwrap().is_all(1));
}

#[test]
fn a_discard_gives_the_memory_back() {
    if cfg!(miri) {
        return;
    }
    let region = Region::allocate(LONG, Backing::Memfd).unwrap();
    let blocks = || rustix::fs::fstat(region.fd().unwrap()).unwrap().st_blocks;
    region.whole().fill(0, LONG, 1).unwrap();
    let before = blocks();
    region.discard(0, LONG).unwrap();
    assert!(
        blocks() < before,
        "{} blocks of {before} are left",
        blocks()
    );
}

#[test]
fn a_window_refuses_whatever_is_not_inside() {
    let region = Region::allocate(4096, Backing::Anonymous).unwrap();
    let window = region.window(1024, 2048).unwrap();
    let outside = [
        (0, 2049),
        (2048, 1),
        (2049, 0),
        (1, usize::MAX),
        (usize::MAX, 1),
        (usize::MAX, 0),
    ];
    for (offset, len) in outside {
        assert!(window.window(offset, len).is_none());
        assert!(window.span(offset, len).is_none());
        let error = window.fill(offset, len, 1).unwrap_err();
        assert_eq!(
            error,
            OutOfRange {
                offset,
                len,
                window: 2048
            }
        );
    }
    assert!(window.read_bytes(2047, &mut [0; 2]).is_err());
    assert!(window.write_bytes(2047, &[1; 2]).is_err());
    assert!(region.whole().span(0, 4096).unwrap().is_all(0));
    assert!(region.window(4096, 1).is_none());
}

#[test]
fn a_window_of_a_window_is_a_window_of_the_region() {
    let region = Region::allocate(4096, Backing::Anonymous).unwrap();
    let inner = region.window(1000, 2000).unwrap().window(24, 100).unwrap();
    assert_eq!(
        (inner.region_offset(), inner.len(), inner.is_empty()),
        (1024, 100, false)
    );
    assert!(inner.is_same(&region.window(1024, 100).unwrap()));
    assert!(!inner.is_same(&region.window(1024, 101).unwrap()));
    assert!(inner.region().is_same(&region.clone()));
    inner.write_bytes(0, b"x").unwrap();
    let mut byte = [0];
    region.whole().read_bytes(1024, &mut byte).unwrap();
    assert_eq!(&byte, b"x");
}

#[test]
fn a_window_keeps_its_memory_when_every_region_handle_is_gone() {
    let window = Region::allocate(4096, Backing::Anonymous)
        .unwrap()
        .window(8, 8)
        .unwrap();
    window.fill(0, 8, 3).unwrap();
    let moved = std::thread::scope(|scope| scope.spawn(move || window).join().unwrap());
    assert!(moved.span(0, 8).unwrap().is_all(3));
}

#[test]
fn a_peers_file_is_the_same_memory_from_its_offset_on() {
    if cfg!(miri) {
        return;
    }
    let ours = Region::allocate(3 * 4096, Backing::Memfd).unwrap();
    let file = || ours.fd().unwrap().try_clone_to_owned().unwrap();
    let theirs = Region::of_file(file(), 4096, 8192).unwrap();
    assert_eq!((theirs.len(), theirs.backing()), (8192, Backing::Memfd));
    ours.whole().write_bytes(4096, &[1, 2, 3]).unwrap();
    theirs.whole().write_bytes(8189, &[7, 8, 9]).unwrap();
    let mut found = [0; 3];
    theirs.whole().read_bytes(0, &mut found).unwrap();
    assert_eq!(found, [1, 2, 3]);
    ours.whole().read_bytes(3 * 4096 - 3, &mut found).unwrap();
    assert_eq!(found, [7, 8, 9]);
    // The memory outlives the handle of whoever made it.
    drop(ours);
    theirs.whole().read_bytes(8189, &mut found).unwrap();
    assert_eq!(found, [7, 8, 9]);
}

#[test]
fn what_does_not_lie_in_a_peers_file_is_refused() {
    if cfg!(miri) {
        return;
    }
    let ours = Region::allocate(8192, Backing::Memfd).unwrap();
    let file = || ours.fd().unwrap().try_clone_to_owned().unwrap();
    for (offset, len) in [(0, 12_288), (8192, 4096), (u64::MAX, 4096), (4096, 8192)] {
        let refused = Region::of_file(file(), offset, len);
        assert!(
            matches!(&refused, Err(RegionError::File { found, .. }) if found.contains("8192")),
            "{refused:?}"
        );
    }
    for (offset, len) in [(100, 4096), (0, 100)] {
        let refused = Region::of_file(file(), offset, len);
        assert!(matches!(refused, Err(RegionError::System { .. })));
    }
    assert!(matches!(
        Region::of_file(file(), 0, 0),
        Err(RegionError::Length { wanted: 0 })
    ));
    let (pipe, _) = std::io::pipe().unwrap();
    let refused = Region::of_file(pipe.into(), 0, 4096);
    assert!(matches!(refused, Err(RegionError::File { .. })));
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let refused = Region::of_file(zero.into(), 0, 4096);
    assert!(matches!(refused, Err(RegionError::File { .. })));
    let text = std::fs::File::open("/proc/self/exe").unwrap();
    let refused = Region::of_file(text.into(), 0, 4096);
    assert!(
        matches!(refused, Err(RegionError::System { .. })),
        "it may not be written: {refused:?}"
    );
}
