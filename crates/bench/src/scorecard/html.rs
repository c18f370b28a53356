//! A scorecard as one page: no script, no network, plots inside; light, dark and on paper.

use core::fmt::Write as _;

use super::compare::is_apart;
use super::flags::{OfKind, by_kind};
use super::limit::RULES;
use super::model::{Counters, Row, RowId, Scorecard};
use super::plots::{self, SERIES, Series, Shape};
use super::svg::escape;
use super::text::{grouped, kept_apart, us};
use crate::fio_json::utc;
use crate::text::bytes;

const STYLE: &str = include_str!("style.css");

/// The whole page.
#[must_use]
pub fn render(card: &Scorecard) -> String {
    let mut page =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // An icon of its own, so that no browser asks anybody for one.
    page.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    let _ = write!(
        page,
        "<title>Scorecard: {}, dataplane-emu {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&card.header.model.profile),
        escape(&card.header.version)
    );
    header(card, &mut page);
    says(card, &mut page);
    plots(card, &mut page);
    figures(card, &mut page);
    flags(card, &mut page);
    counters(card, &mut page);
    paths(card, &mut page);
    repeats(card, &mut page);
    rules(card, &mut page);
    // For programs. Within a script element only "</" could end it, which JSON may write as "<\/".
    let json = card.to_json().replace("</", "<\\/");
    let _ = write!(
        page,
        "<script type=\"application/json\" id=\"scorecard\">\n{json}\n</script>\n</body>\n</html>\n"
    );
    page
}

// Writing to a String cannot fail, so results of `write!` are dropped throughout this file.
fn header(card: &Scorecard, page: &mut String) {
    let header = &card.header;
    let (load, machine) = (&header.load, &header.machine);
    let _ = writeln!(
        page,
        "<header>\n<h1>One load, one device, three paths <span class=\"badge\">{}</span></h1>\n\
         <p class=\"soft\">dataplane-emu {}, {}</p>\n<dl class=\"facts\">",
        escape(&header.honesty),
        escape(&header.version),
        utc(header.timestamp)
    );
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
    };
    fact(
        "Load",
        &format!(
            "{} random, {} % reads and {} % writes, over {} that are all written before",
            bytes(load.bs.into()),
            load.rwmixread,
            100 - load.rwmixread.min(100),
            bytes(load.size)
        ),
    );
    fact(
        "Each cell",
        &format!(
            "{} repeats of {} s; shown is the one with the median rate",
            load.repeats, load.runtime_s
        ),
    );
    fact("Device", &format!("{} ({})", header.device, header.honesty));
    fact(
        "Machine",
        &format!(
            "{}, {} CPUs, Linux {}",
            machine.processor, machine.cpus, machine.kernel
        ),
    );
    fact("Placement", &header.placement);
    fact("Programs", &header.programs.join(", "));
    fact("Command", &header.command);
    if let Some(check) = &header.file_check {
        fact("A real file", check);
    }
    page.push_str("</dl>\n</header>\n");
}

/// The comparisons, in words.
fn says(card: &Scorecard, page: &mut String) {
    page.push_str("<h2>What it says</h2>\n<ul class=\"says\">\n");
    for comparison in card.comparisons.iter().filter(|all| !is_apart(all)) {
        let _ = writeln!(
            page,
            "<li>QD {}, {} against {}: {}</li>",
            comparison.qd,
            comparison.other.name(),
            comparison.base.name(),
            escape(&comparison.verdict)
        );
    }
    for verdict in kept_apart(card) {
        let _ = writeln!(page, "<li>{}</li>", escape(verdict));
    }
    for (row, reason) in not_run(card) {
        let _ = writeln!(
            page,
            "<li>{}: not run: {}</li>",
            escape(&row.label),
            escape(reason)
        );
    }
    page.push_str("</ul>\n");
}

/// Each row that did not run, once.
fn not_run(card: &Scorecard) -> Vec<(&Row, &str)> {
    let mut all: Vec<(&Row, &str)> = Vec::new();
    for row in &card.rows {
        if let Some(reason) = &row.not_run
            && !all
                .iter()
                .any(|(other, said)| other.label == row.label && said == reason)
        {
            all.push((row, reason));
        }
    }
    all
}

