//! The scorecard's page in a real browser: headless Chromium, from a result on file and from a demo of this moment.
#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::scorecard::{Scorecard, html};

/// A scorecard as the demo wrote it on a machine with two CPUs.
const RESULT: &str = include_str!("scorecard_page.json");

/// The three plots.
const PLOTS: [&str; 3] = ["plot-iops", "plot-latency", "plot-cpu"];

fn folder() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scorecard_page");
    fs::create_dir_all(&path).expect("the build folder can be written");
    path
}

/// What a browser made of a page.
struct Seen {
    /// The document after everything was loaded and run.
    document: String,
    /// Errors on its console.
    errors: Vec<String>,
    /// Addresses that the page asked for, answered or not.
    asked: String,
}

/// The browser of this machine.
fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// Has the browser write down, once all is loaded, what the page asked for and how far it reaches beyond its window.
const WITNESS: &str = "<script>addEventListener('load', () => { const root = document.documentElement; \
    root.setAttribute('data-asked', performance.getEntriesByType('resource').map(entry => entry.name).join(' ')); \
    root.setAttribute('data-sideways', root.scrollWidth - innerWidth); })</script></body>";

/// Has the page shown, with a network that answers nothing. `None`: there is no browser, which is said.
fn show(name: &str, page: &str, more: &[&str]) -> Option<Seen> {
    let Some(browser) = browser() else {
        println!("not run: no chromium on this machine; apt-get install chromium");
        return None;
    };
    let file = folder().join(format!("{name}.html"));
    fs::write(&file, page.replace("</body>", WITNESS)).unwrap();
    let profile = folder().join(format!("{name}.profile"));
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--enable-logging=stderr",
            "--proxy-server=127.0.0.1:9",
            "--virtual-time-budget=2000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        document.contains("</html>"),
        "the browser showed nothing: {log}"
    );
    let errors = log.lines().filter(|line| line.contains("CONSOLE"));
    let (_, asked) = document
        .split_once("data-asked=\"")
        .expect("the page was loaded");
    let asked = asked.split('"').next().unwrap_or_default().to_owned();
    Some(Seen {
        errors: errors.map(str::to_owned).collect(),
        asked,
        document,
    })
}

/// Marks of measured figures in one plot.
fn marks(document: &str, plot: &str) -> usize {
    let begin = document
        .find(&format!("id=\"{plot}\""))
        .unwrap_or_else(|| panic!("no {plot}"));
    let end = begin + document[begin..].find("</figure>").expect("a figure ends");
    document[begin..end].matches("class=\"mark\"").count()
}

/// A page of this scorecard needs nobody, says nothing on the console, and shows every figure.
fn check(card: &Scorecard, seen: &Seen) {
    assert_eq!(seen.errors, Vec::<String>::new());
    assert_eq!(seen.asked, "");
    for address in ["http:", "https:", " src=", "url(", "@import"] {
        assert!(!seen.document.contains(address), "{address}");
    }
    let with_figures = card.rows.iter().filter(|row| row.iops.is_some());
    let harness = |row: &&bench::scorecard::model::Row| row.counters.is_none();
    let all = with_figures.clone().count();
    let paths = all - with_figures.filter(harness).count();
    assert!(paths > 0);
    assert_eq!(
        PLOTS.map(|plot| marks(&seen.document, plot)),
        [all, paths, all]
    );
    // Every figure of a plot stands in the table of figures too.
    let begin = seen.document.find("id=\"figures\"").expect("a table");
    let end = begin
        + seen.document[begin..]
            .find("</table>")
            .expect("a table ends");
    let table = seen.document[begin..end].replace(',', "");
    for iops in card.rows.iter().filter_map(|row| row.iops) {
        assert!(table.contains(&format!("<td>{iops:.0}</td>")), "{iops}");
    }
}

#[test]
fn the_page_of_a_result_on_file_shows_every_figure_and_asks_nobody() {
    let card = Scorecard::from_json(RESULT).unwrap();
    let page = html::render(&card);
    if let Some(seen) = show("on_file", &page, &[]) {
        check(&card, &seen);
    }
}

#[test]
fn the_page_of_a_demo_of_this_moment_shows_every_figure_and_asks_nobody() {
    let (json, html) = (folder().join("now.json"), folder().join("now_written.html"));
    let output = Command::new(env!("CARGO_BIN_EXE_dataplane-emu"))
        .args([
            "demo",
            "--size",
            "8M",
            "--runtime",
            "30ms",
            "--repeats",
            "2",
            "--qd",
            "1,4",
        ])
        .arg("--json")
        .arg(&json)
        .arg("--html")
        .arg(&html)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let card = Scorecard::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    let page = fs::read_to_string(&html).unwrap();
    if let Some(seen) = show("now", &page, &[]) {
        check(&card, &seen);
    }
}

#[test]
fn the_page_fits_wide_and_narrow_windows() {
    let page = html::render(&Scorecard::from_json(RESULT).unwrap());
    for width in [1400, 500] {
        let size = format!("--window-size={width},1000");
        let Some(seen) = show(&format!("width_{width}"), &page, &[&size]) else {
            return;
        };
        assert!(seen.document.contains("data-sideways=\"0\""), "{width}");
    }
}

#[test]
fn the_alarm_hears_errors_on_the_console_and_requests_to_the_network() {
    let page = html::render(&Scorecard::from_json(RESULT).unwrap());
    let with = |name: &str, fault: &str| {
        let page = page.replace("</body>", &format!("{fault}</body>"));
        show(name, &page, &[])
    };
    if let Some(seen) = with("throws", "<script>throw new Error('heard')</script>") {
        assert_eq!(seen.errors.len(), 1, "{:?}", seen.errors);
    }
    if let Some(seen) = with(
        "asks",
        "<img alt=\"\" src=\"http://192.0.2.1/picture.png\">",
    ) {
        assert_eq!(seen.asked, "http://192.0.2.1/picture.png");
    }
}
