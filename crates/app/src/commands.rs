//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod lab;
pub(crate) mod manual;
pub(crate) mod profile;
pub(crate) mod replay;
pub(crate) mod serve;

use std::io::Write;

use crate::cli::Command;
use crate::failure::{Exit, Failure};

/// Runs one command.
pub(crate) fn run(command: Command, out: &mut dyn Write) -> Result<Exit, Failure> {
    match command {
        Command::Bench(arguments) => bench::run(*arguments, out),
        Command::Doctor(arguments) => doctor::run(&arguments, out),
        Command::Demo(arguments) => demo::run(&arguments, out),
        Command::Replay(arguments) => replay::run(&arguments, out),
        Command::Serve(arguments) => serve::run(&arguments, out),
        Command::Lab(arguments) => lab::run(&arguments, out),
        Command::Profile(arguments) => profile::run(&arguments, out),
        Command::Completions(arguments) => manual::completions(&arguments, out),
        Command::Man(arguments) => manual::man(&arguments, out),
    }
}