fn plots(card: &Scorecard, page: &mut String) {
    page.push_str("<h2>Plots</h2>\n<ul class=\"legend\">\n");
    for series in &SERIES {
        let rows = card
            .rows
            .iter()
            .find(|row| row.id == series.id && row.generator == series.generator);
        let Some(row) = rows else { continue };
        let missing = match row.not_run {
            Some(_) => " (not run)",
            None => "",
        };
        let _ = writeln!(
            page,
            "<li>{}{}{missing}</li>",
            key(series),
            escape(&row.label)
        );
    }
    if !card.header.model.points.is_empty() {
        page.push_str(
            "<li><svg viewBox=\"0 0 24 16\" aria-hidden=\"true\"><path d=\"M1 8h22\" stroke=\"var(--model)\" \
             stroke-width=\"2\" stroke-dasharray=\"6 3\"/></svg>device model alone</li>\n",
        );
    }
    page.push_str("</ul>\n<div class=\"plots\">\n");
    let all = [
        (
            "iops",
            "I/Os per second",
            "More is better; logarithmic.",
            plots::iops(card),
        ),
        (
            "latency",
            "Latency, mean and p99, in microseconds",
            "The mark is the mean, the bar above it the 99th percentile; less is better; logarithmic.",
            plots::latency(card),
        ),
        (
            "cpu",
            "CPU seconds per million I/Os",
            "Of the processes that took part; a driver that polls is always busy; less is better.",
            plots::cpu(card),
        ),
    ];
    for (id, title, caption, svg) in all {
        let _ = writeln!(
            page,
            "<figure id=\"plot-{id}\"><h3>{title}</h3>{svg}<figcaption>{caption}</figcaption></figure>"
        );
    }
    page.push_str("</div>\n");
}

/// A series' mark, as small as a letter.
fn key(series: &Series) -> String {
    let shape = match series.shape {
        Shape::Circle => "<circle cx=\"12\" cy=\"8\" r=\"5\"/>",
        Shape::Square => "<path d=\"M8 4h8v8h-8z\"/>",
        Shape::Triangle => "<path d=\"M12 2l6 11h-12z\"/>",
        Shape::Diamond => "<path d=\"M12 3l5 5l-5 5l-5 -5z\"/>",
        Shape::Bar => "<path d=\"M7 6h10v4h-10z\"/>",
    };
    let name = series.ink.name();
    format!(
        "<svg viewBox=\"0 0 24 16\" aria-hidden=\"true\" fill=\"var(--{name})\">\
         <path d=\"M0 8h24\" stroke=\"var(--{name})\" stroke-width=\"2\"/>{shape}</svg>"
    )
}

fn key_of(row: &Row) -> String {
    let series = SERIES
        .iter()
        .find(|series| series.id == row.id && series.generator == row.generator);
    series.map_or(String::new(), key)
}

/// The table of all cells, grouped by depth.
fn figures(card: &Scorecard, page: &mut String) {
    page.push_str(
        "<h2>Figures</h2>\n<div class=\"wide\"><table id=\"figures\">\n<thead><tr><th>Row</th><th>IOPS</th><th>mean \
         <small>us</small></th><th>p99 <small>us</small></th><th>in flight <small>IOPS × mean</small></th><th>CPU \
         <small>s per million</small></th><th>spread <small>of the median</small></th><th>moved</th>\
         <th class=\"words\">limit</th></tr></thead>\n",
    );
    for &qd in &card.header.load.qds {
        let alone = card.header.model.at(qd).map_or(String::new(), |point| {
            format!(
                "; the device model alone: {} IOPS, {} us",
                grouped(point.iops),
                us(point.mean_us)
            )
        });
        let _ = writeln!(
            page,
            "<tbody><tr class=\"group\"><th colspan=\"9\" scope=\"rowgroup\">Queue depth {qd}<span class=\"soft\">{alone}\
             </span></th></tr>"
        );
        card.at(qd).for_each(|row| cell(row, page));
        page.push_str("</tbody>\n");
    }
    page.push_str("</table></div>\n");
}

fn cell(row: &Row, page: &mut String) {
    let name = format!(
        "<th scope=\"row\" class=\"key\">{}{} {}</th>",
        key_of(row),
        row.id.stage(),
        escape(&row.label)
    );
    if let Some(reason) = &row.not_run {
        let _ = writeln!(
            page,
            "<tr class=\"none\">{name}<td colspan=\"8\">not run: {}</td></tr>",
            escape(reason)
        );
        return;
    }
    let class = if row.id == RowId::Harness {
        " class=\"back\""
    } else {
        ""
    };
    let number = |value: Option<f64>, show: fn(f64) -> String| value.map_or("-".into(), show);
    let depth_is_off = row.flags.iter().any(|flag| flag.starts_with("depth:"));
    let depth = number(row.effective_qd, us);
    let depth = match depth_is_off {
        true => format!("<span class=\"flag\" title=\"see below\">{depth}</span>"),
        false => depth,
    };
    let limit = row.limit.as_ref().map_or(String::new(), |limit| {
        format!("<b>{}</b>: {}", limit.layer.name(), escape(&limit.why))
    });
    let flagged = if row.flags.is_empty() {
        ""
    } else {
        " <span class=\"flag\">*</span>"
    };
    let _ = writeln!(
        page,
        "<tr{class}>{name}<td>{}</td><td>{}</td><td>{}</td><td>{depth}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td class=\"words\">{limit}{flagged}</td></tr>",
        number(row.iops, grouped),
        number(row.mean_us, us),
        number(row.p99_us, us),
        number(row.cpu_s_per_million, us),
        number(row.spread, |share| format!("{:.1} %", share * 100.0)),
        match row.bytes {
            0 => "no data".into(),
            moved => bytes(moved),
        }
    );
}

