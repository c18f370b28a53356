//! What each file that a command names is for. One that is written is for one thing alone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::device;
use crate::failure::Failure;
use crate::lab::Lab;
use crate::telemetry;
use crate::uri::{Emulated, Keeps, Profile};

/// Links that are followed one after another at most: the kernel's own bound.
const LINKS_MAX: usize = 40;

/// Which file a name means. Names of one file are many: hard links, symbolic links, ways around.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// A file that is there: its device and its inode.
    Node(u64, u64),
    /// A block device, whatever it is called: its number.
    Block(u64),
    /// A file that is not there yet: its folder, and its name in it.
    Missing(PathBuf, OsString),
}

/// A file and what it is for.
#[derive(Debug)]
struct Use {
    path: PathBuf,
    what: String,
    written: bool,
    /// Where a lab file names it.
    line: Option<usize>,
}

/// A file that is named for two things, one of which changes it.
#[derive(Debug)]
pub(crate) struct Clash {
    /// The line of the lab file that names it again.
    pub(crate) line: Option<usize>,
    /// What is wrong.
    pub(crate) words: String,
}

/// Every file that a command reads or writes.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    all: Vec<Use>,
    line: Option<usize>,
}

impl Uses {
    /// The files of a lab, itself among them.
    pub(crate) fn of_lab(lab: &Lab) -> Self {
        let mut uses = Self::default();
        if let Some(file) = &lab.file {
            uses.read(file, "the lab file");
        }
        for namespace in &lab.namespaces {
            uses.line = namespace.line;
            uses.device(&namespace.device);
        }
        let pages = telemetry::paths(&lab.telemetry);
        for ((page, number), line) in pages.into_iter().zip(1..).zip(lab.lines.telemetry) {
            uses.line = line;
            // A link is not followed there but left alone, wherever somebody made it lead to.
            if let Some(page) = page.filter(|page| !page.is_symlink()) {
                uses.write(page, format!("the telemetry of version {number}"));
            }
        }
        uses.line = None;
        uses
    }

    /// A file that is read.
    pub(crate) fn read(&mut self, path: &Path, what: impl Into<String>) {
        self.add(path, what.into(), false);
    }

    /// A file that is written; `-` is the standard output and no file.
    pub(crate) fn write(&mut self, path: &Path, what: impl Into<String>) {
        if path.as_os_str() != "-" {
            self.add(path, what.into(), true);
        }
    }

    /// The files of a device.
    pub(crate) fn device(&mut self, device: &Emulated) {
        if let Keeps::File { path, .. } = &device.keeps {
            self.write(path, format!("the blocks of {device}"));
        }
        if let Profile::File(path) = &device.profile {
            self.read(path, format!("the timing profile of {device}"));
        }
        if let Some(path) = &device.fault {
            self.read(path, format!("the fault script of {device}"));
        }
        for path in device::logs(device) {
            self.write(&path, format!("the log of {device}"));
        }
    }

    fn add(&mut self, path: &Path, what: String, written: bool) {
        self.all.push(Use {
            path: path.to_owned(),
            what,
            written,
            line: self.line,
        });
    }

    /// Everything that is wrong.
    pub(crate) fn clashes(&self) -> Vec<Clash> {
        let mut known: HashMap<Place, &Use> = HashMap::new();
        let mut clashes = Vec::new();
        for one in &self.all {
            let Some(place) = place(&one.path) else {
                continue;
            };
            match known.entry(place) {
                Entry::Vacant(entry) => {
                    entry.insert(one);
                }
                Entry::Occupied(entry) => {
                    let first = *entry.get();
                    if first.written || one.written {
                        let words = format!(
                            "{}: wanted as {}, found that it is {} as well, {}; name another file",
                            one.path.display(),
                            one.what,
                            first.path.display(),
                            first.what,
                        );
                        let line = one.line;
                        clashes.push(Clash { line, words });
                    }
                }
            }
        }
        clashes
    }

    /// Refuses a command that would write what it uses otherwise. Nothing was opened by then.
    ///
    /// # Errors
    /// Both names of the file, and what each is for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.clashes().into_iter().next() {
            Some(clash) => Err(Failure::usage(anyhow!("{}", clash.words))),
            None => Ok(()),
        }
    }
}

/// The file that a name means, if it is one that keeps what is written: not a pipe, a terminal or a folder.
fn place(path: &Path) -> Option<Place> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => return Some(Place::Node(found.dev(), found.ino())),
            Ok(found) if found.file_type().is_block_device() => {
                return Some(Place::Block(found.rdev()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return None,
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        match fs::read_link(&path) {
            // A link to what is not there yet; writing would make that.
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let folder = folder.canonicalize().ok()?;
                return Some(Place::Missing(folder, path.file_name()?.to_owned()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_of_one_file_are_the_same_place_and_others_are_not() {
        let folder = std::env::temp_dir().join(format!("dpe-uses-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder); // it may be the first run
        fs::create_dir_all(folder.join("sub")).expect("a folder");
        let at = |name: &str| folder.join(name);
        fs::write(at("file"), b"").expect("a file");
        fs::hard_link(at("file"), at("hard")).expect("a link");
        symlink("file", at("soft")).expect("a link");
        symlink("../later", at("sub/dangling")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        for (one, other) in [
            ("file", "./file"),
            ("file", "sub/../file"),
            ("file", "hard"),
            ("file", "soft"),
            ("later", "sub/../later"),
            ("later", "sub/dangling"),
        ] {
            assert!(place(&at(one)).is_some(), "{one}");
            assert_eq!(place(&at(one)), place(&at(other)), "{one} and {other}");
        }
        assert_ne!(place(&at("file")), place(&at("later")));
        assert_ne!(place(&at("later")), place(&at("sub/later")));
        for none in ["sub", "loop", "nowhere/file"] {
            assert_eq!(place(&at(none)), None, "{none}");
        }
        assert_eq!(place(Path::new("/dev/null")), None);
        fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn two_readers_share_a_file_and_a_writer_shares_it_with_nobody() {
        let file = Path::new("/no-such-file-of-ours");
        let mut uses = Uses::default();
        uses.read(file, "one");
        uses.read(file, "two");
        uses.write(Path::new("-"), "the output");
        uses.write(Path::new("-"), "the output again");
        uses.write(Path::new("/dev/null"), "a");
        uses.write(Path::new("/dev/null"), "b");
        assert!(uses.check().is_ok());
        uses.write(file, "three");
        let refused = uses.check().expect_err("it would be overwritten");
        let words = refused.to_string();
        assert!(
            words.contains("three") && words.contains("one") && words.contains("another file"),
            "{words}"
        );
    }
}
