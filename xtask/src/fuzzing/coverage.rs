//! Line coverage of the parsers by the fuzz targets' corpus.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Purpose, cargo_fuzz, committed_corpus, read_parsers, targets};
use crate::process::Run;
use crate::tools::{MachineLacks, NIGHTLY};
use crate::workshop::Workshop;

/// A parser less covered than this is not tested.
const COVERED_PERCENT_MIN: f64 = 85.0;

/// Runs each target's corpus with counters and prints the coverage of its parser.
///
/// # Errors
/// When a parser is covered too little, or a target is missing from `fuzz/parsers.toml`.
pub(crate) fn run(workshop: &Workshop, target: Option<&str>) -> Result<()> {
    let parsers = read_parsers(workshop)?;
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    for target in targets(workshop, target)? {
        let Some(purpose) = parsers.targets.get(&target) else {
            broken.push(format!("{target} is missing from fuzz/parsers.toml"));
            continue;
        };
        let export = measure(workshop, &target)?;
        for file in &purpose.files {
            let covered = Covered::of(&export.lines_of(&workshop.root.join(file), purpose));
            if covered.percent() < COVERED_PERCENT_MIN {
                broken.push(format!("{file} by {target}: {:.1} %", covered.percent()));
            }
            rows.push((target.clone(), file.clone(), covered));
        }
    }
    println!(
        "\n{:28} {:44} {:>7} {:>7} {:>7}",
        "target", "parser", "lines", "covered", "%"
    );
    for (target, file, covered) in &rows {
        let (lines, hit, percent) = (covered.lines, covered.hit, covered.percent());
        println!("{target:28} {file:44} {lines:7} {hit:7} {percent:7.1}");
    }
    if !broken.is_empty() {
        bail!(
            "wanted: at least {COVERED_PERCENT_MIN} % of the lines:\n{}",
            broken.join("\n")
        );
    }
    Ok(())
}

/// Builds a target with counters, runs its corpus and what fuzzing has found so far, and reads the counters.
fn measure(workshop: &Workshop, target: &str) -> Result<Export> {
    let build_folder = workshop.target.join("fuzz-coverage");
    cargo_fuzz(workshop)?
        .args(["coverage", target, "--target-dir"])
        .arg(&build_folder)
        .args(committed_corpus(workshop, target))
        .run()?;
    let machine = machine_triple()?;
    let program = build_folder.join(&machine).join("release").join(target);
    let profile = workshop
        .root
        .join("fuzz/coverage")
        .join(target)
        .join("coverage.profdata");
    let text = Run::new(llvm_cov(&machine)?)
        .args(["export", "--format=text", "--instr-profile"])
        .arg(&profile)
        .arg(&program)
        .capture()?;
    serde_json::from_str(&text).context("llvm-cov printed something unexpected")
}

fn machine_triple() -> Result<String> {
    let printed = Run::new("rustup")
        .args(["run", NIGHTLY, "rustc", "-vV"])
        .capture()?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say which machine it is for")?
        .to_owned())
}

fn llvm_cov(machine: &str) -> Result<PathBuf> {
    let sysroot = Run::new("rustup")
        .args(["run", NIGHTLY, "rustc", "--print", "sysroot"])
        .capture()?;
    let program = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(machine)
        .join("bin/llvm-cov");
    if program.is_file() {
        return Ok(program);
    }
    Err(MachineLacks {
        wanted: program.display().to_string(),
        found: "no such file".to_owned(),
        remedy: format!("rustup component add --toolchain {NIGHTLY} llvm-tools"),
    }
    .into())
}

/// What `llvm-cov export` writes, as far as it is read here.
#[derive(Debug, Deserialize)]
struct Export {
    data: Vec<ExportData>,
}

#[derive(Debug, Deserialize)]
struct ExportData {
    functions: Vec<Function>,
}

/// One compiled function; a generic one appears once for each of its types.
#[derive(Debug, Deserialize)]
struct Function {
    /// Mangled: the parts of the path stand in it, each after its length.
    name: String,
    /// Absolute, because the parsers lie outside the fuzz crate's own folder.
    filenames: Vec<String>,
    regions: Vec<Region>,
}

/// A stretch of a function and how often it ran.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(from = "[u64; 8]")]
struct Region {
    /// Line and column of its first letter.
    first: (u64, u64),
    /// Line and column after its last letter.
    last: (u64, u64),
    count: u64,
    /// Which of the function's files it is in.
    file: usize,
    kind: u64,
}

