//! Atomics come from one module, where loom can take their place, and no access is SeqCst.

use super::config::Config;
use super::source::words_at;
use super::tree::File;
use super::{Problem, Tree};

/// Checks every Rust file.
pub(super) fn check(tree: &Tree, config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust_files() {
        check_seq_cst(file, &mut problems);
        if !config.atomics_home.contains(&file.path) {
            check_origin(file, &mut problems);
        }
    }
    problems
}

/// loom takes SeqCst loads and stores for weaker ones, so a proof would not hold; it does model SeqCst fences.
fn check_seq_cst(file: &File, problems: &mut Vec<Problem>) {
    for (index, line) in file.rust.iter().enumerate() {
        for at in words_at(&line.code, "SeqCst") {
            let before = line.code[..at].trim_end_matches("Ordering::").trim_end();
            if !before.ends_with("fence(") {
                let what = "a SeqCst access; use the weaker order that is meant, or a fence";
                problems.push(Problem::at(&file.path, index + 1, what));
            }
        }
    }
}

/// `sync::atomic` is the path of the atomics in std, core and loom; `ring::sync` has them without the last part.
fn check_origin(file: &File, problems: &mut Vec<Problem>) {
    let mut report = |index: usize| {
        let what = "atomics come from ring::sync, so that loom can see them";
        problems.push(Problem::at(&file.path, index + 1, what));
    };
    let mut in_group_of_sync = false;
    for (index, line) in file.rust.iter().enumerate() {
        let code = line.code.replace(' ', "");
        in_group_of_sync |= code.contains("sync::{");
        let grouped = in_group_of_sync && words_at(&code, "atomic").next().is_some();
        if code.contains("sync::atomic") || grouped {
            report(index);
        }
        if code.contains(';') {
            in_group_of_sync = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<usize> {
        let tree = Tree::of(&[(path, text)]);
        check(&tree, &Config::in_use())
            .iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn atomics_of_the_standard_library_are_refused_outside_their_home() {
        let text = "use std::sync::atomic::AtomicU32;\nuse core::sync::atomic::fence;\n";
        assert_eq!(problems("crates/mem/src/a.rs", text), [1, 2]);
        assert!(problems("crates/ring/src/sync.rs", text).is_empty());
    }

    #[test]
    fn a_group_does_not_hide_them() {
        let text = "use std::sync::{\n    Arc,\n    atomic::AtomicBool,\n};\n";
        assert_eq!(problems("a.rs", text), [3]);
        assert_eq!(problems("a.rs", "use std::sync::{Arc, atomic};\n"), [1]);
    }

    #[test]
    fn the_rooms_own_module_and_words_in_comments_are_fine() {
        let text =
            "use ring::sync::AtomicU32; // not std::sync::atomic\nuse std::sync::{Arc, Mutex};\n";
        assert!(problems("a.rs", text).is_empty());
    }

    #[test]
    fn an_access_must_not_be_seq_cst_but_a_fence_may() {
        assert_eq!(problems("a.rs", "x.load(Ordering::SeqCst);\n"), [1]);
        assert_eq!(
            problems("crates/ring/src/sync.rs", "x.load(SeqCst);\n"),
            [1]
        );
        assert!(problems("a.rs", "fence(Ordering::SeqCst);\n// SeqCst\n").is_empty());
    }
}
