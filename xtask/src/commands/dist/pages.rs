//! Completions and man pages, as the program itself prints them.

use anyhow::{Context, Result};
use std::path::Path;

use super::{Folder, PROGRAM};
use crate::process::Run;

/// The folder of the man pages within the release.
pub(super) const MAN: &str = "man";

/// A shell, and where its completions lie: within the release, and on a Debian system.
pub(super) const SHELLS: [(&str, &str, &str); 3] = [
    (
        "bash",
        "completions/dataplane-emu.bash",
        "usr/share/bash-completion/completions/dataplane-emu",
    ),
    (
        "zsh",
        "completions/_dataplane-emu",
        "usr/share/zsh/vendor-completions/_dataplane-emu",
    ),
    (
        "fish",
        "completions/dataplane-emu.fish",
        "usr/share/fish/vendor_completions.d/dataplane-emu.fish",
    ),
];

/// Writes the completions of every shell and the man page of every command.
///
/// # Errors
/// When the program refuses.
pub(super) fn write(binary: &Path, folder: &mut Folder) -> Result<()> {
    for (shell, artefact, _) in SHELLS {
        let script = Run::new(binary).args(["completions", shell]).capture()?;
        folder.write(artefact.to_owned(), &script)?;
    }
    write_man(binary, folder, &[])
}

/// Writes the page of one command, `[]` for the program's own, and of every command that it refers to.
fn write_man(binary: &Path, folder: &mut Folder, words: &[String]) -> Result<()> {
    let page = Run::new(binary).arg("man").args(words).capture()?;
    let name = [&[PROGRAM.to_owned()], words].concat().join("-");
    folder.write(format!("{MAN}/{name}.1"), &page)?;
    // `help` repeats the tree of all commands below itself.
    if words.last().is_some_and(|word| word == "help") {
        return Ok(());
    }
    for word in referred(&page, &name) {
        let below = [words, &[word.to_owned()]].concat();
        let context = || format!("{name}.1 refers to a page that cannot be had");
        write_man(binary, folder, &below).with_context(context)?;
    }
    Ok(())
}

/// The commands one below `name` that a page refers to: `dataplane\-emu\-bench(1)` is `bench`.
fn referred(page: &str, name: &str) -> Vec<String> {
    page.lines()
        .filter_map(|line| {
            let line = line.replace("\\-", "-");
            let rest = line.strip_prefix(name)?.strip_prefix('-')?;
            rest.strip_suffix("(1)").map(str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_made_for_each_command_that_a_page_refers_to() {
        let page = "\
.TH dataplane-emu 1
dataplane\\-emu \\- a laboratory
.TP
dataplane\\-emu\\-bench(1)
Drives a device
  dataplane\\-emu bench ram:1G
.TP
dataplane\\-emu\\-lab(1)
";
        assert_eq!(referred(page, PROGRAM), ["bench", "lab"]);
        assert!(referred(page, "dataplane-emu-lab").is_empty());
    }
}
