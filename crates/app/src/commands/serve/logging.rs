//! What the rooms below have to say, on stderr.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// Begins to print warnings, and with `-v` and `-vv` more; RUST_LOG, where it is set, says what instead.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        // Complaining of stderr on stderr would be a panic once the terminal is closed.
        .log_internal_errors(false);
    let _ = log.try_init(); // who began before us goes on
}
