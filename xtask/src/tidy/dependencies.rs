//! Every package of the registry that we use has a reason in docs/dependencies.md, and no reason is left over.

use std::collections::BTreeMap;

use super::arrows::registry_packages;
use super::{Problem, Tree};

const FILE: &str = "docs/dependencies.md";

/// Compares the manifests with the table, whose rows begin with the package in backticks.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let used = registry_packages(&tree.packages);
    let reasons = tree
        .file(FILE)
        .map(|file| reasons(&file.text))
        .unwrap_or_default();
    let mut problems = Vec::new();
    for (package, user) in &used {
        if !reasons.contains_key(package) {
            let what = format!("no row says why {user} uses `{package}`");
            problems.push(Problem::of_file(FILE, what));
        }
    }
    for (package, (line, reason)) in &reasons {
        if !used.contains_key(package) {
            let what = format!("nothing uses `{package}` any more");
            problems.push(Problem::at(FILE, *line, what));
        } else if reason.is_empty() {
            problems.push(Problem::at(
                FILE,
                *line,
                format!("`{package}` has no reason"),
            ));
        }
    }
    problems
}

/// Package to line and reason, from rows like "| `name` | reason |".
fn reasons(text: &str) -> BTreeMap<&str, (usize, &str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let (package, rest) = line.strip_prefix("| `")?.split_once("` |")?;
            Some((
                package,
                (index + 1, rest.trim().trim_end_matches('|').trim()),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workshop::{Dependency, Package};

    fn problems(table: &str) -> Vec<String> {
        let mut tree = Tree::of(&[(FILE, table)]);
        let dependency = Dependency {
            name: "clap".to_owned(),
            kind: None,
            path: None,
        };
        tree.packages.push(Package {
            name: "app".to_owned(),
            manifest_path: "crates/app/Cargo.toml".into(),
            dependencies: vec![dependency],
            targets: Vec::new(),
        });
        check(&tree)
            .into_iter()
            .map(|problem| problem.what)
            .collect()
    }

    #[test]
    fn a_package_with_a_reason_is_right() {
        assert!(problems("| `clap` | the command line |\n").is_empty());
    }

    #[test]
    fn a_package_without_a_row_or_a_reason_is_named() {
        assert_eq!(problems("").len(), 1);
        assert_eq!(problems("| `clap` | |\n"), ["`clap` has no reason"]);
    }

    #[test]
    fn a_row_that_is_left_over_is_named() {
        let table = "| `clap` | the command line |\n| `rand` | chance |\n";
        assert_eq!(problems(table), ["nothing uses `rand` any more"]);
    }
}
