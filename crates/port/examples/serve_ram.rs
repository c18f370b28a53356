//! Serves a RAM drive over vfio-user: `serve_ram DIR_OR_SOCKET [MIB] [busy]`. Ends with its standard input, and says what the
//! controller counted. `dataplane-emu serve` does more; this is the least that a server needs.
#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::error::Error;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use controller::{Config, NamespaceConfig};
use media::{BlockSize, RamMedia};
use mem::Backing;
use port::vfio_user::{Endpoint, Options, Waiting};
use spec::{BlockCount, NamespaceId};

fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: serve_ram DIR_OR_SOCKET [MIB] [busy]";
    let path = PathBuf::from(arguments.next().ok_or(usage)?);
    let mib: u64 = match arguments.next() {
        Some(text) => text.parse().map_err(|_| usage)?,
        None => 64,
    };
    let waiting = match arguments.next().as_deref() {
        Some("busy") => Waiting::Busy,
        Some(_) => return Err(usage.into()),
        None => Waiting::Idle,
    };
    let blocks = BlockCount::new((mib << 20) / BlockSize::B512.bytes());
    let ram = RamMedia::new(blocks, BlockSize::B512, Backing::Anonymous)?;
    let options = Options {
        config: Config::default(),
        namespaces: vec![NamespaceConfig {
            id: NamespaceId::new(1),
            media: Box::new(ram),
        }],
        waiting,
        clock,
    };
    let endpoint = Endpoint::open(&path, options)?;
    println!("{}", endpoint.path().display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{:?}", endpoint.activity()?);
    let controller = endpoint.close()?;
    println!("{:#?}", controller.counters());
    Ok(())
}
