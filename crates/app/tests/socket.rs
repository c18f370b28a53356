//! `serve --vfio-user` as its users meet it.

#[expect(dead_code, reason = "a socket is no mount")]
mod served;

use core::time::Duration;

use driver::{BlockDevice, BlockOptions, Device, Options};
use link::VfioUser;
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use served::{Served, scratch, text};
use spec::NamespaceId;

fn clock() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn connect(path: &std::path::Path, id: u32) -> BlockDevice<VfioUser> {
    let link = VfioUser::connect(path, clock).expect("somebody serves");
    let device = Device::open(link, Options::default()).expect("the controller comes up");
    BlockDevice::open(device, NamespaceId::new(id), BlockOptions::default()).expect("a namespace")
}

#[test]
fn a_drive_on_a_socket_outlives_its_clients_and_its_file_outlives_it() {
    for waiting in ["idle", "busy"] {
        let folder = scratch(&format!("socket-{waiting}"));
        let path = text(&folder);
        let arguments = ["file:disk.img?size=1M", "ram:1M", "--vfio-user", &path];
        let arguments = [&["serve"], &arguments[..], &["--waiting", waiting]].concat();
        for round in 0..2 {
            let mut served = Served::spawn(&folder, &arguments);
            assert!(served.is_ready(), "{}", served.said());
            assert!(
                served.stdout().contains("cntrl 1 MiB file:disk.img"),
                "{}",
                served.said()
            );
            let mut drive = connect(&folder, 1);
            if round == 0 {
                drive.write_at(4097, &[7; 10_000]).expect("a write");
            }
            drop(drive);
            let mut found = vec![0; 10_000];
            let mut again = connect(&folder, 1);
            again.read_at(4097, &mut found).expect("a read");
            assert!(found.iter().all(|&byte| byte == 7), "round {round}");
            drop(again);
            connect(&folder, 2).write_at(0, &[1]).expect("a write");
            let said = served.end(Signal::TERM);
            assert!(said.contains("namespaces flushed at the end 2"), "{said}");
            assert!(!folder.join("cntrl").exists());
        }
    }
}

#[test]
fn a_socket_that_will_not_do_is_refused_before_anything_is_made() {
    let folder = scratch("socket-refused");
    let path = text(&folder);
    let mut first = Served::spawn(&folder, &["serve", "ram:1M", "--vfio-user", &path]);
    assert!(first.is_ready(), "{}", first.said());
    std::fs::write(folder.join("file"), "text").expect("a file");
    for (door, code, words) in [
        (path.clone(), 3, "somebody does already"),
        (text(&folder.join("file")), 3, "found a file"),
        (text(&folder.join("no/such/place")), 3, "No such file"),
    ] {
        let arguments = ["serve", "file:new.img?size=1M", "--vfio-user", &door];
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
            .args(arguments)
            .args(["--telemetry-v1", "none", "--telemetry-v2", "none"])
            .current_dir(&folder)
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{words:?} is missing in {said}");
        assert!(!folder.join("new.img").exists(), "{door}");
    }
    let file = std::fs::read(folder.join("file")).expect("a file");
    assert_eq!(file, b"text");
    first.end(Signal::INT);
}
