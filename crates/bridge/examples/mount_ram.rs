//! Mounts a RAM device: `mount_ram MOUNT [MIB] [THREADS] [CLONE_FD]`. Ends when it is unmounted, and says what the
//! controller counted.
#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bridge::fuse::{Mount, MountOptions};
use controller::NamespaceConfig;
use driver::Device;
use local::{Blueprint, Inline};
use media::{BlockSize, RamMedia};
use mem::Backing;
use spec::{BlockCount, NamespaceId};

fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: mount_ram MOUNT [MIB] [THREADS] [CLONE_FD]";
    let point = PathBuf::from(arguments.next().ok_or(usage)?);
    let mut number = |otherwise| match arguments.next() {
        Some(text) => text.parse::<u64>().map_err(|_| usage),
        None => Ok(otherwise),
    };
    let standard = MountOptions::default();
    let blocks = BlockCount::new((number(64)? << 20) / BlockSize::B4096.bytes());
    let options = MountOptions {
        threads: number(standard.threads as u64)? as usize,
        clone_fd: number(standard.clone_fd.into())? != 0,
        ..standard
    };
    let ram = RamMedia::new(blocks, BlockSize::B4096, Backing::Anonymous)?;
    let namespace = NamespaceConfig {
        id: NamespaceId::new(1),
        media: Box::new(ram),
    };
    let link = Inline::new(Blueprint::new(vec![namespace]), clock)?;
    let device = Device::open(link, driver::Options::default())?;
    let mount = Mount::start(device, &point, &options)?;
    println!("{}", mount.point().display());
    while !mount.is_over() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut device = mount.unmount()?;
    println!("{:#?}", device.link_mut().controller().counters());
    device.shutdown()?;
    Ok(())
}
