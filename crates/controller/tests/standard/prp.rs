//! Physical Region Pages [NVMe Base 2.0 §4.1.1].

use mem::{Backing, Iova, IovaMap, Region, Window};
use spec::nvme::{Status, SubmissionEntry};

use crate::support::{BASE, BYTES, Host, PAGE, UNMAPPED, pattern, read, write};

/// A host with I/O queue 1 whose namespace 1 holds a pattern, 512-byte blocks.
fn filled() -> (Host, Vec<u8>) {
    let mut host = Host::with_pair(8);
    let bytes = pattern(1, 2 << 20);
    let source = host.allocate(2 << 20);
    host.put(source, &bytes);
    let list = host.allocate(PAGE);
    let pages: Vec<u64> = (1..512).map(|at| source + at * PAGE).collect();
    host.put_u64(list, &pages);
    assert_eq!(
        host.io_status(write(1, 0, 4096, source, list)),
        Status::SUCCESS
    );
    (host, bytes)
}

#[test]
fn a_transfer_inside_one_page_may_begin_at_any_dword() {
    let (mut host, bytes) = filled();
    let page = host.allocate(PAGE);
    for offset in [0, 4, 1020, PAGE - 512] {
        assert_eq!(
            host.io_status(read(1, 3, 1, page + offset, UNMAPPED + 1)),
            Status::SUCCESS
        );
        assert_eq!(host.get(page + offset, 512), bytes[3 * 512..4 * 512]);
    }
}

#[test]
fn a_first_entry_that_is_not_dword_aligned_is_refused() {
    let (mut host, _) = filled();
    let page = host.allocate(PAGE);
    for offset in [1, 2, 3, 4093] {
        let status = host.io_status(read(1, 0, 1, page + offset, 0));
        assert_eq!(status, Status::INVALID_PRP_OFFSET, "offset {offset}");
    }
}

#[test]
fn a_transfer_over_two_pages_takes_the_second_entry_as_a_page() {
    let (mut host, bytes) = filled();
    let (first, second) = (host.allocate(2 * PAGE), host.allocate(PAGE));
    let status = host.io_status(read(1, 0, 9, first + 512, second));
    assert_eq!(status, Status::SUCCESS);
    let mut found = host.get(first + 512, 3584);
    found.extend(host.get(second, 1024));
    assert_eq!(found, bytes[..9 * 512]);
}

#[test]
fn a_second_entry_with_an_offset_is_refused() {
    let (mut host, _) = filled();
    let page = host.allocate(2 * PAGE);
    let status = host.io_status(read(1, 0, 16, page, page + PAGE + 512));
    assert_eq!(status, Status::INVALID_PRP_OFFSET);
}

/// Reads `blocks` from block 0 through the list at `list` to the pages that it names, and compares.
fn check(host: &mut Host, bytes: &[u8], prp1: u64, list: u64, pages: &[u64], blocks: u32) {
    assert_eq!(
        host.io_status(read(1, 0, blocks, prp1, list)),
        Status::SUCCESS
    );
    let len = blocks as usize * 512;
    let mut found = host.get(prp1, (PAGE - prp1 % PAGE) as usize);
    for page in pages {
        found.extend(host.get(*page, PAGE as usize));
    }
    assert!(found[..len] == bytes[..len]);
}

#[test]
fn a_list_names_pages_in_any_order_and_may_begin_inside_its_page() {
    let (mut host, bytes) = filled();
    let list = host.allocate(PAGE);
    let data = host.allocate(8 * PAGE);
    let pages = [5, 1, 7, 2].map(|at| data + at * PAGE);
    for offset in [0, 8, 1000, PAGE - 32] {
        host.put_u64(list + offset, &pages);
        check(&mut host, &bytes, data, list + offset, &pages, 40);
        check(&mut host, &bytes, data + 512, list + offset, &pages, 38);
    }
}

#[test]
fn the_last_entry_of_a_list_page_is_data_when_nothing_follows_it() {
    let (mut host, bytes) = filled();
    let list = host.allocate(PAGE);
    let data = host.allocate(3 * PAGE);
    let pages = [data + PAGE, data + 2 * PAGE];
    host.put_u64(list + PAGE - 16, &pages);
    check(&mut host, &bytes, data, list + PAGE - 16, &pages, 24);
}

