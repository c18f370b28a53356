//! The `dataplane-emu` program: everything it does is in the library beside it.
#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = dataplane_emu::run(std::env::args_os(), &mut io::stdout(), &mut io::stderr());
    ExitCode::from(exit.code())
}
