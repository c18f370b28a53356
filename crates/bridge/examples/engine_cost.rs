#![allow(missing_docs, clippy::all, clippy::print_stdout)]
use bridge::engine::{Engine, EngineOptions, Request};
use controller::NamespaceConfig;
use driver::Device;
use local::{Blueprint, Inline};
use media::{BlockSize, RamMedia};
use mem::Backing;
use spec::{BlockCount, NamespaceId};
use std::time::Duration;
fn clock() -> Duration { let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic); Duration::new(now.tv_sec as u64, now.tv_nsec as u32) }
fn cpu() -> f64 { let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime); now.tv_sec as f64 * 1e9 + now.tv_nsec as f64 }
fn main() {
    for mib in [1u64, 16, 256] {
    let blocks = BlockCount::new((mib << 20) / 4096);
    let ram = RamMedia::new(blocks, BlockSize::B4096, Backing::Anonymous).unwrap();
    let ns = NamespaceConfig { id: NamespaceId::new(1), media: Box::new(ram) };
    let link = Inline::new(Blueprint::new(vec![ns]), clock).unwrap();
    let device = Device::open(link, driver::Options::default()).unwrap();
    let mut e = Engine::open(device, &EngineOptions::default()).unwrap();
    let mut buf = vec![1u8; 4096];
    for b in 0..blocks.get() { let t = e.submit(&Request::Write{volume:0,offset:b*4096,data:&buf,durable:false}).unwrap(); e.pump(); assert_eq!(e.next_done(), Some(t)); e.release(t); }
    let mut x = 1u64;
    for what in ["read", "write", "copies"] {
    let mut best = f64::MAX; let mut all = vec![];
    let other = vec![3u8; (mib<<20) as usize]; let mut mid = vec![0u8; 4096];
    for _ in 0..200 {
        let t0 = cpu();
        for _ in 0..500 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let offset = ((x >> 33) % blocks.get()) * 4096;
            if what == "copies" { mid.copy_from_slice(&other[offset as usize..offset as usize+4096]); std::hint::black_box(&mut mid); buf.copy_from_slice(&mid); std::hint::black_box(&mut buf); continue; }
            let r = if what == "read" { Request::Read{volume:0,offset,len:4096} } else { Request::Write{volume:0,offset,data:&buf,durable:false} };
            let t = e.submit(&r).unwrap(); e.pump(); assert_eq!(e.next_done(), Some(t));
            if what == "read" { e.read_out(t, &mut buf); }
            e.release(t);
        }
        let d = (cpu() - t0) / 500.0; all.push(d); if d < best { best = d }
    }
    all.sort_by(f64::total_cmp);
    println!("{mib} MiB {what}: min {best:.0} p10 {:.0} median {:.0} ns", all[20], all[100]);
    }
    }
}
