//! Random reads of file media alone, by one thread that polls: what fio's io_uring engine is compared with.
//!
//! `cargo run --release -p dpe-media --example file_reads -- PATH [SECONDS] [DEPTH] [BYTES]`
//!
//! Prints one line: reads per second, mean latency by Little's law, processor time per read.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::time::{Duration, Instant};

use media::{
    BlockSize, FileMedia, FileOptions, Landing, Media, Operation, Progress, Request, Token,
};
use mem::{Backing, Region, Span};
use spec::nvme::Status;
use spec::{BlockCount, Lba};

/// The host: its memory, and which tokens are to be used again.
struct Host {
    memory: mem::Window,
    bytes: usize,
    free: Vec<Token>,
    reads: u64,
    failed: u64,
}

impl Landing for Host {
    fn blocks(&mut self, token: Token, blocks: Span<'_>) -> Status {
        let place = self.memory.span(token.0 as usize * self.bytes, self.bytes);
        place.map_or(Status::INTERNAL_ERROR, |place| {
            blocks.copy_to(place);
            Status::SUCCESS
        })
    }

    fn answer(&mut self, token: Token, status: Status) {
        self.free.push(token);
        self.reads += 1;
        self.failed += u64::from(!status.is_success());
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("wanted the path of a file, found none; name one")?;
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seconds, depth, bytes) = (number(5)?, number(32)?, number(4096)? as usize);

    let mut media = FileMedia::open(&path, FileOptions::new(BlockSize::B4096))?;
    let count = BlockCount::new(bytes as u64 / 4096);
    let places = media.blocks().get() / count.get();
    let memory = Region::allocate(depth as usize * bytes, Backing::Anonymous)?;
    memory.prefault()?;
    let mut host = Host {
        memory: memory.whole(),
        bytes,
        free: (0..depth as u32).map(Token).collect(),
        reads: 0,
        failed: 0,
    };
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let (began, processor) = (Instant::now(), processor_time());
    let end = Duration::from_secs(seconds);
    while began.elapsed() < end {
        while let Some(token) = host.free.pop() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = Lba::new(random % places * count.get());
            let request = Request {
                op: Operation::Read,
                at,
                count,
                fua: false,
            };
            let place = host
                .memory
                .span(token.0 as usize * bytes, bytes)
                .ok_or("memory for each token")?;
            if let Progress::Done(status) = media.start(token, &request, &[place]) {
                host.answer(token, status);
            }
        }
        media.poll(Duration::ZERO, &mut host);
    }
    let took = began.elapsed().as_secs_f64();
    let busy = processor_time() - processor;
    let reads = host.reads as f64;
    println!(
        "{path}: {bytes} B reads at depth {depth}: {:.0} IOPS, mean {:.1} us, {:.2} us of processor per read, {} failed, direct {}, registered {}",
        reads / took,
        took * depth as f64 / reads * 1e6,
        busy.as_secs_f64() / reads * 1e6,
        host.failed,
        media.is_direct(),
        media.disk().has_registered_memory(),
    );
    Ok(())
}

/// What this process used so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
