//! The driver against a controller that lies: whatever is said, every call ends with an answer or an error.
#![no_main]

use core::time::Duration;

use driver::{BlockDevice, BlockOptions, Device, Options};
use fuzz::decode::Decoder;
use fuzz::hostile::Hostile;
use libfuzzer_sys::fuzz_target;
use spec::NamespaceId;

/// Calls of one input at most.
const CALLS_MAX: usize = 24;

fuzz_target!(|bytes: &[u8]| {
    let mut from = Decoder::new(bytes);
    let blocks = from.u8() & 1 == 0;
    let link = Hostile::new(from);
    let options = Options {
        queue_pairs: 4,
        admin_timeout: Duration::from_secs(2),
        ..Options::default()
    };
    let Ok(device) = Device::open(link, options) else {
        return;
    };
    if blocks {
        use_blocks(device);
    } else {
        use_device(device);
    }
});

/// The block layer, which recovers by itself.
fn use_blocks(mut device: Device<Hostile<'_>>) {
    let id = NamespaceId::new(device.link_mut().decisions().pick(&[1, 2, 1, 2, 7]));
    device.link_mut().begin_call();
    let options = BlockOptions {
        depth: 4,
        ..BlockOptions::default()
    };
    let Ok(mut blocks) = BlockDevice::open(device, id, options) else {
        return;
    };
    let mut bytes = vec![0x5a; 100_000];
    for _ in 0..CALLS_MAX {
        let from = blocks.device_mut().link_mut().decisions();
        let call = from.u8();
        let offset = from.pick(&[0, 1, 511, 512, 4096, 10_000, 200_000, 262_144, u64::MAX]);
        let len = from.pick(&[1, 512, 4096, 5000, 33_000, 100_000, 0]);
        if from.is_empty() {
            break;
        }
        blocks.device_mut().link_mut().begin_call();
        let _ = match call % 8 {
            0 | 1 => blocks.read_at(offset, &mut bytes[..len]),
            2 | 3 => blocks.write_at(offset, &bytes[..len]),
            4 => blocks.flush(),
            5 => blocks.write_zeroes(offset, len as u64),
            6 => blocks.discard(offset, len as u64),
            _ => blocks.recover_now(),
        };
    }
    blocks.device_mut().link_mut().begin_call();
    if let Ok(device) = blocks.close() {
        part(device);
    }
}

/// Admin commands and queue pairs by hand.
fn use_device(mut device: Device<Hostile<'_>>) {
    let mut pairs = Vec::new();
    for _ in 0..CALLS_MAX {
        let from = device.link_mut().decisions();
        let (call, choice) = (from.u8(), from.u8());
        if from.is_empty() {
            break;
        }
        device.link_mut().begin_call();
        match call % 12 {
            0 => drop(device.smart_log()),
            1 => drop(device.error_log(usize::from(choice))),
            2 => drop(device.events()),
            3 => drop(device.keep_alive_if_due()),
            4 => drop(device.set_keep_alive(Some(Duration::from_millis(choice.into())))),
            5 => drop(device.feature(choice, NamespaceId::new(1))),
            6 => drop(device.set_feature(choice, u32::from(choice) << 4)),
            7 => drop(device.refresh_namespaces().map(<[_]>::len)),
            8 => pairs.extend(device.create_queue_pair(u32::from(choice % 70))),
            9 => {
                if let Some(pair) = pairs.pop() {
                    let _ = device.delete_queue_pair(pair);
                }
            }
            10 => {
                let _ = device.reset();
                for pair in &mut pairs {
                    pair.abandon();
                    let _ = device.revive(pair);
                }
            }
            _ => drop(device.check_health()),
        }
    }
    part(device);
}

/// Ends in peace, if the controller lets it.
fn part(mut device: Device<Hostile<'_>>) {
    device.link_mut().begin_call();
    let _ = device.shutdown();
}
