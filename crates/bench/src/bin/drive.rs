//! Measures the drive's bars; `cargo xtask bench drive` mounts what it compares and runs it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the developer's"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::bars::{Effort, Verdict, table};
use bench::drive::{Setup, measure, timing_counted};
use clap::{Parser, Subcommand};

/// Holds the drive's doors and media against the same work without them.
#[derive(Parser)]
struct Args {
    /// Short samples: shows that everything runs, not how fast.
    #[arg(long)]
    quick: bool,
    /// Only the bars that gate CI: instruction counts and virtual time.
    #[arg(long)]
    gates: bool,
    /// Also write every sample to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A namespace of a RAM device behind the FUSE door.
    #[arg(long, value_name = "FILE")]
    door: Option<PathBuf>,
    /// The file of a file system that does nothing.
    #[arg(long, value_name = "FILE")]
    ceiling: Option<PathBuf>,
    /// The file of a file system that copies what is read, and does nothing else.
    #[arg(long, value_name = "FILE")]
    copying: Option<PathBuf>,
    /// Why any of the three is missing.
    #[arg(
        long,
        value_name = "REASON",
        default_value = "nothing is mounted",
        overrides_with = "not_mounted"
    )]
    not_mounted: String,
    /// A folder on a disk, for the file of file media.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    folder: PathBuf,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// The loop that callgrind counts; prints the commands done.
    #[command(hide = true)]
    Counted {
        #[arg(long)]
        commands: u64,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.part {
        None => bars(args),
        Some(Part::Counted { commands }) => match timing_counted::run(commands) {
            Ok(done) => {
                println!("{done}");
                ExitCode::SUCCESS
            }
            Err(reason) => {
                eprintln!("drive: {reason}");
                ExitCode::from(3)
            }
        },
    }
}

fn bars(args: Args) -> ExitCode {
    let effort = if args.quick {
        Effort::QUICK
    } else {
        Effort {
            repeats: 9,
            ..Effort::FULL
        }
    };
    let setup = Setup {
        door: args.door.ok_or_else(|| args.not_mounted.clone()),
        ceiling: args.ceiling.ok_or_else(|| args.not_mounted.clone()),
        copying: args.copying.ok_or_else(|| args.not_mounted.clone()),
        folder: args.folder,
    };
    let bars = measure(effort, args.gates, &setup, &mut |step| {
        eprintln!("measuring: {step}");
    });
    if let Some(file) = &args.json {
        let written = serde_json::to_vec_pretty(&bars)
            .map_err(std::io::Error::from)
            .and_then(|bytes| std::fs::write(file, bytes));
        if let Err(error) = written {
            eprintln!("drive: {}: {error}", file.display());
            return ExitCode::from(3);
        }
    }
    let _ = std::io::stdout().write_all(table(&bars).as_bytes()); // nobody listens: nothing to report to
    // A quick run judges only what a short sample can tell.
    let short = bars
        .iter()
        .filter(|bar| !args.quick || bar.gates)
        .any(|bar| bar.verdict != Verdict::Met);
    if short {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}
