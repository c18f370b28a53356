//! How `serve` ends: signals of several senders, and what became of its files meanwhile.

#[expect(dead_code, reason = "other tests use the rest")]
mod served;

use std::fs::{self, File, OpenOptions};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use served::{Served, can_mount, is_mounted, scratch, wait_until};

#[test]
fn a_second_signal_ends_at_once_and_says_what_that_means() {
    if !can_mount() {
        return;
    }
    let folder = scratch("twice");
    let script = "version = 1\n[[rule]]\nop = \"flush\"\ndo = \"drop\"\n";
    fs::write(folder.join("hangs.toml"), script).expect("a script");
    let mut served = Served::start(&folder, &["ram:1M?fault=hangs.toml", "-v"]);
    served.signal(Signal::TERM);
    wait_until("the end begins", || !is_mounted(&folder.join("mnt")));
    assert!(served.stderr().contains("ending"), "{}", served.said());
    std::thread::sleep(Duration::from_millis(1200));
    served.signal(Signal::INT);
    assert_eq!(served.wait().code(), Some(1), "{}", served.said());
    assert!(
        served
            .stderr()
            .contains("SIGINT while ending: left at once")
    );
}

#[test]
fn signals_that_come_at_once_are_one_wish_to_end_in_peace() {
    if !can_mount() {
        return;
    }
    let folder = scratch("at-once");
    let script = "version = 1\n[[rule]]\nop = \"flush\"\ndo = \"delay\"\ndelay_us = 400000\n";
    fs::write(folder.join("slow.toml"), script).expect("a script");
    let mut served = Served::start(&folder, &["ram:1M?fault=slow.toml"]);
    served.signal(Signal::TERM);
    // `timeout` sends one to the process and one to its group; two of a kind may be taken for one, these are not.
    served.signal(Signal::INT);
    assert_eq!(served.wait().code(), Some(0), "{}", served.said());
    let said = served.stdout();
    assert!(said.contains("and 1 at the end"), "{said}");
}

#[test]
fn the_end_of_its_terminal_ends_a_served_drive_in_peace() {
    if !can_mount() {
        return;
    }
    let folder = scratch("terminal");
    let served = Served::start(&folder, &["ram:1M"]);
    let said = served.end(Signal::HUP);
    assert!(said.contains("and 1 at the end"), "{said}");
}

#[test]
fn who_was_started_by_nohup_outlives_the_terminal() {
    if !can_mount() {
        return;
    }
    let folder = scratch("nohup");
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args(["serve", "ram:1M", "--mount", "mnt"])
        .args(["--telemetry-v1", "none", "--telemetry-v2", "none"])
        .current_dir(&folder)
        .stdout(File::create(folder.join("stdout")).expect("a file"))
        .stderr(File::create(folder.join("stderr")).expect("a file"))
        .spawn()
        .expect("nohup starts");
    wait_until("the files are there", || is_mounted(&folder.join("mnt")));
    let id = i32::try_from(child.id()).expect("a process");
    let id = rustix::process::Pid::from_raw(id).expect("a process");
    rustix::process::kill_process(id, Signal::HUP).expect("it is ours");
    std::thread::sleep(Duration::from_millis(500));
    assert!(is_mounted(&folder.join("mnt")), "it goes on");
    rustix::process::kill_process(id, Signal::TERM).expect("it is ours");
    assert!(child.wait().expect("its end").success());
}

#[test]
fn a_media_file_that_was_cut_or_deleted_meanwhile_is_said_at_the_end() {
    if !can_mount() {
        return;
    }
    let folder = scratch("meanwhile");
    let path = folder.join("disk.img");
    for controller in ["inline", "thread"] {
        let serve = || {
            Served::start(
                &folder,
                &["file:disk.img?size=1M", "--controller", controller],
            )
        };
        let mut served = serve();
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(4096)).expect("it is cut");
        served.signal(Signal::TERM);
        served.wait();
        let words = "wanted 1048576 bytes, found 4096: somebody has made the file shorter";
        assert!(served.stderr().contains(words), "{}", served.said());
        fs::remove_file(&path).expect("it goes");

        let mut served = serve();
        fs::remove_file(&path).expect("it goes");
        served.signal(Signal::TERM);
        served.wait();
        let words = "the file has no name any more";
        assert!(served.stderr().contains(words), "{}", served.said());

        let served = serve();
        let said = served.stderr();
        served.end(Signal::TERM);
        assert!(!said.contains("no name any more"), "{said}");
        fs::remove_file(&path).expect("it goes");
    }
}
