//! SIGINT, SIGTERM and SIGHUP: the first ends the serving in peace, a later one at once.

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, sync_channel};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Caught;

use crate::clock;
use crate::failure::Exit;

/// So long after the first signal others are the same wish said twice: `timeout` sends one to the process and one to its group.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Signals that ask for the end. From the moment that this exists, the system's own answer to them, which is to kill the process,
/// is off.
#[derive(Debug)]
pub(super) struct Signals(Receiver<&'static str>);

impl Signals {
    /// Begins to listen.
    pub(super) fn listen() -> io::Result<Self> {
        let mut wanted = vec![SIGINT, SIGTERM];
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        // Who was started by nohup goes on when the terminal is closed.
        if !is_ignored(&status, SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut caught = Caught::new(wanted)?;
        let (tell, first) = sync_channel(1);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut signals = caught.forever();
                if let Some(signal) = signals.next() {
                    let _ = tell.send(name(signal)); // who no longer listens is ending already
                }
                let begun = clock::now();
                let later = |_: &i32| clock::now().saturating_sub(begun) >= SAME_WISH;
                if let Some(signal) = signals.find(later) {
                    leave_at_once(name(signal));
                }
            })?;
        Ok(Self(first))
    }

    /// Waits for a signal, so long at most.
    pub(super) fn wait(&self, patience: Duration) -> Option<&'static str> {
        self.0.recv_timeout(patience).ok()
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGHUP => "SIGHUP",
        _ => "SIGTERM",
    }
}

/// Whether the caller wanted a signal ignored, from the text of a process's `status`: `SigIgn:` and a mask of signals.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Somebody does not want to wait for the flush. The kernel unmounts nothing for us then.
#[expect(
    clippy::exit,
    reason = "the main thread may be waiting for a device that does not answer"
)]
fn leave_at_once(signal: &str) -> ! {
    // Nowhere is left to complain to.
    let _ = writeln!(
        io::stderr(),
        "error: {signal} while ending: left at once, without flush; what no fsync confirmed may be lost, and the mount is dead \
         until the next serve there, or umount -l"
    );
    std::process::exit(Exit::Short.code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_ignores_stands_in_the_mask_of_ignored_signals() {
        let status =
            "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000000001\nSigCgt:\tffff\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        for nonsense in ["", "SigIgn:", "SigIgn:\txyz\n"] {
            assert!(!is_ignored(nonsense, SIGHUP), "{nonsense:?}");
        }
    }
}
