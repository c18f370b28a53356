//! The flags of `serve` and how they become a lab.

use core::time::Duration;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;

use crate::device;
use crate::failure::Failure;
use crate::lab::{Lab, MountSection};
use crate::limits;
use crate::number;
use crate::uri::{Placement, Uri, UriError};

use super::socket::{SocketDoor, Waiting};

const EXAMPLES: &str = "\
Examples:
  dataplane-emu serve ram:1G --mount /mnt/drive
      /mnt/drive/nvme_raw_0 is a file of 1 GiB that behaves as a block device does, until Ctrl-C
  dataplane-emu serve 'file:disk.img?size=10G&profile=aws-c7gd' ram:1G --mount /mnt/drive
      two namespaces: nvme_raw_0 outlives the process and answers as fast as that drive would, nvme_raw_1 does neither
  dataplane-emu serve lab.toml
      the same written down; `dataplane-emu lab example` prints such a file
  dataplane-emu serve ram:1G --vfio-user /tmp/drive
      a PCIe function on the socket /tmp/drive/cntrl, for one client at a time: our driver, or
      qemu-system-x86_64 -M q35,memory-backend=m -m 1G -object memory-backend-memfd,id=m,size=1G,share=on \\
          -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"/tmp/drive/cntrl\"}}' ...
  dataplane-emu serve ram:1G --mount /mnt/drive --ready-fd 3 3>ready.fifo
      for scripts: \"ready\" is written to descriptor 3 when the files are there

The mount point is an empty directory. SIGINT, SIGTERM and SIGHUP flush, unmount and end with exit code 0, also under load; another
one, a second or more later, ends at once. docs/serve.md and docs/vfio-user.md have more.";

/// Serve a drive: its namespaces appear as files that fio, dd and losetup can use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArguments {
    /// Devices emulated in this process, each a namespace or more: ram:1G, file:disk.img?size=1G; or one lab file, NAME.toml
    #[arg(value_name = "LAB.toml | DEVICE")]
    what: Vec<String>,

    /// An empty directory on which the files appear: nvme_raw_0, nvme_raw_1, ... [default: the lab file's]
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,

    /// Serve a PCIe function on a vfio-user socket instead of files: a directory, in which the socket is called cntrl, or the
    /// name of the socket
    #[arg(long, value_name = "DIR_OR_SOCKET", conflicts_with_all = ["mount", "allow_other", "threads", "controller"])]
    vfio_user: Option<PathBuf>,

    /// How the controller waits on a socket
    #[arg(long, value_enum, default_value_t, requires = "vfio_user")]
    waiting: Waiting,

    /// Let other users use the files; who is not root needs user_allow_other in /etc/fuse.conf
    #[arg(long)]
    allow_other: bool,

    /// Threads that take requests, 1 to 16 [default: 2]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<u16>,

    /// Where the controller runs: inline, in the threads that take requests; thread, in a thread of its own, which polls and so
    /// takes a CPU [default: thread if a device says controller=thread]
    #[arg(long, value_enum)]
    controller: Option<Where>,

    /// Write "ready" and a line end to this open descriptor when the files are there
    #[arg(long, value_name = "N", value_parser = open_descriptor)]
    pub(super) ready_fd: Option<u32>,

    /// The telemetry file of 64 bytes; none: no file [default: /tmp/dataplane_telemetry.bin]
    #[arg(long, value_name = "FILE")]
    telemetry_v1: Option<PathBuf>,

    /// The telemetry page; none: no file [default: /dev/shm/dataplane_telemetry]
    #[arg(long, value_name = "FILE")]
    telemetry_v2: Option<PathBuf>,

    /// End by itself after this time: 500ms, 10s, 2m (a bare number is seconds) [default: never]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) duration: Option<Duration>,

    /// Say more on stderr: -v what happens, -vv details; RUST_LOG has the last word
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
}

/// Where a controller runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    Inline,
    Thread,
}