impl From<[u64; 8]> for Region {
    /// llvm-cov writes: first line and column, last line and column, count, file, expanded file, kind.
    fn from(numbers: [u64; 8]) -> Self {
        let [
            first_line,
            first_column,
            last_line,
            last_column,
            count,
            file,
            _,
            kind,
        ] = numbers;
        Self {
            first: (first_line, first_column),
            last: (last_line, last_column),
            count,
            file: usize::try_from(file).unwrap_or(usize::MAX),
            kind,
        }
    }
}

/// The kind of a region that is plain code.
const CODE: u64 = 0;

impl Export {
    /// How often each line of `file` ran, for the functions that count.
    fn lines_of(&self, file: &Path, purpose: &Purpose) -> BTreeMap<u64, u64> {
        let mut lines = BTreeMap::new();
        for function in self.data.iter().flat_map(|data| &data.functions) {
            if !function.counts(&purpose.functions) {
                continue;
            }
            for (line, count) in function.lines_in(file) {
                let most = lines.entry(line).or_insert(0);
                *most = count.max(*most);
            }
        }
        lines
    }
}

impl Function {
    fn counts(&self, wanted: &[String]) -> bool {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|name| self.name.contains(&format!("{}{name}", name.len())))
    }

    /// Regions nest; a line counts as often as the innermost region that covers it.
    fn lines_in(&self, file: &Path) -> BTreeMap<u64, u64> {
        let mut regions: Vec<Region> = self
            .regions
            .iter()
            .copied()
            .filter(|region| self.is_code_in(region, file))
            .collect();
        regions.sort_by_key(|region| (region.first, std::cmp::Reverse(region.last)));
        let mut lines = BTreeMap::new();
        for region in regions {
            let (first, last) = (region.first.0, region.last.0);
            // The first line of an inner region also holds the end of what is around it: it ran if either did.
            let around = lines.get(&first).copied().unwrap_or(0);
            for line in first..=last {
                lines.insert(line, region.count);
            }
            lines.insert(first, region.count.max(around));
        }
        lines
    }

    fn is_code_in(&self, region: &Region, file: &Path) -> bool {
        region.kind == CODE
            && self
                .filenames
                .get(region.file)
                .is_some_and(|name| Path::new(name) == file)
    }
}

#[derive(Debug, Clone, Copy)]
struct Covered {
    lines: usize,
    hit: usize,
}

impl Covered {
    fn of(lines: &BTreeMap<u64, u64>) -> Self {
        Self {
            lines: lines.len(),
            hit: lines.values().filter(|count| **count > 0).count(),
        }
    }

    /// Nothing to cover counts as nothing covered: a file that was moved must not pass.
    fn percent(self) -> f64 {
        let of = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if self.lines == 0 {
            0.0
        } else {
            100.0 * of(self.hit) / of(self.lines)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export() -> Export {
        // Lines 1-6 ran twice, except the branch in lines 3-4; `other` never ran.
        let text = r#"{"data": [{"functions": [
            {"name": "_RNvCs1_4spec5parse", "filenames": ["/x/a.rs"],
             "regions": [[1,1,6,2,2,0,0,0], [3,10,4,6,0,0,0,0], [5,1,5,9,7,0,0,3]]},
            {"name": "_RNvCs1_4spec5other", "filenames": ["/x/a.rs"],
             "regions": [[8,1,9,2,0,0,0,0]]}
        ]}]}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_line_counts_as_often_as_its_innermost_region() {
        let lines = export().lines_of(Path::new("/x/a.rs"), &Purpose::default());
        assert_eq!(lines[&1], 2);
        assert_eq!(lines[&3], 2, "the branch begins on a line that ran");
        assert_eq!(lines[&4], 0);
        assert_eq!(lines[&5], 2);
        assert_eq!(lines[&9], 0);
    }

    #[test]
    fn only_the_wanted_functions_count() {
        let purpose = Purpose {
            functions: vec!["parse".to_owned()],
            ..Purpose::default()
        };
        let covered = Covered::of(&export().lines_of(Path::new("/x/a.rs"), &purpose));
        assert_eq!((covered.lines, covered.hit), (6, 5));
        assert!(covered.percent() < COVERED_PERCENT_MIN);
    }

    #[test]
    fn a_file_that_is_not_there_is_not_covered() {
        let covered = Covered::of(&export().lines_of(Path::new("/y/a.rs"), &Purpose::default()));
        assert!(covered.percent() < COVERED_PERCENT_MIN);
    }
}
