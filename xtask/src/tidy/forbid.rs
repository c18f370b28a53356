//! Rooms that read strangers' bytes or hold the wiring forbid unsafe code at their roots.

use super::config::Config;
use super::{Problem, Tree};

const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

/// Checks the root of the library and of each binary of the rooms in the list.
pub(super) fn check(tree: &Tree, config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in tree
        .packages
        .iter()
        .filter(|p| config.forbid_unsafe.contains(&p.room()))
    {
        let is_ours = |kind: &String| ["lib", "rlib", "bin", "cdylib"].contains(&kind.as_str());
        for target in package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(is_ours))
        {
            let path = target.src_path.display().to_string();
            let forbids = tree.file(&path).is_some_and(|file| {
                file.rust
                    .iter()
                    .any(|line| line.code.replace(' ', "").contains(ATTRIBUTE))
            });
            if !forbids {
                let what = format!("'{}' has to say {ATTRIBUTE}", target.name);
                problems.push(Problem::of_file(&path, what));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workshop::{Package, Target};

    fn problems(text: &str) -> usize {
        let mut tree = Tree::of(&[("crates/spec/src/lib.rs", text)]);
        tree.packages.push(Package {
            name: "dpe-spec".to_owned(),
            manifest_path: "crates/spec/Cargo.toml".into(),
            dependencies: Vec::new(),
            targets: vec![Target {
                name: "spec".to_owned(),
                kind: vec!["lib".to_owned()],
                src_path: "crates/spec/src/lib.rs".into(),
            }],
        });
        check(&tree, &Config::in_use()).len()
    }

    #[test]
    fn a_room_of_the_list_has_to_forbid_unsafe_code() {
        assert_eq!(problems("#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(problems("#![deny(unsafe_code)]\n"), 1);
        assert_eq!(problems("// #![forbid(unsafe_code)]\n"), 1);
    }
}