impl ServeArguments {
    /// The lab that the arguments mean: a file's, or one of the devices, changed as the flags say.
    pub(super) fn lab(&self) -> Result<Lab, Failure> {
        let mut lab = self.named()?;
        if let Some(path) = &self.mount {
            lab.mount
                .get_or_insert_with(|| MountSection::at(PathBuf::new()))
                .path
                .clone_from(path);
        }
        match &mut lab.mount {
            Some(mount) => {
                mount.allow_other |= self.allow_other;
                mount.threads = self.threads.map(usize::from).or(mount.threads);
            }
            None if self.vfio_user.is_some() => {}
            None => {
                return Err(Failure::usage(anyhow!(
                    "no door: name an empty directory with --mount DIR, or with path = \"DIR\" under [[mount]] in a lab file; or a socket with --vfio-user PATH"
                )));
            }
        }
        for (flag, kept) in [
            (&self.telemetry_v1, &mut lab.telemetry.v1),
            (&self.telemetry_v2, &mut lab.telemetry.v2),
        ] {
            if flag.is_some() {
                kept.clone_from(flag);
            }
        }
        Ok(lab)
    }

    /// The socket to serve on, if that is wanted.
    pub(super) fn socket(&self, lab: &Lab) -> Result<Option<SocketDoor>, Failure> {
        let Some(path) = &self.vfio_user else {
            return Ok(None);
        };
        if let Some(mount) = &lab.mount {
            return Err(Failure::usage(anyhow!(
                "--vfio-user: {} is wanted beside the lab file's mount {}; allowed: one door, so take [[mount]] out",
                path.display(),
                mount.path.display()
            )));
        }
        Ok(Some(SocketDoor {
            path: path.clone(),
            waiting: self.waiting,
        }))
    }

    /// Where the controller runs.
    pub(super) fn placement(&self, lab: &Lab) -> Placement {
        match self.controller {
            Some(Where::Inline) => Placement::Inline,
            Some(Where::Thread) => Placement::Thread,
            None => device::placement(lab),
        }
    }

    fn named(&self) -> Result<Lab, Failure> {
        // A device may end so too: file:x.toml, ram:1G?profile=x.toml.
        let is_lab = |text: &String| {
            use UriError::{NoKind, UnknownKind};
            let parsed = Uri::parse(text);
            text.to_ascii_lowercase().ends_with(".toml")
                && matches!(parsed, Err(NoKind { .. } | UnknownKind { .. }))
        };
        match self.what.as_slice() {
            [] => Err(Failure::usage(anyhow!(
                "nothing to serve: name devices, such as ram:1G, or a lab file; `dataplane-emu lab example` prints one"
            ))),
            [one] if is_lab(one) => Lab::load(Path::new(one)).map_err(Failure::usage),
            all => match all.iter().find(|text| is_lab(text)) {
                Some(file) => Err(Failure::usage(anyhow!(
                    "{file}: a lab file stands alone; write the other devices into it as [[namespace]]"
                ))),
                None => of_devices(all),
            },
        }
    }
}

fn of_devices(all: &[String]) -> Result<Lab, Failure> {
    let mut lab = Lab::empty();
    for text in all {
        let uri = Uri::parse(text).map_err(|error| {
            Failure::usage(anyhow!(
                "{error}; or one lab file, whose name ends in .toml"
            ))
        })?;
        let device = device::require_built(&uri)?.clone();
        lab.add(device, None)
            .map_err(|problem| Failure::usage(anyhow!("{text}: {problem}")))?;
    }
    Ok(lab)
}

fn threads(text: &str) -> Result<u16, String> {
    number::whole(text, 1..=limits::MOUNT_THREADS_MAX as u16)
}

fn open_descriptor(text: &str) -> Result<u32, String> {
    number::whole(text, 0..=i32::MAX as u32)
}

fn time(text: &str) -> Result<Duration, String> {
    bench::parse::milliseconds("duration", text)
        .map(Duration::from_millis)
        .map_err(|error| format!("allowed: {}, at most 366 days", error.allowed))
}