#[test]
fn the_last_entry_of_a_list_page_links_to_the_next_when_more_follows() {
    let (mut host, bytes) = filled();
    let (first, second) = (host.allocate(PAGE), host.allocate(PAGE));
    let data = host.allocate(5 * PAGE);
    let pages = [1, 2, 3, 4].map(|at| data + at * PAGE);
    host.put_u64(first + PAGE - 16, &[pages[0], second]);
    host.put_u64(second, &pages[1..]);
    check(&mut host, &bytes, data, first + PAGE - 16, &pages, 40);
}

#[test]
fn a_list_that_begins_with_its_link_works() {
    let (mut host, bytes) = filled();
    let (first, second) = (host.allocate(PAGE), host.allocate(PAGE));
    let data = host.allocate(4 * PAGE);
    let pages = [1, 2, 3].map(|at| data + at * PAGE);
    host.put_u64(first + PAGE - 8, &[second]);
    host.put_u64(second, &pages);
    check(&mut host, &bytes, data, first + PAGE - 8, &pages, 32);
}

#[test]
fn the_largest_transfer_works_through_a_chained_list() {
    let (mut host, bytes) = filled();
    let lists = [0; 2].map(|_| host.allocate(PAGE));
    let data = host.allocate(PAGE);
    let pages = host.allocate(512 * PAGE);
    let all: Vec<u64> = (0..512).map(|at| pages + at * PAGE).collect();
    // PRP1 holds 512 bytes, so 512 more entries are needed, the last for 3584 bytes. They fill a page of their own behind
    // a page that holds nothing but the link.
    host.put_u64(lists[0] + PAGE - 8, &[lists[1]]);
    host.put_u64(lists[1], &all);
    let prp1 = data + PAGE - 512;
    let status = host.io_status(read(1, 0, 4096, prp1, lists[0] + PAGE - 8));
    assert_eq!(status, Status::SUCCESS);
    let mut found = host.get(prp1, 512);
    found.extend(host.get(pages, (2 << 20) - 512));
    assert!(found == bytes);
}

/// Expects a refusal of a read of 40 blocks, and that nothing before the wrong entry was written.
fn refused(host: &mut Host, prp1: u64, prp2: u64, wanted: Status, what: &str) {
    host.put(prp1, &[0xee; 16]);
    assert_eq!(host.io_status(read(1, 0, 40, prp1, prp2)), wanted, "{what}");
    assert_eq!(
        host.get(prp1, 16),
        [0xee; 16],
        "{what}: nothing was transferred"
    );
}

#[test]
fn wrong_lists_are_refused_before_any_byte_moves() {
    let (mut host, _) = filled();
    let list = host.allocate(PAGE);
    let data = host.allocate(6 * PAGE);
    let good = [1, 2, 3, 4].map(|at| data + at * PAGE);
    let offset = Status::INVALID_PRP_OFFSET;
    let lost = Status::DATA_TRANSFER_ERROR;
    host.put_u64(list, &good);
    refused(
        &mut host,
        data,
        list + 4,
        offset,
        "a list that is not qword aligned",
    );
    refused(
        &mut host,
        data,
        UNMAPPED,
        lost,
        "a list in memory that is not mapped",
    );
    for at in 0..4 {
        let mut bad = good;
        bad[at] += 512;
        host.put_u64(list, &bad);
        refused(&mut host, data, list, offset, "an entry with an offset");
        bad[at] = UNMAPPED;
        host.put_u64(list, &bad);
        refused(
            &mut host,
            data,
            list,
            lost,
            "an entry in memory that is not mapped",
        );
        bad[at] = u64::MAX - 4095;
        host.put_u64(list, &bad);
        refused(&mut host, data, list, lost, "an entry at the very end");
    }
    host.put_u64(list + PAGE - 16, &[good[0], list + 8]);
    refused(
        &mut host,
        data,
        list + PAGE - 16,
        offset,
        "a link with an offset",
    );
    host.put_u64(list + PAGE - 16, &[good[0], UNMAPPED]);
    refused(
        &mut host,
        data,
        list + PAGE - 16,
        lost,
        "a link to memory that is not mapped",
    );
}

