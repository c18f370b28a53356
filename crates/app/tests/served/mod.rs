//! The program serving a drive, as tests start and end it.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether this machine lets us mount; if not, says so.
#[expect(clippy::print_stdout, reason = "what does not run says so")]
pub(crate) fn can_mount() -> bool {
    let missing = if !Path::new("/dev/fuse").exists() {
        "no /dev/fuse"
    } else if !rustix::process::geteuid().is_root() {
        "only root mounts without fusermount3"
    } else {
        return true;
    };
    println!("not run: {missing}");
    false
}

/// A fresh folder of one test alone, with an empty folder `mnt` in it.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("served-{name}"));
    detach(&folder.join("mnt"));
    let _ = fs::remove_dir_all(&folder); // it may be the first run
    fs::create_dir_all(folder.join("mnt")).expect("a folder");
    folder
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str()
        .expect("the build folder's name is text")
        .to_owned()
}

/// Whether something is mounted there.
pub(crate) fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("a list of mounts");
    let point = text(point);
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(&point))
}

fn detach(point: &Path) {
    while is_mounted(point) {
        let flags = rustix::mount::UnmountFlags::DETACH;
        rustix::mount::unmount(point, flags).expect("what a test mounted can be taken away");
    }
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = SystemTime::now() + PATIENCE;
    while !holds() {
        assert!(SystemTime::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The program, started. It and its mount are gone with this.
pub(crate) struct Served {
    child: Child,
    folder: PathBuf,
    ready: OwnedFd,
    /// Whether its mount is left as it is.
    abandoned: bool,
}

impl Served {
    /// Starts `serve` with the mount `mnt` of a folder, and waits until its files are there.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mount = text(&folder.join("mnt"));
        let mut served = Self::spawn(folder, &[&["serve", "--mount", &mount], arguments].concat());
        assert!(served.is_ready(), "{arguments:?}: {}", served.said());
        served
    }

    /// Starts `serve`. Telemetry goes nowhere unless it is named.
    pub(crate) fn spawn(folder: &Path, arguments: &[&str]) -> Self {
        let mut arguments = arguments.to_vec();
        for flag in ["--telemetry-v1", "--telemetry-v2"] {
            if !arguments.contains(&flag) {
                arguments.extend([flag, "none"]);
            }
        }
        Self::spawn_with_ready(folder, &arguments)
    }

    /// Starts a command that knows `--ready-fd`.
    pub(crate) fn spawn_with_ready(folder: &Path, arguments: &[&str]) -> Self {
        let (ready, theirs) = rustix::pipe::pipe().expect("a pipe");
        let fd = theirs.as_raw_fd().to_string();
        let mut command = Self::command(folder, arguments);
        command.args(["--ready-fd", &fd]);
        Self::run(command, folder, ready)
    }

    /// Starts the program with these arguments alone.
    pub(crate) fn spawn_plainly(folder: &Path, arguments: &[&str]) -> Self {
        let (ready, _) = rustix::pipe::pipe().expect("a pipe");
        Self::run(Self::command(folder, arguments), folder, ready)
    }

    fn command(folder: &Path, arguments: &[&str]) -> Command {
        let stream = |name: &str| File::create(folder.join(name)).expect("a file for what it says");
        // Tests may run under nohup, whose children do not hear of a terminal's end.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_dataplane-emu")])
            .args(arguments)
            .current_dir(folder)
            .stdout(stream("stdout"))
            .stderr(stream("stderr"));
        command
    }

    fn run(mut command: Command, folder: &Path, ready: OwnedFd) -> Self {
        Self {
            child: command.spawn().expect("the program starts"),
            folder: folder.to_owned(),
            ready,
            abandoned: false,
        }
    }

    /// Waits for its word; false if it ended before.
    pub(crate) fn is_ready(&mut self) -> bool {
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        let end = SystemTime::now() + PATIENCE;
        loop {
            let mut polled = [PollFd::new(&self.ready, PollFlags::IN)];
            let _ = poll(&mut polled, Some(&tick)); // a signal of the test's own is no answer
            if polled[0].revents().contains(PollFlags::IN) {
                let mut word = [0; 6];
                let duplicate = self.ready.try_clone().expect("a descriptor");
                File::from(duplicate).read_exact(&mut word).expect("a word");
                assert_eq!(&word, b"ready\n");
                return true;
            }
            if self.child.try_wait().expect("our child").is_some() {
                return false;
            }
            assert!(
                SystemTime::now() < end,
                "it neither serves nor ends: {}",
                self.said()
            );
        }
    }

    pub(crate) fn file(&self, index: u32) -> PathBuf {
        self.folder.join("mnt").join(format!("nvme_raw_{index}"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process");
        kill_process(Pid::from_raw(id).expect("a process"), signal).expect("it is ours");
    }

    /// Kills it, which leaves a dead mount behind.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        self.wait();
        self.abandoned = true;
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut ended = None;
        wait_until("the end of the program", || {
            ended = self.child.try_wait().expect("our child");
            ended.is_some()
        });
        ended.expect("it has ended")
    }

    /// Ends it, and says what it printed to stdout; it must have ended well, and nothing be mounted any more.
    pub(crate) fn end(mut self, signal: Signal) -> String {
        self.signal(signal);
        let status = self.wait();
        assert_eq!(status.code(), Some(0), "{}", self.said());
        assert!(!is_mounted(&self.folder.join("mnt")), "{}", self.said());
        self.stdout()
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.folder.join("stdout")).expect("text")
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).expect("text")
    }

    pub(crate) fn said(&self) -> String {
        self.stdout() + &self.stderr()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill(); // it may have ended meanwhile
            let _ = self.child.wait();
        }
        if !self.abandoned {
            detach(&self.folder.join("mnt"));
        }
    }
}
