//! `dist`: everything that a release consists of, in one folder.

mod deb;
mod elf;
mod machine;
mod notices;
mod pages;
mod release;

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::Run;
use crate::steps::Steps;
use crate::tools::MachineLacks;
use crate::workshop::Workshop;
use machine::{MACHINES, Machine};
use release::Release;

/// The program's package, binary and command.
const PROGRAM: &str = "dataplane-emu";
/// The file of checksums, which is not in its own list.
const SUMS: &str = "SHA256SUMS";

/// Everything that a release consists of: binaries, packages, completions, man pages, checksums
///
/// Into dist/ of the build folder, which is emptied first: a stripped binary each for x86-64 and aarch64, tried out with
/// --version, doctor and a small bench (the foreign one under qemu); a Debian package of each, installed, run and removed
/// in a scratch root; completions for bash, zsh and fish; man pages; the licences of what is linked in; SHA256SUMS.
///
/// Takes about three minutes. Needs a cross linker and qemu-user (`make dist` or `scripts/setup dist` installs them) and
/// dpkg. What cannot be made or tried prints "not run: REASON", and the exit code is then 3.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// End with 0 although something was not run
    #[arg(long)]
    allow_missing: bool,
}

impl Options {
    /// Makes the release.
    ///
    /// # Errors
    /// When something cannot be made, or what was made does not work.
    pub(crate) fn run(&self, workshop: &Workshop) -> Result<()> {
        let release = Release::of(workshop)?;
        println!("{PROGRAM} {}", release.version_of_program());
        let mut making = Making::begin(workshop.target.join("dist"))?;
        let binaries: Vec<Option<PathBuf>> = MACHINES
            .iter()
            .map(|machine| making.binary(workshop, &release, *machine))
            .collect();
        let texts = making.texts(workshop, &release, &binaries);
        for (machine, binary) in MACHINES.iter().zip(&binaries) {
            making.package(&release, *machine, binary.as_deref(), texts.as_deref());
        }
        making.step("checksums and table", Folder::sum_and_print);
        making.finish(self.allow_missing)
    }
}

/// The folder of the release and what was put into it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Relative to `path`, in the order in which they were made.
    artefacts: Vec<String>,
}

/// A release in the making.
#[derive(Debug)]
struct Making {
    folder: Folder,
    steps: Steps,
    /// The steps that did not bring what they should have.
    short: Vec<String>,
}

impl Making {
    fn begin(path: PathBuf) -> Result<Self> {
        if path.exists() {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot empty {}", path.display()))?;
        }
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self {
            folder: Folder {
                path,
                artefacts: Vec::new(),
            },
            steps: Steps::default(),
            short: Vec::new(),
        })
    }

    /// Runs one step; what it made when all went well.
    fn step<T>(&mut self, name: &str, work: impl FnOnce(&mut Folder) -> Result<T>) -> Option<T> {
        let mut made = None;
        let folder = &mut self.folder;
        self.steps.gate(name, || {
            made = Some(work(folder)?);
            Ok(())
        });
        if made.is_none() {
            self.short.push(name.to_owned());
        }
        made
    }

    /// Builds the binary of one machine and tries it out; its path when there is one.
    fn binary(
        &mut self,
        workshop: &Workshop,
        release: &Release,
        machine: Machine,
    ) -> Option<PathBuf> {
        let name = machine.name;
        let built = self.step(&format!("{name}: binary"), |folder| {
            let built = machine.build(workshop, release)?;
            let artefact = format!("{PROGRAM}-{}-{name}-linux-gnu", release.version);
            fs::copy(&built, folder.path.join(&artefact))
                .with_context(|| format!("cannot copy {}", built.display()))?;
            Ok(folder.add(artefact))
        });
        self.step(&format!("{name}: tried out"), |_| {
            let binary = wanted(built.as_ref(), name)?;
            machine.try_out(binary, &release.version_of_program())
        });
        built
    }

    /// Completions, man pages and notices; the folder that holds them.
    fn texts(
        &mut self,
        workshop: &Workshop,
        release: &Release,
        binaries: &[Option<PathBuf>],
    ) -> Option<PathBuf> {
        self.step("completions, man pages", |folder| {
            let native = MACHINES.iter().position(Machine::is_native);
            let binary = native.and_then(|index| binaries.get(index)?.as_ref());
            let binary = wanted(binary, "this machine")?;
            pages::write(binary, folder)?;
            notices::write(workshop, folder)?;
            release.write_changes(workshop, folder)?;
            Ok(folder.path.clone())
        })
    }

    /// Packs one machine's binary with the texts, and tries the package out.
    fn package(
        &mut self,
        release: &Release,
        machine: Machine,
        binary: Option<&Path>,
        texts: Option<&Path>,
    ) {
        let name = machine.name;
        let made = self.step(&format!("{name}: package"), |folder| {
            let binary = wanted(binary, name)?;
            wanted(texts, "completions and man pages")?;
            deb::build(folder, release, machine, binary)
        });
        self.step(&format!("{name}: package tried out"), |folder| {
            let package = wanted(made.as_ref(), name)?;
            deb::try_out(folder, release, machine, package)
        });
    }

    fn finish(self, allow_missing: bool) -> Result<()> {
        self.steps.finish()?;
        if self.short.is_empty() || allow_missing {
            return Ok(());
        }
        Err(MachineLacks {
            wanted: "a whole release".to_owned(),
            found: format!("not run: {}", self.short.join("; ")),
            remedy: "what the lines above say, or --allow-missing".to_owned(),
        }
        .into())
    }
}

