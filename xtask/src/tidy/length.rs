//! Files stay short.

use super::config::Config;
use super::{Problem, Tree};

/// Checks Rust, Python and shell files.
pub(super) fn check(tree: &Tree, config: &Config) -> Vec<Problem> {
    let limit = config.file_lines_limit;
    tree.files
        .iter()
        .filter(|file| {
            ["rs", "py", "sh"]
                .iter()
                .any(|extension| file.has_extension(extension))
        })
        .filter_map(|file| {
            let count = file.text.lines().count();
            let what = format!("{count} lines, wanted: fewer than {limit}; split it by subject");
            (count >= limit).then(|| Problem::of_file(&file.path, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_limit_is_too_long_and_one_line_less_is_not() {
        let config = Config::in_use();
        let lines = |count: usize| "\n".repeat(count);
        let (long, short) = (
            lines(config.file_lines_limit),
            lines(config.file_lines_limit - 1),
        );
        let tree = Tree::of(&[
            ("a.rs", &long),
            ("b.rs", &short),
            ("c.md", &long),
            ("d.py", &long),
        ]);
        let problems = check(&tree, &config);
        let paths: Vec<&str> = problems
            .iter()
            .map(|problem| problem.file.as_str())
            .collect();
        assert_eq!(paths, ["a.rs", "d.py"]);
    }
}
