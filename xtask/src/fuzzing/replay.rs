//! The committed corpus, run once by the pinned toolchain: a crash that was found once stays found.

use anyhow::{Result, bail};

use super::{committed_corpus, corpus_files, targets};
use crate::process::Run;
use crate::workshop::Workshop;

/// How many files go on one command line.
const FILES_PER_RUN_MAX: usize = 500;

/// Runs every file of every target's committed corpus. Stable Rust instruments nothing, but replaying needs no
/// instruments; overflow checks and debug assertions are on.
///
/// # Errors
/// When one crashes, the targets do not build, or a target has no corpus.
pub(crate) fn run(workshop: &Workshop) -> Result<()> {
    let build_folder = workshop.target.join("fuzz-replay");
    workshop
        .cargo("build")
        .args([
            "--quiet",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--bins",
            "--target-dir",
        ])
        .arg(&build_folder)
        .run()?;
    let mut broken = Vec::new();
    for target in targets(workshop, None)? {
        let Some(folder) = committed_corpus(workshop, &target) else {
            broken.push(format!("{target} has no fuzz/corpus/{target}"));
            continue;
        };
        let files = corpus_files(&folder)?;
        println!("{target}: {} inputs", files.len());
        for some in files.chunks(FILES_PER_RUN_MAX) {
            let program = build_folder.join("debug").join(&target);
            // libFuzzer writes a line per file; the capture shows them only when one crashes.
            let replay = Run::new(program).args(some).dir(&workshop.root).capture();
            if let Err(error) = replay {
                broken.push(format!("{target}: {error:#}"));
            }
        }
    }
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(())
}
