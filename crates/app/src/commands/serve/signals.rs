//! SIGINT and SIGTERM: the first ends the serving in peace, the second at once.

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, sync_channel};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Caught;

use crate::failure::Exit;

/// Signals that ask for the end. From the moment that this exists, the system's own answer to them, which is to kill the process,
/// is off.
#[derive(Debug)]
pub(super) struct Signals(Receiver<&'static str>);

impl Signals {
    /// Begins to listen.
    pub(super) fn listen() -> io::Result<Self> {
        let mut caught = Caught::new([SIGINT, SIGTERM])?;
        let (tell, first) = sync_channel(1);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut signals = caught.forever();
                if let Some(signal) = signals.next() {
                    let _ = tell.send(name(signal)); // who no longer listens is ending already
                }
                if let Some(signal) = signals.next() {
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
    if signal == SIGINT {
        "SIGINT"
    } else {
        "SIGTERM"
    }
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
