//! File media beside fio's io_uring engine on the same file.

use core::time::Duration;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use media::file::FileOptions;
use media::{BlockSize, FileMedia};

use super::fio::random_reads;
use crate::bars::{Bar, Effort, Samples, Sense};
use crate::spine::rig::Rig;
use crate::stats::median;

const NAME: &str = "file media 4 KiB random reads, QD 32 / fio io_uring on the same file";
const BYTES: usize = 256 << 20;
const DEPTH: usize = 32;

pub(super) fn bars(
    effort: Effort,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
    bars: &mut Vec<Bar>,
) {
    progress(NAME);
    let samples = Scratch::new(folder).and_then(|scratch| compare(effort, &scratch.0));
    bars.push(Bar::judge(NAME, "x", (Sense::AtLeast, 0.9), false, samples));
}

/// A written file that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path) -> Result<Self, String> {
        let path = folder.join(format!("dataplane-emu-drive-{}.img", std::process::id()));
        let scratch = Self(path);
        let wrong = |error: std::io::Error| format!("{}: {error}", scratch.0.display());
        let mut file = File::create_new(&scratch.0).map_err(wrong)?;
        let piece: Vec<u8> = (0..1 << 20).map(|at: u32| (at >> 3) as u8).collect();
        for _ in 0..BYTES >> 20 {
            file.write_all(&piece).map_err(wrong)?;
        }
        file.sync_all().map_err(wrong)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // it is in a folder for temporary files
    }
}

fn compare(effort: Effort, path: &Path) -> Result<Samples, String> {
    let window = effort.window * 15;
    let (mut ours, mut theirs, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for repeat in 0..effort.repeats {
        let (mine, other) = if repeat % 2 == 0 {
            let mine = media_rate(path, window)?;
            (mine, fio_rate(path, window)?)
        } else {
            let other = fio_rate(path, window)?;
            (media_rate(path, window)?, other)
        };
        values.push(mine / other);
        ours.push(mine);
        theirs.push(other);
    }
    let thousand = |rates: &[f64]| median(rates).unwrap_or_default() / 1e3;
    Ok(Samples {
        values,
        discarded: 0,
        detail: format!(
            "{:.1} / {:.1} k IOPS on {}; through driver and controller in one thread, which polls",
            thousand(&ours),
            thousand(&theirs),
            path.parent().unwrap_or(path).display()
        ),
    })
}

/// The device is opened anew each time: fio and we never have I/O on the file together.
fn media_rate(path: &Path, window: Duration) -> Result<f64, String> {
    let media = FileMedia::open(path, FileOptions::new(BlockSize::B512))
        .map_err(|error| error.to_string())?;
    if !media.is_direct() {
        return Err("the folder's file system has no direct I/O for 512-byte blocks".into());
    }
    let mut rig = Rig::over(Box::new(media), 4096)?;
    Ok(rig.read_for(DEPTH, window).per_second())
}

fn fio_rate(path: &Path, window: Duration) -> Result<f64, String> {
    let arguments = ["--ioengine=io_uring", "--iodepth=32"];
    random_reads(path, window.as_secs_f64(), &arguments).map(|outcome| outcome.iops)
}
