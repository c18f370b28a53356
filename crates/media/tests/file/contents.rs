//! What was written is read back, on every kind of file.

use media::file::Direct;
use media::{BlockSize, FileError, FileMedia, FileOptions, Media, Operation};
use spec::nvme::Status;

use crate::host::{Folder, Host, LoopDevice, MIB, bases, next, options};

const SIZES: [BlockSize; 2] = [BlockSize::B512, BlockSize::B4096];

/// Does all kinds of things at random and compares with a model; returns what the file has to hold.
fn exercise(media: &mut FileMedia, steps: usize, seed: u64) -> Vec<u8> {
    let block = media.block_size().bytes() as usize;
    let blocks = media.blocks().get();
    let mut model = vec![0_u8; blocks as usize * block];
    let mut host = Host::new();
    let mut random = seed;
    for step in 0..steps {
        let longest = [1, 8, (128 << 10) / block as u64, (2 * MIB / block) as u64]
            [next(&mut random) as usize % 4];
        let count = 1 + next(&mut random) % longest.min(blocks);
        let at = next(&mut random) % (blocks - count + 1);
        let range = at as usize * block..(at + count) as usize * block;
        let mut bytes = model[range.clone()].to_vec();
        let op = match next(&mut random) % 10 {
            0..3 => Operation::Write,
            3..6 => Operation::Read,
            6 => Operation::Compare,
            7 => Operation::WriteZeroes {
                deallocate: next(&mut random).is_multiple_of(2),
            },
            8 => Operation::Deallocate,
            _ => [Operation::Flush, Operation::Verify][step % 2],
        };
        let (mut count, mut expected) = (count, Status::SUCCESS);
        match op {
            Operation::Write => {
                bytes
                    .iter_mut()
                    .for_each(|byte| *byte = next(&mut random) as u8);
                model[range.clone()].copy_from_slice(&bytes);
            }
            Operation::Read => bytes.fill(0x55),
            Operation::Compare => {
                if next(&mut random).is_multiple_of(2) {
                    let wrong = next(&mut random) as usize % bytes.len();
                    bytes[wrong] ^= 1;
                    expected = Status::COMPARE_FAILURE;
                }
            }
            Operation::WriteZeroes { .. } | Operation::Deallocate => {
                model[range.clone()].fill(0);
                bytes.clear();
            }
            Operation::Verify => bytes.clear(),
            Operation::Flush => {
                bytes.clear();
                count = 0;
            }
        }
        assert_eq!(
            host.run(media, op, at, count, &mut bytes),
            expected,
            "{op:?} of {count} at {at}"
        );
        if op == Operation::Read {
            assert!(
                bytes == model[range],
                "{count} blocks at {at} read as they were written"
            );
        }
        if step % 50 == 49 {
            media.set_write_cache(step % 100 == 99);
        }
    }
    model
}

#[test]
fn a_file_holds_what_a_model_holds_with_every_block_size_and_cache() {
    for base in bases() {
        let folder = Folder::new(&base, "model");
        for block_size in SIZES {
            for direct in [Direct::Auto, Direct::Never] {
                let path = folder.file(&format!("{block_size:?}-{direct:?}"));
                let mut media =
                    FileMedia::open(&path, options(block_size, 6 * MIB, direct)).unwrap();
                assert!(!(media.is_direct() && direct == Direct::Never));
                let model = exercise(&mut media, 300, 42);
                assert!(media.counts().syncs > 0);
                assert_eq!(media.counts().failures, 0);
                drop(media);
                assert!(
                    std::fs::read(&path).unwrap() == model,
                    "{} holds the same",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn a_block_device_is_held_alone_and_direct_io_is_refused_where_it_cannot_be_exact() {
    let Some(device) = LoopDevice::new("alone", 6 * MIB) else {
        return;
    };
    for (block_size, direct) in [(BlockSize::B4096, true), (BlockSize::B512, false)] {
        let mut media = FileMedia::open(&device.path, FileOptions::new(block_size)).unwrap();
        assert_eq!(media.is_direct(), direct);
        let second = FileMedia::open(&device.path, FileOptions::new(block_size)).map(drop);
        assert!(matches!(second, Err(FileError::InUse { .. })), "{second:?}");
        // It is not empty the second time.
        let blocks = media.blocks().get();
        let zeroed = Host::new().run(&mut media, Operation::Deallocate, 0, blocks, &mut []);
        assert_eq!(zeroed, Status::SUCCESS);
        exercise(&mut media, 200, 7);
    }
    let always = FileOptions {
        direct: Direct::Always,
        ..FileOptions::new(BlockSize::B512)
    };
    let refused = FileMedia::open(&device.path, always).map(drop);
    assert!(
        matches!(refused, Err(FileError::NotDirect { .. })),
        "{refused:?}"
    );
    let other = options(BlockSize::B4096, MIB, Direct::Auto);
    let refused = FileMedia::open(&device.path, other).map(drop);
    let found = 6 * MIB as u64;
    assert!(
        matches!(refused, Err(FileError::OtherSize { found: at, .. }) if at == found),
        "{refused:?}"
    );
}

#[test]
fn flushes_and_forced_writes_reach_the_device_as_flushes_and_other_writes_do_not() {
    let Some(device) = LoopDevice::new("flushes", MIB) else {
        return;
    };
    for direct in [Direct::Always, Direct::Never] {
        let how = FileOptions {
            direct,
            ..FileOptions::new(BlockSize::B4096)
        };
        let mut media = FileMedia::open(&device.path, how).unwrap();
        let mut host = Host::new();
        let mut bytes = vec![1; 4096];
        // The host of these tests forces each write to a third block.
        let mut flushes = |media: &mut FileMedia, op, at, count| {
            let before = device.flushes();
            for _ in 0..20 {
                let bytes = &mut bytes[..count as usize * 4096];
                assert_eq!(host.run(media, op, at, count, bytes), Status::SUCCESS);
            }
            device.flushes() - before
        };
        assert_eq!(flushes(&mut media, Operation::Write, 1, 1), 0);
        assert!(flushes(&mut media, Operation::Write, 3, 1) >= 20);
        assert!(flushes(&mut media, Operation::Flush, 1, 0) >= 20);
        media.set_write_cache(false);
        assert!(flushes(&mut media, Operation::Write, 1, 1) >= 20);
    }
}
