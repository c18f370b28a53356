//! `mutants/RESULTS.md`: every mutant with the test that caught it, as the last whole run found it.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Mutant;
use super::trial::Outcome;

const HEAD: &str = "\
# Mutants and the tests that caught them

Written by `cargo xtask mutants --write`, which runs them all; not to be edited. Each line is a small bug, planted alone; its
place is in `mutants/*.toml`. The results are those of the commit that this file belongs to. The test named is the first that
failed; others may fail as well.

";

/// Writes the file.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(root: &Path, rows: &[(&Mutant, Outcome)]) -> Result<()> {
    let path = root.join("mutants/RESULTS.md");
    fs::write(&path, page(rows)).with_context(|| format!("cannot write {}", path.display()))
}

fn page(rows: &[(&Mutant, Outcome)]) -> String {
    let mut page = String::from(HEAD);
    page.push_str("|   | what is wrong | file | outcome |\n| -: | --- | --- | --- |\n");
    for (mutant, outcome) in rows {
        let Mutant {
            number, name, file, ..
        } = mutant;
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {number} | {name} | `{file}` | {outcome} |");
    }
    let caught = rows
        .iter()
        .filter(|(_, outcome)| outcome.is_caught())
        .count();
    let _ = writeln!(page, "\nCaught: {caught} of {}.", rows.len());
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_line_for_each_mutant_and_counts_them() {
        let mutant = Mutant {
            number: 1,
            name: "the tail is off by one".to_owned(),
            file: "a.rs".to_owned(),
            find: String::new(),
            replace: String::new(),
            tests: Vec::new(),
        };
        let caught = Outcome::Failed("standard: queues::a_tail".to_owned());
        let page = page(&[(&mutant, caught), (&mutant, Outcome::Survived)]);
        let line = "| 1 | the tail is off by one | `a.rs` | caught by standard: queues::a_tail |\n";
        assert!(page.contains(line), "{page}");
        assert!(page.ends_with("SURVIVED |\n\nCaught: 1 of 2.\n"), "{page}");
    }
}
