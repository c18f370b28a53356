//! `bench verify`: every byte of every read checked, over the whole range of jobs.

use anyhow::{Result, bail};
use std::process::{Command, Stdio};

use crate::workshop::Workshop;

const PATTERNS: [&str; 5] = ["randread", "randwrite", "randrw", "read", "write"];
const BLOCK_BYTES: [u64; 6] = [512, 4096, 8192, 65_536, 131_072, 1 << 20];
const DEPTHS: [u64; 4] = [1, 16, 128, 1024];
const LBA_BYTES: [u64; 2] = [512, 4096];

/// The smallest working set. A deeper or wider job gets room for twice what it has in flight, so that its depth is real.
const SET_BYTES_MIN: u64 = 16 << 20;

/// Runs each job of the matrix and says how many passed.
///
/// # Errors
/// When a job fails: all that failed, each with the command that repeats it.
pub(super) fn run(workshop: &Workshop) -> Result<()> {
    workshop
        .cargo("build")
        .args(["--release", "--quiet", "--package", "dataplane-emu"])
        .run()?;
    let program = workshop.target.join("release/dataplane-emu");
    let (mut passed, mut failed) = (0, Vec::new());
    for lba in LBA_BYTES {
        for block in BLOCK_BYTES.into_iter().filter(|&block| block >= lba) {
            for depth in DEPTHS {
                for pattern in PATTERNS {
                    let arguments = job(lba, block, depth, pattern);
                    let status = Command::new(&program)
                        .args(&arguments)
                        .stdout(Stdio::null())
                        .status()?;
                    if status.success() {
                        passed += 1;
                    } else {
                        failed.push(format!("dataplane-emu {}", arguments.join(" ")));
                    }
                }
            }
            println!("verify: LBA {lba}, blocks of {block}: {passed} jobs passed so far");
        }
    }
    println!("verify: {passed} jobs passed, {} failed", failed.len());
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{}", failed.join("\n"))
}

fn job(lba: u64, block: u64, depth: u64, pattern: &str) -> Vec<String> {
    let bytes = SET_BYTES_MIN.max(2 * block * depth);
    let ios = (2 * depth).max(500);
    let words = format!(
        "bench ram:{bytes}?lba={lba} --rw {pattern} --bs {block} --qd {depth} --ios {ios} --repeats 1 --verify"
    );
    words.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_room_for_twice_what_it_keeps_in_flight() {
        let words = job(4096, 1 << 20, 1024, "randrw");
        assert!(
            words.contains(&format!("ram:{}?lba=4096", 2_u64 << 30)),
            "{words:?}"
        );
        let words = job(512, 512, 1, "read");
        assert!(
            words.contains(&format!("ram:{SET_BYTES_MIN}?lba=512")),
            "{words:?}"
        );
    }
}
