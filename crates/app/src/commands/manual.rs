//! `completions` and `man`: both generated from the one definition of the command line.

use std::io::Write;

use anyhow::anyhow;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::{Exit, Failure};

/// Print a script that completes commands and flags in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(dataplane-emu completions bash)
  dataplane-emu completions zsh > ~/.zfunc/_dataplane-emu
  dataplane-emu completions fish > ~/.config/fish/completions/dataplane-emu.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print a manual page in troff form
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dataplane-emu man | man -l -
  dataplane-emu man bench > dataplane-emu-bench.1
  dataplane-emu man bench diff > dataplane-emu-bench-diff.1")]
pub(crate) struct ManArguments {
    /// The command whose page is wanted, word by word, instead of the program's own
    command: Vec<String>,
}

/// Prints the completions of a shell.
pub(crate) fn completions(
    arguments: &CompletionsArguments,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    // Generated into memory first: the generator panics where a writer fails, a closed pipe for example.
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "dataplane-emu",
        &mut script,
    );
    out.write_all(&script)?;
    Ok(Exit::Pass)
}

/// Prints a manual page.
pub(crate) fn man(arguments: &ManArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut page = &root;
    for name in &arguments.command {
        page = page.find_subcommand(name).ok_or_else(|| {
            let known = page.get_subcommands().map(clap::Command::get_name);
            let allowed = known.collect::<Vec<_>>().join(", ");
            Failure::usage(anyhow!("man: no command {name:?}; allowed: {allowed}"))
        })?;
    }
    clap_mangen::Man::new(page.clone()).render(out)?;
    Ok(Exit::Pass)
}
