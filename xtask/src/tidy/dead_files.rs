//! Every Rust file is a module of something that is built.
//!
//! Modules are followed from the root file of each target through `mod name;`, `#[path]` and `include!`. A `mod` inside
//! an inline module is looked for beside its file as well, which is wider than the language and needs no parser.

use std::collections::BTreeSet;

use super::source::words_at;
use super::tree::File;
use super::{Problem, Tree};

/// Checks every Rust file that lies in the folder of a package.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let targets = tree.packages.iter().flat_map(|package| &package.targets);
    let roots: Vec<String> = targets
        .map(|target| target.src_path.display().to_string())
        .collect();
    let alive = reach(tree, &roots);
    tree.rust_files()
        .filter(|file| !alive.contains(&file.path))
        .map(|file| {
            Problem::of_file(
                &file.path,
                "no target reaches this file; use it or remove it",
            )
        })
        .collect()
}

fn reach(tree: &Tree, roots: &[String]) -> BTreeSet<String> {
    let mut alive = BTreeSet::new();
    let mut waiting: Vec<(String, bool)> = roots.iter().map(|root| (root.clone(), true)).collect();
    while let Some((path, is_root)) = waiting.pop() {
        let Some(file) = tree.file(&path) else {
            continue;
        };
        if alive.insert(path) {
            let named = modules(file, is_root).into_iter().map(|path| (path, false));
            waiting.extend(named.filter(|(path, _)| tree.file(path).is_some()));
        }
    }
    alive
}

/// Every path at which a module or an included file of `file` may be.
fn modules(file: &File, is_root: bool) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.trim_end_matches(".rs");
    let own = if is_root || stem == "mod" {
        folder.to_owned()
    } else {
        join(folder, stem)
    };
    let mut paths = Vec::new();
    for (line, raw) in file.rust.iter().zip(file.text.lines()) {
        for module in declared(&line.code) {
            paths.push(join(&own, &format!("{module}.rs")));
            paths.push(join(&own, &format!("{module}/mod.rs")));
        }
        let is_path =
            words_at(&line.code, "path").any(|at| line.code[at..].starts_with("path = \""));
        if is_path || line.code.contains("include!(") {
            // The file is the last thing quoted: `#[cfg_attr(target_os = "linux", path = "file.rs")]`.
            let quoted = raw.rsplit('"').nth(1).unwrap_or_default();
            paths.push(resolve(folder, quoted));
        }
    }
    paths
}

/// The names of `mod name;` in a line.
fn declared(code: &str) -> impl Iterator<Item = &str> {
    words_at(code, "mod").filter_map(|at| {
        let (name, _) = code[at + "mod".len()..].trim_start().split_once(';')?;
        let is_name = name
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_');
        (is_name && !name.is_empty()).then_some(name)
    })
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// A relative path with its `..` taken out.
fn resolve(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workshop::{Package, Target};

    fn dead(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::of(files);
        let target = Target {
            name: String::new(),
            kind: Vec::new(),
            src_path: root.into(),
        };
        tree.packages.push(Package {
            name: String::new(),
            manifest_path: "a/Cargo.toml".into(),
            dependencies: Vec::new(),
            targets: vec![target],
        });
        check(&tree)
            .into_iter()
            .map(|problem| problem.file)
            .collect()
    }

    #[test]
    fn modules_are_followed_in_both_layouts() {
        let files = [
            ("a/src/lib.rs", "pub mod b;\n#[cfg(test)] mod c;\n"),
            ("a/src/b.rs", "mod d;\n"),
            ("a/src/b/d.rs", ""),
            ("a/src/c/mod.rs", "mod e;\n"),
            ("a/src/c/e.rs", ""),
        ];
        assert!(dead("a/src/lib.rs", &files).is_empty());
    }

    #[test]
    fn a_file_that_nothing_names_is_dead() {
        let files = [
            ("a/src/lib.rs", "// mod b;\nmod c { }\n"),
            ("a/src/b.rs", ""),
            ("a/src/c.rs", ""),
        ];
        assert_eq!(dead("a/src/lib.rs", &files), ["a/src/b.rs", "a/src/c.rs"]);
    }

    #[test]
    fn a_path_and_an_include_keep_a_file_alive() {
        let files = [
            (
                "a/tests/t.rs",
                "#[path = \"../shared/b.rs\"]\nmod b;\ninclude!(\"c.rs\");\n\
                 #[cfg_attr(miri, path = \"d.rs\")]\nmod e;\n",
            ),
            ("a/shared/b.rs", ""),
            ("a/tests/c.rs", ""),
            ("a/tests/d.rs", ""),
            ("a/tests/e.rs", ""),
        ];
        assert!(dead("a/tests/t.rs", &files).is_empty());
    }
}
