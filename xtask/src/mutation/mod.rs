//! Mutants: each plants one small bug in a copy of the tree and sees which test notices.
//!
//! The copy is kept between runs and only what changed is copied again, so cargo builds little.

mod results;
mod tree;
mod trial;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::workshop::Workshop;
use tree::Copy;
use trial::{Outcome, Trial};

/// Tests that take longer than this with a bug planted hang because of it; without, they take seconds.
const HANG_AFTER: Duration = Duration::from_secs(120);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

/// One planted bug.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its place over all lists, from 1.
    #[serde(skip)]
    pub(crate) number: usize,
    /// What is wrong with the mutant, in a few words.
    pub(crate) name: String,
    /// The file to change, relative to the root.
    pub(crate) file: String,
    /// What to take out; has to occur exactly once.
    find: String,
    /// What to put there.
    replace: String,
    /// What follows `cargo test`; what follows a `--` goes to the tests.
    tests: Vec<String>,
}

/// Reads `mutants/*.toml`, in the order of their names.
///
/// # Errors
/// When a list cannot be read.
pub(crate) fn read_lists(root: &Path) -> Result<Vec<Mutant>> {
    let folder = root.join("mutants");
    let mut paths = Vec::new();
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let mut mutants = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let list: List =
            toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
        mutants.extend(list.mutant);
    }
    for (index, mutant) in mutants.iter_mut().enumerate() {
        mutant.number = index + 1;
    }
    Ok(mutants)
}

/// All mutants, the one with a number, or those with a text in their name.
///
/// # Errors
/// When there is none.
pub(crate) fn choose(mutants: Vec<Mutant>, only: Option<&str>) -> Result<Vec<Mutant>> {
    let count = mutants.len();
    let chosen: Vec<Mutant> = mutants
        .into_iter()
        .filter(|mutant| only.is_none_or(|only| mutant.answers(only)))
        .collect();
    match only {
        _ if !chosen.is_empty() => Ok(chosen),
        Some(only) => bail!("no mutant has the number or the name '{only}'; there are {count}"),
        None => bail!("mutants/*.toml list no mutant"),
    }
}

impl Mutant {
    fn answers(&self, only: &str) -> bool {
        match only.parse::<usize>() {
            Ok(number) => self.number == number,
            Err(_) => self.name.contains(only),
        }
    }

    /// The text of its file with the bug in it.
    fn apply(&self, text: &str) -> Result<String> {
        let times = text.matches(&self.find).count();
        ensure!(
            times == 1,
            "`find` occurs {times} times in {}, wanted: once",
            self.file
        );
        let mutated = text.replacen(&self.find, &self.replace, 1);
        ensure!(
            mutated != text,
            "`replace` changes nothing in {}",
            self.file
        );
        Ok(mutated)
    }
}

/// Runs the mutants one after the other and prints which test caught each; with `write`, also into mutants/RESULTS.md.
///
/// # Errors
/// When one survives, does not build, or does not fit the tree; or when the tests fail without any bug.
pub(crate) fn run(workshop: &Workshop, mutants: &[Mutant], write: bool) -> Result<()> {
    let copy = Copy::refresh(workshop)?;
    for mutant in mutants {
        // Said before anything is built: a list that no longer fits is the most frequent trouble.
        mutant
            .apply(&copy.read(&mutant.file)?)
            .with_context(|| mutant.title())?;
    }
    run_without_bug(workshop, &copy, mutants)?;
    let mut rows = Vec::new();
    for mutant in mutants {
        println!("\n== {}", mutant.title());
        let text = copy.read(&mutant.file)?;
        copy.write(&mutant.file, &mutant.apply(&text)?)?;
        let outcome = Trial::new(workshop, &copy, &mutant.tests).run();
        copy.write(&mutant.file, &text)?;
        let outcome = outcome?;
        println!("{outcome}");
        rows.push((mutant, outcome));
    }
    if write {
        results::write(&workshop.root, &rows)?;
    }
    print_table(&rows)
}

/// A test that fails anyway catches nothing.
fn run_without_bug(workshop: &Workshop, copy: &Copy, mutants: &[Mutant]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for mutant in mutants {
        seen.entry(&mutant.tests).or_insert(mutant);
    }
    for tests in seen.keys() {
        println!("\n== without a bug: cargo test {}", tests.join(" "));
        match Trial::new(workshop, copy, tests).run()? {
            Outcome::Survived => {}
            outcome => bail!("without any bug, cargo test {}: {outcome}", tests.join(" ")),
        }
    }
    Ok(())
}

fn print_table(rows: &[(&Mutant, Outcome)]) -> Result<()> {
    println!();
    for (mutant, outcome) in rows {
        println!("{:3}  {:60}  {outcome}", mutant.number, mutant.name);
    }
    let caught = rows
        .iter()
        .filter(|(_, outcome)| outcome.is_caught())
        .count();
    println!("caught {caught} of {}", rows.len());
    ensure!(caught == rows.len(), "not caught: {}", rows.len() - caught);
    Ok(())
}

impl Mutant {
    fn title(&self) -> String {
        format!("mutant {}: {} ({})", self.number, self.name, self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(find: &str, replace: &str) -> Mutant {
        Mutant {
            number: 3,
            name: "the tail is off by one".to_owned(),
            file: "a.rs".to_owned(),
            find: find.to_owned(),
            replace: replace.to_owned(),
            tests: Vec::new(),
        }
    }

    #[test]
    fn a_mutant_changes_exactly_one_place() {
        assert_eq!(mutant("b", "x").apply("a b c").unwrap(), "a x c");
        assert!(mutant("d", "x").apply("a b c").is_err());
        assert!(mutant("b", "x").apply("b b").is_err());
        assert!(mutant("b", "b").apply("a b").is_err());
    }

    #[test]
    fn a_mutant_is_chosen_by_number_or_name() {
        let all = || vec![mutant("a", "b")];
        assert_eq!(choose(all(), Some("3")).unwrap().len(), 1);
        assert_eq!(choose(all(), Some("off by one")).unwrap().len(), 1);
        assert!(choose(all(), Some("4")).is_err());
        assert!(choose(Vec::new(), None).is_err());
    }

    #[test]
    fn a_list_with_an_unknown_key_is_refused() {
        let text = "[[mutant]]\nname='n'\nfile='f'\nfind='a'\nreplace='b'\ntests=[]\nwhy='x'\n";
        assert!(toml::from_str::<List>(text).is_err());
        assert!(toml::from_str::<List>(&text.replace("why='x'\n", "")).is_ok());
    }
}
