//! Tests of what a map accepts. Look-ups are compared with a model in `tests/iova_table.rs`.

use super::*;
use crate::{Backing, Region};

const LEAF_BYTES: u64 = 1 << (TABLE_PAGE_BITS + TABLE_LEAF_BITS);

fn window(len: usize) -> Window {
    Region::allocate(len, Backing::Anonymous)
        .unwrap()
        .window(0, len)
        .unwrap()
}

fn at(raw: u64) -> Iova {
    Iova::new(raw)
}

#[test]
fn an_address_prints_as_hexadecimal() {
    assert_eq!(at(0x1f00).to_string(), "0x1f00");
    assert_eq!(at(u64::MAX).get(), u64::MAX);
}

#[test]
fn the_same_mapping_twice_is_one_and_another_at_its_place_is_refused() {
    let mut map = IovaMap::new();
    let one = window(4096);
    map.insert(at(0x1000), one.clone()).unwrap();
    map.insert(at(0x1000), one.clone()).unwrap();
    assert_eq!(map.len(), 1);
    for iova in [0x1000, 0x1, 0x1fff, 0x800] {
        let refused = map.insert(at(iova), window(4096)).unwrap_err();
        let overlap = MapError::Overlap {
            iova: at(iova),
            len: 4096,
            found: at(0x1000),
            found_len: 4096,
        };
        assert_eq!(refused, overlap);
    }
    let part = one.window(0, 2048).unwrap();
    assert!(matches!(
        map.insert(at(0x1000), part),
        Err(MapError::Overlap { .. })
    ));
    map.insert(at(0), window(4096)).unwrap();
    map.insert(at(0x2000), one).unwrap();
    assert_eq!(
        map.iter().map(|(iova, _)| iova.get()).collect::<Vec<_>>(),
        [0, 0x1000, 0x2000]
    );
}

#[test]
fn a_large_mapping_cannot_swallow_a_small_one() {
    let mut map = IovaMap::new();
    map.insert(at(0x2000), window(16)).unwrap();
    assert!(matches!(
        map.insert(at(0), window(0x8000)),
        Err(MapError::Overlap { .. })
    ));
}

#[test]
fn addresses_end_where_the_table_ends() {
    let mut map = IovaMap::new();
    let last = (1 << IOVA_BITS) - 4096;
    map.insert(at(last), window(4096)).unwrap();
    for iova in [last + 1, 1 << IOVA_BITS, u64::MAX - 4096, u64::MAX] {
        let refused = map.insert(at(iova), window(4096)).unwrap_err();
        assert_eq!(
            refused,
            MapError::TooHigh {
                iova: at(iova),
                len: 4096
            }
        );
    }
    assert_eq!(
        map.table().span(last, 4096).map(|span| span.len()),
        Some(4096)
    );
    assert!(map.table().span(last, 4097).is_none());
}

#[test]
fn a_mapping_of_nothing_is_refused() {
    let mut map = IovaMap::new();
    let empty = window(16).window(16, 0).unwrap();
    assert_eq!(
        map.insert(at(5), empty),
        Err(MapError::Empty { iova: at(5) })
    );
    assert_eq!(map.remove(at(5), 0), Err(MapError::Empty { iova: at(5) }));
    assert!(map.is_empty());
}

#[test]
fn whole_mappings_are_removed_and_none_is_cut() {
    let mut map = IovaMap::new();
    for iova in [0x1000, 0x3000, 0x5000] {
        map.insert(at(iova), window(4096)).unwrap();
    }
    let cut = |iova, len, found| {
        Err(MapError::Split {
            iova: at(iova),
            len,
            found: at(found),
            found_len: 4096,
        })
    };
    assert_eq!(map.remove(at(0x1001), 0x2000), cut(0x1001, 0x2000, 0x1000));
    assert_eq!(map.remove(at(0x1000), 0x2001), cut(0x1000, 0x2001, 0x3000));
    assert_eq!(map.remove(at(0x3800), 1), cut(0x3800, 1, 0x3000));
    let nothing = MapError::NotMapped {
        iova: at(0x2000),
        len: 0x1000,
    };
    assert_eq!(map.remove(at(0x2000), 0x1000), Err(nothing));
    assert!(matches!(
        map.remove(at(1), u64::MAX),
        Err(MapError::TooHigh { .. })
    ));
    assert_eq!(map.len(), 3);
    map.remove(at(0), 0x4800).unwrap();
    assert_eq!(
        map.iter().map(|(iova, _)| iova.get()).collect::<Vec<_>>(),
        [0x5000]
    );
    map.remove(at(0x5000), 0x1000).unwrap();
    assert!(map.is_empty() && map.leaves.is_empty());
}

#[test]
fn a_scattered_map_is_refused_before_it_costs_memory() {
    if cfg!(miri) {
        return;
    }
    let mut map = IovaMap::new();
    let one = window(16);
    for leaf in 0..TABLE_LEAVES_MAX as u64 {
        map.insert(at(leaf * LEAF_BYTES), one.clone()).unwrap();
    }
    let next = at(TABLE_LEAVES_MAX as u64 * LEAF_BYTES);
    assert_eq!(map.insert(next, one.clone()), Err(MapError::TooScattered));
    map.insert(at(64), one.clone()).unwrap();
    map.remove(at(LEAF_BYTES), 16).unwrap();
    map.insert(next, one).unwrap();
    map.remove_all();
    assert!(map.is_empty() && map.leaves.is_empty());
}

#[test]
fn a_mapping_across_leaves_is_counted_in_each() {
    let mut map = IovaMap::new();
    map.insert(at(LEAF_BYTES - 8), window(16)).unwrap();
    map.insert(at(LEAF_BYTES + 8), window(16)).unwrap();
    assert_eq!(map.leaves.values().copied().collect::<Vec<_>>(), [1, 2]);
    map.remove(at(LEAF_BYTES - 8), 16).unwrap();
    assert_eq!(map.leaves.values().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn the_number_of_mappings_has_a_bound() {
    if cfg!(miri) {
        return;
    }
    let mut map = IovaMap::new();
    let one = window(16);
    for index in 0..MAPPINGS_MAX as u64 {
        map.insert(at(index * 16), one.clone()).unwrap();
    }
    assert_eq!(map.insert(at(1 << 40), one), Err(MapError::TooMany));
}
