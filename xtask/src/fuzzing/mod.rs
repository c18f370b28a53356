//! Fuzz targets: which there are, running them, finding a planted bug.
//!
//! The fuzz crate is no member of the workspace, because its targets link libFuzzer.

pub(crate) mod coverage;
pub(crate) mod replay;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::Run;
use crate::tools::{self, CARGO_FUZZ};
use crate::workshop::Workshop;

/// The planted bug has to be found within this time.
const PLANTED_SECONDS_MAX: u64 = 60;

/// `fuzz/parsers.toml`: what each target is for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parsers {
    #[serde(default)]
    targets: BTreeMap<String, Purpose>,
}

/// What one target is for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Purpose {
    /// The files of the parser whose coverage is judged.
    #[serde(default)]
    files: Vec<String>,
    /// The functions of those files that count; none means all.
    #[serde(default)]
    functions: Vec<String>,
    /// True when the code has a bug under `cfg(fuzz_planted_bug)` that this target can find.
    #[serde(default)]
    planted: bool,
}

/// Runs every target, or one, for a time.
///
/// # Errors
/// When one finds a crash.
pub(crate) fn explore(workshop: &Workshop, target: Option<&str>, each: Duration) -> Result<()> {
    let mut crashed = Vec::new();
    for target in targets(workshop, target)? {
        let found = workshop.target.join("fuzz-corpus").join(&target);
        fs::create_dir_all(&found)?;
        let run = cargo_fuzz(workshop)?
            .args(["run", &target])
            .arg("--target-dir")
            .arg(workshop.target.join("fuzz"))
            .arg(&found)
            .args(committed_corpus(workshop, &target))
            .args(["--", &format!("-max_total_time={}", each.as_secs())])
            .args(dictionary(workshop, &target))
            .args([
                "-timeout=10",
                "-rss_limit_mb=2048",
                "-print_final_stats=1",
                "-verbosity=0",
            ]);
        if !run.status()?.success() {
            crashed.push(target);
        }
    }
    if !crashed.is_empty() {
        bail!("crashes, kept in fuzz/artifacts: {}", crashed.join(", "));
    }
    Ok(())
}

/// Builds the targets whose code has a planted bug, with the bug, and lets each look for it.
///
/// # Errors
/// When a bug is not found in time, or no target has one.
pub(crate) fn planted(workshop: &Workshop, target: Option<&str>) -> Result<()> {
    let parsers = read_parsers(workshop)?;
    let mut targets = targets(workshop, target)?;
    targets.retain(|target| {
        parsers
            .targets
            .get(target)
            .is_some_and(|purpose| purpose.planted)
    });
    if targets.is_empty() {
        bail!("no target has `planted = true` in fuzz/parsers.toml");
    }
    let mut missed = Vec::new();
    for target in targets {
        if !finds_planted(workshop, &target)? {
            missed.push(target);
        }
    }
    if !missed.is_empty() {
        bail!(
            "the planted bug was not found in {PLANTED_SECONDS_MAX} s: {}",
            missed.join(", ")
        );
    }
    Ok(())
}

fn finds_planted(workshop: &Workshop, target: &str) -> Result<bool> {
    let folder = workshop.target.join("fuzz-planted").join(target);
    let (found, corpus) = (folder.join("found"), folder.join("corpus"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&corpus)?;
    let status = cargo_fuzz(workshop)?
        .env("RUSTFLAGS", "--cfg fuzz_planted_bug")
        .args(["run", target, "--target-dir"])
        .arg(workshop.target.join("fuzz-planted/build"))
        .arg(&corpus)
        .args(committed_corpus(workshop, target))
        .args([
            "--",
            &format!("-max_total_time={PLANTED_SECONDS_MAX}"),
            "-verbosity=0",
        ])
        .args(dictionary(workshop, target))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .status()?;
    // A target that does not build ends badly as well; only a kept input shows that the bug was found.
    let input = fs::read_dir(&found)?.next().transpose()?;
    match &input {
        Some(input) => println!(
            "{target}: the planted bug was found: {}",
            input.path().display()
        ),
        None if status.success() => println!("{target}: the planted bug was NOT found"),
        None => bail!("{target} with the planted bug did not build or run ({status})"),
    }
    Ok(input.is_some())
}

/// The names of all targets, or the one asked for.
///
/// # Errors
/// When the fuzz crate is missing, has no targets, or not this one.
fn targets(workshop: &Workshop, only: Option<&str>) -> Result<Vec<String>> {
    let manifest = workshop.root.join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let all = target_names(&text)?;
    match only {
        None if all.is_empty() => bail!("fuzz/Cargo.toml has no [[bin]]"),
        None => Ok(all),
        Some(name) if all.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("no fuzz target '{name}'; there are: {}", all.join(", ")),
    }
}

fn target_names(manifest: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        bin: Vec<Bin>,
    }
    #[derive(Deserialize)]
    struct Bin {
        name: String,
    }
    let manifest: Manifest = toml::from_str(manifest).context("fuzz/Cargo.toml")?;
    Ok(manifest.bin.into_iter().map(|bin| bin.name).collect())
}

fn read_parsers(workshop: &Workshop) -> Result<Parsers> {
    let path = workshop.root.join("fuzz/parsers.toml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).context("fuzz/parsers.toml")
}

fn committed_corpus(workshop: &Workshop, target: &str) -> Option<PathBuf> {
    Some(workshop.root.join("fuzz/corpus").join(target)).filter(|folder| folder.is_dir())
}

/// libFuzzer's option for the words of a text that a target reads, where it has any.
fn dictionary(workshop: &Workshop, target: &str) -> Option<String> {
    let words = workshop
        .root
        .join(format!("fuzz/dictionaries/{target}.dict"));
    words
        .is_file()
        .then(|| format!("-dict={}", words.display()))
}

/// The files of the committed corpus of a target, sorted.
fn corpus_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn cargo_fuzz(workshop: &Workshop) -> Result<Run> {
    let program = CARGO_FUZZ.path(workshop)?;
    Ok(tools::nightly(workshop, &["rust-src", "llvm-tools"])?
        .arg(program)
        .arg("fuzz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_the_binaries_of_the_manifest() {
        let manifest =
            "[package]\nname = \"x\"\n[[bin]]\nname = \"a\"\npath = \"p\"\n[[bin]]\nname = \"b\"\n";
        assert_eq!(target_names(manifest).unwrap(), ["a", "b"]);
        assert!(target_names("[package]\n").unwrap().is_empty());
    }

    #[test]
    fn a_misspelt_key_in_the_list_of_parsers_is_refused() {
        assert!(toml::from_str::<Parsers>("[targets.a]\nfile = [\"x\"]\n").is_err());
        let parsers: Parsers =
            toml::from_str("[targets.a]\nfiles = [\"x\"]\nplanted = true\n").unwrap();
        assert!(parsers.targets["a"].planted);
    }
}
