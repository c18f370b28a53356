//! The scorecard in the layout of the first dataplane-emu, for those who read it by its columns. Titles and widths are as they
//! were; what is in the rows is what ran here.

use core::fmt::Write as _;

use super::model::{Generator, Row, RowId, Scorecard};

/// Columns of the rules and boxes.
const WIDTH: usize = 76;

/// The architectures, each a row of every box.
const ROWS: [(RowId, Generator, &str); 3] = [
    (RowId::Kernel, Generator::Fio, "1. Kernel (XFS + fio)"),
    (RowId::Fuse, Generator::Fio, "2. User-Space Bridge (FUSE)"),
    (
        RowId::Driver,
        Generator::Bench,
        "3. User-Space Driver (bench)",
    ),
];

/// Renders it. `logs` are the files that close it.
#[must_use]
pub fn render(card: &Scorecard, logs: &[String]) -> String {
    let load = &card.header.load;
    let mut qds = load.qds.clone();
    qds.sort_unstable();
    let middle = qds.get(qds.len() / 2).copied().unwrap_or(0);
    let rule = "═".repeat(WIDTH);
    let mut text = format!("{rule}\n  DETERMINISTIC SILICON DATA PLANE SCORECARD\n");
    // Writing to a String cannot fail, so results of `write!` are dropped throughout this file.
    let _ = writeln!(
        text,
        "  Config: bs={}  runtime={}s  rwmix={}/{}  mid-QD={middle}",
        size(load.bs),
        load.runtime_s,
        load.rwmixread,
        100 - load.rwmixread.min(100)
    );
    let _ = writeln!(
        text,
        "  Target Drive: {} ({})",
        card.header.device, card.header.honesty
    );
    let _ = writeln!(
        text,
        "  Stage 3: our NVMe driver in this process; no SPDK, no PCIe\n{rule}"
    );
    for (place, &qd) in qds.iter().enumerate() {
        boxed(card, &title(place, qds.len(), qd), qd, &mut text);
    }
    notes(card, &mut text);
    if !logs.is_empty() {
        let _ = writeln!(text, "\n  Logs:");
    }
    for log in logs {
        let _ = writeln!(text, "    {log}");
    }
    text
}

/// `4k`, as the first project wrote block sizes.
fn size(bytes: u32) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{}k", bytes / 1024)
    } else {
        bytes.to_string()
    }
}

/// The lowest depth is about latency, the highest about throughput, what lies between about the bend.
fn title(place: usize, count: usize, qd: u32) -> String {
    let name = match place {
        0 => "Latency",
        _ if place + 1 == count => "Throughput",
        _ => "Knee-of-Curve",
    };
    format!("{name} (QD={qd})")
}

fn boxed(card: &Scorecard, title: &str, qd: u32, text: &mut String) {
    let inside = WIDTH - 4;
    let dashes = inside.saturating_sub(3 + title.chars().count());
    let _ = writeln!(text, "\n  ┌─ {title} {}┐", "─".repeat(dashes));
    let mut line = |a: &str, b: &str, c: &str| {
        let cells = format!(" {a:<32}  {b:>12}  {c:>12}");
        let _ = writeln!(text, "  │{cells:<inside$}│");
    };
    line("Architecture", "Avg (us)", "IOPS");
    line(&"─".repeat(32), &"─".repeat(12), &"─".repeat(12));
    for (id, generator, name) in ROWS {
        let row = card.row(id, generator, qd);
        let of = |value: fn(&Row) -> Option<f64>| row.and_then(value);
        let average = of(|row| row.mean_us).map_or("N/A".into(), |us| format!("{us:.2}"));
        let iops = of(|row| row.iops).map_or("N/A".into(), |iops| format!("{iops:.0}"));
        let flagged = row.is_some_and(|row| !row.flags.is_empty());
        line(
            &format!("{name}{}", if flagged { " *" } else { "" }),
            &average,
            &iops,
        );
    }
    let _ = writeln!(text, "  └{}┘", "─".repeat(inside));
}

fn notes(card: &Scorecard, text: &mut String) {
    let _ = writeln!(
        text,
        "\n  Avg: submission to completion, reads and writes weighted by their number."
    );
    let mut said: Vec<String> = Vec::new();
    for (id, generator, name) in ROWS {
        let rows = card
            .rows
            .iter()
            .filter(|row| row.id == id && row.generator == generator);
        for row in rows {
            if let Some(reason) = &row.not_run {
                said.push(format!("{name}: not run: {reason}"));
            } else {
                said.push(format!("{name}: {}", row.path));
                if let Some(part) = row.contains.first() {
                    said.push(format!(
                        "{name}: contains the {} row; no speed-up follows",
                        part.name()
                    ));
                }
            }
            said.extend(
                row.flags
                    .iter()
                    .map(|flag| format!("* {name}, QD={}: {flag}", row.qd)),
            );
        }
    }
    let mut printed: Vec<&String> = Vec::new();
    for note in &said {
        if !printed.contains(&note) {
            let _ = writeln!(text, "  {note}");
            printed.push(note);
        }
    }
}
