//! The names of operations and statuses in scripts and logs.

use core::fmt;

use spec::nvme::Status;

use crate::Operation;

/// The operations, as scripts and logs call them.
pub(crate) const OPERATIONS: [&str; 7] = [
    "read",
    "write",
    "flush",
    "compare",
    "write-zeroes",
    "deallocate",
    "verify",
];

/// The name of an operation: one of [`OPERATIONS`].
pub(crate) fn operation(op: Operation) -> &'static str {
    match op {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Flush => "flush",
        Operation::Compare => "compare",
        Operation::WriteZeroes { .. } => "write-zeroes",
        Operation::Deallocate => "deallocate",
        Operation::Verify => "verify",
    }
}

/// A status by the standard's name in lower case, words joined by hyphens: `unrecovered-read-error`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusName(pub(crate) Status);

impl StatusName {
    fn letters(self) -> impl Iterator<Item = char> {
        self.0.name().chars().map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_lowercase(),
            _ => '-',
        })
    }
}

impl fmt::Display for StatusName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.letters().try_for_each(|letter| f.write_char(letter))
    }
}

/// The status of that name.
pub(crate) fn status_named(name: &str) -> Option<Status> {
    let mut named = Status::NAMED.iter().copied();
    named.find(|&status| StatusName(status).letters().eq(name.chars()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_the_standard_is_found_by_its_name() {
        for &status in Status::NAMED {
            assert_eq!(status_named(&StatusName(status).to_string()), Some(status));
        }
        assert_eq!(
            status_named("unrecovered-read-error"),
            Some(Status::UNRECOVERED_READ_ERROR)
        );
        assert_eq!(status_named("unrecovered read error"), None);
        assert_eq!(status_named("unknown-status"), None);
    }

    #[test]
    fn every_operation_has_a_name_of_the_list() {
        let all = [
            Operation::Read,
            Operation::Write,
            Operation::Flush,
            Operation::Compare,
            Operation::WriteZeroes { deallocate: true },
            Operation::Deallocate,
            Operation::Verify,
        ];
        assert_eq!(all.map(operation), OPERATIONS);
    }
}
