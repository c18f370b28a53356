//! Developer commands: `cargo xtask` prints the menu, `cargo xtask COMMAND --help` explains one command.
//!
//! Every check that a person or CI runs is one of these commands, so there is one way to run it.
//!
//! Exit codes: 0 all is well, 1 something is wrong with the tree, 2 wrong usage, 3 this machine lacks something.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer command talks to the terminal"
)]

mod commands;
mod fuzzing;
mod libtest;
mod mutation;
mod process;
mod steps;
mod tidy;
mod tools;
mod workshop;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

use commands::Command;
use tools::MachineLacks;
use workshop::Workshop;

/// Developer commands of dataplane-emu.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true,
    after_help = "Each command explains itself: cargo xtask COMMAND --help\n\
                  Build output goes to target/, or where CARGO_TARGET_DIR says."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    let Some(command) = Cli::parse().command else {
        return print_menu();
    };
    match Workshop::find().and_then(|workshop| command.run(&workshop)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            let machine = error.downcast_ref::<MachineLacks>().is_some();
            ExitCode::from(if machine { 3 } else { 1 })
        }
    }
}

fn print_menu() -> ExitCode {
    match Cli::command().print_help() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The names of all commands, for checks that read documents which mention them.
fn command_names() -> Vec<String> {
    Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_menu_lists_every_command_of_the_makefile() {
        let makefile = include_str!("../../Makefile");
        let listed = makefile
            .lines()
            .find_map(|line| line.strip_prefix("COMMANDS := "));
        let mut listed: Vec<&str> = listed.unwrap_or_default().split_whitespace().collect();
        let names = command_names();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        listed.sort_unstable();
        names.sort_unstable();
        assert_eq!(listed, names);
    }
}
