//! Measures the spine's bars; `cargo xtask bench spine` runs it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the developer's"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::spine::{Effort, Verdict, counted, first_io, measure, table};
use clap::{Parser, Subcommand};

/// Holds driver and controller against the machine's physics.
#[derive(Parser)]
struct Args {
    /// Short samples: shows that everything runs, not how fast.
    #[arg(long)]
    quick: bool,
    /// Only the bars that gate CI: instruction counts, system calls, start-up, memory.
    #[arg(long)]
    gates: bool,
    /// Also write every sample to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// The loop that callgrind counts; prints the commands done.
    #[command(hide = true)]
    Counted {
        #[arg(long)]
        devices: usize,
        #[arg(long)]
        commands: u64,
    },
    /// One I/O in a fresh process; prints the resident KiB.
    #[command(hide = true)]
    FirstIo,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let figure = match args.part {
        Some(Part::Counted { devices, commands }) => counted::run(devices, commands),
        Some(Part::FirstIo) => first_io(),
        None => return bars(&args),
    };
    match figure {
        Ok(figure) => {
            println!("{figure}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("spine: {reason}");
            ExitCode::from(3)
        }
    }
}

fn bars(args: &Args) -> ExitCode {
    let effort = if args.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let bars = measure(effort, args.gates, &mut |step| {
        eprintln!("measuring: {step}");
    });
    if let Some(file) = &args.json {
        let written = serde_json::to_vec_pretty(&bars)
            .map_err(std::io::Error::from)
            .and_then(|bytes| std::fs::write(file, bytes));
        if let Err(error) = written {
            eprintln!("spine: {}: {error}", file.display());
            return ExitCode::from(3);
        }
    }
    let _ = std::io::stdout().write_all(table(&bars).as_bytes()); // nobody listens: nothing to report to
    let passed = |bar: &bench::spine::Bar| bar.verdict == Verdict::Met;
    // A quick or gated run judges only what a short sample can tell.
    let short = bars
        .iter()
        .filter(|bar| !args.quick || bar.gates)
        .any(|bar| !passed(bar));
    if short {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}
