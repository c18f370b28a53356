//! fio-plot, a program of others, reads our files and draws from them.
//!
//! It is installed into a virtual environment under `target/` on first use. Without Python, `venv`
//! or a package index the test prints that it was skipped and why.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use bench::fio_json;
use bench::workload::{Job, Pattern, Timestamps};

const VERSION: &str = "1.1.21";

/// Runs a program; its output if it succeeds, else what it said.
fn output_of(program: &Path, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("MPLBACKEND", "Agg")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}

/// The folder of a virtual environment that has fio-plot.
fn environment(target: &Path) -> Result<PathBuf, String> {
    let environment = target.join(format!("fio-plot-{VERSION}"));
    let marker = environment.join("complete");
    if !marker.exists() {
        let text = environment.to_string_lossy().into_owned();
        output_of(
            Path::new("python3"),
            &["-m", "venv", "--clear", &text],
            target,
        )?;
        let package = format!("fio-plot=={VERSION}");
        let options = [
            "install",
            "--quiet",
            "--retries",
            "1",
            "--timeout",
            "15",
            &package,
        ];
        output_of(&environment.join("bin/pip"), &options, target)?;
        std::fs::write(&marker, VERSION).map_err(|error| error.to_string())?;
    }
    Ok(environment)
}

fn write_reports(folder: &Path) {
    for rw in [Pattern::RandRead, Pattern::RandRw] {
        for (qd, threads, rate) in [(1, 1, 4000), (16, 1, 20_000), (1, 2, 7000), (16, 2, 30_000)] {
            let job = Job {
                rw,
                qd,
                threads,
                ..Job::default()
            };
            let report = support::report(&job, &[rate, rate + 100, rate - 100]);
            let file = folder.join(fio_json::file_name(&report));
            std::fs::write(file, fio_json::render(&report)).unwrap();
        }
    }
    let unstamped = Job {
        timestamps: Timestamps::None,
        rw: Pattern::RandWrite,
        qd: 1,
        ..Job::default()
    };
    let report = support::report(&unstamped, &[5000, 5100]);
    std::fs::write(
        folder.join(fio_json::file_name(&report)),
        fio_json::render(&report),
    )
    .unwrap();
}

#[test]
fn fio_plot_draws_bar_histogram_and_3d_charts_from_our_files() {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let environment = match environment(&target) {
        Ok(environment) => environment,
        Err(reason) => {
            #[expect(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!(
                    "SKIPPED fio-plot {VERSION} could not be installed: {}",
                    reason.trim()
                );
            }
            return;
        }
    };
    let folder = target.join("fio-plot-charts");
    let _ = std::fs::remove_dir_all(&folder);
    let data = folder.join("data");
    std::fs::create_dir_all(&data).unwrap();
    write_reports(&data);
    let input = data.to_string_lossy().into_owned();
    let charts: [(&str, &[&str]); 5] = [
        (
            "bars over depth",
            &["-r", "randread", "-d", "1", "16", "-n", "1", "-l"],
        ),
        (
            "bars over threads",
            &["-r", "randread", "-d", "16", "-n", "1", "2", "-N"],
        ),
        (
            "histogram",
            &["-r", "randread", "-d", "16", "-n", "1", "-H"],
        ),
        (
            "3d",
            &[
                "-r", "randrw", "-f", "read", "-d", "1", "16", "-n", "1", "2", "-L", "-t", "iops",
            ],
        ),
        (
            "no latency",
            &["-r", "randwrite", "-d", "1", "-n", "1", "-l"],
        ),
    ];
    for (name, options) in charts {
        let chart = folder.join(format!("{}.png", name.replace(' ', "-")));
        let chart_text = chart.to_string_lossy().into_owned();
        let fixed = [
            "-i",
            &input,
            "-T",
            name,
            "-s",
            "dataplane-emu",
            "-o",
            &chart_text,
        ];
        let arguments: Vec<&str> = fixed.iter().chain(options).copied().collect();
        let said = output_of(&environment.join("bin/fio-plot"), &arguments, &folder)
            .unwrap_or_else(|said| panic!("fio-plot refused {name}:\n{said}"));
        let bytes = std::fs::metadata(&chart).map_or(0, |metadata| metadata.len());
        assert!(
            bytes > 1000,
            "{name}: no chart was drawn; fio-plot said:\n{said}"
        );
    }
}
