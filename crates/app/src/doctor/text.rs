//! The report for people: one line for what is there, up to four for what is not.

use std::io::{self, Write};

use super::{Report, Status};

/// Where the second column begins.
const INDENT: usize = 32;

/// Writes the report in lines of at most `width` columns, as far as words allow.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(out: &mut dyn Write, report: &Report, width: usize) -> io::Result<()> {
    writeln!(
        out,
        "dataplane-emu {}, {}\n",
        report.version, report.machine
    )?;
    for row in &report.rows {
        let head = format!("{:<8} {:<22} ", row.status.word(), row.name);
        paragraph(out, &head, &row.found, width)?;
        if row.status == Status::Have {
            continue;
        }
        let parts = [("costs:   ", &row.cost), ("do:      ", &row.remedy)];
        for (label, part) in parts {
            if let Some(part) = part {
                paragraph(out, &format!("{:INDENT$}{label}", ""), part, width)?;
            }
        }
        if row.status == Status::Unknown {
            paragraph(
                out,
                &format!("{:INDENT$}checked: ", ""),
                &row.checked,
                width,
            )?;
        }
    }
    writeln!(out, "\n{}", summary(report))
}

fn summary(report: &Report) -> String {
    let count = |status| {
        report
            .rows
            .iter()
            .filter(|row| row.status == status)
            .count()
    };
    format!(
        "{} there, {} with a drawback, {} lacking, {} unknown. Emulated devices (ram:, null:) need none of what is lacking.",
        count(Status::Have),
        count(Status::Partly),
        count(Status::Lacks),
        count(Status::Unknown),
    )
}

/// Writes words behind a head, and further lines under the first word.
fn paragraph(out: &mut dyn Write, head: &str, words: &str, width: usize) -> io::Result<()> {
    let indent = head.chars().count();
    let mut column = indent;
    write!(out, "{head}")?;
    for (index, word) in words.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            write!(out, "\n{:indent$}{word}", "")?;
            column = indent + length;
        } else {
            let gap = if index > 0 { " " } else { "" };
            write!(out, "{gap}{word}")?;
            column += length + gap.len();
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    #[test]
    fn lines_stay_within_the_width_and_advice_follows_what_is_lacking() {
        let have = Row::have("cpus", "two of them ".repeat(20), "affinity");
        let lacks = Row::have("fio", "not found", "PATH").but(
            Status::Lacks,
            "no comparison ".repeat(10),
            "install fio",
        );
        let report = Report {
            version: "0",
            machine: "Linux".into(),
            rows: vec![have, lacks],
        };
        let mut out = Vec::new();
        write(&mut out, &report, 80).unwrap();
        let text = String::from_utf8(out).unwrap();
        let body = text.lines().take_while(|line| !line.contains(" there, "));
        for line in body {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(text.contains("lacks    fio"), "{text}");
        assert!(text.contains("do:      install fio"), "{text}");
        assert!(
            text.contains("1 there, 0 with a drawback, 1 lacking, 0 unknown"),
            "{text}"
        );
    }
}