#[test]
fn a_list_that_links_to_itself_comes_to_an_end() {
    let (mut host, _) = filled();
    let list = host.allocate(PAGE);
    let data = host.allocate(PAGE);
    host.put_u64(list, &[data; 511]);
    host.put_u64(list + PAGE - 8, &[list]);
    let entry: SubmissionEntry = read(1, 0, 4096, data + PAGE - 4, list + PAGE - 8);
    let status = host.io_status(entry);
    assert!(
        [Status::SUCCESS, Status::INVALID_FIELD].contains(&status),
        "{status}"
    );
}

/// Gives the controller, in place of all other memory, `data_pages` pages of data at [`BASE`] and, far above, a list: at
/// address `list` the `entries`, after which nothing is mapped. Queues that exist keep working.
fn map_a_list_that_ends_early(
    host: &mut Host,
    data_pages: u64,
    list: u64,
    entries: &[u64],
) -> Window {
    let data = Region::allocate((data_pages * PAGE) as usize, Backing::Anonymous).expect("data");
    let page = Region::allocate(PAGE as usize, Backing::Anonymous).expect("a list page");
    let offset = (list % PAGE) as usize;
    let mapped = page
        .window(offset, entries.len() * 8)
        .expect("inside the page");
    for (at, entry) in entries.iter().enumerate() {
        mapped
            .write_bytes(at * 8, &entry.to_le_bytes())
            .expect("inside the window");
    }
    let mut map = IovaMap::new();
    map.insert(Iova::new(BASE), data.whole())
        .expect("an empty map");
    map.insert(Iova::new(list), mapped)
        .expect("far above the data");
    host.controller.set_memory(map.table());
    data.whole()
}

#[test]
fn memory_of_a_list_page_behind_the_last_entry_used_need_not_be_there() {
    for offset in [0, 8, 1000, PAGE - 40] {
        let (mut host, bytes) = filled();
        let list = UNMAPPED + offset;
        let entries = [5, 1, 3, 2].map(|at| BASE + at * PAGE);
        let data = map_a_list_that_ends_early(&mut host, 6, list, &entries);
        // One page by PRP1 and three and a half by the list.
        assert_eq!(
            host.io_status(read(1, 0, 36, BASE, list)),
            Status::SUCCESS,
            "offset {offset}"
        );
        for (piece, page) in bytes[..36 * 512].chunks(4096).zip([0, 5, 1, 3, 2]) {
            let mut found = vec![0; piece.len()];
            data.read_bytes(page * 4096, &mut found).expect("inside");
            assert!(found == piece, "page {page}, offset {offset}");
        }
        let status = host.io_status(read(1, 0, 41, BASE, list));
        assert_eq!(
            status,
            Status::DATA_TRANSFER_ERROR,
            "a fifth entry is not there"
        );
    }
}

#[test]
fn data_that_begins_inside_mapped_memory_and_ends_outside_is_refused() {
    let (mut host, _) = filled();
    let last = BASE + BYTES as u64 - PAGE;
    let beyond = BASE + BYTES as u64;
    assert_eq!(host.io_status(read(1, 0, 8, last, 0)), Status::SUCCESS);
    assert_eq!(
        host.io_status(read(1, 0, 16, last, beyond)),
        Status::DATA_TRANSFER_ERROR
    );
    assert_eq!(
        host.io_status(read(1, 0, 1, beyond, 0)),
        Status::DATA_TRANSFER_ERROR
    );
    assert_eq!(
        host.io_status(read(1, 0, 1, u64::MAX - 3, 0)),
        Status::DATA_TRANSFER_ERROR
    );
}

#[test]
fn memory_taken_away_is_refused_and_works_again_when_it_is_back() {
    let (mut host, _) = filled();
    let page = host.allocate(PAGE);
    host.unmap_all();
    assert_eq!(
        host.io_status(read(1, 0, 1, page, 0)),
        Status::DATA_TRANSFER_ERROR
    );
    host.map_again();
    assert_eq!(host.io_status(read(1, 0, 1, page, 0)), Status::SUCCESS);
}
