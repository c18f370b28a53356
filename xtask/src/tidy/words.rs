//! Words that must not stand in programs, and paths that mean somebody's machine.

use super::config::{CONFIG_FILE, Config, Word};
use super::source::words_at;
use super::tree::File;
use super::{Problem, Tree};

/// Checks programs for words, and every text file for paths.
pub(super) fn check(tree: &Tree, config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != CONFIG_FILE) {
        for (index, line) in file.text.lines().enumerate() {
            let found = config
                .machine_paths
                .iter()
                .find(|path| names_machine_path(line, path));
            if let Some(path) = found {
                let what = format!("the absolute path {path} means a certain machine");
                problems.push(Problem::at(&file.path, index + 1, what));
            }
        }
        if file.is_program() {
            check_words(file, &config.words, &mut problems);
        }
    }
    problems
}

fn check_words(file: &File, words: &[Word], problems: &mut Vec<Problem>) {
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        for word in words {
            let any_case = word.find.chars().all(|letter| !letter.is_uppercase());
            let searched = if any_case { lower.as_str() } else { line };
            if words_at(searched, &word.find).next().is_some() {
                let what = format!("'{}' is not used here: {}", word.find, word.instead);
                problems.push(Problem::at(&file.path, index + 1, what));
            }
        }
    }
}

/// True when an absolute path begins with `path`, as opposed to a path inside the tree that merely contains it.
fn names_machine_path(line: &str, path: &str) -> bool {
    let in_path = |letter: char| letter.is_alphanumeric() || "._-~*/{}()<>$@".contains(letter);
    let in_name = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + path.len()..].chars().next();
        !before.is_some_and(in_path) && !after.is_some_and(in_name)
    })
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

    /// Spelled in two parts, so that this file keeps its own rule.
    fn banned() -> [String; 3] {
        [
            ["FIX", "ME"].concat(),
            ["For ", "now"].concat(),
            ["db", "g!(x)"].concat(),
        ]
    }

    #[test]
    fn banned_words_are_found_in_programs_only() {
        for word in banned() {
            assert_eq!(
                problems("a.rs", &format!("\n// {word} it works\n")),
                [2],
                "{word}"
            );
            assert_eq!(problems("scripts/setup", &word), [1], "{word}");
            assert!(problems("a.md", &word).is_empty());
        }
        assert!(problems("a.rs", "// therefor nowhere\n").is_empty());
    }

    #[test]
    fn a_path_of_some_machine_is_found_everywhere() {
        for folder in Config::in_use().machine_paths {
            assert_eq!(problems("a.md", &format!("see {folder}/x")), [1]);
            assert_eq!(problems("a.rs", &format!("\"{folder}\"")), [1]);
            assert!(problems("a.md", &format!("crates{folder}/x {folder}bench")).is_empty());
        }
    }
}
