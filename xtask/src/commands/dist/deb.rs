//! Debian packages: packed with dpkg-deb, then installed, run and removed in a scratch root.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::release::Release;
use super::{Folder, PROGRAM, elf, notices, pages, write};
use crate::process::Run;
use crate::tools::{self, MachineLacks};

const CONTROL: &str = include_str!("../../../../packaging/deb/control");
const COPYRIGHT: &str = include_str!("../../../../packaging/deb/copyright");

/// Packs a binary with the texts of the release; the package's path.
///
/// # Errors
/// [`MachineLacks`] without dpkg-deb; else when packing fails.
pub(super) fn build(
    folder: &mut Folder,
    release: &Release,
    machine: Machine,
    binary: &Path,
) -> Result<PathBuf> {
    want_dpkg()?;
    let stage = scratch(folder, "stage")?;
    let program = stage.join("usr/bin").join(PROGRAM);
    copy(binary, &program)?;
    stage_texts(folder, &stage, release)?;
    // Before the control file, which does not count.
    let kib = Run::new("du")
        .args(["-sk", "--apparent-size"])
        .arg(&stage)
        .capture()?;
    let kib = kib.split_whitespace().next().unwrap_or("0").to_owned();
    let control = fill(
        CONTROL,
        &[
            ("version", &release.version_of_package()),
            ("architecture", machine.debian),
            ("maintainer", &release.maintainer),
            ("kib", &kib),
            ("depends", &elf::depends(&program)?),
        ],
    )?;
    write(&stage.join("DEBIAN/control"), &control)?;
    // Whatever the umask was: everybody reads, and runs what can be run.
    Run::new("chmod")
        .args(["-R", "u=rwX,go=rX"])
        .arg(&stage)
        .run()?;
    let version = release.version_of_package();
    let artefact = format!("{PROGRAM}_{version}_{}.deb", machine.debian);
    Run::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&stage)
        .arg(folder.path.join(&artefact))
        .env("SOURCE_DATE_EPOCH", &release.epoch)
        .run()?;
    fs::remove_dir_all(&stage)?;
    Ok(folder.add(artefact))
}

/// Puts everything but the program where Debian wants it.
fn stage_texts(folder: &Folder, stage: &Path, release: &Release) -> Result<()> {
    let doc = stage.join("usr/share/doc").join(PROGRAM);
    let mut packed = Vec::new();
    for (_, artefact, place) in pages::SHELLS {
        copy(&folder.path.join(artefact), &stage.join(place))?;
    }
    for artefact in &folder.artefacts {
        if let Some(page) = artefact.strip_prefix(&format!("{}/", pages::MAN)) {
            let place = stage.join("usr/share/man/man1").join(page);
            copy(&folder.path.join(artefact), &place)?;
            packed.push(place);
        }
    }
    write(&doc.join("copyright"), COPYRIGHT)?;
    for (from, to) in [
        (notices::FILE, notices::FILE),
        ("CHANGELOG.md", "changelog"),
    ] {
        copy(&folder.path.join(from), &doc.join(to))?;
        packed.push(doc.join(to));
    }
    write(&doc.join("changelog.Debian"), &release.packaging_changes())?;
    packed.push(doc.join("changelog.Debian"));
    // Without name and time stamp, so that the same commit gives the same package.
    Run::new("gzip")
        .args(["-9", "-n"])
        .args(&packed)
        .capture()?;
    Ok(())
}

/// Installs a package into a scratch root, runs what it brought, removes it and wants nothing left.
///
/// # Errors
/// [`MachineLacks`] when the program cannot be run here; else when one of these goes wrong.
pub(super) fn try_out(
    folder: &Folder,
    release: &Release,
    machine: Machine,
    package: &Path,
) -> Result<()> {
    let root = scratch(folder, "root")?;
    let database = root.join("var/lib/dpkg");
    fs::create_dir_all(database.join("info"))?;
    fs::create_dir_all(database.join("updates"))?;
    write(&database.join("status"), "")?;
    let dpkg = || {
        Run::new("dpkg")
            // The scratch root has no other packages, may be another machine's, and belongs to us and not to root.
            .args([
                "--force-depends",
                "--force-architecture",
                "--force-not-root",
                "--force-bad-path",
            ])
            .arg(format!("--root={}", root.display()))
            .arg(format!("--log={}", root.join("log").display()))
    };
    dpkg().arg("--install").arg(package).capture()?;
    let program = root.join("usr/bin").join(PROGRAM);
    machine.says_version(&program, &release.version_of_program())?;
    let left = |what: &str| {
        Run::new("find")
            .arg(root.join("usr"))
            .args(what.split(' '))
            .capture()
    };
    let brought = left("-type f")?.lines().count();
    dpkg().args(["--purge", PROGRAM]).capture()?;
    ensure!(!program.exists(), "dpkg --purge left {}", program.display());
    if root.join("usr").exists() {
        let files = left("-type f")?;
        ensure!(files.is_empty(), "dpkg --purge left files:\n{files}");
    }
    println!("installed {brought} files, ran, removed: nothing left");
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// Puts values where the template says `@name@`.
fn fill(template: &str, values: &[(&str, &str)]) -> Result<String> {
    let mut text = template.to_owned();
    for (name, value) in values {
        let mark = format!("@{name}@");
        ensure!(text.contains(&mark), "packaging/deb/control has no {mark}");
        text = text.replace(&mark, value);
    }
    Ok(text)
}

fn want_dpkg() -> Result<(), MachineLacks> {
    if tools::on_path("dpkg-deb") {
        return Ok(());
    }
    Err(MachineLacks {
        wanted: "dpkg-deb, to make a Debian package".to_owned(),
        found: "none".to_owned(),
        remedy: "install the package that your system calls dpkg".to_owned(),
    })
}

/// An empty folder beside the artefacts.
fn scratch(folder: &Folder, name: &str) -> Result<PathBuf> {
    let path = folder.path.join(format!(".{name}"));
    if path.exists() {
        fs::remove_dir_all(&path)?;
    }
    fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_a_place_for_each_value_and_no_other() {
        let names = ["version", "architecture", "maintainer", "kib", "depends"];
        let control = fill(CONTROL, &names.map(|name| (name, "x"))).unwrap();
        assert!(!control.contains('@'), "{control}");
        assert!(fill("Version: 1\n", &[("version", "x")]).is_err());
    }
}