impl Folder {
    /// Notes a file that was put there; its whole path.
    fn add(&mut self, artefact: String) -> PathBuf {
        let path = self.path.join(&artefact);
        self.artefacts.push(artefact);
        path
    }

    /// Writes a text and notes it.
    fn write(&mut self, artefact: String, text: &str) -> Result<PathBuf> {
        let path = self.path.join(&artefact);
        write(&path, text)?;
        Ok(self.add(artefact))
    }

    /// Writes the checksums of all artefacts and prints the table.
    fn sum_and_print(&mut self) -> Result<()> {
        let sums = Run::new("sha256sum")
            .args(&self.artefacts)
            .dir(&self.path)
            .capture()?;
        write(&self.path.join(SUMS), &sums)?;
        println!("in {}:", self.path.display());
        let widest = self.artefacts.iter().map(String::len).max().unwrap_or(0);
        println!("{:widest$}  {:>9}  sha256", "file", "bytes");
        for (sum, artefact) in sums.lines().zip(&self.artefacts) {
            let bytes = fs::metadata(self.path.join(artefact))?.len();
            let prefix = sum.get(..12).unwrap_or(sum);
            println!("{artefact:widest$}  {bytes:>9}  {prefix}");
        }
        Ok(())
    }
}

/// What an earlier step made, or the reason why this one cannot run.
fn wanted<T>(made: Option<T>, what: &str) -> Result<T, MachineLacks> {
    made.ok_or_else(|| MachineLacks {
        wanted: format!("what an earlier step makes for {what}"),
        found: "it was not made".to_owned(),
        remedy: "see that step".to_owned(),
    })
}

/// Writes a file and the folders above it.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn making(name: &str) -> Making {
        let path = std::env::temp_dir().join(format!("dist-{name}-{}", std::process::id()));
        Making::begin(path).unwrap()
    }

    #[test]
    fn what_was_not_made_is_the_exit_code_unless_that_is_allowed() {
        for allow_missing in [false, true] {
            let mut making = making("lacks");
            let path = making.folder.path.clone();
            let lacks = wanted::<()>(None, "x");
            assert!(making.step("a", |_| Ok(lacks?)).is_none());
            let end = making.finish(allow_missing);
            assert_eq!(end.is_ok(), allow_missing);
            let lacks = end.err().map(|error| error.is::<MachineLacks>());
            assert!(lacks.unwrap_or(true), "the machine lacks something: exit 3");
            fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn what_is_broken_is_never_allowed() {
        let mut making = making("broken");
        let path = making.folder.path.clone();
        making.step::<()>("a", |_| bail!("it does not start"));
        let error = making.finish(true).unwrap_err();
        assert!(!error.is::<MachineLacks>(), "{error}");
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn an_old_release_leaves_nothing_behind_and_every_artefact_has_its_sum() {
        let mut old = making("sums");
        let path = old.folder.path.clone();
        old.folder.write("old".to_owned(), "old").unwrap();
        let mut new = Making::begin(path.clone()).unwrap();
        new.folder.write("man/a.1".to_owned(), "abc").unwrap();
        new.folder.sum_and_print().unwrap();
        assert!(!path.join("old").exists());
        let sums = fs::read_to_string(path.join(SUMS)).unwrap();
        // The digest of "abc" in FIPS 180-4's own example.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums, format!("{known}  man/a.1\n"));
        fs::remove_dir_all(path).unwrap();
    }
}
