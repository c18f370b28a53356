//! "Did you mean": the nearest of the words that would have been right.

/// Words longer than this are not compared: the cost grows with the product of the lengths.
const LENGTH_MAX: usize = 32;

/// The candidate nearest to `word`, when it is near enough to be what was meant: at most a third of the letters differ.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    candidates
        .iter()
        .filter_map(|&candidate| Some((distance(&word, candidate)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .map(|(_, candidate)| candidate)
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour to turn one word into the other.
fn distance(from: &str, to: &str) -> Option<usize> {
    let from: Vec<char> = from.chars().take(LENGTH_MAX + 1).collect();
    let to: Vec<char> = to.chars().take(LENGTH_MAX + 1).collect();
    if from.len() > LENGTH_MAX || to.len() > LENGTH_MAX {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, wanted) in to.iter().enumerate() {
            let replace = last[column] + usize::from(letter != wanted);
            let mut best = replace.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *wanted;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = last;
        last = current;
    }
    last.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let keys = ["lba", "ns", "profile", "memory"];
        assert_eq!(nearest("lbs", &keys), Some("lba"));
        assert_eq!(nearest("LBA", &keys), Some("lba"));
        assert_eq!(nearest("profle", &keys), Some("profile"));
        assert_eq!(nearest("porfile", &keys), Some("profile"));
        assert_eq!(nearest("nss", &keys), Some("ns"));
    }

    #[test]
    fn a_word_that_is_like_none_suggests_nothing() {
        let keys = ["lba", "ns", "profile", "memory"];
        assert_eq!(nearest("colour", &keys), None);
        assert_eq!(nearest("", &keys), None);
        assert_eq!(nearest(&"profile".repeat(100), &keys), None);
    }
}
