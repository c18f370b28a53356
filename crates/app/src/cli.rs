//! The command line: every command with its help. One definition feeds the parser, the help, the manual and completions.

use clap::{Parser, Subcommand};

use crate::commands::bench::BenchArguments;
use crate::commands::demo::DemoArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::lab::LabArguments;
use crate::commands::manual::{CompletionsArguments, ManArguments};
use crate::commands::profile::ProfileArguments;
use crate::commands::replay::ReplayArguments;
use crate::commands::serve::ServeArguments;

const DEVICES: &str = "\
Devices (the same words for every command):
  ram:1G                     a drive of 1 GiB in memory, emulated in this process
  null:1G?lba=4096           a drive that moves no data, with blocks of 4096 bytes
  ram:1G?controller=thread   the controller in a thread of its own: two cores

First steps:
  dataplane-emu doctor
  dataplane-emu demo
  dataplane-emu bench ram:1G --rw randread --bs 4K --qd 128
  dataplane-emu serve ram:1G --mount DIR

Exit codes: 0 pass; 1 wrong data, failed commands or a slower figure; 2 usage; 3 this machine or version lacks something.";

/// A laboratory for kernel-bypass I/O: an emulated NVMe drive, a lean driver, and figures with their ceilings
#[derive(Debug, Parser)]
#[command(name = "dataplane-emu", version = crate::VERSION, after_help = DEVICES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bench(Box<BenchArguments>),
    Doctor(DoctorArguments),
    Demo(DemoArguments),
    Replay(Box<ReplayArguments>),
    Serve(Box<ServeArguments>),
    Lab(LabArguments),
    Profile(ProfileArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_every_flag_has_help() {
        fn visit(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            command.get_subcommands().for_each(visit);
        }
        visit(&Cli::command());
    }
}