fn flags(card: &Scorecard, page: &mut String) {
    let all = by_kind(&card.rows);
    if all.is_empty() {
        return;
    }
    page.push_str(
        "<h2 id=\"flags\">What to keep in mind <span class=\"flag\">*</span></h2>\n<dl class=\"flags\">\n",
    );
    for OfKind {
        kind,
        meaning,
        found,
    } in all
    {
        let _ = write!(page, "<dt><b>{kind}</b>: {}</dt>", escape(meaning));
        for (row, detail) in found {
            let _ = write!(
                page,
                "<dd>{} {}, QD {}: {}</dd>",
                row.id.stage(),
                escape(&row.label),
                row.qd,
                escape(detail)
            );
        }
        page.push('\n');
    }
    page.push_str("</dl>\n");
}

/// The device's counters around every row.
fn counters(card: &Scorecard, page: &mut String) {
    /// What a column shows, and how.
    type Column = (&'static str, fn(&Counters) -> u64, fn(u64) -> String);
    let count: fn(u64) -> String = |count| grouped(count as f64);
    let columns: [Column; 8] = [
        ("commands", |c| c.commands, count),
        ("reads", |c| c.reads, count),
        ("read", |c| c.read_bytes, bytes),
        ("writes", |c| c.writes, count),
        ("written", |c| c.written_bytes, bytes),
        ("flushes", |c| c.flushes, count),
        ("refused", |c| c.refused, count),
        (
            "reads of blocks never written",
            |c| c.unwritten_reads,
            count,
        ),
    ];
    page.push_str(
        "<h2>What the device counted</h2>\n<p class=\"soft\">Growth over all repeats of a row; below it, before → after.</p>\n\
         <div class=\"wide\"><table id=\"counters\">\n<thead><tr><th>Row</th><th>QD</th>",
    );
    for (name, ..) in columns {
        let _ = write!(page, "<th>{name}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &card.rows {
        let Some(pair) = &row.counters else { continue };
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{} {}</th><td>{}</td>",
            row.id.stage(),
            escape(&row.label),
            row.qd
        );
        for (_, counter, show) in columns {
            let _ = write!(
                page,
                "<td>{}<br><small>{} → {}</small></td>",
                show(pair.grew(counter)),
                show(counter(&pair.before)),
                show(counter(&pair.after))
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn paths(card: &Scorecard, page: &mut String) {
    page.push_str("<h2>What the I/Os went through</h2>\n<ul class=\"plain\">\n");
    let mut seen: Vec<&str> = Vec::new();
    for row in &card.rows {
        if seen.contains(&&*row.label) {
            continue;
        }
        seen.push(&row.label);
        let contains: Vec<&str> = row.contains.iter().map(|part| part.name()).collect();
        let contains = match contains.is_empty() {
            true => String::new(),
            false => format!("; <b>contains the {} row</b>", contains.join(" and the ")),
        };
        let _ = writeln!(
            page,
            "<li>{} {}: {}{contains}. <span class=\"soft\">CPU counted: {}.</span></li>",
            row.id.stage(),
            escape(&row.label),
            escape(&row.path),
            escape(&row.cpu_counted)
        );
    }
    page.push_str("</ul>\n");
    if !card.header.kernel_paths.is_empty() {
        page.push_str("<p>The kernel's block paths, best first:</p>\n<ol>\n");
    }
    for tried in &card.header.kernel_paths {
        let outcome = match &tried.not_run {
            Some(reason) => format!("not run: {}", escape(reason)),
            None => "<b>used</b>".into(),
        };
        let _ = writeln!(page, "<li>{}: {outcome}</li>", escape(&tried.path));
    }
    if !card.header.kernel_paths.is_empty() {
        page.push_str("</ol>\n");
    }
}

fn repeats(card: &Scorecard, page: &mut String) {
    page.push_str(
        "<details><summary>Every repeat</summary><div class=\"wide\"><table id=\"repeats\">\n<thead><tr><th>Row</th><th>QD\
         </th><th>repeat</th><th>IOPS</th><th>mean us</th><th>p99 us</th><th>CPU s per million</th></tr></thead>\n<tbody>\n",
    );
    for row in &card.rows {
        for (number, repeat) in (1..).zip(&row.repeats) {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{} {}</th><td>{}</td><td>{number}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                row.id.stage(),
                escape(&row.label),
                row.qd,
                grouped(repeat.iops),
                us(repeat.mean_us),
                us(repeat.p99_us),
                us(repeat.cpu_s_per_million)
            );
        }
    }
    page.push_str("</tbody></table></div></details>\n");
}

fn rules(card: &Scorecard, page: &mut String) {
    page.push_str(
        "<details><summary>How the limit is found</summary>\n<p>By the first rule that holds:</p>\n<ol>\n",
    );
    for rule in RULES {
        let _ = writeln!(page, "<li>{}</li>", escape(rule));
    }
    let _ = writeln!(
        page,
        "</ol></details>\n<details><summary>Where the device's time comes from</summary><p>Profile {}: {}</p></details>",
        escape(&card.header.model.profile),
        escape(&card.header.model.source)
    );
}
