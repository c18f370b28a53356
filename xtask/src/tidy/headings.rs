//! Each library opens with the same six headings, so that a reader knows where to look.

use super::{Problem, Tree};

const HEADINGS: [&str; 6] = ["For", "In", "Out", "Never", "Limits", "Read first"];

/// Checks the root file of every library.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files()
        .filter(|file| file.path.ends_with("src/lib.rs"))
        .filter_map(|file| trouble(&file.text).map(|what| Problem::of_file(&file.path, what)))
        .collect()
}

/// What is wrong with the headings of a crate's documentation, if something is.
fn trouble(text: &str) -> Option<String> {
    let doc: Vec<&str> = text
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .map(|line| line.trim_start_matches("//!").trim())
        .collect();
    let heading_at = |index: usize| doc.get(index).and_then(|line| line.strip_prefix("# "));
    let places: Vec<usize> = (0..doc.len())
        .filter(|index| heading_at(*index).is_some())
        .collect();
    for (number, wanted) in HEADINGS.iter().enumerate() {
        let place = places.get(number).copied();
        let found = place.and_then(heading_at).unwrap_or("none");
        if found != *wanted {
            let all = HEADINGS.join(", ");
            return Some(format!(
                "heading {}: wanted '# {wanted}', found '{found}'; the six are: {all}",
                number + 1
            ));
        }
        let end = places.get(number + 1).copied().unwrap_or(doc.len());
        let below = place.map_or(0, |place| place + 1);
        if doc
            .get(below..end)
            .is_none_or(|lines| lines.iter().all(|line| line.is_empty()))
        {
            return Some(format!("nothing stands under the heading '# {wanted}'"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> String {
        HEADINGS
            .iter()
            .map(|heading| format!("//! # {heading}\n//! Something.\n//!\n"))
            .collect()
    }

    #[test]
    fn six_headings_with_something_under_each_are_right() {
        assert_eq!(trouble(&good()), None);
        assert_eq!(trouble(&format!("{}//! # More\n//! Text.\n", good())), None);
        assert_eq!(trouble(&format!("//! The room.\n//!\n{}", good())), None);
    }

    #[test]
    fn a_missing_or_moved_heading_is_named() {
        let missing = good().replace("//! # Never\n", "");
        assert!(trouble(&missing).unwrap().contains("# Never"));
        let moved = good().replace("# In\n", "# Out\n");
        assert!(trouble(&moved).unwrap().contains("# In"));
        assert!(trouble("").is_some());
    }

    #[test]
    fn an_empty_heading_is_named() {
        let text = good().replacen("//! # Out\n//! Something.\n", "//! # Out\n", 1);
        assert!(trouble(&text).unwrap().contains("# Out"));
    }

    #[test]
    fn only_the_roots_of_libraries_are_looked_at() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", ""), ("crates/a/src/b.rs", "")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
