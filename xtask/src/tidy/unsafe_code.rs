//! Unsafe code stands only in the files of the allow-list, and never without its argument.

use super::config::{CONFIG_FILE, Config};
use super::source::{Line, words_at};
use super::tree::File;
use super::{Problem, Tree};

/// How many lines of a statement may stand between the comment and its `unsafe`.
const STATEMENT_LINES_MAX: usize = 8;

/// Checks every Rust file, and that no entry of the list is left over.
pub(super) fn check(tree: &Tree, config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust_files() {
        let uses = uses(file);
        if let (Some(first), false) = (uses.first(), config.unsafe_files.contains_key(&file.path)) {
            let count = uses.len();
            let what = format!("unsafe code ({count} places), and no entry in {CONFIG_FILE}");
            problems.push(Problem::at(&file.path, first + 1, what));
        }
        for at in uses.into_iter().filter(|at| !is_argued(&file.rust, *at)) {
            let what = "unsafe without a `// SAFETY:` comment (or `# Safety` in its documentation)";
            problems.push(Problem::at(&file.path, at + 1, what));
        }
    }
    for (path, reason) in &config.unsafe_files {
        if tree.file(path).is_none_or(|file| uses(file).is_empty()) {
            let what = format!("[unsafe_files] allows {path}, which has no unsafe code");
            problems.push(Problem::of_file(CONFIG_FILE, what));
        }
        if reason.trim().is_empty() {
            let what = format!("[unsafe_files] allows {path} without a reason");
            problems.push(Problem::of_file(CONFIG_FILE, what));
        }
    }
    problems
}

/// The lines, from 0, with an unsafe block, function, trait, implementation or attribute.
fn uses(file: &File) -> Vec<usize> {
    let has_use = |line: &Line| {
        words_at(&line.code, "unsafe").any(|at| !is_pointer_type(&line.code[at + "unsafe".len()..]))
    };
    let lines = file.rust.iter().enumerate();
    lines
        .filter(|(_, line)| has_use(line))
        .map(|(index, _)| index)
        .collect()
}

/// `unsafe fn(` and `unsafe extern "C" fn(` name a type and do nothing.
fn is_pointer_type(after: &str) -> bool {
    let after = after.trim_start().trim_start_matches("extern").trim_start();
    let after = after.trim_start_matches("\"\"").trim_start();
    after
        .strip_prefix("fn")
        .is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// True when the argument stands on the line, or above it with only comments, attributes and the beginning of the
/// same statement between.
fn is_argued(lines: &[Line], at: usize) -> bool {
    if is_trait_method(lines, at) {
        return true;
    }
    let says = |line: &Line| line.comment.contains("SAFETY:") || line.comment.contains("# Safety");
    let mut statement_lines = 0;
    for (index, line) in lines.iter().enumerate().take(at + 1).rev() {
        if says(line) {
            return true;
        }
        let code = line.code.trim();
        let is_comment = code.is_empty() && !line.comment.is_empty();
        if index == at || is_comment || code.starts_with("#[") {
            continue;
        }
        statement_lines += 1;
        let goes_on = !code.is_empty() && !code.ends_with([';', '{', '}']);
        if !goes_on || statement_lines > STATEMENT_LINES_MAX {
            return false;
        }
    }
    false
}

/// True for an `unsafe fn` in the implementation of a trait: what its caller owes stands at the trait, once.
fn is_trait_method(lines: &[Line], at: usize) -> bool {
    let Some(line) = lines
        .get(at)
        .filter(|line| line.code.contains("unsafe fn "))
    else {
        return false;
    };
    let indent = |line: &Line| line.code.len() - line.code.trim_start().len();
    let around = lines.iter().take(at).rev().find(|above| {
        !above.code.trim().is_empty() && indent(above) < indent(line) && !is_tail(above)
    });
    around.is_some_and(|above| {
        let code = above.code.trim_start();
        let is_impl = code.starts_with("impl") || code.starts_with("unsafe impl");
        is_impl && words_at(code, "for").next().is_some()
    })
}

/// The last line of a head that takes several lines, such as `{` alone below a `where`.
fn is_tail(line: &Line) -> bool {
    let code = line.code.trim();
    code == "{" || code == "where"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, allowed: bool) -> Vec<usize> {
        let mut config = Config::in_use();
        config.unsafe_files.clear();
        if allowed {
            config
                .unsafe_files
                .insert("a.rs".to_owned(), "tests".to_owned());
        }
        let tree = Tree::of(&[("a.rs", text)]);
        check(&tree, &config)
            .iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn unsafe_outside_the_list_is_refused_even_with_its_argument() {
        assert_eq!(problems("// SAFETY: it is.\nunsafe { f() }\n", false), [2]);
    }

    #[test]
    fn unsafe_without_its_argument_is_refused_even_in_the_list() {
        assert_eq!(problems("let a = 1;\nunsafe { f() }\n", true), [2]);
        assert_eq!(
            problems("// SAFETY: of another.\nlet a = 1;\nunsafe { f() }\n", true),
            [3]
        );
        assert_eq!(problems("unsafe impl Send for A {}\n", true), [1]);
        assert_eq!(problems("unsafe fn f() {}\n", true), [1]);
    }

    #[test]
    fn an_argument_above_attributes_or_at_the_head_of_the_statement_counts() {
        assert!(
            problems(
                "// SAFETY: it is,\n// and stays.\n#[inline]\nunsafe fn f() {}\n",
                true
            )
            .is_empty()
        );
        assert!(problems("/// # Safety\n/// Be good.\npub unsafe fn f() {}\n", true).is_empty());
        assert!(problems("// SAFETY: it is.\nlet a =\n    unsafe { f() };\n", true).is_empty());
        assert!(problems("let a = unsafe { f() }; // SAFETY: it is.\n", true).is_empty());
    }

    #[test]
    fn lints_types_comments_and_strings_are_no_unsafe_code() {
        let text = "#![forbid(unsafe_code)]\ntype F = unsafe fn(u8);\ntype G = unsafe extern \"C\" fn();\n\
                    // unsafe { }\nlet a = \"unsafe { }\";\n";
        assert!(problems(text, false).is_empty());
    }

    #[test]
    fn a_trait_says_what_callers_owe_and_its_implementations_need_not() {
        let method = "    unsafe fn f(&self) {}\n}\n";
        assert!(problems(&format!("impl A for B {{\n{method}"), true).is_empty());
        assert!(
            problems(
                &format!("impl A for B\nwhere\n    C: D,\n{{\n{method}"),
                true
            )
            .is_empty()
        );
        assert_eq!(problems(&format!("impl B {{\n{method}"), true), [2]);
        assert_eq!(problems(&format!("trait A {{\n{method}"), true), [2]);
    }

    #[test]
    fn an_entry_that_is_left_over_is_refused() {
        assert_eq!(problems("fn f() {}\n", true), [0]);
    }
}
