//! The seeds that once failed, each with its story. They are run again on every test.

/// A seed that once failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The seed.
    pub seed: u64,
    /// What it found.
    pub story: &'static str,
}

/// All of them, from `seeds.txt`: one on a line, the seed, then its story; `#` begins a remark.
///
/// # Panics
/// If a line is not so.
pub fn kept() -> Vec<Kept> {
    let lines = include_str!("../seeds.txt").lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (seed, story) = line.split_once(' ').unwrap_or((line, ""));
            let seed = seed.parse();
            assert!(
                seed.is_ok() && !story.trim().is_empty(),
                "seeds.txt: wanted a seed and its story, found '{line}'"
            );
            Kept {
                seed: seed.unwrap_or_default(),
                story: story.trim(),
            }
        })
        .collect()
}
