//! Every promise in docs/promises.md names what shows it, or admits that nothing does yet.
//!
//! A promise is a row of a table. Its last cell says "not yet measured", or names in backticks at least one test (its
//! function, with or without a path before it) or command (`cargo xtask ...`). What it names has to exist.

use std::collections::BTreeSet;

use super::source::words_at;
use super::tree::File;
use super::{Problem, Tree};

const FILE: &str = "docs/promises.md";
const ADMITTED: &str = "not yet measured";

/// How far below its attribute the name of a test may stand.
const ATTRIBUTE_LINES_MAX: usize = 6;

/// Checks every row.
pub(super) fn check(tree: &Tree, commands: &[String]) -> Vec<Problem> {
    let Some(file) = tree.file(FILE) else {
        return vec![Problem::of_file(
            FILE,
            "missing; it lists each promise with its test",
        )];
    };
    let tests: BTreeSet<&str> = tree.files.iter().flat_map(test_names).collect();
    let mut problems = Vec::new();
    for (index, evidence) in rows(&file.text) {
        for what in trouble(tree, evidence, &tests, commands) {
            problems.push(Problem::at(FILE, index + 1, what));
        }
    }
    problems
}

/// The last cell of each row, without heads and rules of tables.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule =
        |line: &str| line.starts_with("| -") || line.starts_with("|-") || line.starts_with("|:");
    let is_head = move |index: usize| lines.get(index + 1).is_some_and(|next| is_rule(next));
    text.lines()
        .enumerate()
        .filter(move |(index, line)| line.starts_with('|') && !is_rule(line) && !is_head(*index))
        .filter_map(|(index, line)| {
            Some((
                index,
                line.trim_end().strip_suffix('|')?.rsplit_once('|')?.1,
            ))
        })
}

fn trouble(
    tree: &Tree,
    evidence: &str,
    tests: &BTreeSet<&str>,
    commands: &[String],
) -> Vec<String> {
    if evidence.contains(ADMITTED) {
        return Vec::new();
    }
    let mut named = 0;
    let mut trouble = Vec::new();
    for name in evidence.split('`').skip(1).step_by(2) {
        match name.strip_prefix("cargo xtask ") {
            Some(line) => {
                named += 1;
                let command = line.split(' ').next().unwrap_or_default();
                if !commands.iter().any(|known| known == command) {
                    trouble.push(format!("there is no `cargo xtask {command}`"));
                }
            }
            None if name.contains('/') => {
                let path = name.split("::").next().unwrap_or_default();
                if tree.file(path).is_none() {
                    trouble.push(format!("there is no file `{path}`"));
                }
                let test = name.split("::").skip(1).last();
                named += usize::from(test.is_some());
                trouble.extend(missing(test, tests));
            }
            None => {
                named += 1;
                trouble.extend(missing(name.rsplit("::").next(), tests));
            }
        }
    }
    if named == 0 {
        trouble.push(format!(
            "this promise names no test; if there is none, say \"{ADMITTED}\""
        ));
    }
    trouble
}

fn missing(test: Option<&str>, tests: &BTreeSet<&str>) -> Option<String> {
    let test = test.filter(|test| !tests.contains(test))?;
    Some(format!("there is no test `{test}`"))
}

/// The functions marked as tests in Rust, and those called `test_...` in Python.
fn test_names(file: &File) -> Vec<&str> {
    if file.has_extension("py") {
        let names = file
            .text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("def "));
        return names.filter_map(|rest| rest.split('(').next()).collect();
    }
    let mut names = Vec::new();
    for (index, _) in file
        .rust
        .iter()
        .enumerate()
        .filter(|(_, line)| line.code.contains("#[test]"))
    {
        let below = file.rust.iter().skip(index).take(ATTRIBUTE_LINES_MAX);
        names.extend(below.filter_map(|line| function_name(&line.code)).take(1));
    }
    names
}

fn function_name(code: &str) -> Option<&str> {
    let at = words_at(code, "fn").next()?;
    let name = code[at + "fn".len()..].trim_start();
    name.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "#[test]\n#[cfg(unix)]\nfn it_holds() {}\nfn helper() {}\n";
    const HEAD: &str = "| promise | shown by |\n| --- | --- |\n";

    fn problems(evidence: &str) -> Vec<String> {
        let table = format!("{HEAD}| It holds. | {evidence} |\n");
        let tree = Tree::of(&[(FILE, &table), ("crates/a/tests/t.rs", TEST)]);
        check(&tree, &["bench".to_owned()])
            .into_iter()
            .map(|problem| problem.what)
            .collect()
    }

    #[test]
    fn a_promise_with_a_test_a_command_or_an_admission_is_right() {
        assert!(problems("`it_holds`").is_empty());
        assert!(problems("`tests::it_holds` in `crates/a/tests/t.rs`").is_empty());
        assert!(problems("`crates/a/tests/t.rs::it_holds`").is_empty());
        assert!(problems("`cargo xtask bench spine`").is_empty());
        assert!(problems("not yet measured").is_empty());
    }

    #[test]
    fn a_promise_without_evidence_is_refused() {
        assert_eq!(problems("we are sure").len(), 1);
        assert_eq!(problems("`crates/a/tests/t.rs`").len(), 1);
    }

    #[test]
    fn evidence_that_does_not_exist_is_refused() {
        assert_eq!(problems("`it_does_not_hold`").len(), 1);
        assert_eq!(problems("`helper`").len(), 1);
        assert_eq!(problems("`cargo xtask prove`").len(), 1);
        assert_eq!(problems("`crates/b.rs::it_holds`").len(), 1);
    }

    #[test]
    fn the_page_itself_has_to_be_there() {
        assert_eq!(check(&Tree::of(&[]), &[]).len(), 1);
    }
}
