//! The licences of what is linked into the binary: most of them want to be handed on with it.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::machine::MACHINES;
use super::{Folder, PROGRAM};
use crate::workshop::Workshop;

/// The name of the file within the release.
pub(super) const FILE: &str = "THIRD-PARTY.txt";

/// How files begin, in upper case, that hold a licence or a notice.
const BEGINNINGS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// `None` for packages of this checkout.
    source: Option<String>,
}

/// Writes the list of packages and their licences' texts, each text once.
///
/// # Errors
/// When cargo refuses, or a package says nothing about its licence.
pub(super) fn write(workshop: &Workshop, folder: &mut Folder) -> Result<()> {
    let linked = linked(workshop)?;
    let metadata = workshop
        .cargo("metadata")
        .args(["--locked", "--format-version", "1"])
        .capture()?;
    let metadata: Metadata =
        serde_json::from_str(&metadata).context("cargo metadata printed something unexpected")?;
    let mut packages: Vec<Package> = metadata
        .packages
        .into_iter()
        .filter(|package| package.source.is_some())
        .filter(|package| linked.contains(&format!("{} v{}", package.name, package.version)))
        .collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    folder.write(FILE.to_owned(), &text(&packages)?)?;
    Ok(())
}

/// The packages in the program on any machine of a release, `name vVERSION`.
fn linked(workshop: &Workshop) -> Result<BTreeSet<String>> {
    let mut linked = BTreeSet::new();
    for machine in MACHINES {
        let triple = format!("{}-unknown-linux-gnu", machine.name);
        let tree = workshop
            .cargo("tree")
            .args([
                "--locked",
                "--package",
                PROGRAM,
                "--edges",
                "normal,no-proc-macro",
            ])
            .args(["--prefix", "none", "--format", "{p}", "--target", &triple])
            .capture()?;
        let named = tree.lines().map(|line| line.trim_end_matches(" (*)"));
        linked.extend(named.map(str::to_owned));
    }
    Ok(linked)
}

fn text(packages: &[Package]) -> Result<String> {
    let mut text = format!(
        "{PROGRAM} contains the packages below, compiled. It is itself under the Apache License 2.0.\n\nstandard library of Rust: MIT OR Apache-2.0\n"
    );
    let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let license = package.license.as_deref();
        let license = license.with_context(|| format!("{} names no licence", package.name))?;
        writeln!(text, "{} {}: {license}", package.name, package.version)?;
        let own = package.manifest_path.parent().unwrap_or(Path::new(""));
        for found in texts_in(own)? {
            users.entry(found).or_default().push(&package.name);
        }
    }
    ensure!(!users.is_empty(), "no licence text was found at all");
    for (found, users) in users {
        write!(text, "\n{:=<78}\nof {}\n\n{found}\n", "", users.join(", "))?;
    }
    Ok(text)
}

/// The texts of the licence files in a package's own folder.
fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning));
        if is_licence && entry.path().is_file() {
            let bytes = fs::read(entry.path())?;
            texts.push(
                String::from_utf8_lossy(&bytes)
                    .replace('\r', "")
                    .trim()
                    .to_owned(),
            );
        }
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}
